//! `updates.jsonl`: what happened, piece by piece, and what each turn was billed for.

use std::borrow::Cow;
use std::collections::HashMap;

use super::items::{Items, Known, Writer};
use super::record::{Content, Line, Meta, Summary, Update, Wrapped};
use super::turns::Turns;
use super::{HISTORY, facts_of, log_key, tools};
use crate::agents::held::MOST_IN_REPLY;
use crate::agents::ids::qualified;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::{join, string_of};
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Kind, NoteField, Reject, Sink, error_type, session_key};
use crate::source::Source;
use crate::source::records::{List, Object, Raw};
use crate::tables::{Category, MessageKind, MessageRow, Role};

/// Updates that hold nothing for the tables.
const IGNORED: [&str; 10] = [
    "plan",
    "subagent_finished",
    "subagent_progress",
    "workflow_updated",
    "goal_updated",
    "response_started",
    "response_completed",
    "available_commands_update",
    "current_mode_update",
    "usage_update",
];

/// Reads a session.
pub(super) fn extract(source: &mut Source<'_>, summary: &Summary<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let history = source.path.with_file_name(HISTORY);
    let lines = source.beside(&history).and_then(|mut history| history.lines().ok());
    let items = lines.map(|mut lines| Items::read(&mut lines)).unwrap_or_default();
    let facts = facts_of(source, summary);
    let mut log = Log {
        out,
        items,
        outputs: HashMap::new(),
        created: summary.created.0,
        model: summary.model.owned(),
        effort: summary.effort.owned(),
        turn_effort: None,
        thread: Thread::new(facts),
        pending: PendingMessage::default(),
        turns: Turns::default(),
        places: Vec::new(),
        index: 0,
    };
    log.read_all(&mut source.lines()?)?;
    log.finish(source)
}

/// Pieces of a message that belong together.
#[derive(Default)]
struct PendingMessage {
    is_users: bool,
    prompt: Option<String>,
    text: String,
    thinking: String,
    attachments: i64,
    moment: Option<i64>,
    line: u64,
    /// Messages of the model within the prompt so far.
    replies: u64,
    has_pieces: bool,
}

struct Log<'o, 's> {
    out: &'o mut Sink<'s>,
    items: Items,
    /// Outputs of open calls, as the model saw them, by the calls' ids.
    outputs: HashMap<String, String>,
    /// Microseconds since 1970.
    created: Option<i64>,
    model: Option<String>,
    /// The session's reasoning effort, and that of the turn's last reply.
    effort: Option<String>,
    turn_effort: Option<String>,
    thread: Thread,
    pending: PendingMessage,
    turns: Turns,
    /// The messages that still count, each with the number of its prompt.
    places: Vec<(i64, usize)>,
    /// Number of the current prompt.
    index: i64,
}

impl<'s> RecordReader<'s> for Log<'_, 's> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"timestamp\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let Some(params) = &line.params.0 else { return Ok(()) };
        let Some(update) = &params.update.0 else { return Ok(()) };
        let nothing = Meta::default();
        let meta = params.meta.0.as_ref().unwrap_or(&nothing);
        let moment = meta.moment.0.or(line.timestamp.0);
        let at = self.at("", moment, number);
        match update.kind.get().unwrap_or_default() {
            "user_message_chunk" => self.hear(true, update, meta, &at),
            "agent_message_chunk" | "agent_thought_chunk" => self.hear(false, update, meta, &at),
            "tool_call" => self.open(update, &at),
            "tool_call_update" => self.update(update, &at),
            "turn_completed" => self.end_turn(update, &at),
            "subagent_spawned" => {
                self.note_child(update, moment);
                Ok(())
            }
            "compaction_checkpoint" => {
                let id =
                    update.checkpoint.get().map_or_else(|| self.thread.print("compaction", moment, []), str::to_owned);
                self.flush()?;
                self.push(&self.at(&id, moment, number), blank(Role::System, MessageKind::Compaction))
            }
            "rewind_marker" => {
                self.flush()?;
                self.rewind(update.target.0.unwrap_or(i64::MAX));
                Ok(())
            }
            kind if IGNORED.contains(&kind) => Ok(()),
            kind => {
                self.out.unknown(&format!("update {kind}"));
                Ok(())
            }
        }
    }
}

