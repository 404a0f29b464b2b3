//! Tools: the category of each, and the outcome of a call.

use std::borrow::Cow;

use super::record::{Arguments, Block, Output, Run};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::{compact, string_of};
use crate::agents::mcp;
use crate::tables::{Category, Status};

/// Returns a call of a tool with arguments as JSON.
pub(super) fn call(name: &str, input: Option<&str>) -> Call {
    let server = mcp::server(name);
    let category = if server.is_some() { mcp::category(name) } else { category(name) };
    let given: Arguments<'_> = input.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    Call {
        input: input.map(|input| compact(input).into_owned()),
        command: given.command.owned().filter(|_| category == Category::Shell),
        file: given.path.owned().filter(|_| category.has_file()),
        ..Call::of_tool(name, category, server)
    }
}

fn category(name: &str) -> Category {
    match name {
        "Bash" => Category::Shell,
        "Read" | "read_file" => Category::Read,
        "create_file" => Category::Write,
        "edit_file" | "undo_edit" | "apply_patch" => Category::Edit,
        "Grep" | "glob" | "Glob" | "list_directory" | "finder" | "codebase_search_agent" => Category::Search,
        "web_search" | "read_web_page" => Category::Web,
        "Task" | "oracle" | "librarian" | "handoff" => Category::Task,
        "todo_write" | "todo_read" => Category::Todo,
        _ => Category::Other,
    }
}

/// Returns the outcome of a call.
pub(super) fn outcome<'b>(block: &'b Block<'_>, ended_at: Option<i64>) -> Outcome<'b> {
    let Some(run) = &block.run.0 else {
        let status = if block.is_error.0 { Status::Error } else { Status::Ok };
        let output = block.content.json().map(text_of);
        return Outcome { status, output, ended_at, ..Outcome::default() };
    };
    let exit_code = run.result.json().and_then(exit_code);
    let status = match run.status.get() {
        Some("done") if exit_code.is_some_and(|code| code != 0) => Status::Error,
        Some("done") => Status::Ok,
        Some("error") => Status::Error,
        Some("rejected-by-user") => Status::Rejected,
        Some("cancelled") => Status::Interrupted,
        _ => Status::Pending,
    };
    Outcome { status, exit_code, output: output(run), ended_at, ..Outcome::default() }
}

fn output<'b>(run: &'b Run<'_>) -> Option<Cow<'b, str>> {
    run.result.json().or(run.error.json()).map(text_of)
}

fn exit_code(json: &str) -> Option<i64> {
    serde_json::from_str::<Output<'_>>(json).ok()?.exit_code.0
}

/// Returns a text, the text in an object, or else the JSON.
fn text_of(json: &str) -> Cow<'_, str> {
    let inner = || serde_json::from_str::<Output<'_>>(json).ok()?.text.owned().map(Cow::Owned);
    string_of(json).or_else(inner).unwrap_or(Cow::Borrowed(json))
}
