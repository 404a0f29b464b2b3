//! The model calls of a session that have been read so far, process by process.

use std::collections::BTreeMap;

use super::call::{Call, Settings};
use super::metrics::{Counters, Numbers, Total};
use super::record::{Billed, CompactionTokens, Shutdown};
use super::{AGENT, NANO_PER_DOLLAR, dollars, metrics};
use crate::extract::{KeyMap, KeySet, Kind, key};
use crate::source::records::{Object, TokenNumber};

/// The calls of one process: from a start or resume to its end, with or without a shutdown.
#[derive(Default)]
pub(super) struct Leg {
    began: Option<i64>,
    pub(super) last: Option<i64>,
    pub(super) recorded: Vec<Call>,
    /// Calls that only replies record.
    pub(super) replies: Vec<Call>,
    pub(super) places: KeyMap<usize>,
    pub(super) compactions: Vec<Call>,
    pub(super) has_compaction_record: bool,
    /// Numbers of replies and compactions whose cost the last checkpoint includes.
    priced: [usize; 2],
}

/// The processes of a session.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) leg: Option<Leg>,
    pub(super) version: Option<[u32; 3]>,
    pub(super) last: Option<i64>,
    /// Start of the first process that recorded its calls; 0 if it is not recorded.
    pub(super) recorded_since: Option<i64>,
    /// True if the program keeps the billed amount over all processes.
    pub(super) has_checkpoint: bool,
    /// Amount billed for the session, by the last checkpoint or shutdown that records it.
    pub(super) billed: f64,
    record_ids: KeySet,
    /// Output tokens of replies since the last shutdown, by model. Models named by earlier replies stay, with 0.
    pub(super) output_since_shutdown: BTreeMap<String, i64>,
    /// Counters of each model in the last shutdown.
    pub(super) previous: BTreeMap<String, Counters>,
    /// Cost of all models together in the last shutdown.
    pub(super) previous_nano: Option<f64>,
    /// Counters of each model in the rows: records, and totals of shutdowns.
    pub(super) counted: BTreeMap<String, Counters>,
    /// Replies that no shutdown or record covers yet, in order.
    pub(super) uncovered: Vec<Uncovered>,
    /// Keys of missing records: of replies in processes that recorded other calls.
    pub(super) unrecorded: Vec<Finer>,
    pub(super) last_leg: Option<LastLeg>,
    pub(super) pushed: KeySet,
}

/// A reply that no shutdown or record covers.
pub(super) struct Uncovered {
    pub(super) response: String,
    pub(super) model: Option<String>,
    pub(super) output: i64,
    pub(super) cost: Option<f64>,
}

/// Facts about a process that the shutdown at its end needs.
#[derive(Default)]
pub(super) struct LastLeg {
    pub(super) has_records: bool,
    /// Number of replies that no record covers.
    pub(super) uncovered: usize,
    pub(super) compactions: Vec<String>,
    /// Settings of its calls, if all have the same.
    pub(super) settings: Settings,
}

impl Ledger {
    /// Returns the replies that a shutdown counts: all of its own process, which are the last, for any model; of those
    /// before, as many as its output tokens cover. It does not include replies before a crash, nor (from 1.0.78 on)
    /// before a compaction. The cost of these by checkpoints is subtracted from the shutdown's cost of all processes.
    pub(super) fn covered_by(&mut self, totals: &mut [Total], own: usize) -> Vec<String> {
        let output = |total: &Total| total.numbers().output.unwrap_or(0);
        let mut left: BTreeMap<&str, i64> = totals.iter().map(|total| (total.model.as_str(), output(total))).collect();
        let (mut covered, mut others): (_, Vec<(String, f64)>) = (Vec::new(), Vec::new());
        for (place, reply) in std::mem::take(&mut self.uncovered).into_iter().rev().enumerate() {
            let is_own = place < own;
            let named = reply.model.as_deref().filter(|model| left.contains_key(model));
            let only = left.first_key_value().filter(|_| left.len() == 1).map(|(model, _)| *model);
            let left = named.or(only).and_then(|model| left.get_mut(model));
            let model = named.or(only).map(str::to_owned);
            let is_enough = left.as_deref().is_some_and(|left| left.saturating_mul(2) >= reply.output);
            if let Some(left) = left {
                *left = (*left - reply.output).max(0);
            }
            if is_own || is_enough {
                covered.push(reply.response);
            } else {
                others.extend(model.zip(reply.cost));
            }
        }
        for (model, cost) in others {
            let nano =
                totals.iter_mut().find(|total| total.model == model).and_then(|total| total.counters.nano.as_mut());
            if let Some(nano) = nano {
                *nano = (*nano - cost * NANO_PER_DOLLAR).max(0.0);
            }
        }
        covered
    }

    /// Adds the output of a process that has ended.
    pub(super) fn count_output(&mut self, replies: &[Call]) {
        for reply in replies {
            let Some(output) = reply.numbers.output else { continue };
            let model = reply.model.as_deref().unwrap_or_default();
            let sum = self.output_since_shutdown.entry(model.to_owned()).or_default();
            *sum = sum.saturating_add(output);
        }
    }

