//! Messages by the role that speaks, and what the model was paid for them.

use super::super::content::Content;
use super::super::dialect::Writer;
use super::super::record::{Message, Usage};
use super::super::usage::Billed;
use super::{PlacedEntry, Transcript, at_moment};
use crate::agents::kit::thread::blank;
use crate::agents::kit::values::rounded;
use crate::extract::{Kind, Reject, error_type};
use crate::tables::{MessageKind, MessageRow, Role, UsageRow};

impl Transcript<'_, '_> {
    pub(super) fn take_message(&mut self, placed: &PlacedEntry<'_, '_>, message: &Message<'_>) -> Result<(), Reject> {
        self.out.unknown_fields("message field ", &message.unknown);
        let (role, content) = (message.role.get().unwrap_or_default(), &message.content);
        let row = match role {
            "user" => return self.take_user(placed, content),
            "assistant" => return self.take_assistant(placed, message),
            "toolResult" => return self.take_result(placed, message),
            "bashExecution" => return self.take_execution(placed, message, "bash", message.command.get()),
            "pythonExecution" => return self.take_execution(placed, message, "python", message.code.get()),
            "custom" | "hookMessage" | "fileMention" => return self.take_injected(placed, content),
            "branchSummary" | "compactionSummary" => blank(Role::System, MessageKind::Summary),
            _ => blank(Role::System, MessageKind::Meta),
        };
        if !matches!(role, "branchSummary" | "compactionSummary" | "system" | "developer") {
            self.out.unknown(&format!("role {role}"));
        }
        let summary = message.summary.get().filter(|_| row.kind == MessageKind::Summary);
        let text = summary.map(Into::into).or_else(|| content.text());
        self.push(placed, MessageRow { text: text.as_deref(), ..row })
    }

    fn take_user(&mut self, placed: &PlacedEntry<'_, '_>, content: &Content<'_>) -> Result<(), Reject> {
        let text = content.text();
        let (kind, text) = text.as_deref().map_or((MessageKind::Prompt, None), |text| {
            let (kind, text) = (self.dialect.user)(text);
            (kind, Some(text))
        });
        if kind == MessageKind::Prompt {
            self.thread.begin_turn();
        }
        self.push(placed, MessageRow { text, attachments: content.attachments(), ..blank(Role::User, kind) })
    }

    /// Takes a text that an extension or the program gave to the model in the person's place.
    pub(super) fn take_injected(&mut self, placed: &PlacedEntry<'_, '_>, content: &Content<'_>) -> Result<(), Reject> {
        let (text, attachments) = (content.text(), content.attachments());
        self.push(placed, MessageRow { text: text.as_deref(), attachments, ..blank(Role::User, MessageKind::Meta) })
    }

    fn take_assistant(&mut self, placed: &PlacedEntry<'_, '_>, message: &Message<'_>) -> Result<(), Reject> {
        let (text, thinking) = (message.content.text(), message.content.thinking());
        let row = MessageRow {
            text: text.as_deref(),
            thinking: thinking.as_deref(),
            stop_reason: message.stop_reason.get(),
            attachments: message.content.attachments(),
            ..blank(Role::Assistant, MessageKind::Meta)
        };
        let writer = (self.dialect.writer)(message, &self.known);
        if writer == Writer::Program {
            return self.push(placed, row);
        }
        let kind = match message.stop_reason.get() {
            Some("error") => MessageKind::ApiError,
            Some("aborted") => MessageKind::Abort,
            _ => MessageKind::Reply,
        };
        let named = message.response_model.get().or(message.model.get());
        self.set_model(message.provider.get(), message.model.get());
        let is_counted = writer != Writer::OtherAgent(None);
        let response = is_counted.then(|| self.response_id(placed, message)).flatten();
        if let Some(response) = &response {
            self.bill_reply(placed, message, response)?;
            if let Writer::OtherAgent(Some(session)) = writer {
                self.out.yields_to(Kind::Response, response, session, None);
            }
        }
        let model = if named.is_none() { self.model[1].clone() } else { None };
        let row = MessageRow {
            kind,
            text: row.text.or(message.error.get()),
            model: named.or(model.as_deref()),
            response_id: response.as_deref(),
            is_error: kind == MessageKind::ApiError,
            error_type: message.error.get().map(|error| error_type(None, None, Some(error))),
            ..row
        };
        self.push(placed, row)?;
        for (place, block) in message.content.0.iter().enumerate() {
            match block.kind.get().unwrap_or_default() {
                _ if block.is_call() => self.open_call(placed, message, block, place, response.as_deref())?,
                "text" | "thinking" | "redactedThinking" | "image" => {}
                kind => self.out.unknown(&format!("block {kind}")),
            }
        }
        Ok(())
    }

    fn take_result(&mut self, placed: &PlacedEntry<'_, '_>, message: &Message<'_>) -> Result<(), Reject> {
        let row = blank(Role::Tool, MessageKind::ToolResult);
        self.push(placed, MessageRow { is_error: message.is_error.0, ..row })?;
        self.bill_nested(placed, message.usage.0.as_ref(), "tool")?;
        self.close_call(placed, message)
    }

