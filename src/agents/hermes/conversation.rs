//! One session: what was said in it, from rows of the database or lines of a transcript.

use std::collections::VecDeque;

use xxhash_rust::xxh3::Xxh3;

use super::AGENT;
use super::tools::{call, outcome};
use crate::agents::ids::qualified;
use crate::agents::kit::calls::Call;
use crate::agents::kit::texts::string_of;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key};
use crate::source::records::{List, Object, Raw, Text, record};
use crate::tables::{Category, MessageKind, MessageRow, Role, Status};

/// Openings of summaries, and of the texts that a skill puts before what was typed.
const SUMMARIES: [&str; 2] = ["[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:"];
const SKILLS: [&str; 2] = ["[IMPORTANT: The user has invoked the", "[SYSTEM: The user has invoked the"];
/// Time by which the start of a subagent may differ from that of its call. Microseconds.
const TOLERANCE: i64 = 1_000_000;

record! {
    /// A call of a tool.
    Made<'a> { id: Text<'a> = "id" | "call_id", function: Object<Function<'a>> = "function" }

    /// The tool and its arguments, as JSON in a text.
    Function<'a> { name: Text<'a> = "name", arguments: Raw<'a> = "arguments" }
}

/// A message.
#[derive(Default)]
pub(super) struct StoredMessage<'r> {
    /// Its number in the database.
    pub(super) row: Option<i64>,
    pub(super) role: &'r str,
    pub(super) text: Option<&'r str>,
    pub(super) reasoning: Option<&'r str>,
    /// JSON.
    pub(super) calls: Option<&'r str>,
    pub(super) call_id: Option<&'r str>,
    pub(super) tool: Option<&'r str>,
    /// Microseconds since 1970.
    pub(super) moment: Option<i64>,
    pub(super) stop: Option<&'r str>,
    /// True if a compaction put it aside.
    pub(super) is_archived: bool,
    /// True if the person took it back.
    pub(super) is_undone: bool,
    /// Line of the source, from 1.
    pub(super) line: Option<i64>,
}

impl StoredMessage<'_> {
    /// A hash of what is said, which copies have too.
    pub(super) fn hash(&self) -> u64 {
        let mut hasher = Xxh3::new();
        for text in [Some(self.role), self.text, self.calls, self.call_id] {
            hasher.update(text.unwrap_or_default().as_bytes());
            hasher.update(&[0xff]);
        }
        hasher.digest()
    }

    fn begins(&self, openings: &[&str]) -> bool {
        self.text.is_some_and(|text| openings.iter().any(|opening| text.trim_start().starts_with(opening)))
    }
}

/// A session while it is read.
pub(super) struct Conversation<'o, 's> {
    pub(super) out: &'o mut Sink<'s>,
    pub(super) thread: Thread,
    pub(super) model: Option<String>,
    /// Hashes of the messages of the session that this one branched from.
    pub(super) copied: KeySet,
    /// Subagents by their starts.
    pub(super) children: VecDeque<(i64, String)>,
    /// True if the database may have the session.
    pub(super) yields: bool,
    /// When the last message was written. Microseconds since 1970.
    pub(super) last: Option<i64>,
    /// Hashes of the messages that compactions put aside.
    archived: KeySet,
    /// True if the last message was put aside.
    was_archived: bool,
    /// True from a compaction until the person says something new. Until then, a message that was put aside may come again.
    may_be_copy: bool,
    abandoned: Vec<usize>,
}

