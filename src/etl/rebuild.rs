//! One session put together: the rows of its sources that are its own, and those that only the lake still has.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::{concat_batches, sort_to_indices, take_record_batch};

use super::Shared;
use super::carry::Carry;
use super::children::with_children;
use super::old::{OldClaims, OldReplica};
use super::read::{Planned, ReadSession};
use super::totals::Totals;
use super::turns::{self, Numbers, Turns};
use super::usage::{priced_anew, with_fullest_copies};
use crate::error::Result;
use crate::extract::{Chunk, Claim, Facts, Kind, key, session_key};
use crate::extract::{KeyMap, KeySet};
use crate::lake::claims::Replica;
use crate::lake::layout::PartName;
use crate::tables::{LAKE_TABLES, MESSAGES, TOOL_CALLS, ToolCallColumns, UsageColumns};

/// A session that is put together anew.
pub(super) struct Rebuilt {
    pub(super) id: String,
    /// Part that held it.
    pub(super) old_part: Option<PartName>,
    pub(super) sources: Vec<SourceOf>,
    /// Replicas whose source was not read: it is gone, or another agent's folder is not there today.
    pub(super) kept: Vec<Member>,
    pub(super) carry: Carry,
    pub(super) digest: u64,
    /// Key of the fact that it has a transcript.
    presence: u64,
}

/// What one source that was read gives to a session.
pub(super) struct SourceOf {
    pub(super) read: ReadSession,
    pub(super) member: Member,
    /// New place of each record, where the places differ from the source's own order.
    places: HashMap<i64, i64>,
}

/// A replica, its number among the owners, and what they say of it.
pub(super) struct Member {
    pub(super) replica: Replica,
    pub(super) number: u32,
    pub(super) verdict: u64,
    pub(super) forked_from: Option<String>,
}

impl Member {
    fn new(replica: Replica) -> Self {
        Self { replica, number: 0, verdict: 0, forked_from: None }
    }
}

impl Rebuilt {
    /// Puts together what was read of a session and what the lake has of it.
    pub(super) fn new(
        agent: &str,
        id: String,
        mut reads: Vec<ReadSession>,
        old: &OldClaims,
        old_part: Option<PartName>,
        reading: impl Fn(&Planned) -> Reading,
        keep_told: bool,
    ) -> Self {
        reads.sort_by_key(|read| {
            let moment = read.replica.first_moment;
            (moment.is_none(), moment, std::cmp::Reverse(read.replica.claims.len()), read.replica.source.clone())
        });
        let digest = reads.iter().fold(0, |sum: u64, read| sum.rotate_left(1) ^ read.digest);
        let mut told = KeySet::default();
        for read in &mut reads {
            if let Some(old) = old.of_session(agent, &id).find(|old| old.stored.source == read.replica.source) {
                let reading = reading(&read.planned);
                if keep_told {
                    read.told = take_out_what_was_told_beside(&mut read.replica, old.replica());
                    read.told.extend(take_out_poorer(&mut read.replica, old.replica(), reading));
                    told.extend(read.told.iter().map(Claim::record));
                }
                forget_what_only_hints(&mut read.replica, old.replica());
                if reading.keeps_dropped() {
                    remember(&mut read.replica, old.replica());
                    keep_since(&mut read.replica, old.replica());
                }
            }
        }
        let olds: Vec<&Replica> = old.of_session(agent, &id).map(|old| &**OldReplica::replica(old)).collect();
        let renamed: KeySet = reads.iter_mut().flat_map(|read| std::mem::take(&mut read.renamed)).collect();
        // Most sessions are read once and never again: what the lake has is compared where it has something.
        let compared = reads.iter().filter(|_| !olds.is_empty());
        let new_keys: KeySet = compared.flat_map(|read| &read.replica.claims).map(Claim::record).collect();
        let presence = session_key(agent, &id);
        let (sources, kept, carry) = (Vec::new(), Vec::new(), Carry::default());
        let mut rebuilt = Self { id, old_part, sources, kept, carry, digest, presence };
        let mut old_places: KeyMap<i64> = KeyMap::default();
        let replicas: Vec<&Replica> = reads.iter().map(|read| &read.replica).chain(olds.iter().copied()).collect();
        let superseded = superseded(&replicas, &told);
        for old in olds {
            let read = reads.iter_mut().find(|read| read.replica.source == old.source);
            let dropped = old.claims.iter().filter(|claim| !new_keys.contains(&claim.record()));
            let dropped = dropped.filter(|claim| !renamed.contains(&claim.record()));
            match read {
                Some(read) => {
                    let reading = reading(&read.planned);
                    let moments = renamed_at(&read.replica, old, reading);
                    let dropped = dropped.filter(|it| !moments.contains(&it.value) || it.kind() != Kind::Message);
                    let is_told = |claim: &Claim| told.contains(&claim.record());
                    // That a file beside the source told something is over, but of rows that stay because of it.
                    let reasons: KeySet = read.told.iter().map(|claim| claim.key).collect();
                    let is_over = |it: &&Claim| is_presence(it) && it.is_weak() && !reasons.contains(&it.key);
                    let dropped = dropped.filter(|it| !is_over(it));
                    for claim in dropped.filter(|it| it.is_gone() || is_told(it) || reading.keeps_dropped()) {
                        let mut claim = *claim;
                        if is_told(&claim) {
                            claim.set_kept();
                        } else {
                            claim.set_gone();
                        }
                        if !superseded.contains(&claim.key) {
                            rebuilt.carry.keep(&claim, !claim.is_kept());
                        }
                        let copies = old.responses.iter().filter(|copy| copy.key == claim.key);
                        read.replica.responses.extend(copies.cloned());
                        read.replica.claims.push(claim);
                    }
                    read.replica.responses.sort_by_key(|copy| copy.key);
                }
                None => {
                    let kept = dropped.filter(|claim| !superseded.contains(&claim.key));
                    kept.for_each(|claim| rebuilt.carry.keep(claim, false));
                    rebuilt.kept.push(Member::new(old.clone()));
                }
            }
            old_places.extend(old.claims.iter().map(|claim| (claim.key, i64::from(claim.seq))));
        }
        rebuilt.place(reads, &old_places, &superseded);
        rebuilt
    }

