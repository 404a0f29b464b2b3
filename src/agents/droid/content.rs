//! Contents of messages and of tool results: a text or a list of blocks.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::agents::kit::texts::{Blocks, join, text_or_mark};
use crate::source::records::{ObjectInto, Raw, Text, lenient, record};
use crate::source::without_lone_surrogates;

record! {
    /// One block of a message's content.
    Block<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        input: Raw<'a> = "input",
        call: Text<'a> = "tool_use_id",
        content: ToolOutput<'a> = "content",
        is_error: Raw<'a> = "is_error",
    }
}

/// The blocks of a message.
pub(super) type Content<'a> = Blocks<Block<'a>>;

impl<'a> Content<'a> {
    /// The texts that are not empty.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|block| block.kind.is("text")).filter_map(|block| block.text.get())
    }

    /// The blocks of one type.
    pub(super) fn of_type(&self, kind: &'static str) -> impl Iterator<Item = &Block<'a>> {
        self.0.iter().filter(move |block| block.kind.is(kind))
    }
}

/// The output of a tool: a text, a list of blocks, or an object. Blocks that are no text become a mark, and an object is
/// kept as JSON. A text is decoded in place, because it is usually most of its line.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolOutput<'a>(pub(crate) Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for ToolOutput<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ToolOutputVisitor;
        impl<'de> Visitor<'de> for ToolOutputVisitor {
            type Value = Option<Cow<'de, str>>;
            lenient!(@expecting "what a tool gave");
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Some(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Some(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while items.next_element_seed(ObjectInto(&mut blocks))?.is_some() {}
                Ok(joined(blocks))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut object = String::from("{");
                while let Some((Text(key), Raw(value))) = entries.next_entry()? {
                    let comma = if object.len() > 1 { "," } else { "" };
                    let key = serde_json::to_string(&key).unwrap_or_default();
                    object.extend([comma, &key, ":", value.map(RawValue::get).unwrap_or_default()]);
                }
                object.push('}');
                Ok(Some(Cow::Owned(without_lone_surrogates(&object).into_owned())))
            }
            fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
                Ok(Some(Cow::Owned(flag.to_string())))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
                Ok(Some(Cow::Owned(number.to_string())))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
                Ok(Some(Cow::Owned(number.to_string())))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
                Ok(Some(Cow::Owned(number.to_string())))
            }
            lenient!(@null None);
        }
        deserializer.deserialize_any(ToolOutputVisitor).map(Self)
    }
}

fn joined(blocks: Vec<Block<'_>>) -> Option<Cow<'_, str>> {
    join(blocks.into_iter().map(|block| text_or_mark(block.text.0, &block.kind)))
}

/// As [`ToolOutput`], of a single value.
pub(super) fn plain_text<'a>(value: &Raw<'a>) -> Option<Cow<'a, str>> {
    let json = value.json()?;
    match serde_json::from_str(json) {
        Ok(ToolOutput(text)) => text,
        Err(_) => serde_json::from_str::<ToolOutput<'_>>(&without_lone_surrogates(json))
            .ok()?
            .0
            .map(|text| Cow::Owned(text.into_owned())),
    }
}

/// Returns true, false, or `None` if the field is absent.
pub(super) fn flag(flag: &Raw<'_>) -> Option<bool> {
    match flag.json()? {
        "true" | "\"true\"" => Some(true),
        "false" | "\"false\"" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_tool_gave_is_a_text() {
        let output = |json: &str| serde_json::from_str::<ToolOutput<'_>>(json).unwrap().0.map(Cow::into_owned);
        for (json, text) in [
            (r#""a\nb""#, Some("a\nb")),
            (r#"[{"type":"text","text":"a"},{"type":"image"},7,{"text":"b"}]"#, Some("a\n[image]\nb")),
            (
                r#"{ "b": {"x": [1, "\"" ]}, "a\n": 1.50 , "c":null}"#,
                Some(r#"{"b":{"x": [1, "\"" ]},"a\n":1.50,"c":null}"#),
            ),
            (r#"{"a":"\ud83d"}"#, Some(r#"{"a":"\ufffd"}"#)),
            ("{}", Some("{}")),
            ("-7", Some("-7")),
            ("true", Some("true")),
            ("null", None),
            ("[]", None),
        ] {
            assert_eq!(output(json).as_deref(), text, "{json}");
        }
    }
}
