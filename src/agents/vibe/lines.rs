//! Sessions of 2.x, one message a line, and of 1.x, all messages in one document. Messages have no times.

use std::path::Path;

use super::meta::Meta;
use super::tools::{call, outcome};
use super::{AGENT, DOCUMENT, stored_key};
use crate::agents::document::{self, Torn};
use crate::agents::ids::qualified;
use crate::agents::kit::calls::Call;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::agents::total_id;
use crate::extract::jsonl::RecordReader;
use crate::extract::{Kind, Reject, Sink, key};
use crate::source::Source;
use crate::source::records::{Flag, List, Object, Raw, Text, record};
use crate::tables::{MessageKind, MessageRow, Role, Status, UsageRow};

record! {
    /// A message.
    Message<'a> {
        role: Text<'a> = "role",
        content: Text<'a> = "content",
        thinking: Text<'a> = "reasoning_content",
        injected: Flag = "injected",
        id: Text<'a> = "message_id",
        images: List<Raw<'a>> = "images",
        calls: List<Object<ToolCall<'a>>> = "tool_calls",
        call_id: Text<'a> = "tool_call_id",
        tool: Text<'a> = "name",
    }
    ignores [
        "reasoning_message_id", "reasoning_signature", "reasoning_state", "metadata", "tool_result", "prefix",
    ]

    /// A call of a tool.
    ToolCall<'a> { id: Text<'a> = "id", function: Object<Function<'a>> = "function" }

    /// The tool and its arguments, as JSON.
    Function<'a> { name: Text<'a> = "name", arguments: Text<'a> = "arguments" }
}

/// Reads a session.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    if source.kind == DOCUMENT {
        return extract_document(source, out);
    }
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let meta = Meta::beside(source, folder);
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let id = meta.text("/session_id").unwrap_or_else(|| name.to_owned());
    let agents = folder.parent().filter(|above| above.ends_with("agents"));
    let mut lines = source.lines()?;
    let mut last = 0;
    while let Some(line) = lines.next_line() {
        last = line.number;
    }
    let mut reader = Reader::new(&id, meta, last, out);
    if let Some(session) = agents.and_then(Path::parent) {
        let caller = Meta::beside(source, session).text("/session_id");
        let parent = reader.meta.text("/parent_session_id").or(caller);
        let kind = reader.meta.text("/agent_profile/name");
        let facts = std::mem::take(&mut reader.thread.facts);
        reader.thread.facts = Meta::facts_of_subagent(facts, parent, kind);
    }
    reader.read_all(&mut source.lines_again(lines)?)?;
    let parent = reader.meta.parent(source);
    reader.finish(parent.as_ref())
}

fn extract_document(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(json) = document::text(source, "a session", out)? else { return Ok(()) };
    let torn = Torn::read(&json, "messages");
    let meta = torn.raw("metadata").and_then(|raw| serde_json::from_str(raw.get()).ok());
    let meta = Meta(meta.unwrap_or_default());
    let id = meta.text("/session_id").unwrap_or_else(|| source.stem().to_owned());
    let mut reader = Reader::new(&id, meta, torn.items.len() as u64, out);
    for (item, number) in torn.items.iter().zip(1..) {
        reader.out.line();
        match serde_json::from_str::<Message<'_>>(item.get()) {
            Ok(message) => reader.take(&message, number)?,
            Err(error) => reader.out.problem(number, &format!("a message that cannot be read: {error}")),
        }
    }
    if let Some(error) = &torn.error {
        reader.out.line();
        reader
            .out
            .problem(error.line() as u64, &format!("a torn session; everything before the tear was read: {error}"));
    }
    reader.finish(None)
}

struct Reader<'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    meta: Meta,
    /// Number of the last message.
    last: u64,
    /// True if the first message is a summary of the session before.
    begins_with_summary: bool,
}

impl<'s> RecordReader<'s> for Reader<'_, 's> {
    type Record = Message<'static>;
    const STARTS: &'static [&'static str] = &["{\"role\":"];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, message: &Message<'_>, number: u64) -> Result<(), Reject> {
        self.out.unknown_fields("field ", &message.unknown);
        let is_first = !self.thread.has_rows;
        let moment = match () {
            () if is_first => self.meta.moment("/start_time"),
            () if number == self.last => self.meta.moment("/end_time"),
            () => None,
        };
        let text = message.content.get();
        match message.role.get() {
            Some("user") => {
                let is_summary = is_first && message.injected.0;
                self.begins_with_summary |= is_summary;
                let kind = match message.injected.0 {
                    true if is_summary && self.meta.text("/parent_session_id").is_some() => MessageKind::Compaction,
                    true => MessageKind::Meta,
                    false => MessageKind::Prompt,
                };
                let id = self.id_of(message, "user");
                if kind == MessageKind::Prompt && !self.thread.has(Kind::Message, &id) {
                    self.thread.begin_turn();
                }
                let attachments = i64::try_from(message.images.0.len()).unwrap_or(0);
                let row = MessageRow { text, attachments, ..blank(Role::User, kind) };
                self.push(&id, moment, number, row).map(drop)
            }
            Some("assistant") => self.take_reply(message, moment, number),
            Some("tool") => self.take_result(message, moment, number),
            role => {
                self.out.unknown(&format!("role {}", role.unwrap_or_default()));
                Ok(())
            }
        }
    }
}

