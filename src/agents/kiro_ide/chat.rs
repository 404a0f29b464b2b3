//! `.chat`: the whole conversation of a workflow, written anew for each thing that is done. What several have counts
//! once.

use super::content::{is_meta, text_of, unwrapped};
use super::record::{Message, Metadata};
use super::workspace::Workspace;
use crate::agents::document::{self, Torn};
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, Reject, Sink};
use crate::source::Source;
use crate::source::records::{Object, Text};
use crate::tables::{MessageKind, MessageRow, Role};

/// Reads a chat. Messages have no ids and no times: they go by what they say; the last prompt was sent when the work
/// began, the last reply written when it ended.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(json) = document::text(source, "a chat", out)? else { return Ok(()) };
    let chat = Torn::read(&json, "chat");
    out.line();
    let noted: Object<Metadata<'_>> = chat.field("metadata");
    let noted = noted.0.unwrap_or_default();
    let execution: Text<'_> = chat.field("executionId");
    // A workflow's name comes after its messages, so the messages of a torn chat belong to no known workflow.
    let fallback = execution.get().filter(|_| chat.error.is_none());
    if let Some(error) = &chat.error {
        out.problem(error.line() as u64, &format!("a torn chat: {error}"));
    }
    let Some(id) = noted.workflow.get().or(fallback) else { return Ok(()) };
    let messages: Vec<Message<'_>> = chat.items.iter().map(|item| read(item.get(), out)).collect();
    let workspace = Workspace::of(source, source.path.parent());
    let mut thread = Thread::new(Facts {
        session_id: id.to_owned(),
        project_path: workspace.path,
        project_hash: workspace.hash,
        first_moment: noted.start.0,
        ..Facts::default()
    });
    let is_prompt = |message: &Message<'_>| {
        message.role.is("human") && text_of(message.content).0.is_some_and(|text| !is_meta(&text))
    };
    let last_prompt = messages.iter().rposition(is_prompt);
    let last_reply = messages.iter().rposition(|message| message.role.is("bot"));
    for (place, message) in messages.iter().enumerate() {
        let moment = if Some(place) == last_prompt {
            noted.start.0
        } else if Some(place) == last_reply {
            noted.end.0
        } else {
            None
        };
        // An earlier execution said what comes before the last prompt. The chat of that execution knows when.
        let is_copy = last_prompt.is_some_and(|last| place < last);
        let at = Position { moment, is_copy, ..Position::default() };
        take(message, at, noted.model.get(), &mut thread, out)?;
    }
    thread.finish(out)
}

fn take(
    message: &Message<'_>,
    at: Position<'_>,
    model: Option<&str>,
    thread: &mut Thread,
    out: &mut Sink<'_>,
) -> Result<(), Reject> {
    let (text, attachments) = text_of(message.content);
    if text.is_none() && attachments == 0 {
        return Ok(());
    }
    let text = text.as_deref().unwrap_or_default();
    let role = message.role.get().unwrap_or_default();
    let id = thread.print(role, None, [unwrapped(text)]);
    let is_meta = is_meta(text);
    let row = match role {
        "human" if is_meta => MessageRow { text: Some(text), ..blank(Role::User, MessageKind::Meta) },
        "human" => {
            thread.begin_turn();
            MessageRow { text: Some(unwrapped(text)), ..blank(Role::User, MessageKind::Prompt) }
        }
        "bot" if is_meta => MessageRow { text: Some(text), ..blank(Role::Assistant, MessageKind::Meta) },
        "bot" => MessageRow { text: Some(text), model, ..blank(Role::Assistant, MessageKind::Reply) },
        "tool" => blank(Role::Tool, MessageKind::ToolResult),
        other => {
            out.unknown(&format!("role {other}"));
            return Ok(());
        }
    };
    thread.message(&Position { id: &id, ..at }, MessageRow { attachments, ..row }, out).map(drop)
}

/// A message; one that cannot be read is empty, so that later ones keep their places.
fn read<'j>(json: &'j str, out: &mut Sink<'_>) -> Message<'j> {
    serde_json::from_str(json).unwrap_or_else(|error| {
        out.problem(1, &format!("a message that cannot be read: {error}"));
        Message::default()
    })
}
