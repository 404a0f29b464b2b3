//! Messages of one chat of the command-line program.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::blocks::{attachments, blocks, texts};
use super::conversation::UNIQUE_FROM;
use super::record::{Block, ChatMessage};
use super::rows::Rows;
use super::tools::{self, Ending};
use super::value;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::thread::{Position, blank};
use crate::extract::{Facts, Reject, Sink};
use crate::source::records::Raw;
use crate::tables::{Category, MessageKind, MessageRow, Role, Status};

/// Reads the messages of one chat into the sink.
pub(super) struct Chat<'o, 's> {
    rows: Rows<'o, 's>,
    /// Last used model.
    model: Option<String>,
    /// Occurrences of each message in the chat: messages with the same content are one blob.
    counts: BTreeMap<String, u32>,
    /// Ids of calls so far.
    ids: BTreeSet<String>,
}

impl<'o, 's> Chat<'o, 's> {
    pub(super) fn new(out: &'o mut Sink<'s>, id: &str, began: Option<i64>, model: Option<&str>) -> Self {
        let rows = Rows::new(out, id.to_owned(), began, false);
        Self { rows, model: model.map(str::to_owned), counts: BTreeMap::new(), ids: BTreeSet::new() }
    }

    pub(super) fn sink(&mut self) -> &mut Sink<'s> {
        self.rows.out
    }

    /// Takes a message. The last one has the time of the chat's last change.
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
        let id = format!("{}#{}{again}", self.rows.thread.id(), hash.get(..16).unwrap_or(hash));
        let blocks = blocks(message.content);
        let text = texts(&blocks, "text");
        let at = Position::new(&id, moment);
        match message.role.get().unwrap_or_default() {
            "user" => self.rows.prompt(&at, text.as_deref(), attachments(&blocks))?,
            "assistant" => {
                let thinking = texts(&blocks, "reasoning");
                let model = self.model.clone().filter(|_| is_last);
                let row = MessageRow {
                    text: text.as_deref(),
                    thinking: thinking.as_deref(),
                    model: model.as_deref(),
                    ..blank(Role::Assistant, MessageKind::Reply)
                };
                self.rows.message(&at, row)?;
                self.take_calls(message, &blocks, &id)?;
            }
            "tool" => {
                self.rows.message(&at, blank(Role::Tool, MessageKind::ToolResult))?;
                self.take_results(message, &blocks, text.as_deref(), &id)?;
            }
            role => {
                if role != "system" {
                    self.rows.out.unknown(&format!("role {role}"));
                }
                let row = MessageRow { text: text.as_deref(), ..blank(Role::System, MessageKind::Meta) };
                self.rows.message(&at, row)?;
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
                let texts = [id, name].into_iter().chain(input.as_deref());
                format!("{id}#{}", self.rows.thread.prints.name("call", None, texts))
            }
        };
        let made =
            Call { id: call_id, message_id: Some(id.to_owned()), ..tools::call(name, None, [input.as_deref(), None]) };
        self.rows.thread.open_named_call(&Position::default(), call, Call { input, ..made }, self.rows.out)
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
            let text = result.as_deref().unwrap_or_default();
            self.answer(block.call.get(), block.tool.get(), text, block.is_error.0, id)?;
        }
        match message.call.get() {
            Some(call) => self.answer(Some(call), None, text.unwrap_or_default(), false, id),
            None => Ok(()),
        }
    }

    fn answer(
        &mut self,
        id: Option<&str>,
        name: Option<&str>,
        text: &str,
        is_error: bool,
        message: &str,
    ) -> Result<(), Reject> {
        let open = id.and_then(|id| self.rows.thread.calls.take(id));
        let mut call = open.unwrap_or_else(|| {
            let made = Call {
                id: format!("{message}#{}", id.unwrap_or("result")),
                message_id: Some(message.to_owned()),
                ..tools::call(name.unwrap_or("unknown"), None, [None, None])
            };
            self.rows.thread.number_call(&Position::default(), made)
        });
        let object = Some(text).filter(|text| text.trim_start().starts_with('{'));
        let Ending { status, exit_code, output, child } = object.map(Ending::of_result).unwrap_or_default();
        call.child = child.filter(|_| call.category == Category::Task);
        let status = status.unwrap_or(if is_error { Status::Error } else { Status::Ok });
        let output = Some(output.map_or(Cow::Borrowed(text), Cow::Owned));
        self.rows.thread.close_call(&call, &Outcome { status, exit_code, output, ..Outcome::default() }, self.rows.out)
    }

    /// Emits the calls without a result, and ends the chat. A chat without messages is not a session.
    pub(super) fn end(self, facts: Facts) -> Result<(), Reject> {
        self.rows.thread.calls.push_pending(self.rows.thread.id(), self.rows.out)?;
        if self.rows.thread.has_rows { self.rows.end(facts) } else { Ok(()) }
    }
}
