//! Messages: prompts, replies, notices, compactions, permissions.

use super::call::Call;
use super::record::{AssistantMessage, Compaction, Notice, Permission, UserMessage};
use super::thread::Reply;
use super::transcript::{Asked, EventHead, Transcript};
use crate::extract::{Kind, Reject, error_type, key};
use crate::tables::{MessageKind, MessageRow, Role};

/// Beginnings of texts that the program writes in the person's name.
const INJECTED: [&str; 4] = ["<skill-context", "<reminder>", "<system_notification>", "<system_reminder>"];

impl Transcript<'_, '_> {
    pub(super) fn take_user(&mut self, head: &EventHead<'_>, message: &UserMessage<'_>) -> Result<(), Reject> {
        self.count_unknown(head, &message.unknown);
        let thread = self.thread_of(head.agent, message.parent_call.get());
        let text = message.content.get();
        let is_child = thread > 0;
        let is_injected = message.is_continuation.0
            || message.source.get().is_some_and(|source| {
                source.starts_with("skill-")
                    || source.starts_with("system")
                    || (source.starts_with("agent-") && !is_child)
                    || source == "autopilot"
            })
            || text.is_some_and(|text| INJECTED.iter().any(|opening| text.trim_start().starts_with(opening)));
        self.close_reply(thread)?;
        self.has_conversation |= !is_injected;
        if !is_injected {
            self.begin_turn(thread);
        }
        self.push(thread, head, |row| MessageRow {
            role: Role::User,
            kind: if is_injected { MessageKind::Meta } else { MessageKind::Prompt },
            text,
            attachments: i64::try_from(message.attachments.0.len()).unwrap_or(0),
            ..row
        })
    }

