//! The conversation of one agent: messages, tool calls and billed responses in order.

use super::record::{Payload, ToolResult};
use super::tools;
use crate::agents::ids::is_global;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::{add_line, join};
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, Kind, Reject, Sink, error_type};
use crate::tables::{MessageKind, MessageRow, Role, Status, UsageRow};

/// Most text of a step that waits for the step's tokens. Bytes.
const LARGEST: usize = 16 << 20;
/// Most calls of such a step. Each result looks for its call among them.
const MOST_CALLS: usize = 1_000;

/// When and where a record was written.
#[derive(Clone, Copy, Default)]
pub(super) struct Moment {
    /// Microseconds since 1970.
    pub(super) time: Option<i64>,
    /// Line of the source, from 1.
    pub(super) line: Option<i64>,
}

/// One agent while its log is read.
pub(super) struct Talk {
    thread: Thread,
    /// Name of a subagent.
    agent: Option<String>,
    /// The model, if the program noted it.
    model: Option<String>,
    /// True if the session is a fork. Which of its lines are copies is not recorded.
    is_fork: bool,
    /// The fact that its log exists, of a subagent that the log of its session repeats.
    log: Option<u64>,
    /// When the last request to the model began; none once its response was recorded. Microseconds since 1970.
    asked: Option<i64>,
    step: Step,
}

/// One request to the model: its tokens come after its text and calls.
#[derive(Default)]
struct Step {
    began: Moment,
    text: String,
    thinking: String,
    calls: Vec<(String, Moment, Call)>,
    results: Vec<(String, Moment, Outcome<'static>)>,
    /// Of texts and outputs. Bytes.
    size: usize,
}

impl Step {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.thinking.is_empty() && self.calls.is_empty()
    }
}

impl Talk {
    pub(super) fn new(facts: Facts, agent: Option<String>, model: Option<String>, is_fork: bool) -> Self {
        Self { thread: Thread::new(facts), agent, model, is_fork, log: None, asked: None, step: Step::default() }
    }

    /// Lets the log of the subagent supersede all records.
    pub(super) fn yielding_to(self, log: Option<u64>) -> Self {
        Self { log, ..self }
    }

    /// A record with an id of its own is the same one in the log.
    fn yield_record(&self, kind: Kind, id: &str, out: &mut Sink<'_>) {
        if let Some(log) = self.log.filter(|_| !is_global(id)) {
            out.yields_to(kind, id, log, None);
        }
    }

    /// Takes one message of the program.
    pub(super) fn take(
        &mut self,
        kind: &str,
        payload: &Payload<'_>,
        at: Moment,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        match kind {
            "ContentPart" => self.take_part(payload, at, out),
            "ToolCall" => self.take_call(payload, at, out),
            "ToolCallPart" => {
                let last = self.step.calls.last_mut();
                if let (Some((_, _, call)), Some(part)) = (last, payload.arguments_part.get()) {
                    call.input.get_or_insert_default().push_str(part);
                    self.step.size += part.len();
                }
                if self.step.size > LARGEST { self.end_step(None, out) } else { Ok(()) }
            }
            "ToolResult" => self.take_result(payload, at, out),
            "StatusUpdate" => self.take_usage(payload, at, out),
            "TurnBegin" | "SteerInput" => self.take_prompt(payload, at, out),
            "TurnEnd" => self.end_turn(out),
            "StepBegin" => {
                self.asked = at.time;
                self.end_step(None, out)
            }
            "CompactionBegin" => self.end_step(None, out),
            "CompactionEnd" => {
                // A step compacts before its request.
                self.asked = at.time;
                self.push("compaction", at, blank(Role::System, MessageKind::Compaction), out)
            }
            "StepInterrupted" => {
                self.end_turn(out)?;
                self.push("abort", at, blank(Role::System, MessageKind::Abort), out)
            }
            "StepRetry" => {
                self.asked = None;
                let text = payload.error.get();
                let error_type = Some(error_type(text, payload.status.0, None));
                let row = blank(Role::System, MessageKind::ApiError);
                self.push("retry", at, MessageRow { text, is_error: true, error_type, ..row }, out)
            }
            "Notification" => {
                let text = payload.body.get();
                self.push("notice", at, MessageRow { text, ..blank(Role::System, MessageKind::Notice) }, out)
            }
            _ => Ok(()),
        }
    }

