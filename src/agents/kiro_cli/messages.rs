//! Sessions of the third engine, and of subagents there: lines of messages, and a description in the same folder.

use std::path::Path;

use super::content::{plain, text_or_blocks};
use super::record::{Description, Folder, Line, Payload};
use super::state::credits;
use super::{SUBAGENT, description, session_folder};
use crate::agents::amazon_q::{blank_usage, call};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::source::records::{Raw, Text};
use crate::source::{Source, repair};
use crate::tables::{MessageKind, MessageRow, Role, SessionKind, Status, UsageGrain, UsageRow};

/// Reads a session.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let folder = session_folder(source.path, source.kind).unwrap_or(Path::new(""));
    let bytes = source.sidecar(&description(folder)).unwrap_or_default();
    let json = repair(&bytes);
    let described: Description<'_> = serde_json::from_str(&json).unwrap_or_default();
    let named = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let main = described.id.get().unwrap_or(named).to_owned();
    let is_subagent = source.kind == SUBAGENT;
    let id = if is_subagent { format!("{main}/{}", source.stem()) } else { main.clone() };
    let mut thread = Thread::new(Facts {
        session_id: id,
        kind: if is_subagent { SessionKind::Subagent } else { SessionKind::Session },
        project_path: described.folders.0.iter().find_map(|folder| path_of(*folder)),
        title: described.title.get().filter(|_| !is_subagent).map(str::to_owned),
        parent_session_id: is_subagent.then(|| main.clone()),
        root_session_id: is_subagent.then_some(main),
        is_subagent,
        first_moment: described.created.0.filter(|_| !is_subagent),
        ..Facts::default()
    });
    thread.is_sidechain = is_subagent;
    let (model, effort) = (described.model.owned(), described.effort.owned());
    let mut messages = Messages { out, thread, model, effort, asked: None };
    messages.read_all(&mut source.lines()?)?;
    messages.thread.finish(messages.out)
}

/// The path of a folder: a text, or an object that names it.
fn path_of(folder: Raw<'_>) -> Option<String> {
    let json = folder.json()?;
    let path = if json.starts_with('"') {
        serde_json::from_str::<Text<'_>>(json).ok()?
    } else {
        serde_json::from_str::<Folder<'_>>(json).ok()?.path
    };
    path.get().map(|path| path.strip_prefix("file://").unwrap_or(path).to_owned())
}

struct Messages<'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    /// The session's model, for replies that name none.
    model: Option<String>,
    effort: Option<String>,
    /// The call that a permission was asked for.
    asked: Option<String>,
}

impl<'s> RecordReader<'s> for Messages<'_, 's> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"id\"", "{\"timestamp\"", "{\"payload\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, record: &Line<'_>, line: u64) -> Result<(), Reject> {
        let Some(payload) = &record.payload.0 else { return Ok(()) };
        let own = record.id.get().map_or_else(
            || {
                let texts = [payload.content.json(), payload.call.get(), payload.arguments.json(), payload.turn.get()];
                self.thread.prints.name(
                    payload.kind.get().unwrap_or_default(),
                    record.timestamp.0,
                    texts.into_iter().flatten(),
                )
            },
            str::to_owned,
        );
        let id = format!("{}#{own}", self.thread.id());
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        let at = Position::on_line(&id, record.timestamp.0, line);
        match payload.kind.get().unwrap_or_default() {
            "user" => self.take_prompt(payload, &at),
            "assistant" => self.take_reply(payload, &at),
            "tool_call" => self.take_call(payload, &at),
            "tool_result" => self.take_result(payload, &at, own.ends_with("-synthetic")),
            "usage_summary" => self.take_usage(payload, &at),
            "turn_end" => self.take_end(payload, &at),
            "sub_agent_start" => {
                self.take_subagent(payload);
                Ok(())
            }
            "pending_interaction" => {
                self.asked = payload.call.owned();
                Ok(())
            }
            "interaction_resolved" => {
                self.take_decision(payload);
                Ok(())
            }
            // The system prompt, marks without content, the fill of the context.
            "session_start" | "turn_start" | "session_metadata" | "tombstone" => Ok(()),
            other => {
                self.out.unknown(&format!("payload {other}"));
                Ok(())
            }
        }
    }
}

impl Messages<'_, '_> {
    fn push(&mut self, at: &Position<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        self.thread.message(at, row, self.out).map(drop)
    }

    fn take_prompt(&mut self, payload: &Payload<'_>, at: &Position<'_>) -> Result<(), Reject> {
        self.thread.begin_turn();
        let (text, attachments) = text_or_blocks(payload.content);
        self.push(at, MessageRow { text: text.as_deref(), attachments, ..blank(Role::User, MessageKind::Prompt) })
    }

