//! Tools: what kind each is, and how a result shows the outcome of its call.

use std::borrow::Cow;

use serde_json::Value;

use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::values::At;
use crate::agents::mcp;
use crate::agents::patch::file_of_patch;
use crate::source::records::{Text, record};
use crate::tables::{Category, Status};

record! {
    /// Arguments that have columns.
    Arguments<'a> { command: Text<'a> = "command", file: Text<'a> = "path" | "file_path", patch: Text<'a> = "patch" }
}

/// A call of a tool with these arguments.
pub(super) fn call(name: &str, input: Option<&str>) -> Call {
    let arguments: Arguments<'_> = input.and_then(|input| serde_json::from_str(input).ok()).unwrap_or_default();
    let server = name.strip_prefix("mcp_").and_then(|rest| rest.split_once('_')).map(|(server, _)| server);
    let category = if server.is_some() { mcp::category(name) } else { category(name) };
    let file = arguments.file.get().or_else(|| file_of_patch(arguments.patch.get()?));
    Call {
        input: input.map(str::to_owned),
        command: arguments.command.owned().filter(|_| category == Category::Shell),
        file: file.filter(|_| category.has_file()).map(str::to_owned),
        ..Call::of_tool(name, category, server)
    }
}

fn category(name: &str) -> Category {
    match name {
        "terminal" | "process" | "execute_code" => Category::Shell,
        "read_file" | "read_terminal" => Category::Read,
        "write_file" => Category::Write,
        "patch" => Category::Edit,
        "search_files" | "session_search" => Category::Search,
        "web_search" | "web_extract" | "web_crawl" => Category::Web,
        "delegate_task" => Category::Task,
        "todo" => Category::Todo,
        name if mcp::drives_browser(name) => Category::Browser,
        _ => Category::Other,
    }
}

/// Openings of texts that say that a call was blocked because the loop guard or a scanner stopped it.
const BLOCKED: &str = "BLOCKED";
/// Words of a block by the person, by a rule, or for want of anybody to ask.
const REFUSED: [&str; 7] = [
    "User denied",
    "denied by user",
    "denied/timed out",
    "timed out without user response",
    "deny rule",
    "(hardline)",
    "smart approval",
];

/// Returns the outcome of a call by its result: a JSON object, which may be followed by a warning, or a text.
pub(super) fn outcome(text: Option<&str>, ended_at: Option<i64>) -> Outcome<'_> {
    let result = text.unwrap_or_default();
    let object = serde_json::Deserializer::from_str(result).into_iter::<Value>().next().and_then(Result::ok);
    let object = object.filter(Value::is_object).unwrap_or_default();
    let exit_code = object.at("/exit_code").and_then(Value::as_i64);
    let error = object.text_at("/error");
    // Other results may quote such a text.
    let output = object.text_at("/output").filter(|_| exit_code != Some(0));
    let blocked = |text: &&str| text.trim_start().starts_with(BLOCKED);
    let reason = error
        .filter(|error| error.contains(BLOCKED))
        .or_else(|| [output, Some(result)].into_iter().flatten().find(blocked));
    let is_refused = reason.is_some_and(|reason| {
        REFUSED.iter().any(|words| reason.contains(words))
            || (reason.contains("requires approval") && reason.contains("but no"))
    });
    let is_failure = error.is_some()
        || object.at("/error").is_some_and(|error| error.is_object() || error == &Value::Bool(true))
        || object.at("/success") == Some(&Value::Bool(false))
        || (result.starts_with("Tool '") && result.contains("does not exist"))
        || result.starts_with(BLOCKED);
    let status = match () {
        () if is_refused => Status::Rejected,
        () if exit_code.is_some_and(|code| code != 0) || is_failure => Status::Error,
        () => Status::Ok,
    };
    Outcome { status, exit_code, output: text.map(Cow::Borrowed), ended_at, ..Outcome::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes() {
        let of = |text| {
            let Outcome { status, exit_code, .. } = outcome(Some(text), None);
            (status, exit_code)
        };
        assert_eq!(of(r#"{"output":"","exit_code":0,"error":null} [Tool loop warning: 3]"#), (Status::Ok, Some(0)));
        assert_eq!(of(r#"{"output":"","exit_code":2,"error":null}"#), (Status::Error, Some(2)));
        assert_eq!(of("BLOCKED: User denied this command"), (Status::Rejected, None));
        assert_eq!(of("BLOCKED: called 5 times in a row"), (Status::Error, None));
        assert_eq!(of("BLOCKED: rm requires approval (delete) but no one can be asked"), (Status::Rejected, None));
        assert_eq!(of("Tool 'x' does not exist."), (Status::Error, None));
        assert_eq!(of("plain"), (Status::Ok, None));
        let quoted = r#"{"output":"log: BLOCKED: denied by user","exit_code":0,"error":null}"#;
        assert_eq!(of(quoted), (Status::Ok, Some(0)));
        assert_eq!(of("the log says BLOCKED: User denied it"), (Status::Ok, None));
        assert_eq!(of(r#"{"output":"","exit_code":-1,"error":"BLOCKED: User denied"}"#), (Status::Rejected, Some(-1)));
    }
}
