//! Tools: what kind each is, and how a call ended.

use std::borrow::Cow;

use super::content::{Piece, each_part, text_of};
use super::record::{Arguments, Call, Response};
use crate::agents::kit::texts::append;
use crate::agents::mcp;
use crate::source::records::Raw;
use crate::tables::{Category, Status};

/// The `category` of a tool.
pub(super) fn category(call: &Call<'_>) -> Category {
    let name = call.name.get().unwrap_or_default();
    match name {
        "run_shell_command" => Category::Shell,
        "read_file" | "read_many_files" => Category::Read,
        "write_file" => Category::Write,
        "replace" | "edit" => Category::Edit,
        "list_directory" | "glob" | "search_file_content" | "grep_search" => Category::Search,
        "google_web_search" | "web_fetch" => Category::Web,
        "write_todos" => Category::Todo,
        "codebase_investigator" | "cli_help" | "generalist" | "delegate_to_agent" | "invoke_agent" => Category::Task,
        "browser_agent" => Category::Browser,
        name if mcp_server(call).is_some() => mcp::category(name),
        _ if call.agent.get().is_some() => Category::Task,
        _ => Category::Other,
    }
}

/// The server of an MCP tool: `mcp_server_tool`, `mcp__server__tool`, or from the name that the person sees.
pub(super) fn mcp_server<'c>(call: &'c Call<'_>) -> Option<&'c str> {
    let shown = call.display_name.get().and_then(|shown| shown.strip_suffix(" MCP Server)"));
    if let Some((_, server)) = shown.and_then(|shown| shown.rsplit_once(" (")) {
        return Some(server);
    }
    let name = call.name.get()?;
    let server = match name.strip_prefix("mcp__") {
        Some(rest) => rest.split_once("__")?.0,
        None => name.strip_prefix("mcp_")?.split_once('_')?.0,
    };
    Some(server).filter(|server| !server.is_empty())
}

/// The file that a call reads or changes.
pub(super) fn file_of<'a>(category: Category, arguments: &Arguments<'a>) -> Option<Cow<'a, str>> {
    let named = [arguments.file, arguments.absolute, arguments.path];
    category.has_file().then(|| named.into_iter().find_map(text_of)).flatten()
}

/// The subagent's kind, by the arguments of the call that started it or by the tool's own name.
pub(super) fn subagent_type<'a>(call: &'a Call<'a>, arguments: &Arguments<'a>) -> Option<Cow<'a, str>> {
    text_of(arguments.agent).or_else(|| call.name.get().map(Cow::Borrowed))
}

/// The result as the model saw it: what the tool returned, else the error, else other texts, else what was shown.
/// Several calls may share one result, which names each.
pub(super) fn output_of<'a>(call: &Call<'a>) -> Option<Cow<'a, str>> {
    let (mut own, mut first, mut beside) = (None, None, None);
    each_part(call.result, &mut |piece| match piece {
        Piece::Text(text) => append(&mut beside, text, ""),
        Piece::Part(part) => match part.response.0 {
            Some(answer) => {
                let is_own = answer.id.get().is_some() && answer.id.get() == call.id.get();
                let slot = if is_own { &mut own } else { &mut first };
                if slot.is_none() {
                    *slot = response_text(answer.response);
                }
            }
            None => text_of(part.text).into_iter().for_each(|text| append(&mut beside, text, "")),
        },
    });
    own.or(first).or(beside).or_else(|| text_of(call.display))
}

fn response_text(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = raw.json()?;
    let response: Response<'_> = serde_json::from_str(json).unwrap_or_default();
    let text = text_of(response.output).or_else(|| text_of(response.error));
    text.or_else(|| text_of(raw)).or(match json {
        "{}" => None,
        _ if response.output.json().is_some_and(|output| output == "\"\"") => Some(Cow::Borrowed("")),
        _ => Some(Cow::Borrowed(json)),
    })
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) status: Status,
    /// True if a policy refused the call.
    pub(super) is_denied: bool,
    pub(super) exit_code: Option<i64>,
}

/// The program's texts for a call that the person denied: autumn 2025, and since.
const REJECTED: [&str; 2] = ["Reason: User denied execution.", "Reason: User did not allow tool call"];
/// The program's texts for a call that a policy does not allow.
const DENIED: [&str; 3] = ["denied by policy", "not allowed by policy", "policy_violation"];
/// The program's texts for a call that was stopped, whatever its status.
const STOPPED: [&str; 6] = [
    "[Operation Cancelled]",
    "Tool call cancelled by user.",
    "User cancelled operation",
    "Command was cancelled by user before it could start",
    "Command cancelled by user.",
    "Command was cancelled.",
];

