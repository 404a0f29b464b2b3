//! Reads one source of any kind into rows.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use xxhash_rust::xxh3::Xxh3;

use super::notes::with_earlier;
use super::{Shared, check_interrupt};
use crate::agents::Agent;
use crate::error::{Error, Result};
use crate::extract::{Chunk, Facts, Note, Reject, Report, SessionRows, Sink};
use crate::identity::{KeySet, Reading, Record, Replica};
use crate::lake::manifest::FATAL;
use crate::source::records::take_out_of_range;
use crate::source::{Extent, Fingerprint, RunCache, Scope, Source};
use crate::tables::{PerRecordTable, SourceState};
use crate::time::now;

/// Sources from this size on are streamed: they are read twice, for claims and then for rows, and never held in memory.
/// Bytes.
const STREAMED_FROM: u64 = 40 << 20;
/// Largest size of a smaller source's rows, as a multiple of the source. If it is compressed or has many short lines,
/// its rows may be larger, and it is streamed as well.
const MOST_COLLECTED: usize = 3;
/// Text that a session collects before it is passed on, when streamed. Bytes.
const STREAM_CHUNK: usize = 4 << 20;

/// Coarsest step of a file system's clock. Microseconds.
const CLOCK_STEP: i64 = 20_000;

/// Most readings of a source. It is read again if one of its databases was written to meanwhile.
const READINGS: usize = 4;

/// Returns the size from which sources are streamed. In debug builds, tests may lower it.
fn streamed_from() -> u64 {
    let of_test = if cfg!(debug_assertions) { std::env::var("LLREM_TEST_STREAMED_FROM").ok() } else { None };
    of_test.and_then(|bytes| bytes.parse().ok()).unwrap_or(STREAMED_FROM)
}

/// Returns the most rows that a session gathers in memory, if it has several sources. Bytes.
pub(super) fn most_held() -> usize {
    usize::try_from(streamed_from()).unwrap_or(usize::MAX)
}

/// Kind of a folder that could not be listed. Its content is unknown; `sources` reports it.
pub(super) const UNLISTED: &str = "folder";

/// A source to read.
#[derive(Clone)]
pub(super) struct Planned {
    pub(super) agent: &'static dyn Agent,
    /// The path in the manifest; for a section, with its id.
    pub(super) name: Arc<str>,
    /// Path of its file if it differs from `name`. It is `None` for most sources, which saves memory.
    pub(super) other_path: Option<Arc<Path>>,
    /// Id of the section, if the source is one.
    pub(super) section: Option<Arc<str>>,
    pub(super) kind: &'static str,
    pub(super) print: Fingerprint,
    pub(super) is_new: bool,
    /// True if a link leads out of the given home to another user's file, which is not read.
    pub(super) is_foreign: bool,
    /// When its first session probably began. Microseconds since 1970.
    pub(super) hint: Option<i64>,
}

impl Planned {
    /// Returns the path of its file.
    pub(super) fn path(&self) -> &Path {
        self.other_path.as_deref().unwrap_or_else(|| Path::new(&*self.name))
    }

    pub(super) fn agent_id(&self) -> &'static str {
        self.agent.about().id
    }

    pub(super) fn has_sections(&self) -> bool {
        self.kind != UNLISTED && !self.is_foreign && self.agent.has_sections(self.path(), self.kind)
    }

    /// True if it is a database in a file without content. Even a database without rows has some.
    pub(super) fn is_emptied(&self) -> bool {
        self.has_sections() && std::fs::metadata(self.path()).is_ok_and(|metadata| metadata.len() == 0)
    }

    /// Returns how much of it there is to read; 0 for a source with sections, which are read separately. Bytes.
    pub(super) fn bytes(&self) -> u64 {
        if self.section.is_none() && self.has_sections() { 0 } else { self.print.bytes }
    }

    /// Returns the cost of reading it: a streamed source is read twice. Bytes.
    pub(super) fn cost(&self) -> u64 {
        if self.is_streamed() { self.print.bytes.saturating_mul(2) } else { self.bytes() }
    }

    /// True if it is read as files, not section by section.
    fn is_file(&self) -> bool {
        self.section.is_none() && self.kind != UNLISTED && !self.is_foreign && !self.has_sections()
    }

    fn is_streamed(&self) -> bool {
        self.print.bytes >= streamed_from() && self.can_be_streamed()
    }

    fn can_be_streamed(&self) -> bool {
        self.agent.about().streams.contains(&self.kind)
    }
}

