//! Decodes JSON texts.

use std::borrow::Cow;

/// Decodes a JSON string literal that a parser has accepted, including quotes. Borrowed if it has no escapes. Returns
/// `None` if half of a surrogate pair is missing, which UTF-8 cannot represent.
pub(crate) fn unescape(literal: &str) -> Option<Cow<'_, str>> {
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    without_codes(inner).or_else(|| serde_json::from_str(literal).ok()).map(Cow::Owned)
}

/// Decodes a text that has no `\u`, in half the time of `serde_json`, which lets the text grow and then copies it.
fn without_codes(mut rest: &str) -> Option<String> {
    let mut text = String::with_capacity(rest.len());
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(rest.get(..at)?);
        text.push(match *rest.as_bytes().get(at + 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            itself @ (b'"' | b'\\' | b'/') => char::from(itself),
            _ => return None,
        });
        rest = rest.get(at + 2..)?;
    }
    text.push_str(rest);
    Some(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Texts with all kinds of escapes, as writers of JSON differ in what they escape.
        #[test]
        fn a_text_is_what_the_parser_reads(
            pieces in prop::collection::vec(
                prop_oneof![
                    "[^\"\\\\\\x00-\\x1f]{0,9}",
                    r#"\\["\\/bfnrt]"#,
                    "\\\\u[0-9a-fA-F]{4}",
                    "\\\\ud[89abAB][0-9a-f]{2}\\\\u[dD][c-f][0-9a-f]{2}",
                ],
                0..12,
            )
        ) {
            let literal = format!("\"{}\"", pieces.concat());
            let parsed: Option<String> = serde_json::from_str(&literal).ok();
            prop_assert_eq!(unescape(&literal).map(Cow::into_owned), parsed);
        }
    }

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
