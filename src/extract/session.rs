//! One session as extracted: its facts, rows and claims.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;

use super::{Chunk, Rows};
use crate::error::Result;
use crate::identity::{Fact, KeyMap, KeySet, Record, Replica, ResponseCopy, Yield};
use crate::tables::{MESSAGES, Messages, PerRecordTable, SessionKind, TOOL_CALLS, TableDef, ToolCalls, Usage};

/// A source's facts about a session. Texts that are derived from the session's own rows are not here.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Identity within the agent.
    pub session_id: String,
    /// Kind of session.
    pub kind: SessionKind,
    /// True if the agent stores the session from its beginning on, even before its first message.
    pub is_one_when_empty: bool,
    /// Version of the agent that wrote the last record.
    pub agent_version: Option<String>,
    /// Program or integration that started the agent.
    pub entrypoint: Option<String>,
    /// Folder that the session started in.
    pub project_path: Option<String>,
    /// SHA-256 of the project's path in hexadecimal digits, or the first 32 of them, if the agent records only that.
    pub project_hash: Option<String>,
    /// Last git branch recorded.
    pub git_branch: Option<String>,
    /// Git commit at the start.
    pub git_commit: Option<String>,
    /// Git repository.
    pub git_repo: Option<String>,
    /// Title that was given.
    pub title: Option<String>,
    /// Summary that the agent wrote.
    pub summary: Option<String>,
    /// Session that started this one.
    pub parent_session_id: Option<String>,
    /// Outermost parent, if the source names it; else it is found by the parents.
    pub root_session_id: Option<String>,
    /// Session whose history was copied, if the agent names it.
    pub forked_from_session_id: Option<String>,
    /// True if another session started it.
    pub is_subagent: bool,
    /// Kind of subagent.
    pub subagent_type: Option<String>,
    /// First moment in the source, including copies. Microseconds since 1970.
    pub first_moment: Option<i64>,
}

impl Facts {
    /// Fills in facts of another source of the session, or of an earlier reading.
    pub(crate) fn filled_from(self, other: Self) -> Self {
        let has_project = self.project_path.is_some() || self.project_hash.is_some();
        let has_parent = self.is_subagent || self.parent_session_id.is_some();
        let (kind, parent_session_id, root_session_id, is_subagent) =
            if !has_parent && (other.is_subagent || other.parent_session_id.is_some()) {
                (other.kind, other.parent_session_id, other.root_session_id, other.is_subagent)
            } else {
                (self.kind, self.parent_session_id, self.root_session_id, self.is_subagent)
            };
        Self {
            kind,
            parent_session_id,
            root_session_id,
            is_subagent,
            is_one_when_empty: self.is_one_when_empty || other.is_one_when_empty,
            agent_version: self.agent_version.or(other.agent_version),
            entrypoint: self.entrypoint.or(other.entrypoint),
            project_path: self.project_path.or(other.project_path),
            project_hash: if has_project { self.project_hash } else { other.project_hash },
            git_branch: self.git_branch.or(other.git_branch),
            git_commit: self.git_commit.or(other.git_commit),
            git_repo: self.git_repo.or(other.git_repo),
            title: self.title.or(other.title),
            summary: self.summary.or(other.summary),
            forked_from_session_id: self.forked_from_session_id.or(other.forked_from_session_id),
            subagent_type: self.subagent_type.or(other.subagent_type),
            ..self
        }
    }
}

/// One session as extracted from one source.
#[derive(Default)]
pub struct SessionRows {
    /// Its facts; complete after the session has ended.
    pub facts: Facts,
    /// Its messages.
    pub messages: Rows<Messages>,
    /// Its tool calls.
    pub tool_calls: Rows<ToolCalls>,
    /// Its billed responses.
    pub usage: Rows<Usage>,
    /// Its claims to records, in their order.
    pub records: Vec<Record>,
    /// Its facts for superseding records.
    pub present: Vec<Fact>,
    /// Its records that may be superseded.
    pub yields: Vec<Yield>,
    /// Number of records and facts, from the first, that are known to be copies.
    pub(super) copies: [usize; 2],
    /// Number of times that a companion file had more of each record.
    pub(super) raised: KeyMap<u8>,
    /// Fullness of the fullest repeat of each response that the source repeats.
    pub(super) repeated: KeyMap<u64>,
    /// Keys of its records so far.
    pub(super) seen: KeySet,
    /// Its copies of each response; one entry for each repeat.
    pub responses: Vec<ResponseCopy>,
    /// Indexes of the messages on abandoned branches, in order.
    pub abandoned: Vec<usize>,
    /// Messages so far, including those that were passed on or only claimed.
    pub message_count: usize,
    /// Keys of calls that may have started a subagent that their own source does not name.
    pub(crate) childless: KeySet,
    /// Indexes of the messages in memory. If empty, each message has its own index.
    pub(super) places: Option<Vec<usize>>,
    /// True if it is complete.
    pub(super) has_ended: bool,
    /// True if its source switched to it from the source's main session.
    pub(crate) is_secondary: bool,
    window: Window,
    /// Messages and tool calls that wait because others may come before them.
    waiting: [Option<Chunk>; 2],
}