    /// Thinking is stored as `...` only.
    fn take_reply(&mut self, payload: &Payload<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let (text, _) = text_or_blocks(payload.content);
        let text = text.as_deref().filter(|text| !text.is_empty());
        let model = payload.model.owned().or_else(|| self.model.clone());
        let row = match payload.operation.get() {
            Some("Summary") => MessageRow { text, ..blank(Role::System, MessageKind::Compaction) },
            Some("Reasoning") => {
                let Some(thinking) = text.filter(|text| text.trim() != "...") else { return Ok(()) };
                MessageRow {
                    thinking: Some(thinking),
                    model: model.as_deref(),
                    ..blank(Role::Assistant, MessageKind::Reply)
                }
            }
            _ => MessageRow { text, model: model.as_deref(), ..blank(Role::Assistant, MessageKind::Reply) },
        };
        self.push(at, row)
    }

    fn take_call(&mut self, payload: &Payload<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let id = payload.call.get().unwrap_or(at.id);
        let message_id = self.thread.last_reply().map(str::to_owned);
        let call = Call { message_id, ..call(id, payload.tool.get(), payload.arguments.json()) };
        self.thread.open_call(at, call, self.out).map(drop)
    }

    fn take_result(&mut self, payload: &Payload<'_>, at: &Position<'_>, is_synthetic: bool) -> Result<(), Reject> {
        let has_failed = payload.success.json() == Some("false");
        let status = match has_failed {
            true if is_synthetic => Status::Interrupted,
            true => Status::Error,
            false => Status::Ok,
        };
        let output = text_or_blocks(payload.content).0.or_else(|| plain(payload.content));
        if let Some(call) = self.thread.calls.take(payload.call.get().unwrap_or_default()) {
            let status = if call.was_refused { Status::Rejected } else { status };
            let end = Outcome { status, output, ended_at: at.moment, ..Outcome::default() };
            self.thread.close_call(&call, &end, self.out)?;
        }
        self.push(at, MessageRow { is_error: has_failed, ..blank(Role::Tool, MessageKind::ToolResult) })
    }

    /// A turn's credits are no money and no tokens; the row says which model ran, and when.
    fn take_usage(&mut self, payload: &Payload<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let session = self.thread.id();
        let id = payload.turn.get().map_or_else(|| at.id.to_owned(), |turn| format!("{session}#{turn}"));
        if !self.thread.is_new(Kind::Response, &id) {
            return Ok(());
        }
        let message = self.thread.last_reply().map(str::to_owned);
        let model = payload.model.owned().or_else(|| self.model.clone());
        let charged = payload.charged.0.iter().filter_map(|charged| charged.0.as_ref());
        let row = UsageRow {
            message_id: message.as_deref(),
            turn: self.thread.turn,
            model: model.as_deref(),
            reasoning_effort: self.effort.as_deref(),
            credits: credits(charged.map(|charged| (&charged.unit, charged.usage))),
            ..blank_usage(&id, UsageGrain::Turn)
        };
        self.thread.bill(at, row, self.thread.last_seq(), self.out)
    }

    fn take_end(&mut self, payload: &Payload<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let reason = payload.reason.get().unwrap_or("end_turn");
        let lower = reason.to_ascii_lowercase();
        let kind = match lower.as_str() {
            "end_turn" | "endturn" | "completed" | "success" => return Ok(()),
            lower if ["cancel", "abort", "interrupt"].iter().any(|word| lower.contains(word)) => MessageKind::Abort,
            lower if ["error", "fail"].iter().any(|word| lower.contains(word)) => MessageKind::ApiError,
            _ => MessageKind::Notice,
        };
        let is_error = kind == MessageKind::ApiError;
        self.push(at, MessageRow { text: Some(reason), is_error, ..blank(Role::System, kind) })
    }

    fn take_subagent(&mut self, payload: &Payload<'_>) {
        let Some(subagent) = payload.subagent.get() else { return };
        let child = format!("{}/{subagent}", self.thread.id());
        let call = match payload.call.get() {
            Some(id) => self.thread.calls.get(id),
            None => self.thread.calls.last(),
        };
        if let Some(call) = call {
            call.child = Some(child);
        }
    }

    fn take_decision(&mut self, payload: &Payload<'_>) {
        let asked = payload.call.owned().or(self.asked.take());
        let option = payload.option.json().unwrap_or_default().to_ascii_lowercase();
        let is_refusal = ["reject", "deny", "decline"].iter().any(|word| option.contains(word));
        let call = match asked {
            Some(id) => self.thread.calls.get(&id),
            None => self.thread.calls.last(),
        };
        if let Some(call) = call.filter(|_| is_refusal) {
            (call.was_refused, call.status) = (true, Status::Rejected);
        }
    }
}
