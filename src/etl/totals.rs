//! The sums and counts of a session, from its rows in the other three tables.

use std::collections::BTreeMap;

use arrow::array::RecordBatch;

use crate::tables::{MessageRow, ToolCallRow, UsageRow};

/// Longest time between two records that counts as active. Microseconds.
const ACTIVE_GAP: i64 = 5 * 60 * 1_000_000;
/// Longest title made of a prompt. Characters.
const TITLE_LENGTH: usize = 200;

/// Sums and counts, row by row.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    moments: Vec<i64>,
    pub(super) started_at: Option<i64>,
    pub(super) ended_at: Option<i64>,
    turns: std::collections::BTreeSet<i64>,
    pub(super) prompts: i64,
    pub(super) messages: i64,
    pub(super) responses: i64,
    pub(super) tool_calls: i64,
    pub(super) usage: i64,
    pub(super) tool_errors: i64,
    pub(super) tool_rejections: i64,
    pub(super) api_errors: i64,
    pub(super) compactions: i64,
    pub(super) aborts: i64,
    pub(super) input: i64,
    pub(super) cache_read: i64,
    pub(super) cache_write: i64,
    pub(super) output: i64,
    pub(super) reasoning: Option<i64>,
    pub(super) total: i64,
    pub(super) cost_usd: Option<f64>,
    models: BTreeMap<String, i64>,
    pub(super) unpriced: BTreeMap<String, u64>,
    first_prompt: Option<(i64, String)>,
}

impl Totals {
    /// Adds rows of messages, tool calls and usage.
    pub(super) fn add(&mut self, [messages, tool_calls, usage]: &[RecordBatch; 3]) {
        (0..messages.num_rows()).for_each(|row| self.add_message(&MessageRow::read(messages, row)));
        (0..tool_calls.num_rows()).for_each(|row| self.add_tool_call(&ToolCallRow::read(tool_calls, row)));
        (0..usage.num_rows()).for_each(|row| self.add_usage(&UsageRow::read(usage, row)));
    }

    fn add_message(&mut self, row: &MessageRow<'_>) {
        self.messages += 1;
        self.turns.extend(row.turn);
        if let Some(moment) = row.timestamp {
            self.moments.push(moment);
            self.started_at = Some(self.started_at.map_or(moment, |started| started.min(moment)));
            self.ended_at = Some(self.ended_at.map_or(moment, |ended| ended.max(moment)));
        }
        match row.kind {
            "prompt" => {
                self.prompts += 1;
                if let Some(text) = row.text
                    && self.first_prompt.as_ref().is_none_or(|(seq, _)| row.seq < *seq)
                {
                    self.first_prompt = title_of(text).map(|title| (row.seq, title)).or(self.first_prompt.take());
                }
            }
            "api_error" => self.api_errors += 1,
            "compaction" => self.compactions += 1,
            "abort" => self.aborts += 1,
            _ => {}
        }
    }

    fn add_tool_call(&mut self, row: &ToolCallRow<'_>) {
        self.tool_calls += 1;
        match row.status {
            "error" => self.tool_errors += 1,
            "rejected" => self.tool_rejections += 1,
            _ => {}
        }
    }

    fn add_usage(&mut self, row: &UsageRow<'_>) {
        let sum = |sum: &mut i64, tokens: Option<i64>| *sum = sum.saturating_add(tokens.unwrap_or(0));
        self.usage += 1;
        self.responses += i64::from(row.grain == "response");
        sum(&mut self.input, row.input_tokens);
        sum(&mut self.cache_read, row.cache_read_tokens);
        sum(&mut self.cache_write, row.cache_write_5m_tokens);
        sum(&mut self.cache_write, row.cache_write_1h_tokens);
        sum(&mut self.output, row.output_tokens);
        sum(&mut self.total, Some(row.total_tokens));
        if let Some(reasoning) = row.reasoning_tokens {
            sum(self.reasoning.get_or_insert(0), Some(reasoning));
        }
        match (row.cost_usd, row.model) {
            (Some(usd), _) => *self.cost_usd.get_or_insert(0.0) += usd,
            (None, Some(model)) => *self.unpriced.entry(model.to_owned()).or_default() += 1,
            (None, None) => {}
        }
        if let Some(model) = row.model {
            let tokens = self.models.entry(model.to_owned()).or_default();
            *tokens = tokens.saturating_add(row.total_tokens);
        }
    }

    /// Number of turns.
    pub(super) fn turns(&self) -> i64 {
        i64::try_from(self.turns.len()).unwrap_or(i64::MAX)
    }

    /// Models, the one with most tokens first.
    pub(super) fn models(&self) -> Vec<&str> {
        let mut models: Vec<(&str, i64)> =
            self.models.iter().map(|(model, tokens)| (model.as_str(), *tokens)).collect();
        models.sort_by_key(|(model, tokens)| (std::cmp::Reverse(*tokens), *model));
        models.into_iter().map(|(model, _)| model).collect()
    }

    /// Time with less than five minutes between records. Milliseconds.
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

    /// Lets go of what is only needed while rows come in.
    pub(super) fn seal(&mut self) -> i64 {
        let active = self.active_ms();
        self.moments = Vec::new();
        active
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
