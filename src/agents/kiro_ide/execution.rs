//! Logs: what was asked, and what was done for it, one log a prompt.

use super::content::{text_of, unwrapped};
use super::record::{Action, Context, Input, InputData, Output, Tool};
use super::workspace::Workspace;
use super::{answered, asked};
use crate::agents::amazon_q::call;
use crate::agents::document::{self, Torn};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::source::Source;
use crate::source::records::{Moment, Object, Text};
use crate::tables::{MessageKind, MessageRow, Role, Status};

/// Reads a log.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(json) = document::text(source, "a log", out)? else { return Ok(()) };
    let log = Torn::read(&json, "actions");
    let execution: Text<'_> = log.field("executionId");
    let session: Text<'_> = log.field("chatSessionId");
    if execution.get().is_none() && log.error.is_none() {
        return Ok(());
    }
    out.line();
    if let Some(error) = &log.error {
        out.problem(error.line() as u64, &format!("a torn log; everything before the tear was read: {error}"));
    }
    let fallback = execution.get().filter(|_| log.error.is_none());
    let (Some(execution), Some(session)) = (execution.get(), session.get().or(fallback)) else { return Ok(()) };
    let workspace: Object<Context<'_>> = log.field("workspaceContext");
    let named = workspace.0.and_then(|workspace| workspace.cwd.owned());
    let workspace = Workspace::of(source, source.path.ancestors().nth(2));
    let work = Work { execution, start: log.field::<Moment>("startTime").0, end: log.field::<Moment>("endTime").0 };
    let mut thread = Thread::new(Facts {
        session_id: session.to_owned(),
        project_path: named.or(workspace.path),
        project_hash: workspace.hash,
        first_moment: work.start,
        ..Facts::default()
    });
    work.take_prompt(&log, &mut thread, out)?;
    for (place, item) in log.items.iter().enumerate() {
        match serde_json::from_str(item.get()) {
            Ok(action) => work.take(&action, place + 1 == log.items.len(), &mut thread, out)?,
            Err(error) => out.problem(1, &format!("an action that cannot be read: {error}")),
        }
    }
    work.take_status(&log.field::<Text<'_>>("status"), &mut thread, out)?;
    thread.finish(out)
}

/// The facts about the work that a log records.
struct Work<'j> {
    execution: &'j str,
    start: Option<i64>,
    end: Option<i64>,
}

impl Work<'_> {
    /// The prompts so far are there, so that their number is the turn.
    fn take_prompt(&self, log: &Torn<'_>, thread: &mut Thread, out: &mut Sink<'_>) -> Result<(), Reject> {
        let input: Object<Input<'_>> = log.field("input");
        let InputData { messages, prompt, .. } = input.0.and_then(|input| input.data.0).unwrap_or_default();
        thread.turn = Some(i64::try_from(messages.0.len()).unwrap_or(1).max(1));
        let last = messages.0.last().and_then(|message| message.0.as_ref()).map(|message| message.content);
        let (text, attachments) = text_of(last.unwrap_or(prompt));
        let Some(text) = text.or_else(|| text_of(prompt).0) else { return Ok(()) };
        let id = format!("{}:prompt", self.execution);
        out.claim(asked(self.execution), false);
        let row = MessageRow { text: Some(unwrapped(&text)), attachments, ..blank(Role::User, MessageKind::Prompt) };
        thread.message(&Position::new(&id, self.start), row, out).map(drop)
    }

    fn take(&self, action: &Action<'_>, is_last: bool, thread: &mut Thread, out: &mut Sink<'_>) -> Result<(), Reject> {
        let output: Output<'_> =
            action.output.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let own = action.id.get().map_or_else(
            || {
                let kind = action.kind.get().unwrap_or_default();
                // The result of a call is written later.
                let texts = if kind == "say" { output.text.get() } else { action.input.json() };
                thread.prints.name_growing(kind, action.emitted.0, texts)
            },
            str::to_owned,
        );
        let id = format!("{}#{own}", self.execution);
        match action.kind.get() {
            // Requests to the model, of which nothing else is said.
            None | Some("model" | "intentClassification") => Ok(()),
            Some("say") => {
                let timestamp = action.emitted.0.or(self.end.filter(|_| is_last));
                if thread.last_reply().is_none() {
                    out.claim(answered(self.execution), false);
                }
                let row = MessageRow { text: output.text.get(), ..blank(Role::Assistant, MessageKind::Reply) };
                thread.message(&Position::new(&id, timestamp), row, out).map(drop)
            }
            Some(kind) if thread.is_new(Kind::ToolCall, &id) => {
                let call = Call {
                    message_id: thread.last_reply().map(str::to_owned),
                    started_at: action.emitted.0,
                    ..call(&id, Some(&name_of(kind, action)), action.input.json())
                };
                let call = thread.number_call(&Position::new(&id, None), call);
                thread.close_call(&call, &outcome(action, output), out)
            }
            Some(_) => Ok(()),
        }
    }

    /// Records how the work ended, if it did not succeed.
    fn take_status(&self, status: &Text<'_>, thread: &mut Thread, out: &mut Sink<'_>) -> Result<(), Reject> {
        let kind = match status.get() {
            Some("aborted" | "cancelled" | "canceled") => MessageKind::Abort,
            Some("failed" | "error") => MessageKind::ApiError,
            _ => return Ok(()),
        };
        let id = format!("{}:end", self.execution);
        let is_error = kind == MessageKind::ApiError;
        let row = MessageRow { text: status.get(), is_error, ..blank(Role::System, kind) };
        thread.message(&Position::new(&id, self.end), row, out).map(drop)
    }
}

/// The tool; one of a server by the server's name, if it is recorded.
fn name_of(kind: &str, action: &Action<'_>) -> String {
    let tool: Tool<'_> = action.input.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    match (kind, tool.server.get(), tool.name.get()) {
        ("mcp", Some(server), Some(name)) => format!("@{server}/{name}"),
        _ => kind.to_owned(),
    }
}

/// Returns the outcome of a call by its state; a call without a state has ended if it has a result.
fn outcome<'t>(action: &Action<'t>, output: Output<'t>) -> Outcome<'t> {
    let state = action.state.get().map(str::to_ascii_lowercase);
    let says = |words: &[&str]| state.as_deref().is_some_and(|state| words.iter().any(|word| state.contains(word)));
    let exit_code = output.exit_code.0;
    let status = match () {
        () if says(&["reject", "denied"]) => Status::Rejected,
        () if says(&["error", "fail"]) || exit_code.is_some_and(|code| code != 0) => Status::Error,
        () if says(&["abort", "cancel", "interrupt"]) => Status::Interrupted,
        () if says(&["succe", "accept", "complete"]) => Status::Ok,
        () if state.is_none() && action.output.json().is_some() => Status::Ok,
        () => return Outcome::default(),
    };
    let text = output.text.0.or(action.output.json().map(Into::into));
    Outcome { status, exit_code, output: text, ended_at: action.ended.0, ..Outcome::default() }
}
