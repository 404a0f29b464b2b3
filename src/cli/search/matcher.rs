//! Finds words, phrases and regular expressions in texts.
//!
//! A text is searched for one word after the other, the longest first, so that most texts are left after one scan of
//! their bytes.

use regex::{Regex, RegexBuilder};

use crate::{Error, Result};

/// Most bytes of a compiled expression.
const SIZE: usize = 4 << 20;

/// Words, phrases or regular expression to search for.
#[derive(Debug)]
pub(super) struct Matcher {
    /// All of them must occur; the longest comes first.
    parts: Vec<Regex>,
    /// The words in the order in which they were typed, next to each other.
    together: Option<Regex>,
    /// True if a match must stand at the beginning of a word.
    is_words: bool,
}

impl Matcher {
    /// Takes words and phrases. A space in a phrase stands for any white space.
    ///
    /// # Errors
    /// Fails if there is none.
    pub(super) fn words(typed: &[String]) -> Result<Self> {
        let parts = typed.iter().flat_map(|typed| unquoted(typed)).map(phrase);
        let mut parts: Vec<String> = parts.filter(|word| !word.is_empty()).collect();
        if parts.is_empty() {
            return Err(Error::Usage("nothing to search for; write `llrem search WORDS`".to_owned()));
        }
        let together = (parts.len() > 1).then(|| compiled(&parts.join(r"[^\p{L}\p{N}]{0,3}"))).transpose()?;
        parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
        parts.dedup();
        Ok(Self { parts: parts.iter().map(|part| compiled(part)).collect::<Result<_>>()?, together, is_words: true })
    }

    /// Takes a regular expression. Case is ignored unless it says `(?-i)`.
    ///
    /// # Errors
    /// Fails if it is wrong.
    pub(super) fn expression(typed: &str) -> Result<Self> {
        Ok(Self { parts: vec![compiled(typed)?], together: None, is_words: false })
    }

    /// Returns the place of the best match in several texts of one record: the text, and the start of the match in it.
    /// `None` if the texts together do not have all words.
    pub(super) fn find(&self, texts: &[&str]) -> Option<Found> {
        let mut first = None;
        for part in &self.parts {
            let place = self.place(part, texts)?;
            first = first.or(Some(Found { is_together: self.together.is_none(), ..place }));
        }
        let together = self.together.as_ref().and_then(|together| self.place(together, texts));
        together.or(first)
    }

    fn place(&self, part: &Regex, texts: &[&str]) -> Option<Found> {
        let mut texts = texts.iter().enumerate();
        texts
            .find_map(|(text, content)| self.start(part, content).map(|start| Found { text, start, is_together: true }))
    }

    /// Returns all matches in a short text, as ranges of bytes in their order.
    pub(super) fn marks(&self, text: &str) -> Vec<(usize, usize)> {
        let mut marks: Vec<(usize, usize)> = self
            .parts
            .iter()
            .flat_map(|part| part.find_iter(text).map(|found| (found.start(), found.end())))
            .filter(|(start, end)| start < end && (!self.is_words || begins_word(text, *start)))
            .collect();
        marks.sort_unstable();
        let mut end = 0;
        marks.retain(|mark| {
            let is_new = mark.0 >= end;
            end = end.max(mark.1);
            is_new
        });
        marks
    }

    fn start(&self, part: &Regex, text: &str) -> Option<usize> {
        part.find_iter(text).map(|found| found.start()).find(|start| !self.is_words || begins_word(text, *start))
    }
}

/// The place of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Number of the text.
    pub(super) text: usize,
    /// Start of the match, in bytes.
    pub(super) start: usize,
    /// True if all words stand next to each other.
    pub(super) is_together: bool,
}

/// Returns the words and quoted phrases of an argument: `"npm publish" next`. Without quotes it is one phrase.
fn unquoted(typed: &str) -> Vec<&str> {
    let pieces: Vec<&str> = typed.split('"').collect();
    if pieces.len() < 3 || pieces.len().is_multiple_of(2) {
        return vec![typed];
    }
    let mut parts = Vec::new();
    for (place, piece) in pieces.into_iter().enumerate() {
        if place.is_multiple_of(2) {
            parts.extend(piece.split_whitespace());
        } else {
            parts.push(piece);
        }
    }
    parts
}

fn phrase(typed: &str) -> String {
    typed.split_whitespace().map(regex::escape).collect::<Vec<_>>().join(r"\s+")
}

fn compiled(pattern: &str) -> Result<Regex> {
    let built = RegexBuilder::new(pattern).case_insensitive(true).size_limit(SIZE).build();
    built.map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Error::Usage(format!("`{pattern}` is not a regular expression: {reason}"))
    })
}

/// True if a word begins there, or if the script has no spaces between words.
fn begins_word(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let Some(first) = after.chars().next() else { return true };
    let Some(last) = before.chars().next_back() else { return true };
    !first.is_alphanumeric() || !last.is_alphanumeric() || is_unspaced(first) || is_unspaced(last)
}

/// True for letters of scripts that put no spaces between words.
fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(words: &[&str]) -> Matcher {
        Matcher::words(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn is_found(words: &[&str], texts: &[&str]) -> bool {
        matcher(words).find(texts).is_some()
    }

    #[test]
    fn words_begin_where_words_begin_and_case_is_ignored() {
        assert!(is_found(&["publish"], &["We are Publishing it"]));
        assert!(!is_found(&["publish"], &["unpublished"]));
        assert!(is_found(&["publish"], &["unpublished, then (published)"]));
        assert!(is_found(&["publish"], &["npm_publish"]));
        assert!(is_found(&["größe"], &["die GRÖSSE und die GRÖßE"]));
        assert!(is_found(&["超时"], &["修复登录页面的超时问题"]));
        assert!(is_found(&["token"], &["应该统一算作256token"]) == is_found(&["token"], &["256token"]));
        assert!(is_found(&["token"], &["统一token"]));
        assert!(is_found(&["./npm"], &["run ./npm"]));
    }

    #[test]
    fn all_words_must_occur_in_one_record() {
        assert!(is_found(&["npm", "publish"], &["publish it", "with npm"]));
        assert!(!is_found(&["npm", "publish"], &["publish it"]));
        assert!(is_found(&["npm publish"], &["npm\n  publish"]));
        assert!(!is_found(&["npm publish"], &["npm run publish"]));
        let found = matcher(&["npm", "publish"]).find(&["publish with npm", "then npm publish"]).unwrap();
        assert_eq!(found, Found { text: 1, start: 5, is_together: true });
        let found = matcher(&["npm", "publish"]).find(&["npm, which publishes"]).unwrap();
        assert_eq!(found, Found { text: 0, start: 11, is_together: false });
    }

    #[test]
    fn expressions_and_marks() {
        let expression = Matcher::expression("npm (publish|pack)").unwrap();
        assert_eq!(expression.find(&["xnpm Pack"]).map(|found| found.start), Some(1));
        assert_eq!(matcher(&["a", "b"]).marks("a cab b"), [(0, 1), (6, 7)]);
        let wrong = Matcher::expression("npm (").unwrap_err();
        assert_eq!(wrong.to_string(), "`npm (` is not a regular expression: unclosed group");
        assert_eq!(wrong.exit_code(), 2);
        assert!(Matcher::words(&[" ".to_owned()]).is_err());
    }
}
