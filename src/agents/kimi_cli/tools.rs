//! Tools: what kind each is, and how a call ended.

use std::borrow::Cow;

use super::record::{Arguments, Edit, ToolResult};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::{append, join, text_or_mark};
use crate::extract::{EditedLines, Request};
use crate::source::records::{List, Object};
use crate::tables::{Category, Status};

fn category(name: &str) -> Category {
    match name {
        "Shell" => Category::Shell,
        "ReadFile" | "ReadMediaFile" => Category::Read,
        "WriteFile" => Category::Write,
        "StrReplaceFile" => Category::Edit,
        "Glob" | "Grep" => Category::Search,
        "FetchURL" | "SearchWeb" => Category::Web,
        "Agent" | "Task" | "TaskList" | "TaskOutput" | "TaskStop" => Category::Task,
        "SetTodoList" => Category::Todo,
        _ => Category::Other,
    }
}

/// A call of a tool. Its arguments may follow in parts.
pub(super) fn call(id: String, name: Option<&str>, arguments: Option<&str>) -> Call {
    let name = name.unwrap_or("unknown");
    let input = arguments.map(str::to_owned);
    Call { id, input, ..Call::of_tool(name, category(name), None) }
}

/// Reads what the tables know of the arguments, once they are complete.
pub(super) fn with_arguments(call: Call) -> Call {
    let request = call.input.as_deref().and_then(Request::of);
    let arguments: Arguments<'_> = request.and_then(|request| request.fields().ok()).unwrap_or_default();
    let command = arguments.command.owned().filter(|_| call.category == Category::Shell);
    let file = arguments.path.owned().filter(|_| call.category.has_file());
    Call { command, file, ..call }
}

const REFUSAL: &str = "The tool call is rejected by the user";
const EXIT_CODE: &str = "Command failed with exit code: ";

/// Returns the outcome of a call. The message for the model says why it failed, after the tool's own text.
pub(super) fn outcome<'a>(result: &ToolResult<'a>) -> Outcome<'a> {
    let texts = result.output.0.iter().map(|part| text_or_mark(part.text.0.clone(), &part.kind));
    let mut output = join(texts).filter(|text| !text.is_empty());
    let message = result.message.get();
    let is_refused = [message, output.as_deref()].into_iter().flatten().any(|text| text.starts_with(REFUSAL));
    let exit_code = message.and_then(|message| message.strip_prefix(EXIT_CODE)?.trim_end_matches('.').parse().ok());
    let status = match result.is_error.0 {
        false => Status::Ok,
        true if is_refused => Status::Rejected,
        true => Status::Error,
    };
    if let Some(message) = message.filter(|_| result.is_error.0 || output.is_none()) {
        append(&mut output, Cow::Owned(message.to_owned()), "\n");
    }
    Outcome { status, exit_code: exit_code.filter(|_| result.is_error.0), output, ..Outcome::default() }
}

/// Returns the lines that the arguments of an edit add and remove: one edit, or a list of them.
pub(super) fn edited_lines(call: &Call) -> EditedLines {
    let request = call.input.as_deref().filter(|_| call.category == Category::Edit).and_then(Request::of);
    let Some(json) = request.as_ref().and_then(|request| request.get("edit")) else { return EditedLines::default() };
    let edits = if json.starts_with('[') {
        serde_json::from_str::<List<Object<Edit<'_>>>>(json).unwrap_or_default()
    } else {
        List(vec![serde_json::from_str(json).unwrap_or_default()])
    };
    let lines = edits.0.iter().map(|edit| {
        // The arguments do not say how often the text was replaced.
        let edit = edit.0.as_ref().filter(|edit| !edit.is_repeated.0)?;
        EditedLines::between(edit.old.0.as_ref()?, edit.new.0.as_ref()?)
    });
    lines.collect::<Option<Vec<_>>>().and_then(|lines| lines.into_iter().reduce(EditedLines::and)).unwrap_or_default()
}

/// An outcome that outlives its line.
pub(super) fn kept(end: Outcome<'_>) -> Outcome<'static> {
    Outcome { output: end.output.map(|text| Cow::Owned(text.into_owned())), ..end }
}
