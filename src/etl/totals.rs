//! Sums and counts of a session over its rows in the other three tables.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::RecordBatch;

use crate::agents;
use crate::tables::{
    GitOperation, MessageColumns, MessageKind, PerRecordTable, Status, ToolCallColumns, UsageColumns, UsageGrain,
};
use crate::time::end_of_response;

/// Longest time between two records that counts as active. Microseconds.
const ACTIVE_GAP: i64 = 5 * 60 * 1_000_000;
/// Longest title that comes from a prompt. Characters.
const TITLE_LENGTH: usize = 200;

/// Accumulates sums and counts row by row.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    /// True if a response's time and duration tell when it ended.
    has_beginnings: bool,
    moments: Vec<i64>,
    pub(super) started_at: Option<i64>,
    pub(super) ended_at: Option<i64>,
    /// The turn of the previous message.
    turn: Option<i64>,
    turns_seen: BTreeSet<i64>,
    pub(super) turns: i64,
    pub(super) prompts: i64,
    pub(super) messages: i64,
    pub(super) responses: i64,
    pub(super) tool_calls: i64,
    pub(super) usage: i64,
    pub(super) tool_errors: i64,
    pub(super) tool_rejections: i64,
    /// Commits of the calls. `None` if there are calls and an earlier version wrote all of them.
    pub(super) commits: Option<i64>,
    /// Pull requests that the calls opened, in order. `None` like the commits.
    pub(super) pull_requests: Option<Vec<String>>,
    shas: BTreeSet<String>,
    /// The `seq` and the URL of each.
    opened: Vec<(i64, String)>,
    /// True if a call says whether it did anything to a repository.
    has_operations: bool,
    pub(super) lines_added: Option<i64>,
    pub(super) lines_removed: Option<i64>,
    pub(super) api_errors: i64,
    pub(super) compactions: i64,
    pub(super) aborts: i64,
    pub(super) input: Option<i64>,
    pub(super) cache_read: Option<i64>,
    pub(super) cache_write: Option<i64>,
    pub(super) output: Option<i64>,
    pub(super) reasoning: Option<i64>,
    pub(super) total: Option<i64>,
    pub(super) cost_usd: Option<f64>,
    tokens_of_models: BTreeMap<String, i64>,
    /// Models of messages.
    said_by: BTreeSet<String>,
    /// The model with most tokens comes first; those of messages if no tokens are recorded by model.
    pub(super) models: Vec<String>,
    pub(super) unpriced: BTreeMap<String, u64>,
    /// True if it is only a command; its position; its text on one line.
    first_prompt: Option<((bool, i64), String)>,
}

impl Totals {
    /// Returns the totals of a session without rows.
    pub(super) fn new(agent: &str) -> Self {
        let has_beginnings = agents::by_id(agent).is_some_and(|agent| agent.about().dates_replies_by_beginning);
        Self { has_beginnings, ..Self::default() }
    }

    /// Adds rows of messages, tool calls and usage.
    pub(super) fn add(&mut self, [messages, tool_calls, usage]: &PerRecordTable<RecordBatch>) {
        let columns = MessageColumns::of(messages);
        (0..messages.num_rows()).for_each(|row| self.add_message(&columns, row));
        let columns = ToolCallColumns::of(tool_calls);
        (0..tool_calls.num_rows()).for_each(|row| self.add_tool_call(&columns, row));
        let columns = UsageColumns::of(usage);
        (0..usage.num_rows()).for_each(|row| self.add_usage(&columns, row));
    }

    fn add_message(&mut self, columns: &MessageColumns<'_>, row: usize) {
        self.messages += 1;
        let turn = columns.turn(row);
        if turn != self.turn {
            self.turns_seen.extend(turn);
            self.turn = turn;
        }
        let moment = columns.timestamp(row);
        self.started_at = self.started_at.into_iter().chain(moment).min();
        self.add_moment(moment);
        if let Some(model) = columns.model(row).filter(|model| !self.said_by.contains(*model)) {
            self.said_by.insert(model.to_owned());
        }
        match columns.kind(row) {
            MessageKind::Prompt => {
                self.prompts += 1;
                self.title_by(columns.seq(row), columns.text(row).unwrap_or_default());
            }
            MessageKind::ApiError => self.api_errors += 1,
            MessageKind::Compaction => self.compactions += 1,
            MessageKind::Abort => self.aborts += 1,
            _ => {}
        }
    }

    /// Takes the title from the first prompt, and from one that is only a command (`/mode`) if there is no other.
    fn title_by(&mut self, seq: i64, prompt: &str) {
        let mut words = prompt.split_whitespace();
        let is_command = words.next().is_some_and(|word| word.starts_with('/')) && words.next().is_none();
        let rank = (is_command, seq);
        if self.first_prompt.as_ref().is_none_or(|(known, _)| rank < *known)
            && let Some(title) = title_of(prompt)
        {
            self.first_prompt = Some((rank, title));
        }
    }

    fn add_moment(&mut self, moment: Option<i64>) {
        self.moments.extend(moment);
        self.ended_at = self.ended_at.max(moment);
    }

