//! Texts of contents and results.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use crate::source::records::{ObjectInto, Text, check_items, lenient};
use crate::source::{repair, unescape};

/// The blocks of a content. A text is one block; a value that is neither text nor list has none.
#[derive(Debug, Clone)]
pub(in crate::agents) struct Blocks<B>(pub(in crate::agents) Vec<B>);

impl<B> Default for Blocks<B> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, B: Deserialize<'de> + Default> Deserialize<'de> for Blocks<B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        blocks(deserializer).map(|blocks| Self(blocks.unwrap_or_default()))
    }
}

/// Reads the blocks of a content. A text is read as `{"type": "text", "text": …}`. Returns `None` for null.
pub(in crate::agents) fn blocks<'de, D: Deserializer<'de>, B: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<Option<Vec<B>>, D::Error> {
    struct ContentVisitor<B>(PhantomData<B>);
    impl<'de, B: Deserialize<'de> + Default> Visitor<'de> for ContentVisitor<B> {
        type Value = Option<Vec<B>>;
        lenient!(@expecting "a text or a list of blocks");
        fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
            let fields = [("type", "text"), ("text", text)];
            let fields = fields.map(|(key, value)| (key, BorrowedStrDeserializer::new(value)));
            B::deserialize(MapDeserializer::new(fields.into_iter())).map(|block| Some(vec![block]))
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            let fields = [("type", "text"), ("text", text)].map(|(key, value)| (key, value.into_deserializer()));
            B::deserialize(MapDeserializer::new(fields.into_iter())).map(|block| Some(vec![block]))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut blocks = Vec::new();
            while items.next_element_seed(ObjectInto(&mut blocks))?.is_some() {
                check_items(blocks.len())?;
            }
            Ok(Some(blocks))
        }
        lenient!(@otherwise Some(Vec::new()); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64));
        lenient!(@null None);
        lenient!(@map Some(Vec::new()));
    }
    deserializer.deserialize_any(ContentVisitor(PhantomData))
}

/// Decodes a JSON string; `None` for any other value. Half of a surrogate pair becomes U+FFFD.
pub(in crate::agents) fn string_of(json: &str) -> Option<Cow<'_, str>> {
    let repaired = || serde_json::from_str(&repair(json.as_bytes())).ok().map(Cow::Owned);
    if json.starts_with('"') { unescape(json).or_else(repaired) } else { None }
}

/// The text of a block, or a mark that names its type.
pub(in crate::agents) fn text_or_mark<'a>(text: Option<Cow<'a, str>>, kind: &Text<'_>) -> Cow<'a, str> {
    text.unwrap_or_else(|| Cow::Owned(format!("[{}]", kind.get().unwrap_or("block"))))
}

/// Joins texts with a line end between them; borrowed if there is only one.
pub(in crate::agents) fn join<'a>(texts: impl IntoIterator<Item = Cow<'a, str>>) -> Option<Cow<'a, str>> {
    let mut joined = None;
    texts.into_iter().for_each(|text| append(&mut joined, text, "\n"));
    joined
}

/// Adds a text after another, with a separator between them.
pub(in crate::agents) fn append<'a>(joined: &mut Option<Cow<'a, str>>, text: Cow<'a, str>, separator: &str) {
    match joined {
        None => *joined = Some(text),
        Some(joined) => {
            let joined = joined.to_mut();
            joined.push_str(separator);
            joined.push_str(&text);
        }
    }
}

/// Adds a text on a line of its own.
pub(in crate::agents) fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// JSON without the line ends and indents that the files have and the tables do not. Borrowed where there are none.
pub(in crate::agents) fn compact(json: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\n', json.as_bytes()).is_none() {
        return Cow::Borrowed(json);
    }
    let mut is_text = false;
    let mut is_escaped = false;
    let kept = json.chars().filter(|character| {
        let is_kept = is_text || !character.is_ascii_whitespace();
        is_text ^= *character == '"' && !is_escaped;
        is_escaped = is_text && *character == '\\' && !is_escaped;
        is_kept
    });
    Cow::Owned(kept.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indents_are_taken_out_and_texts_stay() {
        assert_eq!(compact("{\n  \"a\": [\n    1,\n    \"x \\\" y\\\\\"\n  ]\n}"), r#"{"a":[1,"x \" y\\"]}"#);
        assert!(matches!(compact(r#"{"a": 1}"#), Cow::Borrowed(_)));
    }
}
