//! Tools: what kind each is, and how a call ended.

use std::borrow::Cow;

use super::record::{Arguments, Response};
use crate::agents::kit::texts::string_of;
use crate::agents::mcp;
use crate::extract::Request;
use crate::tables::{Category, Status};

/// The `category` of a tool.
pub(super) fn category(name: &str) -> Category {
    match name {
        "run_shell_command" => Category::Shell,
        "read_file" | "read_many_files" => Category::Read,
        "write_file" => Category::Write,
        "edit" | "replace" | "notebook_edit" => Category::Edit,
        "list_directory" | "glob" | "grep_search" | "search_file_content" | "lsp" | "tool_search" => Category::Search,
        "web_fetch" | "web_search" => Category::Web,
        "todo_write" => Category::Todo,
        "task" | "agent" | "task_stop" | "send_message" => Category::Task,
        name if mcp_server(name).is_some() => mcp::category(name),
        _ => Category::Other,
    }
}

/// The server of an `mcp__server__tool` name.
pub(super) fn mcp_server(name: &str) -> Option<&str> {
    mcp::server(name).filter(|server| !server.is_empty())
}

/// The file that a call reads or changes.
pub(super) fn file_of<'i>(category: Category, arguments: &'i Arguments<'_>) -> Option<&'i str> {
    arguments.file.get().or_else(|| arguments.path.get()).filter(|_| category.has_file())
}

/// What a tool's response says, as the model saw it.
pub(super) struct Answer<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    pub(super) is_error: bool,
}

impl<'a> Answer<'a> {
    pub(super) fn of(response: &Response<'a>) -> Self {
        let Some(json) = response.response.json() else { return Self { text: None, is_error: false } };
        // It was parsed before; what it said is often most of the line.
        let said = Request::of(json);
        let said = |key: &str| said.as_ref()?.get(key).filter(|value| *value != "null");
        let is_error = said("error").is_some() || said("success") == Some("false");
        let told = [said("output"), said("error"), Some(json)].into_iter().flatten().find_map(string_of);
        let text = told.or_else(|| Some(Cow::Borrowed(json)).filter(|json| *json != "{}"));
        Self { text, is_error }
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) status: Status,
    pub(super) exit_code: Option<i64>,
}

/// What the program writes for a call that the person did not allow.
const REFUSALS: [&str; 2] = ["User did not allow tool call", "User denied execution"];

/// How a call ended, by its status, what the person decided, and the answer. A command that failed is a `success` for
/// the program.
pub(super) fn outcome(status: Option<&str>, was_refused: bool, category: Category, answer: &Answer<'_>) -> Outcome {
    let text = answer.text.as_deref().unwrap_or_default();
    let exit_code = if category == Category::Shell { exit_code(text) } else { None };
    let is_refused = || was_refused || REFUSALS.iter().any(|words| text.contains(words));
    let status = match status {
        Some("cancelled") if is_refused() => Status::Rejected,
        Some("cancelled") => Status::Interrupted,
        Some("error") if was_refused => Status::Rejected,
        Some("error") => Status::Error,
        None if answer.is_error => Status::Error,
        _ if exit_code.is_some_and(|code| code != 0) => Status::Error,
        _ => Status::Ok,
    };
    Outcome { status, exit_code }
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

    fn of(status: &'static str, text: &'static str) -> Outcome {
        outcome(Some(status), false, Category::Shell, &Answer { text: Some(text.into()), is_error: false })
    }

    #[test]
    fn outcomes() {
        assert_eq!(of("success", "Output: x\nExit Code: 0"), Outcome { status: Status::Ok, exit_code: Some(0) });
        assert_eq!(of("success", "Output: x\nExit Code: 2"), Outcome { status: Status::Error, exit_code: Some(2) });
        assert_eq!(of("cancelled", "Reason: User did not allow tool call").status, Status::Rejected);
        assert_eq!(of("cancelled", "Reason: User cancelled tool execution.").status, Status::Interrupted);
    }

    #[test]
    fn categories() {
        assert_eq!((category("mcp__db__query"), mcp_server("mcp__db__query")), (Category::Mcp, Some("db")));
        assert_eq!((category("mcp__playwright__click"), category("save_memory")), (Category::Browser, Category::Other));
    }
}
