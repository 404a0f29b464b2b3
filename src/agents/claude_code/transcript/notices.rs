//! Lines of the program itself: system records and attachments.

use super::super::KNOWN_NOTICES;
use super::super::content::plain_text;
use super::{Spot, Transcript};
use crate::extract::Reject;
use crate::tables::MessageRow;

impl Transcript<'_, '_> {
    pub(super) fn take_system(&mut self, spot: &Spot<'_, '_>, parent: Option<u64>) -> Result<(), Reject> {
        let line = spot.line;
        self.tree.add(spot.key, parent, false, line.is_sidechain.0);
        let content = plain_text(line.content.json());
        let (kind, text) = match line.subtype.get().unwrap_or_default() {
            "compact_boundary" if std::mem::take(&mut self.has_summary) => ("notice", content),
            "compact_boundary" => {
                self.has_boundary = true;
                ("compaction", content)
            }
            "api_error" => ("api_error", content.or_else(|| plain_text(line.error.json()))),
            "local_command" if content.as_deref().is_some_and(|text| text.starts_with("<command-name>")) => {
                ("command", content)
            }
            "local_command" => ("meta", content),
            "permission_retry" => ("permission", content),
            "stop_hook_summary" | "turn_duration" | "file_snapshot" => ("meta", content),
            subtype if KNOWN_NOTICES.contains(&subtype) => ("notice", content),
            subtype => {
                self.out.unknown(&format!("system {subtype}"));
                ("notice", content)
            }
        };
        let row = MessageRow {
            role: "system",
            kind,
            text: text.as_deref(),
            is_error: kind == "api_error" || line.level.is("error"),
            ..self.blank_row(spot)
        };
        self.push_message(spot, row)
    }

    pub(super) fn take_attachment(&mut self, spot: &Spot<'_, '_>, parent: Option<u64>) -> Result<(), Reject> {
        let line = spot.line;
        let Some(attachment) = line.attachment.0.as_ref() else { return Ok(()) };
        let kind = attachment.kind.get().unwrap_or_default();
        let (row_kind, role, text) = match kind {
            "queued_command" if attachment.mode.is("task-notification") => {
                ("notice", "system", plain_text(attachment.prompt.json()))
            }
            "queued_command" => ("prompt", "user", plain_text(attachment.prompt.json())),
            "hook_blocking_error" => ("notice", "system", plain_text(attachment.error.json())),
            "hook_non_blocking_error" | "hook_error_during_execution" => {
                ("notice", "system", attachment.stderr.owned().or(plain_text(attachment.content.json())))
            }
            "hook_permission_decision" => {
                let (hook, decision) =
                    (attachment.hook.get().unwrap_or("hook"), attachment.decision.get().unwrap_or(""));
                ("permission", "system", Some(format!("{hook}: {decision}")))
            }
            "max_turns_reached" => ("notice", "system", Some("max turns reached".to_owned())),
            _ => {
                self.tree.add(spot.key, parent, false, line.is_sidechain.0);
                return Ok(());
            }
        };
        let is_prompt = row_kind == "prompt";
        if is_prompt {
            self.turn = Some(self.turn.unwrap_or(0) + 1);
            self.close_replies(line.is_sidechain.0)?;
        }
        self.tree.add(spot.key, parent, is_prompt, line.is_sidechain.0);
        let row = MessageRow {
            role,
            kind: row_kind,
            text: text.as_deref(),
            is_error: text.is_some() && kind.contains("error"),
            ..self.blank_row(spot)
        };
        self.push_message(spot, row)
    }
}
