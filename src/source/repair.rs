//! Repairs damage that occurs in real files.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem;
use regex::bytes::Regex;

use super::records::note_out_of_range;

/// Returns the text without NUL bytes and byte-order mark. Unpaired surrogate escapes and invalid UTF-8 become U+FFFD,
/// and numbers beyond the range of floats become `null`. Borrowed if nothing was wrong.
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
    let text = replace_lone_surrogates(&text).map_or(text, Cow::Owned);
    replace_large_numbers(&text).map_or(text, Cow::Owned)
}

/// Like [`repair`], for JSON that a parser has accepted: only surrogates can be wrong.
pub(crate) fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    replace_lone_surrogates(json).map_or(Cow::Borrowed(json), Cow::Owned)
}

/// Occurs in numbers such as `1e999`, and in few others.
static LARGE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?-u)[0-9][eE]\+?[0-9]{3}|[0-9]{309}").ok());

/// Replaces numbers beyond the range of floats by `null`, and counts them: a parser refuses the whole JSON text
/// otherwise. Returns `None` if there are none.
fn replace_large_numbers(text: &str) -> Option<String> {
    let is_json = text.trim_start().starts_with(['{', '[']);
    if !is_json || !LARGE.as_ref()?.is_match(text.as_bytes()) {
        return None;
    }
    let mut fixed: Option<Vec<u8>> = None;
    for (from, to) in Numbers::of(text.as_bytes()) {
        let is_large = text.get(from..to)?.parse::<f64>().is_ok_and(f64::is_infinite);
        if is_large && let Some(place) = fixed.get_or_insert_with(|| text.as_bytes().to_vec()).get_mut(from..to) {
            place.fill(b' ');
            place.get_mut(..4)?.copy_from_slice(b"null");
            note_out_of_range();
        }
    }
    fixed.and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Positions of the numbers in a JSON text.
struct Numbers<'t> {
    text: &'t [u8],
    at: usize,
    is_in_string: bool,
}

impl<'t> Numbers<'t> {
    fn of(text: &'t [u8]) -> Self {
        Self { text, at: 0, is_in_string: false }
    }
}

impl Iterator for Numbers<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        loop {
            let (from, byte) = (self.at, *self.text.get(self.at)?);
            self.at += 1;
            match byte {
                b'"' => self.is_in_string = !self.is_in_string,
                b'\\' if self.is_in_string => self.at += 1,
                b'-' | b'0'..=b'9' if !self.is_in_string => {
                    let rest = self.text.get(from..)?;
                    let is_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                    let to = from + rest.iter().position(|byte| !is_number(byte)).unwrap_or(rest.len());
                    self.at = to;
                    return Some((from, to));
                }
                _ => {}
            }
        }
    }
}

/// Decodes UTF-8. Faster than the standard library, which reads byte by byte; nearly all texts are valid.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    simdutf8::basic::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Beginning of the escape of a code unit.
static UNICODE_ESCAPE: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"\\u"));

/// Replaces unpaired `\ud800`–`\udfff` escapes by `\ufffd`. Returns `None` if all are paired.
fn replace_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    // Searches for `\u`: most texts have no such escape, and many have a backslash every few words.
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

/// Returns the surrogate of a `\uXXXX` escape at this position.
fn surrogate_at(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = escape.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xD800..=0xDFFF).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::records::take_out_of_range;

    #[test]
    fn sound_text_is_borrowed() {
        assert!(matches!(repair("{\"a\":\"\\ud83d\\ude00 \\\\ud83d\"}".as_bytes()), Cow::Borrowed(_)));
    }

    #[test]
    fn numbers_that_no_float_holds_are_null_and_counted() {
        take_out_of_range();
        let json = r#"{"a":1e999,"b":"1e999 \\\" 1e999","c":[-1.5E+400,1e308],"d":0e999}"#;
        let repaired = repair(json.as_bytes());
        assert_eq!(repaired, r#"{"a":null ,"b":"1e999 \\\" 1e999","c":[null     ,1e308],"d":0e999}"#);
        assert_eq!(take_out_of_range(), 2);
        assert!(serde_json::from_str::<serde_json::Value>(&repaired).is_ok());
        let long = format!("[{}]", "9".repeat(400));
        assert_eq!(repair(long.as_bytes()).trim_end_matches(['9', ']', ' ']), "[null");
        for sound in [r#"{"a":"1e999","b":"3e100a"}"#, "7b2261223a31e999"] {
            assert!(matches!(repair(sound.as_bytes()), Cow::Borrowed(_)), "{sound}");
        }
    }

    #[test]
    fn lone_surrogates_nuls_bom_and_bad_bytes_are_replaced() {
        assert_eq!(repair(b"\"a\\ud83c b\\udc00\\ud800\\ud83d\\ude00\""), "\"a\\ufffd b\\ufffd\\ufffd\\ud83d\\ude00\"");
        assert_eq!(repair(b"\xEF\xBB\xBF\0\0{\"a\":1}\0"), "{\"a\":1}");
        assert_eq!(repair(b"\"\xff\""), "\"\u{fffd}\"");
    }
}
