//! Tool calls, and the results that later lines give them.

use std::borrow::Cow;

use super::super::call_key;
use super::super::content::{Block, Structured, output_text};
use super::super::pending::{EarlyResult, PendingCall};
use super::super::record::{Input, Line};
use super::super::tools::{self, Evidence, Outcome};
use super::{PlacedLine, Transcript};
use crate::agents::ids;
use crate::agents::mcp;
use crate::extract::{NoteField, Reject, session_key};
use crate::source::repair;
use crate::tables::{Category, ToolCallRow};

impl Transcript<'_, '_> {
    pub(super) fn new_call(
        &mut self,
        placed: &PlacedLine<'_, '_>,
        block: &Block<'_>,
        message_id: &str,
        response: Option<&str>,
    ) -> PendingCall {
        let name = block.name.get().unwrap_or("unknown");
        let call_id = match block.id.get() {
            Some(id) => unique_id(id, placed.uuid).into_owned(),
            None => {
                let texts = [Some(placed.uuid), block.name.get(), block.input.json()];
                format!("{}#{}", placed.uuid, self.prints.name("call", None, texts.into_iter().flatten()))
            }
        };
        let json = block.input.json();
        let repaired: Cow<'_, str>;
        let (json, input): (_, Input<'_>) = match json.map(|json| (json, serde_json::from_str(json))) {
            None => (None, Input::default()),
            Some((json, Ok(input))) => (Some(json), input),
            Some((json, Err(_))) => {
                repaired = repair(json.as_bytes());
                (Some(&*repaired), serde_json::from_str(&repaired).unwrap_or_default())
            }
        };
        let server = block.server.get().or(mcp::server(name));
        let category =
            if server.is_some() && !name.starts_with("mcp__") { Category::Mcp } else { tools::category(name) };
        let call = PendingCall {
            call_id,
            seq: self.seq,
            message_id: message_id.to_owned(),
            response_id: response.map(str::to_owned),
            turn: self.turn,
            name: name.to_owned(),
            category,
            mcp_server: server.map(str::to_owned),
            command: input.command.get().filter(|_| category == Category::Shell).map(str::to_owned),
            file_path: tools::file_of(category, &input).map(str::to_owned),
            description: input.description.get().filter(|_| category == Category::Task).map(str::to_owned),
            subagent_type: input.subagent.owned(),
            started_at: placed.line.timestamp.0,
            is_sidechain: placed.line.is_sidechain.0,
            source_line: i64::try_from(placed.number).ok(),
            weak: self.is_copy(placed.line),
            input: json.map(str::to_owned),
            ..PendingCall::default()
        };
        self.seq += 1;
        call
    }

    pub(super) fn take_result(
        &mut self,
        placed: &PlacedLine<'_, '_>,
        block: &Block<'_>,
        alone: bool,
    ) -> Result<(), Reject> {
        let line = placed.line;
        let id = block.call.get().unwrap_or_default();
        let name = call_key(id);
        if self.calls.is_answered(name) && !id.is_empty() {
            return Ok(());
        }
        let output = output_text(block.content.json());
        let (result, result_text) = match &line.result {
            Structured::Object(result) if alone => (Some(&**result), None),
            Structured::Text(text) if alone => (None, Some(&**text)),
            _ => (None, None),
        };
        let evidence = Evidence {
            output: output.as_deref().unwrap_or_default(),
            is_error: block.is_error.0,
            denial: line.denial.get(),
            result,
            result_text,
        };
        let child = result.and_then(|result| result.agent.get()).map(|agent| child_session(self.main_of(line), agent));
        let ended_at = line.timestamp.0;
        if let Some(mut call) = self.calls.close(name) {
            call.child = child.or(call.child);
            let outcome = evidence.outcome(tools::is_shell(&call.name));
            return self.push_answered(name, call, outcome, output.as_deref(), ended_at);
        }
        let outcomes = [evidence.outcome(true), evidence.outcome(false)];
        let call = PendingCall { child, ..self.unknown_call(placed, id) };
        if id.is_empty() {
            return self.push_answered(name, call, evidence.outcome(false), output.as_deref(), ended_at);
        }
        let early = EarlyResult { call, outcomes, output: output.map(Cow::into_owned), ended_at };
        self.calls.hold(name, early).map_or(Ok(()), |oldest| self.push_early(oldest, None))
    }

