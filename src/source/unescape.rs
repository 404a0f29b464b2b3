//! Decodes long JSON texts in one pass into a buffer of the right size.

use std::borrow::Cow;

/// Decodes a JSON string literal that a parser has accepted, including quotes. Borrowed if it has no escapes. Returns
/// `None` if half of a surrogate pair is missing, which UTF-8 cannot represent.
pub(crate) fn unescape(literal: &str) -> Option<Cow<'_, str>> {
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut text = String::with_capacity(inner.len() + BLOCK);
    let mut rest = inner;
    while let Some(block) = rest.as_bytes().first_chunk::<BLOCK>() {
        let plain = first_backslash(*block);
        if let Some((block, behind)) = rest.split_at_checked(BLOCK) {
            // Copies a whole block, and truncates it at a backslash: that is less work than copying the few bytes
            // before.
            text.push_str(block);
            let Some(plain) = plain else {
                rest = behind;
                continue;
            };
            text.truncate(text.len() - BLOCK + plain);
        } else {
            // A character spans the end of the block.
            text.push_str(rest.get(..plain.unwrap_or_else(|| rest.floor_char_boundary(BLOCK)))?);
        }
        rest = match plain {
            Some(plain) => unescape_one(rest.get(plain..)?, &mut text)?,
            None => rest.get(rest.floor_char_boundary(BLOCK)..)?,
        };
    }
    while let Some(plain) = memchr::memchr(b'\\', rest.as_bytes()) {
        text.push_str(rest.get(..plain)?);
        rest = unescape_one(rest.get(plain..)?, &mut text)?;
    }
    text.push_str(rest);
    Some(Cow::Owned(text))
}

/// Bytes that are tested at once.
const BLOCK: usize = 16;

/// Returns the position of the first backslash.
fn first_backslash(block: [u8; BLOCK]) -> Option<usize> {
    const ONES: u128 = u128::MAX / 255;
    let differs = u128::from_le_bytes(block) ^ (ONES * u128::from(b'\\'));
    // The lowest set bit belongs to the first zero byte; higher ones may be wrong.
    let zeros = differs.wrapping_sub(ONES) & !differs & (ONES << 7);
    (zeros != 0).then(|| zeros.trailing_zeros() as usize / 8)
}

/// Appends the character of an escape. Returns the rest of the text.
#[inline]
fn unescape_one<'t>(escape: &'t str, text: &mut String) -> Option<&'t str> {
    let letter = *escape.as_bytes().get(1)?;
    let rest = escape.get(2..)?;
    text.push(match letter {
        b'n' => '\n',
        b'"' | b'\\' | b'/' => letter.into(),
        b't' => '\t',
        b'r' => '\r',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let (letter, length) = code_point(rest.as_bytes())?;
            text.push(letter);
            return rest.get(length..);
        }
        _ => return None,
    });
    Some(rest)
}

/// Returns the character of one or two escaped code units after the first `\u`, and their length in bytes.
fn code_point(rest: &[u8]) -> Option<(char, usize)> {
    let unit = |digits: &[u8]| {
        let digit = |unit, digit: &u8| Some(unit << 4 | u16::try_from(char::from(*digit).to_digit(16)?).ok()?);
        digits.first_chunk::<4>()?.iter().try_fold(0, digit)
    };
    let first = unit(rest)?;
    if let Some(letter) = char::from_u32(u32::from(first)) {
        return Some((letter, 4));
    }
    let second = unit(rest.get(4..)?.strip_prefix(b"\\u")?)?;
    let letter = char::decode_utf16([first, second]).next()?.ok()?;
    Some((letter, 10))
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
        /// Any spelling of a text is decoded as the JSON parser decodes it.
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
