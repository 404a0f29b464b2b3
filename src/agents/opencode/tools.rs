//! Tools: what kind each is, and how a call ended.

use std::borrow::Cow;

use super::ids::moment_of;
use super::record::{Arguments, Failure, Invocation, Part, State, ToolMetadata};
use crate::agents::kit::texts::join;
use crate::agents::mcp;
use crate::agents::patch::file_of_patch;
use crate::extract::{EditedLines, LineCounts};
use crate::source::records::{Object, Raw, Text};
use crate::tables::{Category, Status};

/// Tools of the program itself that have an underscore in their names, like those of MCP servers.
const OWN_WITH_UNDERSCORE: [&str; 6] =
    ["apply_patch", "plan_enter", "plan_exit", "lsp_diagnostics", "lsp_hover", "lsp_symbols"];

/// The `category` of a tool.
pub(super) fn category(name: &str) -> Category {
    match name {
        "bash" | "shell" => Category::Shell,
        "read" | "view" => Category::Read,
        "write" => Category::Write,
        "edit" | "multiedit" | "patch" | "apply_patch" => Category::Edit,
        "grep" | "glob" | "list" | "ls" | "codesearch" | "sourcegraph" | "lsp" | "diagnostics" => Category::Search,
        "lsp_diagnostics" | "lsp_hover" | "lsp_symbols" => Category::Search,
        "webfetch" | "websearch" | "fetch" => Category::Web,
        "task" | "agent" => Category::Task,
        "todowrite" | "todoread" => Category::Todo,
        name if mcp_server(name).is_some() => mcp::category(name),
        _ => Category::Other,
    }
}

/// The server of an MCP tool: OpenCode joins its name and the tool's with one underscore.
pub(super) fn mcp_server(name: &str) -> Option<&str> {
    let joined = || name.split_once('_').map(|(server, _)| server).filter(|_| !OWN_WITH_UNDERSCORE.contains(&name));
    mcp::server(name).or_else(joined).filter(|server| !server.is_empty())
}

/// The file that a call reads or changes.
pub(super) fn file_of<'i>(category: Category, arguments: &'i Arguments<'_>) -> Option<&'i str> {
    let named = arguments.file.get().or_else(|| arguments.path.get().filter(|_| category.has_file()));
    named.or_else(|| arguments.patch.get().and_then(file_of_patch))
}

/// A tool call as a part holds it, before it is known which API call made it.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// The part that holds it.
    pub(super) part: String,
    /// The provider's id.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) input: Option<String>,
    pub(super) output: Option<String>,
    pub(super) status: Status,
    /// True if a rule refused the call.
    pub(super) is_denied: bool,
    pub(super) exit_code: Option<i64>,
    /// Microseconds since 1970.
    pub(super) start: Option<i64>,
    /// Microseconds since 1970.
    pub(super) end: Option<i64>,
    /// True if `start` need not be when the call began.
    pub(super) is_start_lost: bool,
    /// Milliseconds.
    pub(super) duration_ms: Option<i64>,
    pub(super) child: Option<String>,
    /// Lines that the agent recorded.
    pub(super) lines: EditedLines,
}

impl Call {
    /// The call of a part; in a message that was aborted, what had not ended was interrupted.
    pub(super) fn of_part(id: &str, part: &Part<'_>, is_aborted: bool) -> Self {
        let name = part.tool.get().or_else(|| part.name.get()).unwrap_or_default();
        let none = State::default();
        let state = part.state.0.as_ref().unwrap_or(&none);
        let times = state.time.0.as_ref().or(part.time.0.as_ref());
        let exit_code = state.metadata.0.as_ref().and_then(|metadata| metadata.exit.0);
        let error = failure(state.error);
        let content = state.content.0.iter().filter_map(|piece| piece.0.as_ref()?.text.0.clone());
        let output = state.output.0.clone().or_else(|| join(content));
        let output = error.clone().or(output).or_else(|| text_of(state.result));
        let status = status(&Standing {
            status: state.status.get(),
            name,
            text: output.as_deref().unwrap_or_default(),
            exit_code,
            is_interrupted: state.metadata.0.as_ref().is_some_and(|metadata| metadata.interrupted.0),
            is_aborted,
        });
        let is_denied = status == Status::Error && output.as_deref().is_some_and(|text| text.starts_with(FORBIDDEN));
        let is_start_lost = name == REWRITES_START && times.is_some_and(|times| times.start.0.is_some());
        let start = times.and_then(|times| times.start.0.or(times.ran.0).or(times.created.0));
        // The part is made while the model still writes the call.
        let made = moment_of(id).filter(|made| is_start_lost && Some(*made) <= start);
        let start = made.or(start);
        let end = times.and_then(|times| times.end.0.or(times.completed.0));
        Self {
            part: id.to_owned(),
            id: part
                .call
                .get()
                .or_else(|| part.id.get().filter(|_| part.tool.get().is_none()))
                .unwrap_or(id)
                .to_owned(),
            name: name.to_owned(),
            input: state.input.json().map(str::to_owned),
            output: output.map(Cow::into_owned),
            status,
            is_denied,
            exit_code,
            start,
            end,
            is_start_lost,
            duration_ms: between(start, end).filter(|_| !is_start_lost),
            child: state.metadata.0.as_ref().and_then(|metadata| metadata.child.get()).map(str::to_owned),
            lines: state.metadata.0.as_ref().and_then(lines).unwrap_or_default(),
        }
    }

