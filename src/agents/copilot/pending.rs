//! Tool calls whose results have not been read yet.

use super::AGENT;
use super::record::Arguments;
use super::tools::{self, category};
use crate::agents::held::{OpenBytes, bytes_of};
use crate::extract::{KeyMap, KeySet, Kind, key};
use crate::source::records::{Raw, Text};
use crate::source::without_lone_surrogates;
use crate::tables::{Category, Status, ToolCallRow};

/// A call without its result.
#[derive(Default)]
pub(super) struct PendingCall {
    pub(super) thread: usize,
    pub(super) id: String,
    pub(super) seq: i64,
    pub(super) turn: Option<i64>,
    pub(super) message_id: Option<String>,
    pub(super) response_id: Option<String>,
    pub(super) name: String,
    pub(super) category: Category,
    pub(super) server: Option<String>,
    pub(super) input: Option<String>,
    pub(super) command: Option<String>,
    pub(super) file_path: Option<String>,
    pub(super) requested_at: Option<i64>,
    pub(super) started_at: Option<i64>,
    pub(super) asked_at: Option<i64>,
    /// Time that it waited for permission. Microseconds.
    pub(super) waited: i64,
    /// Status by the answer to the request for permission.
    pub(super) decision: Option<Status>,
    pub(super) is_interrupted: bool,
    /// Duration as recorded at the subagent's end. Milliseconds.
    pub(super) duration_ms: Option<i64>,
    pub(super) line: i64,
}

/// The calls of a file.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) open: KeyMap<PendingCall>,
    pub(super) bytes: OpenBytes,
    pub(super) answered: KeySet,
    /// Own ids of calls that events name by other ids.
    pub(super) ids: KeyMap<String>,
}

pub(super) fn call_key(id: &str) -> u64 {
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
    pub(super) fn describe(&mut self, name: &Text<'_>, arguments: &Raw<'_>, server: &Text<'_>) {
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

    pub(super) fn row<'r>(&'r self, session: &'r str) -> ToolCallRow<'r> {
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

    pub(super) fn bytes(&self) -> usize {
        bytes_of(&[&self.input, &self.command])
    }

    /// Returns the time from start to end without the wait for permission. A subagent's recorded duration takes
    /// precedence. Milliseconds.
    pub(super) fn duration_until(&self, ended: Option<i64>) -> Option<i64> {
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
