//! The counts and sums of a session: from its row, and from the other tables.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int64Type, TimestampMicrosecondType};

use crate::tables::columns::{Column, StrList};
use crate::tables::{GitOperation, MessageKind, Status, UsageGrain, Vocabulary};
use crate::time::end_of_response;

/// Shortest pause that does not count as active. Microseconds.
const PAUSE: i64 = 5 * 60 * 1_000_000;

/// Columns of sessions that are checked.
pub(super) const SESSION_COLUMNS: &[&str] = &[
    "session_id",
    "started_at",
    "ended_at",
    "active_ms",
    "models",
    "turns",
    "prompts",
    "messages",
    "responses",
    "tool_calls",
    "tool_errors",
    "tool_rejections",
    "commits",
    "pull_requests",
    "api_errors",
    "compactions",
    "aborts",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "total_tokens",
    "cost_usd",
];
/// Columns of the other tables that are checked: messages, tool calls, usage.
pub(super) const ROW_COLUMNS: [&[&str]; 3] = [
    &["session_id", "seq", "message_id", "turn", "timestamp", "kind", "model"],
    &[
        "session_id",
        "seq",
        "call_id",
        "status",
        "git_operations",
        "commit_sha",
        "pull_request",
        "started_at",
        "ended_at",
    ],
    &[
        "session_id",
        "response_id",
        "model",
        "input_tokens",
        "cache_read_tokens",
        "cache_write_5m_tokens",
        "cache_write_1h_tokens",
        "output_tokens",
        "reasoning_tokens",
        "total_tokens",
        "cost_usd",
        "grain",
        "timestamp",
        "duration_ms",
    ],
];

/// Counts and sums of one session.
#[derive(Default)]
pub(super) struct Tally {
    began: Option<i64>,
    /// Times of messages and calls, of responses, and ends of responses. Microseconds since 1970.
    moments: [Vec<i64>; 3],
    turns: BTreeSet<i64>,
    counts: BTreeMap<&'static str, i64>,
    commits: BTreeSet<String>,
    /// The `seq` and the URL of each pull request that a call opened.
    opened: Vec<(Option<i64>, String)>,
    /// Sums over the usage; `None` if no row has a value.
    sums: BTreeMap<&'static str, i64>,
    models: BTreeSet<String>,
    /// Models of messages.
    said_by: BTreeSet<String>,
    cost: Option<f64>,
}

impl Tally {
    fn add(&mut self, name: &'static str, number: i64) {
        let sum = self.counts.entry(name).or_default();
        *sum = sum.saturating_add(number);
    }

    fn note(&mut self, place: usize, moment: Option<i64>) {
        if let Some(moments) = self.moments.get_mut(place) {
            moments.extend(moment);
        }
    }

    /// Returns the end and the active time: those of the row if they are right. Earlier versions left out the responses, and
    /// the ends of responses count only for agents that date a reply by its beginning.
    fn end_and_activity(&mut self, said: (Option<i64>, Option<i64>)) -> (Option<i64>, Option<i64>) {
        let [records, responses, ends] = std::mem::take(&mut self.moments);
        let mut all = Vec::new();
        let mut with = |more: Vec<i64>| {
            all.extend(more);
            all.sort_unstable();
            (all.last().copied(), Some(active_ms(&all)))
        };
        let possible = [records, responses, ends].map(&mut with);
        if possible.contains(&said) { said } else { possible[1] }
    }

    /// Adds a row. `place` is the index of messages, tool calls or usage.
    pub(super) fn add_row(&mut self, place: usize, rows: &Rows<'_>, row: usize) {
        match place {
            0 => self.add_message(rows, row),
            1 => self.add_tool_call(rows, row),
            _ => self.add_usage(rows, row),
        }
    }

    fn add_message(&mut self, rows: &Rows<'_>, row: usize) {
        self.add("messages", 1);
        let moment = rows.moment("timestamp", row);
        self.began = self.began.into_iter().chain(moment).min();
        self.note(0, moment);
        self.turns.extend(rows.number("turn", row));
        self.said_by.extend(rows.text("model", row).map(str::to_owned));
        match rows.value("kind", row) {
            Some(MessageKind::Prompt) => self.add("prompts", 1),
            Some(MessageKind::ApiError) => self.add("api_errors", 1),
            Some(MessageKind::Compaction) => self.add("compactions", 1),
            Some(MessageKind::Abort) => self.add("aborts", 1),
            _ => {}
        }
    }

    fn add_tool_call(&mut self, rows: &Rows<'_>, row: usize) {
        self.add("tool_calls", 1);
        for column in ["started_at", "ended_at"] {
            self.note(0, rows.moment(column, row));
        }
        match rows.value("status", row) {
            Some(Status::Error) => self.add("tool_errors", 1),
            Some(Status::Rejected) => self.add("tool_rejections", 1),
            _ => {}
        }
        self.commits.extend(rows.text("commit_sha", row).map(str::to_owned));
        let opened = rows
            .text("pull_request", row)
            .filter(|_| rows.texts("git_operations", row).contains(&GitOperation::PrCreate.as_str()));
        self.opened.extend(opened.map(|url| (rows.number("seq", row), url.to_owned())));
    }