    /// The call of a message of the first versions.
    pub(super) fn of_invocation(id: &str, call: &Invocation<'_>, times: (Option<i64>, Option<i64>)) -> Self {
        Self {
            part: id.to_owned(),
            id: call.call.get().unwrap_or(id).to_owned(),
            name: call.name.get().unwrap_or_default().to_owned(),
            input: call.input.json().map(str::to_owned),
            output: call.result.0.as_deref().map(str::to_owned),
            status: if call.state.is("result") { Status::Ok } else { Status::Pending },
            start: times.0,
            end: times.1,
            duration_ms: between(times.0, times.1),
            ..Self::default()
        }
    }
}

/// Returns the lines that a call changed: by its list of files, else by its only file, else by its diff.
fn lines(metadata: &ToolMetadata<'_>) -> Option<EditedLines> {
    let of = |counts: &Object<LineCounts<'_>>| counts.0.as_ref()?.lines();
    let files: Option<Vec<_>> = metadata.files.0.iter().map(of).collect();
    files
        .and_then(|files| files.into_iter().reduce(EditedLines::and))
        .or_else(|| of(&metadata.file))
        .or(metadata.diff.0)
}

/// The tool whose `time.start` the program sets anew each time that its command writes something.
const REWRITES_START: &str = "bash";

/// When the model's answer ended that made these calls. The program notes when its message ended, which is after the
/// calls: the last of them began when the answer had ended.
pub(super) fn answer_end(calls: &[Call], completed: Option<i64>) -> Option<i64> {
    if calls.iter().any(|call| call.is_start_lost) {
        return None;
    }
    calls.iter().filter_map(|call| call.start).max().or(completed)
}

/// Milliseconds between two moments in microseconds.
pub(super) fn between(start: Option<i64>, end: Option<i64>) -> Option<i64> {
    Some((end? - start?) / 1000).filter(|duration| *duration >= 0)
}

/// Returns the text of an error, which is a text, or since 2.x an object.
fn failure(error: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = error.json()?;
    let failure = serde_json::from_str(json).unwrap_or(Object::<Failure<'_>>(None));
    let failure = failure.0.and_then(|failure| failure.text().map(|text| Cow::Owned(text.to_owned())));
    failure.or_else(|| text_of(error))
}

/// A text as it is, anything else as its JSON.
fn text_of(value: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = value.json()?;
    let Text(text) = serde_json::from_str(json).unwrap_or_default();
    Some(text.unwrap_or(Cow::Borrowed(json)))
}

/// The program's texts for a call that the person did not allow.
const REFUSALS: [&str; 3] =
    ["The user rejected permission", "The user dismissed this question", "Question rejected by user"];
/// The program's text for a call that a rule does not allow.
const FORBIDDEN: &str = "The user has specified a rule which prevents you from using this specific tool call";
const ABORTED: &str = "Tool execution aborted";
/// At the end of a command's output.
const STOPPED: &str = "User aborted the command";
/// A call of a tool that does not exist, or with arguments that do not fit.
const INVALID: &str = "invalid";

/// The facts that show how a call ended.
struct Standing<'s> {
    status: Option<&'s str>,
    name: &'s str,
    /// Output, or what the error says.
    text: &'s str,
    exit_code: Option<i64>,
    is_interrupted: bool,
    is_aborted: bool,
}

