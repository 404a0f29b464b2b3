//! Tool calls: the row of each, and those that wait for their results.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::agents::held::{OpenBytes, bytes_of};
use crate::extract::{EditedLines, KeyMap, Kind, Reject, Sink, key};
use crate::tables::{Category, Status, ToolCallRow};

/// A call as made.
#[derive(Default)]
pub(in crate::agents) struct Call {
    /// Id of the row.
    pub(in crate::agents) id: String,
    pub(in crate::agents) seq: i64,
    pub(in crate::agents) message_id: Option<String>,
    pub(in crate::agents) response_id: Option<String>,
    pub(in crate::agents) turn: Option<i64>,
    pub(in crate::agents) name: String,
    pub(in crate::agents) category: Category,
    pub(in crate::agents) server: Option<String>,
    /// JSON.
    pub(in crate::agents) input: Option<String>,
    pub(in crate::agents) command: Option<String>,
    pub(in crate::agents) file: Option<String>,
    /// Status if no result comes.
    pub(in crate::agents) status: Status,
    /// Value of the column if the outcome has none.
    pub(in crate::agents) is_denied: Option<bool>,
    /// True if a record before the result says that the person refused the call.
    pub(in crate::agents) was_refused: bool,
    /// Microseconds since 1970.
    pub(in crate::agents) started_at: Option<i64>,
    pub(in crate::agents) duration_ms: Option<i64>,
    /// Session of the subagent that it started.
    pub(in crate::agents) child: Option<String>,
    pub(in crate::agents) is_sidechain: bool,
    pub(in crate::agents) is_copy: bool,
    /// Line of the source, from 1.
    pub(in crate::agents) line: Option<i64>,
}

/// The outcome of a call.
#[derive(Default)]
pub(in crate::agents) struct Outcome<'t> {
    pub(in crate::agents) status: Status,
    /// The call's own value applies if this is absent.
    pub(in crate::agents) is_denied: Option<bool>,
    pub(in crate::agents) exit_code: Option<i64>,
    pub(in crate::agents) output: Option<Cow<'t, str>>,
    /// Microseconds since 1970.
    pub(in crate::agents) ended_at: Option<i64>,
    /// The call's own duration applies if this is absent.
    pub(in crate::agents) duration_ms: Option<i64>,
    /// Lines that the agent recorded.
    pub(in crate::agents) lines: EditedLines,
}

impl Call {
    /// A call of a tool.
    pub(in crate::agents) fn of_tool(name: &str, category: Category, server: Option<&str>) -> Self {
        Self { name: name.to_owned(), category, server: server.map(str::to_owned), ..Self::default() }
    }

    /// Adds the row of the call.
    pub(in crate::agents) fn push(&self, session: &str, end: &Outcome<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let row = ToolCallRow {
            session_id: session,
            seq: self.seq,
            call_id: &self.id,
            message_id: self.message_id.as_deref(),
            response_id: self.response_id.as_deref(),
            turn: self.turn,
            name: &self.name,
            category: self.category,
            mcp_server: self.server.as_deref(),
            input: self.input.as_deref(),
            command: self.command.as_deref(),
            file_path: self.file.as_deref(),
            status: end.status,
            is_denied: end.is_denied.or(self.is_denied),
            exit_code: end.exit_code,
            output: end.output.as_deref(),
            lines_added: end.lines.added,
            lines_removed: end.lines.removed,
            started_at: self.started_at,
            ended_at: end.ended_at,
            duration_ms: end.duration_ms.or(self.duration_ms),
            child_session_id: self.child.as_deref(),
            is_sidechain: self.is_sidechain,
            source_line: self.line,
            ..ToolCallRow::default()
        };
        out.tool_call(row, self.is_copy)
    }

    /// The memory that it takes until its result comes.
    pub(in crate::agents) fn bytes(&self) -> usize {
        bytes_of(&[&self.input, &self.command])
    }

    /// Adds the row of the call, which got no result.
    pub(super) fn push_pending(&self, session: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
        self.push(session, &Outcome { status: self.status, ..Outcome::default() }, out)
    }
}

/// The calls of a session that have no result yet, and the names that their results give them: ids of the provider, as a
/// rule those of the rows.
#[derive(Default)]
pub(in crate::agents) struct Calls {
    /// By `seq`.
    open: BTreeMap<i64, Call>,
    bytes: OpenBytes,
    /// `seq` of the last call of each name, open or not.
    seqs: KeyMap<i64>,
}

fn name_key(name: &str) -> u64 {
    key("", Kind::ToolCall, name)
}

impl Calls {
    /// Above this number of open calls, a text is not searched for their names.
    const MAX_SEARCHED: usize = 1000;

    /// Adds a call that a result will name. Returns the calls that get no result: the open one of that name, or all if
    /// they take too much memory.
    pub(super) fn open(&mut self, name: Option<&str>, call: Call) -> Vec<Call> {
        let before = self.note_seq(name.unwrap_or(&call.id), call.seq);
        let before = before.and_then(|seq| self.open.remove(&seq));
        let bytes = call.bytes();
        self.open.insert(call.seq, call);
        let all = self.bytes.exceed(bytes, self.open.values().map(Call::bytes));
        let open = if all { std::mem::take(&mut self.open) } else { BTreeMap::new() };
        before.into_iter().chain(open.into_values()).collect()
    }

    /// Notes the last call of a name. Returns the number of the one before.
    pub(super) fn note_seq(&mut self, name: &str, seq: i64) -> Option<i64> {
        self.seqs.insert(name_key(name), seq)
    }

    /// Removes the call of that name, because its result came.
    pub(in crate::agents) fn take(&mut self, name: &str) -> Option<Call> {
        self.seqs.get(&name_key(name)).and_then(|seq| self.open.remove(seq))
    }

    /// Returns the open call of that name.
    pub(in crate::agents) fn get(&mut self, name: &str) -> Option<&mut Call> {
        self.seqs.get(&name_key(name)).and_then(|seq| self.open.get_mut(seq))
    }

    /// True if there was a call of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.seqs.contains_key(&name_key(name))
    }

    /// Says of the open calls before a place that they were interrupted.
    pub(in crate::agents) fn interrupt_before(&mut self, seq: i64) {
        self.open.range_mut(..seq).for_each(|(_, call)| call.status = Status::Interrupted);
    }

    /// Marks all open calls as copies.
    pub(in crate::agents) fn weaken(&mut self) {
        self.open.values_mut().for_each(|call| call.is_copy = true);
    }

    /// Returns the first open call that is wanted.
    pub(in crate::agents) fn find(&mut self, is_wanted: impl Fn(&Call) -> bool) -> Option<&mut Call> {
        self.open.values_mut().find(|call| is_wanted(call))
    }

    /// Returns the newest open call.
    pub(in crate::agents) fn last(&mut self) -> Option<&mut Call> {
        self.open.values_mut().next_back()
    }

    /// Removes the open calls that a text mentions, or all if it mentions none.
    pub(in crate::agents) fn take_mentioned(&mut self, text: &str) -> Vec<Call> {
        let is_mentioned = |call: &Call| text.contains(&call.name) || text.contains(&call.id);
        if self.open.len() <= Self::MAX_SEARCHED && self.open.values().any(is_mentioned) {
            return self.open.extract_if(.., |_, call| is_mentioned(call)).map(|(_, call)| call).collect();
        }
        std::mem::take(&mut self.open).into_values().collect()
    }

    /// Pushes the calls that got no result.
    pub(in crate::agents) fn push_pending(&self, session: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
        self.open.values().try_for_each(|call| call.push_pending(session, out))
    }
}
