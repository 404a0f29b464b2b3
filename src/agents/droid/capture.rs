//! What `droid exec --output-format stream-json` printed, kept in a file: a session as far as it was seen. The
//! session's own file overrides it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::calls::{Calls, Name, Place, command_result};
use super::content::said;
use super::model::model_name;
use super::record::{CaptureLine, CaptureUsage};
use super::reminder::without_reminders;
use super::settings::{Total, tokens};
use super::tools::ToolResult;
use super::transcript::blank_row;
use super::{AGENT, messages_key, total_key};
use crate::agents::ids::{Given, qualified};
use crate::agents::kit::facts::keep_earlier;
use crate::extract::{Facts, Kind, Reject, Sink, key};
use crate::source::Source;
use crate::source::jsonl::RecordReader;
use crate::tables::{MessageKind, MessageRow, Role, UsageGrain, UsageRow};

/// Reads a capture into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut capture = Capture { out, session_id: None, unnamed: source.stem(), sessions: BTreeMap::new() };
    capture.read_all(&mut source.lines()?)?;
    capture.finish()
}

struct Capture<'o, 'a, 's> {
    out: &'o mut Sink<'a>,
    /// The session that was last named.
    session_id: Option<String>,
    /// Name of the session of lines before any is named.
    unnamed: &'s str,
    sessions: BTreeMap<String, Session>,
}

/// One session of a capture.
#[derive(Default)]
struct Session {
    folder: Option<String>,
    first_moment: Option<i64>,
    model: Option<String>,
    seq: i64,
    turn: Option<i64>,
    /// Turns that were completed.
    completed: i64,
    /// Id and text of the turn's last reply.
    reply: Option<(String, String)>,
    calls: Calls,
    /// Names of turns so far.
    given: Given,
}

impl<'a> RecordReader<'a> for Capture<'_, 'a, '_> {
    type Record = CaptureLine<'static>;
    const STARTS: &'static [&'static str] = &["{\"type\""];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.out
    }

    fn take(&mut self, line: &CaptureLine<'_>, number: u64) -> Result<(), Reject> {
        let kind = line.kind.get().unwrap_or_default();
        if !matches!(kind, "system" | "message" | "tool_call" | "tool_result" | "completion" | "error") {
            self.out.unknown(&format!("record {kind}"));
            return Ok(());
        }
        for field in &line.unknown {
            self.out.unknown(&format!("field {field}"));
        }
        if let Some(session) = line.session.get().filter(|session| self.session_id.as_deref() != Some(*session)) {
            self.session_id = Some(session.to_owned());
        }
        let id = self.session_id.as_deref().unwrap_or(self.unnamed);
        self.out.turn_to(id);
        if !self.sessions.contains_key(id) {
            self.sessions.insert(id.to_owned(), Session::default());
        }
        let Some(session) = self.sessions.get_mut(id) else { return Ok(()) };
        session.take(id, kind, line, number, self.out)
    }
}

impl Capture<'_, '_, '_> {
    fn finish(self) -> Result<(), Reject> {
        for (id, mut session) in self.sessions {
            self.out.turn_to(&id);
            session.calls.finish(&id, self.out)?;
            self.out.end_session(Facts {
                session_id: id,
                project_path: session.folder,
                first_moment: session.first_moment,
                ..Facts::default()
            })?;
        }
        Ok(())
    }
}

impl Session {
    fn take(
        &mut self,
        id: &str,
        kind: &str,
        line: &CaptureLine<'_>,
        number: u64,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        keep_earlier(&mut self.first_moment, line.timestamp.0);
        if let Some(model) = line.model.get() {
            self.model = Some(model_name(model).to_owned());
        }
        match kind {
            "system" => {
                self.folder = self.folder.take().or(line.cwd.owned());
                Ok(())
            }
            "message" => self.take_message(id, line, number, out),
            "tool_call" => self.take_call(id, line, number, out),
            "tool_result" => self.take_result(id, line, number, out),
            "completion" => self.take_completion(id, line, number, out),
            _ => {
                let message_id = own_id(id, line, number);
                let text = line.message.get();
                let row = MessageRow { kind: MessageKind::ApiError, text, is_error: true, ..blank_row(&message_id) };
                self.push(id, line, number, row, out)
            }
        }
    }

