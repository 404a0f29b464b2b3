//! Collects the best hits of each session while messages and calls pass by.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::datatypes::{SchemaRef, TimestampMicrosecondType};

use super::matcher::Matcher;
use crate::Result;
use crate::cli::session::{integer, text};
use crate::query::Receiver;
use crate::shown::joined;

/// Bytes of a text that are kept before and after a match.
const BEFORE: usize = 400;
const AFTER: usize = 800;

/// A session: machine, agent, id.
pub(super) type Key = (String, String, String);

/// A message or a call with all words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) seq: i64,
    /// Kind of the text: prompt, reply, thinking, command, output, …
    pub(super) kind: String,
    pub(super) at: Option<i64>,
    /// The text around the match, on one line.
    pub(super) text: String,
    /// Start of the match in it. Bytes.
    pub(super) start: usize,
    is_together: bool,
}

impl Hit {
    /// Returns the rank; the least is the best.
    pub(super) fn rank(&self) -> impl Ord + use<> {
        let class = match self.kind.as_str() {
            "prompt" | "reply" => 0,
            "thinking" | "summary" | "compaction" => 1,
            "command" | "input" => 2,
            "output" => 3,
            _ => 4,
        };
        (class == 4, !self.is_together, class, Reverse(self.at), self.seq)
    }
}

/// The hits of one session.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) count: u64,
    /// The best ones, the best first.
    pub(super) best: Vec<Hit>,
}

/// Receives rows and keeps the best hits.
pub(super) struct Collector<'m> {
    matcher: &'m Matcher,
    /// The sessions that count; `None` for all.
    only: Option<&'m HashSet<Key>>,
    /// Hits that are kept of each session.
    most: usize,
    pub(super) sessions: BTreeMap<Key, Hits>,
}

/// Columns with text, and what they hold. That of a message depends on its kind.
const TEXTS: [(&str, &str); 5] =
    [("text", ""), ("thinking", "thinking"), ("command", "command"), ("input", "input"), ("output", "output")];

impl<'m> Collector<'m> {
    pub(super) fn new(matcher: &'m Matcher, only: Option<&'m HashSet<Key>>, most: usize) -> Self {
        Self { matcher, only, most, sessions: BTreeMap::new() }
    }

    fn add(&mut self, rows: &RecordBatch, row: usize, hit: impl FnOnce() -> Hit) {
        let part = |column| text(rows, column, row).unwrap_or_default().to_owned();
        let key = (part("machine"), part("agent"), part("session_id"));
        if self.only.is_some_and(|only| !only.contains(&key)) {
            return;
        }
        let hits = self.sessions.entry(key).or_default();
        hits.count += 1;
        hits.best.push(hit());
        hits.best.sort_by_cached_key(Hit::rank);
        hits.best.truncate(self.most);
    }
}

impl Receiver for Collector<'_> {
    fn schema(&mut self, _: &SchemaRef) -> Result<()> {
        Ok(())
    }

    fn batch(&mut self, rows: &RecordBatch) -> Result<()> {
        let columns: Vec<(&StringArray, &str)> = TEXTS
            .iter()
            .filter_map(|(name, kind)| Some((rows.column_by_name(name)?.as_string_opt::<i32>()?, *kind)))
            .collect();
        let mut texts = Vec::with_capacity(columns.len());
        for row in 0..rows.num_rows() {
            texts.clear();
            texts.extend(columns.iter().map(|(column, _)| if column.is_null(row) { "" } else { column.value(row) }));
            let Some(found) = self.matcher.find(&texts) else { continue };
            let (content, kind) = (texts[found.text], columns[found.text].1);
            self.add(rows, row, || {
                let (text, start) = around(content, found.start);
                let kind = if kind.is_empty() { self::text(rows, "kind", row).unwrap_or_default() } else { kind };
                Hit {
                    seq: integer(rows, "seq", row).unwrap_or_default(),
                    kind: kind.to_owned(),
                    at: moment(rows, row),
                    text,
                    start,
                    is_together: found.is_together,
                }
            });
        }
        Ok(())
    }
}

fn moment(rows: &RecordBatch, row: usize) -> Option<i64> {
    let times = rows.column_by_name("timestamp")?.as_primitive_opt::<TimestampMicrosecondType>()?;
    times.is_valid(row).then(|| times.value(row))
}

/// Returns the text around a match on one line, and where the match begins in it.
fn around(text: &str, start: usize) -> (String, usize) {
    let from = text.floor_char_boundary(start.saturating_sub(BEFORE));
    let until = text.floor_char_boundary(start.saturating_add(AFTER));
    let (before, after) = (text.get(from..start).unwrap_or_default(), text.get(start..until).unwrap_or_default());
    let mut line = joined(before);
    if !line.is_empty() && before.ends_with(char::is_whitespace) {
        line.push(' ');
    }
    let at = line.len();
    line.push_str(&joined(after));
    (line, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_around_the_match() {
        assert_eq!(around("one\n two  three", 5), ("one two three".to_owned(), 4));
        let long = "é".repeat(5_000);
        let (text, start) = around(&long, 5_000);
        assert_eq!((text.len(), start), (BEFORE + AFTER, BEFORE));
    }

    #[test]
    fn replies_are_better_than_commands_and_meta_comes_last() {
        let hit = |kind: &str, is_together, at| Hit {
            seq: 0,
            kind: kind.to_owned(),
            at: Some(at),
            text: String::new(),
            start: 0,
            is_together,
        };
        let mut hits = [
            hit("meta", true, 9),
            hit("output", true, 2),
            hit("command", false, 9),
            hit("reply", false, 1),
            hit("reply", false, 2),
            hit("command", true, 1),
        ];
        hits.sort_by_cached_key(Hit::rank);
        let order: Vec<_> = hits.iter().map(|hit| (hit.kind.as_str(), hit.is_together, hit.at.unwrap())).collect();
        let expected = [
            ("command", true, 1),
            ("output", true, 2),
            ("reply", false, 2),
            ("reply", false, 1),
            ("command", false, 9),
            ("meta", true, 9),
        ];
        assert_eq!(order, expected);
    }
}
