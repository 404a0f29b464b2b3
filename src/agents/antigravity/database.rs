//! `conversations/<id>.db`: billed responses. Its records are Protocol Buffers; the field numbers are those of the
//! CLI's descriptors.

use std::collections::BTreeMap;

use super::step_id;
use crate::agents::kit::facts::{fill, keep_earlier};
use crate::agents::kit::store::{bytes, damage, each, number};
use crate::agents::kit::thread::{Position, Thread};
use crate::agents::protobuf::{is_whole, message, number as count, numbers, text, values};
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key};
use crate::source::{Database, Source};
use crate::tables::UsageRow;
use crate::time::plausible;

/// Types of steps: the model's answer, and a call that only makes a title or a summary.
const ANSWER: i64 = 15;
const CHECKPOINT: i64 = 23;

/// Reads a conversation that has no transcript.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut thread = Thread::new(Facts { session_id: source.stem().to_owned(), ..Facts::default() });
    let billing = Billing::read(source, thread.id(), out)?;
    thread.facts.title.clone_from(&billing.title);
    for response in &billing.responses {
        let message_id = response.step.map(|step| step_id(thread.id(), step));
        let row = UsageRow { message_id: message_id.as_deref(), ..response.row() };
        keep_earlier(&mut thread.facts.first_moment, response.moment);
        thread.bill(&Position::new("", response.moment), row, 0, out)?;
    }
    thread.finish(out)
}

/// A billed response.
#[derive(Default)]
pub(super) struct Response {
    pub(super) id: String,
    /// Step of its answer.
    pub(super) step: Option<i64>,
    /// First step that it made, of any kind.
    pub(super) first_step: Option<i64>,
    /// Time of its start. Microseconds since 1970.
    pub(super) moment: Option<i64>,
    pub(super) model: Option<String>,
    input: i64,
    cache_read: i64,
    /// Includes thinking.
    output: i64,
    thinking: Option<i64>,
    duration_ms: Option<i64>,
    first_token_ms: Option<i64>,
}

impl Response {
    /// Reads a block of counts; `None` if it has none.
    fn of(id: &str, usage: &[u8], call: &Call<'_>) -> Option<Self> {
        let tokens = |field| count(usage, field).and_then(|count| i64::try_from(count).ok());
        let [input, output, cache_read, thinking] = [2, 3, 5, 9].map(tokens);
        let parts = thinking.zip(tokens(10));
        let output = output.or_else(|| parts.map(|(thinking, shown)| thinking.saturating_add(shown)));
        let unnamed = || count(usage, 1).map(|model| format!("enum:{model}"));
        (input.is_some() || output.is_some() || cache_read.is_some()).then(|| Self {
            id: id.to_owned(),
            step: None,
            first_step: None,
            moment: call.began,
            model: call.model.map(str::to_owned).or_else(unnamed),
            input: input.unwrap_or(0),
            cache_read: cache_read.unwrap_or(0),
            output: output.unwrap_or(0),
            thinking,
            duration_ms: call.duration_ms,
            first_token_ms: call.first_token_ms,
        })
    }

    pub(super) fn row(&self) -> UsageRow<'_> {
        UsageRow {
            response_id: &self.id,
            model: self.model.as_deref(),
            input_tokens: Some(self.input),
            cache_read_tokens: Some(self.cache_read),
            output_tokens: Some(self.output),
            reasoning_tokens: self.thinking,
            duration_ms: self.duration_ms,
            time_to_first_token_ms: self.first_token_ms,
            ..UsageRow::default()
        }
    }
}

/// The billed responses of a conversation.
#[derive(Default)]
pub(super) struct Billing {
    pub(super) title: Option<String>,
    pub(super) responses: Vec<Response>,
}

/// The block of counts of a step.
struct Step {
    number: i64,
    is_answer: bool,
    usage: Vec<u8>,
    /// Microseconds since 1970.
    moment: Option<i64>,
}

/// Facts of a call apart from its tokens.
#[derive(Default)]
struct Call<'b> {
    model: Option<&'b str>,
    /// Microseconds since 1970.
    began: Option<i64>,
    first_token_ms: Option<i64>,
    duration_ms: Option<i64>,
}

impl Billing {
    /// Reads the responses, each once. Damage loses only the rows stored on it.
    pub(super) fn read(source: &mut Source<'_>, session: &str, out: &mut Sink<'_>) -> Result<Self, Reject> {
        let database = source.database()?;
        let mut billing = Self::default();
        let mut steps = billing.read_steps(&database, session, out)?;
        billing.read_calls(&database, session, &mut steps, out)?;
        for (id, step) in steps {
            let call = Call { began: step.moment, ..Call::default() };
            let response = Response::of(&id, &step.usage, &call);
            billing.responses.extend(response.map(|it| Response { first_step: Some(step.number), ..it }));
        }
        Ok(billing)
    }

