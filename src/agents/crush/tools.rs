//! Tools: the category of each, and the outcome of a call.

use std::borrow::Cow;

use super::record::{Arguments, Data, Metadata};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::mcp;
use crate::tables::{Category, Status};

/// Text in the result of a call that the person refused.
const REFUSED: &str = "User denied permission";

/// Returns a call of a tool with arguments as JSON.
pub(super) fn call(name: &str, input: Option<&str>) -> Call {
    let server = name.strip_prefix("mcp_").and_then(|rest| rest.split_once('_')).map(|(server, _)| server);
    let category = if server.is_some() { mcp::category(name) } else { category(name) };
    let given: Arguments<'_> = input.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    Call {
        input: input.map(str::to_owned),
        command: given.command.owned().filter(|_| category == Category::Shell),
        file: given.file.owned().or(given.path.owned()).filter(|_| category.has_file()),
        ..Call::of_tool(name, category, server)
    }
}

fn category(name: &str) -> Category {
    match name {
        "bash" | "job_output" | "job_kill" => Category::Shell,
        "view" => Category::Read,
        "write" | "download" => Category::Write,
        "edit" | "multiedit" => Category::Edit,
        "glob" | "grep" | "ls" | "lsp_references" | "lsp_diagnostics" | "sourcegraph" => Category::Search,
        "fetch" | "web_fetch" | "web_search" => Category::Web,
        "agent" | "agentic_fetch" => Category::Task,
        "todos" => Category::Todo,
        _ => Category::Other,
    }
}

/// Returns the outcome of a call.
pub(super) fn outcome<'t>(call: &Call, result: &'t Data<'_>, ended_at: Option<i64>) -> Outcome<'t> {
    let content = result.content.get();
    let metadata: Metadata<'_> =
        result.metadata.get().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let is_shell = call.category == Category::Shell;
    let exit_code = metadata.exit_code.0.or_else(|| content.and_then(exit_code)).filter(|_| is_shell);
    let status = if result.is_error.0 && content.is_some_and(|content| content.contains(REFUSED)) {
        Status::Rejected
    } else if result.is_error.0 || exit_code.is_some_and(|code| code != 0) {
        Status::Error
    } else {
        Status::Ok
    };
    Outcome { status, exit_code, output: content.map(Cow::Borrowed), ended_at, ..Outcome::default() }
}

/// Returns the exit code in the last lines of a command's result.
fn exit_code(content: &str) -> Option<i64> {
    content.lines().rev().take(5).find_map(|line| line.trim().strip_prefix("Exit code "))?.trim().parse().ok()
}
