//! Tools: what kind each is, and how a call ended.

use std::borrow::Cow;

use super::record::{Arguments, Event, Observation};
use crate::agents::document::Torn;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::{join, text_or_mark};
use crate::agents::mcp;
use crate::extract::{EditedLines, Request};
use crate::tables::{Category, Status};

/// The call that an event makes.
pub(super) fn call(event: &Event<'_>) -> Call {
    let made = event.tool_call.0.as_ref();
    let name = event.tool.get().or_else(|| made?.name.get()).unwrap_or("unknown");
    let json = made.and_then(|made| made.arguments.get());
    let arguments: Arguments<'_> = json.and_then(Request::of).and_then(|given| given.fields().ok()).unwrap_or_default();
    let is_mcp = event.action.0.as_ref().is_some_and(|action| action.kind.is("MCPToolAction"));
    let category = if is_mcp { mcp::category(name) } else { category(name, arguments.command.get()) };
    Call {
        input: json.map(own_arguments),
        command: arguments.command.owned().filter(|_| category == Category::Shell),
        file: arguments.path.owned().filter(|_| category.has_file()),
        ..Call::of_tool(name, category, None)
    }
}

fn category(name: &str, command: Option<&str>) -> Category {
    match (name, command) {
        ("terminal" | "execute_bash", _) => Category::Shell,
        ("file_editor" | "str_replace_editor", Some("view")) => Category::Read,
        ("file_editor" | "str_replace_editor", Some("create")) => Category::Write,
        ("file_editor" | "str_replace_editor" | "apply_patch", _) => Category::Edit,
        ("glob" | "grep", _) => Category::Search,
        ("task_tracker", _) => Category::Todo,
        ("task" | "delegate", _) => Category::Task,
        (name, _) if name.starts_with("browser") => Category::Browser,
        _ => Category::Other,
    }
}

/// The arguments without those that the program adds to every tool, which the model words anew each time.
fn own_arguments(json: &str) -> String {
    let torn = Torn::read(json, "");
    let is_added = |name: &str| matches!(name, "security_risk" | "summary");
    if torn.error.is_some() || !torn.names().any(is_added) {
        return json.to_owned();
    }
    let own = torn.names().filter(|name| !is_added(name)).filter_map(|name| {
        let value = torn.raw(name)?.get();
        Some([&serde_json::to_string(name).ok()?, ":", value].concat())
    });
    format!("{{{}}}", own.collect::<Vec<_>>().join(","))
}

/// Returns the outcome of a call: by an observation, an error, or the person's refusal.
pub(super) fn outcome<'a>(event: &Event<'a>) -> Outcome<'a> {
    let text = |text: Option<&str>| text.map(|text| Cow::Owned(text.to_owned()));
    match event.kind.get() {
        Some("AgentErrorEvent") => {
            Outcome { status: Status::Error, output: text(event.error.get()), ..Outcome::default() }
        }
        Some("UserRejectObservation") => {
            Outcome { status: Status::Rejected, output: text(event.rejection.get()), ..Outcome::default() }
        }
        _ => event.observation.0.as_ref().map_or_else(Outcome::default, observed),
    }
}

/// Returns the lines that a call of the editor changed: by the recorded contents of the file, else by the arguments.
pub(super) fn edited_lines(call: &Call, observation: &Observation<'_>) -> EditedLines {
    let contents = observation.old.0.as_ref().zip(observation.new.0.as_ref());
    if let Some(lines) = contents.and_then(|(old, new)| EditedLines::between(old, new)) {
        return lines;
    }
    let is_edit = matches!(call.category, Category::Write | Category::Edit);
    let request = call.input.as_deref().filter(|_| is_edit).and_then(Request::of);
    let arguments: Arguments<'_> = request.and_then(|request| request.fields().ok()).unwrap_or_default();
    let added = match arguments.command.get() {
        Some("create") if !observation.existed.0 => arguments.content.0,
        Some("insert") => arguments.inserted.0,
        _ => None,
    };
    added.map(|text| EditedLines::of_new_file(&text)).unwrap_or_default()
}

fn observed<'a>(observation: &Observation<'a>) -> Outcome<'a> {
    let texts = observation.content.0.iter().map(|part| text_or_mark(part.text.0.clone(), &part.kind));
    let exit_code = observation.exit_code.0;
    let has_failed = observation.is_error.0 || exit_code.is_some_and(|code| code != 0);
    // The program writes -1 for a command that still runs, or whose end it did not see.
    let exit_code = exit_code.filter(|code| *code >= 0);
    Outcome {
        status: if has_failed { Status::Error } else { Status::Ok },
        exit_code,
        output: join(texts),
        ..Outcome::default()
    }
}
