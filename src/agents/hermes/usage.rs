//! Tokens: sums by model and task, and the sum over a session.

use std::collections::BTreeMap;

use crate::tables::{UsageGrain, UsageRow};

/// Tokens that were spent. Those of a cache are not in the input.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Spent {
    pub(super) input: i64,
    pub(super) output: i64,
    pub(super) cache_read: i64,
    pub(super) cache_write: i64,
    /// A part of the output.
    pub(super) reasoning: i64,
}

/// A sum, with its cost.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum {
    pub(super) spent: Spent,
    /// True for each of cache reads, cache writes and reasoning that the database records.
    pub(super) records: [bool; 3],
    pub(super) model: Option<String>,
    pub(super) provider: Option<String>,
    /// Empty for the main conversation.
    pub(super) task: String,
    /// USD, as the provider billed it.
    pub(super) cost: Option<f64>,
    pub(super) cost_status: String,
    pub(super) cost_source: String,
    /// Microseconds since 1970.
    pub(super) last: Option<i64>,
}

impl Spent {
    pub(super) fn add(&mut self, other: Self) {
        for (sum, more) in [
            (&mut self.input, other.input),
            (&mut self.output, other.output),
            (&mut self.cache_read, other.cache_read),
            (&mut self.cache_write, other.cache_write),
            (&mut self.reasoning, other.reasoning),
        ] {
            *sum = sum.saturating_add(more);
        }
    }

    /// True if it has more of any kind.
    pub(super) fn exceeds(&self, other: &Self) -> bool {
        self.input > other.input
            || self.output > other.output
            || self.cache_read > other.cache_read
            || self.cache_write > other.cache_write
    }

    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Sum {
    /// The cost, unless the program estimated it, or did not know it.
    fn recorded_cost(&self) -> Option<f64> {
        let is_known = !matches!(&*self.cost_status, "" | "unknown" | "estimated");
        self.cost.filter(|_| is_known && !matches!(&*self.cost_source, "" | "none"))
    }

    pub(super) fn row<'r>(&'r self, id: &'r str) -> UsageRow<'r> {
        let [read, written, reasoning] = self.records;
        UsageRow {
            response_id: id,
            grain: UsageGrain::Session,
            timestamp: self.last,
            model: self.model.as_deref(),
            provider: self.provider.as_deref(),
            input_tokens: Some(self.spent.input),
            cache_read_tokens: read.then_some(self.spent.cache_read),
            cache_write_5m_tokens: written.then_some(self.spent.cache_write),
            output_tokens: Some(self.spent.output),
            reasoning_tokens: reasoning.then_some(self.spent.reasoning.min(self.spent.output)),
            cost_usd: self.recorded_cost(),
            ..UsageRow::default()
        }
    }

    /// The name of the sum within its session.
    fn name(&self) -> String {
        let [provider, model] = [&self.provider, &self.model].map(|name| name.as_deref().unwrap_or_default());
        format!("{provider}/{model}:{}", self.task)
    }
}

/// Adds up the sums of one model, provider and task: the database has a row for each endpoint.
pub(super) fn by_name(sums: &[Sum]) -> BTreeMap<String, Sum> {
    let mut all: BTreeMap<String, Sum> = BTreeMap::new();
    for sum in sums {
        match all.entry(sum.name()) {
            std::collections::btree_map::Entry::Vacant(entry) => drop(entry.insert(sum.clone())),
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                let known = entry.get_mut();
                known.spent.add(sum.spent);
                known.cost = known.recorded_cost().zip(sum.recorded_cost()).map(|(known, more)| known + more);
                known.last = known.last.max(sum.last);
            }
        }
    }
    all
}
