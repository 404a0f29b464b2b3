//! The table `session_message` of 2.x: one row for each message, an API call each where it is the model's.

use super::ids::{Finished, Identity, Traits, steps_key};
use super::record::{self, Event, Failure, Part};
use super::rows::{Known, NewMessage, Response, Rows};
use super::tokens::{Billed, Counter};
use super::tools::{Call, answer_end, between};
use super::transcript::append;
use crate::extract::{Kind, Reject, Sink};
use crate::source::records::{List, Object};
use crate::tables::{MessageKind, Role, Status, UsageGrain};

/// Rows about the program's own actions.
const IGNORED: [&str; 1] = ["idle"];

/// One row of the table.
pub(super) struct EventRow<'r> {
    pub(super) id: &'r str,
    pub(super) kind: &'r str,
    /// Microseconds since 1970.
    pub(super) created: Option<i64>,
    /// True if it was copied from the session that this one is a fork of.
    pub(super) is_replay: bool,
    pub(super) data: &'r [u8],
}

/// Takes a session's messages in order.
pub(super) struct Events<'o, 'a> {
    pub(super) rows: Rows<'o, 'a>,
    model: Option<String>,
    provider: Option<String>,
}

impl<'o, 'a> Events<'o, 'a> {
    pub(super) fn new(known: Known, out: &'o mut Sink<'a>) -> Self {
        Self { rows: Rows::new(known, out), model: None, provider: None }
    }

