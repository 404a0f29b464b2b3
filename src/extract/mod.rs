//! Where extractors put their rows: redacted, priced, claimed, and collected into Arrow batches.

mod arguments;
mod claims;
mod hashing;
mod keys;
mod likeness;
mod rows;
mod session;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use chrono::NaiveDateTime;
use chrono_tz::Tz;

pub(crate) use arguments::{Request, input_key};
pub use claims::{Claim, Count, Kind, Note, NoteField, ResponseCopy, key, session_key};
pub(crate) use hashing::Hex;
pub(crate) use keys::{KeyMap, KeySet};
use likeness::Letters;
pub(crate) use likeness::text_sketch;
pub use rows::{Chunk, Rows};
pub use session::{Facts, SessionRows};

use crate::error::{Error, Result};
use crate::interrupt::interrupted;
use crate::pricing::{Pricer, Recent};
use crate::redact::{Counts, Redactor};
use crate::tables::{MessageRow, ToolCallRow, UsageRow};

/// Why a source gave nothing.
#[derive(Debug)]
pub enum Reject {
    /// The file system refused.
    Io(io::Error),
    /// The database is damaged, or not what it was taken for.
    Database(rusqlite::Error),
    /// The content cannot be read, by its very nature.
    Encrypted,
    /// The rows could not be handed on.
    Failed(Error),
}

impl From<rusqlite::Error> for Reject {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Error> for Reject {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What was found in a source, beside its rows.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Lines or records read.
    pub lines: u64,
    /// Lines or records that could not be read.
    pub bad_lines: u64,
    /// The first of them, from 1.
    pub first_bad_line: Option<u64>,
    /// What was wrong, first problem first; at most [`Report::PROBLEMS`] are kept.
    pub problems: Vec<String>,
    /// Record types, fields and blocks that are not known, with their counts.
    pub unknown: BTreeMap<String, u64>,
    /// Secrets replaced, by kind.
    pub redactions: Counts,
}

impl Report {
    pub(crate) const PROBLEMS: usize = 3;
    const UNKNOWN: usize = 64;
}

/// Whether texts, inputs and outputs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// Everything is kept.
    #[default]
    Full,
    /// Texts, thinking, inputs, outputs, titles and summaries are left out.
    None,
}

/// What every sink of a run shares.
pub struct Context<'a> {
    /// The agent's id.
    pub agent: &'static str,
    /// Replaces secrets.
    pub redactor: &'a Redactor,
    /// Knows prices.
    pub pricer: &'a Pricer,
    /// Whether texts are kept.
    pub content: Content,
    /// Zone of moments that agents write without one.
    pub zone: Tz,
}

/// What a first look at a source tells of the rows that a second look hands on.
#[derive(Debug, Default)]
pub struct Foreseen {
    /// Places of the messages on branches that were left.
    pub abandoned: Vec<usize>,
    /// Messages and tool calls that come far behind those that they go before.
    pub late: Option<[Chunk; 2]>,
}

/// Takes a session's rows before it is complete.
pub type Consumer<'a> = dyn FnMut(&mut SessionRows) -> Result<()> + 'a;

enum Mode<'a> {
    Collect,
    ClaimsOnly,
    Stream { consumer: &'a mut Consumer<'a>, chunk: usize },
}

/// Takes what an extractor reads from one source.
pub struct Sink<'a> {
    context: &'a Context<'a>,
    mode: Mode<'a>,
    /// Boxed: its builders take kilobytes, which every move would copy.
    current: Option<Box<SessionRows>>,
    /// Sessions of the source that others were turned to before they were complete, by name.
    parked: BTreeMap<String, Box<SessionRows>>,
    current_name: String,
    places: Places,
    recent_model: Recent,
    letters: Letters,
    /// Sessions that are complete.
    pub sessions: Vec<Box<SessionRows>>,
    /// The first place of each among them, by the session's key.
    ended: KeyMap<usize>,
    /// Facts about rows of other sources.
    pub notes: Vec<Note>,
    /// What was found beside rows.
    pub report: Report,
    /// Secrets replaced in rows, by kind.
    pub redacted_in_rows: Counts,
}

