//! Escapes text from transcripts on a terminal: control characters, and characters that hide text.

use std::io::{self, Write};

use crate::shown::Escaper;

/// A writer that escapes all output to a terminal, except line breaks and tabs.
pub(super) struct Escaping<W> {
    inner: W,
    /// True if the output is JSON, and must stay valid.
    is_json: bool,
    escaper: Escaper,
    /// The beginning of a character that the next write completes.
    torn: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    pub(super) fn new(inner: W, is_json: bool) -> Self {
        Self { inner, is_json, escaper: Escaper::default(), torn: Vec::new() }
    }

    /// Writes what is escaped already.
    pub(super) fn write_unescaped(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.write_all(bytes)
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let joined = [std::mem::take(&mut self.torn).as_slice(), bytes].concat();
        let mut escaped = String::with_capacity(joined.len());
        let mut chunks = joined.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for letter in chunk.valid().chars() {
                match letter {
                    '\n' | '\t' => escaped.push(letter),
                    letter if self.is_json => self.escaper.push_in_json(&mut escaped, letter),
                    letter => self.escaper.push(&mut escaped, letter),
                }
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

/// True if more bytes could complete these to a character.
fn is_beginning(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_torn_between_writes_are_joined() {
        let text = "é日\u{202e}\n\u{1b}x";
        for at in 0..=text.len() {
            let mut writer = Escaping::new(Vec::new(), false);
            writer.write_all(&text.as_bytes()[..at]).unwrap();
            writer.write_all(&text.as_bytes()[at..]).unwrap();
            assert_eq!(String::from_utf8(writer.inner).unwrap(), "é日\\u{202e}\n\\u{1b}x", "{at}");
        }
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"a\u{202e}": "\u{1b}[2J\u{7f}\u{9b}\u{200b} é日 \u{e0041}\t\""});
        let mut writer = Escaping::new(Vec::new(), true);
        writer.write_all(format!("{value}\n").as_bytes()).unwrap();
        let shown = String::from_utf8(writer.inner).unwrap();
        assert_eq!(shown, r#"{"a\u202e":"\u001b[2J\u007f\u009b\u200b é日 \udb40\udc41\t\""}"#.to_owned() + "\n");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let mut writer = Escaping::new(Vec::new(), false);
        writer.write_all(b"a\xffb").unwrap();
        assert_eq!(String::from_utf8(writer.inner).unwrap(), "a\u{fffd}b");
    }
}