impl Log<'_, '_> {
    /// A position. What is older than the session was copied into it.
    fn at<'i>(&self, id: &'i str, moment: Option<i64>, line: u64) -> Position<'i> {
        let is_copy = self.created.zip(moment).is_some_and(|(created, moment)| moment < created);
        Position { is_copy, ..Position::on_line(id, moment, line) }
    }

    /// Takes a piece of a message.
    fn hear(&mut self, is_users: bool, update: &Update<'_>, meta: &Meta<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let prompt = meta.prompt.get();
        let is_full = self.pending.text.len() + self.pending.thinking.len() > MOST_IN_REPLY;
        let is_other = prompt.is_some_and(|prompt| self.pending.prompt.as_deref() != Some(prompt));
        if self.pending.is_users != is_users || is_other || is_full {
            self.flush()?;
            self.pending.is_users = is_users;
        }
        if let Some(prompt) = prompt.filter(|prompt| self.pending.prompt.as_deref() != Some(*prompt)) {
            self.pending.prompt = Some(prompt.to_owned());
            self.pending.replies = 0;
        }
        if is_users {
            self.index = meta.index.0.unwrap_or(if self.pending.has_pieces { self.index } else { self.index + 1 });
        }
        let content: Content<'_> = parse(update.content);
        let is_thought = update.kind.is("agent_thought_chunk");
        let pending = &mut self.pending;
        if !pending.has_pieces {
            (pending.moment, pending.line) =
                (at.moment, at.line.and_then(|line| u64::try_from(line).ok()).unwrap_or_default());
        }
        pending.has_pieces = true;
        match content.text.get() {
            Some(text) => (if is_thought { &mut pending.thinking } else { &mut pending.text }).push_str(text),
            None => pending.attachments += i64::from(content.kind.get().is_some_and(|kind| kind != "text")),
        }
        Ok(())
    }

    /// Adds the message whose pieces were heard.
    fn flush(&mut self) -> Result<(), Reject> {
        if !std::mem::take(&mut self.pending.has_pieces) {
            return Ok(());
        }
        let (text, thinking) = (std::mem::take(&mut self.pending.text), std::mem::take(&mut self.pending.thinking));
        let (is_users, attachments) = (self.pending.is_users, std::mem::take(&mut self.pending.attachments));
        let (moment, line) = (self.pending.moment, self.pending.line);
        let role = if is_users { "user" } else { "assistant" };
        let id = match &self.pending.prompt {
            Some(prompt) if is_users && !self.thread.has(Kind::Message, prompt) => prompt.clone(),
            Some(prompt) => {
                self.pending.replies += 1;
                format!("{prompt}:{}", self.pending.replies)
            }
            None => self.thread.print(role, moment, [text.as_str(), thinking.as_str()]),
        };
        let shown = if is_users { query(&text) } else { &text };
        let (role, kind) = match is_users {
            true => (Role::User, MessageKind::Prompt),
            false => (Role::Assistant, MessageKind::Reply),
        };
        if is_users {
            self.thread.begin_turn();
        }
        let nobody = Writer::default();
        let writer = self.items.writer(&text).filter(|_| !is_users && !text.is_empty()).unwrap_or(&nobody);
        self.turn_effort = writer.effort.clone().or(self.turn_effort.take()).filter(|_| !is_users);
        let model = writer.model.clone();
        if model.is_some() {
            self.out.from_companion(Kind::Message, &id);
        }
        let row = MessageRow {
            text: Some(shown).filter(|text| !text.is_empty()),
            thinking: Some(thinking.as_str()).filter(|text| !text.is_empty()),
            attachments,
            model: model.as_deref(),
            ..blank(role, kind)
        };
        self.push(&self.at(&id, moment, line), row)
    }

    fn push(&mut self, at: &Position<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        if self.thread.is_new(Kind::Message, at.id) {
            let place = self.thread.push(at, row, self.out)?;
            self.places.push((self.index, place));
        }
        Ok(())
    }

    fn open(&mut self, update: &Update<'_>, at: &Position<'_>) -> Result<(), Reject> {
        self.flush()?;
        let Some(name) = update.call.get() else { return Ok(()) };
        let id = qualified(self.pending.prompt.as_deref().unwrap_or(self.thread.id()), name).into_owned();
        let Known { name: tool, arguments, output } = self.items.remove(name);
        if tool.is_some() || output.is_some() {
            self.out.from_companion(Kind::ToolCall, &id);
        }
        let input = arguments.or_else(|| update.input.json().map(str::to_owned));
        let call = Call {
            message_id: self.thread.last_reply().map(str::to_owned),
            ..tools::call(tool.as_deref(), update.tool_kind.get(), input.as_deref())
        };
        if !self.thread.is_new(Kind::ToolCall, &id) {
            return Ok(());
        }
        if let Some(output) = output {
            self.outputs.insert(name.to_owned(), output);
        }
        self.thread.open_named_call(at, Some(name), Call { id, ..call }, self.out)?;
        self.update(update, at)
    }

    /// Takes what is said of a call; one that ended is complete.
    fn update(&mut self, update: &Update<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let (Some(name), Some(status @ ("completed" | "failed"))) = (update.call.get(), update.status.get()) else {
            return Ok(());
        };
        self.flush()?;
        let Some(call) = self.thread.calls.take(name) else { return Ok(()) };
        let known = self.outputs.remove(name).map(Cow::Owned);
        let output = known.or_else(|| texts(update.content)).or_else(|| output_of(update.output));
        let status = tools::status(status, output.as_deref());
        let end = Outcome { status, output, ended_at: at.moment, ..Outcome::default() };
        self.thread.close_call(&call, &end, self.out)
    }

    fn end_turn(&mut self, update: &Update<'_>, at: &Position<'_>) -> Result<(), Reject> {
        self.flush()?;
        let effort = self.turn_effort.take().or_else(|| self.effort.clone());
        self.turns.end(update, [self.model.as_deref(), effort.as_deref()], at, &self.thread);
        let id = update.prompt.get().map(|prompt| format!("{prompt}:end"));
        let at = Position { id: id.as_deref().unwrap_or_default(), ..*at };
        let text = update.result.get();
        match update.stop_reason.get() {
            Some("cancelled") => {
                self.thread.calls.interrupt_before(i64::MAX);
                let row = MessageRow { text, ..blank(Role::System, MessageKind::Abort) };
                if id.is_some() { self.push(&at, row) } else { Ok(()) }
            }
            Some("error") if id.is_some() => {
                let error_type = Some(error_type(None, None, text));
                let row = MessageRow { text, is_error: true, error_type, ..blank(Role::System, MessageKind::ApiError) };
                self.push(&at, row)
            }
            _ => Ok(()),
        }
    }

    /// Notes a subagent: the open call that started it, and what only this session says of it.
    fn note_child(&mut self, update: &Update<'_>, moment: Option<i64>) {
        let Some(child) = update.child.get() else { return };
        if let Some(prompt) = update.parent_prompt.get() {
            self.turns.start(prompt, child, moment);
        }
        let key = session_key(self.out.agent(), child);
        for (field, text) in [(NoteField::Title, &update.description), (NoteField::SubagentType, &update.subagent_type)]
        {
            if let Some(text) = text.get() {
                self.out.note(field, key, 0, text);
            }
        }
        let is_free = |call: &Call| call.category == Category::Task && call.child.is_none();
        if let Some(call) = self.thread.calls.find(is_free) {
            call.child = Some(child.to_owned());
        }
    }

    /// Leaves everything from a prompt on.
    fn rewind(&mut self, target: i64) {
        let from = self.places.partition_point(|(index, _)| *index < target);
        let left: Vec<usize> = self.places.drain(from..).map(|(_, place)| place).collect();
        self.out.abandon(&left);
        self.index = target.saturating_sub(1).min(self.index);
    }

    fn finish(mut self, source: &Source<'_>) -> Result<(), Reject> {
        self.flush()?;
        std::mem::take(&mut self.turns).bill(source, &mut self.thread, self.out)?;
        if self.thread.has_rows {
            let log = log_key(self.out.agent(), self.thread.id());
            self.out.claim(log, false);
        }
        self.thread.finish(self.out)
    }
}

fn parse<'j, T: serde::Deserialize<'j> + Default>(raw: Raw<'j>) -> T {
    raw.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}

/// The texts of a call's contents.
fn texts(contents: Raw<'_>) -> Option<Cow<'_, str>> {
    let List(contents) = parse::<List<Object<Wrapped<'_>>>>(contents);
    let texts = contents.into_iter().filter_map(|wrapped| wrapped.0?.content.0?.text.0);
    join(texts.map(|text| Cow::Owned(text.into_owned())))
}

/// An output as stored: a text, or else JSON.
fn output_of(output: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = output.json()?;
    Some(string_of(json).unwrap_or(Cow::Borrowed(json)))
}

/// The person's words within what the program wraps around them.
pub(super) fn query(text: &str) -> &str {
    let inner = text.split_once("<user_query>").and_then(|(_, rest)| rest.split_once("</user_query>"));
    inner.map_or(text, |(inner, _)| inner.trim())
}
