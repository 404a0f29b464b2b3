//! Fits texts into a width.

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
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
    filled(text, width, WordSeparator::AsciiSpace)
}

/// Wraps a column's name to lines of a number of columns, after `_`.
pub(super) fn folded(name: &str, width: usize) -> String {
    filled(name, width, WordSeparator::Custom(parts))
}

fn parts(name: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    Box::new(name.split_inclusive('_').map(Word::from))
}

fn filled(text: &str, width: usize, separator: WordSeparator) -> String {
    let options = Options::new(width).word_separator(separator).word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(text, options.wrap_algorithm(WrapAlgorithm::FirstFit))
}
