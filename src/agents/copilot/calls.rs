//! Tool calls: joins the events of request, start and end of each.

use super::AGENT;
use super::record::{Arguments, ToolComplete, ToolRequest, ToolStart};
use super::tools::{self, category};
use super::transcript::{Spot, Transcript};
use crate::agents::held::{OpenBytes, TOO_MANY, bytes_of};
use crate::agents::ids;
use crate::extract::{KeyMap, KeySet, Kind, LineCounts, Reject, key};
use crate::source::records::{Raw, Text};
use crate::source::without_lone_surrogates;
use crate::tables::{Category, Status, ToolCallRow};

/// A call without its result.
#[derive(Default)]
struct PendingCall {
    thread: usize,
    id: String,
    seq: i64,
    turn: Option<i64>,
    message_id: Option<String>,
    response_id: Option<String>,
    name: String,
    category: Category,
    server: Option<String>,
    input: Option<String>,
    command: Option<String>,
    file_path: Option<String>,
    requested_at: Option<i64>,
    started_at: Option<i64>,
    asked_at: Option<i64>,
    /// Time that it waited for permission. Microseconds.
    waited: i64,
    /// Status by the answer to the request for permission.
    decision: Option<Status>,
    is_interrupted: bool,
    /// Duration as recorded at the subagent's end. Milliseconds.
    duration_ms: Option<i64>,
    line: i64,
}

/// The calls of a file.
#[derive(Default)]
pub(super) struct Calls {
    open: KeyMap<PendingCall>,
    bytes: OpenBytes,
    answered: KeySet,
    /// Own ids of calls that events name by other ids.
    ids: KeyMap<String>,
}

fn call_key(id: &str) -> u64 {
    key(AGENT, Kind::ToolCall, id)
}

impl Calls {
    fn get_mut(&mut self, id: &str) -> Option<&mut PendingCall> {
        self.open.get_mut(&call_key(id))
    }

    /// Returns the key of a call's row, by the id that events use.
    pub(super) fn row_key(&self, id: &str) -> u64 {
        let key = call_key(id);
        self.ids.get(&key).map_or(key, |own| call_key(own))
    }

    /// Returns the conversation of an open call.
    pub(super) fn thread_of(&self, id: &str) -> Option<usize> {
        self.open.get(&call_key(id)).map(|call| call.thread)
    }

    pub(super) fn set_duration(&mut self, id: &str, ms: i64) {
        if let Some(call) = self.get_mut(id) {
            call.duration_ms = Some(ms).filter(|ms| *ms >= 0);
        }
    }

    /// Notes that permission was asked for.
    pub(super) fn ask(&mut self, id: &str, at: Option<i64>) {
        if let Some(call) = self.get_mut(id) {
            call.asked_at = at;
        }
    }

    /// Notes the answer to a request for permission.
    pub(super) fn decide(&mut self, id: &str, answer: &str, at: Option<i64>) {
        if let Some(call) = self.get_mut(id) {
            call.decision = tools::decided(answer);
            if let (Some(asked), Some(at), Some(_)) = (call.asked_at.take(), at, call.started_at) {
                call.waited += (at - asked).max(0);
            }
        }
    }

    /// Notes that the person stopped all running calls.
    pub(super) fn interrupt_all(&mut self) {
        self.open.values_mut().for_each(|call| call.is_interrupted = true);
    }
}

impl PendingCall {
    fn describe(&mut self, name: &Text<'_>, arguments: &Raw<'_>, server: &Text<'_>) {
        if let Some(name) = name.get() {
            name.clone_into(&mut self.name);
        }
        self.server = self.server.take().or(server.owned());
        if let Some(json) = arguments.json().filter(|_| self.input.is_none()) {
            self.input = Some(object_of(json));
        }
        let input = self.input.as_deref().unwrap_or_default();
        let arguments: Arguments<'_> = serde_json::from_str(input).unwrap_or_default();
        self.category = category(&self.name, self.server.is_some(), &arguments);
        let (command, file) = (arguments.command.owned(), arguments.path.owned());
        self.command = command.filter(|_| tools::runs_command(&self.name));
        self.file_path = file.filter(|_| self.category.has_file());
    }

    fn row<'r>(&'r self, session: &'r str) -> ToolCallRow<'r> {
        let unfinished = if self.is_interrupted { Status::Interrupted } else { Status::Pending };
        ToolCallRow {
            session_id: session,
            seq: self.seq,
            call_id: &self.id,
            message_id: self.message_id.as_deref(),
            response_id: self.response_id.as_deref(),
            turn: self.turn,
            name: if self.name.is_empty() { "unknown" } else { &self.name },
            category: self.category,
            mcp_server: self.server.as_deref(),
            input: self.input.as_deref(),
            command: self.command.as_deref(),
            file_path: self.file_path.as_deref(),
            status: self.decision.unwrap_or(unfinished),
            is_denied: Some(self.decision == Some(Status::Error)),
            started_at: self.started_at.or(self.requested_at),
            is_sidechain: self.thread > 0,
            source_line: Some(self.line),
            ..ToolCallRow::default()
        }
    }

    fn bytes(&self) -> usize {
        bytes_of(&[&self.input, &self.command])
    }

    /// Returns the time from start to end without the wait for permission. A subagent's recorded duration takes
    /// precedence. Milliseconds.
    fn duration_until(&self, ended: Option<i64>) -> Option<i64> {
        let taken = || Some((ended? - self.started_at? - self.waited).max(0) / 1000);
        self.duration_ms.or_else(taken)
    }
}

