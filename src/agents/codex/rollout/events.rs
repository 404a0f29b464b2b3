//! Events: facts that the items do not record.

use super::super::changes;
use super::super::content::plain_text;
use super::super::outcome::{End, milliseconds};
use super::super::record::{Duration, Event, McpResult};
use super::{LinePosition, Rollout, blank};
use crate::agents::mcp;
use crate::extract::{NoteField, Reject, error_type, session_key};
use crate::source::records::Raw;
use crate::tables::{MessageKind, MessageRow, Role};

/// Events that repeat items or hold nothing for the tables.
const IGNORED: [&str; 22] = [
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "web_search_end",
    "view_image_tool_call",
    "image_generation_end",
    "context_compacted",
    "thread_goal_updated",
    "undo_completed",
    "guardian_assessment",
    "dynamic_tool_call_request",
    "dynamic_tool_call_response",
    "collab_agent_interaction_end",
    "collab_waiting_end",
    "collab_close_end",
    "collab_resume_end",
    "plan_update",
    "turn_diff",
    "session_configured",
    "shutdown_complete",
    "background_event",
];

impl Rollout<'_, '_> {
    pub(super) fn take_event(&mut self, position: LinePosition, event: &Event<'_>) -> Result<(), Reject> {
        let kind = event.kind.get().unwrap_or_default();
        match kind {
            "token_count" => {
                self.take_count(position, event.info.0.as_ref())?;
                self.take_limits(position, event.limits.0.as_ref());
                return Ok(());
            }
            "task_started" | "turn_started" => {
                self.flush_turn()?;
                self.flush_first()?;
                self.awaits_first = true;
                return self.begin_turn(event.turn.get());
            }
            "thread_settings_applied" => {
                if let Some(thread) = event.thread.get() {
                    self.lineage.named(thread == self.session);
                }
            }
            _ => {}
        }
        if self.lineage.is_copied() || IGNORED.contains(&kind) {
            return Ok(());
        }
        match kind {
            "thread_settings_applied" => self.take_settings(event),
            "user_message" => self.take_announced(position, event.message.get().unwrap_or_default()),
            "item_completed" => self.take_completed(position, event),
            "task_complete" | "turn_complete" => self.take_end(position, event),
            "turn_aborted" => {
                self.take_abort(position, event.reason.get().unwrap_or("interrupted"), event.duration_ms.0)
            }
            "error" => {
                let message = event.message.owned().or_else(|| message_in(event.error));
                self.take_error(position, message.as_deref(), event.error_info.json())
            }
            "exec_command_end" | "patch_apply_end" | "mcp_tool_call_end" => {
                self.take_call_end(event);
                Ok(())
            }
            "collab_agent_spawn_end" | "sub_agent_activity" => {
                let call = event.call.get().or(event.event.get());
                self.link_child(call, event.new_thread.get());
                Ok(())
            }
            "thread_rolled_back" => self.roll_back(event.turns.0.unwrap_or(0)),
            "thread_name_updated" => {
                if let Some(name) = event.thread_name.get() {
                    let rank = i64::try_from(position.number).unwrap_or(i64::MAX);
                    self.out.note(NoteField::Title, session_key(self.out.agent(), &self.session), rank, name);
                }
                Ok(())
            }
            "entered_review_mode" => self.enter_review(position, event.hint.get()),
            "exited_review_mode" => self.leave_review(position, plain_text(event.review.json()).as_deref()),
            kind => {
                self.out.unknown(&format!("event_msg {kind}"));
                Ok(())
            }
        }
    }

    fn take_settings(&mut self, event: &Event<'_>) -> Result<(), Reject> {
        self.close_reply()?;
        if let Some(settings) = &event.settings.0 {
            self.set_model(settings.model.get());
            self.set_cwd(settings.cwd.get());
            self.set_service_tier(settings.service_tier.get());
        }
        Ok(())
    }

    /// Emits the held rows of the last turn, because another turn is about to begin.
    fn flush_turn(&mut self) -> Result<(), Reject> {
        self.settle()?;
        self.turn_has_records = false;
        self.error = None;
        Ok(())
    }

    fn take_end(&mut self, position: LinePosition, event: &Event<'_>) -> Result<(), Reject> {
        self.settle()?;
        let error = message_in(event.error).filter(|message| self.error.as_ref() != Some(message));
        if let Some(message) = error {
            self.take_error(position, Some(&message), event.error.json())?;
        }
        self.take_first_token(event.first_token.0)?;
        let Some(duration_ms) = event.duration_ms.0 else { return Ok(()) };
        let id =
            self.ids.of(self.lineage.namespace(&self.session), None, &["end", event.turn.get().unwrap_or_default()]);
        let row = MessageRow { duration_ms: Some(duration_ms), ..blank(&id, position) };
        let (seq, parent) = (self.seq, self.parent.clone());
        self.seq += 1;
        self.push_at(seq, parent.as_deref(), self.turn, row)
    }

