//! One conversation: its events in order, and the responses that its state counts.

use std::collections::BTreeMap;
use std::path::Path;

use super::record::{Event, Message, Part, State};
use super::usage::{Response, main_model, responses};
use super::{AGENT, outer_of, tools};
use crate::agents::ids::qualified;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, KeyMap, Kind, NoteField, Reject, Sink, error_type, key, session_key};
use crate::source::records::{List, Object};
use crate::source::{Source, name_of, repair};
use crate::tables::{MessageKind, MessageRow, Role, SessionKind, Status, UsageRow};

/// Kinds of events that hold nothing for the tables.
const IGNORED: [&str; 8] = [
    "SystemPromptEvent",
    "ConversationStateUpdateEvent",
    "TokenEvent",
    "CondensationRequest",
    "CondensationSummaryEvent",
    "StreamingDeltaEvent",
    "LLMCompletionLogEvent",
    "HookExecutionEvent",
];

/// Reads a conversation into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let bytes = source.document()?.unwrap_or_default();
    let json = repair(&bytes);
    let state: State<'_> = serde_json::from_str(&json).unwrap_or_else(|_| {
        if !json.trim().is_empty() {
            out.problem(1, "the state of the conversation cannot be read");
        }
        State::default()
    });
    if !json.trim().is_empty() {
        out.line();
    }
    let name = name_of(source.path);
    let folder = Path::new(&*name).parent().unwrap_or(Path::new(""));
    let name_in = |folder: &Path| folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let (session, outer) = (name_in(folder), outer_of(folder).map(name_in));
    let scope = outer.clone().unwrap_or_else(|| session.clone());
    let responses = responses(&state, &scope);
    let thread = Thread::new(Facts {
        session_id: session,
        kind: if outer.is_some() { SessionKind::Subagent } else { SessionKind::Session },
        project_path: state.workspace.0.as_ref().and_then(|workspace| workspace.folder.owned()),
        is_subagent: outer.is_some(),
        parent_session_id: outer,
        ..Facts::default()
    });
    let children = children(source);
    let mut conversation = Conversation {
        thread,
        scope,
        model: main_model(&state),
        billed: responses.iter().map(|it| (key(AGENT, Kind::Response, &it.id), it.model.clone())).collect(),
        children: task_folders(source, &children, &responses),
        is_stopped: matches!(state.status.get(), Some("running" | "paused")),
        replies: KeyMap::default(),
        has_failed: false,
        last: None,
    };
    conversation.read_events(source, out)?;
    conversation.bill(&responses, out)?;
    conversation.thread.finish(out)
}

/// The names of the folders of subagents.
fn children(source: &Source<'_>) -> Vec<String> {
    source.path.parent().map(|folder| source.names_in(&folder.join("subagents"))).unwrap_or_default()
}

/// For each task, the folder of its subagent: the one whose state counts a response of the task, or the only one.
fn task_folders(source: &Source<'_>, children: &[String], responses: &[Response]) -> BTreeMap<String, String> {
    let mut tasks: Vec<(u64, &str)> = Vec::new();
    for response in responses {
        tasks.extend(response.task.as_deref().map(|task| (key(AGENT, Kind::Response, &response.id), task)));
    }
    if let ([child], Some((_, task))) = (children, tasks.first()) {
        return BTreeMap::from([((*task).to_owned(), child.clone())]);
    }
    let Some(folder) = source.path.parent().filter(|_| !tasks.is_empty()) else { return BTreeMap::new() };
    let scope = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let tasks: KeyMap<&str> = tasks.into_iter().collect();
    let task_of = |child: &String| {
        let bytes = source.sidecar(&folder.join("subagents").join(child).join(super::STATE))?;
        let json = repair(&bytes);
        let state: State<'_> = serde_json::from_str(&json).ok()?;
        let own = self::responses(&state, scope);
        let task = own.iter().find_map(|response| tasks.get(&key(AGENT, Kind::Response, &response.id)))?;
        Some(((*task).to_owned(), child.clone()))
    };
    children.iter().filter_map(task_of).collect()
}

struct Conversation {
    thread: Thread,
    /// The outermost conversation, within which ids of responses are unique.
    scope: String,
    /// Model of the main loop. A run that was killed counts no responses.
    model: Option<String>,
    /// Model of each response that the state counts.
    billed: KeyMap<Option<String>>,
    /// Tasks, and the session of each.
    children: BTreeMap<String, String>,
    /// True if calls without a result were stopped.
    is_stopped: bool,
    /// The message of each response.
    replies: KeyMap<Reply>,
    /// True if a request failed since the last reply.
    has_failed: bool,
    /// When the last event was written. Microseconds since 1970.
    last: Option<i64>,
}

struct Reply {
    message: String,
    seq: i64,
    turn: Option<i64>,
    moment: Option<i64>,
    /// True if a failed request came before, whose time the response's includes.
    is_late: bool,
}

/// The number of an event in the name of its file.
fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix("event-")?.strip_suffix(".json")?.split('-').next()?.parse().ok()
}