    /// Takes a compaction, or the summary of a branch that was left.
    pub(super) fn take_summary(&mut self, placed: &PlacedEntry<'_, '_>, kind: MessageKind) -> Result<(), Reject> {
        self.push(placed, MessageRow { text: placed.entry.summary.get(), ..blank(Role::System, kind) })?;
        let what = if kind == MessageKind::Compaction { "compaction" } else { "branch" };
        self.bill_nested(placed, placed.entry.usage.0.as_ref(), what)
    }

    /// Takes what the person ran with `!`.
    fn take_execution(
        &mut self,
        placed: &PlacedEntry<'_, '_>,
        message: &Message<'_>,
        tool: &'static str,
        code: Option<&str>,
    ) -> Result<(), Reject> {
        self.thread.begin_turn();
        let mark = match (tool, message.is_excluded.0) {
            ("bash", false) => "!",
            ("bash", true) => "!!",
            (_, false) => "$",
            (_, true) => "$$",
        };
        let text = code.map(|code| format!("{mark}{code}"));
        self.push(placed, MessageRow { text: text.as_deref(), ..blank(Role::User, MessageKind::Command) })?;
        self.push_execution(placed, message, tool, code)
    }

    /// The provider's id with the entry's moment, because local servers give the same ones again; without one the row's id.
    /// None where neither an id nor tokens say that there was a response.
    fn response_id(&mut self, placed: &PlacedEntry<'_, '_>, message: &Message<'_>) -> Option<String> {
        let id = message.response.get().map(|id| match placed.at.moment {
            Some(moment) => at_moment(id, moment),
            None => format!("{id}#{}", placed.at.id),
        });
        let usage = message.usage.0.as_ref();
        let billed = usage.and_then(|usage| Billed::of(usage, message.api.get(), message.provider.get()));
        id.as_ref().map(drop).or(billed.map(drop))?;
        Some(id.filter(|id| self.thread.is_new(Kind::Response, id)).unwrap_or_else(|| placed.at.id.to_owned()))
    }

    fn bill_reply(
        &mut self,
        placed: &PlacedEntry<'_, '_>,
        message: &Message<'_>,
        response: &str,
    ) -> Result<(), Reject> {
        let provider = message.provider.get();
        let billed = self.billed(message.usage.0.as_ref(), message.api.get(), provider);
        let Some(billed) = billed else { return Ok(()) };
        let stop_reason = message.stop_reason.get();
        let row = UsageRow {
            message_id: Some(placed.at.id),
            timestamp: message.timestamp.0,
            model: message.response_model.get().or(message.model.get()).or(self.model[1].as_deref()),
            requested_model: message.model.get().filter(|_| message.response_model.get().is_some()),
            reasoning_effort: self.thinking_level.as_deref(),
            provider: provider.or(self.model[0].as_deref().filter(|_| message.model.get().is_none())),
            duration_ms: message.duration.0.and_then(rounded),
            time_to_first_token_ms: message.first_token.0.and_then(rounded),
            stop_reason,
            is_partial: matches!(stop_reason, Some("aborted" | "error")),
            ..billed.row(response, self.thread.turn)
        };
        self.thread.bill(&placed.at, row, self.thread.seq, self.out)
    }

    /// Bills a model call that the message before made on the way, and of which only the tokens are kept.
    fn bill_nested(
        &mut self,
        placed: &PlacedEntry<'_, '_>,
        usage: Option<&Usage<'_>>,
        what: &str,
    ) -> Result<(), Reject> {
        let Some(billed) = self.billed(usage, None, None) else { return Ok(()) };
        let response = format!("{}:{what}", placed.at.id);
        // Summaries are made by the model that speaks; a tool may ask any.
        let [provider, model] = if what == "tool" { [None, None] } else { self.model.each_ref().map(Option::as_deref) };
        let message_id = Some(placed.at.id);
        let row = UsageRow { message_id, model, provider, ..billed.row(&response, self.thread.turn) };
        self.thread.bill(&placed.at, row, self.thread.seq - 1, self.out)
    }

    /// Bills a model call that became no message, such as one that keeps the cache warm.
    pub(super) fn bill_entry(&mut self, placed: &PlacedEntry<'_, '_>) -> Result<(), Reject> {
        let (model, provider) = (placed.entry.model.get(), placed.entry.provider.get());
        let Some(billed) = self.billed(placed.entry.usage.0.as_ref(), None, provider) else { return Ok(()) };
        let row = UsageRow { model, provider, ..billed.row(placed.at.id, self.thread.turn) };
        self.thread.bill(&placed.at, row, self.thread.seq, self.out)
    }

    fn billed(&mut self, usage: Option<&Usage<'_>>, api: Option<&str>, provider: Option<&str>) -> Option<Billed> {
        let usage = usage?;
        self.out.unknown_fields("usage field ", &usage.unknown);
        Billed::of(usage, api, provider)
    }
}