impl<'o, 's> Conversation<'o, 's> {
    pub(super) fn new(facts: Facts, model: Option<String>, out: &'o mut Sink<'s>) -> Self {
        Self {
            out,
            thread: Thread::new(facts),
            model,
            copied: KeySet::default(),
            children: VecDeque::new(),
            yields: false,
            last: None,
            archived: KeySet::default(),
            was_archived: false,
            may_be_copy: false,
            abandoned: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, message: &StoredMessage<'_>) -> Result<(), Reject> {
        let hash = message.hash();
        if !self.copied.is_empty() {
            if self.copied.contains(&hash) {
                if message.role == "user" {
                    self.thread.begin_turn();
                }
                return Ok(());
            }
            // After the first message of its own, nothing is a copy.
            self.copied.clear();
        }
        let was_archived = std::mem::replace(&mut self.was_archived, message.is_archived);
        self.may_be_copy |= was_archived && !message.is_archived || message.begins(&SUMMARIES);
        if self.may_be_copy && self.archived.contains(&hash) {
            return Ok(());
        }
        self.may_be_copy &= message.role != "user" || message.begins(&SUMMARIES);
        if message.is_archived {
            self.archived.insert(hash);
        }
        self.last = self.last.max(message.moment);
        match message.role {
            "user" => self.take_prompt(message),
            "assistant" => self.take_reply(message),
            "tool" => self.take_result(message),
            "session_meta" | "system" => Ok(()),
            role => {
                self.out.unknown(&format!("role {role}"));
                Ok(())
            }
        }
    }

    fn id_of(&mut self, message: &StoredMessage<'_>) -> String {
        match message.row {
            Some(row) => format!("{}#{row}", self.thread.id()),
            None => {
                self.thread.print(message.role, message.moment, [message.text, message.calls].into_iter().flatten())
            }
        }
    }

    fn take_prompt(&mut self, message: &StoredMessage<'_>) -> Result<(), Reject> {
        let kind = match () {
            () if message.begins(&SUMMARIES) => MessageKind::Compaction,
            () if message.begins(&SKILLS) => MessageKind::Command,
            () => MessageKind::Prompt,
        };
        if kind != MessageKind::Compaction {
            self.thread.begin_turn();
        }
        let id = self.id_of(message);
        self.push(&id, message, MessageRow { text: message.text, ..blank(Role::User, kind) })
    }

    fn take_reply(&mut self, message: &StoredMessage<'_>) -> Result<(), Reject> {
        let id = self.id_of(message);
        let model = self.model.clone();
        let row = MessageRow {
            text: message.text,
            thinking: message.reasoning,
            model: model.as_deref(),
            stop_reason: message.stop,
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        self.push(&id, message, row)?;
        let made: List<Object<Made<'_>>> =
            message.calls.and_then(|calls| serde_json::from_str(calls).ok()).unwrap_or_default();
        for (place, made) in made.0.iter().filter_map(|made| made.0.as_ref()).enumerate() {
            let function = made.function.0.as_ref();
            let name = function.and_then(|function| function.name.get()).unwrap_or("unknown");
            let arguments = function.and_then(|function| function.arguments.json());
            let arguments = arguments.map(|json| string_of(json).unwrap_or(json.into()));
            let own = match made.id.get() {
                Some(own) => qualified(&id, own).into_owned(),
                None => format!("{id}#{place}"),
            };
            if !self.thread.is_new(Kind::ToolCall, &own) {
                continue;
            }
            self.yield_row(Kind::ToolCall, &own);
            let call = Call {
                id: own,
                message_id: Some(id.clone()),
                status: Status::Interrupted,
                ..call(name, arguments.as_deref())
            };
            let at = Position { line: message.line, ..Position::new(&id, message.moment) };
            self.thread.open_named_call(&at, made.id.get(), call, self.out)?;
        }
        Ok(())
    }

    fn take_result(&mut self, message: &StoredMessage<'_>) -> Result<(), Reject> {
        let id = self.id_of(message);
        let tool = message.tool.unwrap_or("unknown");
        let at = Position { line: message.line, ..Position::new(&id, message.moment) };
        let own = format!("{id}:call");
        let make = |_: &mut Thread| Call { id: own, ..call(tool, None) };
        let end = outcome(message.text, message.moment);
        let is_error = end.status == Status::Error;
        if let Some(call) = self.thread.take_call(&at, message.call_id.unwrap_or(&id), make) {
            let child = if call.category == Category::Task { self.child_of(&call, message.moment) } else { None };
            self.thread.close_call(&Call { child, ..call }, &end, self.out)?;
        }
        self.push(&id, message, MessageRow { is_error, ..blank(Role::Tool, MessageKind::ToolResult) })
    }

    /// The subagent that a call started: the first one of those that began during the call.
    fn child_of(&mut self, call: &Call, ended_at: Option<i64>) -> Option<String> {
        let (start, end) = call.started_at.zip(ended_at)?;
        let is_of_call = |(began, _): &(i64, String)| (start - TOLERANCE..=end + TOLERANCE).contains(began);
        let place = self.children.iter().position(is_of_call)?;
        self.children.remove(place).map(|(_, child)| child)
    }

    fn push(&mut self, id: &str, message: &StoredMessage<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        if !self.thread.is_new(Kind::Message, id) {
            return Ok(());
        }
        let at = Position { line: message.line, ..Position::new(id, message.moment) };
        let place = self.thread.push(&at, row, self.out)?;
        if message.is_undone {
            self.abandoned.push(place);
        }
        self.yield_row(Kind::Message, id);
        Ok(())
    }

    fn yield_row(&mut self, kind: Kind, id: &str) {
        if self.yields {
            self.out.yields_to(kind, id, stored_key(self.thread.id()), None);
        }
    }

    pub(super) fn finish(self) -> Result<(), Reject> {
        if self.thread.has_rows {
            if !self.yields {
                self.out.claim(stored_key(self.thread.id()), false);
            }
            self.out.abandon(&self.abandoned);
        }
        self.thread.finish(self.out)
    }
}

/// Key of the fact that the database has a session.
fn stored_key(session: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("stored:{session}"))
}