    /// Gives the records of sources that were not read the places that those that were give them. Rows that these sources
    /// own stay where they are in the lake.
    pub(super) fn place_kept(&mut self) {
        let is_placed = |claim: &Claim| matches!(claim.kind(), Kind::Message | Kind::ToolCall);
        let read = self.sources.iter().filter(|_| !self.kept.is_empty());
        let read = read.flat_map(|source| &source.member.replica.claims).filter(|claim| is_placed(claim));
        let places: KeyMap<i32> = read.map(|claim| (claim.key, claim.seq)).collect();
        let kept = self.kept.iter_mut().flat_map(|member| &mut member.replica.claims);
        for claim in kept.filter(|claim| is_placed(claim) && !claim.is_owned()) {
            if let Some(place) = places.get(&claim.key) {
                claim.seq = *place;
            }
        }
    }

    /// Gives every record of the sources its place. Where rows are only in the lake, a record that it knows keeps its place
    /// or moves behind, and none takes the place of one of those. What two sources hold has one place; what gives way has
    /// none.
    fn place(&mut self, reads: Vec<ReadSession>, old_places: &KeyMap<i64>, superseded: &KeySet) {
        let has_old_rows = !self.carry.is_empty();
        let is_simple = reads.len() <= 1 && !has_old_rows;
        let mut next = 0;
        let mut placed: KeyMap<i64> = KeyMap::default();
        for mut read in reads {
            let mut moved = HashMap::new();
            let mut taken = Vec::new();
            if !is_simple {
                let mut order: Vec<usize> = (0..read.replica.claims.len()).collect();
                let is_record = |kind| matches!(kind, Kind::Message | Kind::ToolCall);
                order.retain(|at| {
                    let claim = read.replica.claims.get(*at);
                    let claim = claim.filter(|claim| is_record(claim.kind()) && !claim.is_gone());
                    claim.is_some_and(|claim| !superseded.contains(&claim.key))
                });
                order.sort_by_key(|at| read.replica.claims.get(*at).map(|claim| claim.seq));
                for at in order {
                    let Some(claim) = read.replica.claims.get(at) else { continue };
                    if let Some(place) = placed.get(&claim.key) {
                        moved.insert(i64::from(claim.seq), *place);
                        continue;
                    }
                    let old_place = old_places.get(&claim.key).filter(|_| has_old_rows);
                    let mut place = old_place.copied().unwrap_or(0).max(next);
                    while self.carry.holds(place) {
                        place += 1;
                    }
                    moved.insert(i64::from(claim.seq), place);
                    taken.push((claim.key, place));
                    next = place + 1;
                }
                let records = read.replica.claims.iter_mut().filter(|claim| claim.kind() != Kind::Presence);
                for claim in records.filter(|claim| !claim.is_gone()) {
                    if let Some(place) = moved.get(&i64::from(claim.seq)) {
                        claim.seq = i32::try_from(*place).unwrap_or(i32::MAX);
                    }
                }
            }
            // The lake's rows of these have places, by which their turns are known.
            for claim in read.told.iter().filter(|claim| matches!(claim.kind(), Kind::Message | Kind::ToolCall)) {
                if let Some(place) = old_places.get(&claim.key) {
                    moved.insert(i64::from(claim.seq), *place);
                }
            }
            placed.extend(taken);
            let member = Member::new(std::mem::take(&mut read.replica));
            self.sources.push(SourceOf { read, member, places: moved });
        }
    }

