//! Replies of the model: one message for each response, over as many lines as it takes.

use super::super::call_key;
use super::super::content::Block;
use super::super::pending::Reply;
use super::super::record::{Line, Message};
use super::super::tree::Id;
use super::{PlacedLine, Transcript};
use crate::agents::held::TOO_MANY;
use crate::extract::Reject;
use crate::tables::MessageRow;

impl Transcript<'_, '_> {
    pub(super) fn take_assistant(&mut self, placed: &PlacedLine<'_, '_>, parent: Option<u64>) -> Result<(), Reject> {
        let line = placed.line;
        let Some(message) = line.message.0.as_ref() else {
            self.out.problem(placed.number, "an assistant record without a message");
            return Ok(());
        };
        self.has_conversation |= message.content.is_there || message.usage.0.is_some();
        self.out.unknown_fields("message field ", &message.unknown);
        self.tree.add(placed.key, parent, false, line.is_sidechain.0);
        self.has_summary &= line.is_sidechain.0;
        let is_synthetic = is_synthetic(line, message);
        let response = message.id.get().unwrap_or(placed.uuid);
        if !is_synthetic {
            let message_id = self.replies.message_id(response, line.is_sidechain.0).unwrap_or(placed.uuid).to_owned();
            self.bill(line, message, response, &message_id, placed.number);
            if let Some(usage) = &message.usage.0 {
                self.out.unknown_fields("usage field ", &usage.unknown);
            }
        }
        if !self.replies.is_open(response, line.is_sidechain.0) {
            self.close_replies(line.is_sidechain.0)?;
            let row = self.blank_row(placed);
            let parent = line.parent.get().or(line.logical_parent.get());
            let mut reply = Reply::begin(&row, parent, placed.key, message, response, is_synthetic, self.is_copy(line));
            if is_synthetic {
                reply.fails(line);
            }
            self.seq += 1;
            self.tree.begin_row(placed.key, placed.uuid);
            self.replies.open(response, reply);
        } else if let Some(first) = self.replies.first_key(response, line.is_sidechain.0) {
            self.tree.continue_row(placed.key, first);
            // A fork may begin with this line, and a summary may name it.
            self.out.claim(placed.key, self.is_copy(line));
        }
        for block in &message.content.blocks {
            self.take_block(placed, response, block, is_synthetic)?;
        }
        self.replies.continue_with(response, line.is_sidechain.0, placed.key, message);
        Ok(())
    }

    fn bill(&mut self, line: &Line<'_>, message: &Message<'_>, response: &str, message_id: &str, number: u64) {
        let (seq, turn) = (self.seq, self.turn);
        let weak = self.is_copy(line);
        self.responses.add(response, message_id, line, message, number, seq, turn, weak);
    }

    /// Takes a duplicate line of the file: its token counts may be higher.
    pub(super) fn bill_again(&mut self, line: &Line<'_>, number: u64, uuid: &str, key: u64) {
        let Some(message) = line.message.0.as_ref().filter(|message| !is_synthetic(line, message)) else { return };
        if line.kind.is("assistant") {
            let message_id = self.tree.row_id(key).map_or_else(|| uuid.to_owned(), Id::text);
            self.bill(line, message, message.id.get().unwrap_or(uuid), &message_id, number);
        }
    }

    fn take_block(
        &mut self,
        placed: &PlacedLine<'_, '_>,
        response: &str,
        block: &Block<'_>,
        is_synthetic: bool,
    ) -> Result<(), Reject> {
        let sidechain = placed.line.is_sidechain.0;
        match block.kind.get().unwrap_or_default() {
            "text" => self.replies.add_text(response, sidechain, block.text.0.as_deref().unwrap_or_default()),
            "thinking" => {
                self.replies.add_thinking(response, sidechain, block.thinking.0.as_deref().unwrap_or_default());
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let message_id = self.replies.message_id(response, sidechain).unwrap_or(placed.uuid).to_owned();
                let call = self.new_call(placed, block, &message_id, (!is_synthetic).then_some(response));
                let name = call_key(block.id.get().unwrap_or(&call.call_id));
                if let Some(early) = self.calls.take_early(name, &call.call_id) {
                    self.push_early(early, Some(call))?;
                } else {
                    let unanswered = self.calls.open(name, call);
                    if unanswered.len() > 1 {
                        self.out.problem(placed.number, TOO_MANY);
                    }
                    unanswered.iter().try_for_each(|call| self.push_unanswered(call))?;
                }
            }
            "web_search_tool_result" | "web_fetch_tool_result" | "mcp_tool_result" => {
                if let Some(call) = block.call.get().and_then(|id| self.calls.get_mut(call_key(id))) {
                    call.server_result(block, placed.line.timestamp.0);
                }
            }
            "redacted_thinking" | "fallback" | "image" | "document" | "connector_text" => {}
            kind => self.out.unknown(&format!("block {kind}")),
        }
        Ok(())
    }

    /// Emits the complete replies of a thread.
    pub(super) fn close_replies(&mut self, sidechain: bool) -> Result<(), Reject> {
        for reply in self.replies.close(sidechain) {
            self.push_reply(&reply)?;
        }
        Ok(())
    }

    pub(super) fn push_reply(&mut self, reply: &Reply) -> Result<(), Reject> {
        let parent = self.parent_id(reply.parent.as_deref());
        let row = MessageRow { session_id: &self.session_id, parent_id: parent.as_deref(), ..reply.row() };
        let place = self.out.message(row, reply.weak)?;
        for line in &reply.lines {
            self.tree.set_row(*line, place);
        }
        Ok(())
    }
}

/// Returns true if the program wrote the message in the model's name; nobody was billed for it.
fn is_synthetic(line: &Line<'_>, message: &Message<'_>) -> bool {
    message.model.is("<synthetic>") || line.is_api_error.0
}
