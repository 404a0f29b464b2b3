//! Reads documents that are an object with a long list in it, or a list alone, up to where they are torn.

use std::borrow::{Borrow, Cow};
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::extract::{Reject, Sink};
use crate::source::records::{check_items, lenient};
use crate::source::{Source, repair};

/// An item of a document.
pub(super) enum Found<'f, I = &'f str> {
    /// A field next to the list, as the text of an object that has only this field.
    Field(&'f str),
    /// An item of the list.
    Item(I),
}

/// The reason why the reading of a document ended.
pub(super) enum Ending {
    /// It was read whole.
    Whole,
    /// There was nothing.
    Empty,
    /// Why, and at which line, it could not be read on.
    Torn(u64, String),
}

/// Reads a document that is a list, or an object with a list under the given name. Fields that are long are passed
/// over.
pub(super) fn read(
    source: &mut Source<'_>,
    list: &str,
    take: &mut dyn FnMut(Found<'_>) -> Result<(), Reject>,
) -> Result<Ending, Reject> {
    match source.document()? {
        Some(bytes) => read_text(&repair(&bytes), list, &mut |found| take(found)),
        None => stream(source, list, take),
    }
}

/// Returns the text of a document, or `None` if it is blank or too long, which is counted as a problem. `what` names the
/// document: `a session`.
pub(super) fn text(source: &mut Source<'_>, what: &str, out: &mut Sink<'_>) -> Result<Option<String>, Reject> {
    let Some(bytes) = source.document()? else {
        out.line();
        out.problem(1, &format!("{what} longer than 32 MiB is not read"));
        return Ok(None);
    };
    let repaired = match repair(&bytes) {
        Cow::Owned(text) => Some(text),
        Cow::Borrowed(text) => (text.len() < bytes.len()).then(|| text.to_owned()),
    };
    // Most texts need no repair, and are not copied.
    let text = repaired.or_else(|| String::from_utf8(bytes).ok());
    Ok(text.filter(|text| !text.trim().is_empty()))
}

/// Like [`read`], for a text in memory; the items borrow from it.
pub(super) fn read_text<'t>(
    text: &'t str,
    list: &str,
    take: &mut dyn FnMut(Found<'_, &'t str>) -> Result<(), Reject>,
) -> Result<Ending, Reject> {
    if text.trim().is_empty() {
        return Ok(Ending::Empty);
    }
    let take = &mut |part: Part<&'t RawValue>| match part {
        Part::Field(key, value) => object_of(&key, value).map_or(Ok(()), |json| take(Found::Field(&json))),
        Part::Item(item) => take(Found::Item(item.get())),
    };
    Reading { list, take, failed: None, items: 0 }.run(&mut serde_json::Deserializer::from_str(text))
}

/// Like [`read`], for a document that is too large for memory.
pub(super) fn stream(
    source: &mut Source<'_>,
    list: &str,
    take: &mut dyn FnMut(Found<'_>) -> Result<(), Reject>,
) -> Result<Ending, Reject> {
    let take = &mut |part: Part<Box<RawValue>>| match part {
        Part::Field(key, value) => object_of(&key, &value).map_or(Ok(()), |json| take(Found::Field(&json))),
        Part::Item(item) => take(Found::Item(item.get())),
    };
    Reading { list, take, failed: None, items: 0 }.run(&mut serde_json::Deserializer::from_reader(source.reader()?))
}

/// The fields and items of a document up to where it is torn, not decoded yet.
#[derive(Default)]
pub(super) struct Torn<'j> {
    fields: Vec<(String, &'j RawValue)>,
    /// The items of the list.
    pub(super) items: Vec<&'j RawValue>,
    /// Why it could not be read to its end.
    pub(super) error: Option<serde_json::Error>,
}

impl<'j> Torn<'j> {
    /// Reads an object with a list under the given name, or a list alone.
    pub(super) fn read(json: &'j str, list: &str) -> Self {
        let Self { mut fields, mut items, .. } = Self::default();
        let take = &mut |part| {
            match part {
                Part::Field(key, value) => fields.push((key, value)),
                Part::Item(item) => items.push(item),
            }
            Ok(())
        };
        let mut reading = Reading { list, take, failed: None, items: 0 };
        let mut document = serde_json::Deserializer::from_str(json);
        let read = document.deserialize_any(Document(&mut reading)).and_then(|()| document.end());
        Self { fields, items, error: read.err() }
    }

    /// Returns a field next to the list; if it is repeated, the last one counts. Returns the default of its kind if it
    /// is missing or of another type.
    pub(super) fn field<T: Deserialize<'j> + Default>(&self, key: &str) -> T {
        self.raw(key).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    /// Returns a field as it is written.
    pub(super) fn raw(&self, key: &str) -> Option<&'j RawValue> {
        self.fields.iter().rev().find(|(name, _)| name == key).map(|(_, raw)| *raw)
    }

    /// Returns the names of the fields next to the list.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| &**name)
    }
}

