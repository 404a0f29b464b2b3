//! Long JSON texts, decoded in one pass into a buffer of the right size.

use std::borrow::Cow;

/// The text of a JSON string literal that a parser has found whole, quotes included; borrowed when nothing in it is
/// escaped. None when half of a surrogate pair is missing, which no UTF-8 text can hold.
pub(crate) fn unescape(literal: &str) -> Option<Cow<'_, str>> {
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::new();
    let mut done = 0;
    for at in memchr::memchr_iter(b'\\', inner.as_bytes()) {
        if at < done {
            continue;
        }
        if text.is_empty() {
            text.reserve_exact(inner.len());
        }
        text.push_str(inner.get(done..at)?);
        let (letter, length) = escaped(inner.get(at + 1..)?)?;
        text.push(letter);
        done = at + 1 + length;
    }
    if done == 0 {
        return Some(Cow::Borrowed(inner));
    }
    text.push_str(inner.get(done..)?);
    Some(Cow::Owned(text))
}

/// What stands behind a backslash, and how many bytes of it.
fn escaped(rest: &str) -> Option<(char, usize)> {
    let letter = match rest.as_bytes().first()? {
        b'n' => '\n',
        b'"' => '"',
        b'\\' => '\\',
        b't' => '\t',
        b'/' => '/',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => return code_point(rest.get(1..)?),
        _ => return None,
    };
    Some((letter, 1))
}

fn code_point(rest: &str) -> Option<(char, usize)> {
    let unit = |digits: &str| u16::from_str_radix(digits, 16).ok();
    let first = unit(rest.get(..4)?)?;
    if let Some(letter) = char::from_u32(u32::from(first)) {
        return Some((letter, 5));
    }
    let second = unit(rest.get(4..)?.strip_prefix("\\u")?.get(..4)?)?;
    let letter = char::decode_utf16([first, second]).next()?.ok()?;
    Some((letter, 11))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    proptest! {
        /// Any spelling of a text is read as the JSON parser reads it.
        #[test]
        fn texts_are_what_the_parser_says(parts in prop::collection::vec(prop_oneof![
            Just(r"\n".to_owned()), Just(r"\\".to_owned()), Just(r#"\""#.to_owned()), Just(r"\t\r\b\f\/".to_owned()),
            Just(r"\u00e9\u20AC".to_owned()), Just(r"\ud83d\ude00".to_owned()), Just(r"\ud83d".to_owned()),
            "[a-z é€😀]{0,40}",
        ], 0..20)) {
            let literal = format!("\"{}\"", parts.concat());
            let parsed = serde_json::from_str::<String>(&literal).ok();
            prop_assert_eq!(unescape(&literal).map(Cow::into_owned), parsed);
        }
    }
}
