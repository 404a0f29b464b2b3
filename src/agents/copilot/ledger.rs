//! Billed usage. The agent records it in several grains, none of them always: a record for each model call (current
//! versions), rows of the central database, totals at the end of a process, and the output of each reply. Every grain
//! becomes rows. By claims, finer rows supersede coarser ones, so that the same tokens count once, in any order of
//! reading.

use std::collections::BTreeMap;

use super::agents::Settings;
use super::call::Call;
use super::metrics::{Counters, Numbers, Total};
use super::record::{Billed, CompactionTokens, Shutdown, UsageRecord};
use super::transcript::{Spot, Transcript};
use super::{AGENT, NANO_PER_DOLLAR, dollars, metrics, stored_key};
use crate::extract::{KeyMap, KeySet, Kind, Reject, key};
use crate::source::records::{Object, TokenNumber};
use crate::tables::UsageGrain;

/// The calls of one process: from a start or resume to its end, with or without a shutdown.
#[derive(Default)]
struct Leg {
    began: Option<i64>,
    last: Option<i64>,
    recorded: Vec<Call>,
    /// Calls that only replies record.
    replies: Vec<Call>,
    places: KeyMap<usize>,
    compactions: Vec<Call>,
    has_compaction_record: bool,
    /// Numbers of replies and compactions whose cost the last checkpoint includes.
    priced: [usize; 2],
}

/// The processes of a session.
#[derive(Default)]
pub(super) struct Ledger {
    leg: Option<Leg>,
    pub(super) version: Option<[u32; 3]>,
    last: Option<i64>,
    /// Start of the first process that recorded its calls; 0 if it is not recorded.
    pub(super) recorded_since: Option<i64>,
    /// True if the program keeps the billed amount over all processes.
    pub(super) has_checkpoint: bool,
    /// Amount billed for the session, by the last checkpoint or shutdown that records it.
    billed: f64,
    record_ids: KeySet,
    /// Output tokens of replies since the last shutdown, by model. Models named by earlier replies stay, with 0.
    pub(super) output_since_shutdown: BTreeMap<String, i64>,
    /// Counters of each model in the last shutdown.
    pub(super) previous: BTreeMap<String, Counters>,
    /// Cost of all models together in the last shutdown.
    pub(super) previous_nano: Option<f64>,
    /// Counters of each model in the rows: records, and totals of shutdowns.
    told: BTreeMap<String, Counters>,
    /// Replies that no shutdown or record covers yet, in order.
    untold: Vec<Untold>,
    /// Keys of missing records: of replies in processes that recorded other calls.
    unrecorded: Vec<Finer>,
    last_leg: Option<LastLeg>,
    pushed: KeySet,
}

/// A reply that no shutdown or record covers.
struct Untold {
    response: String,
    model: Option<String>,
    output: i64,
    cost: Option<f64>,
}

/// Facts about a process that the shutdown at its end needs.
#[derive(Default)]
struct LastLeg {
    has_records: bool,
    /// Number of replies that no record covers.
    untold: usize,
    compactions: Vec<String>,
    /// Settings of its calls, if all have the same.
    settings: Settings,
}

