//! Rebuilds a session from the rows of its sources that it owns and from the rows that only the lake still has.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;

use super::Shared;
use super::carry::{Carry, Known};
use super::children::with_children;
use super::gathered::{Gathered, in_order_of};
use super::old::{OldClaims, OldReplica};
use super::read::ReadSession;
use super::remainder::without_counted;
use super::totals::Totals;
use super::turns::Turns;
use super::usage::{priced_anew, with_fullest_copies};
use crate::error::Result;
use crate::extract::{Chunk, Facts};
use crate::identity::{
    KeyMap, KeySet, Kind, Reading, Record, Replica, Seen, State, absorb, key, no_longer_given, session_key,
};
use crate::lake::layout::PartName;
use crate::tables::{MESSAGES, PerRecordTable, TOOL_CALLS, ToolCallColumns, USAGE, UsageColumns};

/// A session that is being rebuilt.
pub(super) struct Rebuilt {
    pub(super) id: Arc<str>,
    /// Part that held it.
    pub(super) old_part: Option<PartName>,
    pub(super) sources: Vec<SourceOf>,
    /// Replicas whose source was not read: it is gone, or another agent's folder is missing today.
    pub(super) kept: Vec<Member>,
    pub(super) digest: u64,
    /// True if a newer parser read any of its sources. Rows that it no longer finds were wrong.
    pub(super) is_corrected: bool,
    /// True if any of its sources has only grown. Rows that the source no longer gives were wrong.
    pub(super) has_grown: bool,
    /// Key of the fact that the session has a transcript.
    presence: u64,
    /// Place of each record in the lake.
    old_places: KeyMap<i64>,
    /// Records that the session's own sources supersede.
    superseded: KeySet,
    /// Records whose owner dropped them, and that another replica holds.
    pub(super) held: KeySet,
}

/// How the reading of each source that could be read to its end relates to the previous one, by the source's name.
pub(super) type Readings = HashMap<Arc<str>, Reading>;

/// The part of the lake that a rebuilt session keeps.
pub(super) struct Carried {
    pub(super) rows: Gathered,
    pub(super) known: Known,
}

/// One source that was read, as a part of a session.
pub(super) struct SourceOf {
    pub(super) read: ReadSession,
    pub(super) member: Member,
    /// New place of each record. Empty if the source's own order stays.
    places: HashMap<i64, i64>,
}

/// A replica and its number among the owners, with the verdict on its records.
pub(super) struct Member {
    pub(super) replica: Replica,
    pub(super) number: u32,
    pub(super) verdict: u64,
    pub(super) forked_from: Option<Arc<str>>,
}

impl Member {
    fn new(replica: Replica) -> Self {
        Self { replica, number: 0, verdict: 0, forked_from: None }
    }
}

impl Rebuilt {
    /// Rebuilds a session from what was read and from the lake.
    pub(super) fn new(
        agent: &str,
        id: Arc<str>,
        mut reads: Vec<ReadSession>,
        old: &OldClaims,
        old_part: Option<PartName>,
        keeps_texts: bool,
        readings: &Readings,
    ) -> Self {
        reads.sort_by_key(|read| {
            let moment = read.replica.first_moment;
            (moment.is_none(), moment, Reverse(read.replica.records.len()), read.replica.source.clone())
        });
        let digest = reads.iter().fold(0, |sum: u64, read| sum.rotate_left(1) ^ read.digest);
        let olds: Vec<Arc<Replica>> = old.of_session(agent, &id).map(OldReplica::replica).collect();
        let olds: Vec<&Replica> = olds.iter().map(|old| &**old).collect();
        let seen = |read: &mut ReadSession| Seen {
            replica: std::mem::take(&mut read.replica),
            reading: read.reading,
            renamed: std::mem::take(&mut read.renamed),
        };
        let seen: Vec<Seen> = reads.iter_mut().map(seen).collect();
        let is_corrected = seen.iter().any(|seen| seen.reading.is_by_other_parser());
        let has_grown = olds.iter().any(|old| readings.get(&old.source) == Some(&Reading::Grown));
        let mut absorbed = absorb(seen, &olds, keeps_texts);
        for old in &mut absorbed.unread {
            if let Some(reading) = readings.get(&old.source) {
                no_longer_given(old, *reading);
            }
        }
        for ((read, replica), left_out) in reads.iter_mut().zip(absorbed.read).zip(absorbed.left_out) {
            (read.replica, read.left_out) = (replica, left_out);
        }
        let presence = session_key(agent, &id);
        let kept: Vec<Member> = absorbed.unread.into_iter().map(Member::new).collect();
        let known = olds.iter().flat_map(|old| &old.records);
        let old_places: KeyMap<i64> = known.map(|record| (record.key, i64::from(record.seq))).collect();
        let source_of = |mut read: ReadSession| {
            let replica = Replica { session: Arc::clone(&id), ..std::mem::take(&mut read.replica) };
            let member = Member::new(replica);
            SourceOf { read, member, places: HashMap::new() }
        };
        let sources = reads.into_iter().map(source_of).collect();
        Self {
            id,
            old_part,
            sources,
            kept,
            digest,
            is_corrected,
            has_grown,
            presence,
            old_places,
            superseded: absorbed.superseded,
            held: KeySet::default(),
        }
    }

