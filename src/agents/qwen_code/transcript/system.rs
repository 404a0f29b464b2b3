//! Lines of the program: commands, compactions, titles, and what it measured.

use super::super::content::Content;
use super::super::record::{Event, Payload};
use super::super::tokens::Billed;
use super::{Spot, Transcript, blank_row};
use crate::agents::kit::facts::set;
use crate::extract::Reject;
use crate::tables::{MessageKind, MessageRow, Role};

/// Lines that hold nothing for the tables.
const IGNORED: [&str; 6] = [
    "at_command",
    "attribution_snapshot",
    "rewind",
    "agent_bootstrap",
    "session_artifact_snapshot",
    "file_history_snapshot",
];

/// A response as the program measured it.
pub(super) struct Measured {
    input: Option<i64>,
    output: Option<i64>,
    /// Milliseconds.
    pub(super) duration_ms: Option<i64>,
}

impl Measured {
    /// Returns true if it is the response with these tokens.
    pub(super) fn is_of(&self, billed: &Billed) -> bool {
        let prompt = billed.input.saturating_add(billed.cache_read.unwrap_or(0));
        let outputs = [Some(billed.output), billed.reasoning.map(|reasoning| billed.output - reasoning)];
        self.input == Some(prompt) && outputs.contains(&self.output)
    }
}

impl Transcript<'_, '_> {
    pub(super) fn take_system(&mut self, spot: &Spot<'_, '_>, payload: &Payload<'_>) -> Result<(), Reject> {
        match spot.line.subtype.get().unwrap_or_default() {
            "ui_telemetry" => match &payload.event.0 {
                Some(event) => self.take_event(spot, event),
                None => Ok(()),
            },
            "chat_compression" => {
                let summary = payload.history.0.first().map(|content| Content::of(content.0.as_ref()));
                let text = summary.as_ref().and_then(|summary| summary.text.as_deref());
                self.push(spot, MessageRow { text, ..blank_row(Role::System, MessageKind::Compaction) })
            }
            "slash_command" if payload.phase.is("result") => Ok(()),
            "slash_command" => {
                self.begin_turn();
                self.push(
                    spot,
                    MessageRow { text: payload.command.get(), ..blank_row(Role::User, MessageKind::Command) },
                )
            }
            "custom_title" => {
                set(&mut self.facts.title, payload.title.get());
                Ok(())
            }
            "parent_session" => {
                set(&mut self.facts.parent_session_id, payload.parent_session.get());
                Ok(())
            }
            subtype if IGNORED.contains(&subtype) => Ok(()),
            subtype => {
                self.out.unknown(&format!("system {subtype}"));
                Ok(())
            }
        }
    }

    /// Responses and tool calls have lines of their own, which these events only time; failed requests have none.
    fn take_event(&mut self, spot: &Spot<'_, '_>, event: &Event<'_>) -> Result<(), Reject> {
        let duration_ms = event.duration_ms.0.filter(|ms| *ms >= 0);
        match event.name.get().map(|name| name.trim_start_matches("qwen-code.")) {
            Some("api_response") => {
                self.measured = Some(Measured { input: event.input.0, output: event.output.0, duration_ms });
                Ok(())
            }
            Some("tool_call") => {
                self.measure_call(event.call.get(), duration_ms, event.decision.is("reject"));
                Ok(())
            }
            Some("api_error") => {
                let row = MessageRow {
                    text: event.error.get(),
                    is_error: true,
                    ..blank_row(Role::System, MessageKind::ApiError)
                };
                self.push(spot, row)
            }
            Some("api_cancel") => self.push(spot, blank_row(Role::System, MessageKind::Abort)),
            _ => Ok(()),
        }
    }
}
