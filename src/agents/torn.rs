//! Documents of one object with a long list in it: what comes before a tear is read.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::source::records::{Text, check_items, lenient};

/// What a document holds, as far as it is whole; nothing of it is decoded yet.
#[derive(Default)]
pub(super) struct Torn<'j> {
    fields: Vec<(Cow<'j, str>, &'j RawValue)>,
    /// The items of the list.
    pub(super) items: Vec<&'j RawValue>,
    /// Why it could not be read to its end.
    pub(super) error: Option<serde_json::Error>,
}

impl<'j> Torn<'j> {
    /// Reads an object with a list under the given name, or a list alone.
    pub(super) fn read(json: &'j str, list: &str) -> Self {
        let mut torn = Self::default();
        let mut document = serde_json::Deserializer::from_str(json);
        let outcome = Document { list, into: &mut torn }.deserialize(&mut document).and_then(|()| document.end());
        torn.error = outcome.err();
        torn
    }

    /// A field next to the list; if it is repeated, the last one counts. The default of its kind when it is not there
    /// or not what it should be.
    pub(super) fn field<T: Deserialize<'j> + Default>(&self, key: &str) -> T {
        self.raw(key).and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    /// A field as it is written.
    pub(super) fn raw(&self, key: &str) -> Option<&'j RawValue> {
        self.fields.iter().rev().find(|(name, _)| name == key).map(|(_, raw)| *raw)
    }

    /// The names of the fields next to the list.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| &**name)
    }
}

struct Document<'t, 'l, 'j> {
    list: &'l str,
    into: &'t mut Torn<'j>,
}

impl<'j> DeserializeSeed<'j> for Document<'_, '_, 'j> {
    type Value = ();
    fn deserialize<D: Deserializer<'j>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'j> Visitor<'j> for Document<'_, '_, 'j> {
    type Value = ();
    lenient!(@expecting "an object or a list");
    fn visit_map<A: MapAccess<'j>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(Text(key)) = entries.next_key()? {
            let key = key.unwrap_or_default();
            if key == self.list {
                entries.next_value_seed(Items(self.into))?;
            } else {
                let value = entries.next_value()?;
                self.into.fields.push((key, value));
            }
        }
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'j>>(self, items: A) -> Result<(), A::Error> {
        Items(self.into).visit_seq(items)
    }
    lenient!(@otherwise (); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64) visit_str(&str));
    lenient!(@null ());
}

struct Items<'t, 'j>(&'t mut Torn<'j>);

impl<'j> DeserializeSeed<'j> for Items<'_, 'j> {
    type Value = ();
    fn deserialize<D: Deserializer<'j>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'j> Visitor<'j> for Items<'_, 'j> {
    type Value = ();
    lenient!(@expecting "a list");
    fn visit_seq<A: SeqAccess<'j>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            check_items(self.0.items.len() + 1)?;
            self.0.items.push(item);
        }
        Ok(())
    }
    lenient!(@otherwise (); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64) visit_str(&str));
    lenient!(@null ());
    fn visit_map<A: MapAccess<'j>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::records::{List, MAX_ITEMS, Number};

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
