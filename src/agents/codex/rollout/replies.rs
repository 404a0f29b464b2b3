//! Replies of the model: one message for each response, over as many items as it takes.

use std::borrow::Cow;
use std::rc::Rc;

use super::super::content::{Content, append};
use super::super::record::Item;
use super::{LinePosition, Rollout, blank};
use crate::agents::held::MOST_IN_REPLY;
use crate::extract::Reject;
use crate::source::records::Raw;
use crate::tables::{MessageKind, MessageRow, Role};

/// Bytes that a call takes apart from its texts; more than it does, because a reply looks through its calls.
const CALL_BYTES: usize = 4096;

/// A reply of the model that further items may continue.
pub(super) struct Reply {
    pub(super) id: String,
    parent: Option<String>,
    pub(super) seq: i64,
    turn: Option<i64>,
    position: LinePosition,
    pub(super) text: Option<Cow<'static, str>>,
    thinking: Option<Cow<'static, str>>,
    model: Option<Rc<str>>,
    pub(super) response_id: Option<String>,
    attachments: i64,
    /// Keys of its calls, in order.
    pub(super) calls: Vec<u64>,
    held: usize,
    /// True if one of its calls was answered: the model's next text is another response.
    pub(super) is_answered: bool,
    /// True if a running total counted it: it is complete, but events may still report the end of its calls.
    pub(super) is_counted: bool,
}

impl Reply {
    /// Adds a call with texts of this length. Bytes.
    pub(super) fn add_call(&mut self, key: u64, bytes: usize) {
        self.calls.push(key);
        self.held += CALL_BYTES + bytes;
    }

    /// Adds the result of a call. Bytes.
    pub(super) fn add_result(&mut self, bytes: usize) {
        self.is_answered = true;
        self.held += bytes;
    }
}

impl Rollout<'_, '_> {
    pub(super) fn take_item(&mut self, position: LinePosition, item: &Item<'_>) -> Result<(), Reject> {
        self.out.unknown_fields("response_item field ", &item.unknown);
        if self.lineage.is_copied() {
            return Ok(());
        }
        let is_message = item.kind.get().is_none() && item.role.get().is_some();
        match item.kind.get().unwrap_or(if is_message { "message" } else { "" }) {
            // A spawned agent's file has the last messages of its parent's turns, but not the starts of these turns.
            "message" if item.role.is("assistant") && self.lineage.is_before_first_turn() => {
                self.settle()?;
                self.drop_copies()
            }
            "message" if item.role.is("assistant") => self.take_assistant(position, item),
            "message" => self.take_user(position, item),
            "reasoning" => self.take_reasoning(position, item),
            "function_call" | "custom_tool_call" | "local_shell_call" | "tool_search_call" => {
                self.take_call(position, item)
            }
            "web_search_call" | "image_generation_call" => self.take_hosted_call(position, item),
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
                self.take_output(position, item)
            }
            "agent_message" => self.take_agent_message(position, item),
            "ghost_snapshot"
            | "compaction"
            | "compaction_summary"
            | "context_compaction"
            | "compaction_trigger"
            | "configuration_update" => Ok(()),
            kind => {
                self.out.unknown(&format!("response_item {kind}"));
                Ok(())
            }
        }
    }

    fn take_assistant(&mut self, position: LinePosition, item: &Item<'_>) -> Result<(), Reject> {
        let content = Content::of(item.content.json(), false);
        let text = content.text.unwrap_or_default();
        let reply = self.reply_for(position, item.id.get(), &["assistant", &text], true)?;
        reply.held += text.len();
        append(&mut reply.text, Cow::Owned(text.into_owned()));
        reply.attachments += content.attachments;
        Ok(())
    }

    fn take_reasoning(&mut self, position: LinePosition, item: &Item<'_>) -> Result<(), Reject> {
        let summary = Content::of(item.summary.json(), false).text;
        let plain = Content::of(item.content.json(), false).text;
        let raw = |raw: &Raw<'_>| raw.json().unwrap_or_default().to_owned();
        let parts = ["reasoning", summary.as_deref().unwrap_or_default(), &raw(&item.encrypted)];
        let reply = self.reply_for(position, item.id.get(), &parts, true)?;
        for text in [summary, plain].into_iter().flatten().filter(|text| !text.is_empty()) {
            reply.held += text.len();
            append(&mut reply.thinking, Cow::Owned(text.into_owned()));
        }
        Ok(())
    }

    /// Returns the reply of an item: the open one, or a new one that the item names. `speaks`: the item is not a call,
    /// so after an answered call it begins a new response.
    pub(super) fn reply_for(
        &mut self,
        position: LinePosition,
        id: Option<&str>,
        parts: &[&str],
        speaks: bool,
    ) -> Result<&mut Reply, Reject> {
        self.answer_user()?;
        let is_over = |reply: &Reply| {
            reply.is_counted
                || reply.is_answered && (speaks || reply.response_id.is_some())
                || reply.held > MOST_IN_REPLY
        };
        if self.reply.as_ref().is_some_and(is_over) {
            self.close_reply()?;
        }
        let reply = match self.reply.take() {
            Some(reply) => reply,
            None => self.new_reply(position, id, parts),
        };
        Ok(self.reply.insert(reply))
    }

    fn new_reply(&mut self, position: LinePosition, id: Option<&str>, parts: &[&str]) -> Reply {
        let id = self.ids.of(self.lineage.namespace(&self.session), id, parts);
        let seq = self.seq;
        self.seq += 1;
        let response_id = self.waiting_response(&id, seq);
        Reply {
            parent: self.parent.replace(id.clone()),
            id,
            seq,
            turn: self.turn,
            position,
            text: None,
            thinking: None,
            model: self.model.clone(),
            response_id,
            attachments: 0,
            calls: Vec::new(),
            held: 0,
            is_answered: false,
            is_counted: false,
        }
    }

    /// Emits the open reply and its answered calls.
    pub(super) fn close_reply(&mut self) -> Result<(), Reject> {
        let Some(reply) = self.reply.take() else { return Ok(()) };
        let row = MessageRow {
            role: Role::Assistant,
            kind: MessageKind::Reply,
            text: reply.text.as_deref(),
            thinking: reply.thinking.as_deref(),
            model: reply.model.as_deref(),
            response_id: reply.response_id.as_deref(),
            attachments: reply.attachments,
            ..blank(&reply.id, reply.position)
        };
        self.push_at(reply.seq, reply.parent.as_deref(), reply.turn, row)?;
        self.release_calls(&reply)
    }
}