impl<'o, 's> Reader<'o, 's> {
    fn new(id: &str, meta: Meta, last: u64, out: &'o mut Sink<'s>) -> Self {
        let thread = Thread::new(meta.facts(id));
        Self { out, thread, meta, last, begins_with_summary: false }
    }

    /// The message's own id, which forks copy, or one made of what it says.
    fn id_of(&mut self, message: &Message<'_>, role: &str) -> String {
        match message.id.get() {
            Some(id) => qualified(self.thread.id(), id).into_owned(),
            None => {
                let calls = message.calls.0.iter().filter_map(|call| call.0.as_ref()?.id.get());
                self.thread.print(role, None, message.content.get().into_iter().chain(calls))
            }
        }
    }

    fn take_reply(&mut self, message: &Message<'_>, moment: Option<i64>, number: u64) -> Result<(), Reject> {
        let id = self.id_of(message, "assistant");
        let (model, _) = self.meta.model();
        let model = model.map(str::to_owned);
        let row = MessageRow {
            text: message.content.get(),
            thinking: message.thinking.get(),
            model: model.as_deref(),
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        if !self.push(&id, moment, number, row)? {
            return Ok(());
        }
        for (place, made) in message.calls.0.iter().filter_map(|call| call.0.as_ref()).enumerate() {
            let function = made.function.0.as_ref();
            let name = function.and_then(|function| function.name.get()).unwrap_or("unknown");
            let arguments = function.and_then(|function| function.arguments.get());
            let own = made.id.get().map_or_else(|| format!("{id}#{place}"), |own| format!("{id}#{own}"));
            if !self.thread.is_new(Kind::ToolCall, &own) {
                continue;
            }
            self.out_yields(Kind::ToolCall, &own);
            let call = Call { id: own, message_id: Some(id.clone()), ..call(name, arguments) };
            self.thread.open_named_call(&at(moment, number), made.id.get(), call, self.out)?;
        }
        Ok(())
    }

    fn take_result(&mut self, message: &Message<'_>, moment: Option<i64>, number: u64) -> Result<(), Reject> {
        let (text, tool) = (message.content.get(), message.tool.get().unwrap_or("unknown"));
        let name = message.call_id.get().unwrap_or_default();
        let make = |thread: &mut Thread| {
            let id = thread.print("tool", None, [name, tool].into_iter().chain(text));
            Call { id, ..call(tool, None) }
        };
        let Some(call) = self.thread.take_call(&at(None, number), name, make) else { return Ok(()) };
        let end = outcome(call.category, text);
        let is_error = end.status == Status::Error;
        self.thread.close_call(&call, &end, self.out)?;
        let row = MessageRow { is_error, ..blank(Role::Tool, MessageKind::ToolResult) };
        self.push(&format!("{}:result", call.id), moment, number, row).map(drop)
    }

    fn push(&mut self, id: &str, moment: Option<i64>, number: u64, row: MessageRow<'_>) -> Result<bool, Reject> {
        let is_new = self.thread.message(&Position { id, ..at(moment, number) }, row, self.out)?;
        if is_new {
            self.out_yields(Kind::Message, id);
        }
        Ok(is_new)
    }

    /// 3.0 imports a session into a store of the same id, which has all of it.
    fn out_yields(&mut self, kind: Kind, id: &str) {
        self.out.yields_to(kind, id, stored_key(self.thread.id()), None);
    }

    /// Adds the tokens of the session. A compaction begins another session, whose counters go on from those of the
    /// session before; a fork begins at 0.
    fn finish(mut self, parent: Option<&Meta>) -> Result<(), Reject> {
        let session = self.thread.id().to_owned();
        let own_key = key(AGENT, Kind::Presence, &format!("own tokens:{session}"));
        let is_continued = self.begins_with_summary && self.meta.text("/parent_session_id").is_some();
        let facts = &mut self.thread.facts;
        if !facts.is_subagent {
            let parent_id = self.meta.text("/parent_session_id");
            let place = if is_continued { &mut facts.parent_session_id } else { &mut facts.forked_from_session_id };
            *place = parent_id;
        }
        if let Some(spent) = self.meta.spent().filter(|_| self.thread.has_rows) {
            let before = parent.filter(|_| is_continued).and_then(Meta::spent);
            let own = before.and_then(|before| spent.after(before));
            let has_parents = is_continued && own.is_none() && parent.is_none();
            let id = if has_parents { format!("{session}:with-parent") } else { total_id(&session) };
            let row = UsageRow {
                timestamp: self.meta.moment("/end_time"),
                turn: self.thread.turn,
                is_partial: has_parents,
                ..own.unwrap_or(spent).row(&id, self.meta.model())
            };
            self.thread.bill(&Position::default(), row, self.thread.last_seq(), self.out)?;
            if own.is_some() {
                self.out.from_companion(Kind::Response, &id);
            }
            if has_parents {
                self.out.yields_to(Kind::Response, &id, own_key, None);
            } else {
                self.out.claim(own_key, false);
            }
        }
        self.thread.finish(self.out)
    }
}

fn at<'p>(moment: Option<i64>, number: u64) -> Position<'p> {
    Position::on_line("", moment, number)
}
