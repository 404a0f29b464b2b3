//! `settings.json` of editors that are built like VS Code, and of agents: JSON with comments, and with commas after the
//! last item.

use std::path::Path;

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

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
    let mut settings: Map<String, Value> = parse_to_serde_value(&repair(&bytes), &ParseOptions::default()).ok()?;
    serde_json::from_value(settings.remove(key)?).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn text_in(json: &str, key: &str) -> Option<String> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(json.as_bytes()).unwrap();
        text_setting(file.path(), key)
    }

    #[test]
    fn comments_and_last_commas_are_passed_over() {
        let json = r#"{
            // "a": "no", and a quotation mark: "
            "a": "/x // y, }", /* "a": "neither" **/
            "b\"": [1, 2, /* three */ ],
            "c": {"d": "\\",},
            "e\"": "last",
        }"#;
        assert_eq!(text_in(json, "a").as_deref(), Some("/x // y, }"));
        assert_eq!(text_in(json, "e\"").as_deref(), Some("last"));
    }

    #[test]
    fn damaged_settings_are_none() {
        let deep = "{\"a\": ".repeat(100_000);
        for json in ["", "{\"a\": \"", "{ /* ", "//", "{\"a\": 1, /", "}", "[]", &deep, &"[".repeat(100_000)] {
            assert_eq!(text_in(json, "a"), None);
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
