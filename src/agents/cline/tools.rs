//! Tools: the category of each, and the outcome of a call by its result.

use super::record::{Arguments, Command, ToolResult};
use crate::agents::mcp;
use crate::source::records::{List, Object};
use crate::tables::{Category, Status};

/// Returns the `category` of a tool by its name in the extensions, in `ui_messages.json` or in the SDK.
pub(super) fn category(name: &str) -> Category {
    match name {
        "execute_command" | "command" | "run_commands" | "run_command" | "bash" | "read_command_output" => {
            Category::Shell
        }
        "read_file" | "read_files" | "simple_read_file" | "readFile" | "view" => Category::Read,
        "write_to_file" | "write_file" | "newFileCreated" => Category::Write,
        "replace_in_file" | "apply_diff" | "apply_patch" | "edit_file" | "editor" | "edit" | "insert_content"
        | "search_and_replace" | "search_replace" | "multi_apply_diff" | "editedExistingFile" | "appliedDiff"
        | "insertContent" | "searchAndReplace" | "fileDeleted" => Category::Edit,
        "search_files"
        | "list_files"
        | "list_code_definition_names"
        | "codebase_search"
        | "search_codebase"
        | "searchFiles"
        | "listFilesTopLevel"
        | "listFilesRecursive"
        | "listCodeDefinitionNames"
        | "codebaseSearch" => Category::Search,
        "web_fetch" | "web_search" | "fetch_web_content" | "webFetch" | "webSearch" => Category::Web,
        "browser_action" | "browser_action_launch" => Category::Browser,
        "new_task" | "use_subagents" | "spawn_agent" | "newTask" => Category::Task,
        "update_todo_list" | "updateTodoList" | "task_progress" => Category::Todo,
        "use_mcp_tool" | "access_mcp_resource" | "use_mcp_server" => Category::Mcp,
        name if mcp_server(name).is_some() => mcp::category(name),
        _ => Category::Other,
    }
}

/// Returns the server of a tool that has a name of its own: `mcp__server__tool`, Roo Code's `mcp--server--tool`,
/// Cline's `server0mcp0tool`.
pub(super) fn mcp_server(name: &str) -> Option<&str> {
    let of_roo = || name.strip_prefix("mcp--")?.split_once("--").map(|(server, _)| server);
    let of_cline = || name.split_once("0mcp0").map(|(server, _)| server);
    mcp::server(name).or_else(of_roo).or_else(of_cline).filter(|server| !server.is_empty())
}

/// Returns the command line of a shell call; the commands of a list, one per line.
pub(super) fn command_of(arguments: &Arguments<'_>) -> Option<String> {
    if let Some(command) = arguments.command.get() {
        return Some(command.to_owned());
    }
    let commands = arguments.commands.0.iter().filter_map(|raw| {
        let json = raw.json()?;
        let of_object = || serde_json::from_str::<Command<'_>>(json).ok()?.command.owned();
        serde_json::from_str::<String>(json).ok().or_else(of_object)
    });
    let commands: Vec<String> = commands.collect();
    (!commands.is_empty()).then(|| commands.join("\n"))
}

/// Beginnings of the extensions' results for calls that the person refused.
const REFUSED: [&str; 3] = ["The user denied this operation", "Tool call was denied", "Tool execution was denied"];
/// Words of the SDK for a refused call, in the first line of a failure.
const REFUSED_WORDS: [&str; 6] =
    ["denied", "rejected by", "not approved", "declined", "user rejected", "disallowed by the user"];
/// Words for a call that was not made because of another call's outcome.
const NOT_MADE: [&str; 3] =
    ["due to user rejecting a previous tool", "was not executed because", "Tool was not executed because"];
const FAILED: &str = "The tool execution failed with the following error";

