//! Tools: what kind each is, and how a call ended.

use std::borrow::Cow;

use super::record::{Response, ToolResult};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::shown;
use crate::agents::kit::texts::string_of;
use crate::agents::mcp;
use crate::extract::Request;
use crate::tables::{Category, Status};

/// A call of a tool.
pub(super) fn call(name: &str) -> Call {
    Call::of_tool(name, category(name), server(name))
}

fn category(name: &str) -> Category {
    match name {
        "run_shell_command" => Category::Shell,
        "read_file" | "read_many_files" => Category::Read,
        "write_file" => Category::Write,
        "edit" | "replace" | "notebook_edit" => Category::Edit,
        "list_directory" | "glob" | "grep_search" | "search_file_content" | "lsp" | "tool_search" => Category::Search,
        "web_fetch" | "web_search" => Category::Web,
        "todo_write" => Category::Todo,
        "task" | "agent" | "task_stop" | "send_message" => Category::Task,
        name if server(name).is_some() => mcp::category(name),
        _ => Category::Other,
    }
}

/// The server of an `mcp__server__tool` name.
fn server(name: &str) -> Option<&str> {
    mcp::server(name).filter(|server| !server.is_empty())
}

/// Returns the text of a tool's response, as the model saw it, and if it says that the tool failed.
fn answer<'a>(response: &Response<'a>) -> (Option<Cow<'a, str>>, bool) {
    let Some(json) = response.response.json() else { return (None, false) };
    // It was parsed before, and its text is often most of the line.
    let fields = Request::of(json);
    let field = |key: &str| fields.as_ref()?.get(key).filter(|value| *value != "null");
    let is_error = field("error").is_some() || field("success") == Some("false");
    let text = [field("output"), field("error"), Some(json)].into_iter().flatten().find_map(string_of);
    (text.or_else(|| Some(Cow::Borrowed(json)).filter(|json| *json != "{}")), is_error)
}

/// The program's texts for a call that the person did not allow.
const REFUSALS: [&str; 2] = ["User did not allow tool call", "User denied execution"];

/// Returns the outcome of a call, by the program's facts about it, the person's decision, and the response. A command
/// that failed is a `success` for the program.
pub(super) fn outcome<'a>(call: &Call, result: Option<&ToolResult<'_>>, response: &Response<'a>) -> Outcome<'a> {
    let (output, is_error) = answer(response);
    let text = output.as_deref().unwrap_or_default();
    let exit_code = if call.category == Category::Shell { exit_code(text) } else { None };
    let is_refused = || call.was_refused || REFUSALS.iter().any(|words| text.contains(words));
    let status = match result.and_then(|result| result.status.get()) {
        Some("cancelled") if is_refused() => Status::Rejected,
        Some("cancelled") => Status::Interrupted,
        Some("error") if call.was_refused => Status::Rejected,
        Some("error") => Status::Error,
        None if is_error => Status::Error,
        _ if exit_code.is_some_and(|code| code != 0) => Status::Error,
        _ => Status::Ok,
    };
    let duration_ms = result.and_then(|result| result.duration_ms.0).filter(|ms| *ms >= 0);
    let is_edit = matches!(call.category, Category::Edit | Category::Write);
    let lines = result.filter(|_| is_edit).map(|result| shown::edited_lines(result.shown)).unwrap_or_default();
    Outcome { status, exit_code, output, duration_ms, lines, ..Outcome::default() }
}

/// The exit code that a command's result names on a line of its own.
fn exit_code(output: &str) -> Option<i64> {
    // Few results do, and to look for the words at once is faster than line by line.
    memchr::memmem::find(output.as_bytes(), b"Exit Code: ")?;
    output.lines().rev().find_map(|line| line.trim().strip_prefix("Exit Code: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: &str, text: &str) -> (Status, Option<i64>) {
        let json = serde_json::json!({ "response": { "output": text }, "status": status }).to_string();
        let (result, response) = (serde_json::from_str(&json).unwrap(), serde_json::from_str(&json).unwrap());
        let end = outcome(&call("run_shell_command"), Some(&result), &response);
        (end.status, end.exit_code)
    }

    #[test]
    fn outcomes() {
        assert_eq!(of("success", "Output: x\nExit Code: 0"), (Status::Ok, Some(0)));
        assert_eq!(of("success", "Output: x\nExit Code: 2"), (Status::Error, Some(2)));
        assert_eq!(of("cancelled", "Reason: User did not allow tool call"), (Status::Rejected, None));
        assert_eq!(of("cancelled", "Reason: User cancelled tool execution."), (Status::Interrupted, None));
    }

    #[test]
    fn categories() {
        assert_eq!((category("mcp__db__query"), server("mcp__db__query")), (Category::Mcp, Some("db")));
        assert_eq!((category("mcp__playwright__click"), category("save_memory")), (Category::Browser, Category::Other));
    }
}
