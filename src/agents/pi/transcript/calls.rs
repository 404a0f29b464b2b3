//! Tool calls, and the results that later entries give them.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::super::content::Block;
use super::super::record::{Arguments, Message};
use super::super::tools;
use super::{Spot, Transcript, at_moment, named_key};
use crate::agents::mcp;
use crate::extract::{KeyMap, KeySet, Kind, NoteField, Reject, Request, key};
use crate::source::records::Text;
use crate::source::{repair, unescape};
use crate::tables::{Category, Status, ToolCallRow};

/// A call whose result is to come.
#[derive(Default)]
pub(super) struct OpenCall {
    call_id: String,
    seq: i64,
    message_id: Option<String>,
    response_id: Option<String>,
    turn: Option<i64>,
    name: String,
    input: Option<String>,
    command: Option<String>,
    file_path: Option<String>,
    /// What it is as long as no result has come.
    status: Status,
    started_at: Option<i64>,
    source_line: Option<i64>,
    weak: bool,
}

/// The calls of a session, by the ids that the provider gave them.
#[derive(Default)]
pub(super) struct Calls {
    open: KeyMap<OpenCall>,
    answered: KeySet,
    /// Keys of the rows' ids so far.
    ids: KeySet,
}

impl OpenCall {
    fn row<'r>(&'r self, session_id: &'r str) -> ToolCallRow<'r> {
        ToolCallRow {
            session_id,
            seq: self.seq,
            call_id: &self.call_id,
            message_id: self.message_id.as_deref(),
            response_id: self.response_id.as_deref(),
            turn: self.turn,
            name: &self.name,
            category: tools::category(&self.name),
            mcp_server: mcp::server(&self.name),
            input: self.input.as_deref(),
            command: self.command.as_deref(),
            file_path: self.file_path.as_deref(),
            status: self.status,
            started_at: self.started_at,
            source_line: self.source_line,
            ..ToolCallRow::default()
        }
    }
}

impl Transcript<'_, '_> {
    pub(super) fn open_call(
        &mut self,
        spot: &Spot<'_, '_>,
        message: &Message<'_>,
        block: &Block<'_>,
        place: usize,
        response: Option<&str>,
    ) -> Result<(), Reject> {
        let name = block.name.get().unwrap_or("unknown");
        let asked = block.arguments.json().map(Asked::of).unwrap_or_default();
        let category = tools::category(name);
        let call = OpenCall {
            call_id: self.call_id(spot, block.id.get(), place),
            seq: self.seq,
            message_id: Some(spot.id.clone()),
            response_id: response.map(str::to_owned),
            turn: self.turn,
            name: name.to_owned(),
            command: asked.command.filter(|_| category == Category::Shell),
            file_path: asked.path.filter(|_| category.has_file()),
            status: match message.stop_reason.get() {
                Some("aborted" | "error") => Status::Interrupted,
                _ => Status::Pending,
            },
            started_at: spot.timestamp,
            source_line: i64::try_from(spot.number).ok(),
            weak: spot.weak,
            input: asked.json,
        };
        self.seq += 1;
        let id = block.id.get().unwrap_or(&call.call_id);
        let id_key = key(self.dialect.agent, Kind::ToolCall, id);
        self.calls.answered.remove(&id_key);
        match self.calls.open.insert(id_key, call) {
            // A server that numbers calls anew in each reply: the one before is still without a result.
            Some(call) => self.out.tool_call(call.row(&self.session_id), call.weak),
            None => Ok(()),
        }
    }

    /// The provider's id with the entry's moment: some count calls from 0 in each reply.
    fn call_id(&mut self, spot: &Spot<'_, '_>, id: Option<&str>, place: usize) -> String {
        let call_id = match (id, spot.timestamp) {
            (Some(id), Some(moment)) => at_moment(id, moment),
            (Some(id), None) => format!("{}:{id}", spot.id),
            (None, _) => format!("{}:call-{place}", spot.id),
        };
        if self.calls.ids.insert(key(self.dialect.agent, Kind::ToolCall, &call_id)) {
            return call_id;
        }
        let call_id = format!("{}:call-{place}", spot.id);
        self.calls.ids.insert(key(self.dialect.agent, Kind::ToolCall, &call_id));
        call_id
    }

