//! Tool calls: the category, arguments and outcome of each.

use std::borrow::Cow;

use super::record::{Arguments, ToolData, ToolError, ToolResult};
use super::value;
use crate::agents::kit::calls::Call;
use crate::agents::kit::facts::fill;
use crate::agents::kit::texts::string_of;
use crate::agents::mcp;
use crate::source::records::Raw;
use crate::tables::{Category, Status};

/// Numbers of `tool` that mean tools of MCP servers.
const MCP_TOOLS: [i64; 3] = [0, 19, 49];

/// Returns the `category` of a tool of the editor or of the command-line program.
pub(super) fn category(name: &str) -> Category {
    match name {
        "run_terminal_cmd" | "run_terminal_command" | "run_terminal_command_v2" | "Shell" | "Bash" | "AwaitShell" => {
            Category::Shell
        }
        "read_file" | "read_file_v2" | "read_lints" | "Read" | "ReadLints" | "fetch_rules" => Category::Read,
        "write" | "create_file" | "delete_file" | "Write" | "Delete" => Category::Write,
        "edit_file"
        | "edit_file_v2"
        | "edit_file_v2_search_replace"
        | "search_replace"
        | "reapply"
        | "apply_patch"
        | "edit_notebook"
        | "multi_edit"
        | "MultiEdit"
        | "Edit"
        | "StrReplace"
        | "ApplyPatch"
        | "EditNotebook" => Category::Edit,
        "codebase_search"
        | "semantic_search"
        | "semantic_search_full"
        | "file_search"
        | "glob_file_search"
        | "grep"
        | "grep_search"
        | "ripgrep"
        | "ripgrep_raw_search"
        | "rg"
        | "list_dir"
        | "list_dir_v2"
        | "search_symbols"
        | "read_semsearch_files"
        | "Grep"
        | "Glob"
        | "LS"
        | "SemanticSearch" => Category::Search,
        "web_search" | "web_fetch" | "fetch" | "WebSearch" | "WebFetch" => Category::Web,
        "task" | "task_v2" | "Task" | "Agent" | "Subagent" => Category::Task,
        "todo_write" | "todo_read" | "TodoWrite" | "TodoRead" => Category::Todo,
        "CallMcpTool" | "call_mcp_tool" => Category::Mcp,
        name if mcp_server(name).is_some() => mcp::category(name),
        name if name.starts_with("browser_") => Category::Browser,
        _ => Category::Other,
    }
}

/// Returns the server in an `mcp_server_tool` or `mcp-server-tool` name.
pub(super) fn mcp_server(name: &str) -> Option<&str> {
    let server = match (name.strip_prefix("mcp_"), name.strip_prefix("mcp-")) {
        (Some(_), _) if name.starts_with("mcp__") => mcp::server(name)?,
        (Some(rest), _) => rest.split_once('_')?.0,
        (None, Some(rest)) => rest.split_once('-')?.0,
        (None, None) => return None,
    };
    Some(server).filter(|server| !server.is_empty())
}

/// Returns a call, by the tool's name, the arguments as the model wrote them, and as the editor understood them.
pub(super) fn call(name: &str, number: Option<i64>, inputs: [Option<&str>; 2]) -> Call {
    let mut call = Call::of_tool(name, category(name), None);
    let mut server = None;
    for input in inputs.into_iter().flatten() {
        let read = value::read::<Arguments<'static>, _>(input, |arguments| {
            fill(&mut call.command, arguments.command.get());
            fill(&mut call.file, arguments.file.get());
            let tool = arguments.tools.0.iter().find_map(|tool| tool.0.as_ref());
            fill(&mut server, tool.and_then(|tool| tool.server.get()).or(arguments.server.get()));
        });
        if read.is_err() {
            fill(&mut call.file, file_of_patch(input));
        }
    }
    if number.is_some_and(|number| MCP_TOOLS.contains(&number)) && call.category == Category::Other {
        call.category = mcp::category(name);
    }
    let is_mcp = matches!(call.category, Category::Mcp | Category::Browser);
    call.server = server.filter(|_| is_mcp).or_else(|| mcp_server(name).map(str::to_owned));
    call.command = call.command.filter(|_| call.category == Category::Shell);
    call.file = call.file.filter(|_| call.category.has_file());
    call
}

/// Returns the first file of a patch, which may be within a JSON string.
fn file_of_patch(patch: &str) -> Option<&str> {
    let rest = ["*** Update File: ", "*** Add File: ", "*** Delete File: "]
        .iter()
        .find_map(|mark| patch.find(mark).and_then(|place| patch.get(place + mark.len()..)))?;
    let end = rest.find(['\n', '\r', '"']).unwrap_or(rest.len());
    let file = rest.get(..end)?.split("\\n").next()?.trim();
    Some(file).filter(|file| !file.is_empty())
}

