//! One log: lines into messages, tool calls and billed responses.

mod turns;

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::record::{Event, Line, Member, Part, State};
use super::{AGENT, MAIN, place_of, tools};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::add_line;
use crate::agents::kit::thread::{Parents, Position, Thread, blank};
use crate::agents::tree::Parent;
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Kind, NoteField, Reject, Request, Sink, error_type, key, session_key};
use crate::source::{Source, name_of, repair};
use crate::tables::{MessageKind, MessageRow, Role, SessionKind, Status, UsageRow};

/// Beginnings of the types of lines that hold nothing for the tables. `agent.` repeats the messages.
const IGNORED: [&str; 33] = [
    "metadata",
    "context.undone",
    "profile.",
    "runtime.",
    "permission.",
    "llm.",
    "token_counting.",
    "plugin",
    "file_history.",
    "full_compaction.",
    "agent.",
    "turn.",
    "prompt.",
    "subagent.",
    "goal.",
    "forked",
    "task.",
    "cron.",
    "tool",
    "mcp.",
    "skill.",
    "shell.",
    "hook.",
    "plan",
    "swarm_mode.",
    "tower",
    "config.",
    "interaction.",
    "interruptionReminder.",
    "session.",
    "event.",
    "error",
    "warning",
];

/// Largest text of a step that is held before it becomes a message. Bytes.
const LARGEST: usize = 16 << 20;

/// Beginnings of folders of sessions that Kimi Work starts for its own needs.
const HELPERS: [&str; 3] = ["ctitle-", "sklsum-", "dvlt-"];

/// Reads a log into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let folder = place_of(source.path).map(|(folder, _)| folder.join("state.json"));
    let bytes = folder.and_then(|path| source.sidecar(&path)).unwrap_or_default();
    let json = repair(&bytes);
    let state: State<'_> = serde_json::from_str(&json).unwrap_or_default();
    let name = name_of(source.path);
    let place = place_of(Path::new(&*name)).and_then(|(folder, agent)| Some((folder.file_name()?.to_str()?, agent)));
    let (session, agent) = place.unwrap_or((source.stem(), MAIN));
    let thread = Thread::new(facts_of(session, agent, &state)).with(Parents::Tree);
    let forked_at = state.forked_from.get().and(state.created.0);
    let mut wire = Wire {
        out,
        thread,
        session: session.to_owned(),
        agent: agent.to_owned(),
        forked_at,
        asked: Asked::default(),
        step: Step::default(),
        response: None,
        is_stopped: false,
        last: None,
        anchors: Vec::new(),
    };
    wire.read_all(&mut source.lines()?)?;
    wire.end_step(None)?;
    wire.thread.finish(wire.out)
}

/// Returns what the place of a log and the session's `state.json` say.
fn facts_of(session: &str, agent: &str, state: &State<'_>) -> Facts {
    let is_helper = HELPERS.iter().any(|helper| session.starts_with(helper));
    let facts = Facts {
        session_id: session.to_owned(),
        kind: if is_helper { SessionKind::SideAgent } else { SessionKind::Session },
        project_path: state.cwd.owned(),
        title: state.title.owned(),
        forked_from_session_id: state.forked_from.owned(),
        ..Facts::default()
    };
    if agent == MAIN {
        return facts;
    }
    let of_agent = |session: &str, agent: &str| format!("{session}/{agent}");
    let members = state.agents.json().and_then(Request::of);
    let member =
        members.and_then(|members| serde_json::from_str::<Member<'_>>(members.get(agent)?).ok()).unwrap_or_default();
    let parent = member.parent.get().filter(|parent| *parent != MAIN && *parent != agent);
    Facts {
        session_id: of_agent(session, agent),
        kind: SessionKind::Subagent,
        title: None,
        parent_session_id: Some(parent.map_or_else(|| session.to_owned(), |parent| of_agent(session, parent))),
        root_session_id: Some(session.to_owned()),
        forked_from_session_id: state.forked_from.get().map(|origin| of_agent(origin, agent)),
        is_subagent: true,
        subagent_type: member.labels.0.and_then(|labels| labels.profile.owned()),
        ..facts
    }
}

struct Wire<'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    session: String,
    agent: String,
    /// When the session was forked. Lines from before are copies. Microseconds since 1970.
    forked_at: Option<i64>,
    /// The last request to the model.
    asked: Asked,
    step: Step,
    /// The billed response whose step has not ended yet.
    response: Option<Response>,
    /// True if the person stopped the turn.
    is_stopped: bool,
    /// Key of the last message of the conversation.
    last: Option<u64>,
    /// For each message that the person can go back to, the key of the message before it.
    anchors: Vec<Option<u64>>,
}