    /// True if rows stay in the lake that its sources do not give.
    pub(super) fn may_carry(&self) -> bool {
        let stays = |record: &Record| !self.superseded.contains(&record.key);
        let read = || self.sources.iter().flat_map(|source| &source.member.replica.records);
        if read().any(|record| record.is_of_lake() && stays(record)) {
            return true;
        }
        let mut unread = self.kept.iter().flat_map(|member| &member.replica.records).filter(|it| stays(it)).peekable();
        unread.peek().is_some() && {
            let held: KeySet = read().map(|record| record.key).collect();
            unread.any(|record| !held.contains(&record.key))
        }
    }

    /// Moves the records of unread sources to their places in the sources that were read. Rows that the unread sources
    /// own stay in place.
    pub(super) fn place_kept(&mut self) {
        let read = self.sources.iter().filter(|_| !self.kept.is_empty());
        let read = read.flat_map(|source| &source.member.replica.records).filter(|record| record.is_placed());
        let places: KeyMap<i32> = read.map(|record| (record.key, record.seq)).collect();
        let kept = self.kept.iter_mut().flat_map(|member| &mut member.replica.records);
        for record in kept.filter(|record| record.is_placed() && !record.is_owned) {
            if let Some(place) = places.get(&record.key) {
                record.seq = *place;
            }
        }
    }

    /// Assigns a place to every record of the sources, after it is known which rows of the lake stay: these keep their
    /// places. A record that the lake knows keeps its place or moves backwards. A record of two sources has one place.
    /// A record that is superseded in all of them has none.
    pub(super) fn place(&mut self) {
        let carried: Vec<Record> = self.carried().filter(|record| record.is_placed()).copied().collect();
        let has_old_rows = !carried.is_empty() || self.may_carry();
        let is_simple = self.sources.len() <= 1 && !has_old_rows;
        let taken: HashSet<i64> = carried.iter().map(|record| i64::from(record.seq)).collect();
        let mut placed: KeyMap<i64> = carried.iter().map(|record| (record.key, i64::from(record.seq))).collect();
        let owned = self.sources.iter().flat_map(|source| &source.member.replica.records);
        let owned = owned.filter(|record| record.is_owned && self.superseded.contains(&record.key));
        let owned: KeySet = owned.map(|record| record.key).collect();
        let mut next = 0;
        for source in &mut self.sources {
            let SourceOf { read, member, places: moved } = source;
            let records = &mut member.replica.records;
            if !is_simple {
                let has_row = |key: &u64| owned.contains(key) || !self.superseded.contains(key);
                let is_placed = |record: &&Record| record.is_placed() && !record.is_of_lake() && has_row(&record.key);
                let mut order: Vec<Record> = records.iter().filter(is_placed).copied().collect();
                order.sort_by_key(|record| record.seq);
                for record in order {
                    let place = *placed.entry(record.key).or_insert_with(|| {
                        let old_place = self.old_places.get(&record.key).filter(|_| has_old_rows);
                        let mut place = old_place.copied().unwrap_or(0).max(next);
                        while taken.contains(&place) {
                            place += 1;
                        }
                        next = place + 1;
                        place
                    });
                    moved.insert(i64::from(record.seq), place);
                }
                for record in records.iter_mut().filter(|record| !record.is_of_lake()) {
                    if let Some(place) = moved.get(&i64::from(record.seq)) {
                        record.seq = i32::try_from(*place).unwrap_or(i32::MAX);
                    }
                }
            }
            // The lake's rows of these have places, which determine their turns.
            for record in read.left_out.iter().filter(|record| record.is_placed()) {
                if let Some(place) = self.old_places.get(&record.key) {
                    moved.insert(i64::from(record.seq), *place);
                }
            }
        }
    }

