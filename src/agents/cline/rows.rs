//! Rows of one session, each with its place.

use std::borrow::Cow;

use super::record::Arguments;
use super::split::Split;
use super::tools;
use crate::agents::ids::{Given, Prints, is_global};
use crate::extract::{Kind, Reject, Sink, key};
use crate::tables::{Category, MessageKind, MessageRow, Role, Status, ToolCallRow, UsageGrain, UsageRow};

/// Emits the rows of one session.
pub(super) struct Rows<'o, 's> {
    pub(super) out: &'o mut Sink<'s>,
    pub(super) agent: &'static str,
    pub(super) session: String,
    /// Folder that the session works in, if recorded.
    pub(super) folder: Option<String>,
    /// Earliest moment. Microseconds since 1970.
    pub(super) begun: Option<i64>,
    /// True if replies have token counts of their own.
    pub(super) has_own_bills: bool,
    /// True if anything was handed on.
    pub(super) has_rows: bool,
    /// Names messages that have no id.
    pub(super) prints: Prints,
    next: i64,
    turn: i64,
    calls: Given,
}

/// A message.
#[derive(Default)]
pub(super) struct Said<'a> {
    pub(super) id: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) at: Option<i64>,
    pub(super) role: Role,
    pub(super) kind: MessageKind,
    pub(super) text: Option<&'a str>,
    pub(super) thinking: Option<&'a str>,
    pub(super) model: Option<&'a str>,
    pub(super) response: Option<&'a str>,
    pub(super) is_error: bool,
    pub(super) attachments: i64,
    pub(super) is_copy: bool,
}

/// A call that waits for its result.
#[derive(Clone, Default)]
pub(super) struct Call {
    pub(super) id: String,
    /// As the model named it.
    pub(super) own_id: String,
    pub(super) name: String,
    pub(super) input: Option<String>,
    pub(super) seq: i64,
    pub(super) message: String,
    pub(super) response: Option<String>,
    pub(super) turn: Option<i64>,
    pub(super) at: Option<i64>,
    pub(super) is_copy: bool,
}

/// What became of a call.
#[derive(Default)]
pub(super) struct Result<'a> {
    pub(super) output: Option<Cow<'a, str>>,
    /// True if the call was made, although its result is not recorded.
    pub(super) is_done: bool,
    pub(super) is_error: bool,
    pub(super) at: Option<i64>,
    /// Session that the call started.
    pub(super) child: Option<&'a str>,
}

/// What was billed.
pub(super) struct Bill<'a> {
    pub(super) id: &'a str,
    pub(super) message: Option<&'a str>,
    pub(super) seq: Option<i64>,
    pub(super) at: Option<i64>,
    pub(super) model: Option<&'a str>,
    pub(super) provider: Option<&'a str>,
    pub(super) split: Split,
    pub(super) output: Option<i64>,
    pub(super) cost: Option<f64>,
    pub(super) grain: UsageGrain,
    /// True if the share of the caches is a guess.
    pub(super) is_partial: bool,
    pub(super) is_copy: bool,
}

impl<'o, 's> Rows<'o, 's> {
    pub(super) fn new(out: &'o mut Sink<'s>, agent: &'static str, session: String) -> Self {
        let (calls, folder) = (Given::default(), None);
        Self {
            out,
            agent,
            session,
            folder,
            begun: None,
            has_own_bills: false,
            has_rows: false,
            prints: Prints::default(),
            next: 0,
            turn: 0,
            calls,
        }
    }

    /// The turn, once there was a prompt.
    pub(super) fn turn(&self) -> Option<i64> {
        (self.turn > 0).then_some(self.turn)
    }

    /// Notes a moment.
    pub(super) fn note_moment(&mut self, at: Option<i64>) {
        self.begun = self.begun.into_iter().chain(at).min();
    }

