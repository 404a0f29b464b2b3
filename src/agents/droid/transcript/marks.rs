//! Records that are no messages: compactions, and how turns ended.

use std::borrow::Cow;

use super::super::content::plain_text;
use super::super::record::Line;
use super::Transcript;
use crate::agents::kit::thread::{Position, blank};
use crate::extract::Reject;
use crate::tables::{MessageKind, MessageRow, Role};

impl Transcript<'_, '_> {
    pub(super) fn take_compaction(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let Some(id) = self.new_id(line.id.get(), line) else { return Ok(()) };
        let row = MessageRow { text: line.summary.get(), ..blank(Role::System, MessageKind::Compaction) };
        self.push(line, &Position::on_line(&id, line.timestamp.0, number), row)?;
        self.leave_origin_at(line.id.get());
        Ok(())
    }

    /// A turn that ended well leaves no message: its last reply says all.
    pub(super) fn take_outcome(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let reason = line.reason.get().unwrap_or("completed");
        if reason == "completed" {
            return Ok(());
        }
        let of_turn = line.turn.get().map(|turn| format!("outcome-{turn}"));
        let Some(id) = self.new_id(line.id.get().or(of_turn.as_deref()), line) else { return Ok(()) };
        let was_stopped = ["cancel", "interrupt", "abort"].iter().any(|word| reason.contains(word));
        let kind = if was_stopped { self.stop_turn() } else { MessageKind::Notice };
        let text = plain_text(&line.result).unwrap_or(Cow::Borrowed(reason));
        let row = MessageRow { text: Some(&*text), is_error: !was_stopped, ..blank(Role::System, kind) };
        self.push(line, &Position::on_line(&id, line.timestamp.0, number), row)
    }

    /// The kind of a message that says that the turn was stopped: only the first one counts as an interruption.
    pub(super) fn stop_turn(&mut self) -> MessageKind {
        if std::mem::replace(&mut self.turn_was_stopped, true) { MessageKind::Notice } else { MessageKind::Abort }
    }
}
