//! Tools: the category of each, and the outcome of a call by its result.

use super::content::ToolResult;
use super::record::Input;
use crate::agents::kit::texts::string_of;
use crate::agents::mcp;
use crate::extract::EditedLines;
use crate::tables::{Category, Status};

/// Returns the `category` of a tool.
pub(super) fn category(name: &str) -> Category {
    match name {
        "Bash" | "PowerShell" | "BashOutput" | "KillShell" | "KillBash" | "Monitor" => Category::Shell,
        "Read" | "NotebookRead" | "View" => Category::Read,
        "Write" | "Create" => Category::Write,
        "Edit" | "MultiEdit" | "NotebookEdit" | "Replace" => Category::Edit,
        "Grep" | "Glob" | "LS" | "LSP" | "GrepTool" | "GlobTool" | "ToolSearch" | "SearchReplace" => Category::Search,
        "WebFetch" | "WebSearch" | "web_search" | "web_fetch" => Category::Web,
        "Task" | "Agent" | "TaskOutput" | "TaskStop" | "AgentOutputTool" | "SendMessage" | "Workflow" => Category::Task,
        "TodoWrite" | "TodoRead" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet" => Category::Todo,
        name if name.starts_with("mcp__") => mcp::category(name),
        _ => Category::Other,
    }
}

/// Returns true if a tool runs a command line.
pub(super) fn is_shell(name: &str) -> bool {
    matches!(name, "Bash" | "PowerShell")
}

/// Returns the file that a call reads or changes.
pub(super) fn file_of<'a>(category: Category, input: &'a Input<'_>) -> Option<&'a str> {
    let path = input.path.get().filter(|_| category.has_file());
    input.file.get().or(path)
}

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) status: Status,
    /// True if something other than the person refused the call.
    pub(super) is_denied: bool,
    pub(super) exit_code: Option<i64>,
    pub(super) duration_ms: Option<i64>,
    pub(super) lines: EditedLines,
}

/// Parts of a result's lines that show the outcome of the call.
pub(super) struct Evidence<'a> {
    pub(super) output: &'a str,
    pub(super) is_error: bool,
    pub(super) denial: Option<&'a str>,
    /// The structured result; `None` if it is a text, a list or absent.
    pub(super) result: Option<&'a ToolResult<'a>>,
    /// The structured result, if it is a text.
    pub(super) result_text: Option<&'a str>,
}

const REJECTED: &str = "The user doesn't want to proceed with this tool use.";
const STOPPED_WHILE_RUNNING: &str = "Correction to the text above: this call was stopped while running";
const PLAN_REJECTED: &str = "The agent proposed a plan that was rejected by the user";
const CANCELLED: &str = "The user doesn't want to take this action right now.";
const INTERRUPTED: &str = "[Request interrupted by user";
/// Text of a rule's refusal, after `Permission to` and the refused action.
const DENIED: &str = " has been denied";
/// Result of a call that needed an approval when nobody could be asked.
const NOT_GRANTED: &str = "Claude requested permissions to ";
/// Results that newer versions write for calls of unknown outcome.
const NOT_COMPLETED: [&str; 4] =
    ["[Tool call interrupted:", "[Agent call interrupted:", "[Tool call skipped:", "[Tool call not completed:"];
/// Result that they write if the real one is known, but elsewhere.
const NOT_HERE: &str = "[Tool call result not in this copy:";
/// Results that they write for calls that did not run because another call of the same reply failed.
const SIBLING_ERRORED: [&str; 3] = [
    "<tool_use_error>Sibling tool call errored",
    "<tool_use_error>Cancelled: parallel tool call",
    "Cancelled: parallel tool call",
];