impl Ledger {
    /// Returns the replies that a shutdown counts: all of its own process, which are the last, for any model; of those
    /// before, as many as its output tokens cover. It does not include replies before a crash, nor (from 1.0.78 on)
    /// before a compaction. The cost of these by checkpoints is subtracted from the shutdown's cost of all processes.
    fn told_by(&mut self, totals: &mut [Total], own: usize) -> Vec<String> {
        let output = |total: &Total| total.numbers().output.unwrap_or(0);
        let mut left: BTreeMap<&str, i64> = totals.iter().map(|total| (total.model.as_str(), output(total))).collect();
        let (mut told, mut others): (_, Vec<(String, f64)>) = (Vec::new(), Vec::new());
        for (place, reply) in std::mem::take(&mut self.untold).into_iter().rev().enumerate() {
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
                told.push(reply.response);
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
        told
    }

    /// Adds the output of a process that has ended.
    fn count_output(&mut self, replies: &[Call]) {
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

    fn count_told(&mut self, call: &Call) {
        let model = call.model.clone().unwrap_or_default();
        self.told.entry(model).or_default().add(&Counters::of_call(call));
    }

    /// Returns the counters of each model in a shutdown beyond those of the rows: calls whose record is missing.
    fn rest(&self, shutdown: &Shutdown<'_>) -> Option<Vec<Total>> {
        let all = metrics::of_shutdown(shutdown);
        let sum = |counters: &BTreeMap<String, Counters>| counters.values().map(Counters::total).sum::<i64>();
        // The same calls under another name of their model do not count as missing.
        let is_more = sum(&all) > sum(&self.told);
        let rest = all.into_iter().filter_map(|(model, now)| {
            let counters = self.told.get(&model).map_or(now, |told| now.beyond(told));
            Some(Total { model, counters }).filter(|rest| !rest.numbers().is_zero())
        });
        is_more.then(|| rest.collect())
    }

    /// Returns true if anything was billed.
    pub(super) fn has_rows(&self) -> bool {
        !self.pushed.is_empty()
    }

    fn open(&mut self) -> &mut Leg {
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
    fn note_record(&mut self, call: Call, is_compaction: bool) {
        if !self.record_ids.insert(key(AGENT, Kind::Response, &call.response)) {
            return;
        }
        self.count_told(&call);
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
type Finer = (u64, Option<i64>);

/// Returns the settings of calls, if all of them have the same.
fn settings_of(calls: &[Call]) -> Settings {
    let first = calls.first().map(|call| &call.settings);
    let all = first.filter(|first| calls.iter().all(|call| call.settings == **first));
    all.cloned().unwrap_or_default()
}

fn cost_of(billed: &Object<Billed<'_>>, at: Option<i64>) -> Option<f64> {
    dollars(billed.0.as_ref().and_then(|billed| billed.nano.0), at)
}

/// Returns the key of the fact that a record or a shutdown covers the usage that a reply or a compaction records
/// itself.
fn told_key(response: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("told:{response}"))
}

/// Returns the key of the fact that a reply's own call has a record.
fn record_key(response: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("record:{response}"))
}

/// Longest life of a short cache. Seconds.
const SHORT_CACHE: i64 = 300;

/// First version whose shutdowns may count compactions.
const COUNTS_COMPACTIONS: [u32; 3] = [1, 0, 73];

/// First version in which a compaction resets the counters of a shutdown.
const COMPACTION_RESETS: [u32; 3] = [1, 0, 78];

impl Transcript<'_, '_> {
    pub(super) fn take_usage_record(&mut self, spot: &Spot<'_>, record: &UsageRecord<'_>) {
        self.count_unknown(spot, &record.unknown);
        let Some(usage) = &record.usage.0 else { return };
        let thread = self.thread_of(spot.agent.or(usage.agent.get()), usage.parent_call.get());
        let numbers = Numbers::of(usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning);
        let accounting = usage.accounting.0.as_ref();
        let made_up = || accounting.and_then(|accounting| accounting.id.get()).unwrap_or(spot.id);
        let response = usage.api_call.get().map_or_else(|| format!("usage:{}", made_up()), str::to_owned);
        let source = accounting.and_then(|accounting| accounting.session.get());
        let model = usage.model.owned();
        let call = Call {
            model: model.or_else(|| self.threads.get(thread).and_then(|thread| thread.model.clone())),
            numbers,
            request: usage.request.owned(),
            has_long_cache: usage.cache_seconds.0.is_some_and(|seconds| seconds > SHORT_CACHE),
            cost: cost_of(&usage.billed, spot.timestamp),
            duration_ms: usage.duration.0.filter(|ms| *ms >= 0),
            settings: self.threads.get(thread).map(|thread| thread.settings.clone()).unwrap_or_default(),
            finish: usage.finish.owned(),
            weak: thread == 0 && source.is_some_and(|source| source != self.session),
            is_named: usage.api_call.get().is_some(),
            ..self.call_at(thread, spot, &response)
        };
        let said = [usage.initiator.get(), usage.interaction.get()];
        let is_compaction = said.into_iter().flatten().any(|said| said.contains("compaction"));
        self.ledger.note_record(call, is_compaction);
    }

    /// Emits the records of a process that has ended.
    pub(super) fn close_leg(&mut self) -> Result<(), Reject> {
        let Some(leg) = self.ledger.leg.take() else { return Ok(()) };
        let Leg { last, recorded, replies, places, compactions, has_compaction_record, .. } = leg;
        self.ledger.count_output(&replies);
        let has_records = !recorded.is_empty();
        let are_records_named = recorded.iter().all(|call| call.is_named);
        let mut joined = KeySet::default();
        for mut call in recorded {
            let response = key(AGENT, Kind::Response, &call.response);
            if let Some(reply) = places.get(&response).and_then(|place| replies.get(*place)) {
                joined.insert(response);
                call.message_id.clone_from(&reply.message_id);
                (call.seq, call.turn) = (reply.seq, reply.turn);
            }
            // If the record is dropped later, the reply alone must not replace it.
            if self.push_call(&call, None)? && joined.contains(&response) {
                self.out.claim(record_key(&call.response), false);
            }
        }
        let stored = self.stored(last);
        let settings = settings_of(&replies);
        let untold_before = self.ledger.untold.len();
        for call in &replies {
            let Some(output) = call.numbers.output else { continue };
            if joined.contains(&key(AGENT, Kind::Response, &call.response)) {
                continue;
            }
            self.push_call(call, [(told_key(&call.response), None)].into_iter().chain(stored))?;
            if has_records {
                self.ledger.unrecorded.push((record_key(&call.response), None));
            }
            // The record of a named call has the same name; if it is missing, it is lost or has not come yet.
            if has_records && !(are_records_named && call.is_named) {
                self.claim_told(&call.response);
            } else {
                let (response, model) = (call.response.clone(), call.model.clone());
                self.ledger.untold.push(Untold { response, model, output, cost: call.cost });
            }
        }
        for call in &compactions {
            self.push_call(call, [(told_key(&call.response), None)].into_iter().chain(stored))?;
            if has_compaction_record {
                self.claim_told(&call.response);
            } else if has_records {
                self.ledger.count_told(call);
            }
        }
        let compactions = compactions.into_iter().map(|call| call.response).collect();
        let untold = self.ledger.untold.len() - untold_before;
        self.ledger.last_leg = Some(LastLeg { has_records, untold, compactions, settings });
        Ok(())
    }

    fn claim_told(&mut self, response: &str) {
        self.turn_to(0);
        self.out.claim(told_key(response), false);
    }

    /// Returns the key of the database, which supersedes usage that ended at a time. `None` once the calls are recorded
    /// here, because these supersede the database.
    fn stored(&self, ended: Option<i64>) -> Option<Finer> {
        self.ledger.recorded_since.is_none().then(|| (stored_key(&self.session), ended))
    }

    /// Adds a row that each of the keys supersedes. Returns true if the row was added.
    fn push_call(&mut self, call: &Call, finer: impl IntoIterator<Item = Finer>) -> Result<bool, Reject> {
        if call.numbers.is_zero() || !self.ledger.pushed.insert(key(AGENT, Kind::Response, &call.response)) {
            return Ok(false);
        }
        self.turn_to(call.thread);
        let Some(thread) = self.threads.get_mut(call.thread) else { return Ok(false) };
        thread.has_rows = true;
        self.out.usage(call.row(&thread.session), call.seq, call.weak)?;
        for (key, at) in finer {
            self.out.yields_to(Kind::Response, &call.response, key, at);
        }
        Ok(true)
    }

    pub(super) fn take_shutdown(&mut self, spot: &Spot<'_>, shutdown: &Shutdown<'_>) -> Result<(), Reject> {
        self.ledger.open();
        self.close_leg()?;
        let last = self.ledger.last_leg.take().unwrap_or_default();
        let timestamp = spot.timestamp.or(self.ledger.last);
        let rest = self.ledger.rest(shutdown).filter(|_| last.has_records);
        let mut totals = self.ledger.totals(shutdown);
        self.ledger.output_since_shutdown.values_mut().for_each(|output| *output = 0);
        self.ledger.billed = shutdown.nano.0.map_or(self.ledger.billed, |nano| nano.max(self.ledger.billed));
        if last.has_records {
            let mut rest = rest.unwrap_or_default();
            for response in self.ledger.told_by(&mut rest, 0) {
                self.claim_told(&response);
            }
            // The lake may still have a record that the transcript dropped.
            let records = std::mem::take(&mut self.ledger.unrecorded);
            return self.push_totals(spot, timestamp, rest, false, &records, last.settings);
        }
        let may_count_compactions = !totals.is_empty() && self.ledger.version >= Some(COUNTS_COMPACTIONS);
        let settings = last.settings;
        let is_partial = !last.compactions.is_empty() && self.ledger.version >= Some(COMPACTION_RESETS);
        let own = if totals.is_empty() || is_partial { 0 } else { last.untold };
        let mut told = self.ledger.told_by(&mut totals, own);
        if may_count_compactions {
            told.extend(last.compactions);
        }
        for response in told {
            self.claim_told(&response);
        }
        self.push_totals(spot, timestamp, totals, is_partial, &[], settings)
    }

    fn push_totals(
        &mut self,
        spot: &Spot<'_>,
        timestamp: Option<i64>,
        totals: Vec<Total>,
        is_partial: bool,
        finer: &[Finer],
        settings: Settings,
    ) -> Result<(), Reject> {
        // With several models, it is not known which one the settings were for.
        let settings = if totals.len() == 1 { settings } else { Settings::default() };
        for total in totals {
            self.ledger.told.entry(total.model.clone()).or_default().add(&total.counters);
            let response = format!("shutdown:{}:{}", spot.id, total.model);
            let call = Call {
                numbers: total.numbers(),
                model: Some(total.model),
                cost: dollars(total.counters.nano, timestamp),
                timestamp,
                is_partial,
                grain: UsageGrain::Session,
                settings: settings.clone(),
                ..self.call_at(0, spot, &response)
            };
            self.push_call(&call, self.stored(timestamp).into_iter().chain(finer.iter().copied()))?;
        }
        Ok(())
    }
}