/// Outcome of a call.
#[derive(Default, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    /// `None` if the result does not show it.
    pub(super) status: Option<Status>,
    pub(super) exit_code: Option<i64>,
    /// The result as the model saw it, if it is recorded separately.
    pub(super) output: Option<String>,
    pub(super) child: Option<String>,
}

impl Ending {
    /// Returns the outcome by a bubble. The person's refusal takes precedence over the status, which is `completed`
    /// then.
    pub(super) fn of(tool: &ToolData<'_>, result: Option<&str>) -> Self {
        let mut outcome = result.map(Self::of_result).unwrap_or_default();
        let more = tool.more.0.as_ref();
        let was_refused = tool.decision.is("rejected") || more.is_some_and(|more| more.decision.is("rejected"));
        let has_failed = more.is_some_and(|more| more.status.is("error"));
        let status = match tool.status.get() {
            _ if was_refused || outcome.status == Some(Status::Rejected) => Status::Rejected,
            Some("error") => Status::Error,
            Some("cancelled") => Status::Interrupted,
            Some("completed") if has_failed => Status::Error,
            Some("completed") => outcome.status.unwrap_or(Status::Ok),
            None if result.is_some() => outcome.status.unwrap_or(Status::Ok),
            _ => Status::Pending,
        };
        outcome.status = Some(status);
        outcome.output =
            outcome.output.or_else(|| error_text(tool.error).filter(|_| result.is_none_or(|it| it == "{}")));
        outcome.child = outcome.child.or_else(|| more.and_then(|more| more.child.get()).map(str::to_owned));
        outcome
    }

    /// Returns the outcome by a result alone.
    pub(super) fn of_result(json: &str) -> Self {
        let read = value::read::<ToolResult<'static>, _>(json, |result| {
            let exit_code = result.exit_code.0.or(result.old_exit_code.0);
            let has_error = result.error.json().is_some_and(|error| !matches!(error, "false" | "\"\"" | "{}"));
            let status = if result.is_rejected.0 {
                Some(Status::Rejected)
            } else if result.ended.get().is_some_and(|ended| ended.ends_with("ABORTED")) {
                Some(Status::Interrupted)
            } else if has_error || exit_code.is_some_and(|code| code != 0) {
                Some(Status::Error)
            } else {
                None
            };
            let output = result.output.json().filter(|output| output.starts_with('"')).and_then(string_of);
            let child = result.child.owned();
            Self { status, exit_code, output: output.map(Cow::into_owned), child }
        });
        read.unwrap_or_default()
    }
}

fn error_text(raw: Raw<'_>) -> Option<String> {
    let text = value::within(raw)?;
    if !text.starts_with('{') {
        return Some(text.into_owned());
    }
    let told = |error: &ToolError<'_>| error.to_model.get().or(error.to_person.get()).map(str::to_owned);
    value::read::<ToolError<'static>, _>(&text, told).ok()?.or(Some(text.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_tell_how_calls_ended() {
        let status = |json: &str| Ending::of_result(json).status;
        assert_eq!(status(r#"{"output":"x","exitCodeV2":1}"#), Some(Status::Error));
        assert_eq!(status(r#"{"output":"x","exitCodeV2":0}"#), None);
        assert_eq!(status(r#"{"rejected":true}"#), Some(Status::Rejected));
        assert_eq!(
            status(r#"{"endedReason":"RUN_TERMINAL_COMMAND_ENDED_REASON_EXECUTION_ABORTED"}"#),
            Some(Status::Interrupted)
        );
        assert_eq!(status(r#"{"error":""}"#), None);
        assert_eq!(status("no JSON"), None);
    }

    #[test]
    fn servers_and_files_of_calls() {
        assert_eq!(mcp_server("mcp_github_get_issue"), Some("github"));
        assert_eq!(mcp_server("mcp-linear-list-issues"), Some("linear"));
        assert_eq!(mcp_server("read_file"), None);
        let patch = "\"*** Begin Patch\\n*** Update File: src/a.rs\\n@@\\n\"";
        assert_eq!(call("ApplyPatch", None, [Some(patch), None]).file.as_deref(), Some("src/a.rs"));
        let params = r#"{"tools":[{"name":"get_issue","serverName":"user-github"}]}"#;
        let call = call("mcp_user_github_get_issue", Some(19), [None, Some(params)]);
        assert_eq!((call.category, call.server.as_deref()), (Category::Mcp, Some("user-github")));
    }
}