    /// Emits a message; gives its place.
    pub(super) fn say(&mut self, said: &Said<'_>) -> std::result::Result<i64, Reject> {
        let seq = self.take_place();
        self.turn += i64::from(said.kind == MessageKind::Prompt);
        self.note_moment(said.at);
        let row = MessageRow {
            session_id: &self.session,
            seq,
            message_id: said.id,
            parent_id: said.parent,
            turn: self.turn(),
            timestamp: said.at,
            role: said.role,
            kind: said.kind,
            text: said.text.filter(|text| !text.is_empty()),
            thinking: said.thinking.filter(|text| !text.is_empty()),
            model: said.model,
            response_id: said.response,
            is_error: said.is_error,
            cwd: self.folder.as_deref(),
            attachments: said.attachments,
            ..MessageRow::default()
        };
        self.out.message(row, said.is_copy)?;
        Ok(seq)
    }

    /// A place in the session.
    pub(super) fn take_place(&mut self) -> i64 {
        self.has_rows = true;
        let seq = self.next;
        self.next += 1;
        seq
    }

    /// Identity of a call over all sessions: the model's ids are unique within one at most, and those that are counted
    /// within a message. `number` is the call's among those of its message.
    pub(super) fn call_id(&mut self, own_id: &str, message: &str, number: usize) -> String {
        let of_session = format!("{}#{own_id}", self.session);
        let is_global = is_global(own_id) && !self.calls.has(key(self.agent, Kind::ToolCall, &of_session));
        let id = match own_id {
            "" => format!("{message}:xml:{number}"),
            _ if is_global => of_session,
            _ => format!("{message}#{own_id}"),
        };
        self.calls.numbered(key(self.agent, Kind::ToolCall, &id), id)
    }

    /// Emits a call with what became of it; without a result it is pending.
    pub(super) fn end_call(&mut self, call: &Call, result: &Result<'_>) -> std::result::Result<(), Reject> {
        let category = tools::category(&call.name);
        let arguments: Arguments<'_> =
            call.input.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let output = result.output.as_deref();
        let (status, exit_code) = match output {
            Some(output) => tools::outcome(output, result.is_error, category),
            None => (if result.is_done { Status::Ok } else { Status::Pending }, None),
        };
        let command = tools::command_of(&arguments).filter(|_| category == Category::Shell);
        let is_mcp = category == Category::Mcp;
        let row = ToolCallRow {
            session_id: &self.session,
            seq: call.seq,
            call_id: &call.id,
            message_id: Some(&call.message),
            response_id: call.response.as_deref(),
            turn: call.turn,
            name: &call.name,
            category,
            mcp_server: tools::mcp_server(&call.name).or(arguments.server.get().filter(|_| is_mcp)),
            input: call.input.as_deref(),
            command: command.as_deref(),
            file_path: tools::file_of(category, &arguments),
            status,
            exit_code,
            output,
            started_at: call.at,
            ended_at: result.at.filter(|_| output.is_some()),
            child_session_id: result.child,
            ..ToolCallRow::default()
        };
        self.out.tool_call(row, call.is_copy)
    }

    /// Emits what was billed.
    pub(super) fn bill(&mut self, bill: &Bill<'_>) -> std::result::Result<(), Reject> {
        self.has_rows = true;
        self.note_moment(bill.at);
        let row = UsageRow {
            session_id: &self.session,
            message_id: bill.message,
            response_id: bill.id,
            turn: self.turn(),
            timestamp: bill.at,
            model: bill.model,
            provider: bill.provider,
            input_tokens: bill.split.input,
            cache_read_tokens: bill.split.cache_read,
            cache_write_5m_tokens: bill.split.cache_write,
            output_tokens: bill.output,
            cost_usd: bill.cost,
            grain: bill.grain,
            is_partial: bill.is_partial,
            ..UsageRow::default()
        };
        self.out.usage(row, bill.seq.unwrap_or(self.next), bill.is_copy)
    }
}
