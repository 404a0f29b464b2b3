//! Messages of one chat of the command-line program.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::blocks::{attachments, blocks, texts};
use super::conversation::UNIQUE_FROM;
use super::prompt::Prompt;
use super::record::{Block, ChatMessage};
use super::rows::{Called, Rows, Said};
use super::tools::{Asked, Outcome};
use super::value;
use crate::extract::{Facts, Reject, Sink};
use crate::source::records::Raw;
use crate::tables::{Category, MessageKind, Role, Status};

/// A call whose result is to come.
#[derive(Default)]
struct OpenCall {
    call_id: String,
    message_id: String,
    seq: i64,
    turn: Option<i64>,
    name: String,
    input: Option<String>,
    asked: Asked,
}

/// Reads the messages of one chat into the sink.
pub(super) struct Chat<'o, 's> {
    rows: Rows<'o, 's>,
    /// Model that was used last.
    model: Option<String>,
    /// How often a message stands in the chat: those with the same content are one blob.
    counts: BTreeMap<String, u32>,
    open: BTreeMap<String, OpenCall>,
    /// Ids of calls so far.
    ids: BTreeSet<String>,
}

impl<'o, 's> Chat<'o, 's> {
    pub(super) fn new(out: &'o mut Sink<'s>, id: &str, began: Option<i64>, model: Option<&str>) -> Self {
        let rows = Rows::new(out, id.to_owned(), began);
        Self {
            rows,
            model: model.map(str::to_owned),
            counts: BTreeMap::new(),
            open: BTreeMap::new(),
            ids: BTreeSet::new(),
        }
    }

