//! Decodes JSON texts.

use std::borrow::Cow;

/// Decodes a JSON string literal that a parser has accepted, including quotes. Borrowed if it has no escapes. Returns
/// `None` if half of a surrogate pair is missing, which UTF-8 cannot represent.
pub(crate) fn unescape(literal: &str) -> Option<Cow<'_, str>> {
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str(literal).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_no_text() {
        for literal in [r#""\ud83d""#, r#""\ud83dx""#, r#""\ud83d\n""#, r#""\ude00\ud83d""#, r#""a\ude00""#] {
            assert_eq!(unescape(literal), None, "{literal}");
        }
    }

    #[test]
    fn what_has_no_escape_is_borrowed() {
        assert!(matches!(unescape("\"plain é\""), Some(Cow::Borrowed("plain é"))));
    }
}