    pub(super) fn note_moment(&mut self, moment: Option<i64>) {
        self.last = self.last.max(moment);
        if let Some(leg) = &mut self.leg {
            leg.last = leg.last.max(moment);
        }
    }

    /// Begins a process.
    pub(super) fn begin(&mut self, at: Option<i64>, version: Option<&str>) {
        self.version = version.and_then(metrics::version).or(self.version);
        self.open().began = at;
    }

    pub(super) fn count_call(&mut self, call: &Call) {
        let model = call.model.clone().unwrap_or_default();
        self.counted.entry(model).or_default().add(&Counters::of_call(call.numbers, call.cost));
    }

    /// Returns the counters of each model in a shutdown beyond those of the rows: calls whose record is missing.
    pub(super) fn rest(&self, shutdown: &Shutdown<'_>) -> Option<Vec<Total>> {
        let all = metrics::of_shutdown(shutdown);
        let sum = |counters: &BTreeMap<String, Counters>| counters.values().map(Counters::total).sum::<i64>();
        // The same calls under another name of their model do not count as missing.
        let is_more = sum(&all) > sum(&self.counted);
        let rest = all.into_iter().filter_map(|(model, now)| {
            let counters = self.counted.get(&model).map_or(now, |counted| now.beyond(counted));
            Some(Total { model, counters }).filter(|rest| !rest.numbers().is_zero())
        });
        is_more.then(|| rest.collect())
    }

    /// Returns true if anything was billed.
    pub(super) fn has_rows(&self) -> bool {
        !self.pushed.is_empty()
    }

    pub(super) fn open(&mut self) -> &mut Leg {
        let last = self.last;
        self.leg.get_or_insert_with(|| Leg { began: last, last, ..Leg::default() })
    }

    /// Adds the output that a chunk of a reply records. The highest of its chunks counts.
    pub(super) fn note_reply(&mut self, call: &Call, message_id: &str, output: TokenNumber) {
        let output = output.0.filter(|output| *output > 0);
        let leg = self.open();
        let place = *leg.places.entry(key(AGENT, Kind::Response, &call.response)).or_insert(leg.replies.len());
        if place == leg.replies.len() {
            let call = Call { message_id: Some(message_id.to_owned()), is_partial: true, ..call.clone() };
            leg.replies.push(call);
        }
        if let Some(reply) = leg.replies.get_mut(place) {
            reply.numbers.output = reply.numbers.output.max(output);
        }
    }

    pub(super) fn note_compaction(
        &mut self,
        call: Call,
        model: Option<String>,
        request: Option<&str>,
        tokens: &CompactionTokens<'_>,
    ) {
        let numbers =
            Numbers::of(tokens.input, tokens.cache_read, tokens.cache_write, tokens.output, TokenNumber(None));
        if numbers.is_zero() {
            return;
        }
        let model = tokens.model.owned().or(model);
        let cost = cost_of(&tokens.billed, call.timestamp);
        let request = request.map(str::to_owned);
        let duration_ms = tokens.duration.0.filter(|ms| *ms >= 0);
        self.open().compactions.push(Call { model, numbers, cost, duration_ms, request, ..call });
    }

    /// Takes the amount billed for the session so far. The increase since the last checkpoint is the cost of the
    /// replies since then, shared by output. If the calls are recorded, their records have the cost.
    pub(super) fn note_checkpoint(&mut self, nano: Option<f64>) {
        self.has_checkpoint = true;
        let Some(nano) = nano else { return };
        let added = nano - self.billed;
        let last = self.last;
        let leg = self.open();
        let [replies, compactions] = std::mem::replace(&mut leg.priced, [leg.replies.len(), leg.compactions.len()]);
        if leg.recorded.is_empty() && last >= Some(metrics::UNITS_HAVE_A_PRICE) {
            let compacted: f64 = leg.compactions.iter().skip(compactions).filter_map(|call| call.cost).sum();
            let new = leg.replies.get_mut(replies..).unwrap_or_default();
            share(new, added / NANO_PER_DOLLAR - compacted);
        }
        self.billed = nano;
    }

    /// Adds the record of a call, unless it was added already.
    pub(super) fn note_record(&mut self, call: Call, is_compaction: bool) {
        if !self.record_ids.insert(key(AGENT, Kind::Response, &call.response)) {
            return;
        }
        self.count_call(&call);
        let leg = self.open();
        leg.has_compaction_record |= is_compaction;
        leg.recorded.push(call);
        let began = leg.began.unwrap_or(0);
        self.recorded_since.get_or_insert(began);
    }
}

/// Divides a common cost among replies by their output. USD.
fn share(replies: &mut [Call], cost: f64) {
    let output = |reply: &Call| reply.numbers.output.unwrap_or(0) as f64;
    let all: f64 = replies.iter().map(output).sum();
    if cost > 0.0 && all > 0.0 {
        for reply in replies {
            reply.cost = Some(cost * output(reply) / all);
        }
    }
}

/// Key of the fact that the same tokens are recorded in finer grain, and the time since which it must be present: see
/// [`crate::extract::Sink::yields_to`].
pub(super) type Finer = (u64, Option<i64>);

pub(super) fn cost_of(billed: &Object<Billed<'_>>, at: Option<i64>) -> Option<f64> {
    dollars(billed.0.as_ref().and_then(|billed| billed.nano.0), at)
}
