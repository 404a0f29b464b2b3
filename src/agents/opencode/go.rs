//! The Go program that was called OpenCode in 2025, before another took the name: its tokens are only a session's, and
//! of its last call at that.

use std::collections::BTreeMap;
use std::path::Path;

use super::ids::{Identity, Traits};
use super::record::moment;
use super::rows::{Known, NewMessage, Response, Rows};
use super::tokens::Billed;
use super::tools::Call;
use super::transcript::append;
use crate::agents::kit::store::{bytes, each, number, report, text};
use crate::extract::{Reject, Sink};
use crate::source::records::{Flag, List, Object, Text, record};
use crate::source::{Database, repair};
use crate::tables::{MessageKind, Role, Status, UsageGrain, Vocabulary};

record! {
    /// A part of a message.
    GoPart<'a> { kind: Text<'a> = "type", data: Object<GoData<'a>> = "data" }

    /// The data of a part of any kind.
    GoData<'a> {
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        input: Text<'a> = "input",
        call: Text<'a> = "tool_call_id",
        content: Text<'a> = "content",
        is_error: Flag = "is_error",
        reason: Text<'a> = "reason",
    }
}

/// Returns true if a database is that program's.
pub(super) fn is_one(database: &Database) -> Result<bool, Reject> {
    let has_parts = database.columns("messages")?.iter().any(|column| column == "parts");
    Ok(has_parts && database.columns("session")?.is_empty())
}

/// Reads the database, session by session.
pub(super) fn extract(database: &Database, path: &Path, out: &mut Sink<'_>) -> Result<(), Reject> {
    let folder = path.parent().filter(|folder| folder.file_name().is_some_and(|name| name == ".opencode"));
    let project = folder.and_then(Path::parent).and_then(Path::to_str);
    let mut sessions: Vec<(Known, Option<f64>)> = Vec::new();
    let columns = ["id", "parent_session_id", "title", "cost", "created_at"];
    let Some(mut statement) = database.select("sessions", &columns, "ORDER BY created_at, id")? else {
        return Ok(());
    };
    let read = each(&mut statement, [], |row| {
        let known = Known {
            id: text(row, 0).unwrap_or_default(),
            parent: text(row, 1),
            title: text(row, 2),
            directory: project.map(str::to_owned),
            created: number(row, 4).and_then(moment),
            ..Known::default()
        };
        sessions.push((known, row.get(3).ok()));
        Ok(())
    })?;
    report(read, out);
    let columns = ["id", "role", "parts", "model", "created_at"];
    let which = "WHERE session_id = ?1 ORDER BY created_at, rowid";
    let Some(mut messages) = database.select("messages", &columns, which)? else { return Ok(()) };
    for (known, cost) in sessions {
        let id = known.id.clone();
        let mut session = GoSession::new(known, out);
        let read = each(&mut messages, [&id], |row| {
            session.message(&GoMessage {
                id: &text(row, 0).unwrap_or_default(),
                role: &text(row, 1).unwrap_or_default(),
                parts: bytes(row, 2),
                model: text(row, 3).as_deref(),
                created: number(row, 4).and_then(moment),
            })
        })?;
        report(read, session.rows.out);
        session.finish(cost)?;
    }
    Ok(())
}

struct GoMessage<'m> {
    id: &'m str,
    role: &'m str,
    parts: &'m [u8],
    model: Option<&'m str>,
    /// Microseconds since 1970.
    created: Option<i64>,
}

/// A tool call that waits for its result.
struct Waiting {
    seq: i64,
    message: String,
    call: Call,
}

struct GoSession<'o, 'a> {
    rows: Rows<'o, 'a>,
    waiting: BTreeMap<String, Waiting>,
    model: Option<String>,
    /// The last message: place, id, when.
    last: Option<(i64, String, Option<i64>)>,
}

impl<'o, 'a> GoSession<'o, 'a> {
    fn new(known: Known, out: &'o mut Sink<'a>) -> Self {
        Self { rows: Rows::new(known, out), waiting: BTreeMap::new(), model: None, last: None }
    }