    pub(super) fn sink(&mut self) -> &mut Sink<'s> {
        self.rows.out
    }

    /// Takes a message; the last one is from when the chat was last changed.
    pub(super) fn take(
        &mut self,
        message: &ChatMessage<'_>,
        hash: &str,
        is_last: bool,
        moment: Option<i64>,
    ) -> Result<(), Reject> {
        let count = self.counts.entry(hash.to_owned()).or_default();
        *count += 1;
        let again = if *count > 1 { format!(".{count}") } else { String::new() };
        let id = format!("{}#{}{again}", self.rows.session, hash.get(..16).unwrap_or(hash));
        let blocks = blocks(message.content);
        let text = texts(&blocks, "text");
        let said = Said { id: &id, timestamp: moment, ..Said::default() };
        match message.role.get().unwrap_or_default() {
            "user" => {
                let attachments = attachments(&blocks);
                if text.is_none() && attachments == 0 {
                    return Ok(());
                }
                let prompt = Prompt::of(text.as_deref().unwrap_or_default());
                if prompt.kind == MessageKind::Prompt {
                    self.rows.begin_turn();
                }
                let timestamp = prompt.moment.or(moment);
                let text = text.as_ref().map(|_| prompt.text);
                let said = Said { role: Role::User, kind: prompt.kind, text, timestamp, attachments, ..said };
                self.rows.message(&said)?;
            }
            "assistant" => {
                let thinking = texts(&blocks, "reasoning");
                let model = self.model.clone().filter(|_| is_last);
                let said = Said {
                    role: Role::Assistant,
                    kind: MessageKind::Reply,
                    text: text.as_deref(),
                    thinking: thinking.as_deref(),
                    model: model.as_deref(),
                    ..said
                };
                self.rows.message(&said)?;
                self.take_calls(message, &blocks, &id)?;
            }
            "tool" => {
                self.rows.message(&Said { role: Role::Tool, kind: MessageKind::ToolResult, ..said })?;
                self.take_results(message, &blocks, text.as_deref(), &id)?;
            }
            role => {
                if role != "system" {
                    self.rows.out.unknown(&format!("role {role}"));
                }
                let text = text.as_deref();
                self.rows.message(&Said { role: Role::System, kind: MessageKind::Meta, text, ..said })?;
            }
        }
        Ok(())
    }

    fn take_calls(&mut self, message: &ChatMessage<'_>, blocks: &[Block<'_>], id: &str) -> Result<(), Reject> {
        for block in blocks {
            match block.kind.get().unwrap_or_default() {
                "tool-call" | "tool_use" => self.open(block.call.get(), block.tool.get(), block.args, id)?,
                "text" | "reasoning" | "redacted-reasoning" => {}
                kind => self.rows.out.unknown(&format!("block {kind}")),
            }
        }
        for call in message.calls.0.iter().filter_map(|call| call.0.as_ref()) {
            if let Some(function) = &call.function.0 {
                self.open(call.id.get(), function.name.get(), function.arguments, id)?;
            }
        }
        Ok(())
    }

    fn open(&mut self, call: Option<&str>, name: Option<&str>, args: Raw<'_>, id: &str) -> Result<(), Reject> {
        let name = name.unwrap_or("unknown");
        let input = value::within(args).map(Cow::into_owned);
        let call_id = match call {
            Some(call) if call.len() >= UNIQUE_FROM && self.ids.insert(call.to_owned()) => call.to_owned(),
            Some(call) => format!("{id}#{call}"),
            None => {
                let said = [id, name].into_iter().chain(input.as_deref());
                format!("{id}#{}", self.rows.prints.name("call", None, said))
            }
        };
        let open = OpenCall {
            message_id: id.to_owned(),
            seq: self.rows.seq,
            turn: self.rows.turn,
            name: name.to_owned(),
            asked: Asked::of(name, None, [input.as_deref(), None]),
            input,
            call_id,
        };
        self.rows.seq += 1;
        let known_as = call.unwrap_or(&open.call_id).to_owned();
        match self.open.insert(known_as, open) {
            Some(unanswered) => self.close(&unanswered, None),
            None => Ok(()),
        }
    }

    fn take_results(
        &mut self,
        message: &ChatMessage<'_>,
        blocks: &[Block<'_>],
        text: Option<&str>,
        id: &str,
    ) -> Result<(), Reject> {
        for block in blocks.iter().filter(|block| block.kind.is("tool-result") || block.kind.is("tool_result")) {
            let result = value::within(block.result);
            let given = Given { text: result.as_deref().unwrap_or_default(), is_error: block.is_error.0 };
            self.answer(block.call.get(), block.tool.get(), &given, id)?;
        }
        match message.call.get() {
            Some(call) => self.answer(Some(call), None, &Given { text: text.unwrap_or_default(), is_error: false }, id),
            None => Ok(()),
        }
    }

    fn answer(&mut self, call: Option<&str>, name: Option<&str>, result: &Given<'_>, id: &str) -> Result<(), Reject> {
        let open = call.and_then(|call| self.open.remove(call)).unwrap_or_else(|| {
            self.rows.seq += 1;
            OpenCall {
                call_id: format!("{id}#{}", call.unwrap_or("result")),
                message_id: id.to_owned(),
                seq: self.rows.seq - 1,
                turn: self.rows.turn,
                name: name.unwrap_or("unknown").to_owned(),
                asked: Asked::of(name.unwrap_or("unknown"), None, [None, None]),
                ..OpenCall::default()
            }
        });
        self.close(&open, Some(result))
    }

    fn close(&mut self, open: &OpenCall, result: Option<&Given<'_>>) -> Result<(), Reject> {
        let told = result.filter(|result| result.text.trim_start().starts_with('{'));
        let outcome = told.map(|result| Outcome::of_result(result.text)).unwrap_or_default();
        let status = match result {
            None => Status::Pending,
            Some(result) => outcome.status.unwrap_or(if result.is_error { Status::Error } else { Status::Ok }),
        };
        let called = Called {
            id: &open.call_id,
            message_id: &open.message_id,
            name: &open.name,
            category: open.asked.category,
            mcp_server: open.asked.mcp_server.as_deref(),
            input: open.input.as_deref(),
            command: open.asked.command.as_deref(),
            file_path: open.asked.file.as_deref(),
            status,
            exit_code: outcome.exit_code,
            output: outcome.output.as_deref().or(result.map(|result| result.text)),
            child: outcome.child.as_deref().filter(|_| open.asked.category == Category::Task),
            ..Called::default()
        };
        self.rows.call_at(&called, open.seq, open.turn)
    }

    /// Emits the calls that no result came for, and ends the chat. One in which nothing was said is no session.
    pub(super) fn end(mut self, facts: Facts) -> Result<(), Reject> {
        let mut open: Vec<OpenCall> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_by_key(|call| call.seq);
        open.iter().try_for_each(|call| self.close(call, None))?;
        if self.rows.count == 0 { Ok(()) } else { self.rows.end(facts) }
    }
}

/// What a tool gave back.
struct Given<'r> {
    text: &'r str,
    is_error: bool,
}
