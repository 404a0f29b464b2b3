//! Messages in the role of the person: what they typed, and what only looks like it.

use std::borrow::Cow;

use super::record::Message;
use super::reminder::without_reminders;
use crate::agents::kit::texts::join;
use crate::tables::{MessageKind, Role};

/// The first words of a failed request to the model.
const API_ERROR: &str = "BYOK Error:";
/// The first words of a text that marks an interruption.
const INTERRUPTED: [&str; 2] = ["Request interrupted by user", "[Request interrupted by user"];

/// A record of role `user`: its kind and text.
pub(super) struct UserText<'a> {
    pub(super) role: Role,
    pub(super) kind: MessageKind,
    pub(super) text: Option<Cow<'a, str>>,
    /// Images and documents. Count.
    pub(super) attachments: i64,
}

impl<'a> UserText<'a> {
    pub(super) fn of(message: &'a Message<'_>) -> Self {
        let content = &message.content;
        let attachments = content.of_type("image").chain(content.of_type("document")).count();
        let attachments = i64::try_from(attachments).unwrap_or(i64::MAX);
        let typed = join(content.texts().map(without_reminders).filter(|text| !text.is_empty()));
        let has_results = content.of_type("tool_result").next().is_some();
        if has_results && typed.is_none() {
            return Self { role: Role::Tool, kind: MessageKind::ToolResult, text: None, attachments };
        }
        let (role, kind) = kind_of(message, typed.as_deref(), attachments > 0);
        let text = typed.or_else(|| join(content.texts().map(Cow::Borrowed)));
        Self { role, kind, text, attachments }
    }

    /// Returns true if the person asks for something here.
    pub(super) fn begins_turn(&self) -> bool {
        matches!(self.kind, MessageKind::Prompt | MessageKind::Command)
    }
}

fn kind_of(message: &Message<'_>, typed: Option<&str>, has_attachments: bool) -> (Role, MessageKind) {
    let opening = typed.unwrap_or_default().trim_start();
    if message.role.is("system") {
        return (Role::System, MessageKind::Meta);
    }
    if opening.starts_with(API_ERROR) {
        return (Role::System, MessageKind::ApiError);
    }
    if is_interruption(opening) {
        return (Role::User, MessageKind::Abort);
    }
    let is_hook = message.hook.get().is_some() || message.hook_status.get().is_some();
    let is_of_program = is_hook || message.visibility.is("user_only") || message.visibility.is("llm_only");
    match typed {
        Some(typed) if message.visibility.is("user_only") && is_command(typed) => (Role::User, MessageKind::Command),
        _ if is_of_program => (Role::User, MessageKind::Meta),
        None if !has_attachments => (Role::User, MessageKind::Meta),
        _ => (Role::User, MessageKind::Prompt),
    }
}

/// Returns true if a text is a slash command: `/review`, not `/home/kim`.
fn is_command(text: &str) -> bool {
    let name = text.strip_prefix('/').and_then(|text| text.split_whitespace().next());
    name.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':')))
}

/// Returns true if a text marks that the person stopped the model.
pub(super) fn is_interruption(text: &str) -> bool {
    INTERRUPTED.iter().any(|opening| text.trim_start().starts_with(opening))
}