#[derive(Default)]
struct Asked {
    alias: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    /// When it was made; none once its response was recorded. Microseconds since 1970.
    moment: Option<i64>,
}

/// One request to the model, up to the end of its tool calls.
#[derive(Default)]
struct Step {
    id: String,
    text: String,
    thinking: String,
    /// Of the first record.
    moment: Option<i64>,
    line: Option<i64>,
    /// `seq` of its message, if it is in the session.
    seq: Option<i64>,
}

struct Response {
    id: String,
    /// When it was requested. Microseconds since 1970.
    began: Option<i64>,
    /// When it was recorded, at its end. Microseconds since 1970.
    moment: Option<i64>,
    line: Option<i64>,
    turn: Option<i64>,
    model: Option<String>,
    effort: Option<String>,
    /// Tokens: input, read from the cache, written to it, output.
    tokens: [Option<i64>; 4],
}

impl<'s> RecordReader<'s> for Wire<'_, 's> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"type\"", "{\"message\"", "{\"turnId\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let at = self.position("", line.time.0, i64::try_from(number).ok());
        match line.kind.get().unwrap_or_default() {
            "context.append_message" => {
                return line.message.0.as_ref().map_or(Ok(()), |message| self.take_message(message, at));
            }
            "context.append_loop_event" => {
                return line.event.0.as_ref().map_or(Ok(()), |event| self.take_event(event, at));
            }
            "usage.record" => return self.take_usage(line, at),
            "turn.ended" => return self.end_turn(line, at),
            "turn.step.retrying" => {
                let (name, text) = (line.error_name.get(), line.error_message.get());
                return self.take_error(at, "retry", text, Some(error_type(name, line.status.0, text)), None);
            }
            "context.apply_compaction" => {
                self.anchors.clear();
                let id = self.own_id(at.moment, "compaction");
                let text = line.summary.get().or(line.context_summary.get());
                let row = MessageRow { text, ..blank(Role::System, MessageKind::Compaction) };
                return self.push(Position { id: &id, ..at }, row);
            }
            "context.undo" => self.undo(line, at),
            "context.clear" => self.anchors.clear(),
            "turn.prompt" => self.is_stopped = false,
            "turn.cancel" => self.is_stopped = true,
            "llm.request" => {
                let (alias, model) = (line.alias.owned(), line.model.owned());
                let effort = line.effort.owned().filter(|effort| !is_switch(effort));
                self.asked = Asked { alias, model, effort, moment: at.moment };
            }
            "subagent.spawned" => self.take_subagent(line),
            kind if IGNORED.iter().any(|ignored| kind.starts_with(ignored)) => {}
            kind => self.out.unknown(&format!("record {kind}")),
        }
        Ok(())
    }
}

/// Returns true if thinking is only on or off.
fn is_switch(effort: &str) -> bool {
    matches!(effort, "on" | "off")
}