    /// All its replicas.
    pub(super) fn members(&self) -> impl Iterator<Item = &Member> {
        self.sources.iter().map(|source| &source.member).chain(&self.kept)
    }

    /// All its replicas, to be judged.
    pub(super) fn members_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.sources.iter_mut().map(|source| &mut source.member).chain(&mut self.kept)
    }

    /// The old rows that stay, now that it is known which records are its own.
    pub(super) fn owned_carry(&self) -> Carry {
        let mut carry = Carry::default();
        for source in &self.sources {
            let gone = source.member.replica.claims.iter().filter(|claim| claim.is_gone() && claim.is_owned());
            gone.for_each(|claim| carry.keep(claim, !claim.is_kept()));
        }
        for member in &self.kept {
            member.replica.claims.iter().filter(|claim| claim.is_owned()).for_each(|claim| carry.keep(claim, false));
        }
        carry
    }

    /// First record of its own.
    pub(super) fn started_at(&self) -> Option<i64> {
        self.members().filter_map(|member| member.replica.started_at()).min()
    }

    /// When it began, for ordering and the choice of its month, even when all of it is copies.
    pub(super) fn begun(&self) -> Option<i64> {
        self.started_at().or_else(|| self.members().filter_map(|member| member.replica.first_moment).min())
    }

    /// Bytes of its sources.
    pub(super) fn weight(&self) -> u64 {
        self.sources.iter().map(|source| source.read.planned.print.bytes).sum()
    }

    /// What is known of it beside its rows: a transcript tells rather than what else holds rows of the session, an
    /// original rather than a copy, then the source that was changed last. None when that one was not read, so that only the lake knows. `modified` is when a
    /// source that was not read had been changed.
    pub(super) fn facts(&self, modified: impl Fn(&str) -> i64) -> Option<&Facts> {
        let read = self.sources.iter().filter(|source| source.member.replica.owns_rows());
        let rank = |replica: &Replica, modified: i64| (replica.is_present(self.presence), modified);
        let read = read.max_by_key(|source| rank(&source.member.replica, source.read.planned.print.modified_ns));
        let kept = self.kept.iter().filter(|member| member.replica.owns_rows());
        let kept = kept.map(|member| rank(&member.replica, modified(&member.replica.source))).max();
        let source = match (read, kept) {
            (Some(read), Some(kept)) if kept > rank(&read.member.replica, read.read.planned.print.modified_ns) => {
                return None;
            }
            (Some(read), _) => Some(read),
            (None, Some(_)) => return None,
            (None, None) => self.sources.last(),
        };
        source.map(|source| &source.read.facts)
    }

    /// Gives its rows in order, as batches of messages, tool calls and usage, and their totals.
    pub(super) fn each_batch(
        &mut self,
        shared: &Shared<'_>,
        carried: Option<[RecordBatch; 3]>,
        mut take: impl FnMut(&[RecordBatch; 3]) -> Result<()>,
    ) -> Result<Totals> {
        let mut totals = Totals::default();
        let is_simple = self.sources.len() == 1 && carried.is_none();
        let mut gathered: Vec<(usize, [RecordBatch; 3])> = Vec::new();
        let mut turns = Turns::default();
        for (number, source) in self.sources.iter_mut().enumerate() {
            let owned = Owned::of(&source.member.replica);
            let places = std::mem::take(&mut source.places);
            source.read.each_chunk(shared, |chunks| {
                if !is_simple {
                    turns.take(number, &chunks, &places);
                }
                let batches = own_rows(shared, chunks, &owned, &places)?;
                if is_simple {
                    totals.add(&batches);
                    return take(&batches);
                }
                turns.keep(number, &batches);
                gathered.push((number, batches));
                Ok(())
            })?;
        }
        if !is_simple {
            if let Some(batches) = carried {
                turns.keep(turns::LAKE, &batches);
                gathered.push((turns::LAKE, batches));
            }
            let batches = in_order(gathered, &turns.numbered())?;
            totals.add(&batches);
            take(&batches)?;
        }
        Ok(totals)
    }
}

