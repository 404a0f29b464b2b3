//! Tool calls, and the results that later lines give them.

use std::borrow::Cow;

use super::super::content::Content;
use super::super::outcome::{End, Outcome};
use super::super::record::{Action, Item, Structured};
use super::super::tools::{self, Request};
use super::replies::Reply;
use super::{LinePosition, Rollout, blank};
use crate::agents::held::{OpenBytes, TOO_MANY, bytes_of};
use crate::agents::ids::{Given, is_global, is_uuid};
use crate::agents::mcp;
use crate::extract::{EditedLines, KeyMap, KeySet, Kind, Reject, key};
use crate::source::records::{Raw, Text};
use crate::tables::{Category, MessageKind, MessageRow, Role, Status, ToolCallRow};

/// The calls of a rollout that are not emitted yet.
#[derive(Default)]
pub(super) struct Calls {
    open: KeyMap<Call>,
    bytes: OpenBytes,
    answered: KeySet,
    given: Given,
    /// The last reply and its response, which calls within a call belong to.
    pub(super) last_reply: Option<(String, Option<String>)>,
}

/// A call.
#[derive(Default)]
pub(super) struct Call {
    pub(super) call_id: String,
    pub(super) seq: i64,
    pub(super) message_id: Option<String>,
    pub(super) response_id: Option<String>,
    pub(super) turn: Option<i64>,
    pub(super) name: String,
    pub(super) category: Category,
    pub(super) mcp_server: Option<String>,
    pub(super) request: Request,
    pub(super) started_at: Option<i64>,
    pub(super) source_line: Option<i64>,
    pub(super) weak: bool,
    pub(super) child: Option<String>,
    pub(super) end: End,
    /// Lines that the agent recorded.
    pub(super) lines: EditedLines,
    pub(super) answer: Option<Answer>,
}

/// A call's result.
pub(super) struct Answer {
    pub(super) outcome: Outcome,
    pub(super) output: Option<String>,
    pub(super) ended_at: Option<i64>,
}

pub(super) fn call_key(id: &str) -> u64 {
    key("", Kind::ToolCall, id)
}

impl Call {
    fn bytes(&self) -> usize {
        bytes_of(&[&self.request.input, &self.request.command])
    }

    /// Takes the end that an event records. The event comes before or after the result.
    pub(super) fn ends(&mut self, end: End) {
        self.end = End { failed: end.failed || self.end.failed, ..end };
        if let Some(answer) = &mut self.answer {
            answer.outcome = Outcome::of(answer.output.as_deref().unwrap_or_default(), self.end);
        }
    }
}

impl Calls {
    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Call> {
        self.open.get_mut(&call_key(id))
    }

    /// Notes that a call was emitted.
    pub(super) fn settle(&mut self, id: &str) {
        self.answered.insert(call_key(id));
    }

    /// Returns true if a call of that id has come.
    pub(super) fn knows(&self, id: &str) -> bool {
        let key = call_key(id);
        self.open.contains_key(&key) || self.answered.contains(&key)
    }

    /// Returns an id that is unique by itself, else one of the thread, numbered from the second on.
    pub(super) fn next_id(&mut self, id: &str, namespace: &str) -> String {
        if is_global(id) {
            return id.to_owned();
        }
        self.given.numbered(call_key(id), format!("{namespace}#{id}"))
    }
}

impl Rollout<'_, '_> {
    /// Takes a call that a later line answers.
    pub(super) fn take_call(&mut self, position: LinePosition, item: &Item<'_>) -> Result<(), Reject> {
        let name = match item.kind.get() {
            Some("local_shell_call") => "local_shell",
            Some("tool_search_call") => item.name.get().unwrap_or("tool_search"),
            _ => item.name.get().unwrap_or("unknown"),
        };
        let arguments = item.arguments.json().or(item.input.json()).or(item.action.json());
        let name = tools::full_name(item.namespace.get(), name);
        self.open_call(position, item.call.get().or(item.id.get()), &name, arguments).map(drop)
    }

    /// Takes a call that the provider ran itself, which has no other items.
    pub(super) fn take_hosted_call(&mut self, position: LinePosition, item: &Item<'_>) -> Result<(), Reject> {
        let name = if item.kind.is("web_search_call") { "web_search" } else { "image_generation" };
        let Some(call) = self.open_call(position, item.id.get().or(item.call.get()), name, item.action.json())? else {
            return Ok(());
        };
        let outcome = Outcome::of_end(End::of(item.status.get(), None));
        if !matches!(item.status.get(), Some("in_progress" | "searching" | "generating")) {
            if name == "web_search" && outcome.status == Status::Ok && is_search(item.action) {
                self.count_web_search();
            }
            self.answer(call, Answer { outcome, output: None, ended_at: position.moment })?;
        }
        Ok(())
    }

