//! How values look to people. Text from transcripts is untrusted: what would steer a terminal, or hide text, is escaped.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character steers the terminal, reorders or hides text.
fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// The text on one line: line breaks and tabs are escaped, too.
pub fn visible(text: &str) -> Cow<'_, str> {
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

/// Adds a character, escaped where it would steer or hide.
pub(crate) fn push(escaped: &mut String, letter: char) {
    if is_unsafe(letter) {
        escaped.extend(letter.escape_unicode());
    } else {
        escaped.push(letter);
    }
}

/// The same within JSON.
pub(crate) fn push_in_json(escaped: &mut String, letter: char) {
    if is_unsafe(letter) {
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    } else {
        escaped.push(letter);
    }
}

/// An amount of dollars: two decimals from one dollar on, up to four below.
pub fn money(amount: f64) -> String {
    if amount.abs() >= 1.0 {
        return format!("{amount:.2}");
    }
    let exact = format!("{amount:.4}");
    let cut = exact.strip_suffix('0').map(|shorter| shorter.strip_suffix('0').unwrap_or(shorter));
    cut.unwrap_or(&exact).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_hides_is_shown() {
        assert_eq!(visible("plain é 日本 ✓"), "plain é 日本 ✓");
        assert_eq!(
            visible("a\u{1b}[2J\u{202e}b\u{200b}c\u{9b}d\u{7f}"),
            "a\\u{1b}[2J\\u{202e}b\\u{200b}c\\u{9b}d\\u{7f}"
        );
        assert_eq!(visible("one\ntwo\tthree\r"), "one\\ntwo\\tthree\\r");
    }

    #[test]
    fn small_amounts_have_more_decimals() {
        let shown = [0.0, 1.5, 0.1234, 0.00009, 12.3456, 1234.5].map(money);
        assert_eq!(shown, ["0.00", "1.50", "0.1234", "0.0001", "12.35", "1234.50"]);
    }
}
