//! Blocks of the screen that show tool calls.

use std::borrow::Cow;

use serde_json::json;

use super::record::{Change, Event, File};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::mcp;
use crate::extract::EditedLines;
use crate::source::records::{Raw, Text};
use crate::tables::{Category, Status};

/// The kind of a block that other blocks of the same step replace, as it is their caption then.
pub(super) const CAPTION: &str = "ToolBlockUpdatedEvent";

/// Returns the calls that a block shows, without ids, and what the block says of each. `None` if it is no call.
pub(super) fn calls<'a>(event: &Event<'a>) -> Option<Vec<(Call, Outcome<'a>)>> {
    let name = event.name.get().map(str::to_owned);
    let call = match event.kind.get()? {
        "TerminalBlockUpdatedEvent" => {
            let input = event.command.get().map(|command| json!({ "command": command }).to_string());
            Call { input, command: event.command.owned(), ..Call::of_tool("terminal", Category::Shell, None) }
        }
        "ViewFilesBlockUpdatedEvent" => {
            let files: Vec<_> = event.files.0.iter().filter_map(|file| path_of(*file)).collect();
            let input = Some(json!({ "files": files }).to_string());
            Call { input, file: files.into_iter().next(), ..Call::of_tool("view_files", Category::Read, None) }
        }
        "FileChangesBlockUpdatedEvent" => {
            let changes = event.changes.0.iter().filter_map(|change| change.0.as_ref());
            return Some(changes.map(|change| changed(event, change)).collect());
        }
        "McpBlockUpdatedEvent" => {
            let tool = event.tool.get().unwrap_or("unknown");
            let server = tool.split_once('/').map(|(server, _)| server);
            // While the call runs, the details are its input.
            let details = event.details.get().filter(|text| !text.is_empty() && status(event) == Status::Pending);
            let details = details.and_then(|text| if is_json(text) { Some(text.to_owned()) } else { json_of(text) });
            let input = event.input.json().map(str::to_owned).or(details);
            Call { input, ..Call::of_tool(tool, mcp::category(tool), server) }
        }
        CAPTION => {
            let tool = event.tool_type.get().unwrap_or("tool");
            let category = if tool == "Search" { Category::Search } else { Category::Other };
            Call { input: event.text.get().and_then(json_of), ..Call::of_tool(tool, category, None) }
        }
        "TestRunBlockUpdatedEvent" => {
            Call { input: event.name.get().and_then(json_of), ..Call::of_tool("test_run", Category::Other, None) }
        }
        "CustomAgentBlockUpdatedEvent" => {
            Call { input: name.as_deref().and_then(json_of), ..Call::of_tool("custom_agent", Category::Task, None) }
        }
        _ => return None,
    };
    Some(vec![(call, outcome(event))])
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// A text as JSON.
fn json_of(text: &str) -> Option<String> {
    serde_json::to_string(text).ok()
}

/// The path of a file: a text, or an object that names it.
fn path_of(file: Raw<'_>) -> Option<String> {
    let json = file.json()?;
    let text: Text<'_> = serde_json::from_str(json).ok()?;
    text.owned().or_else(|| serde_json::from_str::<File<'_>>(json).ok()?.path.owned())
}

fn changed<'a>(event: &Event<'_>, change: &Change<'_>) -> (Call, Outcome<'a>) {
    let is_new = change.before_path.get().is_none() && change.before.get().is_none();
    let category = if is_new { Category::Write } else { Category::Edit };
    let file = change.after_path.owned().or_else(|| change.before_path.owned());
    let input = file.as_ref().map(|file| json!({ "path": file }).to_string());
    let call = Call { input, file, ..Call::of_tool("file_changes", category, None) };
    let lines = match (change.before.get(), change.after.get()) {
        (Some(before), after) => EditedLines::between(before, after.unwrap_or_default()),
        (None, Some(after)) if is_new => Some(EditedLines::of_new_file(after)),
        _ => None,
    };
    let output = event.details.get().map(|text| Cow::Owned(text.to_owned()));
    (call, Outcome { status: status(event), lines: lines.unwrap_or_default(), output, ..Outcome::default() })
}

fn outcome<'a>(event: &Event<'a>) -> Outcome<'a> {
    let exit_code = event.exit_code.0;
    let status = match status(event) {
        Status::Ok if exit_code.is_some_and(|code| code != 0) => Status::Error,
        status => status,
    };
    let texts = [&event.output, &event.shown, &event.details];
    let output = texts.into_iter().find(|text| text.get().is_some()).and_then(|text| text.0.clone());
    Outcome { status, exit_code, output, ..Outcome::default() }
}

/// Pending while the block is in progress.
fn status(event: &Event<'_>) -> Status {
    match event.status.get() {
        Some("COMPLETED" | "FINISHED") => Status::Ok,
        Some("FAILED") => Status::Error,
        Some("REJECTED") => Status::Rejected,
        Some("CANCELED" | "CANCELLED") => Status::Interrupted,
        _ => Status::Pending,
    }
}