    /// Notes that a call started a subagent.
    pub(super) fn link(&mut self, call: &str, child: &str) {
        let held = self.step.calls.iter_mut().rev().find(|(name, ..)| name == call).map(|(_, _, call)| call);
        if let Some(call) = held.or_else(|| self.thread.calls.get(call)) {
            call.child.get_or_insert_with(|| child.to_owned());
        }
    }

    /// Completes the session.
    pub(super) fn finish(mut self, out: &mut Sink<'_>) -> Result<(), Reject> {
        self.end_step(None, out)?;
        self.thread.finish(out)
    }

    /// The id of a record. The program gives none, and forks copy its time.
    fn id(&mut self, what: &str, at: Moment) -> String {
        let Some(time) = at.time else { return self.thread.print(what, None, []) };
        let id = format!("{time}:{what}");
        self.agent.as_ref().map_or(id.clone(), |agent| format!("{agent}:{id}"))
    }

    fn push(&mut self, what: &str, at: Moment, row: MessageRow<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let id = self.id(what, at);
        self.yield_record(Kind::Message, &id, out);
        let at = Position { id: &id, moment: at.time, line: at.line, is_copy: self.is_fork };
        self.thread.message(&at, row, out).map(drop)
    }

    fn take_prompt(&mut self, payload: &Payload<'_>, at: Moment, out: &mut Sink<'_>) -> Result<(), Reject> {
        self.end_step(None, out)?;
        let parts = &payload.input.0;
        let text = join(parts.iter().filter_map(|part| part.text.0.clone()));
        let text = text.as_deref().filter(|text| !text.is_empty());
        let attachments = parts.iter().filter(|part| !part.kind.is("text")).count();
        let kind = if text.is_some_and(is_command) { MessageKind::Command } else { MessageKind::Prompt };
        let id = self.id("prompt", at);
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        self.yield_record(Kind::Message, &id, out);
        self.thread.begin_turn();
        let attachments = i64::try_from(attachments).unwrap_or(0);
        let at = Position { id: &id, moment: at.time, line: at.line, is_copy: self.is_fork };
        self.thread.message(&at, MessageRow { text, attachments, ..blank(Role::User, kind) }, out).map(drop)
    }

    fn begin_step(&mut self, at: Moment) {
        if self.step.is_empty() {
            self.step.began = at;
        }
    }

    fn take_part(&mut self, payload: &Payload<'_>, at: Moment, out: &mut Sink<'_>) -> Result<(), Reject> {
        let id = self.id("part", at);
        if !self.thread.is_new(Kind::Presence, &id) {
            return Ok(());
        }
        self.begin_step(at);
        let step = &mut self.step;
        if let Some(text) = payload.text.get() {
            add_line(&mut step.text, text);
            step.size += text.len();
        }
        if let Some(thinking) = payload.thinking.get() {
            add_line(&mut step.thinking, thinking);
            step.size += thinking.len();
        }
        if step.size > LARGEST { self.end_step(None, out) } else { Ok(()) }
    }

    /// Holds a call. Some servers number their calls anew in each response: such a call is named by its time too.
    fn take_call(&mut self, payload: &Payload<'_>, at: Moment, out: &mut Sink<'_>) -> Result<(), Reject> {
        self.begin_step(at);
        let given = payload.id.get();
        let id = match given {
            Some(id) if is_global(id) => id.to_owned(),
            Some(id) => self.id(id, at),
            None => self.id("call", at),
        };
        if self.thread.is_new(Kind::ToolCall, &id) {
            let name = given.unwrap_or(&id).to_owned();
            let function = payload.function.0.as_ref();
            let [tool, arguments] = [function.map(|it| &it.name), function.map(|it| &it.arguments)];
            let call = tools::call(id, tool.and_then(|it| it.get()), arguments.and_then(|it| it.get()));
            self.step.size += call.input.as_ref().map_or(0, String::len);
            self.step.calls.push((name, at, call));
        }
        if self.step.calls.len() > MOST_CALLS { self.end_step(None, out) } else { Ok(()) }
    }

    /// Takes a result. It may come before the tokens of the response that made the call.
    fn take_result(&mut self, payload: &Payload<'_>, at: Moment, out: &mut Sink<'_>) -> Result<(), Reject> {
        let Some(name) = payload.call.get() else { return Ok(()) };
        let default = ToolResult::default();
        let end = tools::outcome(payload.result.0.as_ref().unwrap_or(&default));
        let end = Outcome { ended_at: at.time, ..end };
        if !self.step.calls.iter().any(|(held, ..)| held == name) {
            return self.close_call(name, at, end, out);
        }
        self.step.size += end.output.as_ref().map_or(0, |output| output.len());
        self.step.results.push((name.to_owned(), at, tools::kept(end)));
        if self.step.size > LARGEST { self.end_step(None, out) } else { Ok(()) }
    }

