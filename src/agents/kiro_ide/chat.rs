//! `.chat`: the whole conversation of a workflow, written anew for each thing that is done. What several have counts once.

use super::AGENT;
use super::content::{is_meta, text_of, unwrapped};
use super::record::{Message, Metadata};
use super::workspace::Workspace;
use crate::agents::amazon_q::{Thread, blank};
use crate::agents::torn::Torn;
use crate::extract::{Facts, Reject, Sink};
use crate::source::records::{Object, Text};
use crate::source::{Source, repair};
use crate::tables::{MessageKind, MessageRow, Role};

/// Reads a chat. Messages have no ids and no times: they go by what they say; the last prompt was sent when the work began,
/// the last reply written when it ended.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(bytes) = source.document()? else {
        out.line();
        out.problem(1, "a chat longer than 32 MiB is not read");
        return Ok(());
    };
    let json = repair(&bytes);
    let chat = Torn::read(&json, "chat");
    if json.trim().is_empty() {
        return Ok(());
    }
    out.line();
    let noted: Object<Metadata<'_>> = chat.field("metadata");
    let noted = noted.0.unwrap_or_default();
    let execution: Text<'_> = chat.field("executionId");
    // What a workflow is called stands behind its messages: of a torn chat nobody knows whose they are.
    let fallback = execution.get().filter(|_| chat.error.is_none());
    if let Some(error) = &chat.error {
        out.problem(error.line() as u64, &format!("a torn chat: {error}"));
    }
    let Some(id) = noted.workflow.get().or(fallback) else { return Ok(()) };
    let messages: Vec<Message<'_>> = chat.items.iter().map(|item| read(item.get(), out)).collect();
    let is_prompt = |message: &Message<'_>| {
        message.role.is("human") && text_of(message.content).0.is_some_and(|text| !is_meta(&text))
    };
    let last_prompt = messages.iter().rposition(is_prompt);
    let last_reply = messages.iter().rposition(|message| message.role.is("bot"));
    let workspace = Workspace::of(source, source.path.parent());
    let mut thread = Thread::new(AGENT, id.to_owned(), out);
    thread.cwd.clone_from(&workspace.path);
    for (place, message) in messages.iter().enumerate() {
        let timestamp = if Some(place) == last_prompt {
            noted.start.0
        } else if Some(place) == last_reply {
            noted.end.0
        } else {
            None
        };
        // What goes before the last prompt was said in an earlier execution, whose chat knows when.
        thread.is_copy = last_prompt.is_some_and(|last| place < last);
        let (text, attachments) = text_of(message.content);
        if text.is_none() && attachments == 0 {
            continue;
        }
        let text = text.as_deref().unwrap_or_default();
        let role = message.role.get().unwrap_or_default();
        let id = format!("{}#{}", thread.id, thread.prints.name(role, None, [unwrapped(text)]));
        let row = match message.role.get() {
            Some("human") if is_meta(text) => {
                MessageRow { text: Some(text), ..blank(Role::User, MessageKind::Meta, &id) }
            }
            Some("human") => {
                thread.next_turn();
                MessageRow { text: Some(unwrapped(text)), ..blank(Role::User, MessageKind::Prompt, &id) }
            }
            Some("bot") if is_meta(text) => {
                MessageRow { text: Some(text), ..blank(Role::Assistant, MessageKind::Meta, &id) }
            }
            Some("bot") => MessageRow {
                text: Some(text),
                model: noted.model.get(),
                ..blank(Role::Assistant, MessageKind::Reply, &id)
            },
            Some("tool") => blank(Role::Tool, MessageKind::ToolResult, &id),
            other => {
                thread.out.unknown(&format!("role {}", other.unwrap_or_default()));
                continue;
            }
        };
        thread.push(MessageRow { timestamp, attachments, ..row })?;
    }
    thread.finish(Facts {
        project_path: workspace.path,
        project_hash: workspace.hash,
        first_moment: noted.start.0,
        ..Facts::default()
    })
}

/// A message; one that cannot be read is empty, so that those behind it keep their places.
fn read<'j>(json: &'j str, out: &mut Sink<'_>) -> Message<'j> {
    serde_json::from_str(json).unwrap_or_else(|error| {
        out.problem(1, &format!("no message of a chat: {error}"));
        Message::default()
    })
}
