//! Tool calls, and the results that later lines give them.

use super::super::content::parts;
use super::super::record::{Arguments, Call, Response};
use super::super::{AGENT, tools};
use super::{Spot, Transcript, blank_row};
use crate::extract::{KeyMap, KeySet, Kind, Reject, Request, key};
use crate::tables::{Category, MessageKind, Role, Status, ToolCallRow};

/// A call whose result is to come.
#[derive(Default)]
struct OpenCall {
    call_id: String,
    seq: i64,
    message_id: Option<String>,
    response_id: Option<String>,
    turn: Option<i64>,
    name: String,
    input: Option<String>,
    command: Option<String>,
    file_path: Option<String>,
    /// Microseconds since 1970.
    started_at: Option<i64>,
    /// Milliseconds.
    duration_ms: Option<i64>,
    was_refused: bool,
    source_line: Option<i64>,
    weak: bool,
}

/// The calls of a session, by the ids that the provider gave them, or else by their names.
#[derive(Default)]
pub(super) struct Calls {
    open: KeyMap<OpenCall>,
    answered: KeySet,
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
            mcp_server: tools::mcp_server(&self.name),
            input: self.input.as_deref(),
            command: self.command.as_deref(),
            file_path: self.file_path.as_deref(),
            status: Status::Pending,
            started_at: self.started_at,
            duration_ms: self.duration_ms,
            source_line: self.source_line,
            ..ToolCallRow::default()
        }
    }
}

impl Transcript<'_, '_> {
    pub(super) fn open_call(
        &mut self,
        spot: &Spot<'_, '_>,
        call: &Call<'_>,
        place: usize,
        response: Option<&str>,
    ) -> Result<(), Reject> {
        let name = call.name.get().unwrap_or("unknown");
        let json = call.arguments.json();
        let request = json.and_then(Request::of);
        let arguments = request.as_ref().and_then(|request| request.fields::<Arguments<'_>>().ok()).unwrap_or_default();
        let category = tools::category(name);
        let call_key = key(AGENT, Kind::ToolCall, call.id.get().unwrap_or(name));
        let is_own = |open: &OpenCall| open.message_id.as_deref() == Some(&*spot.id);
        let before = self.calls.open.get(&call_key);
        let is_repeated = before.is_some_and(is_own);
        let call_id = match call.id.get().filter(|_| !is_repeated) {
            Some(id) => format!("{}#{id}", spot.response),
            None => format!("{}#{place}", spot.id),
        };
        if spot.is_piece && before.is_some_and(|before| before.call_id == call_id) {
            return Ok(());
        }
        let open = OpenCall {
            call_id,
            seq: self.seq,
            message_id: Some(spot.id.clone().into_owned()),
            response_id: response.map(str::to_owned),
            turn: self.turn,
            name: name.to_owned(),
            input: json.map(str::to_owned),
            command: arguments.command.get().filter(|_| category == Category::Shell).map(str::to_owned),
            file_path: tools::file_of(category, &arguments).map(str::to_owned),
            started_at: spot.line.timestamp.0,
            source_line: i64::try_from(spot.number).ok(),
            weak: spot.weak,
            ..OpenCall::default()
        };
        self.seq += 1;
        self.calls.answered.remove(&call_key);
        match self.calls.open.insert(call_key, open) {
            // A server that numbers its calls anew in each response: the one before is still without a result.
            Some(before) => self.out.tool_call(before.row(&self.facts.session_id), before.weak),
            None => Ok(()),
        }
    }

    /// What the program measured of a call, and whether the person refused it.
    pub(super) fn measure_call(&mut self, id: Option<&str>, duration_ms: Option<i64>, was_refused: bool) {
        let open = id.and_then(|id| self.calls.open.get_mut(&key(AGENT, Kind::ToolCall, id)));
        if let Some(open) = open {
            open.duration_ms = duration_ms;
            open.was_refused = was_refused;
        }
    }

    /// The results of one or more calls.
    pub(super) fn take_results(&mut self, spot: &Spot<'_, '_>) -> Result<(), Reject> {
        self.push(spot, blank_row(Role::Tool, MessageKind::ToolResult))?;
        let parts = spot.line.message.0.iter().flat_map(parts);
        let responses = parts.filter_map(|part| part.response.0.as_ref());
        responses.enumerate().try_for_each(|(place, response)| self.close_call(spot, response, place))
    }

    fn close_call(&mut self, spot: &Spot<'_, '_>, response: &Response<'_>, place: usize) -> Result<(), Reject> {
        let name = response.name.get().unwrap_or("unknown");
        let call_key = key(AGENT, Kind::ToolCall, response.id.get().unwrap_or(name));
        let call = match self.calls.open.remove(&call_key) {
            Some(call) => call,
            None if self.calls.answered.contains(&call_key) => return Ok(()),
            None => {
                self.seq += 1;
                OpenCall {
                    call_id: format!("{}#{place}", spot.id),
                    seq: self.seq - 1,
                    turn: self.turn,
                    name: name.to_owned(),
                    source_line: i64::try_from(spot.number).ok(),
                    weak: spot.weak,
                    ..OpenCall::default()
                }
            }
        };
        self.calls.answered.insert(call_key);
        let told = spot.line.result.0.as_ref();
        let answer = tools::Answer::of(response);
        let status = told.and_then(|told| told.status.get());
        let outcome = tools::outcome(status, call.was_refused, tools::category(&call.name), &answer);
        let row = ToolCallRow {
            status: outcome.status,
            exit_code: outcome.exit_code,
            output: answer.text.as_deref(),
            ended_at: spot.line.timestamp.0,
            duration_ms: told.and_then(|told| told.duration_ms.0).filter(|ms| *ms >= 0).or(call.duration_ms),
            ..call.row(&self.facts.session_id)
        };
        self.out.tool_call(row, call.weak)
    }

    /// Emits the calls that no result came for, in order.
    pub(super) fn push_open_calls(&mut self) -> Result<(), Reject> {
        let mut calls: Vec<OpenCall> = self.calls.open.drain().map(|(_, call)| call).collect();
        calls.sort_by_key(|call| call.seq);
        calls.iter().try_for_each(|call| self.out.tool_call(call.row(&self.facts.session_id), call.weak))
    }
}
