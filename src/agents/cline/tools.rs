//! Tools: the category of each, and the outcome of a call by its result.

use super::record::{Arguments, Command, RooResult, SdkResult};
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

/// The program that wrote a result.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    /// Cline's extension.
    Cline,
    /// Roo Code and its forks.
    Roo,
    /// Cline's SDK.
    Sdk,
}

/// Beginning of the extensions' results for calls that the person refused.
const REFUSED: &str = "The user denied this operation";
/// Words of the SDK for a refused call, in the first line of a failure, in small letters and without `the`.
const REFUSED_WORDS: [&str; 7] = [
    "user denied",
    "user rejected",
    "denied by user",
    "rejected by user",
    "disallowed by user",
    "was not approved",
    "cancelled because user sent",
];
/// Words for a call that was not made because of another call's outcome.
const NOT_MADE: [&str; 3] =
    ["due to user rejecting a previous tool", "was not executed because", "Tool was not executed because"];
const FAILED: &str = "The tool execution failed with the following error";
/// Beginnings of the messages in Roo Code's own results for failures.
const FAILURES: [&str; 5] = [
    "The tool execution failed",
    "Access blocked by",
    "Invalid JSON argument",
    "Tool does not exist",
    "Server is not configured",
];

/// Returns the status of a call, and its exit code.
pub(super) fn outcome(output: &str, is_error: bool, category: Category, writer: Writer) -> (Status, Option<i64>) {
    let text = without_heading(output);
    let own = roo_result(text, writer);
    let text = own.as_ref().map_or(text, |(_, rest)| rest);
    let first = text.lines().next().unwrap_or_default();
    if first.len() < 400 && NOT_MADE.iter().any(|words| first.contains(words)) {
        return (Status::Interrupted, None);
    }
    let is_denied = own.as_ref().is_some_and(|(own, _)| own.status.is("denied"));
    if text.starts_with(REFUSED) || is_denied || (writer == Writer::Sdk && is_error && is_refusal(first)) {
        return (Status::Rejected, None);
    }
    let (has_failed, exit_code) = match writer {
        Writer::Sdk => sdk_outcome(text),
        Writer::Cline | Writer::Roo => (own.is_some_and(|(own, _)| own.status.is("error")), exit_code(text)),
    };
    let exit_code = exit_code.filter(|_| category == Category::Shell);
    let failed = is_error || has_failed || text.starts_with(FAILED) || exit_code.is_some_and(|code| code != 0);
    (if failed { Status::Error } else { Status::Ok }, exit_code)
}

/// Returns a result without the line that names its tool.
fn without_heading(output: &str) -> &str {
    super::xml::result(output).map_or(output, |(_, rest)| rest).trim_start()
}

/// Returns the text that the person typed next to a decision, if it is in one of Roo Code's own results.
pub(super) fn feedback(output: &str, writer: Writer) -> Option<String> {
    roo_result(without_heading(output), writer)?.0.feedback.owned().filter(|text| !text.trim().is_empty())
}

/// Separates an object that Roo Code itself wrote from the tool's output after it. What a tool returned may be an object
/// with a status too.
fn roo_result(text: &str, writer: Writer) -> Option<(RooResult<'_>, &str)> {
    if writer != Writer::Roo || !text.starts_with("{\"status\":") {
        return None;
    }
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<RooResult<'_>>();
    let own = objects.next()?.ok()?;
    let message = own.message.get().unwrap_or_default();
    let is_own = match own.status.get()? {
        "denied" => message.starts_with(REFUSED) || own.feedback.get().is_some(),
        "approved" | "guidance" => own.feedback.get().is_some(),
        "error" => FAILURES.iter().any(|opening| message.starts_with(opening)),
        _ => false,
    };
    let rest = text.get(objects.byte_offset()..)?.trim_start();
    is_own.then_some((own, rest))
}

fn is_refusal(first_line: &str) -> bool {
    let line = first_line.to_ascii_lowercase().replace("the user", "user");
    line.len() < 400 && REFUSED_WORDS.iter().any(|words| line.contains(words))
}