impl Evidence<'_> {
    /// Returns the outcome of a call; `is_command` if the call ran a command line.
    pub(super) fn outcome(&self, is_command: bool) -> Outcome {
        let exit_code = is_command.then(|| self.exit_code()).flatten();
        let failed_command = exit_code.is_some_and(|code| code != 0);
        let status = match self.special_status() {
            Some(status) => status,
            None if self.is_error || failed_command => Status::Error,
            None => Status::Ok,
        };
        let exit_code =
            exit_code.or_else(|| (is_command && status == Status::Ok && self.exits_with_zero()).then_some(0));
        let is_denied = match status {
            Status::Rejected => self.found_nobody(),
            Status::Error => self.denial.is_some() || self.is_forbidden(),
            _ => false,
        };
        Outcome { status, is_denied, exit_code, duration_ms: self.duration_ms(), lines: self.lines() }
    }

    /// Returns the changed lines of the recorded patch. The patch of a new file is empty.
    fn lines(&self) -> EditedLines {
        let recorded = self.result.and_then(|result| Some((result, result.hunks.0?)));
        let Some((result, lines)) = recorded else { return EditedLines::default() };
        let is_new = result.kind.is("create") && lines == EditedLines::new(0, 0);
        let content = result.content.json().filter(|_| is_new).and_then(string_of);
        content.map_or(lines, |content| EditedLines::of_new_file(&content))
    }

    /// Returns true if a rule refused the call, by the text of versions that did not yet name the kind of a denial.
    fn is_forbidden(&self) -> bool {
        let text = self.output.trim_start();
        self.is_error && text.starts_with("Permission to ") && first_line(text).contains(DENIED)
    }

    /// Returns true if the call needed an approval and nobody could be asked. Versions that name the kind of a denial
    /// record this one as if the person had refused.
    fn found_nobody(&self) -> bool {
        let text = self.output.trim_start();
        let needs_approval = || {
            text.starts_with("This ") && ["command ", " approval"].iter().all(|word| first_line(text).contains(word))
        };
        self.is_error && (text.starts_with(NOT_GRANTED) || needs_approval())
    }

    fn special_status(&self) -> Option<Status> {
        if let Some(denial) = self.denial {
            return Some(match denial {
                "user-rejected" => Status::Rejected,
                "interrupted" | "cancelled" => Status::Interrupted,
                _ => Status::Error,
            });
        }
        let text = self.output.trim_start();
        if text.starts_with(REJECTED) {
            let was_running = text.contains(STOPPED_WHILE_RUNNING);
            return Some(if was_running { Status::Interrupted } else { Status::Rejected });
        }
        if text.starts_with(PLAN_REJECTED) || self.found_nobody() {
            return Some(Status::Rejected);
        }
        if text.starts_with(NOT_HERE) {
            return Some(Status::Pending);
        }
        let stops = [CANCELLED, INTERRUPTED].iter().chain(&SIBLING_ERRORED).chain(&NOT_COMPLETED);
        let was_stopped = stops.into_iter().any(|start| text.starts_with(start))
            || self.result.is_some_and(|result| result.interrupted.0);
        was_stopped.then_some(Status::Interrupted)
    }

    /// Returns the exit code that a failed command's text names: in its first line since 2.0.30, before that at the end
    /// of its error output.
    fn exit_code(&self) -> Option<i64> {
        if let Some(code) = self.result.and_then(|result| result.exit_code.0) {
            return Some(code);
        }
        if !self.is_error {
            return None;
        }
        let status_of = |text: &str| {
            text.lines().find_map(|line| {
                line.trim_end()
                    .strip_prefix("Exit code ")
                    .or_else(|| line.trim_end().strip_prefix("Error: Exit code "))?
                    .parse()
                    .ok()
            })
        };
        status_of(self.output).or_else(|| status_of(self.result_text?))
    }

    /// Returns true if a command that did not fail is known to have exited with 0.
    fn exits_with_zero(&self) -> bool {
        self.result.is_some_and(|result| {
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

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_nobody_approved_are_denied() {
        let of = |output, is_error| {
            let denial = None;
            let Outcome { status, is_denied, .. } =
                Evidence { output, is_error, denial, result: None, result_text: None }.outcome(true);
            (status, is_denied)
        };
        let parts = "This Bash command contains multiple operations. The following part requires approval: rm a";
        for refused in ["This command requires approval", parts, "Claude requested permissions to use Edit, but"] {
            assert_eq!(of(refused, true), (Status::Rejected, true), "{refused}");
            assert_eq!(of(refused, false), (Status::Ok, false), "{refused}");
        }
        assert_eq!(of("This pull request needs approval", true), (Status::Error, false));
        assert_eq!(of("Exit code 1\nThis command requires approval", true), (Status::Error, false));
        assert_eq!(of(REJECTED, true), (Status::Rejected, false));
        assert_eq!(of("Permission to use Bash has been denied.", true), (Status::Error, true));
    }

    #[test]
    fn servers_of_mcp_names() {
        assert_eq!(mcp::server("mcp__github__create_issue"), Some("github"));
        assert_eq!(mcp::server("Bash"), None);
        assert_eq!(category("mcp__playwright__click"), Category::Browser);
        assert_eq!(category("mcp__Claude_Browser__preview"), Category::Browser);
        assert_eq!(category("mcp__github__create_issue"), Category::Mcp);
    }
}
