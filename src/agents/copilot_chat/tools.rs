//! Tools: the category of each, and the outcome of a call.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::values::At;
use crate::agents::mcp;
use crate::agents::patch::file_of_patch;
use crate::source::records::{Text, record};
use crate::tables::{Category, Status};

record! {
    /// Arguments that have columns.
    Arguments<'a> {
        command: Text<'a> = "command",
        file: Text<'a> = "filePath" | "path" | "dirPath",
        patch: Text<'a> = "input",
    }
}

/// Returns the id of a call without the suffix that only VS Code gives it: `call_1__vscode-7`.
pub(super) fn own_id(id: &str) -> &str {
    id.split_once("__vscode-").map_or(id, |(own, _)| own)
}

/// Returns a call of a tool. `part` is the part of the answer that VS Code shows for it.
pub(super) fn call(name: &str, input: Option<&str>, part: Option<&Value>) -> Call {
    let server = part.filter(|part| part.text_at("/source/type") == Some("mcp"));
    let server = server.and_then(|part| part.text_at("/source/label")).or_else(|| server_of(name));
    let category = category(name, server.is_some());
    let arguments: Arguments<'_> = input.and_then(|input| serde_json::from_str(input).ok()).unwrap_or_default();
    let shown = |key: &str| part.and_then(|part| part.text_at(&format!("/toolSpecificData/commandLine/{key}")));
    let edited = ["userEdited", "toolEdited"].into_iter().find_map(shown);
    let command = edited.or(arguments.command.get()).or_else(|| shown("original"));
    let command = command.or_else(|| part?.text_at("/toolSpecificData/command"));
    let file = arguments.file.get().or_else(|| file_of_patch(arguments.patch.get()?));
    Call {
        input: input.map(str::to_owned).or_else(|| input_of(part?)),
        command: command.filter(|_| category == Category::Shell).map(str::to_owned),
        file: file.filter(|_| category.has_file()).map(str::to_owned),
        ..Call::of_tool(name, category, server)
    }
}

/// Returns the input that a part shows, for a call whose arguments are not recorded.
fn input_of(part: &Value) -> Option<String> {
    let input = part.at("/toolSpecificData/rawInput").map(Value::to_string);
    input.or_else(|| {
        let command = part.text_at("/toolSpecificData/commandLine/original");
        Some(serde_json::json!({ "command": command? }).to_string())
    })
}

fn server_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("mcp_")?;
    rest.split_once('_').map(|(server, _)| server).filter(|server| !server.is_empty())
}

/// Returns the category of a tool by its name for the model, or in VS Code: `read_file`, `copilot_readFile`.
fn category(name: &str, has_server: bool) -> Category {
    if has_server {
        return mcp::category(name);
    }
    let name = name.strip_prefix("copilot_").unwrap_or(name);
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect();
    match name.as_str() {
        "runinterminal" | "runtests" | "runtask" | "createandruntask" | "getterminaloutput" | "gettaskoutput" => {
            Category::Shell
        }
        "readfile" | "viewimage" | "readnotebookcelloutput" | "getnotebooksummary" => Category::Read,
        "createfile" | "createdirectory" => Category::Write,
        "replacestringinfile"
        | "multireplacestringinfile"
        | "insertedit"
        | "inserteditintofile"
        | "replacestring"
        | "multireplacestring"
        | "applypatch"
        | "editfiles"
        | "editnotebookfile"
        | "editnotebook" => Category::Edit,
        "filesearch"
        | "findfiles"
        | "grepsearch"
        | "findtextinfiles"
        | "semanticsearch"
        | "searchcodebase"
        | "codebase"
        | "listdir"
        | "listdirectory"
        | "listcodeusages"
        | "searchworkspacesymbols"
        | "getchangedfiles"
        | "geterrors"
        | "testsearch" => Category::Search,
        "fetchwebpage" | "githubrepo" => Category::Web,
        "runsubagent" | "searchsubagent" | "executionsubagent" => Category::Task,
        "managetodolist" | "todolist" => Category::Todo,
        name if mcp::drives_browser(name) => Category::Browser,
        _ => Category::Other,
    }
}