    fn take_error(&mut self, position: LinePosition, message: Option<&str>, info: Option<&str>) -> Result<(), Reject> {
        self.settle()?;
        self.error = message.map(str::to_owned);
        let id = self.ids.of(self.lineage.namespace(&self.session), None, &["error", message.unwrap_or_default()]);
        self.push(MessageRow {
            role: Role::System,
            kind: MessageKind::ApiError,
            text: message,
            is_error: true,
            error_type: Some(error_type(info, None, message)),
            ..blank(&id, position)
        })
    }

    fn take_abort(&mut self, position: LinePosition, reason: &str, duration_ms: Option<i64>) -> Result<(), Reject> {
        self.settle()?;
        let (role, kind) = match reason {
            "review_ended" | "budget_limited" => (Role::System, MessageKind::Notice),
            _ => (Role::User, MessageKind::Abort),
        };
        let id = self.ids.of(self.lineage.namespace(&self.session), None, &["abort", reason]);
        self.push(MessageRow { role, kind, text: Some(reason), duration_ms, ..blank(&id, position) })
    }

    /// Marks the messages of the person's last turns, which no longer count.
    fn roll_back(&mut self, turns: i64) -> Result<(), Reject> {
        self.settle()?;
        let keep = self.turn_starts.len().saturating_sub(usize::try_from(turns).unwrap_or(0));
        if let Some(start) = self.turn_starts.get(keep).copied() {
            self.turn_starts.truncate(keep);
            let places: Vec<usize> = (start..self.places).collect();
            self.out.abandon(&places);
        }
        Ok(())
    }

    pub(super) fn enter_review(&mut self, position: LinePosition, hint: Option<&str>) -> Result<(), Reject> {
        self.settle()?;
        self.begin_person_turn();
        let text = hint.map_or_else(|| "/review".to_owned(), |hint| format!("/review {hint}"));
        let id = self.ids.of(self.lineage.namespace(&self.session), None, &["review", &text]);
        self.push(MessageRow {
            role: Role::User,
            kind: MessageKind::Command,
            text: Some(&text),
            ..blank(&id, position)
        })
    }

    pub(super) fn leave_review(&mut self, position: LinePosition, text: Option<&str>) -> Result<(), Reject> {
        self.settle()?;
        let id = self.ids.of(self.lineage.namespace(&self.session), None, &["reviewed", text.unwrap_or_default()]);
        self.push(MessageRow { role: Role::System, kind: MessageKind::Notice, text, ..blank(&id, position) })
    }

    /// Takes the event at a call's end.
    fn take_call_end(&mut self, event: &Event<'_>) {
        let Some(call) = event.call.get().and_then(|id| self.calls.get_mut(id)) else { return };
        let mut end = End {
            exit_code: event.exit_code.0,
            duration_ms: duration_of(event.duration),
            ..End::of(event.status.get(), event.success.json())
        };
        if let Some(invocation) = &event.invocation.0 {
            call.mcp_server = invocation.server.owned().or(call.mcp_server.take());
            call.category = mcp::category(invocation.server.get().unwrap_or_default());
            end.failed |= has_failed(event.result);
        }
        call.lines = changes::lines(event.changes);
        call.ends(end);
    }

    /// Notes which thread a call spawned.
    pub(super) fn link_child(&mut self, call: Option<&str>, child: Option<&str>) {
        if let Some(call) = call.and_then(|id| self.calls.get_mut(id)).filter(|call| call.child.is_none()) {
            call.child = child.map(str::to_owned);
        }
    }
}

/// Returns the message of an error: a text, or the message within an object.
fn message_in(error: Raw<'_>) -> Option<String> {
    let json = error.json()?;
    let object: Event<'_> = serde_json::from_str(json).unwrap_or_default();
    object.message.owned().or_else(|| plain_text(Some(json)))
}

/// Reads a duration of the form `{secs, nanos}`. Milliseconds.
pub(super) fn duration_of(duration: Raw<'_>) -> Option<i64> {
    let duration: Duration<'_> = serde_json::from_str(duration.json()?).ok()?;
    milliseconds(duration.seconds.0? + duration.nanoseconds.0.unwrap_or(0.0) / 1e9)
}

/// Returns true if an MCP server or the connection to it failed.
pub(super) fn has_failed(result: Raw<'_>) -> bool {
    let result: McpResult<'_> = result.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    result.bad.json().is_some() || result.is_error.0 || result.good.0.is_some_and(|content| content.is_error.0)
}
