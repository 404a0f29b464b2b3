//! Lines of the program itself: system records and attachments.

use std::borrow::Cow;

use super::super::KNOWN_NOTICES;
use super::super::content::{plain_text, with_blocks};
use super::super::record::{Attachment, Failure, Line};
use super::super::user;
use super::{PlacedLine, Transcript};
use crate::extract::{Reject, error_type};
use crate::source::records::Text;
use crate::tables::{ErrorType, MessageKind, MessageRow, Role};

/// Returns the duration of a turn, a compaction or the slowest of several hooks. Milliseconds.
fn duration_of(line: &Line<'_>) -> Option<i64> {
    let hooks = line.hooks.0.iter().filter_map(|hook| hook.0.as_ref()?.duration.0);
    let compaction = line.compaction.0.as_ref().and_then(|compaction| compaction.duration.0);
    line.duration.0.or(compaction).or(hooks.max())
}

/// Returns why a request failed. The text of the whole error would mislead: it names fields such as `rateLimits` that
/// are null.
fn failure_of(line: &Line<'_>) -> Option<ErrorType> {
    let failure: Failure<'_> = serde_json::from_str(line.error.json()?).ok()?;
    let reason = failure.answer.0.and_then(|answer| answer.error.0).unwrap_or_default();
    let text = [&failure.formatted, &failure.message, &reason.message].into_iter().find_map(Text::get);
    Some(error_type(failure.kind.get().or(reason.kind.get()), failure.status.0, text))
}

/// Returns kind, text and attachments of what waited until the agent was free.
fn queued(attachment: &Attachment<'_>) -> (MessageKind, Option<String>, i64) {
    let json = attachment.prompt.json();
    let said = with_blocks(json, |blocks| (user::texts(&blocks).map(Cow::into_owned), user::attachments(&blocks)));
    let (text, attachments) = said.unwrap_or_default();
    let text = text.or_else(|| plain_text(json).filter(|_| attachments == 0));
    (user::kind_of_queued(attachment, text.as_deref().unwrap_or_default()), text, attachments)
}

impl Transcript<'_, '_> {
    pub(super) fn take_system(&mut self, placed: &PlacedLine<'_, '_>, parent: Option<u64>) -> Result<(), Reject> {
        let line = placed.line;
        self.tree.add(placed.key, parent, false, line.is_sidechain.0);
        let content = plain_text(line.content.json());
        let (kind, text) = match line.subtype.get().unwrap_or_default() {
            "compact_boundary" if std::mem::take(&mut self.has_summary) => (MessageKind::Notice, content),
            "compact_boundary" => {
                self.has_boundary = true;
                (MessageKind::Compaction, content)
            }
            "api_error" => (MessageKind::ApiError, content.or_else(|| plain_text(line.error.json()))),
            "local_command" if content.as_deref().is_some_and(|text| text.starts_with("<command-name>")) => {
                (MessageKind::Command, content)
            }
            "local_command" => (MessageKind::Meta, content),
            "permission_retry" => (MessageKind::Permission, content),
            "stop_hook_summary" => (MessageKind::Hook, content),
            "turn_duration" | "file_snapshot" => (MessageKind::Meta, content),
            subtype if KNOWN_NOTICES.contains(&subtype) => (MessageKind::Notice, content),
            subtype => {
                self.out.unknown(&format!("system {subtype}"));
                (MessageKind::Notice, content)
            }
        };
        let row = MessageRow {
            role: Role::System,
            kind,
            text: text.as_deref(),
            is_error: kind == MessageKind::ApiError || line.level.is("error"),
            error_type: failure_of(line).filter(|_| kind == MessageKind::ApiError),
            duration_ms: duration_of(line),
            ..self.blank_row(placed)
        };
        self.push_message(placed, row)
    }

    pub(super) fn take_attachment(&mut self, placed: &PlacedLine<'_, '_>, parent: Option<u64>) -> Result<(), Reject> {
        let line = placed.line;
        let Some(attachment) = line.attachment.0.as_ref() else { return Ok(()) };
        let kind = attachment.kind.get().unwrap_or_default();
        let mut attachments = 0;
        let (row_kind, role, text) = match kind {
            "queued_command" => {
                let (kind, text, count) = queued(attachment);
                attachments = count;
                (kind, if kind == MessageKind::Notice { Role::System } else { Role::User }, text)
            }
            "hook_blocking_error" => (MessageKind::Notice, Role::System, plain_text(attachment.error.json())),
            "hook_non_blocking_error" | "hook_error_during_execution" => {
                (MessageKind::Notice, Role::System, attachment.stderr.owned().or(plain_text(attachment.content.json())))
            }
            "hook_permission_decision" => {
                let (hook, decision) =
                    (attachment.hook.get().unwrap_or("hook"), attachment.decision.get().unwrap_or(""));
                (MessageKind::Permission, Role::System, Some(format!("{hook}: {decision}")))
            }
            "max_turns_reached" => (MessageKind::Notice, Role::System, Some("max turns reached".to_owned())),
            _ => {
                self.tree.add(placed.key, parent, false, line.is_sidechain.0);
                return Ok(());
            }
        };
        let is_prompt = user::begins_turn(row_kind);
        if is_prompt {
            self.turn = Some(self.turn.unwrap_or(0) + 1);
            self.close_replies(line.is_sidechain.0)?;
        }
        self.tree.add(placed.key, parent, is_prompt, line.is_sidechain.0);
        let row = MessageRow {
            role,
            kind: row_kind,
            text: text.as_deref(),
            attachments,
            is_error: text.is_some() && kind.contains("error"),
            permission_mode: line.permission_mode.get().filter(|_| is_prompt),
            ..self.blank_row(placed)
        };
        self.push_message(placed, row)
    }
}
