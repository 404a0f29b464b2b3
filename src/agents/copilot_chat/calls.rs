//! Calls of the model, as the extension measured them: spans of its database and lines of its debug logs. Both have the
//! same ids, because the logs are written from the spans.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::tools::own_id;
use super::{debug_logs, traces};
use crate::agents::kit::store::each_row;
use crate::extract::jsonl::each_record;
use crate::extract::{Reject, Sink};
use crate::source::records::{Moment, Number, Object, Text, TokenNumber, record};
use crate::source::{Database, Source, value_text};
use crate::tables::{UsageGrain, UsageRow};
use crate::time::from_epoch;

/// One call of the model.
#[derive(Clone, Default)]
pub(super) struct ModelCall {
    /// Microseconds since 1970.
    pub(super) began: Option<i64>,
    duration_ms: Option<i64>,
    first_token_ms: Option<i64>,
    model: Option<String>,
    /// Includes cached input.
    input: Option<i64>,
    cache_read: Option<i64>,
    cache_write: Option<i64>,
    output: Option<i64>,
    reasoning: Option<i64>,
    /// True if a helper made it: a subagent, or the search for a title.
    pub(super) is_of_helper: bool,
}

impl ModelCall {
    /// Returns its row, without session and turn.
    pub(super) fn row<'r>(&'r self, id: &'r str) -> UsageRow<'r> {
        let input = self.input.unwrap_or(0);
        let cache_read = self.cache_read.map(|read| read.min(input));
        let cache_write = self.cache_write.map(|write| write.min(input - cache_read.unwrap_or(0)));
        UsageRow {
            response_id: id,
            grain: UsageGrain::Response,
            timestamp: self.began,
            model: self.model.as_deref(),
            input_tokens: self.input.map(|input| input - cache_read.unwrap_or(0) - cache_write.unwrap_or(0)),
            cache_read_tokens: cache_read,
            cache_write_5m_tokens: cache_write,
            output_tokens: self.output,
            reasoning_tokens: self.reasoning.zip(self.output).map(|(reasoning, output)| reasoning.min(output)),
            duration_ms: self.duration_ms.filter(|ms| *ms >= 0),
            time_to_first_token_ms: self.first_token_ms,
            ..UsageRow::default()
        }
    }
}

/// Calls by their ids.
pub(super) type ModelCalls = BTreeMap<String, ModelCall>;

/// Measurements of a chat.
#[derive(Clone, Default)]
pub(super) struct Measured {
    pub(super) calls: ModelCalls,
    /// Ids of the tool calls that failed.
    pub(super) failed: BTreeSet<String>,
}

/// Reads what was measured of a chat.
pub(super) fn read(source: &Source<'_>, session: &str, out: &mut Sink<'_>) -> Measured {
    let Measured { mut calls, mut failed } = Measured::default();
    for path in debug_logs(source.path) {
        let is_of_helper = path.file_name().is_none_or(|name| name != "main.jsonl");
        let Some(mut log) = source.beside(&path) else { continue };
        let read = each_record::<Line<'static>>(&mut log, out, |line, _, _| {
            calls.extend(line.call(is_of_helper));
        });
        if read.is_err() {
            out.remark("a debug log could not be read");
        }
    }
    if let Some(path) = traces(source.path).filter(|path| path.is_file()) {
        match spans(source, &path) {
            Ok(sessions) => {
                let spans = sessions.get(session).cloned().unwrap_or_default();
                calls.extend(spans.calls);
                failed = spans.failed;
            }
            Err(_) => out.remark("the database of spans could not be read"),
        }
    }
    Measured { calls, failed }
}

record! {
    /// A line of a debug log.
    Line<'a> {
        began: Moment = "ts",
        duration_ms: Number = "dur",
        kind: Text<'a> = "type",
        span: Text<'a> = "spanId",
        measured: Object<Attributes<'a>> = "attrs",
    }

    /// Measurements of a call.
    Attributes<'a> {
        model: Text<'a> = "model",
        input: TokenNumber = "inputTokens",
        cache_read: TokenNumber = "cachedTokens",
        output: TokenNumber = "outputTokens",
        first_token_ms: Number = "ttft",
    }
}

