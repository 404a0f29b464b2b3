//! Lines by their types: prompts, replies with their calls, results, and what the program notes.

use super::super::content::{Content, parts};
use super::super::record::{self, Arguments, Event, Payload, Response};
use super::super::tokens::Billed;
use super::super::tools;
use super::{PlacedLine, Transcript};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::facts::set;
use crate::agents::kit::thread::{Thread, blank};
use crate::extract::{Reject, Request, error_type};
use crate::tables::{Category, MessageKind, MessageRow, Role, UsageRow};

/// Subtypes of user lines that the person did not type.
const NOTICES: [&str; 5] = ["notification", "cron", "agent_message", "agent_mention", "goal_runtime"];

/// Subtypes of system lines that hold nothing for the tables.
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
    duration_ms: Option<i64>,
}

impl Measured {
    /// True if it is the response with these tokens.
    fn is_of(&self, billed: &Billed) -> bool {
        let prompt = billed.input.saturating_add(billed.cache_read.unwrap_or(0));
        let outputs = [Some(billed.output), billed.reasoning.map(|reasoning| billed.output - reasoning)];
        self.input == Some(prompt) && outputs.contains(&self.output)
    }
}

impl Transcript<'_, '_> {
    fn push(&mut self, placed: &PlacedLine<'_, '_>, row: MessageRow<'_>) -> Result<(), Reject> {
        let (cwd, git_branch) = (placed.line.cwd.get(), placed.line.git_branch.get());
        self.thread.push(&placed.at, MessageRow { cwd, git_branch, ..row.shorten() }, self.out).map(drop)
    }

    /// The text is what the person saw, if the line has it: hooks add to what the model is sent.
    pub(super) fn take_user(&mut self, placed: &PlacedLine<'_, '_>, payload: &Payload<'_>) -> Result<(), Reject> {
        let content = Content::of(placed.line.message.0.as_ref());
        let kind = match placed.line.subtype.get() {
            Some(subtype) if NOTICES.contains(&subtype) => MessageKind::Notice,
            None | Some("mid_turn_user_message" | "agent_launch_prompt") => MessageKind::Prompt,
            Some(subtype) => {
                self.out.unknown(&format!("user {subtype}"));
                MessageKind::Meta
            }
        };
        if kind == MessageKind::Prompt && !placed.is_piece {
            self.thread.begin_turn();
        }
        let text = payload.display.get().or(content.text.as_deref());
        self.push(placed, MessageRow { text, attachments: content.attachments, ..blank(Role::User, kind) })
    }