    /// Notes a call of the reply. Returns its key; `None` if the call is known.
    pub(super) fn open_call(
        &mut self,
        position: LinePosition,
        id: Option<&str>,
        name: &str,
        arguments: Option<&str>,
    ) -> Result<Option<u64>, Reject> {
        if let Some(id) = id
            && self.calls.knows(id)
            && !self.makes_room_for(id)?
        {
            return Ok(None);
        }
        let parts = ["call", name, id.or(arguments).unwrap_or_default()];
        let reply = self.reply_for(position, None, &parts, false)?;
        let raw_id = id.map_or_else(|| Cow::Owned(format!("{}.{}", reply.id, reply.calls.len())), Cow::Borrowed);
        let key = call_key(&raw_id);
        reply.add_call(key, arguments.map_or(0, str::len));
        let (message_id, response_id) = (reply.id.clone(), reply.response_id.clone());
        let call_id = match id {
            Some(id) => self.calls.next_id(id, self.lineage.namespace(&self.session)),
            None => raw_id.into_owned(),
        };
        let category = tools::category(name);
        let weak = self.lineage.is_unclear();
        self.note_unclear(Kind::ToolCall, &call_id, weak);
        let call = Call {
            call_id,
            seq: self.seq,
            message_id: Some(message_id),
            response_id,
            turn: self.turn,
            name: name.to_owned(),
            category,
            mcp_server: mcp::server(name).map(str::to_owned),
            request: Request::of(category, arguments),
            started_at: position.moment,
            source_line: i64::try_from(position.number).ok(),
            weak,
            ..Call::default()
        };
        self.seq += 1;
        let bytes = call.bytes();
        self.calls.open.insert(key, call);
        if self.calls.bytes.exceed(bytes, self.calls.open.values().map(Call::bytes)) {
            self.out.problem(position.number, TOO_MANY);
            self.drain_calls()?;
        }
        Ok(Some(key))
    }

    /// Returns true if a call with the id of an earlier one is another call, and emits the earlier one: some providers
    /// restart the numbers of calls in each response.
    fn makes_room_for(&mut self, id: &str) -> Result<bool, Reject> {
        let key = call_key(id);
        let reply = self.reply.as_ref().filter(|reply| reply.calls.contains(&key));
        let is_of_this_response = reply.is_some_and(|reply| !reply.is_counted) && !self.calls.answered.contains(&key);
        if is_global(id) || is_of_this_response {
            return Ok(false);
        }
        if reply.is_some() {
            self.close_reply()?;
        }
        self.calls.answered.remove(&key);
        let earlier = self.calls.open.remove(&key);
        earlier.map_or(Ok(true), |call| self.push_call(&call).map(|()| true))
    }

    /// Takes the result of a call.
    pub(super) fn take_output(&mut self, position: LinePosition, item: &Item<'_>) -> Result<(), Reject> {
        let id = item.call.get().or(item.id.get()).unwrap_or_default();
        let mut failed = false;
        let output = match item.output.json() {
            Some(json) if json.starts_with('{') => {
                let old: Structured<'_> = serde_json::from_str(json).unwrap_or_default();
                failed = old.success.json() == Some("false");
                Content::of(old.output.json(), true).text
            }
            Some(json) => Content::of(Some(json), true).text,
            None => item.tools.json().map(Cow::Borrowed),
        };
        self.take_result(position, id, output, End { failed, ..End::default() })
    }

    /// Takes the result of a call, as text.
    pub(super) fn take_result(
        &mut self,
        position: LinePosition,
        id: &str,
        output: Option<Cow<'_, str>>,
        recorded: End,
    ) -> Result<(), Reject> {
        self.flush_user()?;
        let key = call_key(id);
        if self.calls.answered.contains(&key) {
            return Ok(());
        }
        if !self.calls.open.contains_key(&key) {
            let call = self.unknown_call(position, id);
            self.calls.open.insert(key, call);
        }
        let Some(call) = self.calls.open.get_mut(&key) else { return Ok(()) };
        call.end.failed |= recorded.failed;
        call.end.exit_code = call.end.exit_code.or(recorded.exit_code);
        call.end.duration_ms = call.end.duration_ms.or(recorded.duration_ms);
        let text = output.as_deref().unwrap_or_default();
        if call.category == Category::Task && call.child.is_none() {
            call.child = child_in(text);
        }
        let outcome = Outcome::of(text, call.end);
        let output = output.map(Cow::into_owned);
        self.answer(key, Answer { outcome, output, ended_at: position.moment })?;
        let message = self.ids.of(self.lineage.namespace(&self.session), None, &["result", id]);
        let is_error = matches!(outcome.status, Status::Error | Status::Rejected);
        self.push(MessageRow { role: Role::Tool, kind: MessageKind::ToolResult, is_error, ..blank(&message, position) })
    }