    /// Reads the steps that have counts, by the ids of their responses.
    fn read_steps(
        &mut self,
        database: &Database,
        session: &str,
        out: &mut Sink<'_>,
    ) -> Result<BTreeMap<String, Step>, Reject> {
        let mut steps = BTreeMap::new();
        let columns = ["idx", "step_type", "metadata", "step_payload"];
        let Some(mut rows) = database.select("steps", &columns, "ORDER BY idx")? else { return Ok(steps) };
        let read = each(&mut rows, [], |row| {
            out.line();
            let (index, kind, metadata) = (number(row, 0).unwrap_or_default(), number(row, 1), bytes(row, 2));
            if !is_whole(metadata) {
                out.problem(out.report.lines, &format!("step {index}: the record is torn"));
            }
            if kind == Some(CHECKPOINT) {
                fill(&mut self.title, message(bytes(row, 3), &[30]).and_then(|step| text(step, 4)));
            }
            if let Some(usage) = message(metadata, &[9]) {
                let id = text(usage, 11).map_or_else(|| unnamed(session, index), str::to_owned);
                let moment = timestamp(metadata, 1).or_else(|| timestamp(metadata, 8));
                let is_answer = kind == Some(ANSWER);
                steps.entry(id).or_insert(Step { number: index, is_answer, usage: usage.to_owned(), moment });
            }
            Ok(())
        })?;
        if let Err(error) = read {
            damage(&error, out);
        }
        Ok(steps)
    }

    /// Reads the calls of the model. A step repeats what its call was billed for.
    fn read_calls(
        &mut self,
        database: &Database,
        session: &str,
        steps: &mut BTreeMap<String, Step>,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        let mut seen = KeySet::default();
        let Some(mut rows) = database.select("gen_metadata", &["idx", "data"], "ORDER BY idx")? else { return Ok(()) };
        let read = each(&mut rows, [], |row| {
            out.line();
            let (index, data) = (number(row, 0).unwrap_or_default(), bytes(row, 1));
            if !is_whole(data) {
                out.problem(out.report.lines, &format!("call {index}: the record is torn"));
            }
            let Some(generated) = message(data, &[1]) else { return Ok(()) };
            let call = call_of(generated);
            let made: Vec<i64> = numbers(data, 2).into_iter().filter_map(|step| step.try_into().ok()).collect();
            let attempts = values(generated, 17).filter_map(|attempt| message(attempt.bytes()?, &[2]));
            for (place, usage) in message(generated, &[4]).into_iter().chain(attempts).enumerate() {
                let id = match text(usage, 11) {
                    Some(id) => id.to_owned(),
                    // Further attempts repeat the call.
                    None if place == 0 => format!("{session}:call:{index}"),
                    None => continue,
                };
                if !seen.insert(key("", Kind::Response, &id)) {
                    continue;
                }
                let named = steps.remove(&id).filter(|step| step.is_answer).map(|step| step.number);
                let step = named.or_else(|| take_unnamed(session, &made, steps).filter(|_| place == 0));
                let first_step = made.first().copied().or(step);
                let response = Response::of(&id, usage, &call);
                self.responses.extend(response.map(|response| Response { step, first_step, ..response }));
            }
            Ok(())
        })?;
        if let Err(error) = read {
            damage(&error, out);
        }
        Ok(())
    }
}

/// The id of a step's response that has none.
fn unnamed(session: &str, step: i64) -> String {
    format!("{session}:step:{step}")
}

/// Removes the answers that a call made, if their responses have no ids: they repeat the call. Returns the first one.
fn take_unnamed(session: &str, made: &[i64], steps: &mut BTreeMap<String, Step>) -> Option<i64> {
    let mut first = None;
    for number in made {
        let id = unnamed(session, *number);
        if steps.get(&id).is_some_and(|step| step.is_answer) {
            steps.remove(&id);
            first = first.or(Some(*number));
        }
    }
    first
}

fn call_of(generated: &[u8]) -> Call<'_> {
    // The name of a router does not name a model.
    let routed = text(generated, 19).filter(|model| !model.ends_with("-default"));
    let (first, streamed) = (milliseconds(generated, 11), milliseconds(generated, 12));
    Call {
        model: routed.or_else(|| text(generated, 21)),
        began: message(generated, &[9]).and_then(|times| timestamp(times, 4)),
        first_token_ms: first,
        duration_ms: first.zip(streamed).map(|(first, streamed)| first.saturating_add(streamed)),
    }
}

/// A `Timestamp`. Microseconds since 1970.
fn timestamp(bytes: &[u8], field: u64) -> Option<i64> {
    let (seconds, nanos) = parts(bytes, field)?;
    plausible(seconds.checked_mul(1_000_000)?.checked_add(nanos / 1000))
}

/// A `Duration`. Milliseconds.
fn milliseconds(bytes: &[u8], field: u64) -> Option<i64> {
    let (seconds, nanos) = parts(bytes, field)?;
    seconds.checked_mul(1000)?.checked_add(nanos / 1_000_000)
}

/// Seconds and nanoseconds.
fn parts(bytes: &[u8], field: u64) -> Option<(i64, i64)> {
    let inner = message(bytes, &[field])?;
    let part = |field| i64::try_from(count(inner, field).unwrap_or(0)).ok();
    Some((part(1)?, part(2)?))
}
