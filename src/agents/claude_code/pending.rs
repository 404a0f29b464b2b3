//! Replies and calls that later lines may complete: replies over several lines, and calls without a result yet.

use std::borrow::Cow;

use super::call_key;
use super::content::{Block, output_text};
use super::record::{Line, Message};
use super::tools::{Outcome, is_shell};
use crate::agents::held::{MOST_IN_REPLY, OpenBytes, bytes_of};
use crate::agents::kit::texts::{add_line, string_of};
use crate::extract::{KeyMap, KeySet, error_type};
use crate::tables::{Category, MessageKind, MessageRow, Role, Status, ToolCallRow};

/// A reply of the model that further lines may continue.
pub(super) struct Reply {
    response_id: Option<String>,
    message_id: String,
    pub(super) parent: Option<String>,
    seq: i64,
    turn: Option<i64>,
    timestamp: Option<i64>,
    kind: MessageKind,
    text: Option<String>,
    thinking: Option<String>,
    model: Option<String>,
    stop_reason: Option<String>,
    is_sidechain: bool,
    is_error: bool,
    /// Name and HTTP status of the failure.
    failure: (Option<String>, Option<i64>),
    cwd: Option<String>,
    git_branch: Option<String>,
    source_line: Option<i64>,
    pub(super) weak: bool,
    /// Keys of its lines.
    pub(super) lines: Vec<u64>,
}

/// Text of the reply that fills the gap after an interruption; the model did not write it.
const FILLER: &str = "No response requested.";

impl Reply {
    /// Begins a reply on the line that the row describes. The parent is the line's, not yet the row's.
    pub(super) fn begin(
        row: &MessageRow<'_>,
        parent: Option<&str>,
        key: u64,
        message: &Message<'_>,
        response: &str,
        is_error: bool,
        weak: bool,
    ) -> Self {
        let is_synthetic = message.model.is("<synthetic>");
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self {
            response_id: (!is_synthetic && !is_error).then(|| response.to_owned()),
            message_id: row.message_id.to_owned(),
            parent: owned(parent),
            seq: row.seq,
            turn: row.turn,
            timestamp: row.timestamp,
            kind: if is_error { MessageKind::ApiError } else { MessageKind::Reply },
            text: None,
            thinking: None,
            model: owned(message.model.get().filter(|_| !is_synthetic)),
            stop_reason: None,
            is_sidechain: row.is_sidechain,
            is_error,
            failure: (None, None),
            cwd: owned(row.cwd),
            git_branch: owned(row.git_branch),
            source_line: row.source_line,
            weak,
            lines: vec![key],
        }
    }

    /// Notes the name and HTTP status of the failure, if the line has them.
    pub(super) fn fails(&mut self, line: &Line<'_>) {
        let name = line.error.json().and_then(string_of).map(Cow::into_owned);
        self.failure = (self.failure.0.take().or(name), self.failure.1.or(line.error_status.0));
    }

    fn is_full(&self) -> bool {
        let texts = [&self.text, &self.thinking].into_iter().flatten();
        texts.map(String::len).sum::<usize>() > MOST_IN_REPLY
    }

    pub(super) fn row(&self) -> MessageRow<'_> {
        let is_filler = self.model.is_none() && self.text.as_deref() == Some(FILLER);
        MessageRow {
            seq: self.seq,
            message_id: &self.message_id,
            turn: self.turn,
            timestamp: self.timestamp,
            role: Role::Assistant,
            kind: if is_filler { MessageKind::Notice } else { self.kind },
            text: self.text.as_deref(),
            thinking: self.thinking.as_deref(),
            model: self.model.as_deref(),
            response_id: self.response_id.as_deref(),
            stop_reason: self.stop_reason.as_deref(),
            is_sidechain: self.is_sidechain,
            is_error: self.is_error && !is_filler,
            error_type: self
                .is_error
                .then(|| error_type(self.failure.0.as_deref(), self.failure.1, self.text.as_deref())),
            cwd: self.cwd.as_deref(),
            git_branch: self.git_branch.as_deref(),
            source_line: self.source_line,
            ..MessageRow::default()
        }
    }
}

/// The open replies: usually one for each thread.
#[derive(Default)]
pub(super) struct Replies(Vec<(String, Reply)>);

impl Replies {
    fn find(&mut self, response: &str, sidechain: bool) -> Option<&mut Reply> {
        let open = self.0.iter_mut().find(|(id, reply)| id == response && reply.is_sidechain == sidechain);
        open.map(|(_, reply)| reply)
    }

    /// True if more lines may continue the message of a response.
    pub(super) fn is_open(&mut self, response: &str, sidechain: bool) -> bool {
        self.find(response, sidechain).is_some_and(|reply| !reply.is_full())
    }