    fn close_call(&mut self, name: &str, at: Moment, end: Outcome<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let is_error = end.status != Status::Ok;
        let row = MessageRow { is_error, ..blank(Role::Tool, MessageKind::ToolResult) };
        self.push(&format!("result {name}"), at, row, out)?;
        let Some(call) = self.thread.calls.take(name) else { return Ok(()) };
        let lines = tools::edited_lines(&call);
        self.thread.close_call(&call, &Outcome { lines, ..end }, out)
    }

    fn take_usage(&mut self, payload: &Payload<'_>, at: Moment, out: &mut Sink<'_>) -> Result<(), Reject> {
        let Some(usage) = &payload.usage.0 else { return Ok(()) };
        let tokens = [usage.input, usage.cache_read, usage.cache_write, usage.output].map(|count| count.0);
        let id = match payload.message.get() {
            Some(id) if is_global(id) => id.to_owned(),
            Some(id) => self.id(id, at),
            None => self.id("response", at),
        };
        let is_known = !self.thread.is_new(Kind::Response, &id);
        if is_known || tokens.iter().flatten().all(|count| *count == 0) {
            return Ok(());
        }
        self.yield_record(Kind::Response, &id, out);
        let began = self.asked.take().or(self.step.began.time);
        let message_id = (!self.step.is_empty()).then(|| self.id("reply", self.step.began));
        let seq = if message_id.is_some() { self.thread.seq } else { self.thread.last_seq() };
        let [input_tokens, cache_read_tokens, cache_write_5m_tokens, output_tokens] = tokens;
        let row = UsageRow {
            message_id: message_id.as_deref(),
            response_id: &id,
            request_id: payload.message.get(),
            turn: self.thread.turn,
            timestamp: began,
            model: self.model.as_deref(),
            input_tokens,
            cache_read_tokens,
            cache_write_5m_tokens,
            output_tokens,
            context_window: payload.context_window.0.filter(|tokens| *tokens > 0),
            ..UsageRow::default()
        };
        let at = Position { id: "", moment: at.time, line: at.line, is_copy: self.is_fork };
        self.thread.bill(&at, row, seq, out)?;
        self.end_step(Some(&id), out)
    }

    /// Adds what the step holds, after its response was billed or the step ended without one.
    fn end_step(&mut self, response: Option<&str>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let step = std::mem::take(&mut self.step);
        if step.is_empty() {
            return Ok(());
        }
        let message_id = self.id("reply", step.began);
        let model = self.model.clone();
        let row = MessageRow {
            text: Some(&*step.text).filter(|text| !text.is_empty()),
            thinking: Some(&*step.thinking).filter(|thinking| !thinking.is_empty()),
            model: model.as_deref(),
            response_id: response,
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        self.push("reply", step.began, row, out)?;
        for (name, at, call) in step.calls {
            let at = Position { id: "", moment: at.time, line: at.line, is_copy: self.is_fork };
            let (message_id, response_id) = (Some(message_id.clone()), response.map(str::to_owned));
            self.yield_record(Kind::ToolCall, &call.id, out);
            let call = tools::with_arguments(Call { message_id, response_id, ..call });
            self.thread.open_named_call(&at, Some(&name), call, out)?;
        }
        step.results.into_iter().try_for_each(|(name, at, end)| self.close_call(&name, at, end, out))
    }

    /// A call without a result was stopped with its turn.
    fn end_turn(&mut self, out: &mut Sink<'_>) -> Result<(), Reject> {
        self.end_step(None, out)?;
        let interrupted = Outcome { status: Status::Interrupted, ..Outcome::default() };
        let open = self.thread.calls.take_mentioned("");
        open.iter().try_for_each(|call| self.thread.close_call(call, &interrupted, out))
    }
}

/// Returns true if a prompt is a command for the program, not a path.
fn is_command(text: &str) -> bool {
    let name = text.split_whitespace().next().and_then(|word| word.strip_prefix('/'));
    name.is_some_and(|name| !name.is_empty() && !name.contains(['/', '.']))
}