/// A source after it was read.
pub(super) struct Read {
    pub(super) planned: Arc<Planned>,
    /// Relation of the reading to the previous one.
    pub(super) reading: Reading,
    pub(super) report: Report,
    pub(super) notes: Vec<Note>,
    pub(super) state: SourceState,
    /// True if it was read to its end, so that it has no other sessions.
    pub(super) is_complete: bool,
    /// The extent of its files; `None` if somebody may have written to them during the reading.
    pub(super) extent: Option<Extent>,
}

/// The files of a source before the reading.
struct Before {
    at: i64,
    companions: Vec<PathBuf>,
    extent: Option<Extent>,
    /// True if they still have the content of the last reading at their beginning.
    has_only_grown: bool,
}

impl Before {
    fn of(planned: &Planned, last: Option<&Extent>) -> Self {
        let at = now();
        let companions = if planned.is_file() { planned.agent.companions(planned.path()) } else { Vec::new() };
        let extent = if planned.is_file() { Extent::of(planned.path(), &companions) } else { None };
        let has_only_grown = last.is_some_and(|last| extent.is_some() && last.is_held_by(planned.path(), &companions));
        Self { at, companions, extent, has_only_grown }
    }

    /// True if nobody wrote to the files during the reading. Files that changed just before it do not count as
    /// unchanged: a write during the reading could leave the same modification time.
    fn are_unchanged(&self, planned: &Planned) -> bool {
        let print = Fingerprint::of(planned.path(), &self.companions);
        print.is_ok_and(|print| print == planned.print && print.modified_us() + CLOCK_STEP < self.at)
    }
}

/// One session of a source that was read.
pub(super) struct ReadSession {
    pub(super) planned: Arc<Planned>,
    /// Relation of the reading to the previous one.
    pub(super) reading: Reading,
    pub(super) replica: Replica,
    pub(super) facts: Facts,
    /// Messages, tool calls and usage; `None` if they are to be streamed.
    pub(super) rows: Option<PerRecordTable<Chunk>>,
    /// If it is to be streamed, the places of the messages on abandoned branches.
    abandoned: Vec<usize>,
    /// True if [`Self::each_chunk`] does not pass on all rows in order.
    pub(super) is_out_of_order: bool,
    /// Number of its records.
    pub(super) record_count: usize,
    /// Records whose row comes from elsewhere.
    pub(super) left_out: Vec<Record>,
    /// Records of the lake that the source now holds under other ids.
    pub(super) renamed: KeySet,
    /// Keys of calls that may have started a subagent that their own source does not name.
    pub(super) childless: KeySet,
    pub(super) digest: u64,
}

/// Reads a source. Problems are part of the result and affect no other source.
pub(super) fn read(shared: &Shared<'_>, planned: &Arc<Planned>) -> Result<(Read, Vec<ReadSession>)> {
    let context = shared.context(planned.agent_id());
    let entry = shared.manifest.sources.get(&*planned.name);
    let before = Before::of(planned, entry.and_then(|entry| entry.extent.as_ref()));
    let mut is_streamed = planned.is_streamed();
    let most = usize::try_from(streamed_from()).unwrap_or(usize::MAX).saturating_mul(MOST_COLLECTED);
    let most = if planned.can_be_streamed() { most } else { usize::MAX };
    let mut extracted = extract_unchanged(shared, planned, is_streamed, || match is_streamed {
        true => Sink::claims_only(&context),
        false => Sink::collect_up_to(most, &context),
    });
    if matches!(extracted.1, Err(Reject::TooLarge)) {
        is_streamed = true;
        extracted = extract_unchanged(shared, planned, is_streamed, || Sink::claims_only(&context));
    }
    let (sink, outcome) = extracted;
    let is_stable = before.extent.is_some() && before.are_unchanged(planned);
    let reading = match shared.reading(planned, is_stable && outcome.is_ok() && before.has_only_grown) {
        // Records that this reading did not reach may still be right.
        Reading::Reparsed if outcome.is_err() => Reading::ChangedAndReparsed,
        reading => reading,
    };
    let extent = before.extent.filter(|_| is_stable);
    let Sink { sessions, notes, mut report, redacted_in_rows, .. } = sink;
    report.redactions.merge(&redacted_in_rows);
    let earlier = entry.filter(|_| reading != Reading::Reparsed);
    let notes = with_earlier(notes, earlier.map_or(&[], |entry| &entry.notes));
    let (state, is_complete) = (SourceState::Ok, outcome.is_ok() && !planned.is_emptied());
    let mut read = Read { planned: Arc::clone(planned), reading, report, notes, state, is_complete, extent };
    settle(&mut read, outcome)?;
    let session = |rows| read_session(planned, reading, rows, is_streamed);
    let sessions = sessions.into_iter().map(session).collect::<Result<_>>()?;
    shared.run.progress.advance(1, 0);
    Ok((read, sessions))
}

