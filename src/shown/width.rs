//! Fits texts into columns of a terminal.

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::{Signs, in_home};

/// Most columns of a line of prose.
pub const PROSE: usize = 100;

/// Returns the columns that a text takes. A CJK character takes two.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Cuts a text at the end, between characters, to a number of columns.
pub fn cut(text: &str, columns: usize, signs: Signs) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut room = columns.saturating_sub(width(signs.ellipsis));
    let kept = text.graphemes(true).take_while(|letter| {
        let taken = width(letter);
        let fits = taken <= room;
        room = room.saturating_sub(taken);
        fits
    });
    kept.chain([signs.ellipsis]).collect()
}

/// Cuts a path in the middle, so that the file's name stays: `~/.claude/…/5ea1.jsonl`. Cuts any other
/// text at its end.
pub fn cut_path(text: &str, columns: usize, signs: Signs) -> String {
    let path = in_home(text);
    let name = path.rsplit('/').next().unwrap_or_default();
    if !path.starts_with(['/', '~']) || name.is_empty() || width(&path) <= columns {
        return cut(&path, columns, signs);
    }
    let room = columns.saturating_sub(width(name) + width(signs.ellipsis) + 1);
    let ends = path.match_indices('/').map(|(at, _)| path.get(..=at).unwrap_or_default());
    let folders = ends.take_while(|folders| width(folders) <= room).last().unwrap_or_default();
    cut(&format!("{folders}{}/{name}", signs.ellipsis), columns, signs)
}

/// Wraps a text between words to a number of columns; all lines after the first are indented by `hang`.
///
/// It never breaks a text in backticks, a number from its unit, `llrem` from its command, or at a no-break space, which
/// becomes a space. A word that is longer than a line stays whole.
pub fn wrap(text: &str, columns: usize, hang: usize) -> String {
    let indent = " ".repeat(hang);
    let options = Options::new(columns)
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false);
    textwrap::fill(text, options).replace('\u{a0}', " ")
}

/// Like [`wrap`], but it breaks a word that is longer than a line.
pub fn wrap_cell(text: &str, columns: usize) -> String {
    let options = Options::new(columns).word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(text, options.wrap_algorithm(WrapAlgorithm::FirstFit).word_separator(WordSeparator::AsciiSpace))
}

/// Wraps the name of a column after `_` and between words.
pub fn wrap_name(name: &str, columns: usize) -> String {
    let options = Options::new(columns).word_separator(WordSeparator::Custom(parts));
    textwrap::fill(name, options.wrap_algorithm(WrapAlgorithm::FirstFit).word_splitter(WordSplitter::NoHyphenation))
}

fn parts(name: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    Box::new(name.split_inclusive(['_', ' ']).map(Word::from))
}

const UNITS: [&str; 15] =
    ["ms", "s", "min", "h", "d", "days", "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", "columns"];

/// Splits a line at spaces, except within what must stay whole.
fn words(line: &str) -> Box<dyn Iterator<Item = Word<'_>> + '_> {
    let mut words = Vec::new();
    let (mut start, mut at, mut is_quoted) = (0, 0, false);
    let mut parts = line.split_inclusive(' ').peekable();
    while let Some(part) = parts.next() {
        at += part.len();
        is_quoted ^= !part.matches('`').count().is_multiple_of(2);
        let next = parts.peek().map_or("", |next| next.trim_matches([' ', ',', '.', ';', ':', ')']));
        let word = part.trim_matches([' ', '(']);
        let is_number = word.ends_with(|last: char| last.is_ascii_digit());
        if !(is_quoted || word == "llrem" || is_number && UNITS.contains(&next)) {
            words.push(Word::from(line.get(start..at).unwrap_or_default()));
            start = at;
        }
    }
    if start < at {
        words.push(Word::from(line.get(start..at).unwrap_or_default()));
    }
    Box::new(words.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        let title = "修复登录页面的超时问题";
        assert_eq!(cut(title, 12, Signs::UNICODE), "修复登录页…");
        assert_eq!(width("修复登录页…"), 11);
        assert_eq!(cut("e\u{301}e\u{301}e\u{301}", 2, Signs::UNICODE), "e\u{301}…");
        assert_eq!(cut("a family 👨‍👩‍👧 here", 12, Signs::UNICODE), "a family 👨‍👩‍👧…");
        assert_eq!(cut("plain text", 8, Signs::ASCII), "plain...");
        assert_eq!(cut("plain", 5, Signs::UNICODE), "plain");
        assert_eq!(width("─·…–█✓"), 6);
    }

    #[test]
    fn paths_are_cut_in_the_middle() {
        let path = "/srv/sessions/2026-08/rollout-5ea1.jsonl";
        assert_eq!(cut_path(path, 40, Signs::UNICODE), path);
        assert_eq!(cut_path(path, 34, Signs::UNICODE), "/srv/sessions/…/rollout-5ea1.jsonl");
        assert_eq!(cut_path(path, 25, Signs::UNICODE), "/srv/…/rollout-5ea1.jsonl");
        assert_eq!(cut_path(path, 20, Signs::UNICODE), "…/rollout-5ea1.jsonl");
        assert_eq!(cut_path(path, 10, Signs::UNICODE), "…/rollout…");
        assert_eq!(cut_path("either/or, and more", 10, Signs::UNICODE), "either/or…");
    }

    #[test]
    fn commands_paths_and_numbers_with_their_unit_stay_whole() {
        insta::assert_snapshot!(wrap("hint: 7acd37a8 (JSSoundRecorder, 2025-11-18)? `llrem query cost_by_session` lists all", 80, 6), @"
        hint: 7acd37a8 (JSSoundRecorder, 2025-11-18)? `llrem query cost_by_session`
              lists all
        ");
        insta::assert_snapshot!(wrap("It needs about 20 MiB, and took 16 min in /a/long/path/to/a/lake. Run: llrem etl", 18, 0), @"
        It needs about
        20 MiB, and took
        16 min in
        /a/long/path/to/a/lake.
        Run: llrem etl
        ");
        assert_eq!(wrap("after llrem\u{a0}detect\u{a0}--since\u{a0}7d", 12, 0), "after\nllrem detect --since 7d");
        assert_eq!(wrap("an open ` stays", 8, 0), "an open\n` stays");
    }
}