/// Returns the outcome of a call by its status and its result. A command that failed is a `success` for the program.
pub(super) fn outcome(status: Option<&str>, category: Category, output: Option<&str>) -> Outcome {
    let text = output.unwrap_or_default();
    let was_stopped = || STOPPED.iter().any(|start| text.trim_start().starts_with(start));
    let exit = if category == Category::Shell { Exit::of(text) } else { Exit::default() };
    let status = match status {
        Some("cancelled") if REJECTED.iter().any(|reason| text.contains(reason)) => Status::Rejected,
        Some("cancelled") => Status::Interrupted,
        Some("validating" | "scheduled" | "executing" | "awaiting_approval") => Status::Pending,
        Some("success" | "error") if was_stopped() => Status::Interrupted,
        Some("error") => Status::Error,
        Some("success") if exit.failed() => Status::Error,
        Some("success") => Status::Ok,
        _ if output.is_some() => Status::Ok,
        _ => Status::Pending,
    };
    let ran_well = category == Category::Shell
        && status == Status::Ok
        && output.is_some()
        && !text.contains("moved to background");
    let is_denied = status == Status::Error && !exit.is_recorded && DENIED.iter().any(|reason| text.contains(reason));
    Outcome { status, is_denied, exit_code: exit.code.or((ran_well && !exit.is_recorded).then_some(0)) }
}

/// The end of a command. Versions of 2025 always record it, later ones only if it failed.
#[derive(Default)]
struct Exit {
    code: Option<i64>,
    is_recorded: bool,
    was_killed: bool,
}

impl Exit {
    fn of(output: &str) -> Self {
        let last = |name: &str| output.lines().rev().find_map(|line| line.trim().strip_prefix(name));
        let code = last("Exit Code: ");
        let signal = last("Signal: ").map(str::trim).unwrap_or_default();
        Self {
            code: code.and_then(|code| code.trim().parse().ok()),
            is_recorded: code.is_some(),
            was_killed: !matches!(signal, "" | "0" | "(none)"),
        }
    }

    fn failed(&self) -> bool {
        self.was_killed || self.code.is_some_and(|code| code != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_failed_is_an_error() {
        let shell = |output| outcome(Some("success"), Category::Shell, Some(output));
        assert_eq!(
            shell("Output: x\nExit Code: 2"),
            Outcome { status: Status::Error, is_denied: false, exit_code: Some(2) }
        );
        assert_eq!(
            shell("Output: x\nExit Code: 0\nSignal: (none)"),
            Outcome { status: Status::Ok, is_denied: false, exit_code: Some(0) }
        );
        assert_eq!(shell("Output: x"), Outcome { status: Status::Ok, is_denied: false, exit_code: Some(0) });
        assert_eq!(
            shell("Exit Code: (none)\nSignal: 9"),
            Outcome { status: Status::Error, is_denied: false, exit_code: None }
        );
        assert_eq!(outcome(Some("success"), Category::Read, Some("Exit Code: 2")).status, Status::Ok);
    }

    #[test]
    fn only_the_persons_own_no_is_a_rejection() {
        let cancelled = |output| outcome(Some("cancelled"), Category::Edit, Some(output)).status;
        assert_eq!(cancelled("[Operation Cancelled] Reason: User denied execution."), Status::Rejected);
        assert_eq!(cancelled("[Operation Cancelled] Reason: User did not allow tool call"), Status::Rejected);
        assert_eq!(cancelled("[Operation Cancelled] Reason: User cancelled the operation."), Status::Interrupted);
        assert_eq!(outcome(Some("cancelled"), Category::Edit, None).status, Status::Interrupted);
        assert_eq!(outcome(Some("executing"), Category::Shell, None).status, Status::Pending);
        let by_policy = outcome(Some("error"), Category::Shell, Some("Tool execution for \"Shell\" denied by policy."));
        assert_eq!((by_policy.status, by_policy.is_denied), (Status::Error, true));
        assert!(outcome(Some("error"), Category::Edit, Some("Tool \"replace\" is not allowed by policy.")).is_denied);
        assert!(!outcome(Some("error"), Category::Shell, Some("cat: x: Permission denied")).is_denied);
    }
}