    pub(super) fn open(&mut self, response: &str, reply: Reply) {
        self.0.push((response.to_owned(), reply));
    }

    /// Returns the id of the open message of a response.
    pub(super) fn message_id(&mut self, response: &str, sidechain: bool) -> Option<&str> {
        self.find(response, sidechain).map(|reply| reply.message_id.as_str())
    }

    /// Returns the key of the first line of the open message of a response.
    pub(super) fn first_key(&mut self, response: &str, sidechain: bool) -> Option<u64> {
        self.find(response, sidechain).and_then(|reply| reply.lines.first().copied())
    }

    /// Notes that a line continued a reply.
    pub(super) fn continue_with(&mut self, response: &str, sidechain: bool, key: u64, message: &Message<'_>) {
        if let Some(reply) = self.find(response, sidechain) {
            if reply.lines.last() != Some(&key) {
                reply.lines.push(key);
            }
            if let Some(reason) = message.stop_reason.get() {
                reply.stop_reason = Some(reason.to_owned());
            }
        }
    }

    pub(super) fn add_text(&mut self, response: &str, sidechain: bool, text: &str) {
        if let Some(reply) = self.find(response, sidechain) {
            add_line(reply.text.get_or_insert_default(), text);
        }
    }

    pub(super) fn add_thinking(&mut self, response: &str, sidechain: bool, text: &str) {
        if let Some(reply) = self.find(response, sidechain) {
            add_line(reply.thinking.get_or_insert_default(), text);
        }
    }

    /// Removes and returns the replies of a thread, in order.
    pub(super) fn close(&mut self, sidechain: bool) -> Vec<Reply> {
        let (closed, open) =
            std::mem::take(&mut self.0).into_iter().partition(|(_, reply)| reply.is_sidechain == sidechain);
        self.0 = open;
        let closed: Vec<(String, Reply)> = closed;
        closed.into_iter().map(|(_, reply)| reply).collect()
    }
}

/// A call whose result has not come yet.
#[derive(Default)]
pub(super) struct PendingCall {
    pub(super) call_id: String,
    pub(super) seq: i64,
    pub(super) message_id: String,
    pub(super) response_id: Option<String>,
    pub(super) turn: Option<i64>,
    pub(super) name: String,
    pub(super) category: Category,
    pub(super) mcp_server: Option<String>,
    pub(super) input: Option<String>,
    pub(super) command: Option<String>,
    pub(super) file_path: Option<String>,
    pub(super) description: Option<String>,
    pub(super) subagent_type: Option<String>,
    pub(super) started_at: Option<i64>,
    pub(super) child: Option<String>,
    pub(super) is_sidechain: bool,
    pub(super) source_line: Option<i64>,
    pub(super) weak: bool,
    /// Status, result and end of a call that the provider answered itself, within the reply.
    pub(super) answer: Option<(Status, String, Option<i64>)>,
}

impl PendingCall {
    /// Makes a placeholder for a call that no line holds but a result answers.
    pub(super) fn of_unknown_tool(call_id: String, seq: i64, turn: Option<i64>, source_line: Option<i64>) -> Self {
        let name = "unknown".to_owned();
        Self { call_id, seq, turn, name, category: Category::Other, source_line, weak: true, ..Self::default() }
    }

    /// Takes the result that the provider put into the reply itself.
    pub(super) fn server_result(&mut self, block: &Block<'_>, at: Option<i64>) {
        let failed = block.is_error.0 || block.content.json().is_some_and(|json| json.contains("_tool_result_error\""));
        let output = block.content.json().map_or_else(String::new, |json| {
            output_text(Some(json))
                .filter(|_| json.starts_with('"'))
                .map_or_else(|| json.to_owned(), std::borrow::Cow::into_owned)
        });
        self.answer = Some((if failed { Status::Error } else { Status::Ok }, output, at));
    }

    fn bytes(&self) -> usize {
        bytes_of(&[&self.input, &self.command])
    }

    pub(super) fn row<'r>(&'r self, session_id: &'r str) -> ToolCallRow<'r> {
        let (status, output, ended_at) = match &self.answer {
            Some((status, output, at)) => (*status, Some(output.as_str()), *at),
            None => (Status::Pending, None, None),
        };
        ToolCallRow {
            session_id,
            seq: self.seq,
            call_id: &self.call_id,
            message_id: Some(self.message_id.as_str()).filter(|id| !id.is_empty()),
            response_id: self.response_id.as_deref(),
            turn: self.turn,
            name: &self.name,
            category: self.category,
            mcp_server: self.mcp_server.as_deref(),
            input: self.input.as_deref(),
            command: self.command.as_deref(),
            file_path: self.file_path.as_deref(),
            status,
            output,
            started_at: self.started_at,
            ended_at,
            child_session_id: self.child.as_deref(),
            is_sidechain: self.is_sidechain,
            source_line: self.source_line,
            ..ToolCallRow::default()
        }
    }
}

