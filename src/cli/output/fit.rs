//! Fits texts into a width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns the width of the widest line, in columns of the terminal.
pub(super) fn widest_line(cell: &str) -> usize {
    cell.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// Shortens a text to a number of columns; `…` replaces what was cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    let mut used = 1;
    let kept = text.chars().take_while(|letter| {
        used += letter.width().unwrap_or(0);
        used <= width
    });
    kept.chain(['…']).collect()
}

/// Wraps a text to lines of a number of columns, between words if possible.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let words = text.split(' ').flat_map(|word| pieces(word, width));
    joined(words, width, " ")
}

/// Wraps a column's name to lines of a number of columns, after `_`.
pub(super) fn folded(name: &str, width: usize) -> String {
    joined(name.split_inclusive('_').map(str::to_owned), width, "")
}

fn joined(words: impl Iterator<Item = String>, width: usize, between: &str) -> String {
    let mut text = String::new();
    let mut used = 0;
    for word in words {
        let longer = used + between.len() + word.width();
        if used > 0 && longer > width {
            text.push('\n');
            used = word.width();
        } else if used > 0 {
            text.push_str(between);
            used = longer;
        } else {
            used = word.width();
        }
        text.push_str(&word);
    }
    text
}

/// Splits a word that is longer than a line.
fn pieces(word: &str, width: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut used = 0;
    for letter in word.chars() {
        let wide = letter.width().unwrap_or(0);
        if used + wide > width && used > 0 {
            pieces.push(std::mem::take(&mut piece));
            used = 0;
        }
        used += wide;
        piece.push(letter);
    }
    pieces.push(piece);
    pieces
}