    fn message(&mut self, message: &GoMessage<'_>) -> Result<(), Reject> {
        self.rows.record();
        let json = repair(message.parts);
        let parts: List<Object<GoPart<'_>>> = serde_json::from_str(&json).unwrap_or_else(|error| {
            self.rows.problem(message.id, &format!("no JSON list: {error}"));
            List::default()
        });
        let (mut reply_text, mut thinking, mut reason, mut attachments) = (String::new(), String::new(), None, 0);
        let mut calls = Vec::new();
        for part in parts.0.iter().filter_map(|part| part.0.as_ref()) {
            let Some(data) = &part.data.0 else { continue };
            match part.kind.get().unwrap_or_default() {
                "text" => append(&mut reply_text, data.text.get().unwrap_or_default()),
                "reasoning" => append(&mut thinking, data.thinking.get().unwrap_or_default()),
                "tool_call" => calls.push(data),
                "tool_result" => self.result(data, message.created)?,
                "finish" => reason = data.reason.get(),
                "image_url" | "binary" => attachments += 1,
                other => self.rows.out.unknown(&format!("part {other}")),
            }
        }
        if message.role == "tool" {
            return Ok(());
        }
        let is_assistant = message.role == "assistant";
        let role = if is_assistant { Role::Assistant } else { Role::User };
        let traits =
            Traits { role: role.as_str(), created: message.created, model: message.model, ..Traits::default() };
        let identity = self.rows.identity(message.id, traits, false);
        if !is_assistant {
            self.rows.turn();
        }
        let seq = self.rows.seq();
        let new = NewMessage {
            seq,
            timestamp: message.created,
            role,
            kind: match reason {
                Some("canceled") => MessageKind::Abort,
                _ if is_assistant => MessageKind::Reply,
                _ => MessageKind::Prompt,
            },
            text: Some(reply_text.as_str()).filter(|text| !text.is_empty()),
            thinking: Some(thinking.as_str()).filter(|text| !text.is_empty()),
            model: message.model,
            stop_reason: reason,
            is_error: reason == Some("error"),
            attachments,
            ..NewMessage::default()
        };
        self.rows.message(message.id, &identity, &new)?;
        self.last = Some((seq, message.id.to_owned(), message.created));
        self.model = message.model.map(str::to_owned).or(self.model.take());
        self.open_calls(message, &calls)
    }

    /// Keeps the calls of a message until their results come.
    fn open_calls(&mut self, message: &GoMessage<'_>, calls: &[&GoData<'_>]) -> Result<(), Reject> {
        for data in calls {
            let call = Call {
                id: data.id.get().unwrap_or_default().to_owned(),
                name: data.name.get().unwrap_or_default().to_owned(),
                input: data.input.owned(),
                status: Status::Pending,
                start: message.created,
                ..Call::default()
            };
            let waiting = Waiting { seq: self.rows.seq(), message: message.id.to_owned(), call };
            if let Some(unanswered) = self.waiting.insert(waiting.call.id.clone(), waiting) {
                self.push(&unanswered)?;
            }
        }
        Ok(())
    }

    fn result(&mut self, data: &GoData<'_>, ended: Option<i64>) -> Result<(), Reject> {
        let Some(mut waiting) = self.waiting.remove(data.call.get().unwrap_or_default()) else { return Ok(()) };
        let output = data.content.0.as_deref().unwrap_or_default();
        waiting.call.status = match output {
            "permission denied" => Status::Rejected,
            "Tool execution canceled by user" => Status::Interrupted,
            _ if data.is_error.0 => Status::Error,
            _ => Status::Ok,
        };
        waiting.call.output = Some(output.to_owned());
        waiting.call.end = ended;
        self.push(&waiting)
    }

    fn push(&mut self, waiting: &Waiting) -> Result<(), Reject> {
        let identity = Identity::new(self.rows.out.agent(), &waiting.message, Traits::default(), false);
        let id = format!("{}#{}", waiting.message, waiting.call.id);
        self.rows.call_at(waiting.seq, &identity, &id, &waiting.call, None)
    }

    fn finish(mut self, cost: Option<f64>) -> Result<(), Reject> {
        for waiting in std::mem::take(&mut self.waiting).into_values() {
            self.push(&waiting)?;
        }
        if let (Some((seq, message, timestamp)), Some(cost)) = (self.last.take(), cost.filter(|cost| *cost > 0.0)) {
            let id = format!("{}#session", self.rows.known.id);
            let identity = Identity::new(self.rows.out.agent(), &message, Traits::default(), false);
            self.rows.response(
                &identity,
                &Response {
                    id: &id,
                    seq,
                    timestamp,
                    provider: None,
                    model: self.model.as_deref(),
                    billed: Billed::default(),
                    cost: Some(cost),
                    duration_ms: None,
                    stop_reason: None,
                    effort: None,
                    is_partial: false,
                    grain: UsageGrain::Session,
                },
            )?;
        }
        self.rows.finish()
    }
}