impl<'a> Sink<'a> {
    /// Collects whole sessions in memory.
    pub fn collect(context: &'a Context<'a>) -> Self {
        Self::new(context, Mode::Collect)
    }

    /// Collects only claims and facts: a first look at a source that is too large to be held.
    pub fn claims_only(context: &'a Context<'a>) -> Self {
        Self::new(context, Mode::ClaimsOnly)
    }

    /// Hands rows on in chunks of so many bytes of text, so that memory does not depend on the source. Which messages are
    /// on abandoned branches, and which rows come far too late, is known from the first look at it.
    pub fn stream(context: &'a Context<'a>, known: Foreseen, chunk: usize, consumer: &'a mut Consumer<'a>) -> Self {
        let mut sink = Self::new(context, Mode::Stream { consumer, chunk });
        let rows = sink.session();
        rows.abandoned = known.abandoned;
        rows.abandoned.sort_unstable();
        rows.waiting = known.late;
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
            sessions: Vec::new(),
            ended: KeyMap::default(),
            notes: Vec::new(),
            report: Report::default(),
            redacted_in_rows: Counts::default(),
        }
    }

    /// The agent whose rows these are: value of the `agent` column.
    pub fn agent(&self) -> &'static str {
        self.context.agent
    }

    /// A moment that the agent wrote in its own time, without saying which. Microseconds since 1970.
    pub fn local_moment(&self, local: NaiveDateTime) -> Option<i64> {
        crate::time::in_zone(local, self.context.zone)
    }

    /// Counts a line or record.
    pub fn line(&mut self) {
        self.report.lines += 1;
    }

    /// Counts a line or record that could not be read, with its number and why.
    pub fn problem(&mut self, line: u64, reason: &str) {
        self.report.bad_lines += 1;
        self.report.first_bad_line.get_or_insert(line);
        self.remark(&format!("line {line}: {reason}"));
    }

    /// Keeps a remark about the source that is no bad line.
    pub fn remark(&mut self, remark: &str) {
        if self.report.problems.len() < Report::PROBLEMS {
            let remark = self.context.redactor.redact(remark, &mut self.report.redactions).into_owned();
            self.report.problems.push(remark);
        }
    }

    /// Counts something that this version of llrem does not know, by name.
    pub fn unknown(&mut self, name: &str) {
        if let Some(count) = self.report.unknown.get_mut(name) {
            *count += 1;
        } else if self.report.unknown.len() < Report::UNKNOWN {
            let name = self.context.redactor.redact(name, &mut self.report.redactions).into_owned();
            self.report.unknown.insert(name, 1);
        }
    }

    /// Tells something about a row of whatever source it is in.
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

    /// Claims a key that no row of this session carries.
    pub fn claim(&mut self, key: u64, weak: bool) {
        self.session().claims.push(Claim::new(Kind::Presence, key, weak, 0, 0));
    }

    /// Claims a key that no row of this session carries, from a moment on: what other sources tell of the time before it
    /// does not give way. Microseconds since 1970.
    pub fn claim_since(&mut self, key: u64, since: Option<i64>) {
        self.session().claims.push(Claim::new(Kind::Presence, key, false, since.unwrap_or(0), 0));
    }

    /// Says of a message or response that was added that it is no row where any source claims the key `to`, since `at` or
    /// before; at any time when there is no `at`. So a total gives way to the parts that another source, or a later
    /// record, tells, whatever is read first. Microseconds since 1970.
    pub fn give_way(&mut self, kind: Kind, id: &str, to: u64, at: Option<i64>) {
        let record = key(self.context.agent, kind, id);
        self.session().claims.push(Claim::yielding(record, to, at));
    }

    /// Says of a message, call or response that was added whether a file that is read together with the source told of it
    /// what the source does not. When that file is gone, the row stays as it was. `what` names what was told, and where: it
    /// is this source's own matter.
    pub fn told_beside(&mut self, kind: Kind, id: &str, what: &str, is_told: bool) {
        let told = key(self.context.agent, Kind::Presence, &format!("{what} of {}:{id}", kind as u8));
        if is_told {
            self.claim(told, true);
        } else {
            let mut claim = Claim::yielding(key(self.context.agent, kind, id), told, None);
            claim.set_weak();
            self.session().claims.push(claim);
        }
    }

    /// Says that all records so far are copies, which only a later one tells.
    pub fn weaken(&mut self) {
        let rows = self.session();
        for claim in rows.claims.iter_mut().skip(rows.weakened) {
            claim.set_weak();
        }
        rows.weakened = rows.claims.len();
    }

    /// Adds a message, claimed by its id. Gives its place among the session's messages, also of one that the source repeats,
    /// which is there once.
    pub fn message(&mut self, row: MessageRow<'_>, weak: bool) -> Result<usize, Reject> {
        let key = key(self.context.agent, Kind::Message, row.message_id);
        self.add_message(key, key, row, weak)
    }

    /// Adds a message that belongs to whoever owns the key.
    pub fn message_claimed_by(&mut self, key: u64, row: MessageRow<'_>, weak: bool) -> Result<usize, Reject> {
        let own = claims::key(self.context.agent, Kind::Message, row.message_id);
        self.add_message(own, key, row, weak)
    }

    fn add_message(&mut self, own: u64, key: u64, row: MessageRow<'_>, weak: bool) -> Result<usize, Reject> {
        if !self.is_first(own) {
            return Ok(self.place_of_repeat());
        }
        let claim = Claim::new(Kind::Message, key, weak, row.timestamp.unwrap_or(i64::MAX), row.seq);
        let keeps = self.keeps(row.seq);
        let texts = self.clean_row(keeps, [row.text, row.thinking]);
        let [text, thinking] = &texts;
        let counts = &mut self.redacted_in_rows;
        let cwd = self.places.cwd.clean(row.cwd.filter(|_| keeps), self.context.redactor, counts);
        let git_branch = self.places.branch.clean(row.git_branch.filter(|_| keeps), self.context.redactor, counts);
        let rows = self.current.get_or_insert_default();
        rows.claims.push(claim);
        let place = rows.message_count;
        rows.message_count += 1;
        if keeps {
            let is_abandoned = matches!(self.mode, Mode::Stream { .. }) && rows.abandoned.binary_search(&place).is_ok();
            if matches!(self.mode, Mode::ClaimsOnly) || rows.places.is_some() {
                rows.places.get_or_insert_default().push(place);
            }
            let prompt = text.as_deref().or(row.text).filter(|_| row.kind == "prompt");
            let sketch = prompt.and_then(likeness::text_sketch);
            rows.messages.push(key, &[text.as_deref(), thinking.as_deref()]).push(MessageRow {
                text: text.as_deref(),
                text_sketch: sketch.as_deref(),
                thinking: thinking.as_deref(),
                cwd: cwd.as_deref(),
                git_branch: git_branch.as_deref(),
                is_abandoned,
                ..row
            });
        }
        self.flush_when_full()?;
        Ok(place)
    }

    /// Adds a tool call, claimed by its id; one that the source repeats is there once.
    /// What it asked for gets its key here, where the row has none of its own.
    pub fn tool_call(&mut self, row: ToolCallRow<'_>, weak: bool) -> Result<(), Reject> {
        let key = key(self.context.agent, Kind::ToolCall, row.call_id);
        if !self.is_first(key) {
            return Ok(());
        }
        let claim = Claim::new(Kind::ToolCall, key, weak, fullness(&row), row.seq);
        let keeps = self.keeps(row.seq);
        let texts = self.clean_row(keeps, [row.input, row.command, row.output]);
        let [input, command, output] = &texts;
        let counts = &mut self.redacted_in_rows;
        let file_path = self.places.file.clean(row.file_path.filter(|_| keeps), self.context.redactor, counts);
        let rows = self.current.get_or_insert_default();
        rows.claims.push(claim);
        if row.category == "task" && row.child_session_id.is_none() {
            rows.childless.insert(key);
        }
        if keeps {
            let request = row.input.filter(|_| row.input_key.is_none()).map(|input| input_key(row.name, input));
            let shape = input.as_deref().or(row.input);
            let shape = shape.map(|input| likeness::input_shape(row.name, input, &mut self.letters));
            let told = output.as_deref().or(row.output);
            let output_key = told.map(likeness::output_key);
            let error_key =
                told.filter(|_| row.status == "error").and_then(|told| likeness::error_key(told, &mut self.letters));
            rows.tool_calls.push(key, &[input.as_deref(), output.as_deref(), command.as_deref()]).push(ToolCallRow {
                input: input.as_deref(),
                input_key: row.input_key.or(request.as_deref()),
                input_shape: shape.as_deref(),
                command: command.as_deref(),
                output: output.as_deref(),
                output_key: output_key.as_deref(),
                error_key: error_key.as_deref(),
                file_path: file_path.as_deref(),
                ..row
            });
        }
        self.flush_when_full()
    }

    /// The model that a name means: of two spellings that are priced as one model, the same.
    pub fn model_named<'m>(&self, name: &'m str) -> Cow<'m, str> {
        let named = UsageRow { model: Some(name), ..UsageRow::default() };
        self.context.pricer.model_key(&named).map_or(Cow::Borrowed(name), |key| Cow::Owned(key.to_owned()))
    }

    /// Adds a billed response, claimed by its id, with its total and, where the agent recorded none, its cost.
    /// `seq` is the place of the message that it became. One that the source repeats is there once, with the numbers of its
    /// fullest copy.
    pub fn usage(&mut self, row: UsageRow<'_>, seq: i64, weak: bool) -> Result<(), Reject> {
        let key = key(self.context.agent, Kind::Response, row.response_id);
        let finished = i64::from(row.stop_reason.is_some());
        let score = row.output_tokens.unwrap_or(0).saturating_mul(2).saturating_add(finished);
        let claim = Claim::new(Kind::Response, key, weak, score, seq);
        let claims_only = matches!(self.mode, Mode::ClaimsOnly);
        let copy = ResponseCopy {
            request: row.request_id.map(|id| claims::key(self.context.agent, Kind::Presence, id)),
            ..ResponseCopy::of(key, &row)
        };
        let is_first = self.is_first(key);
        let row = self.context.pricer.priced(row.shorten(), &mut self.recent_model);
        let rows = self.session();
        rows.responses.push(copy);
        if !is_first {
            return Ok(());
        }
        rows.claims.push(claim);
        if !claims_only {
            rows.usage.push(key, &[]).push(row);
        }
        self.flush_when_full()
    }

    /// Marks messages, by their places, as lying on a branch that the conversation left.
    pub fn abandon(&mut self, places: &[usize]) {
        if !matches!(self.mode, Mode::Stream { .. }) {
            self.session().abandoned.extend_from_slice(places);
        }
    }

    /// Turns to another session of the same source, which may have been begun before; for sources whose sessions run side
    /// by side. The names are the extractor's own.
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

    /// Drops the current session: nothing in the source makes it one.
    pub fn discard_session(&mut self) {
        self.current = None;
    }

    /// Completes the current session. A session without any row or claim leaves nothing.
    pub fn end_session(&mut self, mut facts: Facts) -> Result<(), Reject> {
        for text in [&mut facts.title, &mut facts.summary] {
            let clean = self.clean(text.as_deref()).map(Cow::into_owned);
            *text = clean;
        }
        let places = [&mut facts.project_path, &mut facts.git_branch, &mut facts.git_repo];
        for text in places.into_iter().flatten() {
            *text = self.context.redactor.redact(text, &mut self.report.redactions).into_owned();
        }
        let Some(mut rows) = self.current.take() else { return Ok(()) };
        rows.facts = facts;
        if let Mode::Stream { consumer, .. } = &mut self.mode {
            rows.has_ended = true;
            consumer(&mut rows)?;
        }
        if !rows.claims.is_empty() && !self.is_repeat(&rows) {
            self.sessions.push(rows);
        }
        Ok(())
    }

    /// Whether the source has told all records of a session before.
    fn is_repeat(&mut self, rows: &SessionRows) -> bool {
        let place = self.sessions.len();
        let first = *self.ended.entry(session_key(self.context.agent, &rows.facts.session_id)).or_insert(place);
        let told = self.sessions.get(first).filter(|_| !rows.seen.is_empty());
        told.is_some_and(|told| rows.seen.is_subset(&told.seen))
    }

    fn session(&mut self) -> &mut SessionRows {
        self.current.get_or_insert_default()
    }

    /// Whether the session has no record of that key yet.
    fn is_first(&mut self, key: u64) -> bool {
        self.session().seen.insert(key)
    }

    /// The place of a message that is there already: extractors count what they add.
    fn place_of_repeat(&mut self) -> usize {
        let has_all_places = matches!(self.mode, Mode::Collect);
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
        if let (Mode::Stream { consumer, chunk }, Some(rows)) = (&mut self.mode, &mut self.current)
            && rows.text_bytes() > *chunk
        {
            consumer(rows)?;
            // They are known from the first look.
            rows.claims.clear();
            rows.responses.clear();
            rows.weakened = 0;
        }
        Ok(())
    }

    /// Whether the row of a message or tool call is taken now. Where rows are handed on in chunks, one that comes far too
    /// late is taken at the first look, all others at the second.
    fn keeps(&mut self, seq: i64) -> bool {
        let is_late = self.session().is_late(seq);
        match self.mode {
            Mode::Collect => true,
            Mode::ClaimsOnly => is_late,
            Mode::Stream { .. } => !is_late,
        }
    }

    /// The text as it may be stored: redacted, or nothing when texts are not kept.
    fn clean<'t>(&mut self, text: Option<&'t str>) -> Option<Cow<'t, str>> {
        let text = text.filter(|_| self.context.content != Content::None);
        text.map(|text| self.context.redactor.redact(text, &mut self.report.redactions))
    }

    /// A row's texts as they may be stored.
    fn clean_row<'t, const N: usize>(&mut self, keeps: bool, texts: [Option<&'t str>; N]) -> [Option<Cow<'t, str>>; N] {
        let keeps = keeps && self.context.content != Content::None;
        texts.map(|text| {
            text.filter(|_| keeps).map(|text| self.context.redactor.redact(text, &mut self.redacted_in_rows))
        })
    }
}

/// How much a source says of a call, so that what is left of one does not replace all of it: whether both the call and its
/// result are there, then their size before anything is left out or replaced. Bytes.
fn fullness(row: &ToolCallRow<'_>) -> i64 {
    let parts = i64::from(row.input.is_some()) + i64::from(row.status != "pending");
    let size = row.input.map_or(0, str::len) + row.output.map_or(0, str::len);
    (parts << 48) | i64::try_from(size).unwrap_or(i64::MAX).min((1 << 48) - 1)
}

/// Short texts that are the same row after row: they are looked at when they change.
#[derive(Default)]
struct Places {
    cwd: Repeated,
    branch: Repeated,
    file: Repeated,
}

#[derive(Default)]
struct Repeated {
    seen: String,
    clean: Option<Rc<str>>,
}

impl Repeated {
    /// The text without secrets.
    fn clean(&mut self, text: Option<&str>, redactor: &Redactor, counts: &mut Counts) -> Option<Rc<str>> {
        let text = text?;
        if self.clean.is_none() || self.seen != text {
            self.clean = Some(Rc::from(&*redactor.redact(text, counts)));
            text.clone_into(&mut self.seen);
        }
        self.clean.clone()
    }
}
