//! Reads the analytics log: exact tokens and times of each send. It names neither project nor text.

use std::collections::HashMap;

use super::{ANALYTICS, any_chat_key};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::source::Source;
use crate::source::records::{Moment, Object, Text, TokenNumber, Usd, record};
use crate::tables::{MessageKind, MessageRow, Role, UsageGrain, UsageRow};

record! {
    /// One line of the log.
    Line<'a> {
        event: Text<'a> = "event",
        properties: Object<Properties<'a>> = "properties",
        user: Text<'a> = "user_id",
        time: Moment = "time",
    }
    ignores []

    /// Properties of an event.
    Properties<'a> {
        sent: TokenNumber = "prompt_tokens",
        received: TokenNumber = "completion_tokens",
        cost: Usd = "cost",
        model: Text<'a> = "main_model",
        version: Text<'a> = "aider_version",
        exception: Text<'a> = "exception",
    }
}

/// One send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Send {
    /// Time of its answer. Microseconds since 1970.
    pub(super) time: i64,
    /// Tokens.
    pub(super) sent: i64,
    /// Tokens.
    pub(super) received: i64,
    /// USD.
    pub(super) cost: Option<f64>,
}

impl Line<'_> {
    fn send(&self) -> Option<Send> {
        let properties = self.properties.0.as_ref().filter(|_| self.event.is("message_send"))?;
        let (sent, received) = (properties.sent.0?, properties.received.0?);
        let cost = properties.cost.0.filter(|usd| *usd >= 0.0);
        Some(Send { time: self.time.0?, sent, received, cost })
    }
}

/// Returns the sends in the logs next to a chat history, by time.
pub(super) fn beside(source: &Source<'_>) -> Vec<Send> {
    let logs = ANALYTICS.iter().filter_map(|name| source.sidecar(&source.path.with_file_name(name)));
    let mut sends: Vec<Send> = Vec::new();
    for log in logs {
        let text = String::from_utf8_lossy(&log);
        sends.extend(text.lines().filter_map(|line| serde_json::from_str::<Line<'_>>(line).ok()?.send()));
    }
    sends.sort_by_key(|send| send.time);
    sends
}

/// Reads a log into sessions, one for each start of Aider. Any chat history supersedes them: it records the same.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut log = Log { out, launch: None, named: HashMap::new() };
    log.read_all(&mut source.lines()?)?;
    log.end()
}

struct Log<'s, 'o> {
    out: &'o mut Sink<'s>,
    launch: Option<Launch>,
    /// Number of uses of each name of a start or an event.
    named: HashMap<String, u32>,
}

/// One start of Aider.
struct Launch {
    /// User and second of the start.
    name: String,
    session: String,
    began: Option<i64>,
    version: Option<String>,
    seq: i64,
}

impl<'s> RecordReader<'s> for Log<'s, '_> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"event\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, record: &Line<'_>, line: u64) -> Result<(), Reject> {
        let Some(event) = record.event.get() else { return Ok(()) };
        if event == "launched" || self.launch.is_none() {
            self.launch(record, line, event)?;
        }
        let properties = record.properties.0.as_ref();
        if let (Some(version), Some(launch)) =
            (properties.and_then(|properties| properties.version.get()), &mut self.launch)
        {
            launch.version = Some(version.to_owned());
        }
        match event {
            "message_send" => self.send(record, line),
            "message_send_exception" => {
                let exception = properties.and_then(|properties| properties.exception.get());
                let id = self.id_of(record, event);
                self.push(record, line, &id, (MessageKind::ApiError, exception.unwrap_or(event)))
            }
            _ => Ok(()),
        }
    }
}

impl Log<'_, '_> {
    fn launch(&mut self, record: &Line<'_>, line: u64, event: &str) -> Result<(), Reject> {
        let name = name_of(record);
        // Aider was started twice within a second.
        if self.launch.as_ref().is_some_and(|launch| launch.name == name) {
            return Ok(());
        }
        self.end()?;
        let session = self.numbered(name.clone());
        let id = format!("{session}:start");
        self.launch = Some(Launch { name, session, began: record.time.0, version: None, seq: 0 });
        self.push(record, line, &id, (MessageKind::Meta, event))
    }

    /// Returns an event's id. It consists of the event and its time, so it stays the same when earlier lines are gone.
    fn id_of(&mut self, record: &Line<'_>, what: &str) -> String {
        self.numbered(format!("{}:{what}", name_of(record)))
    }

    /// Returns the name, numbered from its second use on: a log joined from two may have the same event twice.
    fn numbered(&mut self, name: String) -> String {
        let count = self.named.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}.{count}") }
    }

    fn push(
        &mut self,
        record: &Line<'_>,
        line: u64,
        id: &str,
        (kind, text): (MessageKind, &str),
    ) -> Result<(), Reject> {
        let Some(launch) = &mut self.launch else { return Ok(()) };
        let row = MessageRow {
            session_id: &launch.session,
            seq: launch.seq,
            message_id: id,
            timestamp: record.time.0,
            role: Role::System,
            kind,
            text: Some(text),
            is_error: kind == MessageKind::ApiError,
            source_line: i64::try_from(line).ok(),
            ..MessageRow::default()
        };
        launch.seq += 1;
        self.out.message(row, false)?;
        self.out.yields_to(Kind::Message, id, any_chat_key(), record.time.0);
        Ok(())
    }

    fn send(&mut self, record: &Line<'_>, line: u64) -> Result<(), Reject> {
        let Some(send) = record.send() else { return Ok(()) };
        let id = self.id_of(record, &format!("{}+{}", send.sent, send.received));
        let Some(launch) = &self.launch else { return Ok(()) };
        let model = record.properties.0.as_ref().and_then(|properties| properties.model.get());
        let row = UsageRow {
            session_id: &launch.session,
            response_id: &id,
            timestamp: Some(send.time),
            model,
            provider: model.and_then(provider),
            input_tokens: Some(send.sent),
            output_tokens: Some(send.received),
            cost_usd: send.cost,
            grain: UsageGrain::Turn,
            is_partial: true,
            source_line: i64::try_from(line).ok(),
            ..UsageRow::default()
        };
        let seq = launch.seq - 1;
        self.out.usage(row, seq, true)?;
        self.out.yields_to(Kind::Response, &id, any_chat_key(), Some(send.time));
        Ok(())
    }

    fn end(&mut self) -> Result<(), Reject> {
        let Some(launch) = self.launch.take() else { return Ok(()) };
        self.out.end_session(Facts {
            session_id: launch.session,
            agent_version: launch.version,
            first_moment: launch.began,
            ..Facts::default()
        })
    }
}

/// Returns the user of Aider and the second.
fn name_of(record: &Line<'_>) -> String {
    let user = record.user.get().unwrap_or_default();
    format!("aider-analytics:{user}:{}", record.time.0.unwrap_or_default() / 1_000_000)
}

/// Returns the provider at the start of a model's name: `openrouter/anthropic/claude-3-opus`.
pub(super) fn provider(model: &str) -> Option<&str> {
    model.split_once('/').map(|(provider, _)| provider)
}
