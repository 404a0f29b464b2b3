//! Damage that real files carry, and what can be saved from it.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem;

/// The same text without NUL bytes and byte-order mark, with unpaired surrogate escapes and invalid UTF-8 replaced by
/// U+FFFD; borrowed when nothing was wrong.
pub fn repair(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let bytes = if memchr::memchr(0, bytes).is_some() {
        Cow::Owned(bytes.iter().copied().filter(|byte| *byte != 0).collect())
    } else {
        Cow::Borrowed(bytes)
    };
    let text = match bytes {
        Cow::Borrowed(bytes) => lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(lossy(&bytes).into_owned()),
    };
    match replace_lone_surrogates(&text) {
        Some(replaced) => Cow::Owned(replaced),
        None => text,
    }
}

/// As [`repair`], of JSON that a parser has passed: nothing else can be wrong with it.
pub(crate) fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    replace_lone_surrogates(json).map_or(Cow::Borrowed(json), Cow::Owned)
}

/// The standard library's own reads byte by byte, which nearly no text needs.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    simdutf8::basic::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// How the escape of a code unit begins.
static UNICODE_ESCAPE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"\\u"));

/// `\ud800`–`\udfff` escapes without their other half become `\ufffd`; none when every one is paired.
fn replace_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    // Most texts have none, and many have a backslash every few words.
    let is_surrogate = |at: usize| matches!(bytes.get(at + 2), Some(b'd' | b'D'));
    if !UNICODE_ESCAPE.find_iter(bytes).any(is_surrogate) {
        return None;
    }
    let mut fixed: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = at + found;
        at = escape + 2;
        match surrogate_at(bytes, escape) {
            Some(0xD800..=0xDBFF) if matches!(surrogate_at(bytes, escape + 6), Some(0xDC00..=0xDFFF)) => {
                at = escape + 12;
            }
            Some(_) => {
                let fixed = fixed.get_or_insert_with(|| bytes.to_vec());
                if let Some(digits) = fixed.get_mut(escape + 2..escape + 6) {
                    digits.copy_from_slice(b"fffd");
                }
                at = escape + 6;
            }
            None => {}
        }
    }
    fixed.and_then(|bytes| String::from_utf8(bytes).ok())
}

/// The surrogate that a `\uXXXX` escape at this place stands for.
fn surrogate_at(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_text_is_borrowed() {
        assert!(matches!(repair("{\"a\":\"\\ud83d\\ude00 \\\\ud83d\"}".as_bytes()), Cow::Borrowed(_)));
    }

    #[test]
    fn lone_surrogates_nuls_bom_and_bad_bytes_are_replaced() {
        assert_eq!(repair(b"\"a\\ud83c b\\udc00\\ud800\\ud83d\\ude00\""), "\"a\\ufffd b\\ufffd\\ufffd\\ud83d\\ude00\"");
        assert_eq!(repair(b"\xEF\xBB\xBF\0\0{\"a\":1}\0"), "{\"a\":1}");
        assert_eq!(repair(b"\"\xff\""), "\"\u{fffd}\"");
    }
}
