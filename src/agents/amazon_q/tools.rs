//! Tools of Amazon Q and Kiro: what kind each is, what a call asks for.

use crate::agents::mcp;
use crate::source::records::{List, Object, Text, record};

record! {
    /// Arguments, as far as columns tell of them.
    Arguments<'a> {
        command: Text<'a> = "command",
        path: Text<'a> = "path" | "file_path" | "filePath" | "file" | "targetFile",
        operations: List<Object<Operation<'a>>> = "operations",
    }

    /// One of several things that a read asks for at once.
    Operation<'a> { path: Text<'a> = "path" }
}

/// What a call asks for.
pub(in crate::agents) struct Asked {
    pub(in crate::agents) category: &'static str,
    pub(in crate::agents) server: Option<String>,
    pub(in crate::agents) command: Option<String>,
    pub(in crate::agents) file: Option<String>,
}

impl Asked {
    /// Reads a tool's name and arguments.
    pub(in crate::agents) fn of(name: &str, input: Option<&str>) -> Self {
        let arguments: Arguments<'_> = input.and_then(|input| serde_json::from_str(input).ok()).unwrap_or_default();
        let server = server(name);
        let category = if server.is_some() { mcp::category(name) } else { category(name, arguments.command.get()) };
        let own = |text: &Text<'_>| text.owned();
        let operation = || arguments.operations.0.iter().find_map(|operation| own(&operation.0.as_ref()?.path));
        Self {
            category,
            server: server.map(str::to_owned),
            command: own(&arguments.command).filter(|_| category == "shell"),
            file: own(&arguments.path).or_else(operation).filter(|_| matches!(category, "read" | "write" | "edit")),
        }
    }
}

/// The server of a tool that is named `server___tool` (Amazon Q), `@server/tool` (Kiro) or `mcp__server__tool`.
fn server(name: &str) -> Option<&str> {
    let slashed = || name.strip_prefix('@')?.split_once('/');
    let parts = name.split_once("___").or_else(slashed);
    parts.map(|(server, _)| server).or_else(|| mcp::server(name)).filter(|server| !server.is_empty())
}

/// Names differ in case and separators between the programs: `fs_write`, `fsWrite`.
fn category(name: &str, command: Option<&str>) -> &'static str {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    match name.as_str() {
        "executebash" | "executecmd" | "executepwsh" | "shell" | "bash" | "runcommand" => "shell",
        "fsread" | "read" | "readfile" | "readfiles" | "readmultiplefiles" | "readcode" | "readcodefiles" => "read",
        "fswrite" | "write" => match command {
            Some("str_replace" | "strReplace" | "insert" | "append") => "edit",
            _ => "write",
        },
        "create" | "writefile" => "write",
        "strreplace" | "replace" | "edit" | "editcode" | "append" | "fsappend" | "deletefile" | "delete" => "edit",
        "grep" | "glob" | "grepsearch" | "filesearch" | "listdirectory" | "code" | "knowledge" | "search" => "search",
        "webfetch" | "websearch" | "remotewebsearch" | "fetch" => "web",
        "todolist" | "todo" => "todo",
        "usesubagent" | "subagent" | "invokesubagent" | "delegate" | "agentcrew" => "task",
        name if mcp::drives_browser(name) => "browser",
        "mcp" => "mcp",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_ask_for_one_thing() {
        let of = |name, input| {
            let Asked { category, server, command, file } = Asked::of(name, Some(input));
            (category, server, command.or(file))
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(of("execute_bash", r#"{"command":"ls"}"#), ("shell", None, text("ls")));
        assert_eq!(of("fsWrite", r#"{"path":"a","text":""}"#), ("write", None, text("a")));
        assert_eq!(of("fs_write", r#"{"command":"str_replace","path":"a"}"#), ("edit", None, text("a")));
        assert_eq!(of("fs_read", r#"{"operations":[{"mode":"Line","path":"b"}]}"#), ("read", None, text("b")));
        assert_eq!(of("git___status", "{}"), ("mcp", text("git"), None));
        assert_eq!(of("@playwright/click", "[]"), ("browser", text("playwright"), None));
        assert_eq!(of("use_aws", "null"), ("other", None, None));
    }
}
