//! Turns: what the person and the program say, how turns end, and which of them were undone.

use xxhash_rust::xxh3::xxh3_64;

use super::super::record::{Failure, Line, Message, Origin};
use super::Wire;
use crate::agents::kit::calls::Outcome;
use crate::agents::kit::texts::add_line;
use crate::agents::kit::thread::{Position, blank};
use crate::extract::{Kind, Reject, Sink, error_type};
use crate::tables::{ErrorType, MessageKind, MessageRow, Role, Status};

/// Returns the kind of a message that stands in the person's place. `None` if another record has its text.
fn kind_of(origin: &Origin<'_>, out: &mut Sink<'_>) -> Option<MessageKind> {
    let is_of_subagent = origin.name.is("subagent");
    Some(match origin.kind.get().unwrap_or("user") {
        "user" => MessageKind::Prompt,
        "system_trigger" if is_of_subagent => MessageKind::Prompt,
        "skill_activation" | "plugin_command" if origin.trigger.is("user-slash") => MessageKind::Command,
        "shell_command" if origin.phase.is("input") => MessageKind::Command,
        "injection" | "skill_activation" | "plugin_command" | "shell_command" => MessageKind::Meta,
        "compaction_summary" => return None,
        "system_trigger" | "task" | "background_task" | "cron_job" | "cron_missed" | "hook_result" | "retry" => {
            MessageKind::Notice
        }
        other => {
            out.unknown(&format!("origin {other}"));
            MessageKind::Meta
        }
    })
}

/// Returns true if the person can go back to before a message, as far as its origin decides it.
fn is_anchor(origin: &Origin<'_>) -> bool {
    let is_typed = matches!(origin.kind.get(), None | Some("user"));
    !origin.in_turn.0 && (is_typed || origin.trigger.is("user-slash"))
}

impl Wire<'_, '_> {
    pub(super) fn take_message(&mut self, message: &Message<'_>, at: Position<'_>) -> Result<(), Reject> {
        let (mut text, mut thinking, mut attachments) = (String::new(), String::new(), 0);
        for part in &message.content.0 {
            match (part.text.get(), part.thinking.get()) {
                (Some(part), _) => add_line(&mut text, part),
                (None, Some(part)) => add_line(&mut thinking, part),
                (None, None) => attachments += i64::from(!matches!(part.kind.get(), Some("text" | "think"))),
            }
        }
        let made_up = || self.own_id(at.moment, &format!("{:016x}", xxh3_64(text.as_bytes())));
        let id = message.id.owned().unwrap_or_else(made_up);
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        let default = Origin::default();
        let origin = message.origin.0.as_ref().unwrap_or(&default);
        let (role, kind) = match message.role.get() {
            Some("assistant") => (Role::Assistant, MessageKind::Reply),
            Some("tool") => (Role::Tool, MessageKind::ToolResult),
            _ => match kind_of(origin, self.out) {
                Some(kind) => (Role::User, kind),
                None => return Ok(()),
            },
        };
        if role == Role::User && is_anchor(origin) {
            self.anchors.push(self.last);
        }
        if matches!(kind, MessageKind::Prompt | MessageKind::Command) {
            self.thread.begin_turn();
        }
        let filled = |text: String| Some(text).filter(|text| !text.is_empty());
        let (text, thinking) = (filled(text).filter(|_| role != Role::Tool), filled(thinking));
        let row = MessageRow { text: text.as_deref(), thinking: thinking.as_deref(), attachments, ..blank(role, kind) };
        self.push(Position { id: &id, ..at }, row)
    }

    pub(super) fn end_turn(&mut self, line: &Line<'_>, at: Position<'_>) -> Result<(), Reject> {
        self.end_step(None)?;
        let interrupted = Outcome { status: Status::Interrupted, ..Outcome::default() };
        for call in self.thread.calls.take_mentioned("") {
            self.thread.close_call(&call, &interrupted, self.out)?;
        }
        self.is_stopped = false;
        let duration_ms = line.duration_ms.0.filter(|ms| *ms >= 0);
        let (what, kind) = match (line.reason.get(), &line.error.0) {
            (Some("cancelled"), _) => ("abort", MessageKind::Abort),
            (Some("failed"), Some(failure)) => return self.take_failure(failure, duration_ms, at),
            _ if duration_ms.is_some() => ("end", MessageKind::Meta),
            _ => return Ok(()),
        };
        let id = self.own_id(at.moment, what);
        self.push(Position { id: &id, ..at }, MessageRow { duration_ms, ..blank(Role::System, kind) })
    }

    fn take_failure(
        &mut self,
        failure: &Failure<'_>,
        duration_ms: Option<i64>,
        at: Position<'_>,
    ) -> Result<(), Reject> {
        let text = failure.message.get();
        let status = failure.details.0.as_ref().and_then(|details| details.status.0);
        let is_of_provider = status.is_some() || failure.code.get().is_some_and(|code| code.starts_with("provider."));
        let kind = is_of_provider.then(|| error_type(failure.name.get(), status, text));
        self.take_error(at, "failure", text, kind, duration_ms)
    }

    /// Adds a failure of a request, or of the agent itself if it has no type. One that ends a turn has its duration.
    pub(super) fn take_error(
        &mut self,
        at: Position<'_>,
        what: &str,
        text: Option<&str>,
        error_type: Option<ErrorType>,
        duration_ms: Option<i64>,
    ) -> Result<(), Reject> {
        let id = self.own_id(at.moment, what);
        let kind = if error_type.is_some() { MessageKind::ApiError } else { MessageKind::Notice };
        let row = MessageRow { text, is_error: true, error_type, duration_ms, ..blank(Role::System, kind) };
        self.push(Position { id: &id, ..at }, row)
    }

    /// Goes back to before the last messages that the person sent.
    pub(super) fn undo(&mut self, line: &Line<'_>, at: Position<'_>) {
        let id = self.own_id(at.moment, "undo");
        let count = line.count.0.and_then(|count| usize::try_from(count).ok());
        let Some(left) = count.and_then(|count| self.anchors.len().checked_sub(count)) else { return };
        if !self.thread.is_new(Kind::Presence, &id) {
            return;
        }
        if let Some(before) = self.anchors.get(left).copied() {
            self.anchors.truncate(left);
            self.last = before;
            self.thread.tree.turn_to(None, before);
        }
    }
}