    /// Emits a call with its result.
    fn push_answered(
        &mut self,
        name: u64,
        call: PendingCall,
        outcome: Outcome,
        output: Option<&str>,
        ended_at: Option<i64>,
    ) -> Result<(), Reject> {
        self.note_child(&call);
        let row = ToolCallRow {
            status: outcome.status,
            is_denied: Some(outcome.is_denied),
            exit_code: outcome.exit_code,
            duration_ms: outcome.duration_ms,
            lines_added: outcome.lines.added,
            lines_removed: outcome.lines.removed,
            output,
            ended_at,
            ..call.row(&self.session_id)
        };
        self.out.tool_call(row, call.weak)?;
        self.calls.await_child(name, call);
        Ok(())
    }

    /// Emits a result that came before its call. `call`: the call, if it has come.
    pub(super) fn push_early(&mut self, early: EarlyResult, call: Option<PendingCall>) -> Result<(), Reject> {
        let outcome = early.outcome_of(call.as_ref().unwrap_or(&early.call));
        let call = match call {
            Some(call) => PendingCall { child: early.call.child, ..call },
            None => early.call,
        };
        self.push_answered(call_key(&call.call_id), call, outcome, early.output.as_deref(), early.ended_at)
    }

    /// Makes the missing call of a result. Its place is the line before the result.
    fn unknown_call(&mut self, placed: &PlacedLine<'_, '_>, id: &str) -> PendingCall {
        let seq = self.seq;
        self.seq += 1;
        let id = match id {
            "" => format!("{}#{}", placed.uuid, self.prints.name("result", None, [placed.uuid])),
            id => unique_id(id, placed.line.parent.get().unwrap_or(placed.uuid)).into_owned(),
        };
        self.calls.note(&id);
        PendingCall::of_unknown_tool(id, seq, self.turn, i64::try_from(placed.number).ok())
    }

    /// Emits a call without a result.
    pub(super) fn push_unanswered(&mut self, call: &PendingCall) -> Result<(), Reject> {
        self.note_child(call);
        self.out.tool_call(call.row(&self.session_id), call.weak)
    }

    /// Adds facts to the subagent's session that only the call which started it records.
    pub(super) fn note_child(&mut self, call: &PendingCall) {
        if let Some(child) = &call.child {
            let key = session_key(self.out.agent(), child);
            for (field, text) in [(NoteField::Title, &call.description), (NoteField::SubagentType, &call.subagent_type)]
            {
                if let Some(text) = text {
                    self.out.note(field, key, 0, text);
                }
            }
        }
    }

    /// Returns the main session above the subagents that a line names; for a copied line, the session it was copied
    /// from.
    pub(super) fn main_of<'m>(&'m self, line: &'m Line<'_>) -> &'m str {
        let origin = line.session.get().filter(|_| self.identity.agent.is_none() && self.is_copy(line));
        origin.or(self.identity.main.as_deref()).unwrap_or(&self.session_id)
    }
}

/// Returns the session of a subagent.
pub(super) fn child_session(main: &str, agent: &str) -> String {
    format!("{main}/agent-{agent}")
}

/// Returns the id of a call. The provider's ids are unique and stay as they are. Any other is qualified by the line
/// that made the call, which copies keep.
fn unique_id<'i>(id: &'i str, line: &str) -> Cow<'i, str> {
    if id.contains("toolu_") { Cow::Borrowed(id) } else { ids::qualified(line, id) }
}