/// How a reading of a source relates to the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// The source may say something else than it did. By the same parser.
    Changed,
    /// Likewise, and another parser read it before, which may have given records other ids.
    ChangedAndReparsed,
    /// The source is what it was, and the parser is another one: what it no longer finds was wrong.
    Reparsed,
    /// The source is what it was, and so is the parser.
    Same,
}

impl Reading {
    /// Whether records that are missing were dropped by the agent, and so stay in the lake.
    fn keeps_dropped(self) -> bool {
        self != Self::Reparsed
    }

    fn is_of_same_source(self) -> bool {
        matches!(self, Self::Reparsed | Self::Same)
    }
}

/// Keeps what was known of a replica before its source dropped lines: when it began, and which of its records are copies.
fn remember(read: &mut Replica, old: &Replica) {
    read.first_moment = read.first_moment.into_iter().chain(old.first_moment).min();
    let weak: KeySet = old.claims.iter().filter(|it| it.is_weak() && !is_presence(it)).map(|it| it.key).collect();
    for claim in read.claims.iter_mut().filter(|claim| claim.kind() != Kind::Presence && weak.contains(&claim.key)) {
        claim.set_weak();
    }
}

/// Takes out the tool calls and responses of which the source says less than it once did: the lake's rows say more. Gives
/// their claims.
fn take_out_poorer(read: &mut Replica, old: &Replica, reading: Reading) -> Vec<Claim> {
    let is_compared = |claim: &&Claim| matches!(claim.kind(), Kind::ToolCall | Kind::Response);
    let known = old.claims.iter().filter(is_compared).filter(|claim| claim.is_owned());
    // What the same source says less of now, another parser corrected; but not what the source had dropped before.
    let known = known.filter(|claim| !reading.is_of_same_source() || claim.is_kept());
    let mut known: KeyMap<i64> = known.map(|claim| (claim.key, claim.value)).collect();
    for claim in read.claims.iter().chain(&old.claims) {
        if let Some(record) = claim.yielding_record() {
            known.remove(&record);
        }
    }
    let is_poorer =
        |claim: &Claim| is_compared(&claim) && known.get(&claim.key).is_some_and(|more| claim.value < *more);
    let poorer: Vec<Claim> = read.claims.extract_if(.., |claim| is_poorer(claim)).collect();
    let keys: KeySet = poorer.iter().map(|claim| claim.key).collect();
    read.responses.retain(|copy| !keys.contains(&copy.key));
    poorer
}

/// Moments of messages that another parser knew by other ids: those that as many messages have that are new as messages
/// that are missing. They are the same messages.
fn renamed_at(read: &Replica, old: &Replica, reading: Reading) -> HashSet<i64> {
    if reading != Reading::ChangedAndReparsed {
        return HashSet::new();
    }
    let messages = |replica: &Replica| -> KeyMap<i64> {
        let messages = replica.claims.iter().filter(|claim| claim.kind() == Kind::Message && claim.value != i64::MAX);
        messages.filter(|claim| !claim.is_gone()).map(|claim| (claim.key, claim.value)).collect()
    };
    let counts = |these: &Replica, others: &KeyMap<i64>| {
        let mut counts: HashMap<i64, usize> = HashMap::new();
        let these = these.claims.iter().filter(|claim| claim.kind() == Kind::Message && !claim.is_gone());
        for claim in these.filter(|claim| claim.value != i64::MAX && !others.contains_key(&claim.key)) {
            *counts.entry(claim.value).or_default() += 1;
        }
        counts
    };
    let (new, missing) = (counts(read, &messages(old)), counts(old, &messages(read)));
    missing.into_iter().filter(|(moment, count)| new.get(moment) == Some(count)).map(|(moment, _)| moment).collect()
}

