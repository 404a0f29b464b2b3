//! Tools: what kind each is, and how a call ended.

use std::borrow::Cow;

use super::record::{Answer, Arguments, Output, Piece};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::{join, text_or_mark};
use crate::agents::mcp;
use crate::source::records::{List, Object};
use crate::tables::{Category, Status};

/// Extensions that are parts of Goose.
const BUILTIN: [&str; 16] = [
    "analyze",
    "apps",
    "autovisualiser",
    "chatrecall",
    "code_execution",
    "computercontroller",
    "developer",
    "dynamic_task",
    "extensionmanager",
    "memory",
    "platform",
    "skills",
    "subagent",
    "summon",
    "todo",
    "tutorial",
];

/// Texts of calls that were not run: the person, a rule or a guard said no, or the mode runs none.
const REFUSED: [&str; 2] =
    ["The user has declined to run this tool", "Let the user know the tool call was skipped in Goose chat mode"];

/// A call of a tool with arguments as JSON.
pub(super) fn call(name: &str, arguments: Option<&str>) -> Call {
    let (extension, tool) = name.split_once("__").map_or((None, name), |(extension, tool)| (Some(extension), tool));
    let server = extension.filter(|extension| !BUILTIN.contains(extension));
    let given: Arguments<'_> = arguments.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let category = if server.is_some() { mcp::category(name) } else { category(extension, tool, &given) };
    Call {
        input: arguments.map(str::to_owned),
        command: given.command.owned().filter(|_| category == Category::Shell),
        file: given.path.owned().filter(|_| category.has_file()),
        ..Call::of_tool(name, category, server)
    }
}

fn category(extension: Option<&str>, tool: &str, given: &Arguments<'_>) -> Category {
    match (extension, tool) {
        (Some("todo"), _) => Category::Todo,
        (Some("dynamic_task" | "subagent"), _) => Category::Task,
        (_, "text_editor") => match given.command.get() {
            Some("view") => Category::Read,
            Some("write" | "create") => Category::Write,
            _ => Category::Edit,
        },
        (_, "shell" | "automation_script" | "execute_code") => Category::Shell,
        (_, "read" | "read_file" | "read_image" | "image_processor") => Category::Read,
        (_, "write" | "write_file") => Category::Write,
        (_, "edit" | "edit_file") => Category::Edit,
        (_, "tree" | "analyze" | "glob" | "grep" | "list" | "search") => Category::Search,
        (_, "web_scrape" | "web_search" | "fetch") => Category::Web,
        (_, "todo_write" | "todo_read") => Category::Todo,
        (_, "delegate") => Category::Task,
        (_, tool) if tool.starts_with("subagent") => Category::Task,
        _ => Category::Other,
    }
}

/// Returns the outcome of a call.
pub(super) fn outcome<'a>(answer: &'a Answer<'_>, ended_at: Option<i64>) -> Outcome<'a> {
    let output = output(answer);
    let is_refused = output.1.as_deref().is_some_and(|text| REFUSED.iter().any(|words| text.starts_with(words)));
    let status = match output.0 || answer.status.is("error") {
        _ if is_refused => Status::Rejected,
        true => Status::Error,
        false => Status::Ok,
    };
    Outcome { status, output: output.1, ended_at, ..Outcome::default() }
}

/// Returns if the tool reports an error, and the text that the model saw.
fn output<'a>(answer: &'a Answer<'_>) -> (bool, Option<Cow<'a, str>>) {
    let json = answer.value.json().unwrap_or("null");
    // The first versions stored the content alone.
    let output = if json.starts_with('[') {
        let content: List<Object<Piece<'_>>> = serde_json::from_str(json).unwrap_or_default();
        Output { content, ..Output::default() }
    } else {
        serde_json::from_str(json).unwrap_or_default()
    };
    let pieces = output.content.0.iter().filter_map(|piece| piece.0.as_ref());
    let texts = pieces.map(|piece| {
        let text = piece.text.owned().or_else(|| piece.resource.0.as_ref()?.text.owned());
        text_or_mark(text.map(Cow::Owned), &piece.kind)
    });
    let text = join(texts).or(answer.error.get().map(Cow::Borrowed));
    (output.is_error.0, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, arguments: &str) -> (Category, Option<String>) {
        let call = call(name, Some(arguments));
        (call.category, call.server)
    }

    #[test]
    fn categories_and_servers() {
        assert_eq!(of("developer__shell", "{}"), (Category::Shell, None));
        assert_eq!(of("developer__text_editor", r#"{"command":"view"}"#), (Category::Read, None));
        assert_eq!(of("developer__text_editor", r#"{"command":"str_replace"}"#), (Category::Edit, None));
        assert_eq!(of("dynamic_task__create_task", "{}"), (Category::Task, None));
        assert_eq!(of("todo__todo_write", "{}"), (Category::Todo, None));
        assert_eq!(of("github__create_issue", "{}"), (Category::Mcp, Some("github".to_owned())));
        assert_eq!(of("playwright__click", "{}"), (Category::Browser, Some("playwright".to_owned())));
    }
}