/// A result that came before its call.
pub(super) struct EarlyResult {
    /// Placeholder if the call never comes.
    pub(super) call: PendingCall,
    /// Outcome if it is a shell call, and outcome if it is another tool's.
    pub(super) outcomes: [Outcome; 2],
    pub(super) output: Option<String>,
    pub(super) ended_at: Option<i64>,
}

impl EarlyResult {
    /// Returns the outcome of the call that this result belongs to.
    pub(super) fn outcome_of(&self, call: &PendingCall) -> Outcome {
        let [of_shell, of_other] = self.outcomes;
        if is_shell(&call.name) { of_shell } else { of_other }
    }
}

/// The calls of a transcript. Results name them by ids that need not be unique.
#[derive(Default)]
pub(super) struct PendingCalls {
    /// Open calls, by the key of the id that results name.
    calls: KeyMap<PendingCall>,
    bytes: OpenBytes,
    /// Keys of all calls.
    seen: KeySet,
    /// Subagents that progress lines named before the result did.
    children: KeyMap<String>,
    /// Answered calls that may have started a subagent which is not named yet.
    childless: KeyMap<PendingCall>,
    answered: KeySet,
    /// Results whose calls may still come, in order.
    early: Vec<(u64, EarlyResult)>,
}

/// Most results that wait for their calls at a time. In a damaged file, all results may lack a call.
const MOST_EARLY: usize = 64;

impl PendingCalls {
    /// Opens a call unless it is known. Returns the calls that get no result: the one whose name it takes over, or all
    /// if they take too much memory.
    pub(super) fn open(&mut self, name: u64, call: PendingCall) -> Vec<PendingCall> {
        if !self.seen.insert(call_key(&call.call_id)) {
            return Vec::new();
        }
        self.answered.remove(&name);
        let bytes = call.bytes();
        let before = self.calls.insert(name, call);
        let all = self.bytes.exceed(bytes, self.calls.values().map(PendingCall::bytes));
        before.into_iter().chain(if all { self.drain() } else { Vec::new() }).collect()
    }

    /// Returns true if the result of a call has come.
    pub(super) fn is_answered(&self, key: u64) -> bool {
        self.answered.contains(&key)
    }

    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut PendingCall> {
        self.calls.get_mut(&key)
    }

    /// Remembers the subagent that a call started. Returns the call if it was answered without naming one.
    pub(super) fn link(&mut self, key: u64, child: String) -> Option<PendingCall> {
        if let Some(call) = self.childless.remove(&key) {
            return Some(PendingCall { child: Some(child), ..call });
        }
        self.children.insert(key, child);
        None
    }

    /// Keeps an answered call whose subagent a later line may name.
    pub(super) fn await_child(&mut self, name: u64, call: PendingCall) {
        if call.child.is_none() && call.category == Category::Task {
            self.childless.insert(name, PendingCall { input: None, ..call });
        }
    }

    /// Keeps a result until its call comes. Returns the oldest result if too many wait.
    pub(super) fn hold(&mut self, name: u64, result: EarlyResult) -> Option<EarlyResult> {
        self.early.push((name, result));
        (self.early.len() > MOST_EARLY).then(|| self.early.remove(0).1)
    }

    /// Removes and returns the result that came before this call.
    pub(super) fn take_early(&mut self, name: u64, call_id: &str) -> Option<EarlyResult> {
        let is_its = |(of, result): &(u64, EarlyResult)| *of == name && result.call.call_id == call_id;
        let place = self.early.iter().position(is_its)?;
        Some(self.early.remove(place).1)
    }

    /// Removes and returns the results whose calls never came, in order.
    pub(super) fn drain_early(&mut self) -> Vec<EarlyResult> {
        std::mem::take(&mut self.early).into_iter().map(|(_, result)| result).collect()
    }

    /// Notes a call that is known only by its result.
    pub(super) fn note(&mut self, call_id: &str) {
        self.seen.insert(call_key(call_id));
    }

    /// Removes and returns a call whose result has come.
    pub(super) fn close(&mut self, key: u64) -> Option<PendingCall> {
        self.answered.insert(key);
        let mut call = self.calls.remove(&key)?;
        call.child = self.children.remove(&key);
        Some(call)
    }

    /// Removes and returns the calls without a result, in order.
    pub(super) fn drain(&mut self) -> Vec<PendingCall> {
        let keys: Vec<u64> = self.calls.keys().copied().collect();
        let mut calls: Vec<PendingCall> = keys.into_iter().filter_map(|key| self.close(key)).collect();
        calls.sort_by_key(|call| call.seq);
        calls
    }
}
