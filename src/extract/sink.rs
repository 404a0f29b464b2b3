//! Receives what an extractor reads from a source, and passes on or collects its sessions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use chrono::NaiveDateTime;

use self::rows::Places;
use super::likeness::Letters;
use super::{Content, Context, Facts, Note, NoteField, PUBLIC_SEED, Reject, Report, SessionRows};
use crate::error::{Error, Result};
use crate::identity::{Fact, KeyMap, Kind, Yield, key, session_key};
use crate::interrupt::interrupted;
use crate::pricing::Recent;
use crate::redact::Counts;
use crate::source::LeftOut;
use crate::source::records::take_out_of_range;
use crate::time::{in_zone, plausible};

mod rows;
#[cfg(test)]
mod tests;

/// Receives a session's rows before it is complete.
pub type Consumer<'a> = dyn FnMut(&mut SessionRows) -> Result<()> + 'a;

enum Mode<'a> {
    Collect { most: usize },
    ClaimsOnly,
    Stream { consumer: &'a mut Consumer<'a>, chunk: usize },
}

/// Receives everything that an extractor reads from one source.
pub struct Sink<'a> {
    context: &'a Context<'a>,
    mode: Mode<'a>,
    /// Boxed, because its builders take kilobytes, which every move would copy.
    current: Option<Box<SessionRows>>,
    /// Incomplete sessions of the source that the extractor has turned away from, by name.
    parked: BTreeMap<String, Box<SessionRows>>,
    current_name: String,
    places: Places,
    recent_model: Recent,
    letters: Letters,
    own_output: fn(&str) -> &str,
    /// Sessions that are complete.
    pub sessions: Vec<Box<SessionRows>>,
    /// Index of the first of them, by the session's key.
    ended: KeyMap<usize>,
    /// Notes on other sources' sessions.
    pub notes: Vec<Note>,
    /// Counts and problems of the source.
    pub report: Report,
    /// Secrets replaced in rows, by kind.
    pub redacted_in_rows: Counts,
}

impl<'a> Sink<'a> {
    /// Creates a sink that collects whole sessions in memory.
    pub fn collect(context: &'a Context<'a>) -> Self {
        Self::collect_up_to(usize::MAX, context)
    }

    /// Creates a sink that collects whole sessions in memory, and fails if one takes more than this many bytes.
    pub fn collect_up_to(most: usize, context: &'a Context<'a>) -> Self {
        Self::new(context, Mode::Collect { most })
    }

    /// Creates a sink that collects only claims and facts: the first reading of a source that is too large for memory.
    pub fn claims_only(context: &'a Context<'a>) -> Self {
        Self::new(context, Mode::ClaimsOnly)
    }

    /// Creates a sink that passes on rows in chunks of this many bytes of text, so that memory does not depend on the
    /// source. `abandoned` are the places of the messages on abandoned branches.
    pub fn stream(
        context: &'a Context<'a>,
        abandoned: Vec<usize>,
        chunk: usize,
        consumer: &'a mut Consumer<'a>,
    ) -> Self {
        let mut sink = Self::new(context, Mode::Stream { consumer, chunk });
        let rows = sink.session();
        rows.abandoned = abandoned;
        rows.abandoned.sort_unstable();
        sink
    }

    fn new(context: &'a Context<'a>, mode: Mode<'a>) -> Self {
        Self {
            context,
            mode,
            current: None,
            parked: BTreeMap::new(),
            current_name: String::new(),
            places: Places::default(),
            recent_model: Recent::default(),
            letters: Letters::new(),
            own_output: |output| output,
            sessions: Vec::new(),
            ended: KeyMap::default(),
            notes: Vec::new(),
            report: Report::default(),
            redacted_in_rows: Counts::default(),
        }
    }

    /// Sets how to cut off what the agent writes before a tool's own output. The hashes of outputs leave it out.
    pub fn set_own_output(&mut self, own_output: fn(&str) -> &str) {
        self.own_output = own_output;
    }