fn status(call: &Standing<'_>) -> Status {
    let is_stopped = || {
        let tail = call.text.len().saturating_sub(400);
        let tail = call.text.as_bytes().get(tail..).unwrap_or_default();
        call.exit_code.is_none() && memchr::memmem::find(tail, STOPPED.as_bytes()).is_some()
    };
    match call.status {
        Some("error") if REFUSALS.iter().any(|words| call.text.starts_with(words)) => Status::Rejected,
        Some("error") if call.is_interrupted || call.text.starts_with(ABORTED) => Status::Interrupted,
        Some("error") => Status::Error,
        Some("pending" | "running" | "streaming") | None if call.is_aborted => Status::Interrupted,
        Some("pending" | "running" | "streaming") | None => Status::Pending,
        Some(_) if call.exit_code.is_some_and(|code| code != 0) || call.name == INVALID => Status::Error,
        Some(_) if call.is_interrupted || (category(call.name) == Category::Shell && is_stopped()) => {
            Status::Interrupted
        }
        Some(_) => Status::Ok,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> (Status, Option<i64>) {
        let part: Part<'_> = serde_json::from_str(json).unwrap();
        let call = Call::of_part("prt_1", &part, false);
        (call.status, call.exit_code)
    }

    #[test]
    fn outcomes() {
        let completed = |rest: &str| format!(r#"{{"tool":"bash","state":{{"status":"completed","output":""{rest}}}}}"#);
        assert_eq!(of(&completed("")), (Status::Ok, None));
        assert_eq!(of(&completed(r#","metadata":{"exit":0}"#)), (Status::Ok, Some(0)));
        assert_eq!(of(&completed(r#","metadata":{"exit":1}"#)), (Status::Error, Some(1)));
        let failed = |error: &str| format!(r#"{{"tool":"edit","state":{{"status":"error","error":"{error}"}}}}"#);
        let refused = "The user rejected permission to use this specific tool call with the following feedback: no";
        assert_eq!(of(&failed(refused)).0, Status::Rejected);
        let rule = "The user has specified a rule which prevents you from using this specific tool call.";
        assert_eq!(of(&failed(rule)).0, Status::Error);
        let is_denied = |json: &str| Call::of_part("prt_1", &serde_json::from_str(json).unwrap(), false).is_denied;
        assert!(is_denied(&failed(rule)) && !is_denied(&failed(refused)) && !is_denied(&failed("Permission denied")));
        assert_eq!(of(&failed("Tool execution aborted")).0, Status::Interrupted);
        assert_eq!(of(r#"{"tool":"read","state":{"status":"running"}}"#).0, Status::Pending);
        assert_eq!(of(r#"{"tool":"invalid","state":{"status":"completed","output":"x"}}"#).0, Status::Error);
        let stopped = r#"{"tool":"bash","state":{"status":"completed","output":"x\n<metadata>User aborted the command</metadata>","metadata":{"exit":null}}}"#;
        assert_eq!(of(stopped).0, Status::Interrupted);
    }

    #[test]
    fn a_command_whose_start_was_rewritten_has_no_duration() {
        let call = |tool: &str, id: &str| {
            let time = r#""time":{"start":1773194700000,"end":1773194701000}"#;
            let json = format!(r#"{{"tool":"{tool}","state":{{"status":"completed","output":"",{time}}}}}"#);
            let call = Call::of_part(id, &serde_json::from_str(&json).unwrap(), false);
            let end = answer_end(std::slice::from_ref(&call), Some(9));
            (call.start.map(|start| start / 1_000_000), call.duration_ms, end.map(|end| end / 1_000_000))
        };
        assert_eq!(call("read", "prt_1"), (Some(1_773_194_700), Some(1000), Some(1_773_194_700)));
        assert_eq!(call("bash", "prt_1"), (Some(1_773_194_700), None, None));
        // The part's id holds the time when it was made.
        assert_eq!(call("bash", "prt_cdaa31899001IlL9LhHSDnPk7S"), (Some(1_773_194_647), None, None));
        assert_eq!(answer_end(&[], Some(9)), Some(9));
    }

    #[test]
    fn categories() {
        assert_eq!(
            (category("context7_query-docs"), mcp_server("context7_query-docs")),
            (Category::Mcp, Some("context7"))
        );
        assert_eq!((category("apply_patch"), mcp_server("apply_patch")), (Category::Edit, None));
        assert_eq!((category("playwright_browser_click"), category("skill")), (Category::Browser, Category::Other));
    }
}
