//! Tools: what kind each is.

use super::record::Arguments;
use crate::agents::kit::calls::Call;
use crate::agents::mcp;
use crate::tables::{Category, Status};

/// A call by its name, or by the kind that the client got.
pub(super) fn call(name: Option<&str>, kind: Option<&str>, arguments: Option<&str>) -> Call {
    let named = name.unwrap_or_default();
    let server = mcp::server(named).filter(|server| !server.is_empty());
    let category = match category(named) {
        _ if server.is_some() => mcp::category(named),
        Category::Other => of_kind(kind.unwrap_or_default()),
        category => category,
    };
    let given: Arguments<'_> = arguments.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    Call {
        input: arguments.map(str::to_owned),
        command: given.command.owned().filter(|_| category == Category::Shell),
        file: given.file.owned().filter(|_| category.has_file()),
        ..Call::of_tool(name.or(kind).unwrap_or("unknown"), category, server)
    }
}

fn category(name: &str) -> Category {
    match name {
        "bash" | "run_terminal_command" | "run_terminal_cmd" | "shell" => Category::Shell,
        "read_file" | "read" => Category::Read,
        "write" | "write_file" => Category::Write,
        "edit" | "search_replace" | "apply_patch" | "str_replace" => Category::Edit,
        "grep" | "glob" | "list_dir" | "codebase_search" => Category::Search,
        "web_search" | "web_fetch" | "x_search" => Category::Web,
        "task" | "spawn_subagent" => Category::Task,
        "todo_write" => Category::Todo,
        _ => Category::Other,
    }
}

/// The category of a kind of the Agent Client Protocol.
fn of_kind(kind: &str) -> Category {
    match kind {
        "execute" => Category::Shell,
        "read" => Category::Read,
        "edit" | "delete" | "move" => Category::Edit,
        "search" => Category::Search,
        "fetch" => Category::Web,
        _ => Category::Other,
    }
}

/// The status of a call that ended.
pub(super) fn status(status: &str, output: Option<&str>) -> Status {
    let is_refused = || {
        let text = output.unwrap_or_default();
        let text = text.get(..text.floor_char_boundary(200)).unwrap_or_default().to_lowercase();
        text.contains("user") && ["denied", "rejected", "declined"].iter().any(|word| text.contains(word))
    };
    match status {
        "failed" if is_refused() => Status::Rejected,
        "failed" => Status::Error,
        _ => Status::Ok,
    }
}
