//! Messages of the person and of the model, with the calls and results in them.

use std::borrow::Cow;

use super::super::calls::Name;
use super::super::content::{Block, flag, plain_text};
use super::super::model::model_name;
use super::super::record::{Line, Message};
use super::super::reminder::{Surroundings, reminders};
use super::super::tools::ToolResult;
use super::super::user::{UserText, is_interruption};
use super::Transcript;
use crate::agents::kit::calls::Call;
use crate::agents::kit::facts::{fill, set};
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, blank};
use crate::extract::Reject;
use crate::tables::{MessageKind, MessageRow, Role};

impl Transcript<'_, '_> {
    pub(super) fn take_message(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let Some(message) = line.message.0.as_ref() else {
            self.out.problem(number, "a message record without a message");
            return Ok(());
        };
        let raw_id = line.id.get().or(message.id.get());
        let Some(id) = self.new_id(raw_id, line) else { return Ok(()) };
        self.has_message = true;
        let at = Position::on_line(&id, line.timestamp.0, number);
        self.out.unknown_fields("message field ", &message.unknown);
        match message.role.get().unwrap_or_default() {
            "assistant" => self.take_reply(line, &at, message)?,
            role => {
                if !matches!(role, "user" | "system" | "tool") {
                    self.out.unknown(&format!("role {role}"));
                }
                self.take_user(line, &at, message)?;
            }
        }
        self.take_blocks(&at, message)?;
        self.leave_origin_at(raw_id);
        Ok(())
    }

    fn take_user(&mut self, line: &Line<'_>, at: &Position<'_>, message: &Message<'_>) -> Result<(), Reject> {
        for text in message.content.texts() {
            self.note_surroundings(text);
        }
        let mut user = UserText::of(message);
        if user.begins_turn() {
            self.thread.begin_turn();
            self.turn_was_stopped = false;
        }
        if user.kind == MessageKind::Abort {
            user.kind = self.stop_turn();
        }
        let autonomy = self.autonomy.clone().filter(|_| user.kind == MessageKind::Prompt);
        let row = MessageRow {
            text: user.text.as_deref(),
            attachments: user.attachments,
            permission_mode: autonomy.as_deref(),
            is_error: user.kind == MessageKind::ApiError
                || message.content.of_type("tool_result").any(|result| flag(&result.is_error) == Some(true)),
            ..blank(user.role, user.kind)
        };
        self.push(line, at, row)
    }

    fn note_surroundings(&mut self, text: &str) {
        for reminder in reminders(text) {
            let found = Surroundings::of(reminder);
            let facts = &mut self.thread.facts;
            fill(&mut facts.project_path, found.folder);
            set(&mut facts.git_branch, found.branch);
            if let Some(model) = found.model {
                self.hinted_model = Some(model_name(model).to_owned());
            }
        }
    }

    fn take_reply(&mut self, line: &Line<'_>, at: &Position<'_>, message: &Message<'_>) -> Result<(), Reject> {
        let text = join(message.content.texts().map(Cow::Borrowed));
        let thoughts = message.content.of_type("thinking").filter_map(|block| block.thinking.get());
        let thinking = join(thoughts.map(Cow::Borrowed))
            .or_else(|| message.reasoning.get().map(Cow::Borrowed))
            .or_else(|| plain_text(&message.reasoning_summary));
        let is_of_program = message.visibility.is("user_only") || message.hook.get().is_some();
        let is_interruption = text.as_deref().is_some_and(is_interruption);
        let kind = match (is_interruption, is_of_program) {
            (true, _) => self.stop_turn(),
            (_, true) => MessageKind::Meta,
            _ => MessageKind::Reply,
        };
        let model = if kind == MessageKind::Reply { self.note_reply(line, message) } else { None };
        let row = MessageRow {
            text: text.as_deref(),
            thinking: thinking.as_deref().filter(|thinking| !thinking.is_empty()),
            model: model.as_deref(),
            ..blank(Role::Assistant, kind)
        };
        self.push(line, at, row)
    }

    /// Returns the model of a reply: its own, else the one last named, else the one that is chosen now. Notes it and the
    /// effort, which is found in the same way.
    fn note_reply(&mut self, line: &Line<'_>, message: &Message<'_>) -> Option<String> {
        let own = message.model.get().map(|model| model_name(model).to_owned());
        let named = own.or(self.hinted_model.clone()).or_else(|| self.companion.model.clone());
        self.replies.last = Some((self.thread.seq, line.timestamp.0));
        self.replies.models.add(named.as_deref());
        let effort = message.effort.get().or(self.hinted_effort.as_deref()).or(self.companion.effort.as_deref());
        self.replies.efforts.add(effort);
        named
    }

    fn take_blocks(&mut self, at: &Position<'_>, message: &Message<'_>) -> Result<(), Reject> {
        for block in &message.content.0 {
            match block.kind.get().unwrap_or_default() {
                "tool_use" => self.take_call(at, block)?,
                "tool_result" => self.take_result(at, block)?,
                "text" | "thinking" | "redacted_thinking" | "image" | "document" => {}
                kind => self.out.unknown(&format!("block {kind}")),
            }
        }
        Ok(())
    }

    /// The id of a call that has none, within its message.
    fn made_up(&mut self, message: &str, what: &str, parts: [Option<&str>; 3]) -> String {
        format!("{message}#{}", self.thread.prints.name(what, None, parts.into_iter().flatten()))
    }

    fn take_call(&mut self, at: &Position<'_>, block: &Block<'_>) -> Result<(), Reject> {
        let parts = [Some(at.id), block.name.get(), block.input.json()];
        let made_up = block.id.get().map_or_else(|| self.made_up(at.id, "call", parts), |_| String::new());
        let of = Name { namespace: self.origin.copied(), id: block.id.get(), made_up: &made_up };
        let call = of.call(&self.thread, &mut self.given, block.name.get().unwrap_or("unknown"), &block.input);
        of.open(&mut self.thread, at, Call { message_id: Some(at.id.to_owned()), ..call }, self.out)
    }

    fn take_result(&mut self, at: &Position<'_>, block: &Block<'_>) -> Result<(), Reject> {
        let parts = [Some(at.id), block.content.0.as_deref(), None];
        let made_up = block.call.get().map_or_else(|| self.made_up(at.id, "result", parts), |_| String::new());
        let of = Name { namespace: self.origin.copied(), id: block.call.get(), made_up: &made_up };
        let text = block.content.0.as_deref().map(Cow::Borrowed);
        let result = ToolResult { text, is_error: flag(&block.is_error), exit_code: None };
        of.close(&mut self.thread, at, result, self.out)
    }
}