/// Extracts a source until no database was written to during the reading; from the second time on, from a copy.
fn extract_unchanged<'c>(
    shared: &Shared<'_>,
    planned: &Planned,
    is_streamed: bool,
    begin: impl Fn() -> Sink<'c>,
) -> (Sink<'c>, Result<(), Reject>) {
    let mut readings = 1;
    loop {
        RunCache::watch();
        let mut sink = begin();
        let outcome = extract(shared, planned, &mut sink);
        sink.left_out(&RunCache::left_out());
        if !shared.run.cache.have_changed(is_streamed) || readings == READINGS {
            return (sink, outcome);
        }
        readings += 1;
    }
}

fn extract(shared: &Shared<'_>, planned: &Planned, sink: &mut Sink<'_>) -> Result<(), Reject> {
    if shared.run.pass.refuses(&planned.name) {
        return Err(Reject::Io(std::io::Error::other(FATAL)));
    }
    shared.run.breadcrumbs.note(&planned.name);
    if planned.kind == UNLISTED {
        return std::fs::read_dir(planned.path()).map(|_| ()).map_err(Reject::Io);
    }
    if planned.is_foreign {
        let reason = "a link leads out of the home to a file of another user, which is not read";
        return Err(Reject::Io(std::io::Error::other(reason)));
    }
    let progress = |bytes| shared.read_bytes(bytes);
    let mut source = Source::new(planned.path(), planned.kind, planned.bytes(), &progress);
    source = source.named(&planned.name).within(shared.run.cache);
    if planned.has_sections() {
        let scope = planned.section.as_deref().map_or(Scope::Common, Scope::Section);
        source = source.scoped(scope);
    }
    take_out_of_range();
    let extracted = catch_unwind(AssertUnwindSafe(|| planned.agent.extract(&mut source, sink)));
    sink.note_out_of_range(sink.report.lines.max(1));
    // The rows up to this point are not the whole source.
    check_interrupt()?;
    extracted.unwrap_or_else(|_| {
        Err(Reject::Io(std::io::Error::other("llrem failed on it; please report this file's shape")))
    })
}

fn settle(read: &mut Read, outcome: Result<(), Reject>) -> Result<()> {
    let report = &mut read.report;
    let rejected = match outcome {
        Ok(()) => None,
        Err(Reject::Failed(error)) => return Err(error),
        Err(Reject::Encrypted) => {
            (read.state, read.extent) = (SourceState::Encrypted, None);
            return Ok(());
        }
        Err(Reject::TooLarge) => Some("its rows take too much memory".to_owned()),
        Err(Reject::Io(error)) => Some(format!("cannot be read: {error}")),
        Err(Reject::Database(error)) => Some(format!("the database cannot be read: {error}")),
    };
    let is_common = read.planned.section.is_none() && read.planned.has_sections();
    read.state = state(rejected.is_some(), report, is_common);
    if let Some(problem) = rejected {
        report.problems.insert(0, problem);
        // The lake may remember it from a much earlier reading.
        read.extent = None;
    }
    Ok(())
}

/// Returns the state of a source. `is_common` is true for the part of a source with sections that belongs to none of
/// them; it may be empty.
fn state(is_rejected: bool, report: &Report, is_common: bool) -> SourceState {
    match (is_rejected, report.lines, report.bad_lines) {
        (false, 0, 0) if is_common => SourceState::Ok,
        (true, 0, _) => SourceState::Unreadable,
        (true, ..) => SourceState::Partial,
        (false, 0, 0) => SourceState::Empty,
        (false, _, 0) => SourceState::Ok,
        (false, ..) => SourceState::Partial,
    }
}

fn read_session(
    planned: &Arc<Planned>,
    reading: Reading,
    mut rows: Box<SessionRows>,
    is_streamed: bool,
) -> Result<ReadSession> {
    let replica = Replica {
        session: rows.facts.session_id.as_str().into(),
        source: Arc::clone(&planned.name),
        is_side: rows.facts.is_subagent,
        first_moment: rows.facts.first_moment,
        ..rows.take_claims()
    };
    let facts = std::mem::take(&mut rows.facts);
    let mut chunks = rows.finish()?;
    chunks.iter_mut().try_for_each(|chunk| chunk.give_to(&facts.session_id))?;
    let chunks = (!is_streamed || rows.is_secondary).then_some(chunks);
    let digest = digest(planned, &facts, &replica, chunks.as_ref());
    let childless = std::mem::take(&mut rows.childless);
    Ok(ReadSession {
        planned: Arc::clone(planned),
        reading,
        record_count: replica.records.len(),
        replica,
        facts,
        abandoned: std::mem::take(&mut rows.abandoned),
        is_out_of_order: chunks.is_none() && rows.is_out_of_order(),
        rows: chunks,
        left_out: Vec::new(),
        renamed: KeySet::default(),
        childless,
        digest,
    })
}

