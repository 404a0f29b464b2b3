//! `history-session-state/session_*.json`: the chats of the oldest versions, one document each. The program later
//! imports them into events with the same ids; then only the events count.

use std::collections::HashMap;

use super::AGENT;
use super::pending::object_of;
use super::record::{Arguments, LegacyCall, LegacyChat, LegacyEntry, LegacyMessage};
use super::tools;
use crate::agents::ids::{self, Prints};
use crate::extract::{Facts, Kind, Reject, Sink, session_key};
use crate::source::{Source, repair};
use crate::tables::{Category, MessageKind, MessageRow, Role, Status, ToolCallRow, Vocabulary};

/// Reads a chat.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let document = source.document()?;
    out.line();
    let Some(document) = document else {
        out.problem(1, "the chat is larger than 32 MiB");
        return Ok(());
    };
    let text = repair(&document);
    let chat: LegacyChat<'_> = match serde_json::from_str(&text) {
        Ok(chat) => chat,
        Err(error) => {
            out.problem(1, &format!("no JSON object: {error}"));
            return Ok(());
        }
    };
    out.unknown_fields("field ", &chat.unknown);
    let by_name = source.stem().strip_prefix("session_").unwrap_or_default();
    let session = chat.session.get().unwrap_or(by_name);
    let index = ChatIndex::of(&chat);
    let prints = Prints::default();
    Reader { session, chat: &chat, index, out, prints, seq: 0, turn: None, shown: 0, last: None }.read()
}

/// Facts about messages and calls from other parts of the chat.
#[derive(Default)]
struct ChatIndex<'c> {
    /// Places in the timeline of each text, in order, with their times.
    shown: HashMap<&'c str, Vec<(usize, Option<i64>)>>,
    /// Results by call.
    results: HashMap<&'c str, &'c str>,
    /// The first entry for the end of each call.
    ended: HashMap<&'c str, &'c LegacyEntry<'c>>,
}

impl<'c> ChatIndex<'c> {
    fn of(chat: &'c LegacyChat<'c>) -> Self {
        let mut index = Self::default();
        for (place, entry) in timeline(chat).enumerate() {
            if let Some(text) = entry.text.0.as_deref() {
                index.shown.entry(text).or_default().push((place, entry.timestamp.0));
            }
            if let Some(call) = entry.call.get().filter(|_| entry.kind.is("tool_call_completed")) {
                index.ended.entry(call).or_insert(entry);
            }
        }
        for message in chat.messages.0.iter().filter_map(|message| message.0.as_ref()) {
            if let (Some(call), Some(content)) = (message.call.get(), message.content.get()) {
                index.results.entry(call).or_insert(content);
            }
        }
        index
    }
}

fn timeline<'c>(chat: &'c LegacyChat<'c>) -> impl Iterator<Item = &'c LegacyEntry<'c>> + use<'c> {
    chat.timeline.0.iter().filter_map(|entry| entry.0.as_ref())
}

struct Reader<'c, 'o, 'a> {
    session: &'c str,
    chat: &'c LegacyChat<'c>,
    index: ChatIndex<'c>,
    out: &'o mut Sink<'a>,
    /// Names messages, which have no ids, and calls without one.
    prints: Prints,
    seq: i64,
    turn: Option<i64>,
    /// Number of entries of the timeline that were passed.
    shown: usize,
    last: Option<String>,
}

impl<'c> Reader<'c, '_, '_> {
    fn read(mut self) -> Result<(), Reject> {
        for message in self.chat.messages.0.iter().filter_map(|message| message.0.as_ref()) {
            if message.role.is("tool") {
                continue;
            }
            self.take(message)?;
        }
        let moments = timeline(self.chat).filter_map(|entry| entry.timestamp.0);
        let first_moment = moments.chain(self.chat.started.0).min();
        self.out.end_session(Facts { session_id: self.session.to_owned(), first_moment, ..Facts::default() })
    }