/// Takes out the records of which the source tells less than it did, because a file that was read together with it is gone:
/// their rows stay as they were. Gives their claims.
fn take_out_what_was_told_beside(read: &mut Replica, old: &Replica) -> Vec<Claim> {
    let mut lost: KeySet = presences(&old.claims).filter(|claim| claim.is_weak()).map(|claim| claim.key).collect();
    for claim in presences(&read.claims) {
        lost.remove(&claim.key);
    }
    if lost.is_empty() {
        return Vec::new();
    }
    let yields = read.claims.iter().filter(|claim| lost.contains(&claim.key)).filter_map(Claim::yielding_record);
    let mut told: KeySet = yields.collect();
    let owned = old.claims.iter().filter(|claim| claim.kind() != Kind::Presence && claim.is_owned());
    let owned: KeySet = owned.map(|claim| claim.key).collect();
    told.retain(|record| owned.contains(record));
    read.responses.retain(|copy| !told.contains(&copy.key));
    read.claims.extract_if(.., |claim| told.contains(&claim.record())).collect()
}

/// Takes out the records that now would give way and did not before, where the source has dropped something that it said to
/// be there: the finer line that told of them went with it, and the row that the lake made of it says more than what is
/// left. A source that dropped nothing of the kind only says more of its records than it did.
fn forget_what_only_hints(read: &mut Replica, old: &Replica) {
    // What is told beside a source is another matter.
    let lines = |claims: &[Claim]| -> Vec<Claim> { claims.iter().filter(|claim| !claim.is_weak()).copied().collect() };
    let yields: KeySet = lines(&read.claims).iter().filter_map(Claim::yielding_record).collect();
    if yields.is_empty() {
        return;
    }
    let present: KeySet = presences(&read.claims).map(|claim| claim.key).collect();
    if presences(&lines(&old.claims)).all(|claim| present.contains(&claim.key)) {
        return;
    }
    let gave_way: KeySet = old.claims.iter().filter_map(Claim::yielding_record).collect();
    let told = old.claims.iter().filter(|claim| claim.kind() != Kind::Presence && claim.is_owned());
    let told = told.map(|claim| claim.key).filter(|key| yields.contains(key) && !gave_way.contains(key));
    let told: KeySet = told.collect();
    read.claims.retain(|claim| !told.contains(&claim.record()));
    read.responses.retain(|copy| !told.contains(&copy.key));
}

/// Leaves it at the moment since when something was first known to be there: lines that the source dropped may move it, and
/// what other sources tell of the time between would give way to nothing, or be there twice.
fn keep_since(read: &mut Replica, old: &Replica) {
    let known = presences(&old.claims).filter(|claim| claim.value != 0);
    let known: KeyMap<i64> = known.map(|claim| (claim.key, claim.value)).collect();
    if known.is_empty() {
        return;
    }
    for claim in &mut read.claims {
        if let Some(since) = known.get(&claim.key).filter(|_| is_presence(claim)) {
            claim.value = *since;
        }
    }
}

/// What the claims say to be there.
fn presences<'c>(claims: impl IntoIterator<Item = &'c Claim>) -> impl Iterator<Item = &'c Claim> {
    claims.into_iter().filter(|claim| is_presence(claim))
}

/// Whether a claim says that something is there, and not that a record gives way to it.
fn is_presence(claim: &Claim) -> bool {
    claim.kind() == Kind::Presence && claim.yielding_record().is_none()
}

/// The records that give way to what the session's own sources tell; none of `told`, which the lake's rows tell.
fn superseded(replicas: &[&Replica], told: &KeySet) -> KeySet {
    let yields = |claim: &&Claim| claim.yielding_record().is_some();
    let claims = replicas.iter().flat_map(|replica| &replica.claims);
    let mut present: KeyMap<Vec<&Claim>> = KeyMap::default();
    if claims.clone().any(|claim| yields(&claim)) {
        presences(claims.clone()).for_each(|claim| present.entry(claim.key).or_default().push(claim));
    }
    let yielding = claims.filter(yields).filter(|claim| {
        present.get(&claim.key).is_some_and(|present| present.iter().any(|present| present.is_yielded_to_by(claim)))
    });
    yielding.map(Claim::record).filter(|record| !told.contains(record)).collect()
}

