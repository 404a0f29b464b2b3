//! Token counts, and those of shutdowns.

use std::collections::BTreeMap;

use super::NANO_PER_DOLLAR;
use super::record::{Metric, Shutdown};
use crate::source::records::{Object, Raw, TokenNumber};
use crate::source::repair;

/// Tokens as the tables have them: the input excludes cache reads and writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) input: Option<i64>,
    pub(super) cache_read: Option<i64>,
    pub(super) cache_write: Option<i64>,
    pub(super) output: Option<i64>,
    pub(super) reasoning: Option<i64>,
}

impl Numbers {
    /// Converts the agent's counts, in which the input includes both caches, and the output includes the reasoning.
    pub(super) fn of(
        input: TokenNumber,
        read: TokenNumber,
        write: TokenNumber,
        output: TokenNumber,
        reasoning: TokenNumber,
    ) -> Self {
        Counters::of([input, output, read, write, reasoning], None).numbers()
    }

    pub(super) fn is_zero(&self) -> bool {
        [self.input, self.cache_read, self.cache_write, self.output].into_iter().flatten().all(|tokens| tokens == 0)
    }
}

/// Counters of one model in a shutdown: input, output, cache reads, cache writes, reasoning; and the cost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) tokens: [Option<i64>; 5],
    pub(super) nano: Option<f64>,
}

impl Counters {
    fn of(tokens: [TokenNumber; 5], nano: Option<f64>) -> Self {
        Self { tokens: tokens.map(|number| number.0), nano }
    }

    pub(super) fn of_call(numbers: Numbers, cost: Option<f64>) -> Self {
        let Numbers { input, cache_read, cache_write, output, reasoning } = numbers;
        let cache = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
        let input = input.map(|input| input.saturating_add(cache));
        Self {
            tokens: [input, output, cache_read, cache_write, reasoning],
            nano: cost.map(|usd| usd * NANO_PER_DOLLAR),
        }
    }

    pub(super) fn add(&mut self, more: &Self) {
        for (sum, more) in self.tokens.iter_mut().zip(&more.tokens) {
            *sum = Some(sum.unwrap_or(0).saturating_add(more.unwrap_or(0)));
        }
        self.nano = Some(self.nano.unwrap_or(0.0) + more.nano.unwrap_or(f64::NAN));
    }

    /// Returns the sum of input and output.
    pub(super) fn total(&self) -> i64 {
        let [input, output, ..] = self.tokens;
        input.unwrap_or(0).saturating_add(output.unwrap_or(0))
    }

    /// Returns the counts in excess of others, and the cost in excess only if both costs are known.
    pub(super) fn beyond(&self, others: &Self) -> Self {
        let rest = self.minus(others);
        let nano = self.nano.zip(others.nano).map(|(now, then)| now - then).filter(|nano| *nano > 0.0);
        Self { tokens: rest.tokens.map(|tokens| tokens.map(|tokens| tokens.max(0))), nano }
    }

    pub(super) fn output(&self) -> i64 {
        let [_, output, ..] = self.tokens;
        output.unwrap_or(0)
    }

    pub(super) fn numbers(&self) -> Numbers {
        let [input, output, read, write, reasoning] = self.tokens;
        let is_recorded = input.is_some() || read.is_some() || write.is_some();
        let cached = |tokens: Option<i64>| is_recorded.then(|| tokens.unwrap_or(0));
        let cache = read.unwrap_or(0).saturating_add(write.unwrap_or(0));
        Numbers {
            input: input.map(|input| input.saturating_sub(cache).max(0)),
            cache_read: cached(read),
            cache_write: cached(write),
            output,
            reasoning: reasoning.map(|reasoning| reasoning.min(output.unwrap_or(reasoning))),
        }
    }

    /// Returns true if none of the counts has fallen.
    pub(super) fn goes_on_from(&self, earlier: &Self) -> bool {
        self.tokens.iter().zip(&earlier.tokens).all(|(now, then)| now.unwrap_or(0) >= then.unwrap_or(0))
    }

    pub(super) fn minus(&self, earlier: &Self) -> Self {
        let mut tokens = self.tokens;
        for (now, then) in tokens.iter_mut().zip(&earlier.tokens) {
            *now = now.map(|now| now - then.unwrap_or(0));
        }
        Self { tokens, nano: self.nano }
    }
}

/// Usage of one model by the processes that a shutdown covers and no earlier one did.
pub(super) struct Total {
    pub(super) model: String,
    pub(super) counters: Counters,
}

impl Total {
    pub(super) fn numbers(&self) -> Numbers {
        self.counters.numbers()
    }
}

/// Returns the version's numbers.
pub(super) fn version(text: &str) -> Option<[u32; 3]> {
    let mut parts = text.split(['.', '-', '+']).map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??, parts.next()??])
}

/// Time since which an AI unit costs a cent; before, requests were counted. 2026-06-01, microseconds since 1970.
pub(super) const UNITS_HAVE_A_PRICE: i64 = 1_780_272_000_000_000;

/// Returns the counters of each model in a shutdown.
pub(super) fn of_shutdown(shutdown: &Shutdown<'_>) -> BTreeMap<String, Counters> {
    let own = counters(&shutdown.metrics);
    let snapshot = shutdown.snapshot.0.as_ref().filter(|_| own.is_empty());
    snapshot.map_or(own, |snapshot| counters(&snapshot.metrics))
}

/// Returns the counters of a shutdown's models, in the order of their names.
pub(super) fn counters(metrics: &Raw<'_>) -> BTreeMap<String, Counters> {
    let json = repair(metrics.json().unwrap_or("{}").as_bytes());
    let metrics: BTreeMap<String, Object<Metric<'_>>> = serde_json::from_str(&json).unwrap_or_default();
    let counters = metrics.into_iter().filter_map(|(model, metric)| {
        let metric = metric.0?;
        let usage = metric.usage.0?;
        let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning];
        Some((model, Counters::of(tokens, metric.nano.0)))
    });
    counters.collect()
}
