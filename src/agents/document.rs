//! Documents of any size: the items of their list one at a time, so that a torn one gives all before the tear.

use std::borrow::Borrow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::extract::Reject;
use crate::source::records::{check_items, lenient};
use crate::source::{Source, repair};

/// What a document holds.
pub(super) enum Found<'f, I = &'f str> {
    /// A field next to the list, as the text of an object that has only this field.
    Field(&'f str),
    /// An item of the list.
    Item(I),
}

/// How the reading of a document ended.
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

/// As [`read`], of a document whose text is held: its items live as long.
pub(super) fn read_text<'t>(
    text: &'t str,
    list: &str,
    take: &mut dyn FnMut(Found<'_, &'t str>) -> Result<(), Reject>,
) -> Result<Ending, Reject> {
    if text.trim().is_empty() {
        return Ok(Ending::Empty);
    }
    let take = &mut |found: Found<'_, &'t RawValue>| match found {
        Found::Field(json) => take(Found::Field(json)),
        Found::Item(json) => take(Found::Item(json.get())),
    };
    Reading { list, take, failed: None, items: 0 }.run(&mut serde_json::Deserializer::from_str(text))
}

/// As [`read`], of a document that is too large to be held.
pub(super) fn stream(
    source: &mut Source<'_>,
    list: &str,
    take: &mut dyn FnMut(Found<'_>) -> Result<(), Reject>,
) -> Result<Ending, Reject> {
    let take = &mut |found: Found<'_, Box<RawValue>>| match found {
        Found::Field(json) => take(Found::Field(json)),
        Found::Item(json) => take(Found::Item(json.get())),
    };
    Reading { list, take, failed: None, items: 0 }.run(&mut serde_json::Deserializer::from_reader(source.reader()?))
}

struct Reading<'r, I> {
    list: &'r str,
    take: &'r mut dyn FnMut(Found<'_, I>) -> Result<(), Reject>,
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

    fn give<E: serde::de::Error>(&mut self, found: Found<'_, I>) -> Result<(), E> {
        (self.take)(found).map_err(|reject| {
            self.failed = Some(reject);
            E::custom("stopped")
        })
    }
}

struct Document<'d, 'r, I>(&'d mut Reading<'r, I>);

/// Longest field that is looked at. Bytes.
const LONGEST_FIELD: usize = 64 << 10;

impl<'de, I: Deserialize<'de> + Borrow<RawValue>> Visitor<'de> for Document<'_, '_, I> {
    type Value = ();
    lenient!(@expecting "an object or a list");
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            if key == self.0.list {
                entries.next_value_seed(Items(self.0))?;
                continue;
            }
            let value: I = entries.next_value()?;
            let value = value.borrow().get();
            if value.len() <= LONGEST_FIELD {
                let key = serde_json::to_string(&key).map_err(A::Error::custom)?;
                self.0.give(Found::Field(&["{", &key, ":", value, "}"].concat()))?;
            }
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
            self.0.give(Found::Item(item))?;
        }
        Ok(())
    }
    lenient!(@otherwise (); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64) visit_str(&str));
    lenient!(@null ());
    lenient!(@map ());
}