impl Conversation {
    fn read_events(&mut self, source: &Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let folder = source.path.with_file_name("events");
        let names = source.names_in(&folder).into_iter();
        let mut events: Vec<(u64, String)> = names.filter_map(|name| Some((number_of(&name)?, name))).collect();
        events.sort_unstable();
        for (number, name) in events {
            out.line();
            let bytes = source.sidecar(&folder.join(name)).unwrap_or_default();
            let json = repair(&bytes);
            match serde_json::from_str::<Event<'_>>(&json) {
                Ok(event) => self.take(&event, &json, out)?,
                Err(_) => out.problem(number + 2, "no JSON object"),
            }
            out.note_out_of_range(number + 2);
        }
        Ok(())
    }

    fn take(&mut self, event: &Event<'_>, json: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
        let moment = event.time.get().and_then(|time| moment_of(time, out));
        let id = event.id.owned().unwrap_or_else(|| self.thread.print("event", moment, [json]));
        self.last = self.last.max(moment);
        let at = Position::new(&id, moment);
        match (event.kind.get().unwrap_or_default(), event.source.get()) {
            ("MessageEvent", Some("user")) => self.take_prompt(event, &at, out),
            ("MessageEvent", _) => self.take_reply(event, &at, out),
            ("ActionEvent", _) => self.take_action(event, &at, out),
            ("ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation", _) => self.take_result(event, &at, out),
            ("ConversationErrorEvent", _) => {
                self.has_failed = true;
                let (code, text) = (event.code.get(), event.detail.get());
                let is_of_model = code.is_some_and(|code| code.starts_with("LLM"))
                    || text.is_some_and(|text| text.starts_with("litellm."));
                let kind = if is_of_model { MessageKind::ApiError } else { MessageKind::Notice };
                let error_type = is_of_model.then(|| error_type(code, None, text));
                let row = MessageRow { text, is_error: true, error_type, ..blank(Role::System, kind) };
                self.thread.message(&at, row, out).map(drop)
            }
            ("Condensation", _) => {
                let row = MessageRow { text: event.summary.get(), ..blank(Role::System, MessageKind::Compaction) };
                self.push_of_response(event, &at, row, out)
            }
            ("PauseEvent" | "InterruptEvent", _) => {
                self.thread.message(&at, blank(Role::System, MessageKind::Abort), out).map(drop)
            }
            (kind, _) if IGNORED.contains(&kind) => Ok(()),
            (kind, _) => {
                out.unknown(&format!("event {kind}"));
                Ok(())
            }
        }
    }

    fn take_prompt(&mut self, event: &Event<'_>, at: &Position<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        if self.thread.has(Kind::Message, at.id) {
            return Ok(());
        }
        self.thread.begin_turn();
        let default = Message::default();
        let parts = &event.message.0.as_ref().unwrap_or(&default).content.0;
        let text = join(parts.iter().filter_map(|part| part.text.0.clone()));
        let attachments = parts.iter().filter(|part| !part.kind.is("text")).count();
        let attachments = i64::try_from(attachments).unwrap_or(0);
        let row = MessageRow { text: text.as_deref(), attachments, ..blank(Role::User, MessageKind::Prompt) };
        self.thread.message(at, row, out).map(drop)
    }

    fn take_reply(&mut self, event: &Event<'_>, at: &Position<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let default = Message::default();
        let message = event.message.0.as_ref().unwrap_or(&default);
        let text = join(message.content.0.iter().filter_map(|part| part.text.0.clone()));
        let thinking = thinking_of(message.reasoning.get(), &message.thinking);
        let row = MessageRow {
            text: text.as_deref().filter(|text| !text.is_empty()),
            thinking: thinking.as_deref(),
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        self.push_of_response(event, at, row, out)
    }

    /// The first call of a response has what the model said before its calls.
    fn take_action(&mut self, event: &Event<'_>, at: &Position<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let response = event.response.get().map(|id| key(AGENT, Kind::Response, &qualified(&self.scope, id)));
        if response.is_none_or(|response| !self.replies.contains_key(&response)) {
            let action = event.action.0.as_ref();
            let own = |kind: &str| action.filter(|action| action.kind.is(kind));
            let message = own("FinishAction").and_then(|action| action.message.0.clone());
            let text = join(event.thought.0.iter().filter_map(|part| part.text.0.clone()).chain(message));
            let thought = own("ThinkAction").and_then(|action| action.thought.get());
            let thinking = thinking_of(event.reasoning.get().or(thought), &event.thinking);
            let row = MessageRow {
                text: text.as_deref().filter(|text| !text.is_empty()),
                thinking: thinking.as_deref(),
                ..blank(Role::Assistant, MessageKind::Reply)
            };
            self.push_of_response(event, at, row, out)?;
        }
        let reply = response.and_then(|response| self.replies.get(&response));
        let message_id = Some(reply.map_or_else(|| at.id.to_owned(), |reply| reply.message.clone()));
        let given = event.call.get().unwrap_or(at.id);
        let call = Call {
            id: qualified(at.id, given).into_owned(),
            message_id,
            response_id: self.billed_id(event),
            status: if self.is_stopped { Status::Interrupted } else { Status::Pending },
            ..tools::call(event)
        };
        if !self.thread.is_new(Kind::ToolCall, &call.id) {
            return Ok(());
        }
        self.thread.open_named_call(at, Some(given), call, out)
    }

    /// Takes the result of a call.
    fn take_result(&mut self, event: &Event<'_>, at: &Position<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let mut end = Outcome { ended_at: at.moment, ..tools::outcome(event) };
        let is_error = end.status != Status::Ok;
        self.thread.message(at, MessageRow { is_error, ..blank(Role::Tool, MessageKind::ToolResult) }, out)?;
        let Some(mut call) = event.call.get().and_then(|name| self.thread.calls.take(name)) else { return Ok(()) };
        if let Some(observation) = &event.observation.0 {
            end.lines = tools::edited_lines(&call, observation);
            if let Some(child) = observation.task.get().and_then(|task| self.children.get(task)) {
                if let Some(kind) = observation.subagent.get() {
                    out.note(NoteField::SubagentType, session_key(AGENT, child), 0, kind);
                }
                call.child = Some(child.clone());
            }
        }
        self.thread.close_call(&call, &end, out)?;
        if call.child.is_some() {
            out.from_companion(Kind::ToolCall, &call.id);
        }
        Ok(())
    }

    /// Returns the id of the event's response, if the state counts it.
    fn billed_id(&self, event: &Event<'_>) -> Option<String> {
        let id = qualified(&self.scope, event.response.get()?).into_owned();
        Some(id).filter(|id| self.billed.contains_key(&key(AGENT, Kind::Response, id)))
    }

    fn push_of_response(
        &mut self,
        event: &Event<'_>,
        at: &Position<'_>,
        row: MessageRow<'_>,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        let response_id = self.billed_id(event);
        let billed = response_id.as_ref().and_then(|id| self.billed.get(&key(AGENT, Kind::Response, id))?.as_deref());
        let is_of_loop = row.kind == MessageKind::Reply && event.response.get().is_some();
        let model = billed.or(self.model.as_deref().filter(|_| is_of_loop));
        let row = MessageRow { response_id: response_id.as_deref(), model, ..row.shorten() };
        if !self.thread.message(at, row, out)? {
            return Ok(());
        }
        if let Some(id) = event.response.get() {
            let reply = Reply {
                message: at.id.to_owned(),
                seq: self.thread.last_seq(),
                turn: self.thread.turn,
                moment: at.moment,
                is_late: std::mem::take(&mut self.has_failed),
            };
            self.replies.entry(key(AGENT, Kind::Response, &qualified(&self.scope, id))).or_insert(reply);
        }
        Ok(())
    }

    fn bill(&mut self, responses: &[Response], out: &mut Sink<'_>) -> Result<(), Reject> {
        for response in responses {
            let reply = self.replies.get(&key(AGENT, Kind::Response, &response.id));
            let [input, cache_read, cache_write, output] = response.tokens.map(Some);
            let row = UsageRow {
                message_id: reply.map(|reply| &*reply.message),
                response_id: &response.id,
                turn: reply.and_then(|reply| reply.turn),
                model: response.model.as_deref(),
                provider: response.provider.as_deref(),
                input_tokens: input,
                cache_read_tokens: cache_read,
                cache_write_5m_tokens: cache_write,
                output_tokens: output,
                reasoning_tokens: response.reasoning,
                cost_usd: response.cost_usd,
                context_window: response.context_window,
                duration_ms: response.duration_ms.filter(|_| !reply.is_some_and(|reply| reply.is_late)),
                ..UsageRow::default()
            };
            let seq = reply.map_or(self.thread.last_seq(), |reply| reply.seq);
            let moment = reply.and_then(|reply| reply.moment).or(self.last);
            // The subagent's own state has the response too.
            let is_copy = response.task.is_some();
            self.thread.is_sidechain = is_copy;
            self.thread.bill(&Position { is_copy, ..Position::new("", moment) }, row, seq, out)?;
        }
        self.thread.is_sidechain = false;
        Ok(())
    }
}

/// Times are local and have no zone.
fn moment_of(time: &str, out: &Sink<'_>) -> Option<i64> {
    let local = time.parse::<chrono::NaiveDateTime>().ok().and_then(|local| out.local_moment(local));
    local.or_else(|| crate::time::parse_iso(time))
}

fn thinking_of(reasoning: Option<&str>, blocks: &List<Object<Part<'_>>>) -> Option<String> {
    let blocks = blocks.0.iter().filter_map(|block| block.0.as_ref()?.thinking.0.clone());
    let thinking = reasoning.map(str::to_owned).or_else(|| join(blocks).map(std::borrow::Cow::into_owned));
    thinking.filter(|thinking| !thinking.is_empty())
}