    fn add_tool_call(&mut self, columns: &ToolCallColumns<'_>, row: usize) {
        self.tool_calls += 1;
        self.add_moment(columns.started_at(row));
        self.add_moment(columns.ended_at(row));
        match columns.status(row) {
            Status::Error => self.tool_errors += 1,
            Status::Rejected => self.tool_rejections += 1,
            _ => {}
        }
        for (sum, lines) in
            [(&mut self.lines_added, columns.lines_added(row)), (&mut self.lines_removed, columns.lines_removed(row))]
        {
            *sum = lines.map(|lines| sum.unwrap_or(0).saturating_add(lines)).or(*sum);
        }
        let Some(operations) = columns.git_operations(row) else { return };
        self.has_operations = true;
        self.shas.extend(columns.commit_sha(row).map(str::to_owned));
        let opened = columns.pull_request(row).filter(|_| operations.contains(&GitOperation::PrCreate));
        self.opened.extend(opened.map(|url| (columns.seq(row), url.to_owned())));
    }

    fn add_usage(&mut self, columns: &UsageColumns<'_>, row: usize) {
        self.usage += 1;
        self.responses += i64::from(columns.grain(row) == UsageGrain::Response);
        if columns.grain(row) != UsageGrain::Session {
            let moment = columns.timestamp(row);
            self.add_moment(moment);
            if self.has_beginnings {
                self.add_moment(end_of_response(moment, columns.duration_ms(row)));
            }
        }
        let total = columns.total_tokens(row);
        let cache_write = columns
            .cache_write_5m_tokens(row)
            .into_iter()
            .chain(columns.cache_write_1h_tokens(row))
            .reduce(i64::saturating_add);
        for (sum, tokens) in [
            (&mut self.input, columns.input_tokens(row)),
            (&mut self.cache_read, columns.cache_read_tokens(row)),
            (&mut self.cache_write, cache_write),
            (&mut self.output, columns.output_tokens(row)),
            (&mut self.reasoning, columns.reasoning_tokens(row)),
            (&mut self.total, total),
        ] {
            *sum = tokens.map(|tokens| sum.unwrap_or(0).saturating_add(tokens)).or(*sum);
        }
        let model = columns.model(row);
        match (columns.cost_usd(row), model) {
            (Some(usd), _) => *self.cost_usd.get_or_insert(0.0) += usd,
            (None, Some(model)) if columns.model_key(row).is_none() => {
                *self.unpriced.entry(model.to_owned()).or_default() += 1;
            }
            (None, _) => {}
        }
        let Some(model) = model else { return };
        match self.tokens_of_models.get_mut(model) {
            Some(tokens) => *tokens = tokens.saturating_add(total.unwrap_or(0)),
            None => drop(self.tokens_of_models.insert(model.to_owned(), total.unwrap_or(0))),
        }
    }

    /// Active time: excludes pauses of five minutes or more. Milliseconds.
    pub(super) fn active_ms(&mut self) -> i64 {
        self.moments.sort_unstable();
        let gaps =
            self.moments.windows(2).map(|pair| pair.last().zip(pair.first()).map_or(0, |(last, first)| last - first));
        gaps.filter(|gap| *gap < ACTIVE_GAP).sum::<i64>() / 1000
    }

    /// The first prompt, on one line.
    pub(super) fn first_prompt(&self) -> Option<&str> {
        self.first_prompt.as_ref().map(|(_, title)| title.as_str())
    }

    /// Counts turns and commits, and sorts models and pull requests, after the last row. Returns the active time. Milliseconds.
    pub(super) fn finish(&mut self) -> i64 {
        self.turns = i64::try_from(self.turns_seen.len()).unwrap_or(i64::MAX);
        let mut models: Vec<(String, i64)> = std::mem::take(&mut self.tokens_of_models).into_iter().collect();
        models.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
        self.models = models.into_iter().map(|(model, _)| model).collect();
        if self.models.is_empty() {
            self.models = std::mem::take(&mut self.said_by).into_iter().collect();
        }
        if self.has_operations || self.tool_calls == 0 {
            self.commits = i64::try_from(self.shas.len()).ok();
            let mut opened = std::mem::take(&mut self.opened);
            opened.sort();
            let mut seen = BTreeSet::new();
            opened.retain(|(_, url)| seen.insert(url.clone()));
            self.pull_requests = Some(opened.into_iter().map(|(_, url)| url).collect());
        }
        self.active_ms()
    }
}

fn title_of(prompt: &str) -> Option<String> {
    let mut title = String::new();
    for word in prompt.split_whitespace() {
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
        if title.chars().nth(TITLE_LENGTH).is_some() {
            title = title.chars().take(TITLE_LENGTH - 1).collect();
            title.push('…');
            break;
        }
    }
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_alone_gives_way_to_the_next_prompt() {
        let mut totals = Totals::default();
        totals.title_by(1, " /mode\n");
        assert_eq!(totals.first_prompt(), Some("/mode"));
        totals.title_by(9, "later");
        totals.title_by(5, "/fix the\nlogin");
        totals.title_by(7, "/compact");
        assert_eq!(totals.first_prompt(), Some("/fix the login"));
    }
}
