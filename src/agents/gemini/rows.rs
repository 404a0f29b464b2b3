//! Rows of the versions that count.

use std::borrow::Cow;

use super::AGENT;
use super::content::{Content, thinking_of};
use super::place::Origin;
use super::record::{Arguments, Call, Record};
use super::survey::{Entry, Survey};
use super::tools;
use crate::agents::kit::shown;
use crate::agents::kit::texts::append;
use crate::extract::{EditedLines, KeySet, Kind, NoteField, Reject, Sink, key, session_key};
use crate::tables::{Category, MessageKind, MessageRow, Status, ToolCallRow, UsageRow};

/// Emits the rows of one session.
pub(super) struct Rows<'r, 'o, 's> {
    pub(super) out: &'o mut Sink<'s>,
    session_id: &'r str,
    survey: &'r Survey,
    origin: &'r Origin,
    /// Places of the messages that the conversation left.
    left: Vec<usize>,
    /// Calls that were handed on: what repeats them does not do so again.
    calls: KeySet,
}

impl<'r, 'o, 's> Rows<'r, 'o, 's> {
    pub(super) fn new(out: &'o mut Sink<'s>, session_id: &'r str, survey: &'r Survey, origin: &'r Origin) -> Self {
        Self { out, session_id, survey, origin, left: Vec::new(), calls: KeySet::default() }
    }

    /// Emits a message and its calls.
    pub(super) fn push(&mut self, record: &Record<'_>, entry: &Entry) -> Result<(), Reject> {
        let content = Content::of(record.content);
        let shown = Content::of(record.display).text;
        let mut thinking = thinking_of(record.thoughts);
        content.thinking.into_iter().for_each(|text| append(&mut thinking, text, "\n"));
        let id = self.message_id(entry);
        let parent = entry.parent.and_then(|parent| self.survey.entries.get(parent as usize));
        let parent = parent.map(|parent| self.message_id(parent));
        let kind = record.kind.get();
        let row = MessageRow {
            session_id: self.session_id,
            seq: entry.seq,
            message_id: &id,
            parent_id: parent.as_deref(),
            turn: entry.turn,
            timestamp: entry.timestamp,
            role: super::kinds::role_of(kind),
            kind: entry.kind,
            text: shown.as_deref().or(content.text.as_deref()),
            thinking: thinking.as_deref(),
            model: entry.model.as_deref(),
            response_id: Some(&*id).filter(|_| entry.kind == MessageKind::Reply),
            is_error: kind == Some("error"),
            attachments: content.attachments,
            source_line: self.origin.line(entry.first_line),
            ..MessageRow::default()
        };
        let place = self.out.message(row, self.origin.is_document)?;
        if entry.is_left {
            self.left.push(place);
        }
        let calls = record.calls.0.iter().filter_map(|call| call.0.as_ref());
        for (seq, call) in (entry.seq + 1..).zip(calls) {
            self.push_call(call, entry, &id, seq)?;
        }
        Ok(())
    }

    fn push_call(&mut self, call: &Call<'_>, entry: &Entry, message_id: &str, seq: i64) -> Result<(), Reject> {
        let call_id = match call.id.get() {
            Some(id) => format!("{}#{id}", self.session_id),
            None => format!("{message_id}#{}", seq - entry.seq),
        };
        let key = key(AGENT, Kind::ToolCall, &call_id);
        if !self.calls.insert(key) {
            return Ok(());
        }
        let name = call.name.get().unwrap_or("unknown");
        let input = call.args.json();
        let arguments: Arguments<'_> = input.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let category = tools::category(call);
        let output = tools::output_of(call);
        let outcome = tools::outcome(call.status.get(), category, output.as_deref());
        let command = super::content::text_of(arguments.command).filter(|_| category == Category::Shell);
        let child = self.child_of(call);
        if let Some(child) = &child
            && let Some(kind) = tools::subagent_type(call, &arguments)
        {
            self.out.note(NoteField::SubagentType, session_key(AGENT, child), 0, &kind);
        }
        let file_path = tools::file_of(category, &arguments);
        let is_edit = matches!(category, Category::Edit | Category::Write);
        let lines = if is_edit { shown::edited_lines(call.display) } else { EditedLines::default() };
        let row = ToolCallRow {
            session_id: self.session_id,
            seq,
            call_id: &call_id,
            message_id: Some(message_id),
            response_id: Some(message_id).filter(|_| entry.kind == MessageKind::Reply),
            turn: entry.turn,
            name,
            category,
            mcp_server: tools::mcp_server(call),
            input,
            command: command.as_deref(),
            file_path: file_path.as_deref(),
            status: outcome.status,
            is_denied: Some(outcome.is_denied || call.error_type.is("policy_violation")),
            exit_code: outcome.exit_code,
            output: output.as_deref(),
            lines_added: lines.added,
            lines_removed: lines.removed,
            started_at: entry.timestamp,
            ended_at: call.timestamp.0.filter(|_| outcome.status != Status::Pending),
            child_session_id: child.as_deref(),
            source_line: self.origin.line(entry.first_line),
            ..ToolCallRow::default()
        };
        // If another file of the session knows how the call ended, that file's row wins.
        self.out.tool_call(row, self.origin.is_document || outcome.status == Status::Pending)
    }

    /// The subagent's session that a call started; a subagent's own calls name itself.
    fn child_of(&self, call: &Call<'_>) -> Option<String> {
        let agent = call.agent.get().filter(|agent| *agent != self.origin.stem)?;
        Some(format!("{}/{agent}", self.session_id))
    }

    /// Emits what was billed, and what the conversation left.
    pub(super) fn finish(&mut self) -> Result<(), Reject> {
        for entry in &self.survey.entries {
            let Some(numbers) = entry.numbers else { continue };
            let id = self.message_id(entry);
            let row = UsageRow {
                session_id: self.session_id,
                message_id: Some(&id),
                response_id: &id,
                turn: entry.turn,
                timestamp: entry.timestamp,
                model: entry.model.as_deref(),
                provider: Some("google"),
                input_tokens: numbers.input,
                cache_read_tokens: Some(numbers.cache_read),
                cache_write_5m_tokens: Some(0),
                cache_write_1h_tokens: Some(0),
                output_tokens: Some(numbers.output),
                reasoning_tokens: numbers.reasoning,
                copies: entry.billed - 1,
                source_line: self.origin.line(entry.first_line),
                ..UsageRow::default()
            };
            self.out.usage(row, entry.seq, self.origin.is_document)?;
        }
        self.out.abandon(&self.left);
        Ok(())
    }

    /// A message's id, unique over all sessions: the program's own are UUIDs, others are within their session only.
    fn message_id<'e>(&self, entry: &'e Entry) -> Cow<'e, str> {
        let mut id = Cow::Borrowed(&*entry.id);
        if uuid::Uuid::try_parse(&entry.id).is_err() {
            id = format!("{}#{id}", self.session_id).into();
        }
        if entry.is_second {
            id.to_mut().push_str(if entry.is_reply { "#reply" } else { "#prompt" });
        }
        id
    }
}
