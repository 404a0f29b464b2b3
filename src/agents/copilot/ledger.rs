//! What was billed. The agent tells it in several grains, none of them always: a record for each model call (current
//! versions), rows of the central database, totals at the end of a process, and the output of each reply. Every grain
//! becomes rows; the coarser give way by claims, so that no two of them count the same tokens, whatever is read first.

use std::collections::BTreeMap;

use super::call::Call;
use super::metrics::{Counters, Numbers, Total};
use super::record::{Billed, CompactionTokens, Shutdown, UsageRecord};
use super::transcript::{Spot, Transcript};
use super::{AGENT, dollars, metrics, stored_key};
use crate::extract::{KeyMap, KeySet, Kind, Reject, key};
use crate::source::records::{Number, Object};

/// The calls of one process: from a start or resume to the shutdown, or to whatever ended it without one.
#[derive(Default)]
struct Leg {
    number: u32,
    began: Option<i64>,
    last: Option<i64>,
    recorded: Vec<Call>,
    /// What the replies tell by themselves, and whether that was before any record.
    replies: Vec<(Call, bool)>,
    places: KeyMap<usize>,
    compactions: Vec<Call>,
    has_compaction_record: bool,
}

/// The processes of a session.
#[derive(Default)]
pub(super) struct Ledger {
    leg: Option<Leg>,
    legs: u32,
    pub(super) version: Option<[u32; 3]>,
    last: Option<i64>,
    /// When the first process that recorded its calls began.
    pub(super) recorded_since: Option<Option<i64>>,
    /// Whether the program keeps what was billed over all processes.
    pub(super) has_checkpoint: bool,
    record_ids: KeySet,
    pub(super) outputs: Outputs,
    /// What the last shutdown said of each model.
    pub(super) previous: BTreeMap<String, Counters>,
    /// Processes that nothing told of yet but their replies.
    untold: Vec<u32>,
    last_leg: Option<LastLeg>,
    pushed: KeySet,
}

/// What a shutdown has to know of the process that it ends.
#[derive(Clone, Copy, Default)]
struct LastLeg {
    has_records: bool,
    compacted: bool,
}

/// Output tokens of replies by model: what shutdowns are held against.
#[derive(Default)]
pub(super) struct Outputs {
    pub(super) of_all: BTreeMap<String, i64>,
    pub(super) since_shutdown: BTreeMap<String, i64>,
    pub(super) of_last_process: BTreeMap<String, i64>,
}

impl Outputs {
    /// Adds the replies of a process that has ended.
    fn add(&mut self, replies: &[(Call, bool)]) {
        self.of_last_process.clear();
        for (reply, _) in replies {
            let Some(output) = reply.numbers.output else { continue };
            let model = reply.model.as_deref().unwrap_or_default();
            for sums in [&mut self.of_all, &mut self.since_shutdown, &mut self.of_last_process] {
                let sum = sums.entry(model.to_owned()).or_default();
                *sum = sum.saturating_add(output);
            }
        }
    }
}

impl Ledger {
    /// The processes whose calls a shutdown counts: all since the one before it, or, where its numbers fit that better,
    /// only the last, which came after one that crashed.
    fn told_by(&self, totals: &[Total]) -> Vec<u32> {
        let told = sum(totals.iter().filter_map(|total| total.numbers.output.as_ref()));
        let off_by = |sums: &BTreeMap<String, i64>| told.abs_diff(sum(sums.values()));
        let fits_all = off_by(&self.outputs.since_shutdown) <= off_by(&self.outputs.of_last_process);
        let last = self.untold.iter().max();
        let is_told = |leg: &&u32| !totals.is_empty() && (fits_all || Some(*leg) == last);
        self.untold.iter().filter(is_told).copied().collect()
    }

    pub(super) fn note_moment(&mut self, moment: Option<i64>) {
        self.last = self.last.max(moment);
        if let Some(leg) = &mut self.leg {
            leg.last = leg.last.max(moment);
        }
    }

    /// A process begins.
    pub(super) fn begin(&mut self, at: Option<i64>, version: Option<&str>) {
        self.version = version.and_then(metrics::version).or(self.version);
        self.open().began = at;
    }