/// Reads a result of one of the SDK's tools: an object, or a list of objects, one for each command of a call. Returns
/// true if one failed, and its exit code.
fn sdk_outcome(text: &str) -> (bool, Option<i64>) {
    let results: Vec<SdkResult<'_>> = match text.as_bytes().first() {
        Some(b'{') => serde_json::from_str(text).into_iter().collect(),
        Some(b'[') => match serde_json::from_str::<List<Object<SdkResult<'_>>>>(text) {
            Ok(List(results)) => results.into_iter().filter_map(|result| result.0).collect(),
            Err(_) => Vec::new(),
        },
        _ => Vec::new(),
    };
    let failures = || results.iter().filter(|it| it.query.get().is_some() && it.success.json() == Some("false"));
    (failures().next().is_some(), failures().find_map(|it| code_in(it.error.get()?)))
}

/// Reads the exit code that an extension puts between `Command executed` and the command's output.
fn exit_code(text: &str) -> Option<i64> {
    let is_heading = ["Command executed", "Command failed"].iter().any(|opening| text.starts_with(opening));
    let mut heading = text.lines().take_while(|line| !line.starts_with("Output")).take(3);
    heading.find_map(|line| code_in(line).filter(|_| is_heading))
}

/// Reads the number in `Exit code: 2`, `exit code 2` or `exited with code 2`.
fn code_in(line: &str) -> Option<i64> {
    let words = ["xit code", "exited with code"];
    let (place, words) = words.iter().find_map(|words| Some((line.find(words)?, words)))?;
    let rest = line.get(place + words.len()..)?.trim_start_matches([':', ' ']);
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_told_by_texts() {
        let (cline, roo, sdk) = (Writer::Cline, Writer::Roo, Writer::Sdk);
        let command = "Command executed in terminal within working directory '/a'.";
        let failed = format!("{command} Command execution was not successful.\nExit code: 2\nOutput:\nx");
        let approved = format!("{{\"status\":\"approved\",\"feedback\":\"go\"}}\n\n{failed}");
        for (writer, output, is_error, expected) in [
            (cline, "The user denied this operation.", false, (Status::Rejected, None)),
            (
                cline,
                "[write_to_file for 'a'] Result:\nThe user denied this operation.",
                false,
                (Status::Rejected, None),
            ),
            (cline, "EACCES: permission denied, open '/root/x'", true, (Status::Error, None)),
            (cline, r#"{"id":1,"status":"error"}"#, false, (Status::Ok, None)),
            (cline, r#"{"status":"denied","message":"The user denied this operation."}"#, false, (Status::Ok, None)),
            (
                roo,
                r#"{"status":"denied","message":"The user denied this operation."}"#,
                false,
                (Status::Rejected, None),
            ),
            (roo, r#"{"status":"denied","feedback":"no"}"#, false, (Status::Rejected, None)),
            (roo, r#"{"status":"denied","user":"a"}"#, false, (Status::Ok, None)),
            (
                roo,
                r#"{"status":"error","message":"The tool execution failed","error":"x"}"#,
                false,
                (Status::Error, None),
            ),
            (roo, r#"{"status":"error","message":"not found"}"#, false, (Status::Ok, None)),
            (
                cline,
                "The tool execution failed with the following error:\n<error>x</error>",
                false,
                (Status::Error, None),
            ),
            (cline, "Skipping tool [a] due to user rejecting a previous tool.", false, (Status::Interrupted, None)),
            (roo, &failed, false, (Status::Error, Some(2))),
            (roo, &approved, false, (Status::Error, Some(2))),
            (roo, "Command executed. Exit code: 0", false, (Status::Ok, Some(0))),
            (cline, "Command executed.\nOutput:\nexit code 2", false, (Status::Ok, None)),
            (cline, "exit code 2", false, (Status::Ok, None)),
            (
                sdk,
                r#"[{"query":"ls","result":"exit code 3","success":true},
                    {"query":"a","result":"exit code 4","success":false,"error":"Command exited with code 1"}]"#,
                false,
                (Status::Error, Some(1)),
            ),
            (sdk, r#"{"success":false}"#, false, (Status::Ok, None)),
            (sdk, r#"{"error":"User denied the tool execution"}"#, true, (Status::Rejected, None)),
            (sdk, "HTTP 403: access denied", true, (Status::Error, None)),
            (sdk, "no such tool", true, (Status::Error, None)),
            (cline, "a log\nThe user denied this operation.", false, (Status::Ok, None)),
        ] {
            assert_eq!(outcome(output, is_error, Category::Shell, writer), expected, "{output}");
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