/// State of a request when its calls are read.
pub(super) struct Ended {
    /// True if the request has a result.
    pub(super) has_result: bool,
    /// True if it has a result, or if another request follows it. A running request is saved as a cancelled one.
    pub(super) is_over: bool,
    /// True if the person stopped it.
    pub(super) is_cancelled: bool,
    /// True if it waits for the model, or for the person.
    pub(super) is_open: bool,
}

/// Returns the outcome of a call, by its result and by the part that VS Code shows.
pub(super) fn outcome<'v>(result: Option<&'v Value>, part: Option<&'v Value>, ended: &Ended) -> Outcome<'v> {
    let shown = |pointer: &str| part.and_then(|part| part.at(pointer));
    let decision = shown("/isConfirmed/type").and_then(Value::as_i64);
    let is_refused = matches!(decision, Some(0 | 5))
        || (shown("/isConfirmed").and_then(Value::as_bool) == Some(false) && result.is_none());
    let exit_code = shown("/toolSpecificData/terminalCommandState/exitCode").and_then(Value::as_i64);
    let is_error = shown("/resultError").is_some_and(|error| *error != Value::Bool(false));
    let output = result.and_then(text_of).map(Cow::Owned);
    let output = output.or_else(|| {
        let texts = ["/toolSpecificData/terminalCommandOutput/text", "/toolSpecificData/result"];
        texts.into_iter().find_map(|pointer| part?.text_at(pointer)).map(Cow::Borrowed)
    });
    let status = match () {
        () if is_refused => Status::Rejected,
        () if is_error || exit_code.is_some_and(|code| code != 0) => Status::Error,
        () if result.is_some() => Status::Ok,
        () if ended.is_open => Status::Pending,
        () if ended.is_cancelled && ended.is_over => Status::Interrupted,
        () if !ended.has_result => Status::Pending,
        () => Status::Ok,
    };
    // Of a command, or of a subagent.
    let durations = ["/toolSpecificData/terminalCommandState/duration", "/toolSpecificData/duration"];
    let duration_ms = durations.into_iter().find_map(|pointer| part?.whole_at(pointer));
    Outcome { status, exit_code, output, duration_ms: duration_ms.filter(|ms| *ms >= 0), ..Outcome::default() }
}

/// Returns the text of a result, whose parts are texts, or trees of elements with texts in them.
fn text_of(result: &Value) -> Option<String> {
    let mut text = String::new();
    let mut rest: Vec<&Value> = result.items_at("/content").iter().rev().collect();
    while let Some(value) = rest.pop() {
        let added = value.text_at("/value").or_else(|| value.text_at("/text"));
        text.push_str(added.unwrap_or_default());
        let below = value.at("/value/node").into_iter().chain(value.at("/node")).chain(value.items_at("/children"));
        rest.extend(below.collect::<Vec<_>>().into_iter().rev());
    }
    Some(text).filter(|text| !text.is_empty())
}

/// Returns the shown parts of calls, by the calls' ids.
pub(super) fn parts_of(response: &[Value]) -> BTreeMap<&str, &Value> {
    response.iter().filter_map(|part| Some((call_id(part)?, part))).collect()
}

/// Returns the ids of shown calls, in order.
pub(super) fn call_ids(response: &[Value]) -> impl Iterator<Item = &str> {
    response.iter().filter_map(call_id)
}

fn call_id(part: &Value) -> Option<&str> {
    let is_call = part.text_at("/kind") == Some("toolInvocationSerialized");
    part.text_at("/toolCallId").filter(|_| is_call).map(own_id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_have_two_names() {
        for name in ["read_file", "copilot_readFile"] {
            assert_eq!(category(name, false), Category::Read);
        }
        assert_eq!(call("mcp_github_list_issues", None, None).server.as_deref(), Some("github"));
        assert_eq!(own_id("call_1__vscode-7"), "call_1");
    }

    #[test]
    fn results_are_texts_and_trees() {
        let tree = json!({"node": {"type": 1, "children": [{"text": "a"}, {"children": [{"text": "b"}]}]}});
        let result = json!({"content": [{"value": "x "}, {"value": tree}]});
        assert_eq!(text_of(&result).as_deref(), Some("x ab"));
    }
}