    fn open(&mut self) -> &mut Leg {
        let (legs, last) = (&mut self.legs, self.last);
        self.leg.get_or_insert_with(|| {
            *legs += 1;
            Leg { number: *legs, began: last, last, ..Leg::default() }
        })
    }

    /// Adds what a chunk of a reply tells: the most of its chunks counts.
    pub(super) fn note_reply(&mut self, call: &Call, message_id: &str, output: Number) {
        let output = output.0.filter(|output| *output > 0);
        let leg = self.open();
        let is_before_records = leg.recorded.is_empty();
        let place = *leg.places.entry(key(AGENT, Kind::Response, &call.response)).or_insert(leg.replies.len());
        if place == leg.replies.len() {
            let call = Call { message_id: Some(message_id.to_owned()), is_partial: true, ..call.clone() };
            leg.replies.push((call, is_before_records));
        }
        if let Some((reply, _)) = leg.replies.get_mut(place) {
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
        let numbers = Numbers::of(tokens.input, tokens.cache_read, tokens.cache_write, tokens.output, Number(None));
        if numbers.is_zero() {
            return;
        }
        let model = tokens.model.get().map(str::to_owned).or(model);
        let cost = cost_of(&tokens.billed);
        let request = request.map(str::to_owned);
        let duration_ms = tokens.duration.0.filter(|ms| *ms >= 0);
        self.open().compactions.push(Call { model, numbers, cost, duration_ms, request, ..call });
    }

    /// Adds the record of a call, unless it is there already.
    fn note_record(&mut self, call: Call, is_compaction: bool) {
        if !self.record_ids.insert(key(AGENT, Kind::Response, &call.response)) {
            return;
        }
        let leg = self.open();
        leg.has_compaction_record |= is_compaction;
        leg.recorded.push(call);
        let began = leg.began;
        self.recorded_since.get_or_insert(began);
    }
}

/// What tells in finer grain, by its key, and since when it has to be there: see [`crate::extract::Sink::give_way`].
type Finer = (u64, Option<i64>);

fn sum<'n>(numbers: impl Iterator<Item = &'n i64>) -> i64 {
    numbers.fold(0, |sum, number| sum.saturating_add(*number))
}

fn cost_of(billed: &Object<Billed<'_>>) -> Option<f64> {
    dollars(billed.0.as_ref().and_then(|billed| billed.nano.0))
}

/// Key of the fact that a process's calls are told in finer grain than its replies tell them.
fn covered_key(session: &str, leg: u32) -> u64 {
    key(AGENT, Kind::Presence, &format!("covered:{session}#{leg}"))
}

/// The same of the calls that compacted.
fn compactions_covered_key(session: &str, leg: u32) -> u64 {
    key(AGENT, Kind::Presence, &format!("compactions:{session}#{leg}"))
}

/// Caches that live longer than this are the long ones. Seconds.
const SHORT_CACHE: i64 = 300;

/// From here on shutdowns may count compactions.
const COUNTS_COMPACTIONS: [u32; 3] = [1, 0, 73];

