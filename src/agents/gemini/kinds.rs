//! Classifies messages by their type and by the texts that the program itself puts into chats.

use super::content::Content;
use super::record::Record;
use crate::source::records::Raw;
use crate::tables::{MessageKind, Role};

/// Openings of user messages that the person did not type, and what they are.
const OPENINGS: [(&str, MessageKind); 6] = [
    ("<session_context>", MessageKind::Meta),
    ("<hook_context>", MessageKind::Meta),
    ("<state_snapshot>", MessageKind::Compaction),
    ("I ran the following shell command:\n", MessageKind::Command),
    ("/", MessageKind::Command),
    ("?", MessageKind::Command),
];

/// Replies that no model wrote.
const SYNTHETIC: [&str; 2] =
    ["Binary content received. Proceeding with analysis.", "Got it. Thanks for the additional context!"];

/// Longest reply that is looked at for being synthetic. Bytes of JSON.
const SYNTHETIC_LENGTH: usize = 128;

/// Returns true if a message is the model's.
pub(super) fn is_reply(kind: Option<&str>) -> bool {
    matches!(kind, Some("gemini" | "model" | "assistant"))
}

/// Returns true if a type is one that messages have.
pub(super) fn is_message(kind: Option<&str>) -> bool {
    is_reply(kind) || matches!(kind, Some("user" | "info" | "warning" | "error" | "system"))
}

/// The `role` of a message.
pub(super) fn role_of(kind: Option<&str>) -> Role {
    match kind {
        Some("user") => Role::User,
        kind if is_reply(kind) => Role::Assistant,
        _ => Role::System,
    }
}

/// The `kind` of a message. Results of tools belong to their calls and become no messages.
pub(super) fn kind_of(record: &Record<'_>) -> MessageKind {
    match record.kind.get() {
        Some("user") => kind_of_user(record),
        kind if is_reply(kind) => kind_of_reply(record),
        kind => kind_of_notice(kind, record.content),
    }
}

fn kind_of_user(record: &Record<'_>) -> MessageKind {
    let content = Content::of(record.content);
    if content.is_result() {
        return MessageKind::ToolResult;
    }
    let shown = Content::of(record.display).text;
    let text = shown.as_deref().or(content.text.as_deref()).unwrap_or_default().trim_start();
    // The model may think before it sums up.
    if text.starts_with("<scratchpad>") && text.contains("<state_snapshot>") {
        return MessageKind::Compaction;
    }
    OPENINGS.iter().find(|(opening, _)| text.starts_with(opening)).map_or(MessageKind::Prompt, |(_, kind)| *kind)
}

fn kind_of_reply(record: &Record<'_>) -> MessageKind {
    let is_short = record.content.json().is_some_and(|json| json.len() <= SYNTHETIC_LENGTH);
    let is_bare = is_short && record.calls.0.is_empty();
    let text = is_bare.then(|| Content::of(record.content).text).flatten();
    let is_synthetic = text.is_some_and(|text| SYNTHETIC.contains(&text.trim()));
    if is_synthetic { MessageKind::Meta } else { MessageKind::Reply }
}

fn kind_of_notice(kind: Option<&str>, content: Raw<'_>) -> MessageKind {
    let text = Content::of(content).text;
    let text = text.as_deref().unwrap_or_default().trim();
    match kind {
        Some("error") if text.contains("[API Error") => MessageKind::ApiError,
        _ if text == "Request cancelled." => MessageKind::Abort,
        _ => MessageKind::Notice,
    }
}
