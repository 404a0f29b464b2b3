//! Billed usage. The agent records it at several grains, and no version records all of them: a record for each model
//! call (current versions), rows of the central database, totals at the end of a process, and the output of each reply.
//! Every grain becomes rows. By claims, finer rows supersede coarser ones, so that the same tokens count once, in any order of
//! reading.

use super::call::{Call, Settings};
use super::ledger::{Finer, LastLeg, Leg, Uncovered, cost_of};
use super::metrics::{Numbers, Total};
use super::record::{Shutdown, UsageRecord};
use super::transcript::{EventHead, Transcript};
use super::{AGENT, dollars, stored_key};
use crate::extract::{KeySet, Kind, Reject, key};
use crate::tables::UsageGrain;

/// Returns the settings of calls, if all of them have the same.
fn settings_of(calls: &[Call]) -> Settings {
    let first = calls.first().map(|call| &call.settings);
    let all = first.filter(|first| calls.iter().all(|call| call.settings == **first));
    all.cloned().unwrap_or_default()
}

/// Returns the key of the fact that a record or a shutdown covers the usage that a reply or a compaction records
/// itself.
fn covered_key(response: &str) -> u64 {
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
    pub(super) fn take_usage_record(&mut self, head: &EventHead<'_>, record: &UsageRecord<'_>) {
        self.count_unknown(head, &record.unknown);
        let Some(usage) = &record.usage.0 else { return };
        let thread = self.thread_of(head.agent.or(usage.agent.get()), usage.parent_call.get());
        let numbers = Numbers::of(usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning);
        let accounting = usage.accounting.0.as_ref();
        let made_up = || accounting.and_then(|accounting| accounting.id.get()).unwrap_or(head.id);
        let response = usage.api_call.get().map_or_else(|| format!("usage:{}", made_up()), str::to_owned);
        let source = accounting.and_then(|accounting| accounting.session.get());
        let model = usage.model.owned();
        let call = Call {
            model: model.or_else(|| self.threads.get(thread).and_then(|thread| thread.model.clone())),
            numbers,
            request: usage.request.owned(),
            has_long_cache: usage.cache_seconds.0.is_some_and(|seconds| seconds > SHORT_CACHE),
            cost: cost_of(&usage.billed, head.timestamp),
            duration_ms: usage.duration.0.filter(|ms| *ms >= 0),
            settings: self.threads.get(thread).map(|thread| thread.settings.clone()).unwrap_or_default(),
            finish: usage.finish.owned(),
            weak: thread == 0 && source.is_some_and(|source| source != self.session),
            is_named: usage.api_call.get().is_some(),
            ..self.call_at(thread, head, &response)
        };
        let labels = [usage.initiator.get(), usage.interaction.get()];
        let is_compaction = labels.into_iter().flatten().any(|labels| labels.contains("compaction"));
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
        let uncovered_before = self.ledger.uncovered.len();
        for call in &replies {
            let Some(output) = call.numbers.output else { continue };
            if joined.contains(&key(AGENT, Kind::Response, &call.response)) {
                continue;
            }
            self.push_call(call, [(covered_key(&call.response), None)].into_iter().chain(stored))?;
            if has_records {
                self.ledger.unrecorded.push((record_key(&call.response), None));
            }
            // The record of a named call has the same name; if it is missing, it is lost or has not come yet.
            if has_records && !(are_records_named && call.is_named) {
                self.claim_covered(&call.response);
            } else {
                let (response, model) = (call.response.clone(), call.model.clone());
                self.ledger.uncovered.push(Uncovered { response, model, output, cost: call.cost });
            }
        }
        for call in &compactions {
            self.push_call(call, [(covered_key(&call.response), None)].into_iter().chain(stored))?;
            if has_compaction_record {
                self.claim_covered(&call.response);
            } else if has_records {
                self.ledger.count_call(call);
            }
        }
        let compactions = compactions.into_iter().map(|call| call.response).collect();
        let uncovered = self.ledger.uncovered.len() - uncovered_before;
        self.ledger.last_leg = Some(LastLeg { has_records, uncovered, compactions, settings });
        Ok(())
    }

    fn claim_covered(&mut self, response: &str) {
        self.turn_to(0);
        self.out.claim(covered_key(response), false);
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

    pub(super) fn take_shutdown(&mut self, head: &EventHead<'_>, shutdown: &Shutdown<'_>) -> Result<(), Reject> {
        self.ledger.open();
        self.close_leg()?;
        let last = self.ledger.last_leg.take().unwrap_or_default();
        let timestamp = head.timestamp.or(self.ledger.last);
        let rest = self.ledger.rest(shutdown).filter(|_| last.has_records);
        let mut totals = self.ledger.totals(shutdown);
        self.ledger.output_since_shutdown.values_mut().for_each(|output| *output = 0);
        self.ledger.billed = shutdown.nano.0.map_or(self.ledger.billed, |nano| nano.max(self.ledger.billed));
        if last.has_records {
            let mut rest = rest.unwrap_or_default();
            for response in self.ledger.covered_by(&mut rest, 0) {
                self.claim_covered(&response);
            }
            // The lake may still have a record that the transcript dropped.
            let records = std::mem::take(&mut self.ledger.unrecorded);
            return self.push_totals(head, timestamp, rest, false, &records, last.settings);
        }
        let may_count_compactions = !totals.is_empty() && self.ledger.version >= Some(COUNTS_COMPACTIONS);
        let settings = last.settings;
        let is_partial = !last.compactions.is_empty() && self.ledger.version >= Some(COMPACTION_RESETS);
        let own = if totals.is_empty() || is_partial { 0 } else { last.uncovered };
        let mut covered = self.ledger.covered_by(&mut totals, own);
        if may_count_compactions {
            covered.extend(last.compactions);
        }
        for response in covered {
            self.claim_covered(&response);
        }
        self.push_totals(head, timestamp, totals, is_partial, &[], settings)
    }

    fn push_totals(
        &mut self,
        head: &EventHead<'_>,
        timestamp: Option<i64>,
        totals: Vec<Total>,
        is_partial: bool,
        finer: &[Finer],
        settings: Settings,
    ) -> Result<(), Reject> {
        // With several models, it is not known which one the settings were for.
        let settings = if totals.len() == 1 { settings } else { Settings::default() };
        for total in totals {
            self.ledger.counted.entry(total.model.clone()).or_default().add(&total.counters);
            let response = format!("shutdown:{}:{}", head.id, total.model);
            let call = Call {
                numbers: total.numbers(),
                model: Some(total.model),
                cost: dollars(total.counters.nano, timestamp),
                timestamp,
                is_partial,
                grain: UsageGrain::Session,
                settings: settings.clone(),
                ..self.call_at(0, head, &response)
            };
            self.push_call(&call, self.stored(timestamp).into_iter().chain(finer.iter().copied()))?;
        }
        Ok(())
    }
}
