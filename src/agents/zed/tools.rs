//! Tools: what kind each is, and how a call ended.

use std::borrow::Cow;

use serde_json::Value;

use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::join;
use crate::agents::kit::values::At;
use crate::agents::mcp;
use crate::tables::{Category, Status};

/// A call of a tool.
pub(super) fn call(name: &str, input: Option<&Value>) -> Call {
    let category = match name {
        "terminal" => Category::Shell,
        "read_file" | "open" => Category::Read,
        "create_file" | "write_file" | "create_directory" | "save_file" => Category::Write,
        "edit_file" | "delete_path" | "move_path" | "copy_path" | "streaming_edit_file" => Category::Edit,
        "grep" | "find_path" | "list_directory" | "diagnostics" => Category::Search,
        "fetch" | "web_search" | "search_web" => Category::Web,
        "spawn_agent" | "subagent" => Category::Task,
        "update_plan" => Category::Todo,
        name if mcp::drives_browser(name) => Category::Browser,
        _ => Category::Other,
    };
    let text = |key: &str| input.and_then(|input| input.text_at(key)).map(str::to_owned);
    Call {
        input: input.map(Value::to_string),
        command: text("/command").filter(|_| category == Category::Shell),
        file: text("/path").or_else(|| text("/source_path")).filter(|_| category.has_file()),
        status: Status::Interrupted,
        ..Call::of_tool(name, category, None)
    }
}

/// Returns the outcome of a call; a call without a result was stopped.
pub(super) fn outcome(result: Option<&Value>) -> Outcome<'_> {
    let Some(result) = result else { return Outcome { status: Status::Interrupted, ..Outcome::default() } };
    let output = text_of(result.at("/content"));
    let text = output.as_deref().unwrap_or_default();
    let status = match result.is_true_at("/is_error") {
        false => Status::Ok,
        true if text.contains("Permission to run tool denied by user") => Status::Rejected,
        true if text.contains("Tool canceled by user") => Status::Interrupted,
        true => Status::Error,
    };
    Outcome { status, output, ..Outcome::default() }
}

/// The texts of a content: a text, `{"Text": …}`, or a list of those.
pub(super) fn text_of(content: Option<&Value>) -> Option<Cow<'_, str>> {
    let content = content?;
    let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    let texts = blocks.iter().filter_map(|block| block.as_str().or_else(|| block.text_at("/Text")));
    join(texts.map(Cow::Borrowed))
}