    pub(super) fn close_call(&mut self, spot: &Spot<'_, '_>, message: &Message<'_>) -> Result<(), Reject> {
        let id = message.call.get();
        let id_key = key(self.dialect.agent, Kind::ToolCall, id.unwrap_or(&spot.id));
        let call = match self.calls.open.remove(&id_key) {
            Some(call) => call,
            None if self.calls.answered.contains(&id_key) => return Ok(()),
            None => {
                let call = OpenCall {
                    call_id: self.call_id(spot, id, 0),
                    seq: self.seq,
                    turn: self.turn,
                    name: message.tool.get().unwrap_or("unknown").to_owned(),
                    source_line: i64::try_from(spot.number).ok(),
                    weak: spot.weak,
                    ..OpenCall::default()
                };
                self.seq += 1;
                call
            }
        };
        self.calls.answered.insert(id_key);
        let output = message.content.output();
        let details = message.details.0.as_ref();
        let outcome = tools::outcome(output.as_deref().unwrap_or_default(), message.is_error.0, details);
        let child_key = details.and_then(|details| details.child_key.get());
        let child = child_key.and_then(|child| self.known.by_key.get(child));
        if let (Some(child_key), None, false) = (child_key, child, call.weak) {
            // It is in the list of another of OpenClaw's agents, which does not have this session.
            let (child, root) = (
                named_key(self.dialect.agent, child_key),
                self.known.root_session_id.as_ref().unwrap_or(&self.session_id),
            );
            self.out.note(NoteField::Parent, child, 0, &self.session_id);
            self.out.note(NoteField::Root, child, 0, root);
        }
        let row = ToolCallRow {
            status: outcome.status,
            exit_code: outcome.exit_code,
            duration_ms: outcome.duration_ms,
            output: output.as_deref(),
            ended_at: spot.timestamp,
            child_session_id: child.map(String::as_str),
            ..call.row(&self.session_id)
        };
        self.out.tool_call(row, call.weak)
    }

    /// A command of the person's own: call and result in one.
    pub(super) fn push_execution(
        &mut self,
        spot: &Spot<'_, '_>,
        message: &Message<'_>,
        tool: &'static str,
        code: Option<&str>,
    ) -> Result<(), Reject> {
        let field = if tool == "bash" { "command" } else { "code" };
        let input = code.map(|code| serde_json::json!({ field: code }).to_string());
        let call = OpenCall {
            call_id: format!("{}:{tool}", spot.id),
            seq: self.seq,
            message_id: Some(spot.id.clone()),
            turn: self.turn,
            name: tool.to_owned(),
            input,
            command: code.filter(|_| tool == "bash").map(str::to_owned),
            source_line: i64::try_from(spot.number).ok(),
            weak: spot.weak,
            ..OpenCall::default()
        };
        self.seq += 1;
        let status = match message.exit_code.0 {
            _ if message.cancelled.0 => Status::Interrupted,
            Some(0) => Status::Ok,
            _ => Status::Error,
        };
        let output = message.output.0.as_deref();
        let row = ToolCallRow {
            status,
            exit_code: message.exit_code.0,
            output,
            ended_at: spot.timestamp,
            ..call.row(&self.session_id)
        };
        self.out.tool_call(row, spot.weak)
    }

    /// Emits the calls that no result came for, in order.
    pub(super) fn push_open_calls(&mut self) -> Result<(), Reject> {
        let mut calls: Vec<OpenCall> = self.calls.open.drain().map(|(_, call)| call).collect();
        calls.sort_by_key(|call| call.seq);
        calls.iter().try_for_each(|call| self.out.tool_call(call.row(&self.session_id), call.weak))
    }
}

/// What a call asks for.
#[derive(Default)]
struct Asked {
    /// The arguments, as sound JSON.
    json: Option<String>,
    command: Option<String>,
    path: Option<String>,
}

impl Asked {
    /// Reads the arguments; some are a text that holds them, and such a text may be torn.
    fn of(json: &str) -> Self {
        let text = unescape(json).filter(|text| text.trim_start().starts_with('{'));
        let is_sound = text.as_ref().is_none_or(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
        let mut json = text.unwrap_or(Cow::Borrowed(json));
        let mut asked = if is_sound { Self::read(&json) } else { None };
        if asked.is_none() {
            json = Cow::Owned(repair(json.as_bytes()).into_owned());
            asked = Self::read(&json);
        }
        Self { json: Some(json.into_owned()), ..asked.unwrap_or_default() }
    }

    fn read(json: &str) -> Option<Self> {
        let request = Request::of(json)?;
        let arguments: Arguments<'_> = request.fields().ok()?;
        let text = |text: Text<'_>| text.0.filter(|text| !text.is_empty()).map(Cow::into_owned);
        let (command, path) = (text(arguments.command), text(arguments.path));
        Some(Self { json: None, command, path })
    }
}