    /// Takes a line of the model: a whole response, or in a subagent's file a part of one.
    pub(super) fn take_reply(&mut self, placed: &PlacedLine<'_, '_>) -> Result<(), Reject> {
        let message = placed.line.message.0.as_ref();
        let content = Content::of(message);
        let billed = placed.line.usage.0.as_ref().and_then(Billed::of);
        let response = billed.map(|_| placed.response);
        if let Some(billed) = billed {
            self.bill(placed, billed)?;
        }
        let row = MessageRow {
            text: content.text.as_deref(),
            thinking: content.thinking.as_deref(),
            model: placed.line.model.get(),
            response_id: response,
            attachments: content.attachments,
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        self.push(placed, row)?;
        let calls = message.into_iter().flat_map(parts).filter_map(|part| part.call.0.as_ref());
        calls.enumerate().try_for_each(|(place, call)| self.open_call(placed, call, place, response))
    }

    fn bill(&mut self, placed: &PlacedLine<'_, '_>, billed: Billed) -> Result<(), Reject> {
        let measured = self.measured.take().filter(|measured| measured.is_of(&billed));
        let row = UsageRow {
            message_id: Some(placed.at.id),
            response_id: placed.response,
            turn: self.thread.turn,
            model: placed.line.model.get(),
            input_tokens: Some(billed.input),
            cache_read_tokens: billed.cache_read,
            output_tokens: Some(billed.output),
            reasoning_tokens: billed.reasoning,
            context_window: placed.line.context_window.0.filter(|tokens| *tokens > 0),
            duration_ms: measured.and_then(|measured| measured.duration_ms),
            ..UsageRow::default()
        };
        self.thread.bill(&placed.at, row, self.thread.seq, self.out)
    }

    /// Opens a call under the id that the provider gave it, or else under the tool's name.
    fn open_call(
        &mut self,
        placed: &PlacedLine<'_, '_>,
        call: &record::Call<'_>,
        place: usize,
        response: Option<&str>,
    ) -> Result<(), Reject> {
        let tool = call.name.get().unwrap_or("unknown");
        let name = call.id.get().unwrap_or(tool);
        let before = self.thread.calls.get(name).map(|before| &*before);
        let is_repeated = before.is_some_and(|before| before.message_id.as_deref() == Some(placed.at.id));
        let id = match call.id.get().filter(|_| !is_repeated) {
            Some(id) => format!("{}#{id}", placed.response),
            None => format!("{}#{place}", placed.at.id),
        };
        if placed.is_piece && before.is_some_and(|before| before.id == id) {
            return Ok(());
        }
        let json = call.arguments.json();
        let request = json.and_then(Request::of);
        let arguments: Arguments<'_> = request.and_then(|request| request.fields().ok()).unwrap_or_default();
        let of_tool = tools::call(tool);
        let command = arguments.command.owned().filter(|_| of_tool.category == Category::Shell);
        let file = arguments.file.get().or(arguments.path.get()).filter(|_| of_tool.category.has_file());
        let call = Call {
            id,
            message_id: Some(placed.at.id.to_owned()),
            response_id: response.map(str::to_owned),
            input: json.map(str::to_owned),
            command,
            file: file.map(str::to_owned),
            ..of_tool
        };
        self.thread.open_named_call(&placed.at, Some(name), call, self.out)
    }

    /// Takes the results of one or more calls.
    pub(super) fn take_results(&mut self, placed: &PlacedLine<'_, '_>) -> Result<(), Reject> {
        self.push(placed, blank(Role::Tool, MessageKind::ToolResult))?;
        let parts = placed.line.message.0.iter().flat_map(parts);
        let responses = parts.filter_map(|part| part.response.0.as_ref());
        responses.enumerate().try_for_each(|(place, response)| self.close_call(placed, response, place))
    }

    fn close_call(&mut self, placed: &PlacedLine<'_, '_>, response: &Response<'_>, place: usize) -> Result<(), Reject> {
        let tool = response.name.get().unwrap_or("unknown");
        let orphan = |_: &mut Thread| Call { id: format!("{}#{place}", placed.at.id), ..tools::call(tool) };
        let call = self.thread.take_call(&placed.at, response.id.get().unwrap_or(tool), orphan);
        let Some(call) = call else { return Ok(()) };
        let end = tools::outcome(&call, placed.line.result.0.as_ref(), response);
        self.thread.close_call(&call, &Outcome { ended_at: placed.at.moment, ..end }, self.out)
    }

    pub(super) fn take_system(&mut self, placed: &PlacedLine<'_, '_>, payload: &Payload<'_>) -> Result<(), Reject> {
        match placed.line.subtype.get().unwrap_or_default() {
            "ui_telemetry" => return payload.event.0.as_ref().map_or(Ok(()), |event| self.take_event(placed, event)),
            "chat_compression" => {
                let summary = payload.history.0.first().map(|content| Content::of(content.0.as_ref()));
                let text = summary.as_ref().and_then(|summary| summary.text.as_deref());
                return self.push(placed, MessageRow { text, ..blank(Role::System, MessageKind::Compaction) });
            }
            "slash_command" if !payload.phase.is("result") => {
                self.thread.begin_turn();
                let text = payload.command.get();
                return self.push(placed, MessageRow { text, ..blank(Role::User, MessageKind::Command) });
            }
            "slash_command" => {}
            "custom_title" => set(&mut self.thread.facts.title, payload.title.get()),
            "parent_session" => set(&mut self.thread.facts.parent_session_id, payload.parent_session.get()),
            subtype if IGNORED.contains(&subtype) => {}
            subtype => self.out.unknown(&format!("system {subtype}")),
        }
        Ok(())
    }

    /// Takes what the program measured. Responses and tool calls have lines of their own, failed requests do not.
    fn take_event(&mut self, placed: &PlacedLine<'_, '_>, event: &Event<'_>) -> Result<(), Reject> {
        let duration_ms = event.duration_ms.0.filter(|ms| *ms >= 0);
        match event.name.get().map(|name| name.trim_start_matches("qwen-code.")) {
            Some("api_response") => {
                self.measured = Some(Measured { input: event.input.0, output: event.output.0, duration_ms });
            }
            Some("tool_call") => {
                if let Some(call) = event.call.get().and_then(|name| self.thread.calls.get(name)) {
                    (call.duration_ms, call.was_refused) = (duration_ms, event.decision.is("reject"));
                }
            }
            Some("api_error") => {
                let text = event.error.get();
                let error_type = Some(error_type(event.error_name.get(), event.status.0, text));
                let row = blank(Role::System, MessageKind::ApiError);
                return self.push(placed, MessageRow { text, is_error: true, error_type, ..row });
            }
            Some("api_cancel") => return self.push(placed, blank(Role::System, MessageKind::Abort)),
            _ => {}
        }
        Ok(())
    }
}
