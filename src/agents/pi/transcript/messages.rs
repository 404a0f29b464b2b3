//! Messages by the role that speaks.

use super::super::content::Content;
use super::super::dialect::Writer;
use super::super::record::Message;
use super::{Spot, Transcript};
use crate::extract::{Kind, Reject};
use crate::tables::{MessageKind, MessageRow, Role};

impl Transcript<'_, '_> {
    pub(super) fn take_message(&mut self, spot: &Spot<'_, '_>, message: &Message<'_>) -> Result<(), Reject> {
        self.out.unknown_fields("message field ", &message.unknown);
        match message.role.get().unwrap_or_default() {
            "user" => self.take_user(spot, message),
            "assistant" => self.take_assistant(spot, message),
            "toolResult" => self.take_result(spot, message),
            "bashExecution" => self.take_execution(spot, message, "bash", message.command.get()),
            "pythonExecution" => self.take_execution(spot, message, "python", message.code.get()),
            "custom" | "hookMessage" | "fileMention" => self.take_injected(spot, &message.content),
            "branchSummary" | "compactionSummary" => {
                let text = message.summary.get().map(Into::into).or_else(|| message.content.text());
                self.push(
                    spot,
                    MessageRow { kind: MessageKind::Summary, text: text.as_deref(), ..self.blank_row(spot) },
                )
            }
            "system" | "developer" => {
                self.push(spot, MessageRow { text: message.content.text().as_deref(), ..self.blank_row(spot) })
            }
            role => {
                self.out.unknown(&format!("role {role}"));
                self.push(spot, MessageRow { text: message.content.text().as_deref(), ..self.blank_row(spot) })
            }
        }
    }

    fn take_user(&mut self, spot: &Spot<'_, '_>, message: &Message<'_>) -> Result<(), Reject> {
        let text = message.content.text();
        let (kind, text) = text.as_deref().map_or((MessageKind::Prompt, None), |text| {
            let (kind, text) = (self.dialect.user)(text);
            (kind, Some(text))
        });
        if kind == MessageKind::Prompt {
            self.begin_turn();
        }
        let attachments = message.content.attachments();
        self.push(spot, MessageRow { role: Role::User, kind, text, attachments, ..self.blank_row(spot) })
    }

    /// Text that an extension or the program gave to the model in the person's place.
    pub(super) fn take_injected(&mut self, spot: &Spot<'_, '_>, content: &Content<'_>) -> Result<(), Reject> {
        let text = content.text();
        let attachments = content.attachments();
        self.push(spot, MessageRow { role: Role::User, text: text.as_deref(), attachments, ..self.blank_row(spot) })
    }

    fn take_assistant(&mut self, spot: &Spot<'_, '_>, message: &Message<'_>) -> Result<(), Reject> {
        let (text, thinking) = (message.content.text(), message.content.thinking());
        let blank = MessageRow {
            role: Role::Assistant,
            text: text.as_deref(),
            thinking: thinking.as_deref(),
            stop_reason: message.stop_reason.get(),
            attachments: message.content.attachments(),
            ..self.blank_row(spot)
        };
        let writer = (self.dialect.writer)(message, &self.known);
        if writer == Writer::Program {
            return self.push(spot, blank);
        }
        let kind = match message.stop_reason.get() {
            Some("error") => MessageKind::ApiError,
            Some("aborted") => MessageKind::Abort,
            _ => MessageKind::Reply,
        };
        let named = message.response_model.get().or(message.model.get());
        self.set_model(message.provider.get(), message.model.get());
        let is_counted = writer != Writer::OtherAgent(None);
        let response = is_counted.then(|| self.response_id(spot, message)).flatten();
        if let Some(response) = &response {
            self.bill_reply(spot, message, response)?;
            if let Writer::OtherAgent(Some(session)) = writer {
                self.out.yields_to(Kind::Response, response, session, None);
            }
        }
        let model = if named.is_none() { self.model[1].clone() } else { None };
        let row = MessageRow {
            kind,
            text: blank.text.or(message.error.get()),
            model: named.or(model.as_deref()),
            response_id: response.as_deref(),
            is_error: kind == MessageKind::ApiError,
            ..blank
        };
        self.push(spot, row)?;
        for (place, block) in message.content.0.iter().enumerate() {
            match block.kind.get().unwrap_or_default() {
                _ if block.is_call() => self.open_call(spot, message, block, place, response.as_deref())?,
                "text" | "thinking" | "redactedThinking" | "image" => {}
                kind => self.out.unknown(&format!("block {kind}")),
            }
        }
        Ok(())
    }

    fn take_result(&mut self, spot: &Spot<'_, '_>, message: &Message<'_>) -> Result<(), Reject> {
        let row = MessageRow {
            role: Role::Tool,
            kind: MessageKind::ToolResult,
            attachments: message.content.attachments(),
            is_error: message.is_error.0,
            ..self.blank_row(spot)
        };
        self.push(spot, row)?;
        if let Some(usage) = &message.usage.0 {
            self.bill_nested(spot, usage, "tool")?;
        }
        self.close_call(spot, message)
    }

    /// A compaction, or the summary of a branch that was left.
    pub(super) fn take_summary(&mut self, spot: &Spot<'_, '_>, kind: MessageKind) -> Result<(), Reject> {
        self.push(spot, MessageRow { kind, text: spot.entry.summary.get(), ..self.blank_row(spot) })?;
        match &spot.entry.usage.0 {
            Some(usage) => {
                self.bill_nested(spot, usage, if kind == MessageKind::Compaction { "compaction" } else { "branch" })
            }
            None => Ok(()),
        }
    }

    /// What the person ran with `!`.
    fn take_execution(
        &mut self,
        spot: &Spot<'_, '_>,
        message: &Message<'_>,
        tool: &'static str,
        code: Option<&str>,
    ) -> Result<(), Reject> {
        self.begin_turn();
        let mark = match (tool, message.is_excluded.0) {
            ("bash", false) => "!",
            ("bash", true) => "!!",
            (_, false) => "$",
            (_, true) => "$$",
        };
        let text = code.map(|code| format!("{mark}{code}"));
        self.push(
            spot,
            MessageRow { role: Role::User, kind: MessageKind::Command, text: text.as_deref(), ..self.blank_row(spot) },
        )?;
        self.push_execution(spot, message, tool, code)
    }
}