    /// Makes the missing call of a result.
    fn unknown_call(&mut self, position: LinePosition, id: &str) -> Call {
        let seq = self.seq;
        self.seq += 1;
        let namespace = self.lineage.namespace(&self.session);
        let call_id =
            if id.is_empty() { format!("{namespace}#result-{seq}") } else { self.calls.next_id(id, namespace) };
        Call {
            call_id,
            seq,
            turn: self.turn,
            name: "unknown".to_owned(),
            category: Category::Other,
            source_line: i64::try_from(position.number).ok(),
            weak: true,
            ..Call::default()
        }
    }

    /// Adds a result to a call, which is emitted with its reply: the reply knows the response.
    pub(super) fn answer(&mut self, key: u64, answer: Answer) -> Result<(), Reject> {
        let Some(call) = self.calls.open.get_mut(&key) else { return Ok(()) };
        let bytes = answer.output.as_ref().map_or(0, String::len);
        call.answer = Some(answer);
        self.calls.answered.insert(key);
        if let Some(reply) = self.reply.as_mut().filter(|reply| reply.calls.contains(&key)) {
            reply.add_result(bytes);
            return Ok(());
        }
        let call = self.calls.open.remove(&key);
        call.map_or(Ok(()), |call| self.push_call(&call))
    }

    /// Emits the answered calls of a reply, and sets the response of the others.
    pub(super) fn release_calls(&mut self, reply: &Reply) -> Result<(), Reject> {
        for key in &reply.calls {
            let Some(call) = self.calls.open.get_mut(key) else { continue };
            call.response_id.clone_from(&reply.response_id);
            if call.answer.is_some()
                && let Some(call) = self.calls.open.remove(key)
            {
                self.push_call(&call)?;
            }
        }
        self.calls.last_reply = Some((reply.id.clone(), reply.response_id.clone()));
        Ok(())
    }

    /// Emits the calls that no line answered.
    pub(super) fn drain_calls(&mut self) -> Result<(), Reject> {
        self.calls.answered.extend(self.calls.open.keys());
        let mut calls: Vec<Call> = std::mem::take(&mut self.calls.open).into_values().collect();
        calls.sort_by_key(|call| call.seq);
        calls.iter().try_for_each(|call| self.push_call(call))
    }

    /// Emits a call.
    pub(super) fn push_call(&mut self, call: &Call) -> Result<(), Reject> {
        let answer = call.answer.as_ref();
        let output = answer.and_then(|answer| answer.output.as_deref());
        let input = call.request.input.as_deref();
        self.has_rows = true;
        let row = ToolCallRow {
            session_id: &self.session,
            seq: call.seq,
            call_id: &call.call_id,
            message_id: call.message_id.as_deref(),
            response_id: call.response_id.as_deref(),
            turn: call.turn,
            name: &call.name,
            category: call.category,
            mcp_server: call.mcp_server.as_deref(),
            input,
            command: call.request.command.as_deref(),
            file_path: call.request.file_path.as_deref(),
            status: answer.map_or(Status::Pending, |answer| answer.outcome.status),
            is_denied: answer.map(|answer| answer.outcome.is_denied),
            exit_code: answer.map_or(call.end.exit_code, |answer| answer.outcome.exit_code),
            output,
            lines_added: call.lines.added,
            lines_removed: call.lines.removed,
            started_at: call.started_at,
            ended_at: answer.and_then(|answer| answer.ended_at),
            duration_ms: answer.map_or(call.end.duration_ms, |answer| answer.outcome.duration_ms),
            child_session_id: call.child.as_deref(),
            source_line: call.source_line,
            ..ToolCallRow::default()
        };
        self.out.tool_call(row, call.weak)
    }
}

/// Returns the spawned thread that a result names.
fn child_in(output: &str) -> Option<String> {
    let structured: Structured<'_> = serde_json::from_str(output).ok()?;
    let thread = |text: &Text<'_>| text.get().filter(|id| is_uuid(id)).map(str::to_owned);
    thread(&structured.agent)
}

/// Returns true if the provider bills the action of a hosted web call: a search, not a page that it opened or searched.
fn is_search(action: Raw<'_>) -> bool {
    let action: Action<'_> = action.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    action.kind.get().is_none_or(|kind| kind == "search")
}
