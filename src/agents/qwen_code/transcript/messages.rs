//! Prompts, and replies with what they were billed for.

use super::super::content::{Content, parts};
use super::super::record::Payload;
use super::super::tokens::Billed;
use super::{Spot, Transcript, blank_row};
use crate::extract::Reject;
use crate::tables::{MessageKind, MessageRow, Role, UsageRow};

/// What lines of the person are that the person did not type.
const NOTICES: [&str; 5] = ["notification", "cron", "agent_message", "agent_mention", "goal_runtime"];

impl Transcript<'_, '_> {
    /// What the person typed, as it was shown where that is recorded: hooks add to what the model is sent.
    pub(super) fn take_user(&mut self, spot: &Spot<'_, '_>, payload: &Payload<'_>) -> Result<(), Reject> {
        let content = Content::of(spot.line.message.0.as_ref());
        let subtype = spot.line.subtype.get();
        let kind = match subtype {
            Some(subtype) if NOTICES.contains(&subtype) => MessageKind::Notice,
            None | Some("mid_turn_user_message" | "agent_launch_prompt") => MessageKind::Prompt,
            Some(subtype) => {
                self.out.unknown(&format!("user {subtype}"));
                MessageKind::Meta
            }
        };
        if kind == MessageKind::Prompt && !spot.is_piece {
            self.begin_turn();
        }
        let text = payload.display.get().or(content.text.as_deref());
        let row = MessageRow { text, attachments: content.attachments, ..blank_row(Role::User, kind) };
        self.push(spot, row)
    }

    /// A line of the model: a whole response, or in a subagent's file a part of one.
    pub(super) fn take_reply(&mut self, spot: &Spot<'_, '_>) -> Result<(), Reject> {
        let message = spot.line.message.0.as_ref();
        let content = Content::of(message);
        let billed = spot.line.usage.0.as_ref().and_then(Billed::of);
        let response = billed.map(|_| &*spot.response);
        if let Some(billed) = billed {
            self.bill(spot, billed)?;
        }
        let row = MessageRow {
            text: content.text.as_deref(),
            thinking: content.thinking.as_deref(),
            model: spot.line.model.get(),
            response_id: response,
            attachments: content.attachments,
            ..blank_row(Role::Assistant, MessageKind::Reply)
        };
        self.push(spot, row)?;
        let calls = message.into_iter().flat_map(parts).filter_map(|part| part.call.0.as_ref());
        calls.enumerate().try_for_each(|(place, call)| self.open_call(spot, call, place, response))
    }

    fn bill(&mut self, spot: &Spot<'_, '_>, billed: Billed) -> Result<(), Reject> {
        let measured = self.measured.take().filter(|measured| measured.is_of(&billed));
        let row = UsageRow {
            session_id: &self.facts.session_id,
            message_id: Some(&spot.id),
            response_id: &spot.response,
            turn: self.turn,
            timestamp: spot.line.timestamp.0,
            model: spot.line.model.get(),
            input_tokens: Some(billed.input),
            cache_read_tokens: billed.cache_read,
            output_tokens: Some(billed.output),
            reasoning_tokens: billed.reasoning,
            duration_ms: measured.and_then(|measured| measured.duration_ms),
            source_line: i64::try_from(spot.number).ok(),
            ..UsageRow::default()
        };
        self.out.usage(row, self.seq, spot.weak)
    }
}
