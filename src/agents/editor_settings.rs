//! `settings.json` of editors that are built like VS Code, and of agents: JSON with comments and commas behind the last item.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::source::{head, repair};

/// Largest file of settings that is read. Bytes.
const MAX_SETTINGS: u64 = 4 << 20;

/// A setting that is a text; none where there is no such file or setting.
pub(super) fn text_setting(path: &Path, key: &str) -> Option<String> {
    setting(path, key)
}

/// A setting that is a whole number, and not below 0; none where there is no such file or setting.
pub(super) fn number_setting(path: &Path, key: &str) -> Option<u32> {
    setting(path, key)
}

fn setting<T: DeserializeOwned>(path: &Path, key: &str) -> Option<T> {
    let bytes = head(path, MAX_SETTINGS).ok()?;
    let json = plain_json(&repair(&bytes));
    let settings: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(&json).ok()?;
    serde_json::from_str(settings.get(key)?.get()).ok()
}

/// The same without comments, and without commas before what closes a list or an object.
fn plain_json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let (mut is_text, mut is_escaped) = (false, false);
    while let Some(character) = characters.next() {
        if is_text {
            is_text = character != '"' || is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            plain.push(character);
            continue;
        }
        match (character, characters.peek()) {
            ('/', Some('/')) => while characters.next_if(|next| *next != '\n').is_some() {},
            ('/', Some('*')) => {
                characters.next();
                let mut last = ' ';
                while characters.next().is_some_and(|next| std::mem::replace(&mut last, next) != '*' || next != '/') {}
            }
            ('}' | ']', _) => {
                let kept = plain.trim_end();
                let kept = kept.strip_suffix(',').unwrap_or(kept).len();
                plain.truncate(kept);
                plain.push(character);
            }
            _ => {
                is_text = character == '"';
                plain.push(character);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn comments_and_last_commas_are_passed_over() {
        let text = r#"{
            // "a": "no", and a quotation mark: "
            "a": "/x // y, }", /* "a": "neither" **/
            "b\"": [1, 2, /* three */ ],
            "c": {"d": "\\",},
        }"#;
        let json: serde_json::Value = serde_json::from_str(&plain_json(text)).unwrap();
        assert_eq!(json, serde_json::json!({"a": "/x // y, }", "b\"": [1, 2], "c": {"d": "\\"}}));
        for torn in ["{\"a\": \"", "{ /* ", "//", "{\"a\": 1, /", "}"] {
            plain_json(torn);
        }
    }

    #[test]
    fn a_setting_that_is_a_text() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all("\u{feff}{\"a\": 1, \"b\": \"/x\", // last\n}".as_bytes()).unwrap();
        let path = file.path();
        assert_eq!(text_setting(path, "b").as_deref(), Some("/x"));
        assert_eq!((number_setting(path, "a"), number_setting(path, "b")), (Some(1), None));
        assert_eq!(text_setting(path, "a").or(text_setting(path, "c")), None);
        assert_eq!(text_setting(&path.with_extension("none"), "b"), None);
    }
}
