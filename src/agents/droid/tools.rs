//! Tools: what kind each is, and how a result shows the outcome of its call.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::record::{CommandResult, Input};
use crate::agents::kit::calls::Call;
use crate::agents::mcp;
use crate::tables::{Category, Status};

/// A call of a tool.
pub(super) fn call(name: &str) -> Call {
    Call::of_tool(name, category(name), mcp_server(name))
}

fn category(name: &str) -> Category {
    match name {
        "Execute" | "Shell" | "Bash" | "KillProcess" | "BashOutput" => Category::Shell,
        "Read" | "ViewImage" => Category::Read,
        "Create" | "Write" => Category::Write,
        "Edit" | "MultiEdit" | "ApplyPatch" => Category::Edit,
        "Grep" | "Glob" | "LS" | "ToolSearch" => Category::Search,
        "WebSearch" | "FetchUrl" | "WebFetch" => Category::Web,
        "Task" | "TaskOutput" | "TaskStop" => Category::Task,
        "TodoWrite" | "TodoRead" => Category::Todo,
        name if mcp_server(name).is_some() => mcp::category(name),
        _ => Category::Other,
    }
}

/// The server of an `mcp__server__tool` or `server___tool` name.
fn mcp_server(name: &str) -> Option<&str> {
    // Most names have none at all, and to look for three takes longer.
    if !name.contains('_') {
        return None;
    }
    let server = match name.strip_prefix("mcp__") {
        Some(rest) => rest.split_once("__")?.0,
        None => name.split_once("___")?.0,
    };
    Some(server).filter(|server| !server.is_empty())
}

/// The file that a call reads or changes; of a patch, the first one.
pub(super) fn file_of<'i>(category: Category, input: &'i Input<'_>) -> Option<&'i str> {
    let is_of_file = category.has_file();
    let of_patch = || {
        let marks = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
        let mut lines = input.patch.get()?.lines();
        lines.find_map(|line| marks.iter().find_map(|mark| line.strip_prefix(mark))).map(str::trim)
    };
    input.file.get().or(input.path.get().filter(|_| is_of_file)).or_else(|| of_patch().filter(|_| is_of_file))
}

/// The outcome of a call, as its result records it.
#[derive(Default)]
pub(super) struct ToolResult<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    /// Null where the record does not say.
    pub(super) is_error: Option<bool>,
    pub(super) exit_code: Option<i64>,
}

/// Words of a refused call, in its first line.
const REJECTED: [&str; 10] = [
    "rejected by user",
    "rejected by the user",
    "user rejected",
    "denied by user",
    "denied by the user",
    "user denied",
    "cancelled by user",
    "cancelled by the user",
    "user cancelled",
    "user canceled",
];
/// Words of a stopped call, in its first line.
const INTERRUPTED: [&str; 4] =
    ["interrupted by user", "interrupted by the user", "user interrupted", "aborted by user"];

impl ToolResult<'_> {
    /// Status and exit code of a call of that category.
    pub(super) fn outcome(&self, category: Category) -> (Status, Option<i64>) {
        let text = self.text.as_deref().unwrap_or_default();
        let exit_code = self.exit_code.or_else(|| exit_code(text).filter(|_| category == Category::Shell));
        let failed = self.is_error.unwrap_or_else(|| text.trim_start().starts_with("Error:"));
        let status = match special_status(text, failed) {
            Some(status) if exit_code != Some(0) => status,
            _ if failed || exit_code.is_some_and(|code| code != 0) => Status::Error,
            _ => Status::Ok,
        };
        (status, exit_code)
    }
}

/// Returns the status of a call that the person did not allow. If the record does not say that the call failed, only a
/// first line that begins with these words counts, because results quote texts of all kinds.
fn special_status(text: &str, failed: bool) -> Option<Status> {
    let first = text.trim_start().lines().next().filter(|line| line.len() <= 400)?;
    let begins = |words: &str| first.get(..words.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(words));
    let lower = if failed { first.to_ascii_lowercase() } else { String::new() };
    let says = |words: &[&str]| words.iter().any(|words| if failed { lower.contains(words) } else { begins(words) });
    if says(&INTERRUPTED) {
        return Some(Status::Interrupted);
    }
    says(&REJECTED).then_some(Status::Rejected)
}

/// Most results lack this text; searching for it is the main cost of reading them.
static EXIT_CODE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("(exit code: "));

/// The exit code that a command's result names: `(exit code: 2)` in the first line of a failure or at the end of its
/// last, `[Process exited with code 0]` as the last line, or `exitCode` of an object.
fn exit_code(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.starts_with('{') {
        return serde_json::from_str::<CommandResult<'_>>(text).ok()?.exit_code.0;
    }
    let code = |line: &str| {
        EXIT_CODE.find(line.as_bytes())?;
        line.rsplit_once("(exit code: ")?.1.split_once(')')?.0.trim().parse().ok()
    };
    let last = text.lines().next_back()?.trim();
    let of_process = || last.strip_prefix("[Process exited with code ")?.strip_suffix(']')?.parse().ok();
    let of_last = || Some(last).filter(|last| last.ends_with(')')).and_then(code);
    text.lines().next().and_then(code).or_else(of_process).or_else(of_last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str, is_error: Option<bool>) -> (Status, Option<i64>) {
        ToolResult { text: Some(text.into()), is_error, ..ToolResult::default() }.outcome(Category::Shell)
    }

    #[test]
    fn outcomes_are_told_by_texts() {
        assert_eq!(outcome("Error: Command failed (exit code: 2)\nls: no such file", None), (Status::Error, Some(2)));
        assert_eq!(outcome("Command failed\nls: no such file (exit code: 4)", None), (Status::Error, Some(4)));
        assert_eq!(
            outcome("it said (exit code: 4)\nonce", None),
            (Status::Error, Some(4)),
            "as ever in the first line"
        );
        assert_eq!(outcome("once\nit said (exit code: 4)\nfine", None), (Status::Ok, None));
        assert_eq!(outcome("a\n\n[Process exited with code 0]", None), (Status::Ok, Some(0)));
        assert_eq!(outcome("a\n\n[Process exited with code 127]\n", Some(false)), (Status::Error, Some(127)));
        assert_eq!(outcome(r#"{"stdout":"","exitCode":3}"#, Some(false)), (Status::Error, Some(3)));
        assert_eq!(outcome("fine (exit code: none)", None), (Status::Ok, None));
        assert_eq!(outcome("Error: Tool execution rejected by user", None), (Status::Rejected, None));
        assert_eq!(outcome("User cancelled", None), (Status::Rejected, None));
        assert_eq!(
            outcome("User cancelled\n[Process exited with code 0]", None),
            (Status::Ok, Some(0)),
            "a command said so"
        );
        assert_eq!(outcome("Error: Request interrupted by user", Some(true)), (Status::Interrupted, None));
        assert_eq!(outcome("log: permission denied by user table", None), (Status::Ok, None));
    }

    #[test]
    fn servers_of_mcp_names() {
        assert_eq!(mcp_server("mcp__github__create_issue"), Some("github"));
        assert_eq!(mcp_server("context7___resolve"), Some("context7"));
        assert_eq!((mcp_server("Execute"), mcp_server("___x")), (None, None));
        assert_eq!((category("playwright___click"), category("mcp__github__x")), (Category::Browser, Category::Mcp));
    }
}
