//! Tools: what kind each is, and how a call ended.

use super::record::{Arguments, Event, ToolResult};
use crate::agents::ids::is_global;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::{join, text_or_mark};
use crate::agents::mcp;
use crate::extract::Request;
use crate::tables::{Category, Status};

/// The call of an event. Some servers number the calls of each response anew: such a call has the event's id.
pub(super) fn call(event: &Event<'_>) -> Option<Call> {
    let id = event.call.get().filter(|id| is_global(id)).or(event.id.get())?;
    let json = event.arguments.json();
    let arguments: Arguments<'_> = json.and_then(Request::of).and_then(|given| given.fields().ok()).unwrap_or_default();
    let name = event.name.get().unwrap_or("unknown");
    let category = category(name);
    Some(Call {
        id: id.to_owned(),
        input: json.map(str::to_owned),
        command: arguments.command.owned().filter(|_| category == Category::Shell),
        file: arguments.path.owned().filter(|_| category.has_file()),
        is_denied: Some(false),
        ..Call::of_tool(name, category, mcp::server(name))
    })
}

fn category(name: &str) -> Category {
    match name {
        "Bash" => Category::Shell,
        "Read" | "ReadMediaFile" => Category::Read,
        "Write" => Category::Write,
        "Edit" => Category::Edit,
        "Glob" | "Grep" => Category::Search,
        "FetchURL" | "WebSearch" => Category::Web,
        "Agent" | "AgentSwarm" | "TaskList" | "TaskOutput" | "TaskStop" => Category::Task,
        "TodoList" => Category::Todo,
        name if mcp::server(name).is_some() => mcp::category(name),
        _ => Category::Other,
    }
}

/// Ends of the sentence `Tool "…"` for a call that did not run.
const DENIED: [&str; 2] = [" was denied by permission rule", " was denied by permission policy"];
const REJECTED: &str = " was not run because the user rejected the approval request";
const CANCELLED: &str = " was not run because the approval request was cancelled";

/// Words before a command's exit code, on a line of their own.
const EXIT_CODE: &str = "Command failed with exit code: ";

/// Returns the outcome of a call. A call that was stopped has an error with any text as its result.
pub(super) fn outcome<'a>(result: &ToolResult<'a>, is_stopped: bool) -> Outcome<'a> {
    let texts = result.output.0.iter().map(|part| text_or_mark(part.text.0.clone(), &part.kind));
    let output = join(texts);
    let text = output.as_deref().unwrap_or_default();
    let sentence = text.strip_prefix("Tool \"").and_then(|rest| rest.split_once('"')).map(|(_, rest)| rest);
    let says = |words: &str| sentence.is_some_and(|sentence| sentence.starts_with(words));
    let is_denied = result.is_error.0 && DENIED.into_iter().any(says);
    let exit_code = if result.is_error.0 { exit_code(text) } else { None };
    let status = match result.is_error.0 {
        false => Status::Ok,
        true if is_denied => Status::Error,
        true if text.starts_with("User rejected the plan.") || says(REJECTED) => Status::Rejected,
        true if says(CANCELLED) || is_stopped => Status::Interrupted,
        true => Status::Error,
    };
    let duration_ms = result.duration_ms.0.filter(|ms| *ms >= 0);
    Outcome { status, is_denied: Some(is_denied), exit_code, output, duration_ms, ..Outcome::default() }
}

fn exit_code(text: &str) -> Option<i64> {
    let from = memchr::memmem::rfind(text.as_bytes(), EXIT_CODE.as_bytes())? + EXIT_CODE.len();
    text.get(from..)?.lines().next()?.trim_end_matches('.').parse().ok()
}