/// The last rows, among which the next one probably belongs. When a session is passed on in chunks, these wait and are
/// sorted.
#[derive(Default)]
struct Window {
    /// The last rows that came after all earlier ones, each with the bytes up to the next one.
    last: VecDeque<(i64, usize)>,
    bytes: usize,
    /// The place before which all rows are passed on.
    begin: i64,
    /// True if a row came later than that.
    is_exceeded: bool,
}

impl Window {
    const ROWS: usize = 256;
    const BYTES: usize = 16 << 20;

    fn add(&mut self, seq: i64, bytes: usize) {
        self.is_exceeded |= seq < self.begin;
        self.bytes += bytes;
        match self.last.back_mut() {
            Some((last, held)) if seq <= *last => *held += bytes,
            _ => self.last.push_back((seq, bytes)),
        }
        while (self.last.len() > Self::ROWS || self.bytes > Self::BYTES)
            && let Some((first, bytes)) = self.last.pop_front()
        {
            self.bytes -= bytes;
            self.begin = first;
        }
    }
}

/// Bits of a record's fullness below those that count contributions of companion files.
const RAISED_BIT: u32 = 56;

impl SessionRows {
    /// Returns its claims, without an owner.
    pub(crate) fn take_claims(&mut self) -> Replica {
        let mut records = std::mem::take(&mut self.records);
        for record in records.iter_mut().filter(|_| !self.raised.is_empty()) {
            let raised = self.raised.get(&record.key).copied().unwrap_or_default();
            record.fullness = (record.fullness & ((1 << RAISED_BIT) - 1)) | (u64::from(raised) << RAISED_BIT);
        }
        for record in records.iter_mut().filter(|_| !self.repeated.is_empty()) {
            let repeated = self.repeated.get(&record.key).copied().unwrap_or_default();
            record.fullness = record.fullness.max(repeated);
        }
        let responses = std::mem::take(&mut self.responses).into();
        let (facts, yields) = (std::mem::take(&mut self.present), std::mem::take(&mut self.yields));
        Replica { records, facts, yields, responses, ..Replica::default() }
    }

    /// True if it has no claims.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.present.is_empty() && self.yields.is_empty()
    }

    /// Returns the approximate size of the rows in memory. Bytes.
    pub fn text_bytes(&self) -> usize {
        self.messages.text_bytes() + self.tool_calls.text_bytes() + self.usage.text_bytes()
    }

    /// Notes the place of a message or tool call, and the bytes of its texts.
    pub(super) fn passes(&mut self, seq: i64, bytes: usize) {
        self.window.add(seq, bytes);
    }

    /// True if [`Self::hand_on`] does not return all rows in order.
    pub fn is_out_of_order(&self) -> bool {
        self.window.is_exceeded
    }

    /// Returns the rows in memory, in `seq` order: messages, tool calls, usage.
    pub fn finish(&mut self) -> Result<PerRecordTable<Chunk>> {
        let mut messages = self.messages.finish(Messages::finish)?;
        if !self.abandoned.is_empty() {
            messages.batch = with_abandoned(&messages.batch, self.places.as_deref(), &self.abandoned)?;
        }
        let mut tool_calls = self.tool_calls.finish(ToolCalls::finish)?;
        for (chunk, table) in [(&mut messages, &MESSAGES), (&mut tool_calls, &TOOL_CALLS)] {
            if let Some(seq) = table.index_of("seq") {
                chunk.sort_by(seq)?;
            }
        }
        Ok([messages, tool_calls, self.usage.finish(Usage::finish)?])
    }

    /// Like [`Self::finish`], for a session that continues: the last rows wait, because others may come before them.
    pub fn hand_on(&mut self) -> Result<PerRecordTable<Chunk>> {
        let limit = if self.has_ended { i64::MAX } else { self.window.begin };
        let messages = self.messages.finish(Messages::finish)?;
        let tool_calls = self.tool_calls.finish(ToolCalls::finish)?;
        let take = |table: &TableDef, waiting: &mut Option<Chunk>, new: Chunk| -> Result<Chunk> {
            let seq = table.index_of("seq").unwrap_or_default();
            let mut rows = match waiting.take() {
                Some(earlier) => earlier.followed_by(new)?,
                None => new,
            };
            rows.sort_by(seq)?;
            *waiting = Some(rows.split_off(seq, limit));
            Ok(rows)
        };
        let [waiting_messages, waiting_calls] = &mut self.waiting;
        let messages = take(&MESSAGES, waiting_messages, messages)?;
        let tool_calls = take(&TOOL_CALLS, waiting_calls, tool_calls)?;
        Ok([messages, tool_calls, self.usage.finish(Usage::finish)?])
    }
}

fn with_abandoned(batch: &RecordBatch, places: Option<&[usize]>, abandoned: &[usize]) -> Result<RecordBatch> {
    let abandoned: HashSet<usize> = abandoned.iter().copied().collect();
    let place = |row: usize| places.map_or(Some(row), |places| places.get(row).copied());
    let flags: Vec<bool> =
        (0..batch.num_rows()).map(|row| place(row).is_some_and(|place| abandoned.contains(&place))).collect();
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    if let Some(column) = MESSAGES.index_of("is_abandoned").and_then(|index| columns.get_mut(index)) {
        *column = Arc::new(BooleanArray::new(BooleanBuffer::from(flags), None));
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}