/// From here on a compaction sets the counters of a shutdown back.
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
        let model = usage.model.get().map(str::to_owned);
        let call = Call {
            model: model.or_else(|| self.threads.get(thread).and_then(|thread| thread.model.clone())),
            numbers,
            request: usage.request.get().map(str::to_owned),
            has_long_cache: usage.cache_seconds.0.is_some_and(|seconds| seconds > SHORT_CACHE),
            cost: cost_of(&usage.billed),
            duration_ms: usage.duration.0.filter(|ms| *ms >= 0),
            finish: usage.finish.get().map(str::to_owned),
            weak: thread == 0 && source.is_some_and(|source| source != self.session),
            ..self.call_at(thread, spot, &response)
        };
        let said = [usage.initiator.get(), usage.interaction.get()];
        let is_compaction = said.into_iter().flatten().any(|said| said.contains("compaction"));
        self.ledger.note_record(call, is_compaction);
    }

    /// Hands on what a process told, when it has ended.
    pub(super) fn close_leg(&mut self) -> Result<(), Reject> {
        let Some(leg) = self.ledger.leg.take() else { return Ok(()) };
        let Leg { number, last, recorded, replies, places, compactions, has_compaction_record, .. } = leg;
        self.ledger.outputs.add(&replies);
        self.ledger.untold.push(number);
        let has_records = !recorded.is_empty();
        let mut joined = KeySet::default();
        for mut call in recorded {
            let response = key(AGENT, Kind::Response, &call.response);
            if let Some((reply, _)) = places.get(&response).and_then(|place| replies.get(*place)) {
                joined.insert(response);
                call.message_id.clone_from(&reply.message_id);
                (call.seq, call.turn) = (reply.seq, reply.turn);
            }
            self.push_call(&call, None)?;
        }
        let stored = self.stored(last);
        for (call, is_before_records) in &replies {
            let response = key(AGENT, Kind::Response, &call.response);
            if *is_before_records && call.numbers.output.is_some() && !joined.contains(&response) {
                let covered = (covered_key(&self.session, number), None);
                self.push_call(call, [covered].into_iter().chain(stored))?;
            }
        }
        let may_be_counted = self.ledger.version >= Some(COUNTS_COMPACTIONS) && !has_records;
        for call in &compactions {
            let told = (compactions_covered_key(&self.session, number), None);
            let total = may_be_counted.then(|| (covered_key(&self.session, number), None));
            self.push_call(call, [told].into_iter().chain(stored).chain(total))?;
        }
        self.turn_to(0);
        if has_records {
            self.out.claim(covered_key(&self.session, number), false);
            self.ledger.untold.retain(|leg| *leg != number);
        }
        if has_compaction_record {
            self.out.claim(compactions_covered_key(&self.session, number), false);
        }
        let compacted = !compactions.is_empty();
        self.ledger.last_leg = Some(LastLeg { has_records, compacted });
        Ok(())
    }

    /// The database, to which what ended at a moment gives way; not once the calls are recorded here, to which the
    /// database gives way itself.
    fn stored(&self, ended: Option<i64>) -> Option<Finer> {
        self.ledger.recorded_since.is_none().then(|| (stored_key(&self.session), ended))
    }

    /// Adds a row that gives way to each of the keys.
    fn push_call(&mut self, call: &Call, finer: impl IntoIterator<Item = Finer>) -> Result<(), Reject> {
        if call.numbers.is_zero() || !self.ledger.pushed.insert(key(AGENT, Kind::Response, &call.response)) {
            return Ok(());
        }
        self.turn_to(call.thread);
        let Some(thread) = self.threads.get_mut(call.thread) else { return Ok(()) };
        thread.has_rows = true;
        self.out.usage(call.row(&thread.session), call.seq, call.weak)?;
        for (key, at) in finer {
            self.out.give_way(Kind::Response, &call.response, key, at);
        }
        Ok(())
    }

    pub(super) fn take_shutdown(&mut self, spot: &Spot<'_>, shutdown: &Shutdown<'_>) -> Result<(), Reject> {
        self.ledger.open();
        self.close_leg()?;
        let last = self.ledger.last_leg.take().unwrap_or_default();
        let timestamp = spot.timestamp.or(self.ledger.last);
        let totals = self.ledger.totals(shutdown);
        self.turn_to(0);
        if !last.has_records {
            let told = self.ledger.told_by(&totals);
            for leg in told {
                self.out.claim(covered_key(&self.session, leg), false);
            }
            for total in totals {
                let response = format!("shutdown:{}:{}", spot.id, total.model);
                let call = Call {
                    model: Some(total.model),
                    numbers: total.numbers,
                    cost: dollars(total.nano).filter(|_| timestamp >= Some(metrics::UNITS_HAVE_A_PRICE)),
                    timestamp,
                    is_partial: last.compacted && self.ledger.version >= Some(COMPACTION_RESETS),
                    grain: "session",
                    ..self.call_at(0, spot, &response)
                };
                self.push_call(&call, self.stored(timestamp))?;
            }
        }
        self.ledger.untold.clear();
        self.ledger.outputs.since_shutdown.clear();
        Ok(())
    }
}