    /// The agent whose rows these are: value of the `agent` column.
    pub fn agent(&self) -> &'static str {
        self.context.agent
    }

    /// Converts a local time that the agent wrote without a time zone. Microseconds since 1970.
    pub fn local_moment(&self, local: NaiveDateTime) -> Option<i64> {
        plausible(in_zone(local, self.context.zone).map(|moment| moment.timestamp_micros()))
    }

    /// Counts a line or record.
    pub fn line(&mut self) {
        self.note_out_of_range(self.report.lines.max(1));
        self.report.lines += 1;
    }

    /// Counts a line or record that could not be read, with its number and the reason.
    pub fn problem(&mut self, line: u64, reason: &str) {
        self.report.bad_lines += 1;
        self.report.first_bad_line.get_or_insert(line);
        self.remark(&format!("line {line}: {reason}"));
    }

    /// Counts numbers of a line or record that are out of range and were left out. They are one problem, however many
    /// there are.
    pub fn note_out_of_range(&mut self, line: u64) {
        match take_out_of_range() {
            0 => {}
            1 => self.problem(line, "a number out of range, which is left out"),
            count => self.problem(line, &format!("{count} numbers out of range, which are left out")),
        }
    }

    /// Counts what was not read of the source's databases.
    pub(crate) fn left_out(&mut self, left_out: &LeftOut) {
        for problem in left_out.no_tables() {
            self.line();
            self.problem(self.report.lines, &problem);
        }
        if left_out.rows > 0 {
            self.report.lines += left_out.rows;
            self.problem(self.report.lines, &left_out.first);
            self.report.bad_lines += left_out.rows - 1;
        }
    }

    /// Adds a remark about the source that is no bad line.
    pub fn remark(&mut self, remark: &str) {
        if self.report.problems.len() < Report::PROBLEMS {
            let remark = self.context.redactor.redact(remark, &mut self.report.redactions).into_owned();
            self.report.problems.push(remark);
        }
    }

    /// Counts something unknown to this version of llrem, by name.
    pub fn unknown(&mut self, name: &str) {
        if let Some(count) = self.report.unknown.get_mut(name) {
            *count += 1;
        } else if self.report.unknown.len() < Report::UNKNOWN {
            let name = self.context.redactor.redact(name, &mut self.report.redactions).into_owned();
            self.report.unknown.insert(name, 1);
        }
    }

    /// Counts the unknown fields of a record, with a text before each name.
    pub fn unknown_fields(&mut self, what: &str, fields: &[String]) {
        for field in fields {
            self.unknown(&format!("{what}{field}"));
        }
    }

    /// Adds a note about a row of any source.
    pub fn note(&mut self, field: NoteField, key: u64, rank: i64, text: &str) {
        let text = match field {
            NoteField::Title | NoteField::Summary => self.clean(Some(text)),
            NoteField::SubagentType
            | NoteField::ChildSession
            | NoteField::ProjectPath
            | NoteField::Parent
            | NoteField::Root => Some(self.context.redactor.redact(text, &mut self.report.redactions)),
        };
        if let Some(text) = text {
            self.notes.push(Note { key, field, rank, text: text.into_owned() });
        }
    }

    /// States a fact. Records of other sources that yield to it are superseded.
    pub fn claim(&mut self, key: u64, is_copy: bool) {
        self.session().present.push(Fact { key, since: 0, is_copy, is_gone: false });
    }

    /// States a fact that is present since a moment. It does not supersede records of other sources from before.
    /// Microseconds since 1970.
    pub fn claim_since(&mut self, key: u64, since: Option<i64>) {
        self.session().present.push(Fact { key, since: since.unwrap_or(0), is_copy: false, is_gone: false });
    }

    /// Declares that a message, call or response that was added is superseded if any source states the fact `to` since
    /// `at` or before, or at any time if `at` is absent. So a total is superseded by the parts that another source, or
    /// a later record, has, whatever is read first. Microseconds since 1970.
    pub fn yields_to(&mut self, kind: Kind, id: &str, to: u64, at: Option<i64>) {
        let record = key(self.context.agent, kind, id);
        // Files record times in seconds.
        let until = at.map_or(i64::MAX, |at| (at.div_euclid(1_000_000) + 1).saturating_mul(1_000_000));
        self.session().yields.push(Yield { record, fact: to, until });
    }

    /// Says of a record of that key that it is superseded where any source says that `fact` exists.
    pub fn supersede(&mut self, record: u64, fact: u64) {
        self.session().yields.push(Yield { record, fact, until: i64::MAX });
    }

    /// Says of all records of the current session that they are superseded where any source says that `fact` exists.
    pub fn supersede_all(&mut self, fact: u64) {
        let SessionRows { records, yields, .. } = self.session();
        yields.extend(records.iter().map(|record| Yield { record: record.key, fact, until: i64::MAX }));
    }

    /// Notes that a companion file, or another line, has more of a message, call or response. When that is gone, the row
    /// stays as it was.
    pub fn from_companion(&mut self, kind: Kind, id: &str) {
        let record = key(self.context.agent, kind, id);
        let raised = self.session().raised.entry(record).or_default();
        *raised = raised.saturating_add(1);
    }

    /// Declares that all records so far are copies, which only a later record shows.
    pub fn weaken(&mut self) {
        let rows = self.session();
        let [records, facts] = rows.copies;
        rows.records.iter_mut().skip(records).for_each(|record| record.is_copy = true);
        rows.present.iter_mut().skip(facts).for_each(|fact| fact.is_copy = true);
        rows.copies = [rows.records.len(), rows.present.len()];
    }

    /// Marks messages, by index, as being on an abandoned branch.
    pub fn abandon(&mut self, places: &[usize]) {
        if !matches!(self.mode, Mode::Stream { .. }) {
            self.session().abandoned.extend_from_slice(places);
        }
    }

    /// Switches to another session of the source, which may have been started before. For sources with interleaved
    /// sessions; the extractor chooses the names.
    pub fn turn_to(&mut self, name: &str) {
        if name == self.current_name {
            return;
        }
        let left = std::mem::replace(&mut self.current_name, name.to_owned());
        if let Some(rows) = self.current.take() {
            self.parked.insert(left, rows);
        }
        self.current = self.parked.remove(name);
    }

    /// Drops the current session, because nothing in the source makes it one.
    pub fn discard_session(&mut self) {
        self.current = None;
    }

    /// Completes the current session. A session without rows and claims is dropped.
    pub fn end_session(&mut self, mut facts: Facts) -> Result<(), Reject> {
        facts.first_moment = plausible(facts.first_moment);
        for text in [&mut facts.title, &mut facts.summary] {
            let clean = self.clean(text.as_deref()).map(Cow::into_owned);
            *text = clean;
        }
        let names = [&mut facts.git_branch, &mut facts.git_repo, &mut facts.subagent_type, &mut facts.entrypoint];
        for text in names.into_iter().chain([&mut facts.project_path]).flatten() {
            *text = self.context.redactor.redact(text, &mut self.report.redactions).into_owned();
        }
        if let (Some(parent), None) = (&facts.parent_session_id, &facts.root_session_id) {
            // Notes are followed to the outermost session.
            self.note(NoteField::Parent, session_key(self.context.agent, &facts.session_id), 0, parent);
        }
        let Some(mut rows) = self.current.take() else { return Ok(()) };
        rows.facts = facts;
        rows.is_secondary = self.is_in_secondary();
        if rows.is_secondary && matches!(self.mode, Mode::Stream { .. }) {
            return Ok(());
        }
        if let Mode::Stream { consumer, .. } = &mut self.mode {
            rows.has_ended = true;
            consumer(&mut rows)?;
        }
        if !rows.is_empty() && !self.is_repeat(&rows) {
            self.sessions.push(rows);
        }
        Ok(())
    }

    /// True if an earlier session of the source has all records of this one.
    fn is_repeat(&mut self, rows: &SessionRows) -> bool {
        let place = self.sessions.len();
        let first = *self.ended.entry(session_key(self.context.agent, &rows.facts.session_id)).or_insert(place);
        let earlier = self.sessions.get(first).filter(|_| !rows.seen.is_empty());
        earlier.is_some_and(|earlier| rows.seen.is_subset(&earlier.seen))
    }

    /// True if the source has switched to a session that is not its first. The first reading of a source takes the few
    /// rows of such a session.
    fn is_in_secondary(&self) -> bool {
        !self.current_name.is_empty()
    }

    fn session(&mut self) -> &mut SessionRows {
        self.current.get_or_insert_default()
    }

    /// True if the session has no record with that key yet.
    fn is_first(&mut self, key: u64) -> bool {
        self.session().seen.insert(key)
    }

    /// Returns the index of a message that exists already: extractors count the messages that they add.
    fn place_of_repeat(&mut self) -> usize {
        let has_all_places = matches!(self.mode, Mode::Collect { .. });
        let rows = self.session();
        let place = rows.message_count;
        rows.message_count += 1;
        if has_all_places {
            rows.places.get_or_insert_with(|| (0..place).collect());
        }
        place
    }

    fn flush_when_full(&mut self) -> Result<(), Reject> {
        if interrupted() {
            return Err(Reject::Failed(Error::Interrupted));
        }
        if let (Mode::Collect { most }, Some(rows)) = (&self.mode, &self.current)
            && rows.text_bytes() > *most
        {
            return Err(Reject::TooLarge);
        }
        if let (Mode::Stream { consumer, chunk }, Some(rows), "") =
            (&mut self.mode, &mut self.current, &*self.current_name)
            && rows.text_bytes() > *chunk
        {
            consumer(rows)?;
            // They are known from the first reading.
            rows.take_claims();
            rows.copies = [0; 2];
        }
        Ok(())
    }

    /// True if this reading takes rows, not only claims.
    fn takes_rows(&self) -> bool {
        !matches!(self.mode, Mode::ClaimsOnly) || self.is_in_secondary()
    }

    /// Returns the text to store: redacted, or `None` if texts are not kept.
    fn clean<'t>(&mut self, text: Option<&'t str>) -> Option<Cow<'t, str>> {
        let text = text.filter(|_| self.stores_texts());
        text.map(|text| self.context.redactor.redact(text, &mut self.report.redactions))
    }

    fn stores_texts(&self) -> bool {
        self.context.content != Content::None
    }

    /// Returns the seed of sketches. If texts are not kept, it is the lake's own, so that nobody can test guesses of a
    /// text.
    fn sketch_seed(&self) -> u64 {
        if self.stores_texts() { PUBLIC_SEED } else { self.context.redactor.keyed(PUBLIC_SEED) }
    }
}