    /// Forgets the records whose rows were in lost files. `known` describes the rows of the lake that could be read.
    pub(super) fn forget_lost(&mut self, known: Option<&Known>) {
        let nothing = Known::default();
        let known = known.unwrap_or(&nothing);
        let places = |is_message| -> HashSet<i64> {
            let rows = known.placed.iter().filter(|row| row.is_message == is_message);
            rows.map(|row| row.place).collect()
        };
        let (messages, tool_calls) = (places(true), places(false));
        let is_found = |record: &Record| match record.kind {
            Kind::Message => messages.contains(&i64::from(record.seq)),
            Kind::ToolCall => tool_calls.contains(&i64::from(record.seq)),
            Kind::Response | Kind::Presence => known.responses.contains(&record.key),
        };
        for source in &mut self.sources {
            let records = &mut source.member.replica.records;
            records.retain(|record| !record.is_of_lake() || !record.is_owned || is_found(record));
        }
        for member in &mut self.kept {
            member.replica.records.retain(|record| !record.is_owned || is_found(record));
        }
    }

    /// Returns the records that it owns and whose rows are in the lake.
    fn carried(&self) -> impl Iterator<Item = &Record> {
        let read = self.sources.iter().flat_map(|source| &source.member.replica.records);
        let unread = self.kept.iter().flat_map(|member| &member.replica.records);
        read.filter(|record| record.is_of_lake()).chain(unread).filter(|record| record.is_owned)
    }

    /// Returns all its replicas.
    pub(super) fn members(&self) -> impl Iterator<Item = &Member> + Clone {
        self.sources.iter().map(|source| &source.member).chain(&self.kept)
    }

    /// Returns all its replicas, for the verdict on their records.
    pub(super) fn members_mut(&mut self) -> impl Iterator<Item = &mut Member> {
        self.sources.iter_mut().map(|source| &mut source.member).chain(&mut self.kept)
    }

    /// Returns the old rows that stay, after it is known which records it owns.
    pub(super) fn carry(&self) -> Carry {
        let mut carry = Carry::default();
        self.carried().for_each(|record| {
            carry.keep(record, record.state == State::Gone && !self.held.contains(&record.key));
        });
        carry
    }

    /// Returns the first moment of a record that it owns.
    pub(super) fn started_at(&self) -> Option<i64> {
        self.members().filter_map(|member| member.replica.started_at()).min()
    }

    /// Returns when it began, for the order and the month of the session, even if all of it is copies.
    pub(super) fn begun(&self) -> Option<i64> {
        self.started_at().or_else(|| self.members().filter_map(|member| member.replica.first_moment).min())
    }

    /// Returns the bytes of its sources.
    pub(super) fn weight(&self) -> u64 {
        self.sources.iter().map(|source| source.read.planned.print.bytes).sum()
    }

    /// Returns the facts from the sources that were read. The flag is true if the most important source is among them.
    /// A source that owns rows comes first, then a transcript, then an original, then the one with the latest message.
    /// The others fill in missing facts.
    pub(super) fn facts(&self) -> (Option<Facts>, bool) {
        let rank = |replica: &Replica| {
            let said = replica.records.len() + replica.facts.len();
            let place = (replica.last_moment(), said, Reverse(replica.source.clone()));
            (replica.owns_rows(), replica.is_present(self.presence), place)
        };
        let mut sources: Vec<&SourceOf> = self.sources.iter().collect();
        sources.sort_by_cached_key(|source| Reverse(rank(&source.member.replica)));
        let best_read = sources.first().map(|source| rank(&source.member.replica));
        let best_kept = self.kept.iter().map(|member| rank(&member.replica)).max();
        let facts = sources.into_iter().map(|source| source.read.facts.clone());
        (facts.reduce(Facts::filled_from), best_read > best_kept)
    }

