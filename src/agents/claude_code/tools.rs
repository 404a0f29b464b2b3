//! Tools: what kind each is, and how a call's outcome is told from its result.

use super::record::{Input, ToolResult};
use crate::agents::mcp;

/// The `category` of a tool.
pub(super) fn category(name: &str) -> &'static str {
    match name {
        "Bash" | "PowerShell" | "BashOutput" | "KillShell" | "KillBash" | "Monitor" => "shell",
        "Read" | "NotebookRead" | "View" => "read",
        "Write" | "Create" => "write",
        "Edit" | "MultiEdit" | "NotebookEdit" | "Replace" => "edit",
        "Grep" | "Glob" | "LS" | "LSP" | "GrepTool" | "GlobTool" | "ToolSearch" | "SearchReplace" => "search",
        "WebFetch" | "WebSearch" | "web_search" | "web_fetch" => "web",
        "Task" | "Agent" | "TaskOutput" | "TaskStop" | "AgentOutputTool" | "SendMessage" | "Workflow" => "task",
        "TodoWrite" | "TodoRead" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" => "todo",
        name if name.starts_with("mcp__") => mcp::category(name),
        _ => "other",
    }
}

/// Whether a tool runs a command line.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(name, "Bash" | "PowerShell")
}

/// The file that a call reads or changes.
pub(super) fn file_of<'a>(category: &str, input: &'a Input<'_>) -> Option<&'a str> {
    let path = input.path.get().filter(|_| matches!(category, "read" | "write" | "edit"));
    input.file.get().or(path)
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) status: &'static str,
    /// Whether it was not the person who refused the call.
    pub(super) is_denied: bool,
    pub(super) exit_code: Option<i64>,
    pub(super) duration_ms: Option<i64>,
}

/// What the lines of a result say of the call.
pub(super) struct Evidence<'a> {
    pub(super) name: &'a str,
    pub(super) output: &'a str,
    pub(super) is_error: bool,
    pub(super) denial: Option<&'a str>,
    /// The structured result; none when it is a text, a list or absent.
    pub(super) result: Option<&'a ToolResult<'a>>,
    /// The structured result, when it is a text.
    pub(super) result_text: Option<&'a str>,
}

const REJECTED: &str = "The user doesn't want to proceed with this tool use.";
const STOPPED_WHILE_RUNNING: &str = "Correction to the text above: this call was stopped while running";
const PLAN_REJECTED: &str = "The agent proposed a plan that was rejected by the user";
const CANCELLED: &str = "The user doesn't want to take this action right now.";
const INTERRUPTED: &str = "[Request interrupted by user";
/// What a rule refuses with, after `Permission to` and what was to be done.
const DENIED: &str = " has been denied";
/// What is said where nobody could be asked.
const NOT_GRANTED: &str = "Claude requested permissions to ";
/// What newer versions write for calls whose outcome is not known.
const NOT_COMPLETED: [&str; 4] =
    ["[Tool call interrupted:", "[Agent call interrupted:", "[Tool call skipped:", "[Tool call not completed:"];
/// What they write where the result is known, but elsewhere.
const NOT_HERE: &str = "[Tool call result not in this copy:";
const SIBLING_ERRORED: &str = "<tool_use_error>Sibling tool call errored";

impl Evidence<'_> {
    pub(super) fn outcome(&self) -> Outcome {
        let exit_code = self.exit_code();
        let failed_command = exit_code.is_some_and(|code| code != 0);
        let status = match self.special_status() {
            Some(status) => status,
            None if self.is_error || failed_command => "error",
            None => "ok",
        };
        let exit_code = exit_code.or_else(|| (status == "ok" && self.exits_with_zero()).then_some(0));
        Outcome { status, is_denied: status == "error" && self.is_denied(), exit_code, duration_ms: self.duration_ms() }
    }

    /// Whether a call that failed was refused. Newer versions say of each refused call by whom; before there were texts.
    fn is_denied(&self) -> bool {
        let text = self.output.trim_start();
        let by_a_rule =
            || text.starts_with("Permission to ") && text.lines().next().is_some_and(|line| line.contains(DENIED));
        self.denial.is_some() || self.is_error && (by_a_rule() || text.starts_with(NOT_GRANTED))
    }

    fn special_status(&self) -> Option<&'static str> {
        if let Some(denial) = self.denial {
            return Some(match denial {
                "user-rejected" => "rejected",
                "interrupted" | "cancelled" => "interrupted",
                _ => "error",
            });
        }
        let text = self.output.trim_start();
        if text.starts_with(REJECTED) {
            let was_running = text.contains(STOPPED_WHILE_RUNNING);
            return Some(if was_running { "interrupted" } else { "rejected" });
        }
        if text.starts_with(PLAN_REJECTED) {
            return Some("rejected");
        }
        if text.starts_with(NOT_HERE) {
            return Some("pending");
        }
        let was_stopped = [CANCELLED, INTERRUPTED, SIBLING_ERRORED].iter().any(|start| text.starts_with(start))
            || NOT_COMPLETED.iter().any(|start| text.starts_with(start))
            || self.result.is_some_and(|result| result.interrupted.0);
        was_stopped.then_some("interrupted")
    }

    /// The exit code that a failed command's text names: its first line since 2.0.30, the end of its error output before.
    fn exit_code(&self) -> Option<i64> {
        if !is_shell(self.name) {
            return None;
        }
        if let Some(code) = self.result.and_then(|result| result.exit_code.0) {
            return Some(code);
        }
        if !self.is_error {
            return None;
        }
        let said = |text: &str| {
            text.lines().find_map(|line| {
                line.trim_end()
                    .strip_prefix("Exit code ")
                    .or_else(|| line.trim_end().strip_prefix("Error: Exit code "))?
                    .parse()
                    .ok()
            })
        };
        said(self.output).or_else(|| said(self.result_text?))
    }

    /// Whether a command that did not fail is known to have exited with 0.
    fn exits_with_zero(&self) -> bool {
        is_shell(self.name)
            && self.result.is_some_and(|result| {
                result.interpretation.get().is_none() && result.background.get().is_none() && !result.interrupted.0
            })
    }

    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a call")]
    fn duration_ms(&self) -> Option<i64> {
        let result = self.result?;
        let seconds = result.duration_seconds.0.map(|seconds| seconds * 1000.0);
        result
            .duration_ms
            .0
            .or(seconds)
            .or(result.total_duration_ms.0)
            .map(|ms| ms.round() as i64)
            .filter(|ms| *ms >= 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_mcp_names() {
        assert_eq!(mcp::server("mcp__github__create_issue"), Some("github"));
        assert_eq!(mcp::server("Bash"), None);
        assert_eq!(category("mcp__playwright__click"), "browser");
        assert_eq!(category("mcp__github__create_issue"), "mcp");
    }
}
