//! Rows of one session, each with its place.

use std::borrow::Cow;

use super::dialect::Dialect;
use super::record::Arguments;
use super::tools::{self, Writer};
use crate::agents::ids::{Given, is_global};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::facts::keep_earlier;
use crate::agents::kit::thread::{Parents, Position, Thread};
use crate::extract::{Facts, Kind, Reject, Sink, key};
use crate::tables::{Category, MessageKind, MessageRow, UsageRow};

/// Emits the rows of one session.
pub(super) struct Rows<'o, 's> {
    pub(super) out: &'o mut Sink<'s>,
    pub(super) agent: &'static str,
    /// Writer of the results of tools.
    pub(super) writer: Writer,
    pub(super) thread: Thread,
    /// True if replies have token counts of their own.
    pub(super) has_own_bills: bool,
    calls: Given,
}

impl<'o, 's> Rows<'o, 's> {
    pub(super) fn new(out: &'o mut Sink<'s>, dialect: &Dialect, session_id: String) -> Self {
        let thread = Thread::new(Facts { session_id, ..Facts::default() }).with(Parents::Rows);
        let writer = if dialect.is_cline() { Writer::Cline } else { Writer::Roo };
        Self { out, agent: dialect.agent, writer, thread, has_own_bills: false, calls: Given::default() }
    }

    /// Emits a message; returns its place.
    pub(super) fn say(&mut self, at: &Position<'_>, row: MessageRow<'_>) -> Result<i64, Reject> {
        if row.kind == MessageKind::Prompt {
            self.thread.begin_turn();
        }
        let non_empty = |text: Option<_>| text.filter(|text: &&str| !text.is_empty());
        let row = MessageRow { text: non_empty(row.text), thinking: non_empty(row.thinking), ..row.shorten() };
        self.thread.push(at, row, self.out)?;
        Ok(self.thread.last_seq())
    }

    /// Returns an id of a call that is unique over all sessions. The model's own ids are unique at most within a
    /// session, and counted ids only within a message. `number` is the call's number in its message.
    pub(super) fn call_id(&mut self, own_id: &str, message: &str, number: usize) -> String {
        let of_session = format!("{}#{own_id}", self.thread.id());
        let is_global = is_global(own_id) && !self.calls.has(key(self.agent, Kind::ToolCall, &of_session));
        let id = match own_id {
            "" => format!("{message}:xml:{number}"),
            _ if is_global => of_session,
            _ => format!("{message}#{own_id}"),
        };
        self.calls.numbered(key(self.agent, Kind::ToolCall, &id), id)
    }

    /// Returns a call of the last message, at the next place.
    pub(super) fn call(&mut self, id: String, name: &str, input: Option<String>) -> Call {
        let category = tools::category(name);
        let arguments: Arguments<'_> =
            input.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let server = tools::mcp_server(name).or(arguments.server.get().filter(|_| category == Category::Mcp));
        let command = tools::command_of(&arguments).filter(|_| category == Category::Shell);
        let file = arguments.path.owned().filter(|_| category.has_file());
        let call = Call { id, command, file, ..Call::of_tool(name, category, server) };
        self.thread.number_call(&Position::default(), Call { input, ..call })
    }

    /// Emits a call with its result. Without one, it keeps the status that it was opened with.
    pub(super) fn end_call(
        &mut self,
        call: &Call,
        output: Option<Cow<'_, str>>,
        is_error: bool,
        at: Option<i64>,
    ) -> Result<(), Reject> {
        let (status, exit_code) = match &output {
            Some(output) => tools::outcome(output, is_error, call.category, self.writer),
            None => (call.status, None),
        };
        let ended_at = at.filter(|_| output.is_some());
        self.thread.close_call(call, &Outcome { status, exit_code, output, ended_at, ..Outcome::default() }, self.out)
    }

    /// Emits a billed response. `seq` is the place of its message; without one, the next place is taken.
    pub(super) fn bill(&mut self, row: UsageRow<'_>, seq: Option<i64>, is_copy: bool) -> Result<(), Reject> {
        keep_earlier(&mut self.thread.facts.first_moment, row.timestamp);
        let (at, seq) = (Position { is_copy, ..Position::default() }, seq.unwrap_or(self.thread.seq));
        self.thread.bill(&at, UsageRow { turn: self.thread.turn, ..row.shorten() }, seq, self.out)
    }
}