    /// Returns its rows in order, as batches of messages, tool calls and usage, and their totals.
    pub(super) fn each_batch(
        &mut self,
        shared: &Shared<'_>,
        agent: &str,
        carried: Option<Carried>,
        mut take: impl FnMut(&PerRecordTable<RecordBatch>) -> Result<()>,
    ) -> Result<Totals> {
        let mut totals = Totals::new(agent);
        if let ([source], None) = (self.sources.as_mut_slice(), &carried)
            && !source.read.is_out_of_order
        {
            let (owned, places) = (Owned::of(source), std::mem::take(&mut source.places));
            let replica = &source.member.replica;
            source.read.each_chunk(shared, |chunks| {
                let mut batches = own_rows(shared, chunks, &owned, &places)?;
                subtract_counted(&mut batches, agent, &std::iter::once(replica), shared)?;
                totals.add(&batches);
                take(&batches)
            })?;
            return Ok(totals);
        }
        let Carried { rows: mut gathered, known } =
            carried.unwrap_or_else(|| Carried { rows: shared.gather(), known: Known::default() });
        let mut turns = Turns::default();
        for (number, source) in self.sources.iter_mut().enumerate() {
            let (owned, places) = (Owned::of(source), std::mem::take(&mut source.places));
            source.read.each_chunk(shared, |chunks| {
                turns.take(number, &chunks, &places);
                let batches = own_rows(shared, chunks, &owned, &places)?;
                turns.keep(number, &batches);
                gathered.add(number, batches)
            })?;
        }
        turns.keep_of_lake(&known.placed);
        let mut numbers = turns.numbered(agent, known.turns);
        let Gathered { messages, tool_calls, usage, .. } = gathered;
        let mut add = |batches: &PerRecordTable<RecordBatch>| {
            totals.add(batches);
            take(batches)
        };
        let [no_messages, no_calls, no_usage] =
            [&MESSAGES, &TOOL_CALLS, &USAGE].map(|table| RecordBatch::new_empty(table.schema()));
        messages.each(
            |source, batch| numbers.in_messages(source, &batch),
            |batch| add(&[batch, no_calls.clone(), no_usage.clone()]),
        )?;
        tool_calls.each(
            |source, batch| numbers.in_tool_calls(source, &batch),
            |batch| add(&[no_messages.clone(), batch, no_usage.clone()]),
        )?;
        let usage = usage.iter().map(|(source, batch)| numbers.in_usage(*source, batch));
        let usage = concat_batches(&USAGE.schema(), &usage.collect::<Result<Vec<_>>>()?)?;
        let mut batches = [no_messages, no_calls, in_order_of("timestamp", &usage)?];
        let replicas = self.members().map(|member| &member.replica);
        subtract_counted(&mut batches, agent, &replicas, shared)?;
        add(&batches)?;
        Ok(totals)
    }
}

fn subtract_counted<'r>(
    [_, _, usage]: &mut PerRecordTable<RecordBatch>,
    agent: &str,
    replicas: &(impl Iterator<Item = &'r Replica> + Clone),
    shared: &Shared<'_>,
) -> Result<()> {
    *usage = without_counted(usage, agent, replicas, &shared.pricer)?;
    Ok(())
}

/// Returns the records of a replica.
struct Owned {
    keys: KeySet,
    has_all: bool,
}

impl Owned {
    fn of(source: &SourceOf) -> Self {
        let owned = source.member.replica.records.iter().filter(|record| record.is_owned && !record.is_of_lake());
        let has_all = owned.clone().count() == source.read.record_count;
        Self { keys: owned.filter(|_| !has_all).map(|record| record.key).collect(), has_all }
    }
}

fn own_rows(
    shared: &Shared<'_>,
    mut chunks: PerRecordTable<Chunk>,
    owned: &Owned,
    places: &HashMap<i64, i64>,
) -> Result<PerRecordTable<RecordBatch>> {
    if !owned.has_all {
        for chunk in &mut chunks {
            chunk.retain(|key| owned.keys.contains(&key))?;
        }
    }
    let [messages, tool_calls, usage] = chunks;
    let usage = {
        let owners = shared.owners();
        with_fullest_copies(&usage, &owners, &shared.pricer)?
    };
    let tool_calls = with_children(shared, tool_calls)?;
    Ok([placed(messages.batch, &MESSAGES, places)?, placed(tool_calls, &TOOL_CALLS, places)?, usage])
}

/// Merges copies of responses from other sessions into old rows of a session.
pub(super) fn with_news(
    shared: &Shared<'_>,
    agent: &str,
    [messages, tool_calls, usage]: PerRecordTable<RecordBatch>,
) -> Result<PerRecordTable<RecordBatch>> {
    let columns = ToolCallColumns::of(&tool_calls);
    let calls = (0..tool_calls.num_rows()).map(|row| key(agent, Kind::ToolCall, columns.call_id(row)));
    let calls = Chunk { keys: calls.collect(), batch: tool_calls.clone() };
    let columns = UsageColumns::of(&usage);
    let responses = (0..usage.num_rows()).map(|row| key(agent, Kind::Response, columns.response_id(row)));
    let responses = Chunk { keys: responses.collect(), batch: priced_anew(&usage, &shared.pricer)? };
    let usage = with_fullest_copies(&responses, &shared.owners(), &shared.pricer)?;
    Ok([messages, with_children(shared, calls)?, usage])
}

fn placed(batch: RecordBatch, table: &crate::tables::TableDef, places: &HashMap<i64, i64>) -> Result<RecordBatch> {
    let Some(index) = table.index_of("seq").filter(|_| !places.is_empty()) else { return Ok(batch) };
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    if let Some(column) = columns.get_mut(index) {
        let seqs = column.as_primitive_opt::<Int64Type>();
        let seqs = seqs.into_iter().flat_map(Int64Array::values).map(|seq| places.get(seq).copied().unwrap_or(*seq));
        *column = Arc::new(Int64Array::from_iter_values(seqs));
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}
