//! Values of the databases: JSON as text or bytes, whole or damaged, sometimes wrapped in base64.

use std::borrow::Cow;

use rusqlite::types::ValueRef;

use crate::agents::base64;
use crate::agents::kit::texts::string_of;
use crate::source::records::Raw;
use crate::source::records::Shape;
use crate::source::repair;

/// Returns the JSON text of a value; `None` for null and for values without one.
pub(super) fn text_of(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = value else { return None };
    let text = match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => repair(bytes),
    };
    match text.trim_start().bytes().next()? {
        b'{' | b'[' | b'"' => Some(text),
        _ => match unwrapped(text.trim()) {
            Some(bytes) => Some(Cow::Owned(repair(&bytes).into_owned())),
            None => Some(text),
        },
    }
}

/// Takes the content of a JSON text. Repairs the text first if it cannot be read as it is.
pub(super) fn read<S: Shape, R>(json: &str, take: impl FnOnce(&S::Of<'_>) -> R) -> Result<R, serde_json::Error> {
    match serde_json::from_str::<S::Of<'_>>(json) {
        Ok(record) => Ok(take(&record)),
        Err(error) => {
            let repaired = repair(json.as_bytes());
            serde_json::from_str::<S::Of<'_>>(&repaired).map(|record| take(&record)).map_err(|_| error)
        }
    }
}

/// Returns the content of a field that holds JSON or a text with JSON in it; `None` for null and for an empty text.
pub(super) fn within(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = raw.json()?;
    let text = if json.starts_with('"') { string_of(json)? } else { Cow::Borrowed(json) };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Decodes JSON in Base64 on one line; `None` for any other text.
fn unwrapped(text: &str) -> Option<Vec<u8>> {
    let text = Some(text.trim_end_matches('='))
        .filter(|text| !text.contains(|c: char| c.is_ascii_whitespace() || c == '='))?;
    base64::decode(text).filter(|bytes| matches!(bytes.first(), Some(b'{' | b'[')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_as_text_as_bytes_and_in_base64() {
        assert_eq!(text_of(ValueRef::Text(b"{\"a\":1}")).unwrap(), "{\"a\":1}");
        assert_eq!(text_of(ValueRef::Blob(b" [1]")).unwrap(), " [1]");
        assert_eq!(text_of(ValueRef::Text(b"eyJhIjoxfQ==")).unwrap(), "{\"a\":1}");
        assert_eq!(text_of(ValueRef::Text(b"true")).unwrap(), "true");
        assert_eq!(text_of(ValueRef::Null), None);
        assert_eq!(text_of(ValueRef::Integer(1)), None);
    }
}