/// Returns the status of a call, and its exit code.
pub(super) fn outcome(output: &str, is_error: bool, category: Category) -> (Status, Option<i64>) {
    let text = super::xml::result(output).map_or(output, |(_, rest)| rest).trim_start();
    let first = text.lines().next().unwrap_or_default();
    let says = |openings: &[&str]| openings.iter().any(|opening| text.starts_with(opening));
    if first.len() < 400 && NOT_MADE.iter().any(|words| first.contains(words)) {
        return (Status::Interrupted, None);
    }
    let told = told(text);
    let is_refused = || is_error && first.len() < 400 && REFUSED_WORDS.iter().any(|words| first.contains(words));
    if says(&REFUSED) || told.is_denied || is_refused() {
        return (Status::Rejected, None);
    }
    let in_text = || exit_code(text).filter(|_| told.has_failed || !text.starts_with(['{', '[']));
    let exit_code = told.exit_code.or_else(in_text).filter(|_| category == Category::Shell);
    let failed = is_error || told.has_failed || says(&[FAILED]) || exit_code.is_some_and(|code| code != 0);
    (if failed { Status::Error } else { Status::Ok }, exit_code)
}

#[derive(Default)]
struct Outcome {
    is_denied: bool,
    has_failed: bool,
    exit_code: Option<i64>,
}

/// Reads a result that is an object, or a list of objects, one for each command of a call.
fn told(text: &str) -> Outcome {
    let results: Vec<ToolResult<'_>> = match text.as_bytes().first() {
        Some(b'{') => serde_json::from_str(text).into_iter().collect(),
        Some(b'[') => match serde_json::from_str::<List<Object<ToolResult<'_>>>>(text) {
            Ok(List(results)) => results.into_iter().filter_map(|result| result.0).collect(),
            Err(_) => Vec::new(),
        },
        _ => Vec::new(),
    };
    let mut outcome = Outcome::default();
    for result in &results {
        outcome.is_denied |= result.status.is("denied");
        outcome.has_failed |= result.status.is("error") || result.success.json() == Some("false");
        outcome.exit_code = outcome.exit_code.filter(|code| *code != 0).or(result.exit_code.0);
    }
    outcome
}

/// Reads `Exit code: 2` or `exit code 2` in the first lines of a command's result.
fn exit_code(text: &str) -> Option<i64> {
    text.lines().take(4).find_map(|line| {
        let place = memchr::memmem::find(line.as_bytes(), b"xit code")?;
        let rest = line.get(place + "xit code".len()..)?.trim_start_matches([':', ' ']);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_told_by_texts() {
        for (output, is_error, expected) in [
            ("The user denied this operation.", false, (Status::Rejected, None)),
            ("[write_to_file for 'a'] Result:\nThe user denied this operation.", false, (Status::Rejected, None)),
            (r#"{"status":"denied","message":"no"}"#, false, (Status::Rejected, None)),
            (r#"{"status":"error","error":"x"}"#, false, (Status::Error, None)),
            ("The tool execution failed with the following error:\n<error>x</error>", false, (Status::Error, None)),
            ("Skipping tool [a] due to user rejecting a previous tool.", false, (Status::Interrupted, None)),
            ("Command executed in terminal within '/a'. Exit code: 2\nOutput:\nx", false, (Status::Error, Some(2))),
            ("Command executed. Exit code: 0", false, (Status::Ok, Some(0))),
            (r#"[{"query":"ls","result":"","success":false,"error":"exit code 1"}]"#, false, (Status::Error, Some(1))),
            ("Tool call denied by the person", true, (Status::Rejected, None)),
            ("no such tool", true, (Status::Error, None)),
            ("a log\nThe user denied this operation.", false, (Status::Ok, None)),
        ] {
            assert_eq!(outcome(output, is_error, Category::Shell), expected, "{output}");
        }
    }

    #[test]
    fn servers_of_mcp_names() {
        assert_eq!(mcp_server("mcp--github--search"), Some("github"));
        assert_eq!(mcp_server("c1a2b30mcp0search"), Some("c1a2b3"));
        assert_eq!(mcp_server("mcp__github__search"), Some("github"));
        assert_eq!(mcp_server("read_file"), None);
    }
}