    fn take(&mut self, message: &'c LegacyMessage<'c>) -> Result<(), Reject> {
        let (role, kind) = match message.role.get() {
            Some("user") => (Role::User, MessageKind::Prompt),
            Some("assistant") => (Role::Assistant, MessageKind::Reply),
            _ => (Role::System, MessageKind::Meta),
        };
        if kind == MessageKind::Prompt {
            self.turn = Some(self.turn.unwrap_or(0) + 1);
        }
        let text = message.content.get();
        let calls = message.calls.0.iter().filter_map(|call| call.0.as_ref()?.id.get());
        let id = format!("{}#{}", self.session, self.prints.name(role.as_str(), None, text.into_iter().chain(calls)));
        let timestamp = self.moment_of(text);
        let row = MessageRow {
            session_id: self.session,
            seq: self.seq,
            message_id: &id,
            parent_id: self.last.as_deref(),
            turn: self.turn,
            timestamp,
            role,
            kind,
            text,
            model: self.chat.model.get().filter(|_| kind == MessageKind::Reply),
            ..MessageRow::default()
        };
        self.out.message(row, false)?;
        self.out.yields_to(Kind::Message, &id, session_key(AGENT, self.session), None);
        self.seq += 1;
        for call in message.calls.0.iter().filter_map(|call| call.0.as_ref()) {
            self.take_call(call, &id, timestamp)?;
        }
        self.last = Some(id);
        Ok(())
    }

    /// Returns the time at which a text was shown. The entries are in the order of the messages.
    fn moment_of(&mut self, text: Option<&str>) -> Option<i64> {
        let places = self.index.shown.get(text?)?;
        let (place, moment) = *places.get(places.partition_point(|(place, _)| *place < self.shown))?;
        self.shown = place + 1;
        moment
    }

    fn take_call(&mut self, call: &LegacyCall<'_>, message: &str, at: Option<i64>) -> Result<(), Reject> {
        let named = call.id.get();
        let function = call.function.0.as_ref();
        let id = match named {
            Some(id) => ids::qualified(self.session, id).into_owned(),
            None => {
                let parts = function.map(|function| [function.name.get(), function.arguments.json()]);
                let parts = parts.into_iter().flatten().chain([Some(message)]).flatten();
                format!("{message}#{}", self.prints.name("call", None, parts))
            }
        };
        let name = function.and_then(|function| function.name.get()).unwrap_or("unknown");
        let input = function.and_then(|function| function.arguments.json()).map(object_of);
        let arguments: Arguments<'_> = serde_json::from_str(input.as_deref().unwrap_or_default()).unwrap_or_default();
        let category = tools::category(name, false, &arguments);
        let output = named.and_then(|id| self.index.results.get(id).copied());
        let ended = named.and_then(|id| self.index.ended.get(id).copied());
        let result = ended.and_then(|entry| entry.result.0.as_ref()).and_then(|result| result.kind.get());
        let exit_code = output.filter(|_| category == Category::Shell).and_then(tools::exit_code_in);
        let status = match result {
            Some("rejected") => Status::Rejected,
            Some("failure" | "denied" | "timeout") => Status::Error,
            _ if output.is_none() => Status::Pending,
            _ if exit_code.is_some_and(|code| code != 0) => Status::Error,
            _ => output.map_or(Status::Ok, tools::status_of_text),
        };
        let row = ToolCallRow {
            session_id: self.session,
            seq: self.seq,
            call_id: &id,
            message_id: Some(message),
            turn: self.turn,
            name,
            category,
            input: input.as_deref(),
            command: arguments.command.get().filter(|_| tools::runs_command(name)),
            file_path: arguments.path.get().filter(|_| category.has_file()),
            status,
            is_denied: result.map(|result| result == "denied"),
            exit_code,
            output,
            started_at: at,
            ended_at: ended.and_then(|entry| entry.timestamp.0),
            ..ToolCallRow::default()
        };
        self.out.tool_call(row, false)?;
        self.out.yields_to(Kind::ToolCall, &id, session_key(AGENT, self.session), None);
        self.seq += 1;
        Ok(())
    }
}
