//! Transcripts of versions before the database: lines, or one document. They have no tokens.

use chrono::NaiveDateTime;

use super::conversation::{Conversation, StoredMessage};
use super::{profile, session_id};
use crate::agents::document::{self, Torn};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Reject, Sink};
use crate::source::Source;
use crate::source::records::{Raw, Text, record};
use crate::time::parse_iso;

record! {
    /// A line. A text that is empty is absent.
    Line<'a> {
        role: Text<'a> = "role",
        content: Text<'a> = "content",
        reasoning: Text<'a> = "reasoning" | "reasoning_content",
        calls: Raw<'a> = "tool_calls",
        call_id: Text<'a> = "tool_call_id",
        tool: Text<'a> = "tool_name" | "name",
        stop: Text<'a> = "finish_reason",
        timestamp: Text<'a> = "timestamp" | "_ts",
        model: Text<'a> = "model" | "_model",
        cwd: Text<'a> = "_cwd",
    }
}

/// Reads a transcript.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let stem = source.stem();
    let is_lines = source.path.extension().is_some_and(|extension| extension == "jsonl");
    let id = if is_lines { stem } else { stem.strip_prefix("session_").unwrap_or(stem) };
    let facts = Facts { session_id: session_id(profile(source.path), id), ..Facts::default() };
    let mut reader = Reader { conversation: Conversation::new(facts, None, out) };
    reader.conversation.yields = true;
    if is_lines {
        reader.read_all(&mut source.lines()?)?;
        return reader.conversation.finish();
    }
    let Some(json) = document::text(source, "a transcript", reader.conversation.out)? else { return Ok(()) };
    let torn = Torn::read(&json, "messages");
    reader.conversation.model = torn.field::<Text<'_>>("model").owned();
    for (item, number) in torn.items.iter().zip(1..) {
        reader.conversation.out.line();
        match serde_json::from_str::<Line<'_>>(item.get()) {
            Ok(line) => reader.take(&line, number)?,
            Err(error) => reader.conversation.out.problem(number, &format!("a message that cannot be read: {error}")),
        }
    }
    if let Some(error) = &torn.error {
        let out = &mut *reader.conversation.out;
        out.line();
        out.problem(error.line() as u64, &format!("a torn transcript; everything before the tear was read: {error}"));
    }
    reader.conversation.finish()
}

struct Reader<'o, 's> {
    conversation: Conversation<'o, 's>,
}

impl<'s> RecordReader<'s> for Reader<'_, 's> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"role\":"];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.conversation.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let moment = line.timestamp.get().and_then(|text| self.moment(text));
        if let Some(model) = line.model.get() {
            self.conversation.model = Some(model.to_owned());
        }
        let facts = &mut self.conversation.thread.facts;
        crate::agents::kit::facts::fill(&mut facts.project_path, line.cwd.get());
        crate::agents::kit::facts::keep_earlier(&mut facts.first_moment, moment);
        self.conversation.take(&StoredMessage {
            role: line.role.get().unwrap_or_default(),
            text: line.content.get(),
            reasoning: line.reasoning.get(),
            calls: line.calls.json(),
            call_id: line.call_id.get(),
            tool: line.tool.get(),
            moment,
            stop: line.stop.get(),
            line: i64::try_from(number).ok(),
            ..StoredMessage::default()
        })
    }
}

impl Reader<'_, '_> {
    /// A time without a zone is local.
    fn moment(&self, text: &str) -> Option<i64> {
        match NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f") {
            Ok(local) => self.conversation.out.local_moment(local),
            Err(_) => parse_iso(text),
        }
    }
}
