//! Tools: the category of each, and the outcome of a call.

use std::borrow::Cow;

use super::record::{Arguments, ToolResult, ToolUse};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::mcp;
use crate::extract::Request;
use crate::tables::{Category, Status};

/// Returns the call of a node, without its id.
pub(super) fn call(used: &ToolUse<'_>) -> Call {
    let name = used.name.get().unwrap_or("unknown");
    let category = category(name);
    let json = used.input.get();
    let arguments: Arguments<'_> = json.and_then(Request::of).and_then(|given| given.fields().ok()).unwrap_or_default();
    Call {
        input: json.map(str::to_owned),
        command: arguments.command.owned().filter(|_| category == Category::Shell),
        file: arguments.path.owned().filter(|_| category.has_file()),
        ..Call::of_tool(name, category, mcp::server(name))
    }
}

fn category(name: &str) -> Category {
    match name {
        "launch-process" | "write-process" | "read-process" | "kill-process" | "list-processes" => Category::Shell,
        "view" | "view-range-untruncated" => Category::Read,
        "save-file" => Category::Write,
        "str-replace-editor" | "apply_patch" | "remove-files" => Category::Edit,
        "codebase-retrieval" | "grep-search" => Category::Search,
        "web-fetch" | "web-search" => Category::Web,
        "view_tasklist" | "add_tasks" | "update_tasks" | "reorganize_tasklist" => Category::Todo,
        name if name.starts_with("sub-agent") => Category::Task,
        name if mcp::server(name).is_some() => mcp::category(name),
        _ => Category::Other,
    }
}

const REFUSAL: &str = "Tool execution denied";
const CANCELLED: [&str; 2] = ["Cancelled by user", "Tool execution was cancelled by user interrupt"];

/// Returns the outcome of a call. A command's result names its exit code, and has the output between marks.
pub(super) fn outcome<'a>(call: &Call, result: &ToolResult<'a>) -> Outcome<'a> {
    let text = result.content.get().unwrap_or_default();
    let is_command = call.category == Category::Shell;
    let exit_code = between(text, "<return-code>", "</return-code>").filter(|_| is_command);
    let exit_code = exit_code.and_then(|code| code.trim().parse().ok());
    let status = match result.is_error.0 {
        true if text.starts_with(REFUSAL) => Status::Rejected,
        true if CANCELLED.iter().any(|words| text.starts_with(words)) => Status::Interrupted,
        true => Status::Error,
        false if exit_code.is_some_and(|code: i64| code != 0) => Status::Error,
        false => Status::Ok,
    };
    let printed = between(text, "<output>", "</output>").filter(|_| is_command && exit_code.is_some());
    let output = printed.map(|printed| Cow::Owned(printed.trim().to_owned())).or_else(|| result.content.0.clone());
    let duration_ms = result.duration_ms.0.filter(|ms| *ms >= 0);
    Outcome { status, exit_code, output, duration_ms, ..Outcome::default() }
}

/// Returns the text between the first mark and the last one.
fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let rest = text.split_once(start)?.1;
    rest.rsplit_once(end).map(|(text, _)| text)
}