impl Line<'_> {
    /// Returns the call with its id. A call without tokens failed, and was not billed.
    fn call(&self, is_of_helper: bool) -> Option<(String, ModelCall)> {
        let id = self.span.owned().filter(|_| self.kind.is("llm_request"))?;
        let measured = self.measured.0.as_ref()?;
        let call = ModelCall {
            began: self.began.0,
            duration_ms: self.duration_ms.0,
            first_token_ms: measured.first_token_ms.0,
            model: measured.model.owned(),
            input: measured.input.0,
            cache_read: measured.cache_read.0,
            output: measured.output.0,
            is_of_helper,
            ..ModelCall::default()
        };
        (call.input.is_some() || call.output.is_some()).then_some((id, call))
    }
}

/// Columns of a span, in the order in which they are read.
const SPAN: [&str; 11] = [
    "span_id",
    "chat_session_id",
    "start_time_ms",
    "end_time_ms",
    "response_model",
    "request_model",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "ttft_ms",
];
/// Attributes of a span without a column: the chat that started a subagent, and tokens written to a cache.
const PARENT: &str = "copilot_chat.parent_chat_session_id";
const CACHE_WRITE: &str = "gen_ai.usage.cache_creation.input_tokens";

/// Measurements of each session, from its spans.
type Sessions = BTreeMap<String, Measured>;

/// Reads the database once for all chats of an editor.
fn spans(source: &Source<'_>, path: &Path) -> Result<Arc<Sessions>, Reject> {
    let missing = || Reject::Io(std::io::ErrorKind::NotFound.into());
    let mut traces = source.beside(path).ok_or_else(missing)?;
    let database = traces.database()?;
    source.survey_of(path, || sessions_of(&database))
}

fn sessions_of(database: &Database) -> Result<Sessions, Reject> {
    let (mut parents, mut written) = (BTreeMap::new(), BTreeMap::new());
    let attributes = format!("WHERE key IN ('{PARENT}', '{CACHE_WRITE}')");
    each_row(database, "span_attributes", &["span_id", "key", "value"], &attributes, |row| {
        let [span, key, value] = [0, 1, 2].map(|column| row.get_ref(column).ok().and_then(value_text));
        if let (Some(span), Some(value)) = (span, value) {
            if key.as_deref() == Some(PARENT) {
                parents.insert(span, value);
            } else {
                written.extend(value.parse().ok().map(|count: i64| (span, count)));
            }
        }
        Ok(())
    })?;
    let mut sessions = Sessions::new();
    each_row(database, "spans", &SPAN, "WHERE operation_name = 'chat' ORDER BY span_id", |row| {
        let text = |column: usize| row.get_ref(column).ok().and_then(value_text).filter(|text| !text.is_empty());
        let number = |column: usize| text(column).and_then(|text| text.parse::<f64>().ok());
        #[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
        let whole = |column: usize| number(column).map(|number| number as i64);
        let count = |column: usize| TokenNumber::of(whole(column)).0;
        let Some(id) = text(0) else { return Ok(()) };
        let parent = parents.get(&id).cloned();
        let call = ModelCall {
            began: number(2).and_then(from_epoch),
            duration_ms: whole(3).zip(whole(2)).map(|(end, start)| end.saturating_sub(start)),
            first_token_ms: whole(10),
            model: text(4).or_else(|| text(5)),
            input: count(6),
            cache_read: count(7),
            cache_write: TokenNumber::of(written.get(&id).copied()).0,
            output: count(8),
            reasoning: count(9),
            is_of_helper: parent.is_some(),
        };
        let session = parent.or_else(|| text(1));
        if let Some(session) = session.filter(|_| call.input.is_some() || call.output.is_some()) {
            sessions.entry(session).or_default().calls.insert(id, call);
        }
        Ok(())
    })?;
    let failed = "WHERE status_code = 2 AND tool_call_id <> ''";
    each_row(database, "spans", &["span_id", "chat_session_id", "tool_call_id"], failed, |row| {
        let [span, session, call] = [0, 1, 2].map(|column| row.get_ref(column).ok().and_then(value_text));
        let session = span.and_then(|span| parents.get(&span).cloned()).or(session);
        if let (Some(session), Some(call)) = (session, call) {
            sessions.entry(session).or_default().failed.insert(own_id(&call).to_owned());
        }
        Ok(())
    })?;
    Ok(sessions)
}
