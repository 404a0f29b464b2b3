//! Billed tokens: a row of the ledger for each call of a model, and the amount by which a session's sums exceed it.

use rusqlite::Row;

use crate::agents::kit::store::{number, text};
use crate::source::records::{TokenNumber, Usd};
use crate::tables::{UsageGrain, UsageRow};
use crate::time::from_epoch;

/// Counts of tokens as Goose stores them: those of the cache are parts of the input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) input: Option<i64>,
    pub(super) output: Option<i64>,
    pub(super) cache_read: Option<i64>,
    pub(super) cache_write: Option<i64>,
}

impl Counts {
    /// Reads four columns.
    pub(super) fn of(row: &Row<'_>, columns: [usize; 4]) -> Self {
        let [input, output, cache_read, cache_write] = columns.map(|column| TokenNumber::of(number(row, column)).0);
        Self { input, output, cache_read, cache_write }
    }

    /// True if all counts are 0 or not recorded.
    pub(super) fn is_zero(&self) -> bool {
        [self.input, self.output, self.cache_read, self.cache_write].iter().all(|count| count.unwrap_or(0) == 0)
    }

    /// Takes what others counted away.
    pub(super) fn without(self, others: &[Entry]) -> Self {
        let less = |count: Option<i64>, of: fn(&Self) -> Option<i64>| {
            let counted = others.iter().filter_map(|entry| of(&entry.counts)).fold(0, i64::saturating_add);
            count.map(|count| count.saturating_sub(counted).max(0))
        };
        Self {
            input: less(self.input, |counts| counts.input),
            output: less(self.output, |counts| counts.output),
            cache_read: less(self.cache_read, |counts| counts.cache_read),
            cache_write: less(self.cache_write, |counts| counts.cache_write),
        }
    }

    /// The row of these tokens.
    pub(super) fn row<'r>(&self) -> UsageRow<'r> {
        let cached = self.cache_read.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0));
        UsageRow {
            input_tokens: self.input.map(|input| input.saturating_sub(cached).max(0)),
            cache_read_tokens: self.cache_read,
            cache_write_5m_tokens: self.cache_write,
            output_tokens: self.output,
            ..UsageRow::default()
        }
    }
}

/// A row of the ledger.
pub(super) struct Entry {
    pub(super) response: String,
    /// Microseconds since 1970.
    pub(super) moment: Option<i64>,
    pub(super) model: Option<String>,
    pub(super) counts: Counts,
    /// USD.
    cost: Option<f64>,
    /// True if it holds what was billed before there was a ledger.
    pub(super) is_rest: bool,
    pub(super) is_compaction: bool,
    pub(super) is_billed: bool,
}

pub(super) const COLUMNS: [&str; 10] = [
    "id",
    "created_timestamp",
    "model",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost",
    "cost_source",
    "is_compaction",
];

impl Entry {
    /// Reads a row with [`COLUMNS`]. Of costs, only those that the provider reported are recorded ones.
    pub(super) fn of(row: &Row<'_>, session: &str, model: Option<&str>) -> Self {
        let source = text(row, 8).unwrap_or_default();
        let cost = row.get::<_, Option<f64>>(7).ok().flatten();
        let is_rest = source == "carried_forward";
        Self {
            response: format!("{session}:ledger:{}", text(row, 0).unwrap_or_default()),
            moment: number(row, 1).and_then(|count| from_epoch(count as f64)),
            model: text(row, 2).or_else(|| model.map(str::to_owned).filter(|_| !is_rest)),
            counts: Counts::of(row, [3, 4, 5, 6]),
            cost: Usd::of(cost.filter(|_| source == "provider_reported")).0,
            is_rest,
            is_compaction: number(row, 9) == Some(1),
            is_billed: false,
        }
    }

    pub(super) fn row<'r>(&'r self, provider: Option<&'r str>) -> UsageRow<'r> {
        UsageRow {
            response_id: &self.response,
            timestamp: self.moment,
            model: self.model.as_deref(),
            provider,
            cost_usd: self.cost,
            grain: if self.is_rest { UsageGrain::Session } else { UsageGrain::Response },
            ..self.counts.row()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_parts_of_the_input() {
        let counts = Counts { input: Some(10), output: Some(3), cache_read: Some(6), cache_write: Some(5) };
        let row = counts.row();
        assert_eq!((row.input_tokens, row.cache_read_tokens, row.output_tokens), (Some(0), Some(6), Some(3)));
        let unknown = Counts { cache_read: None, cache_write: None, ..counts }.row();
        assert_eq!((unknown.input_tokens, unknown.cache_read_tokens), (Some(10), None));
    }
}
