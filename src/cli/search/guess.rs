//! "Did you mean": the words of a lake that are most like typed words that it does not have.

use std::collections::HashMap;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use strsim::osa_distance;

use crate::Result;
use crate::query::Receiver;

/// Letters of the shortest word that is guessed.
const SHORTEST: usize = 4;
/// Most candidates of a word.
const MOST: usize = 10_000;

/// Receives texts and keeps the words that are like typed ones.
#[derive(Debug)]
pub(super) struct Guesses {
    words: Vec<Word>,
}

#[derive(Debug)]
struct Word {
    typed: String,
    /// True if a word of the lake begins so.
    is_known: bool,
    /// Number of occurrences of each similar word.
    similar: HashMap<String, u64>,
}

impl Guesses {
    /// Takes the words and phrases that were searched for.
    pub(super) fn new(typed: &[String]) -> Self {
        let words = typed.iter().flat_map(|phrase| words(phrase)).filter(|word| word.chars().count() >= SHORTEST);
        let word = |word: &str| Word { typed: word.to_lowercase(), is_known: false, similar: HashMap::new() };
        Self { words: words.map(word).collect() }
    }

    /// True if no word can be guessed.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the most similar words, the most frequent one of equals: one for each typed word that the lake does not
    /// have.
    pub(super) fn best(self) -> Vec<String> {
        let unknown = self.words.into_iter().filter(|word| !word.is_known);
        let best = unknown.filter_map(|Word { typed, similar, .. }| {
            let rank = |word: &String, count| (osa_distance(&typed, word), std::cmp::Reverse(count), word.clone());
            similar.into_iter().min_by_key(|(word, count)| rank(word, *count)).map(|(word, _)| word)
        });
        best.collect()
    }

    fn read(&mut self, text: &str) {
        for word in words(text) {
            for wanted in self.words.iter_mut().filter(|wanted| !wanted.is_known) {
                wanted.compare(word);
            }
        }
    }
}

impl Word {
    fn compare(&mut self, word: &str) {
        // A typing error is rarely in the first letter. A few letters have another length in the other case.
        let first = |word: &str| word.chars().next().and_then(|letter| letter.to_lowercase().next());
        if word.len() > 2 * self.typed.len() || first(word) != first(&self.typed) {
            return;
        }
        let word = word.to_lowercase();
        self.is_known |= word.starts_with(&self.typed);
        let most = if self.typed.chars().count() > 2 * SHORTEST - 3 { 2 } else { 1 };
        if let Some(count) = self.similar.get_mut(&word) {
            *count += 1;
        } else if self.similar.len() < MOST
            && word.len().abs_diff(self.typed.len()) <= 2 * most
            && osa_distance(&self.typed, &word) <= most
        {
            self.similar.insert(word, 1);
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

impl Receiver for Guesses {
    fn schema(&mut self, _: &SchemaRef) -> Result<()> {
        Ok(())
    }

    fn batch(&mut self, rows: &RecordBatch) -> Result<()> {
        let Some(texts) = rows.columns().first().and_then(|column| column.as_string_opt::<i32>()) else {
            return Ok(());
        };
        texts.iter().flatten().for_each(|text| self.read(text));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(typed: &[&str], text: &str) -> Vec<String> {
        let mut guesses = Guesses::new(&typed.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
        guesses.read(text);
        guesses.best()
    }

    #[test]
    fn unknown_words_become_the_nearest_ones() {
        let text = "Run npm publish, then npm publish again. It was published; the publics agree. Größe.";
        assert_eq!(guessed(&["npm", "publich"], text), ["publish"]);
        assert_eq!(guessed(&["npm pubilsh"], text), ["publish"]);
        assert_eq!(guessed(&["grösse"], text), ["größe"]);
        // The beginning of a word is a hit elsewhere.
        assert_eq!(guessed(&["publi"], text), [""; 0]);
        assert_eq!(guessed(&["deploy", "nmp"], text), [""; 0]);
    }
}
