//! The key of a tool call's request: equal for equal arguments, whatever their order and spacing.

use std::borrow::Cow;
use std::fmt::{self, Formatter};

use serde::Deserializer as _;
use serde::de::{Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::hashing::Pieces;
use crate::source::records::Fields;

/// Arguments that only describe the call in other words.
const DESCRIBED: [&str; 5] = ["command", "cmd", "script", "code", "prompt"];
/// Tools with such arguments. Models word them anew each time.
const DESCRIPTIONS: [&str; 3] = ["description", "riskLevel", "riskLevelReason"];

/// Returns a hash of tool and arguments, whatever the order of the keys. Arguments that only describe the call are left
/// out.
pub(super) fn input_key(tool: &str, input: &str) -> u64 {
    let mut hasher = Pieces::new();
    hasher.add(tool.as_bytes());
    let Some(mut arguments) = entries(input) else {
        hasher.add(input.trim().as_bytes());
        return hasher.hash();
    };
    arguments.sort_by(|a, b| a.0.cmp(&b.0));
    let is_described = arguments.iter().any(|(key, _)| DESCRIBED.contains(&&**key));
    for (key, value) in arguments.iter().filter(|(key, _)| !is_described || !DESCRIPTIONS.contains(&&**key)) {
        hasher.add(&[0]);
        hasher.add(key.as_bytes());
        hasher.add(&[0]);
        hasher.add(value.as_bytes());
    }
    hasher.hash()
}

/// The arguments of a call.
pub(crate) struct Request<'j>(Vec<(Cow<'j, str>, &'j str)>);

impl<'j> Request<'j> {
    /// Parses the arguments if the JSON is an object.
    pub(crate) fn of(json: &'j str) -> Option<Self> {
        entries(json).map(Self)
    }

    /// Returns the value of a key as JSON. Of two values, the last one counts.
    pub(crate) fn get(&self, key: &str) -> Option<&'j str> {
        self.0.iter().rev().find(|(name, _)| name == key).map(|(_, value)| *value)
    }

    /// Deserializes the fields of a record. Of two names for one field, the last one counts.
    pub(crate) fn fields<T: Fields<'j>>(&self) -> serde_json::Result<T> {
        let mut record = T::default();
        self.0.iter().try_for_each(|(key, value)| record.take(key, value))?;
        Ok(record)
    }
}

/// Most arguments that are compared one by one. A call with more is compared by its text.
const MAX_ENTRIES: usize = 10_000;

/// Returns the entries of a JSON object with their raw values, or `None` if the text is no object or has too many.
fn entries(json: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    let mut parser = serde_json::Deserializer::from_str(json);
    let entries = parser.deserialize_map(Entries).ok()?;
    parser.end().ok().map(|()| entries)
}

/// Reads the entries of an object.
struct Entries;

impl<'j> Visitor<'j> for Entries {
    type Value = Vec<(Cow<'j, str>, &'j str)>;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'j>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Key<'j>, &'j RawValue>()? {
            entries.push((key.0, value.get()));
            if entries.len() > MAX_ENTRIES {
                return Err(A::Error::custom("too many arguments"));
            }
        }
        Ok(entries)
    }
}

/// A key, borrowed if it has no escapes.
#[derive(serde::Deserialize)]
struct Key<'j>(#[serde(borrow)] Cow<'j, str>);

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::value::RawValue;
    use serde_json::{Map, Value};

    use super::*;
    use crate::source::records::{Number, Text, record};

    #[test]
    fn equal_requests_have_equal_keys() {
        let key = |json| input_key("Bash", json);
        assert_eq!(key(r#"{"command":"ls","timeout":5}"#), key(r#"{ "timeout":5, "command":"ls"}"#));
        assert_eq!(key(r#"{"command":"ls","description":"a"}"#), key(r#"{"command":"ls","description":"b"}"#));
        assert_ne!(key(r#"{"command":"ls"}"#), key(r#"{"command":"ls -l"}"#));
        assert_eq!(key(r#"{"command":"ls","riskLevel":"low"}"#), key(r#"{"command":"ls","riskLevelReason":"b"}"#));
        assert_ne!(key(r#"{"title":"Bug","description":"a"}"#), key(r#"{"title":"Bug","description":"b"}"#));
        assert_ne!(key(r#"{"command":"ls"}"#), input_key("Read", r#"{"command":"ls"}"#));
    }

    #[test]
    fn what_is_no_object_has_no_entries() {
        for text in ["", "{", "ls -l", "[1]", "\"a\"", r#"{"a"}"#, r#"{"a":}"#, r#"{"a":1"#, r#"{"a":1} x"#, "{,}"] {
            assert_eq!(entries(text), None, "{text}");
        }
        assert_eq!(entries(" { } "), Some(Vec::new()));
        let told = entries(r#"{"a" : [1, {"b":"]\""}] , "c\n":-1.5e3}"#).unwrap();
        assert_eq!(told, [("a".into(), r#"[1, {"b":"]\""}]"#), ("c\n".into(), "-1.5e3")]);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    record! {
        /// Fields to read from an object.
        Told<'a> {
            text: Text<'a> = "text" | "also",
            number: Number = "number",
        }
    }

    #[test]
    fn fields_are_those_that_a_parser_finds() {
        for json in [
            r#"{"text":"a","number":1}"#,
            r#"{"text":"a","also":"b\n","other":[{"text":"c"}]}"#,
            r#"{"also":"b","text":"a","number":"7","number":null}"#,
            "{ }",
        ] {
            let told: Told<'_> = Request::of(json).unwrap().fields().unwrap();
            let parsed: Told<'_> = serde_json::from_str(json).unwrap();
            assert_eq!((told.text, told.number), (parsed.text, parsed.number), "{json}");
        }
        assert!(Request::of(r#"{"text":"\ud83d"}"#).unwrap().fields::<Told<'_>>().is_err());
    }

    proptest! {
        /// The entries of an object are those that a parser finds, in any spacing.
        #[test]
        fn entries_are_what_the_parser_says(
            told in prop::collection::btree_map(any::<String>(), value(), 0..6), is_spaced in any::<bool>()
        ) {
            let object = Value::Object(told.into_iter().collect());
            let json = if is_spaced { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) };
            let json = json.unwrap();
            let parsed: BTreeMap<String, &RawValue> = serde_json::from_str(&json).unwrap();
            let parsed: Vec<_> = parsed.iter().map(|(key, value)| (Cow::from(key), value.get())).collect();
            let mut found = entries(&json).unwrap();
            found.sort();
            prop_assert_eq!(found, parsed);
        }

        #[test]
        fn any_text_has_a_key(tool in any::<String>(), text in any::<String>()) {
            prop_assert_eq!(input_key(&tool, &text), input_key(&tool, &format!(" {text} ")));
        }
    }
}
