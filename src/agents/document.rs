//! Documents of any size: the items of their list one at a time, so that a torn one gives all before the tear.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::extract::Reject;
use crate::source::records::lenient;
use crate::source::{Source, repair};

/// What a document holds.
pub(super) enum Found<'j> {
    /// A field beside the list, as the text of an object with it alone.
    Field(&'j str),
    /// An item of the list.
    Item(&'j str),
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

/// Takes what a document holds.
type Take<'t> = dyn FnMut(Found<'_>) -> Result<(), Reject> + 't;

/// Reads a document that is a list, or an object with a list under the given name. Fields that are long are passed over.
pub(super) fn read(source: &mut Source<'_>, list: &str, take: &mut Take<'_>) -> Result<Ending, Reject> {
    let mut reading = Reading { list, take, failed: None };
    let outcome = match source.document()? {
        Some(bytes) => {
            let text = repair(&bytes);
            if text.trim().is_empty() {
                return Ok(Ending::Empty);
            }
            reading.run(&mut serde_json::Deserializer::from_str(&text))
        }
        None => reading.run(&mut serde_json::Deserializer::from_reader(source.reader()?)),
    };
    match (reading.failed, outcome) {
        (Some(reject), _) => Err(reject),
        (None, Ok(())) => Ok(Ending::Whole),
        (None, Err(error)) => Ok(Ending::Torn(error.line() as u64, error.to_string())),
    }
}

struct Reading<'r, 't> {
    list: &'r str,
    take: &'r mut Take<'t>,
    failed: Option<Reject>,
}

impl Reading<'_, '_> {
    fn run<'de, D: Deserializer<'de>>(&mut self, document: D) -> Result<(), D::Error> {
        document.deserialize_any(Document(self))
    }

    fn give<E: serde::de::Error>(&mut self, found: Found<'_>) -> Result<(), E> {
        (self.take)(found).map_err(|reject| {
            self.failed = Some(reject);
            E::custom("stopped")
        })
    }
}

struct Document<'d, 'r, 't>(&'d mut Reading<'r, 't>);

/// Longest field that is looked at. Bytes.
const LONGEST_FIELD: usize = 64 << 10;

impl<'de> Visitor<'de> for Document<'_, '_, '_> {
    type Value = ();
    lenient!(@expecting "an object or a list");
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            if key == self.0.list {
                entries.next_value_seed(Items(self.0))?;
                continue;
            }
            let value: Box<RawValue> = entries.next_value()?;
            if value.get().len() <= LONGEST_FIELD {
                let key = serde_json::to_string(&key).map_err(A::Error::custom)?;
                self.0.give(Found::Field(&format!("{{{key}:{}}}", value.get())))?;
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

struct Items<'d, 'r, 't>(&'d mut Reading<'r, 't>);

impl<'de> DeserializeSeed<'de> for Items<'_, '_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_, '_> {
    type Value = ();
    lenient!(@expecting "a list");
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Box<RawValue>>()? {
            self.0.give(Found::Item(item.get()))?;
        }
        Ok(())
    }
    lenient!(@otherwise (); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64) visit_str(&str));
    lenient!(@null ());
    lenient!(@map ());
}