impl Wire<'_, '_> {
    fn position<'r>(&self, id: &'r str, moment: Option<i64>, line: Option<i64>) -> Position<'r> {
        let is_copy = self.forked_at.is_some_and(|forked_at| moment.is_none_or(|moment| moment < forked_at));
        Position { id, moment, line, is_copy }
    }

    /// The id of a record that has none. Forks copy it with its time.
    fn own_id(&self, moment: Option<i64>, what: &str) -> String {
        let Some(moment) = moment else { return format!("{}#{what}", self.thread.id()) };
        format!("{}:{}:{what}", self.agent, moment / 1000)
    }

    /// Adds a message after the last one, unless the session has it.
    fn push(&mut self, at: Position<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        if !self.thread.is_new(Kind::Message, at.id) {
            return Ok(());
        }
        self.last = Some(key(AGENT, Kind::Message, at.id));
        self.thread.tree.add(self.last, &Parent::Before, false, true);
        self.thread.push(&at, row, self.out).map(drop)
    }

    fn take_event(&mut self, event: &Event<'_>, at: Position<'_>) -> Result<(), Reject> {
        match event.kind.get().unwrap_or_default() {
            "step.begin" if event.id.is(&self.step.id) => Ok(()),
            "step.begin" => {
                self.end_step(None)?;
                self.enter(event.id.get(), at)
            }
            "content.part" => {
                self.enter(event.step.get(), at)?;
                let is_new = event.id.get().is_none_or(|id| self.thread.is_new(Kind::Presence, id));
                if is_new && let Some(part) = &event.part.0 {
                    self.take_part(part, at)?;
                }
                Ok(())
            }
            "tool.call" => {
                self.enter(event.step.get(), at)?;
                self.push_step(Some("tool_use"))?;
                self.open_call(event, at)
            }
            "tool.result" => self.close_call(event, at),
            "step.end" => {
                self.enter(event.id.get(), at)?;
                self.end_step(Some(event))
            }
            kind => {
                self.out.unknown(&format!("event {kind}"));
                Ok(())
            }
        }
    }

    /// Goes on to the step of an event. A damaged log may lack the beginning of a step.
    fn enter(&mut self, step: Option<&str>, at: Position<'_>) -> Result<(), Reject> {
        let Some(id) = step.filter(|id| *id != self.step.id) else { return Ok(()) };
        self.push_step(None)?;
        self.step = Step { id: id.to_owned(), moment: at.moment, line: at.line, ..Step::default() };
        Ok(())
    }

    fn take_part(&mut self, part: &Part<'_>, at: Position<'_>) -> Result<(), Reject> {
        let step = &mut self.step;
        if step.text.is_empty() && step.thinking.is_empty() {
            (step.moment, step.line) = (at.moment, at.line);
        }
        if let Some(text) = part.text.get() {
            add_line(&mut step.text, text);
        }
        if let Some(thinking) = part.thinking.get() {
            add_line(&mut step.thinking, thinking);
        }
        if step.text.len() + step.thinking.len() > LARGEST { self.push_step(None) } else { Ok(()) }
    }

    /// Adds the message of the step, if there is something to say. Text after its tool calls is a message of its own.
    fn push_step(&mut self, stop_reason: Option<&str>) -> Result<(), Reject> {
        let is_silent = self.step.text.is_empty() && self.step.thinking.is_empty();
        if is_silent && (self.step.seq.is_some() || self.response.is_none() && stop_reason.is_none()) {
            return Ok(());
        }
        let Step { id, text, thinking, moment, line, seq } = std::mem::take(&mut self.step);
        let print = || format!("{:016x}", xxh3_64([&*text, &*thinking].concat().as_bytes()));
        let message = match seq {
            None if id.is_empty() => self.own_id(moment, &print()),
            None => id.clone(),
            Some(_) => format!("{id}#{}", print()),
        };
        let response = self.response.as_ref().filter(|_| seq.is_none());
        let model = response.and_then(|response| response.model.clone()).or_else(|| self.asked.model.clone());
        let response = response.map(|response| response.id.clone());
        self.step = Step { id, moment, line, seq: seq.or(Some(self.thread.seq)), ..Step::default() };
        let row = MessageRow {
            text: Some(&*text).filter(|text| !text.is_empty()),
            thinking: Some(&*thinking).filter(|thinking| !thinking.is_empty()),
            model: model.as_deref(),
            response_id: response.as_deref(),
            stop_reason,
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        if response.is_some() && model.is_some() && model == self.asked.model {
            self.out.from_companion(Kind::Message, &message);
        }
        self.push(self.position(&message, moment, line), row)
    }

    /// Takes the tokens of a response. The program writes zeros for one that was stopped, though tokens were served.
    fn take_usage(&mut self, line: &Line<'_>, at: Position<'_>) -> Result<(), Reject> {
        let Some(usage) = &line.usage.0 else { return Ok(()) };
        let tokens = [usage.input, usage.cache_read, usage.cache_write, usage.output].map(|count| count.0);
        let counts = tokens.map(|count| count.unwrap_or(0));
        let [input, cache_read, cache_write, output] = counts;
        let id = self.own_id(at.moment, &format!("{input}+{cache_read}+{cache_write}+{output}"));
        let is_asked = line.model.get().is_none_or(|alias| self.asked.alias.as_deref() == Some(alias));
        let began = self.asked.moment.take().filter(|_| is_asked);
        if counts == [0; 4] || !self.thread.is_new(Kind::Response, &id) {
            return Ok(());
        }
        let asked = self.asked.model.clone().filter(|_| is_asked);
        if asked.is_some() {
            self.out.from_companion(Kind::Response, &id);
        }
        let model = asked.or_else(|| line.model.owned());
        let (turn, effort) = (self.thread.turn, self.asked.effort.clone());
        let response = Response { id, began, moment: at.moment, line: at.line, turn, model, effort, tokens };
        if line.scope.is("session") {
            return self.bill(&response, None, self.thread.last_seq(), None);
        }
        self.bill_open(None)?;
        self.response = Some(response);
        Ok(())
    }

    /// Ends the step: its message is complete, and its response is billed.
    fn end_step(&mut self, end: Option<&Event<'_>>) -> Result<(), Reject> {
        let stop_reason = end.and_then(|end| end.finish.get()).filter(|_| self.has_content());
        self.push_step(stop_reason)?;
        self.bill_open(end)
    }

    /// Returns true if the step has text that is no message yet, or a response.
    fn has_content(&self) -> bool {
        !self.step.text.is_empty() || !self.step.thinking.is_empty() || self.response.is_some()
    }

    fn bill_open(&mut self, end: Option<&Event<'_>>) -> Result<(), Reject> {
        let Some(response) = self.response.take() else { return Ok(()) };
        let id = Some(self.step.id.clone()).filter(|id| !id.is_empty() && self.step.seq.is_some());
        self.bill(&response, id.as_deref(), self.step.seq.unwrap_or(self.thread.last_seq()), end)
    }

    fn bill(
        &mut self,
        response: &Response,
        message_id: Option<&str>,
        seq: i64,
        end: Option<&Event<'_>>,
    ) -> Result<(), Reject> {
        let [input_tokens, cache_read_tokens, cache_write_5m_tokens, output_tokens] = response.tokens;
        let first_token_ms = end.and_then(|end| end.first_token_ms.0).filter(|ms| *ms >= 0);
        let stream_ms = end.and_then(|end| end.stream_ms.0).filter(|ms| *ms >= 0);
        let duration_ms = first_token_ms.zip(stream_ms).map(|(first, stream)| first.saturating_add(stream));
        let before = |moment: i64| Some(moment.saturating_sub(duration_ms?.saturating_mul(1000)));
        let row = UsageRow {
            message_id,
            response_id: &response.id,
            request_id: end.and_then(|end| end.message.get()),
            turn: response.turn,
            timestamp: response.began.or_else(|| response.moment.and_then(before)),
            model: response.model.as_deref(),
            reasoning_effort: response.effort.as_deref(),
            input_tokens,
            cache_read_tokens,
            cache_write_5m_tokens,
            output_tokens,
            duration_ms,
            time_to_first_token_ms: first_token_ms,
            stop_reason: end.and_then(|end| end.finish.get()),
            ..UsageRow::default()
        };
        self.thread.bill(&self.position("", response.moment, response.line), row, seq, self.out)
    }

    fn open_call(&mut self, event: &Event<'_>, at: Position<'_>) -> Result<(), Reject> {
        let Some(call) = tools::call(event) else { return Ok(()) };
        if !self.thread.is_new(Kind::ToolCall, &call.id) {
            return Ok(());
        }
        let message_id = Some(self.step.id.clone()).filter(|id| !id.is_empty());
        let response_id = self.response.as_ref().map(|response| response.id.clone());
        let name = event.call.get().unwrap_or(&call.id).to_owned();
        let call = Call { message_id, response_id, ..call };
        self.thread.open_named_call(&at, Some(&name), call, self.out)
    }

    fn close_call(&mut self, event: &Event<'_>, at: Position<'_>) -> Result<(), Reject> {
        let (Some(result), Some(name)) = (&event.result.0, event.call.get().or(event.parent.get())) else {
            return Ok(());
        };
        let end = Outcome { ended_at: at.moment, ..tools::outcome(result, self.is_stopped) };
        let call_id = event.parent.owned().unwrap_or_else(|| self.own_id(at.moment, name));
        let id = format!("{call_id}#result");
        let is_error = end.status != Status::Ok;
        self.push(Position { id: &id, ..at }, MessageRow { is_error, ..blank(Role::Tool, MessageKind::ToolResult) })?;
        let Some(call) = self.thread.calls.take(name) else { return Ok(()) };
        self.thread.close_call(&call, &end, self.out)
    }

    fn take_subagent(&mut self, line: &Line<'_>) {
        let Some(agent) = line.subagent.get() else { return };
        let child = format!("{}/{agent}", self.session);
        if let Some(title) = line.description.get() {
            self.out.note(NoteField::Title, session_key(AGENT, &child), 0, title);
        }
        if let Some(call) = line.parent_call.get().and_then(|name| self.thread.calls.get(name)) {
            call.child.get_or_insert(child);
        }
    }
}
