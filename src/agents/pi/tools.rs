//! Tools: what kind each is, and how a result shows the outcome of its call.

use super::record::Details;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::values::rounded;
use crate::agents::mcp;
use crate::tables::{Category, Status};

/// A call of a tool of pi, Oh My Pi or OpenClaw.
pub(super) fn call(name: &str) -> Call {
    Call::of_tool(name, category(name), mcp::server(name))
}

fn category(name: &str) -> Category {
    match name {
        "bash" | "shell" | "exec" | "process" | "ssh" | "run_terminal" | "shell_exec" => Category::Shell,
        "read" => Category::Read,
        "write" => Category::Write,
        "edit" | "edit_file" | "apply_patch" | "ast_edit" | "notebook" => Category::Edit,
        "grep" | "find" | "ls" | "search" | "lsp" | "ast_grep" | "memory_search" | "memory_get" => Category::Search,
        "fetch" | "web_fetch" | "web_search" | "x_search" => Category::Web,
        "browser" | "puppeteer" => Category::Browser,
        "task" | "subagent" | "subagents" | "sessions_spawn" | "sessions_send" | "sessions_yield" => Category::Task,
        "todo" | "todo_write" | "todo_read" | "update_plan" => Category::Todo,
        "mcp" => Category::Mcp,
        name if mcp::server(name).is_some() => Category::Mcp,
        _ => Category::Other,
    }
}

/// Openings and endings that pi gives to the results of calls that it stopped.
const STOPPED: [&str; 4] =
    ["Command aborted", "Operation aborted", "Tool execution was aborted", "Request was aborted"];
/// pi's result for calls that it did not make, because the person typed on.
const SKIPPED: &str = "Skipped due to queued user message";
/// The texts of extensions and approvals for a refusal by the person.
const REFUSALS: [&str; 7] = [
    "blocked by user",
    "denied by user",
    "denied by the user",
    "rejected by user",
    "rejected by the user",
    "user-denied",
    "user denied",
];
/// A refusal is a short text; a long one is a result that happens to hold such words. Bytes.
const LONGEST_REFUSAL: usize = 400;

/// Tells how a call ended from what its result says.
pub(super) fn outcome(output: &str, is_error: bool, details: Option<&Details<'_>>) -> Outcome<'static> {
    let exit_code =
        details.and_then(|details| details.exit_code.0).or_else(|| is_error.then(|| exit_code_in(output))?);
    let status = if is_error && exit_code.is_none() && was_refused(output) {
        Status::Rejected
    } else if is_error && was_stopped(output) {
        Status::Interrupted
    } else if is_error || exit_code.is_some_and(|code| code != 0) {
        Status::Error
    } else {
        Status::Ok
    };
    let duration_ms = details.and_then(|details| details.duration_ms.0.and_then(rounded));
    let lines = details.and_then(|details| details.diff.0).unwrap_or_default();
    Outcome { status, exit_code, duration_ms, lines, ..Outcome::default() }
}

/// pi's shell ends the output of a failed command with a line that names its exit code.
fn exit_code_in(output: &str) -> Option<i64> {
    output.trim_end().lines().next_back()?.strip_prefix("Command exited with code ")?.trim().parse().ok()
}

fn was_refused(output: &str) -> bool {
    output.len() <= LONGEST_REFUSAL && {
        let output = output.to_lowercase();
        REFUSALS.iter().any(|words| output.contains(words))
    }
}

fn was_stopped(output: &str) -> bool {
    let output = output.trim();
    output.starts_with(SKIPPED) || STOPPED.iter().any(|words| output.starts_with(words) || output.ends_with(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::records::Number;

    fn status(output: &str, is_error: bool) -> Status {
        outcome(output, is_error, None).status
    }

    #[test]
    fn outcomes() {
        assert_eq!(status("x", false), Status::Ok);
        assert_eq!(status("no such file\n\nCommand exited with code 2", true), Status::Error);
        assert_eq!(outcome("x\n\nCommand exited with code 2", true, None).exit_code, Some(2));
        assert_eq!(status("partial\n\nCommand aborted", true), Status::Interrupted);
        assert_eq!(status("Skipped due to queued user message.", true), Status::Interrupted);
        assert_eq!(status("Blocked by user", true), Status::Rejected);
        assert_eq!(status("cat: x: Permission denied", true), Status::Error);
        let failed = Details { exit_code: Number(Some(1)), ..Details::default() };
        assert_eq!(outcome("", false, Some(&failed)).status, Status::Error);
    }

    #[test]
    fn categories() {
        assert_eq!(
            (category("exec"), category("mcp__db__query"), category("canvas")),
            (Category::Shell, Category::Mcp, Category::Other)
        );
        assert_eq!(mcp::server("mcp__db__query"), Some("db"));
    }
}
