//! Text from transcripts is untrusted: on a terminal, what would steer it or hide text is shown escaped.

use std::borrow::Cow;
use std::io::{self, Write};

/// Whether a character steers the terminal, reorders or hides text.
fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text on one line: line breaks and tabs are escaped, too.
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => escaped.extend(letter.escape_default()),
            letter => push(&mut escaped, letter),
        }
    }
    Cow::Owned(escaped)
}

fn push(escaped: &mut String, letter: char) {
    if is_unsafe(letter) {
        escaped.extend(letter.escape_unicode());
    } else {
        escaped.push(letter);
    }
}

/// Escapes all that passes on its way to a terminal, apart from line breaks and tabs.
pub(super) struct Escaping<W> {
    inner: W,
    /// The beginning of a character that the next write completes.
    torn: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    pub(super) fn new(inner: W) -> Self {
        Self { inner, torn: Vec::new() }
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let joined = [std::mem::take(&mut self.torn).as_slice(), bytes].concat();
        let mut escaped = String::with_capacity(joined.len());
        let mut chunks = joined.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for letter in chunk.valid().chars() {
                if matches!(letter, '\n' | '\t') { escaped.push(letter) } else { push(&mut escaped, letter) }
            }
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_beginning(invalid) {
                invalid.clone_into(&mut self.torn);
            } else if !invalid.is_empty() {
                escaped.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.inner.write_all(escaped.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Whether more bytes could make a character of these.
fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_hides_is_shown() {
        assert_eq!(line("plain é 日本 ✓"), "plain é 日本 ✓");
        assert_eq!(line("a\u{1b}[2J\u{202e}b\u{200b}c\u{9b}d\u{7f}"), "a\\u{1b}[2J\\u{202e}b\\u{200b}c\\u{9b}d\\u{7f}");
        assert_eq!(line("one\ntwo\tthree\r"), "one\\ntwo\\tthree\\r");
    }

    #[test]
    fn characters_torn_between_writes_are_joined() {
        let text = "é日\u{202e}\n\u{1b}x";
        for at in 0..=text.len() {
            let mut writer = Escaping::new(Vec::new());
            writer.write_all(&text.as_bytes()[..at]).unwrap();
            writer.write_all(&text.as_bytes()[at..]).unwrap();
            assert_eq!(String::from_utf8(writer.inner).unwrap(), "é日\\u{202e}\n\\u{1b}x", "{at}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let mut writer = Escaping::new(Vec::new());
        writer.write_all(b"a\xffb").unwrap();
        assert_eq!(String::from_utf8(writer.inner).unwrap(), "a\u{fffd}b");
    }
}
