//! Tools: the category of each, and the content of their results.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::record::{Arguments, ToolUse};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::mcp;
use crate::tables::{Category, Status};
use crate::time::parse_iso;

/// Arguments that describe the call for the person.
const DESCRIPTIONS: [&str; 2] = ["toolAction", "toolSummary"];

/// Returns a call, and the folder that it works in.
pub(super) fn call(used: &ToolUse<'_>) -> (Call, Option<String>) {
    let name = used.name.get().unwrap_or("unknown");
    let input = used.arguments.json().map(decoded);
    let given: Arguments<'_> = input.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let category = category(name);
    let (command, file) = (given.command.owned(), given.file.owned());
    let cwd = given.cwd.owned();
    let call = Call {
        command: command.filter(|_| category == Category::Shell),
        file: file.filter(|_| category.has_file()),
        input,
        ..Call::of_tool(name, category, mcp::server(name))
    };
    (call, cwd)
}

/// Returns the arguments with decoded values, which are JSON within texts.
fn decoded(json: &str) -> String {
    let Ok(Value::Object(arguments)) = serde_json::from_str(json) else { return json.to_owned() };
    let arguments = arguments.into_iter().filter(|(key, _)| !DESCRIPTIONS.contains(&key.as_str()));
    let arguments = arguments.map(|(key, value)| match value {
        Value::String(text) => (key, serde_json::from_str(&text).unwrap_or(Value::String(text))),
        value => (key, value),
    });
    Value::Object(arguments.collect::<Map<_, _>>()).to_string()
}

fn category(name: &str) -> Category {
    match name {
        "run_command" | "send_command_input" | "command_status" => Category::Shell,
        "view_file" | "view_file_outline" | "view_code_item" | "view_content_chunk" => Category::Read,
        "write_to_file" => Category::Write,
        "replace_file_content" | "multi_replace_file_content" | "edit_file" => Category::Edit,
        "list_dir" | "list_directory" | "grep_search" | "find_by_name" | "codebase_search" => Category::Search,
        "search_web" | "read_url_content" => Category::Web,
        "invoke_subagent" => Category::Task,
        "task_boundary" => Category::Todo,
        name if name.starts_with("mcp__") => mcp::category(name),
        name if mcp::drives_browser(name) => Category::Browser,
        _ => Category::Other,
    }
}

/// Returns true if a step of that kind holds the result of a call. Most kinds are the name of the tool.
pub(super) fn is_result_of(kind: &str, call: &Call) -> bool {
    match kind {
        "LIST_DIRECTORY" => matches!(&*call.name, "list_dir" | "list_directory"),
        "CODE_ACTION" => matches!(call.category, Category::Write | Category::Edit),
        kind => call.name.eq_ignore_ascii_case(kind),
    }
}

/// Reads a result: the start time of the tool, its outcome and its output.
pub(super) fn outcome(text: &str, is_command: bool, moment: Option<i64>) -> (Option<i64>, Outcome<'_>) {
    let (mut began, mut ended, mut rest) = (None, None, text);
    while let Some((line, after)) = rest.split_once('\n') {
        if let Some(time) = line.trim().strip_prefix("Created At: ") {
            began = parse_iso(time);
        } else if let Some(time) = line.trim().strip_prefix("Completed At: ") {
            ended = parse_iso(time);
        } else if !line.trim().is_empty() {
            break;
        }
        rest = after;
    }
    let (first, after) = rest.split_once('\n').unwrap_or((rest, ""));
    let exit_code = match first.trim().split_once("The command failed with exit code: ") {
        _ if !is_command => None,
        Some((_, code)) => code.trim_end_matches('.').parse().ok(),
        None => first.contains("The command completed successfully").then_some(0),
    };
    let output = if exit_code.is_some() { after } else { rest };
    let status = if exit_code.is_some_and(|code| code != 0) { Status::Error } else { Status::Ok };
    let output = Some(Cow::Borrowed(output.trim_end())).filter(|output| !output.is_empty());
    (began, Outcome { status, exit_code, output, ended_at: ended.or(moment), ..Outcome::default() })
}

/// Returns the conversations that a result names.
pub(super) fn conversations(text: &str) -> impl Iterator<Item = &str> {
    values(text, "\"conversationId\"")
}

/// Returns the folders that a result names.
pub(super) fn workspaces(text: &str) -> impl Iterator<Item = &str> {
    values(text, "\"workspaceUris\"")
}

/// Returns the first text after each key.
fn values<'t>(text: &'t str, key: &'static str) -> impl Iterator<Item = &'t str> {
    let mut parts = text.split(key);
    parts.next();
    parts.filter_map(|rest| rest.trim_start_matches([' ', ':', '[', '\n', '\\', '"']).split(['"', '\\']).next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_decoded_once_more() {
        let json = r#"{"CommandLine":"\"ls\"","Blocking":"true","toolAction":"\"Listing\"","Plain":"as is"}"#;
        assert_eq!(decoded(json), r#"{"Blocking":true,"CommandLine":"ls","Plain":"as is"}"#);
        assert_eq!(decoded("[1]"), "[1]");
    }

    #[test]
    fn results_of_commands() {
        let text = "Created At: 2026-06-28T12:09:40Z\nCompleted At: 2026-06-28T12:09:42Z\n\nThe command failed with exit code: 2\nOutput:\nno\n";
        let (began, end) = outcome(text, true, None);
        assert_eq!((end.status, end.exit_code, end.output.as_deref()), (Status::Error, Some(2), Some("Output:\nno")));
        assert_eq!(end.ended_at.zip(began).map(|(end, begin)| end - begin), Some(2_000_000));
        let (_, end) = outcome("a\nb", false, Some(7));
        assert_eq!((end.status, end.output.as_deref(), end.ended_at), (Status::Ok, Some("a\nb"), Some(7)));
    }

    #[test]
    fn ids_in_a_result() {
        let text = r#"Started: {"conversationId": "u-2", "workspaceUris": ["file:///w"]}"#;
        assert_eq!(conversations(text).collect::<Vec<_>>(), ["u-2"]);
        assert_eq!(workspaces(text).collect::<Vec<_>>(), ["file:///w"]);
    }
}