    fn begin_turn(&mut self, thread: usize) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.turn = Some(thread.turn.unwrap_or(0) + 1);
        }
    }

    pub(super) fn take_assistant(
        &mut self,
        head: &EventHead<'_>,
        message: &AssistantMessage<'_>,
    ) -> Result<(), Reject> {
        self.count_unknown(head, &message.unknown);
        let thread = self.thread_of(head.agent, message.parent_call.get());
        let response = message.api_call.get().or(message.request.get()).or(message.message.get()).unwrap_or(head.id);
        let is_open = self.threads.get(thread).and_then(|thread| thread.reply.as_ref());
        if is_open.is_some_and(|reply| reply.response == response && !reply.is_full()) {
            // A fork may begin with this chunk.
            self.turn_to(thread);
            self.out.claim(key(super::AGENT, Kind::Message, head.id), false);
        } else {
            self.close_reply(thread)?;
            self.open_reply(thread, head, response, message);
        }
        let Some(state) = self.threads.get_mut(thread) else { return Ok(()) };
        let Some(reply) = &mut state.reply else { return Ok(()) };
        for (text, more) in [(&mut reply.text, &message.content), (&mut reply.thinking, &message.thinking)] {
            text.push_str(more.get().unwrap_or_default());
        }
        let (message_id, seq, turn, model) = (reply.id.clone(), reply.seq, reply.turn, reply.model.clone());
        let settings = state.settings.clone();
        for request in message.requests.0.iter().filter_map(|request| request.0.as_ref()) {
            self.open_requested(thread, head, request, &message_id, response)?;
        }
        let (timestamp, line, is_named) = (head.timestamp, head.line, message.api_call.get().is_some());
        let request = message.request.owned();
        let call =
            Call { seq, turn, timestamp, line, model, settings, request, is_named, ..Call::new(thread, response) };
        self.ledger.note_reply(&call, &message_id, message.output);
        Ok(())
    }

    fn open_reply(&mut self, thread: usize, head: &EventHead<'_>, response: &str, message: &AssistantMessage<'_>) {
        self.has_conversation = true;
        let Some(thread) = self.threads.get_mut(thread) else { return };
        let model = message.model.owned().or_else(|| thread.model.clone());
        let seq = thread.next_seq();
        thread.reply = Some(Reply {
            id: head.id.to_owned(),
            response: response.to_owned(),
            parent: thread.last_message.replace(head.id.to_owned()),
            seq,
            turn: thread.turn,
            timestamp: head.timestamp,
            text: String::new(),
            thinking: String::new(),
            model,
            line: head.line,
        });
    }

    /// Emits the complete reply.
    pub(super) fn close_reply(&mut self, thread: usize) -> Result<(), Reject> {
        self.turn_to(thread);
        let is_sidechain = thread > 0;
        let Some(thread) = self.threads.get_mut(thread) else { return Ok(()) };
        let Some(reply) = thread.reply.take() else { return Ok(()) };
        let row = MessageRow {
            session_id: &thread.session,
            seq: reply.seq,
            message_id: &reply.id,
            parent_id: reply.parent.as_deref(),
            turn: reply.turn,
            timestamp: reply.timestamp,
            role: Role::Assistant,
            kind: MessageKind::Reply,
            text: Some(reply.text.as_str()).filter(|text| !text.is_empty()),
            thinking: Some(reply.thinking.as_str()).filter(|text| !text.is_empty()),
            model: reply.model.as_deref(),
            response_id: Some(&reply.response),
            is_sidechain,
            cwd: thread.cwd.as_deref(),
            git_branch: thread.branch.as_deref(),
            source_line: Some(reply.line),
            ..MessageRow::default()
        };
        self.out.message(row, false)?;
        Ok(())
    }

    /// Adds a message of one event. `describe` sets the values that differ from those of a notice of the program.
    fn push<'r>(
        &mut self,
        thread: usize,
        head: &EventHead<'r>,
        describe: impl FnOnce(MessageRow<'r>) -> MessageRow<'r>,
    ) -> Result<(), Reject> {
        self.turn_to(thread);
        let is_sidechain = thread > 0;
        let Some(thread) = self.threads.get_mut(thread) else { return Ok(()) };
        let seq = thread.next_seq();
        let parent = thread.last_message.replace(head.id.to_owned());
        let described = describe(MessageRow {
            seq,
            message_id: head.id,
            turn: thread.turn,
            timestamp: head.timestamp,
            role: Role::System,
            kind: MessageKind::Notice,
            is_sidechain,
            source_line: Some(head.line),
            ..MessageRow::default()
        });
        let row = MessageRow {
            session_id: &thread.session,
            parent_id: parent.as_deref(),
            cwd: thread.cwd.as_deref(),
            git_branch: thread.branch.as_deref(),
            ..described.shorten()
        };
        self.out.message(row, false)?;
        Ok(())
    }

    pub(super) fn take_notice(&mut self, head: &EventHead<'_>, notice: &Notice<'_>) -> Result<(), Reject> {
        let thread = self.thread_of(head.agent, None);
        let text = notice.content.get();
        let (role, kind, text) = match head.kind {
            "session.error" => (Role::System, MessageKind::ApiError, text),
            "system.message" => (Role::System, MessageKind::Meta, text),
            "session.context_cleared" => (Role::User, MessageKind::Command, Some("/clear")),
            "abort" => (Role::System, MessageKind::Abort, text),
            _ => (Role::System, MessageKind::Notice, text),
        };
        if kind == MessageKind::Command {
            self.close_reply(thread)?;
            self.begin_turn(thread);
        }
        if kind == MessageKind::Abort {
            self.calls.interrupt_all();
        }
        self.has_conversation |= kind == MessageKind::ApiError;
        let is_error = kind == MessageKind::ApiError;
        let error_type = is_error.then(|| error_type(notice.error_type.get(), notice.status.0, text));
        self.push(thread, head, |row| MessageRow { role, kind, text, is_error, error_type, ..row })
    }

    pub(super) fn take_permission(&mut self, head: &EventHead<'_>, permission: &Permission<'_>) -> Result<(), Reject> {
        self.count_unknown(head, &permission.unknown);
        let request = permission.request.get().unwrap_or_default();
        if let Some(asked) = &permission.asked.0 {
            let call = asked.call.owned();
            if let Some(call) = &call {
                self.calls.ask(call, head.timestamp);
            }
            let kind = asked.kind.get().unwrap_or("permission").to_owned();
            self.asked.insert(request.to_owned(), Asked { kind, call });
        }
        let Some(result) = &permission.result.0 else { return Ok(()) };
        let asked = self.asked.remove(request);
        let answer = result.kind.get().unwrap_or("unknown");
        let call = permission.call.owned().or(asked.as_ref().and_then(|asked| asked.call.clone()));
        if let Some(call) = call {
            self.calls.decide(&call, answer, head.timestamp);
        }
        let kind = asked.as_ref().map_or("permission", |asked| asked.kind.as_str());
        let feedback = result.feedback.get().map(|feedback| format!(": {feedback}")).unwrap_or_default();
        let text = format!("{kind}: {answer}{feedback}");
        let thread = self.thread_of(head.agent, None);
        self.push(thread, head, |row| MessageRow { kind: MessageKind::Permission, text: Some(&text), ..row })
    }

    pub(super) fn take_compaction(&mut self, head: &EventHead<'_>, compaction: &Compaction<'_>) -> Result<(), Reject> {
        let thread = self.thread_of(head.agent, None);
        let done = compaction.success.0;
        if let Some(tokens) = &compaction.tokens.0 {
            let call = self.call_at(thread, head, &format!("compaction:{}", head.id));
            let model = self.threads.get(thread).and_then(|thread| thread.model.clone());
            self.ledger.note_compaction(call, model, compaction.request.get(), tokens);
        }
        self.push(thread, head, |row| MessageRow {
            kind: if done { MessageKind::Compaction } else { MessageKind::Notice },
            text: compaction.summary.get().or(compaction.error.get()),
            is_error: !done,
            duration_ms: compaction.tokens.0.as_ref().and_then(|tokens| tokens.duration.0),
            ..row
        })
    }

    /// Returns a model call that an event reports.
    pub(super) fn call_at(&self, thread: usize, head: &EventHead<'_>, response: &str) -> Call {
        let (seq, turn) = self.threads.get(thread).map(|thread| (thread.seq, thread.turn)).unwrap_or_default();
        Call { seq, turn, timestamp: head.timestamp, line: head.line, ..Call::new(thread, response) }
    }
}
