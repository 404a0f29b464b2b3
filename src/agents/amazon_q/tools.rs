//! Tools of Amazon Q and Kiro: the category of each, and the arguments of a call.

use crate::agents::kit::calls::Call;
use crate::agents::mcp;
use crate::source::records::{List, Object, Text, record};
use crate::tables::Category;

record! {
    /// Arguments that have columns.
    Arguments<'a> {
        command: Text<'a> = "command",
        path: Text<'a> = "path" | "file_path" | "filePath" | "file" | "targetFile",
        operations: List<Object<Operation<'a>>> = "operations",
    }

    /// One of several reads in one call.
    Operation<'a> { path: Text<'a> = "path" }
}

/// Returns a call of a tool with that JSON input.
pub(in crate::agents) fn call(id: &str, name: Option<&str>, input: Option<&str>) -> Call {
    let name = name.unwrap_or("unknown");
    let arguments: Arguments<'_> = input.and_then(|input| serde_json::from_str(input).ok()).unwrap_or_default();
    let server = server(name);
    let category = if server.is_some() { mcp::category(name) } else { category(name, arguments.command.get()) };
    let operation = || arguments.operations.0.iter().find_map(|operation| operation.0.as_ref()?.path.owned());
    Call {
        id: id.to_owned(),
        name: name.to_owned(),
        category,
        server: server.map(str::to_owned),
        input: input.map(str::to_owned),
        command: arguments.command.owned().filter(|_| category == Category::Shell),
        file: arguments.path.owned().or_else(operation).filter(|_| category.has_file()),
        ..Call::default()
    }
}

/// Returns the server of a tool named `server___tool` (Amazon Q), `@server/tool` (Kiro) or `mcp__server__tool`.
fn server(name: &str) -> Option<&str> {
    let slashed = || name.strip_prefix('@')?.split_once('/');
    let parts = name.split_once("___").or_else(slashed);
    parts.map(|(server, _)| server).or_else(|| mcp::server(name)).filter(|server| !server.is_empty())
}

/// Returns the category of a tool. Names differ in case and separators between the programs: `fs_write`, `fsWrite`.
fn category(name: &str, command: Option<&str>) -> Category {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    match name.as_str() {
        "executebash" | "executecmd" | "executepwsh" | "shell" | "bash" | "runcommand" => Category::Shell,
        "fsread" | "read" | "readfile" | "readfiles" | "readmultiplefiles" | "readcode" | "readcodefiles" => {
            Category::Read
        }
        "fswrite" | "write" => match command {
            Some("str_replace" | "strReplace" | "insert" | "append") => Category::Edit,
            _ => Category::Write,
        },
        "create" | "writefile" => Category::Write,
        "strreplace" | "replace" | "edit" | "editcode" | "append" | "fsappend" | "deletefile" | "delete" => {
            Category::Edit
        }
        "grep" | "glob" | "grepsearch" | "filesearch" | "listdirectory" | "code" | "knowledge" | "search" => {
            Category::Search
        }
        "webfetch" | "websearch" | "remotewebsearch" | "fetch" => Category::Web,
        "todolist" | "todo" => Category::Todo,
        "usesubagent" | "subagent" | "invokesubagent" | "delegate" | "agentcrew" => Category::Task,
        name if mcp::drives_browser(name) => Category::Browser,
        "mcp" => Category::Mcp,
        _ => Category::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_ask_for_one_thing() {
        let of = |name, input| {
            let Call { category, server, command, file, .. } = call("", Some(name), Some(input));
            (category, server, command.or(file))
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(of("execute_bash", r#"{"command":"ls"}"#), (Category::Shell, None, text("ls")));
        assert_eq!(of("fsWrite", r#"{"path":"a","text":""}"#), (Category::Write, None, text("a")));
        assert_eq!(of("fs_write", r#"{"command":"str_replace","path":"a"}"#), (Category::Edit, None, text("a")));
        assert_eq!(of("fs_read", r#"{"operations":[{"mode":"Line","path":"b"}]}"#), (Category::Read, None, text("b")));
        assert_eq!(of("git___status", "{}"), (Category::Mcp, text("git"), None));
        assert_eq!(of("@playwright/click", "[]"), (Category::Browser, text("playwright"), None));
        assert_eq!(of("use_aws", "null"), (Category::Other, None, None));
    }
}