    fn push(
        &mut self,
        id: &str,
        line: &CaptureLine<'_>,
        number: u64,
        row: MessageRow<'_>,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        let row = MessageRow {
            session_id: id,
            seq: self.seq,
            turn: self.turn,
            timestamp: line.timestamp.0,
            source_line: i64::try_from(number).ok(),
            ..row
        };
        self.seq += 1;
        let message_id = row.message_id;
        out.message(row, true)?;
        // One with an id of the agent's is the session's own of that id.
        if line.id.get().is_none() || line.kind.is("completion") {
            out.yields_to(Kind::Message, message_id, messages_key(id), None);
        }
        Ok(())
    }

    fn take_message(
        &mut self,
        id: &str,
        line: &CaptureLine<'_>,
        number: u64,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        let message_id = own_id(id, line, number);
        let text = line.text.get().unwrap_or_default();
        if line.role.is("assistant") {
            self.reply = Some((message_id.to_string(), text.to_owned()));
            let model = self.model.clone();
            let row = MessageRow {
                role: Role::Assistant,
                kind: MessageKind::Reply,
                text: Some(text),
                model: model.as_deref(),
                ..blank_row(&message_id)
            };
            return self.push(id, line, number, row, out);
        }
        let typed = without_reminders(text);
        let is_prompt = !typed.is_empty() && !line.role.is("system");
        if is_prompt {
            self.turn = Some(self.turn.unwrap_or(0) + 1);
            self.reply = None;
        }
        let row = MessageRow {
            role: if line.role.is("system") { Role::System } else { Role::User },
            kind: if is_prompt { MessageKind::Prompt } else { MessageKind::Meta },
            text: Some(if is_prompt { &*typed } else { text }),
            ..blank_row(&message_id)
        };
        self.push(id, line, number, row, out)
    }

    fn take_call(&mut self, id: &str, line: &CaptureLine<'_>, number: u64, out: &mut Sink<'_>) -> Result<(), Reject> {
        let raw_id = line.call.get().or(line.id.get());
        let made_up = if raw_id.is_none() { format!("{id}#line-{number}") } else { String::new() };
        let of = Name { session: id, namespace: id, id: raw_id, made_up: &made_up };
        let name = line.tool.get().or(line.tool_id.get()).unwrap_or("unknown");
        let message_id = line.message_id.get().map(|message| qualified(id, message));
        let place = self.place(message_id.as_deref(), line, number);
        self.seq += i64::from(self.calls.open(of, name, &line.parameters, &place, out)?);
        Ok(())
    }

    fn take_result(&mut self, id: &str, line: &CaptureLine<'_>, number: u64, out: &mut Sink<'_>) -> Result<(), Reject> {
        let raw_id = line.call.get().or(line.id.get());
        let made_up = if raw_id.is_none() { format!("{id}#line-{number}") } else { String::new() };
        let of = Name { session: id, namespace: id, id: raw_id, made_up: &made_up };
        let place = self.place(None, line, number);
        let result = ToolResult { is_error: said(&line.is_error), at: line.timestamp.0, ..command_result(&line.value) };
        self.seq += i64::from(self.calls.close(of, &result, &place, out)?);
        Ok(())
    }

    fn place<'p>(&self, message_id: Option<&'p str>, line: &CaptureLine<'_>, number: u64) -> Place<'p> {
        Place { seq: self.seq, message_id, turn: self.turn, at: line.timestamp.0, line: number, weak: true }
    }

    /// The end of a turn: its last reply, unless a message held it, and what it was billed for.
    fn take_completion(
        &mut self,
        id: &str,
        line: &CaptureLine<'_>,
        number: u64,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        self.completed += 1;
        let name = self.name_of_turn(line);
        let model = self.model.clone();
        if let Some(text) = line.final_text.get()
            && self.reply.as_ref().is_none_or(|(_, reply)| reply.trim() != text.trim())
        {
            let message_id = format!("{id}#final-{name}");
            let row = MessageRow {
                role: Role::Assistant,
                kind: MessageKind::Reply,
                text: Some(text),
                model: model.as_deref(),
                ..blank_row(&message_id)
            };
            self.push(id, line, number, row, out)?;
            self.reply = Some((message_id, String::new()));
        }
        let reply = self.reply.take().map(|(id, _)| id);
        let Some(total) = line.usage.0.as_ref().and_then(total_of) else { return Ok(()) };
        let response_id = format!("{id}#turn-{name}");
        let row = UsageRow {
            message_id: reply.as_deref(),
            turn: self.turn,
            timestamp: line.timestamp.0,
            model: model.as_deref(),
            duration_ms: line.duration.0.filter(|ms| *ms >= 0),
            grain: UsageGrain::Turn,
            source_line: i64::try_from(number).ok(),
            ..total.row(id, &response_id)
        };
        out.usage(row, self.seq - 1, true)?;
        out.yields_to(Kind::Response, &response_id, total_key(id), None);
        Ok(())
    }

    /// What tells a turn from those of other captures of the same session, which each program counts from 1.
    fn name_of_turn(&mut self, line: &CaptureLine<'_>) -> String {
        let moment = line.timestamp.0.map(|at| at.to_string());
        let reply = || self.reply.as_ref().map(|(id, _)| id.clone()).filter(|id| !id.contains("#line-"));
        let name = moment.or_else(reply).unwrap_or_else(|| self.completed.to_string());
        self.given.numbered(key(AGENT, Kind::Response, &name), name)
    }
}

/// The id of a line's message.
fn own_id<'l>(session: &str, line: &'l CaptureLine<'_>, number: u64) -> Cow<'l, str> {
    match line.id.get() {
        Some(id) => qualified(session, id),
        None => Cow::Owned(format!("{session}#line-{number}")),
    }
}

fn total_of(usage: &CaptureUsage<'_>) -> Option<Total> {
    let [input, output, cache_read, cache_write] =
        [usage.input, usage.output, usage.cache_read, usage.cache_write].map(tokens);
    let is_billed = [input, output, cache_read, cache_write].into_iter().flatten().any(|count| count > 0);
    is_billed.then_some(Total { input, cache_read, cache_write, output, reasoning: None })
}