/// A part of a document.
enum Part<I> {
    Field(String, I),
    Item(I),
}

/// Longest field that is read. Bytes.
const LONGEST_FIELD: usize = 64 << 10;

/// Returns an object with only this field, as JSON; `None` if the field is too long.
fn object_of(key: &str, value: &RawValue) -> Option<String> {
    let value = Some(value.get()).filter(|value| value.len() <= LONGEST_FIELD)?;
    Some(["{", &serde_json::to_string(key).ok()?, ":", value, "}"].concat())
}

struct Reading<'r, I> {
    list: &'r str,
    take: &'r mut dyn FnMut(Part<I>) -> Result<(), Reject>,
    failed: Option<Reject>,
    items: usize,
}

impl<I> Reading<'_, I> {
    fn run<'de, R>(mut self, document: &mut serde_json::Deserializer<R>) -> Result<Ending, Reject>
    where
        R: serde_json::de::Read<'de>,
        I: Deserialize<'de> + Borrow<RawValue>,
    {
        let outcome = document.deserialize_any(Document(&mut self));
        match (self.failed, outcome) {
            (Some(reject), _) => Err(reject),
            (None, Ok(())) => Ok(Ending::Whole),
            (None, Err(error)) => Ok(Ending::Torn(error.line() as u64, error.to_string())),
        }
    }

    fn give<E: serde::de::Error>(&mut self, part: Part<I>) -> Result<(), E> {
        (self.take)(part).map_err(|reject| {
            self.failed = Some(reject);
            E::custom("stopped")
        })
    }
}

struct Document<'d, 'r, I>(&'d mut Reading<'r, I>);

impl<'de, I: Deserialize<'de> + Borrow<RawValue>> Visitor<'de> for Document<'_, '_, I> {
    type Value = ();
    lenient!(@expecting "an object or a list");
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            if key == self.0.list {
                entries.next_value_seed(Items(self.0))?;
                continue;
            }
            let value = entries.next_value()?;
            self.0.give(Part::Field(key, value))?;
        }
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        Items(self.0).visit_seq(items)
    }
    lenient!(@otherwise (); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64) visit_str(&str));
    lenient!(@null ());
}

struct Items<'d, 'r, I>(&'d mut Reading<'r, I>);

impl<'de, I: Deserialize<'de>> DeserializeSeed<'de> for Items<'_, '_, I> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, I: Deserialize<'de>> Visitor<'de> for Items<'_, '_, I> {
    type Value = ();
    lenient!(@expecting "a list");
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            self.0.items += 1;
            check_items(self.0.items)?;
            self.0.give(Part::Item(item))?;
        }
        Ok(())
    }
    lenient!(@otherwise (); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64) visit_str(&str));
    lenient!(@null ());
    lenient!(@map ());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::records::{List, MAX_ITEMS, Number, Text};

    #[test]
    fn what_stands_before_a_tear_is_read() {
        let torn = Torn::read(r#"{"id":"a","list":[{"n":1},{"n":2},{"n""#, "list");
        assert_eq!(torn.field::<Text<'_>>("id").get(), Some("a"));
        assert_eq!(torn.items.iter().map(|item| item.get()).collect::<Vec<_>>(), [r#"{"n":1}"#, r#"{"n":2}"#]);
        assert!(torn.error.is_some());
    }

    #[test]
    fn no_more_items_are_read_than_memory_allows() {
        let json = format!("[{}0]", "0,".repeat(MAX_ITEMS));
        let torn = Torn::read(&json, "list");
        assert_eq!(torn.items.len(), MAX_ITEMS);
        assert!(torn.error.unwrap().to_string().contains("more than 200000 items"));
        let list: Result<List<Number>, _> = serde_json::from_str(&json);
        assert!(list.is_err());
    }

    #[test]
    fn odd_documents_hold_nothing() {
        for json in ["", "null", "3", "\"a\"", r#"{"list":null}"#, r#"{"list":{"a":[1]}}"#] {
            assert!(Torn::read(json, "list").items.is_empty(), "{json}");
        }
        assert_eq!(Torn::read("[1,2]", "list").items.len(), 2);
        assert_eq!(Torn::read(r#"{"a":1,"a":2}"#, "list").raw("a").map(RawValue::get), Some("2"));
    }
}