impl ReadSession {
    /// Passes on the session's rows chunk by chunk, from memory or from a second reading of the source.
    pub(super) fn each_chunk(
        &mut self,
        shared: &Shared<'_>,
        mut take: impl FnMut(PerRecordTable<Chunk>) -> Result<()>,
    ) -> Result<()> {
        if let Some(chunks) = self.rows.take() {
            return take(chunks);
        }
        let context = shared.context(self.planned.agent_id());
        let session = &self.facts.session_id;
        let mut consumer = |rows: &mut SessionRows| {
            let mut chunks = rows.hand_on()?;
            chunks.iter_mut().try_for_each(|chunk| chunk.give_to(session))?;
            take(chunks)
        };
        let chunk = STREAM_CHUNK.min(usize::try_from(streamed_from()).unwrap_or(STREAM_CHUNK));
        let mut sink = Sink::stream(&context, std::mem::take(&mut self.abandoned), chunk, &mut consumer);
        let outcome = extract(shared, &self.planned, &mut sink);
        shared.redactions().insert(self.planned.name.to_string(), std::mem::take(&mut sink.redacted_in_rows));
        match outcome {
            Ok(()) => Ok(()),
            Err(Reject::Failed(error)) => Err(error),
            Err(Reject::Io(error)) => Err(Error::io("read", self.planned.path())(error)),
            Err(Reject::Database(_) | Reject::Encrypted | Reject::TooLarge) => Ok(()),
        }
    }
}

fn digest(planned: &Planned, facts: &Facts, replica: &Replica, chunks: Option<&PerRecordTable<Chunk>>) -> u64 {
    let mut hasher = Xxh3::new();
    // Two sources of a session that swap their content have changed.
    hasher.update(replica.source.as_bytes());
    if chunks.is_none() {
        // The texts of a streamed source are not in memory. Any change of the file may have changed them.
        hasher.update(format!("{:?}", planned.print).as_bytes());
    }
    hasher.update(format!("{facts:?}").as_bytes());
    hash_claims(replica, &mut hasher);
    for copy in replica.responses.repeats() {
        hasher.update(format!("{copy:?}").as_bytes());
    }
    for chunk in chunks.into_iter().flatten() {
        hash_batch(&chunk.batch, &mut hasher);
    }
    hasher.digest()
}

fn hash_claims(replica: &Replica, hasher: &mut Xxh3) {
    for record in &replica.records {
        hasher.update(&record.key.to_le_bytes());
        hasher.update(&record.moment.to_le_bytes());
        hasher.update(&record.fullness.to_le_bytes());
        hasher.update(&record.seq.to_le_bytes());
        hasher.update(&[record.kind as u8, u8::from(record.is_copy)]);
    }
    for fact in &replica.facts {
        hasher.update(&fact.key.to_le_bytes());
        hasher.update(&fact.since.to_le_bytes());
        hasher.update(&[u8::from(fact.is_copy)]);
    }
    for it in &replica.yields {
        hasher.update(&it.record.to_le_bytes());
        hasher.update(&it.fact.to_le_bytes());
        hasher.update(&it.until.to_le_bytes());
    }
}

fn hash_batch(batch: &RecordBatch, hasher: &mut Xxh3) {
    hasher.update(&batch.num_rows().to_le_bytes());
    // Most columns of most sessions hold only nulls.
    let has_values = |(_, column): &(usize, &ArrayRef)| column.null_count() < column.len();
    for (place, column) in batch.columns().iter().enumerate().filter(has_values) {
        hasher.update(&place.to_le_bytes());
        let data = column.to_data();
        if let Some(nulls) = data.nulls() {
            nulls.inner().bit_chunks().iter_padded().for_each(|valid| hasher.update(&valid.to_le_bytes()));
        }
        for buffer in data.buffers() {
            hasher.update(buffer.as_slice());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_of_which_all_is_bad_is_not_empty() {
        let state =
            |lines, bad_lines, is_common| state(false, &Report { lines, bad_lines, ..Report::default() }, is_common);
        assert_eq!([state(0, 0, false), state(0, 0, true)], [SourceState::Empty, SourceState::Ok]);
        assert_eq!([state(0, 1, false), state(0, 1, true)], [SourceState::Partial; 2]);
        assert_eq!([state(2, 0, false), state(2, 1, false)], [SourceState::Ok, SourceState::Partial]);
    }
}