/// Returns arguments as an object; some versions wrote it as a text.
pub(super) fn object_of(json: &str) -> String {
    let text =
        json.starts_with('"').then(|| serde_json::from_str::<String>(&without_lone_surrogates(json)).ok()).flatten();
    let object = text.filter(|text| text.trim_start().starts_with('{'));
    object.unwrap_or_else(|| without_lone_surrogates(json).into_owned())
}

impl Transcript<'_, '_> {
    /// Opens the call that a message asks for.
    pub(super) fn open_requested(
        &mut self,
        thread: usize,
        spot: &Spot<'_>,
        request: &ToolRequest<'_>,
        message_id: &str,
        response: &str,
    ) -> Result<(), Reject> {
        let Some(id) = request.call.get() else { return Ok(()) };
        if self.calls.open.contains_key(&call_key(id)) {
            return Ok(());
        }
        let mut call = self.new_call(thread, spot, id);
        call.message_id = Some(message_id.to_owned());
        call.response_id = Some(response.to_owned());
        call.describe(&request.name, &request.arguments, &request.server);
        self.open_call(spot, id, call)
    }

    fn open_call(&mut self, spot: &Spot<'_>, id: &str, call: PendingCall) -> Result<(), Reject> {
        let bytes = call.bytes();
        self.calls.open.insert(call_key(id), call);
        if self.calls.bytes.exceed(bytes, self.calls.open.values().map(PendingCall::bytes)) {
            self.out.problem(spot.line.cast_unsigned(), TOO_MANY);
            self.calls.answered.extend(self.calls.open.keys());
            self.push_open_calls()?;
        }
        Ok(())
    }

    fn new_call(&mut self, thread: usize, spot: &Spot<'_>, id: &str) -> PendingCall {
        let key = call_key(id);
        // Some models' servers restart the numbers of calls in each session or response. Forks keep the events' ids.
        let own = match self.calls.answered.contains(&key) {
            true => format!("{id}@{}", spot.id),
            false => ids::qualified(spot.id, id).into_owned(),
        };
        if own != id {
            self.calls.ids.insert(key, own.clone());
        }
        let state = self.threads.get_mut(thread);
        let (seq, turn) = state.map(|thread| (thread.next_seq(), thread.turn)).unwrap_or_default();
        PendingCall {
            thread,
            id: own,
            seq,
            turn,
            requested_at: spot.timestamp,
            line: spot.line,
            ..PendingCall::default()
        }
    }

    pub(super) fn take_tool_start(&mut self, spot: &Spot<'_>, start: &ToolStart<'_>) -> Result<(), Reject> {
        self.count_unknown(spot, &start.unknown);
        let id = start.call.get().unwrap_or(spot.id);
        let mut call = match self.calls.open.remove(&call_key(id)) {
            Some(call) => call,
            None => {
                let thread = self.thread_of(spot.agent, start.parent_call.get());
                self.new_call(thread, spot, id)
            }
        };
        self.has_conversation |= spot.kind == "tool.user_requested";
        call.describe(&start.name, &start.arguments, &start.server);
        call.started_at = spot.timestamp;
        self.open_call(spot, id, call)
    }

    pub(super) fn take_tool_complete(&mut self, spot: &Spot<'_>, complete: &ToolComplete<'_>) -> Result<(), Reject> {
        self.count_unknown(spot, &complete.unknown);
        let id = complete.call.get().unwrap_or(spot.id);
        let key = call_key(id);
        let call = match self.calls.open.remove(&key) {
            Some(call) => call,
            None if self.calls.answered.contains(&key) => return Ok(()),
            None => {
                let thread = self.thread_of(spot.agent, complete.parent_call.get());
                PendingCall { requested_at: None, ..self.new_call(thread, spot, id) }
            }
        };
        self.calls.answered.insert(key);
        let result = complete.result.0.as_ref();
        let error = complete.error.0.as_ref();
        let output = result
            .and_then(|result| result.content.get().or(result.detailed.get()))
            .or(error.and_then(|error| error.message.get().or(error.code.get())));
        let outcome = tools::outcome(call.category, complete, call.decision);
        let metrics = complete.telemetry.0.as_ref().and_then(|telemetry| telemetry.metrics.0.as_ref());
        let lines = metrics.and_then(LineCounts::lines).unwrap_or_default();
        let ended_at = spot.timestamp.filter(|_| !outcome.is_late);
        self.turn_to(call.thread);
        let Some(thread) = self.threads.get(call.thread) else { return Ok(()) };
        let row = ToolCallRow {
            status: outcome.status,
            is_denied: Some(outcome.is_denied),
            exit_code: outcome.exit_code,
            output,
            lines_added: lines.added,
            lines_removed: lines.removed,
            ended_at,
            duration_ms: call.duration_until(ended_at),
            ..call.row(&thread.session)
        };
        self.out.tool_call(row, false)
    }

    /// Emits the calls that have no end, in order.
    pub(super) fn push_open_calls(&mut self) -> Result<(), Reject> {
        let mut open: Vec<PendingCall> = std::mem::take(&mut self.calls.open).into_values().collect();
        open.sort_by_key(|call| (call.thread, call.seq));
        for call in open {
            self.turn_to(call.thread);
            let Some(thread) = self.threads.get(call.thread) else { continue };
            self.out.tool_call(call.row(&thread.session), false)?;
        }
        Ok(())
    }
}