    fn add_usage(&mut self, rows: &Rows<'_>, row: usize) {
        let grain = rows.value("grain", row);
        self.add("responses", i64::from(grain == Some(UsageGrain::Response)));
        if grain != Some(UsageGrain::Session) {
            let moment = rows.moment("timestamp", row);
            self.note(1, moment);
            self.note(2, end_of_response(moment, rows.number("duration_ms", row)));
        }
        for (sum, column) in [
            ("input_tokens", "input_tokens"),
            ("cache_read_tokens", "cache_read_tokens"),
            ("cache_write_tokens", "cache_write_5m_tokens"),
            ("cache_write_tokens", "cache_write_1h_tokens"),
            ("output_tokens", "output_tokens"),
            ("reasoning_tokens", "reasoning_tokens"),
            ("total_tokens", "total_tokens"),
        ] {
            if let Some(tokens) = rows.number(column, row) {
                let sum = self.sums.entry(sum).or_default();
                *sum = sum.saturating_add(tokens);
            }
        }
        if let Some(usd) = rows.fraction("cost_usd", row) {
            *self.cost.get_or_insert(0.0) += usd;
        }
        self.models.extend(rows.text("model", row).map(str::to_owned));
    }

    /// Lists the differences to the session's row.
    pub(super) fn differences(mut self, rows: &Rows<'_>, row: usize) -> Vec<String> {
        let turns = i64::try_from(self.turns.len()).unwrap_or(i64::MAX);
        let said = (rows.moment("ended_at", row), rows.number("active_ms", row));
        let (ended_at, active_ms) = self.end_and_activity(said);
        let mut expected: Vec<(&str, Option<i64>)> = vec![("turns", Some(turns)), ("active_ms", active_ms)];
        let is_sum = |name: &&&str| name.ends_with("_tokens");
        // Earlier versions did not write them.
        let has_commits = rows.number("commits", row).is_some();
        if has_commits {
            self.add("commits", i64::try_from(self.commits.len()).unwrap_or(i64::MAX));
        }
        let is_other = |name: &str| matches!(name, "cost_usd" | "pull_requests") || (name == "commits" && !has_commits);
        let counted = SESSION_COLUMNS.iter().skip_while(|name| **name != "prompts").filter(|name| !is_other(name));
        let counts = counted.clone().filter(|name| !is_sum(name));
        expected.extend(counts.map(|name| (*name, Some(self.counts.get(name).copied().unwrap_or(0)))));
        expected.extend(counted.filter(is_sum).map(|name| (*name, self.sums.get(name).copied())));
        let numbers = expected.into_iter().map(|(name, number)| (name, rows.number(name, row), number));
        let moments = [("started_at", self.began), ("ended_at", ended_at)];
        let moments = moments.into_iter().map(|(name, moment)| (name, rows.moment(name, row), moment));
        // Earlier versions of llrem wrote 0 instead of null. A run over some agents leaves that for the other agents.
        let is_said_as_zero =
            |name: &str, said, given: Option<i64>| is_sum(&&name) && said == Some(0) && given.is_none();
        let differing =
            numbers.chain(moments).filter(|(name, said, given)| said != given && !is_said_as_zero(name, *said, *given));
        let mut found: Vec<String> = differing
            .map(|(name, said, given)| format!("{name} {}, its rows give {}", shown(said), shown(given)))
            .collect();
        let cost = rows.fraction("cost_usd", row);
        if !same_amount(cost, self.cost) {
            found.push(format!("cost_usd {}, its rows give {}", shown(cost), shown(self.cost)));
        }
        self.opened.sort();
        let mut seen = BTreeSet::new();
        self.opened.retain(|(_, url)| seen.insert(url.clone()));
        let opened: Vec<&str> = self.opened.iter().map(|(_, url)| url.as_str()).collect();
        let pull_requests = rows.texts("pull_requests", row);
        if has_commits && pull_requests != opened {
            found.push(format!("pull_requests {pull_requests:?}, its rows give {opened:?}"));
        }
        let models: BTreeSet<String> = rows.texts("models", row).into_iter().map(str::to_owned).collect();
        // Earlier versions left out the models of messages.
        let given = if self.models.is_empty() && !models.is_empty() { &self.said_by } else { &self.models };
        if models != *given {
            found.push(format!("models {models:?}, its rows give {given:?}"));
        }
        found
    }
}

fn shown(value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

fn active_ms(moments: &[i64]) -> i64 {
    let gaps = moments.iter().zip(moments.iter().skip(1)).map(|(from, to)| to - from);
    gaps.filter(|gap| *gap < PAUSE).sum::<i64>() / 1000
}

/// Sums of amounts in another order differ in the last digits.
fn same_amount(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Columns of a batch by name. A missing value is `None`.
pub(super) struct Rows<'b>(pub(super) &'b RecordBatch);

impl<'b> Rows<'b> {
    fn column(&self, name: &str, row: usize) -> Option<&'b dyn Array> {
        let column = self.0.column_by_name(name)?;
        (row < column.len() && column.is_valid(row)).then_some(&**column)
    }

    pub(super) fn text(&self, name: &str, row: usize) -> Option<&'b str> {
        Some(self.column(name, row)?.as_string_opt::<i32>()?.value(row))
    }

    fn value<V: Vocabulary>(&self, name: &str, row: usize) -> Option<V> {
        self.text(name, row).map(V::of)
    }

    pub(super) fn number(&self, name: &str, row: usize) -> Option<i64> {
        Some(self.column(name, row)?.as_primitive_opt::<Int64Type>()?.value(row))
    }

    pub(super) fn moment(&self, name: &str, row: usize) -> Option<i64> {
        Some(self.column(name, row)?.as_primitive_opt::<TimestampMicrosecondType>()?.value(row))
    }

    fn fraction(&self, name: &str, row: usize) -> Option<f64> {
        Some(self.column(name, row)?.as_primitive_opt::<Float64Type>()?.value(row))
    }

    fn texts(&self, name: &str, row: usize) -> Vec<&'b str> {
        self.column(name, row).map(|column| StrList::get(column.as_list_opt(), row)).unwrap_or_default()
    }
}