    /// Takes a row.
    pub(super) fn row(&mut self, row: &EventRow<'_>) -> Result<(), Reject> {
        self.rows.record();
        record::read::<Event<'static>, _>(row.data, |read| match read {
            Ok(event) => self.take(row, &event),
            Err(reason) => {
                self.rows.problem(row.id, &reason);
                Ok(())
            }
        })
    }

    fn take(&mut self, row: &EventRow<'_>, event: &Event<'_>) -> Result<(), Reject> {
        self.rows.out.unknown_fields("message field ", &event.unknown);
        match row.kind {
            "assistant" => self.assistant(row, event),
            "shell" => self.shell(row, event),
            "user" => {
                self.rows.turn();
                let attachments = i64::try_from(event.files.0.len()).unwrap_or_default();
                self.plain(
                    row,
                    event,
                    &NewMessage {
                        role: Role::User,
                        kind: MessageKind::Prompt,
                        attachments,
                        permission_mode: event.agent.get(),
                        ..system_message(event.text.get())
                    },
                )
            }
            "compaction" => self.plain(
                row,
                event,
                &NewMessage { kind: MessageKind::Compaction, ..system_message(event.summary.get()) },
            ),
            "synthetic" => self.plain(row, event, &NewMessage { role: Role::User, ..system_message(event.text.get()) }),
            "system" => self.plain(row, event, &system_message(event.text.get())),
            "agent-switched" => self.plain(row, event, &system_message(event.agent.get())),
            "model-switched" => {
                let model = event.model.0.as_ref();
                self.model = model.and_then(|model| model.id.get()).map(str::to_owned);
                self.provider = model.and_then(|model| model.provider.get()).map(str::to_owned);
                self.plain(row, event, &system_message(self.model.clone().as_deref()))
            }
            "location-switched" => self.plain(row, event, &system_message(None)),
            kind if IGNORED.contains(&kind) => Ok(()),
            kind => {
                self.rows.out.unknown(&format!("message {kind}"));
                Ok(())
            }
        }
    }

    fn identity(&mut self, row: &EventRow<'_>, event: &Event<'_>) -> (Identity, Option<i64>) {
        let times = event.time.0.as_ref();
        let created = times.and_then(|times| times.created.0).or(row.created);
        let completed = times.and_then(|times| times.completed.0).filter(|_| row.kind == "assistant");
        let model = event.model.0.as_ref();
        let traits = Traits {
            role: if row.kind == "assistant" { "assistant" } else { row.kind },
            created,
            provider: model.and_then(|model| model.provider.get()),
            model: model.and_then(|model| model.id.get()),
            finished: Finished::of(completed, event.tokens.0.as_ref(), event.cost.0),
        };
        (self.rows.identity(row.id, traits, row.is_replay), created)
    }

    fn plain(&mut self, row: &EventRow<'_>, event: &Event<'_>, new: &NewMessage<'_>) -> Result<(), Reject> {
        let (identity, timestamp) = self.identity(row, event);
        let seq = self.rows.seq();
        self.rows.message(row.id, &identity, &NewMessage { seq, timestamp, ..*new })
    }

    /// A command that the person ran.
    fn shell(&mut self, row: &EventRow<'_>, event: &Event<'_>) -> Result<(), Reject> {
        self.rows.turn();
        let (identity, timestamp) = self.identity(row, event);
        let seq = self.rows.seq();
        let new = NewMessage {
            seq,
            timestamp,
            role: Role::User,
            kind: MessageKind::Command,
            ..system_message(event.command.get())
        };
        self.rows.message(row.id, &identity, &new)?;
        let end = event.time.0.as_ref().and_then(|times| times.completed.0);
        let call = Call {
            id: event.call.get().unwrap_or("shell").to_owned(),
            name: "shell".to_owned(),
            input: event.command.get().map(|command| serde_json::json!({ "command": command }).to_string()),
            output: event.output.0.as_deref().map(str::to_owned),
            status: if end.is_some() { Status::Ok } else { Status::Pending },
            start: timestamp,
            end,
            duration_ms: between(timestamp, end),
            ..Call::default()
        };
        let id = identity.of_call(&call.id).into_owned();
        self.rows.call(&identity, &id, &call, None)
    }

    fn assistant(&mut self, row: &EventRow<'_>, event: &Event<'_>) -> Result<(), Reject> {
        let (identity, timestamp) = self.identity(row, event);
        let seq = self.rows.seq();
        let (provider, model) = self.model_of(event);
        let error = event.error.0.as_ref();
        let is_aborted = error.is_some_and(|error| error.name.get().is_some_and(|name| name.contains("bort")));
        let billed = self.billed(event, provider.as_deref());
        let is_billed = billed.is_some_and(|billed| !billed.is_zero()) || event.cost.0.is_some_and(|cost| cost > 0.0);
        let response = is_billed.then(|| identity.id());
        let mut content = Content::default();
        content.read(event, row.id, is_aborted, &mut self.rows);
        let new = NewMessage {
            seq,
            timestamp,
            role: Role::Assistant,
            kind: match error {
                Some(_) if is_aborted => MessageKind::Abort,
                Some(_) => MessageKind::ApiError,
                None => MessageKind::Reply,
            },
            text: Some(content.text.as_str()).filter(|text| !text.is_empty()).or_else(|| error?.text()),
            thinking: Some(content.thinking.as_str()).filter(|text| !text.is_empty()),
            model: model.as_deref(),
            response,
            stop_reason: event.finish.get(),
            is_error: error.is_some(),
            error_type: error.map(Failure::kind),
            ..NewMessage::default()
        };
        self.rows.message(row.id, &identity, &new)?;
        self.push_calls(&identity, &content.calls, response)?;
        let Some(id) = response else { return Ok(()) };
        let completed = event.time.0.as_ref().and_then(|times| times.completed.0);
        let ended = answer_end(&content.calls, completed);
        self.rows.response(
            &identity,
            &Response {
                id,
                seq,
                timestamp,
                provider: provider.as_deref(),
                model: model.as_deref(),
                billed: billed.unwrap_or_default(),
                cost: event.cost.0,
                duration_ms: between(timestamp, ended),
                stop_reason: event.finish.get(),
                effort: event.model.0.as_ref().and_then(|model| model.variant.get()),
                is_partial: false,
                grain: UsageGrain::Response,
            },
        )?;
        if !identity.is_copy() {
            let steps = steps_key(self.rows.out.agent(), row.id);
            self.rows.out.yields_to(Kind::Response, id, steps, None);
        }
        Ok(())
    }

    /// The provider and the model of an answer; where it names none, those that were switched to.
    fn model_of(&self, event: &Event<'_>) -> (Option<String>, Option<String>) {
        let model = event.model.0.as_ref();
        let provider = model.and_then(|model| model.provider.get()).or(self.provider.as_deref());
        let model = model.and_then(|model| model.id.get()).or(self.model.as_deref());
        (provider.map(str::to_owned), model.map(str::to_owned))
    }

    fn billed(&self, event: &Event<'_>, provider: Option<&str>) -> Option<Billed> {
        let version = self.rows.known.version.as_deref();
        let counter = Counter { provider, version, counts_apart: true, writes_cache: false };
        event.tokens.0.as_ref().map(|tokens| Billed::of(tokens, counter))
    }

    fn push_calls(&mut self, identity: &Identity, calls: &[Call], response: Option<&str>) -> Result<(), Reject> {
        let mut ids: Vec<String> = Vec::new();
        for call in calls {
            let mut id = identity.of_call(&call.id).into_owned();
            if ids.contains(&id) {
                id = format!("{}#{}", identity.id(), ids.len());
            }
            self.rows.call(identity, &id, call, response)?;
            ids.push(id);
        }
        Ok(())
    }
}

/// A text of the program itself.
fn system_message(text: Option<&str>) -> NewMessage<'_> {
    NewMessage { role: Role::System, kind: MessageKind::Meta, text, ..NewMessage::default() }
}

/// The parts of an answer.
#[derive(Default)]
struct Content {
    text: String,
    thinking: String,
    calls: Vec<Call>,
}

impl Content {
    fn read(&mut self, event: &Event<'_>, message: &str, is_aborted: bool, rows: &mut Rows<'_, '_>) {
        let Some(json) = event.content.json() else { return };
        let List(parts) = serde_json::from_str::<List<Object<Part<'_>>>>(json).unwrap_or_default();
        for (number, part) in parts.iter().enumerate() {
            let Some(part) = &part.0 else { continue };
            match part.kind.get().unwrap_or_default() {
                "text" => append(&mut self.text, part.text.get().unwrap_or_default()),
                "reasoning" => append(&mut self.thinking, part.text.get().unwrap_or_default()),
                "tool" => self.calls.push(Call::of_part(&format!("{message}#{number}"), part, is_aborted)),
                other => rows.out.unknown(&format!("content {other}")),
            }
        }
    }
}
