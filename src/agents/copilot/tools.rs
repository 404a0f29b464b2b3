//! Tools: the category of each, and the outcome of a call by its result.

use super::record::{Arguments, ToolComplete};
use crate::agents::mcp;
use crate::tables::{Category, Status};

/// Returns the `category` of a tool.
pub(super) fn category(name: &str, has_server: bool, arguments: &Arguments<'_>) -> Category {
    match name {
        "bash" | "powershell" | "shell" => Category::Shell,
        _ if name.ends_with("_bash") || name.ends_with("_powershell") => Category::Shell,
        "view" | "read" | "read_file" => Category::Read,
        "create" | "write" | "write_file" => Category::Write,
        "str_replace_editor" => match arguments.command.get() {
            Some("view") => Category::Read,
            Some("create") => Category::Write,
            _ => Category::Edit,
        },
        "edit" | "apply_patch" | "str_replace" | "insert" => Category::Edit,
        "grep" | "glob" | "rg" | "search" | "tool_search" | "lsp" => Category::Search,
        "web_fetch" | "web_search" | "fetch" => Category::Web,
        "task" | "read_agent" | "write_agent" | "list_agents" | "stop_agent" => Category::Task,
        "update_todo" | "todo" => Category::Todo,
        _ if mcp::drives_browser(name) => Category::Browser,
        _ if has_server => Category::Mcp,
        _ => Category::Other,
    }
}

/// Returns true if a tool runs the command line in its arguments.
pub(super) fn runs_command(name: &str) -> bool {
    matches!(name, "bash" | "powershell" | "shell")
}

/// Outcome of a call.
pub(super) struct Outcome {
    pub(super) status: Status,
    /// True if something other than the person refused the call.
    pub(super) is_denied: bool,
    pub(super) exit_code: Option<i64>,
    /// True if the time of the result is that of a later resume.
    pub(super) is_late: bool,
}

/// Texts of a refusal by the person, from 0.0.400 to 1.0.46. The code next to it is `rejected`, or `denied` if the
/// person added a remark.
const REJECTED: [&str; 3] =
    ["The user rejected this tool call", "Permission denied by user", "Denied by user via preToolUse hook prompt"];
/// Texts of a refusal by rules, policies and hooks.
const DENIED: [&str; 5] = [
    "Permission to run this tool was denied",
    "Permission denied and could not request permission from user",
    "Permission denied by a PermissionRequest hook",
    "Denied by preToolUse hook",
    "Access denied: ",
];
/// Texts of calls without an end.
const INTERRUPTED: [&str; 2] =
    ["The pending permission request was cancelled", "The execution of this tool, or a previous tool was interrupted"];

/// Returns the status of a call by the answer to its request for permission.
pub(super) fn decided(answer: &str) -> Option<Status> {
    match answer {
        "denied-interactively-by-user" => Some(Status::Rejected),
        "cancelled" => Some(Status::Interrupted),
        answer if answer.starts_with("denied") => Some(Status::Error),
        _ => None,
    }
}

/// Returns the outcome of a call, by its completion and by the answer to its request for permission.
pub(super) fn outcome(category: Category, complete: &ToolComplete<'_>, decision: Option<Status>) -> Outcome {
    let is_late = !complete.success.0 && complete.model.is("resumed") && complete.interaction.is("resume");
    let exit_code = exit_code(category, complete);
    let status = match complete.success.0 {
        _ if is_late => Status::Interrupted,
        true if exit_code.is_some_and(|code| code != 0) => Status::Error,
        true => Status::Ok,
        false => decision.unwrap_or_else(|| failed(complete)),
    };
    let message = || complete.error.0.as_ref().and_then(|error| error.message.get()).unwrap_or_default();
    let is_denied = status == Status::Error && !complete.success.0 && (decision.is_some() || is_denial(message()));
    Outcome { status, is_denied, exit_code, is_late }
}

fn failed(complete: &ToolComplete<'_>) -> Status {
    let error = complete.error.0.as_ref();
    match status_of_text(error.and_then(|error| error.message.get()).unwrap_or_default()) {
        Status::Ok => Status::Error,
        status => status,
    }
}

/// Returns true if a failed call's text says that it was not allowed to run.
pub(super) fn is_denial(text: &str) -> bool {
    DENIED.iter().any(|opening| text.starts_with(opening))
}

/// Returns the status that a result's text shows.
pub(super) fn status_of_text(text: &str) -> Status {
    let begins = |openings: &[&str]| openings.iter().any(|opening| text.starts_with(opening));
    if begins(&REJECTED) {
        Status::Rejected
    } else if begins(&INTERRUPTED) {
        Status::Interrupted
    } else {
        Status::Ok
    }
}

/// Returns the exit code of a command: a field since 2026-08, before in a block of the result, at first only in its
/// text.
fn exit_code(category: Category, complete: &ToolComplete<'_>) -> Option<i64> {
    let field = complete.shell.0.as_ref().and_then(|shell| shell.code.0);
    let result = complete.result.0.as_ref();
    let block = || result?.contents.0.iter().filter_map(|block| block.0.as_ref()).find_map(|block| block.code.0);
    let text = || exit_code_in(result?.content.get()?);
    field.or_else(block).or_else(|| (category == Category::Shell).then(text).flatten())
}

/// Returns the code in the last `… exit code N>` of a text.
pub(super) fn exit_code_in(text: &str) -> Option<i64> {
    const MARK: &str = "exit code ";
    let mut places = memchr::memmem::rfind_iter(text.as_bytes(), MARK.as_bytes());
    places.find_map(|place| text.get(place + MARK.len()..)?.split_once('>')?.0.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_exit_code_counts() {
        assert_eq!(exit_code_in("a\n<exited with exit code 2>"), Some(2));
        assert_eq!(exit_code_in("exit code 1>\n<shellId: 3 completed with exit code -1>"), Some(-1));
        assert_eq!(exit_code_in("exit code unknown> then exit code 4"), None);
    }
}
