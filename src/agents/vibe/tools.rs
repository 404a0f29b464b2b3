//! Tools: what kind each is, and how a call of 2.x ended.

use std::borrow::Cow;

use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::mcp;
use crate::source::records::{Text, record};
use crate::tables::{Category, Status};

record! {
    /// Arguments that have columns.
    Arguments<'a> { command: Text<'a> = "command", file: Text<'a> = "path" | "file_path" }
}

/// A call of a tool with these arguments.
pub(super) fn call(name: &str, input: Option<&str>) -> Call {
    let category = category(name);
    let arguments: Arguments<'_> = input.and_then(|input| serde_json::from_str(input).ok()).unwrap_or_default();
    Call {
        input: input.map(str::to_owned),
        command: arguments.command.owned().filter(|_| category == Category::Shell),
        file: arguments.file.owned().filter(|_| category.has_file()),
        ..Call::of_tool(name, category, mcp::server(name))
    }
}

fn category(name: &str) -> Category {
    match name {
        "bash" | "bash_output" | "process_start" => Category::Shell,
        "read" | "read_file" | "view_image" => Category::Read,
        "write" | "write_file" => Category::Write,
        "edit" | "search_replace" | "multi_edit" | "apply_patch" => Category::Edit,
        "grep" | "glob" | "list" | "list_dir" | "search_tool_functions" => Category::Search,
        "web_fetch" | "web_search" | "webfetch" | "websearch" => Category::Web,
        "task" | "spawn_agent" => Category::Task,
        "todo" | "todo_write" => Category::Todo,
        name if mcp::server(name).is_some() => mcp::category(name),
        name if mcp::drives_browser(name) => Category::Browser,
        _ => Category::Other,
    }
}

/// Returns the outcome of a call, by the text of its result.
pub(super) fn outcome(category: Category, text: Option<&str>) -> Outcome<'_> {
    let result = text.unwrap_or_default();
    let exit_code = if category == Category::Shell { exit_code(result) } else { None };
    let status = match () {
        () if result.starts_with("<user_cancellation>") && result.contains("skipped") => Status::Rejected,
        () if result.starts_with("<user_cancellation>") => Status::Interrupted,
        () if result.starts_with("<tool_error>") => Status::Error,
        () if exit_code.is_some_and(|code| code != 0) => Status::Error,
        () => Status::Ok,
    };
    Outcome { status, exit_code, output: text.map(Cow::Borrowed), ..Outcome::default() }
}

/// The exit code that a command's result names on a line of its own.
fn exit_code(text: &str) -> Option<i64> {
    memchr::memmem::find(text.as_bytes(), b"returncode: ")?;
    text.lines().rev().find_map(|line| line.strip_prefix("returncode: "))?.trim().parse().ok()
}
