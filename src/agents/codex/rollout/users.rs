//! User messages. Messages that the person typed and those that the program wrote in the person's name look alike; an
//! event before or after the message shows which it is.

use super::super::content::Content;
use super::super::history::prompt_key;
use super::super::record::Item;
use super::super::typed;
use super::{LinePosition, Rollout, blank};
use crate::extract::Reject;
use crate::tables::{MessageKind, MessageRow, Role};

/// Messages and events that are not matched yet.
#[derive(Default)]
pub(super) struct Waiting {
    /// A message without an event so far.
    message: Option<UserMessage>,
    /// A prompt that an event reported and whose message has not come yet.
    announced: Option<String>,
    /// The place of that event.
    announced_at: Option<LinePosition>,
    /// The last prompt, until the model answers: a second event may report it.
    last: Option<String>,
    /// True if the file has events of prompts.
    has_events: bool,
    /// The last prompt, until its turn's settings have come.
    prompt: Option<Prompt>,
}

/// A prompt and its place.
struct Prompt {
    message: UserMessage,
    seq: i64,
    parent: Option<String>,
    turn: Option<i64>,
}

struct UserMessage {
    id: String,
    text: String,
    attachments: i64,
    position: LinePosition,
}

impl Rollout<'_, '_> {
    pub(super) fn take_user(&mut self, position: LinePosition, item: &Item<'_>) -> Result<(), Reject> {
        self.settle()?;
        let content = Content::of(item.content.json(), false);
        let text = content.text.unwrap_or_default().into_owned();
        let role = item.role.get().unwrap_or("user");
        let namespace = self.lineage.namespace(&self.session);
        let id = self.ids.of(namespace, item.id.get(), &[role, &text]);
        if self.facts.project_path.is_none()
            && let Some(folder) = typed::folder_of(&text)
        {
            self.facts.project_path = Some(folder.to_owned());
            self.cwd.get_or_insert_with(|| folder.to_owned());
        }
        let message = UserMessage { id, text, attachments: content.attachments, position };
        if role != "user" {
            let text = Some(message.text.as_str());
            let row = MessageRow { role: Role::System, kind: MessageKind::Meta, text, ..blank(&message.id, position) };
            return self.push(row);
        }
        let announced = self.waiting.announced.take();
        if let Some(announced) = &announced
            && typed::is_announced(&message.text, announced)
        {
            return self.push_prompt(&message, announced);
        }
        self.waiting.announced = announced;
        self.waiting.message = Some(message);
        Ok(())
    }

    /// Takes an event that reports a typed prompt.
    pub(super) fn take_announced(&mut self, position: LinePosition, text: &str) -> Result<(), Reject> {
        self.waiting.has_events = true;
        match self.waiting.message.take() {
            Some(message) if typed::is_announced(&message.text, text) => self.push_prompt(&message, text),
            message => {
                self.waiting.message = message;
                self.waiting.announced = Some(text.to_owned());
                self.waiting.announced_at = Some(position);
                Ok(())
            }
        }
    }

    /// Emits a reported prompt without a message: once the model answers, no message will come.
    pub(super) fn answer_user(&mut self) -> Result<(), Reject> {
        self.flush_user()?;
        let last = self.waiting.last.take();
        let announced = self.waiting.announced.take().filter(|text| !text.is_empty() && Some(text) != last.as_ref());
        let (Some(text), Some(position)) = (announced, self.waiting.announced_at.take()) else { return Ok(()) };
        if self.lineage.is_copied() {
            return Ok(());
        }
        self.close_reply()?;
        let id = self.ids.of(self.lineage.namespace(&self.session), None, &["user", &text]);
        let message = UserMessage { id, text, attachments: 0, position };
        self.push_prompt(&message, "")?;
        self.waiting.last = None;
        Ok(())
    }

    /// Emits the message without an event.
    pub(super) fn flush_user(&mut self) -> Result<(), Reject> {
        let Some(message) = self.waiting.message.take() else { return Ok(()) };
        let is_open = !self.waiting.has_events || self.waiting.announced.is_some();
        if is_open && !typed::is_injected(&message.text) {
            self.waiting.announced = None;
            return self.push_prompt(&message, "");
        }
        let row = MessageRow {
            role: Role::User,
            kind: MessageKind::Meta,
            text: Some(message.text.as_str()),
            attachments: message.attachments,
            ..blank(&message.id, message.position)
        };
        self.push(row)
    }

    /// Emits a prompt. The text of its event has no marks of images.
    fn push_prompt(&mut self, message: &UserMessage, announced: &str) -> Result<(), Reject> {
        self.flush_prompt()?;
        self.waiting.last = Some(if announced.is_empty() { &*message.text } else { announced }.to_owned());
        let text = typed::typed_part(if announced.trim().is_empty() { &message.text } else { announced });
        self.begin_person_turn();
        if self.claims_prompts {
            self.out.claim(prompt_key(self.out.agent(), text), false);
        }
        let UserMessage { id, attachments, position, .. } = message;
        let message =
            UserMessage { id: id.clone(), text: text.to_owned(), attachments: *attachments, position: *position };
        let (seq, parent, turn) = (self.seq, self.parent.replace(id.clone()), self.turn);
        self.seq += 1;
        self.waiting.prompt = Some(Prompt { message, seq, parent, turn });
        Ok(())
    }

    /// Emits the held prompt. Old versions write the settings of a turn after its prompt.
    pub(super) fn flush_prompt(&mut self) -> Result<(), Reject> {
        let Some(Prompt { message, seq, parent, turn }) = self.waiting.prompt.take() else { return Ok(()) };
        let mode = self.permission_mode.clone();
        let row = MessageRow {
            role: Role::User,
            kind: MessageKind::Prompt,
            text: Some(message.text.as_str()),
            attachments: message.attachments,
            permission_mode: mode.as_deref(),
            ..blank(&message.id, message.position)
        };
        self.push_at(seq, parent.as_deref(), turn, row)
    }

    /// Begins a turn of the person.
    pub(super) fn begin_person_turn(&mut self) {
        self.turn = Some(self.turn.unwrap_or(0) + 1);
        self.stop_waiting();
        self.turn_starts.push(self.places);
        self.error = None;
    }

    /// Takes a message of one agent to another. The first message to a spawned agent is its task.
    pub(super) fn take_agent_message(&mut self, position: LinePosition, item: &Item<'_>) -> Result<(), Reject> {
        if self.lineage.is_copied() {
            return Ok(());
        }
        self.settle()?;
        let content = Content::of(item.content.json(), false);
        let Some(text) = content.text.filter(|text| !text.is_empty()) else { return Ok(()) };
        let is_task = self.facts.is_subagent && self.turn.is_none();
        if is_task {
            self.begin_person_turn();
        }
        let kind = if is_task { MessageKind::Prompt } else { MessageKind::Meta };
        let id = self.ids.of(self.lineage.namespace(&self.session), item.id.get(), &["agent", &text]);
        let mode = self.permission_mode.clone().filter(|_| is_task);
        let permission_mode = mode.as_deref();
        self.push(MessageRow { role: Role::User, kind, text: Some(&text), permission_mode, ..blank(&id, position) })
    }
}
