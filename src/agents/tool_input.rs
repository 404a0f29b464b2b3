//! What arguments of tool calls tell: whether two calls ask for the same, and which file a patch is for.

use crate::source::records::Text;

/// Arguments beside which a description only says in other words what they ask for.
const DESCRIBED: [&str; 5] = ["command", "cmd", "script", "code", "prompt"];

/// Hash of tool and arguments, whatever the order of the keys; what only describes a call is left out.
pub(super) fn input_key(name: &str, json: &str) -> String {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    hasher.update(name.as_bytes());
    match serde_json::from_str::<Arguments<'_>>(json) {
        Ok(Arguments(mut entries)) => {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            let is_described = entries.iter().any(|(key, _)| DESCRIBED.contains(&&**key));
            for (key, value) in entries.iter().filter(|(key, _)| key != "description" || !is_described) {
                hasher.update(&[0]);
                hasher.update(key.as_bytes());
                hasher.update(&[0]);
                hasher.update(value.trim().as_bytes());
            }
        }
        Err(_) => hasher.update(json.trim().as_bytes()),
    }
    format!("{:016x}", hasher.digest())
}

/// The first file that a patch touches, in the form that OpenAI's models write.
pub(super) fn file_of_patch(patch: &str) -> Option<&str> {
    patch.lines().find_map(|line| {
        let named = line.strip_prefix("*** ")?;
        ["Update File: ", "Add File: ", "Delete File: "].iter().find_map(|opening| named.strip_prefix(opening))
    })
}

/// An object's entries as they stand.
struct Arguments<'a>(Vec<(std::borrow::Cow<'a, str>, &'a str)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> serde::de::Visitor<'de> for Entries {
            type Value = Arguments<'de>;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(key), value)) = map.next_entry::<Text<'de>, &'de serde_json::value::RawValue>()? {
                    entries.push((key.unwrap_or_default(), value.get()));
                }
                Ok(Arguments(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_requests_have_equal_keys() {
        let key = |json| input_key("Bash", json);
        assert_eq!(key(r#"{"command":"ls","timeout":5}"#), key(r#"{ "timeout":5, "command":"ls"}"#));
        assert_eq!(key(r#"{"command":"ls","description":"a"}"#), key(r#"{"command":"ls","description":"b"}"#));
        assert_ne!(key(r#"{"command":"ls"}"#), key(r#"{"command":"ls -l"}"#));
        assert_ne!(key(r#"{"title":"Bug","description":"a"}"#), key(r#"{"title":"Bug","description":"b"}"#));
        assert_ne!(key(r#"{"command":"ls"}"#), input_key("Read", r#"{"command":"ls"}"#));
    }
}