/// The records that a replica has.
struct Owned {
    keys: KeySet,
    has_all: bool,
}

impl Owned {
    fn of(replica: &Replica) -> Self {
        let has_row = |claim: &Claim| claim.is_owned() && !claim.is_gone();
        let has_all = replica.claims.iter().all(has_row);
        let owned = replica.claims.iter().filter(|claim| has_row(claim) && claim.kind() != Kind::Presence && !has_all);
        Self { keys: owned.map(|claim| claim.key).collect(), has_all }
    }
}

fn own_rows(
    shared: &Shared<'_>,
    mut chunks: [Chunk; 3],
    owned: &Owned,
    places: &HashMap<i64, i64>,
) -> Result<[RecordBatch; 3]> {
    if !owned.has_all {
        for chunk in &mut chunks {
            chunk.retain(|key| owned.keys.contains(&key))?;
        }
    }
    let [messages, tool_calls, usage] = chunks;
    let usage = {
        let owners = shared.owners();
        with_fullest_copies(&usage, &owners, shared.pricer)?
    };
    let tool_calls = with_children(shared, tool_calls)?;
    Ok([placed(messages.batch, &MESSAGES, places)?, placed(tool_calls, &TOOL_CALLS, places)?, usage])
}

/// Old rows of a session, with what the sources of other sessions now say of them.
pub(super) fn with_news(
    shared: &Shared<'_>,
    agent: &str,
    [messages, tool_calls, usage]: [RecordBatch; 3],
) -> Result<[RecordBatch; 3]> {
    let told = ToolCallColumns::of(&tool_calls);
    let calls = (0..tool_calls.num_rows()).map(|row| key(agent, Kind::ToolCall, told.call_id(row)));
    let calls = Chunk { keys: calls.collect(), batch: tool_calls.clone() };
    let told = UsageColumns::of(&usage);
    let responses = (0..usage.num_rows()).map(|row| key(agent, Kind::Response, told.response_id(row)));
    let responses = Chunk { keys: responses.collect(), batch: priced_anew(&usage, shared.pricer)? };
    let usage = with_fullest_copies(&responses, &shared.owners(), shared.pricer)?;
    Ok([messages, with_children(shared, calls)?, usage])
}

fn placed(batch: RecordBatch, table: &crate::tables::TableDef, places: &HashMap<i64, i64>) -> Result<RecordBatch> {
    let Some(index) = table.index_of("seq").filter(|_| !places.is_empty()) else { return Ok(batch) };
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    if let Some(column) = columns.get_mut(index) {
        let seqs = column.as_primitive_opt::<arrow::datatypes::Int64Type>();
        let seqs = seqs.into_iter().flat_map(Int64Array::values).map(|seq| places.get(seq).copied().unwrap_or(*seq));
        *column = Arc::new(Int64Array::from_iter_values(seqs));
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}

fn in_order(gathered: Vec<(usize, [RecordBatch; 3])>, turns: &Numbers) -> Result<[RecordBatch; 3]> {
    let mut tables: [Vec<RecordBatch>; 3] = Default::default();
    for (source, batches) in gathered {
        for ((place, table), batch) in (1..).zip(&mut tables).zip(batches) {
            table.push(turns.apply(source, place, batch)?);
        }
    }
    let order = |place: usize, batches: &Vec<RecordBatch>| -> Result<RecordBatch> {
        let Some(table) = LAKE_TABLES.get(place) else { return Ok(RecordBatch::new_empty(MESSAGES.schema())) };
        let batch = concat_batches(&table.schema(), batches)?;
        let Some(column) = table.index_of("seq").or(table.index_of("timestamp")) else { return Ok(batch) };
        let indices = sort_to_indices(batch.column(column), None, None)?;
        Ok(take_record_batch(&batch, &indices)?)
    };
    let [messages, tool_calls, usage] = &tables;
    Ok([order(1, messages)?, order(2, tool_calls)?, order(3, usage)?])
}
