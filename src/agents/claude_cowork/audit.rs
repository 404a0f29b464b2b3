//! `audit.jsonl`: a signed copy of a session's stream. Its replies hold only their initial counts, so only the totals
//! of its results are read. The session's transcript supersedes them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Record;
use crate::agents::kit::thread::{Position, Thread};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Kind, Reject, Sink, session_key};
use crate::source::Source;
use crate::source::records::{Moment, Object, Raw, Text, TokenNumber, record};
use crate::tables::{UsageGrain, UsageRow};

record! {
    /// One line.
    Line<'a> {
        kind: Text<'a> = "type",
        session: Text<'a> = "session_id",
        timestamp: Moment = "timestamp" | "_audit_timestamp",
        models: Raw<'a> = "modelUsage",
    }

    /// Running totals of one model.
    Total<'a> {
        input: TokenNumber = "inputTokens",
        cache_read: TokenNumber = "cacheReadInputTokens",
        cache_write: TokenNumber = "cacheCreationInputTokens",
        output: TokenNumber = "outputTokens",
        web_searches: TokenNumber = "webSearchRequests",
    }
}

/// Reads the totals of a session into one row for each model.
pub(super) fn extract(source: &mut Source<'_>, record: &Record<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut audit = Audit { out, session: record.session.owned(), moment: None, sums: Sums::new(), last: Sums::new() };
    audit.read_all(&mut source.lines()?)?;
    audit.finish(record)
}

/// Input, cache read, cache write, output and web searches of each model.
type Sums = BTreeMap<String, [i64; 5]>;

/// Most models to count; a damaged file may name any number.
const MOST_MODELS: usize = 100;

struct Audit<'o, 's> {
    out: &'o mut Sink<'s>,
    session: Option<String>,
    /// Time of the last total. Microseconds since 1970.
    moment: Option<i64>,
    /// Totals of the processes that ended.
    sums: Sums,
    /// The last totals of the current process.
    last: Sums,
}

impl<'s> RecordReader<'s> for Audit<'_, 's> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"type\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, line: &Line<'_>, _number: u64) -> Result<(), Reject> {
        let totals = line.models.json().filter(|_| line.kind.is("result")).and_then(totals_of);
        let Some(totals) = totals else { return Ok(()) };
        self.session = self.session.take().or(line.session.owned());
        self.moment = line.timestamp.0.max(self.moment);
        // A new process counts from 0.
        let fell = |(model, before): (&String, &[i64; 5])| {
            totals.get(model).is_none_or(|now| now.iter().zip(before).any(|(now, before)| now < before))
        };
        if self.last.iter().any(fell) {
            self.end_process();
        }
        self.last = totals;
        Ok(())
    }
}

/// Returns the totals of a result; `None` if one cannot be read.
fn totals_of(json: &str) -> Option<Sums> {
    let models: BTreeMap<Cow<'_, str>, Object<Total<'_>>> = serde_json::from_str(json).ok()?;
    let counts = |total: &Total<'_>| {
        let [cache_read, cache_write, web_searches] =
            [total.cache_read, total.cache_write, total.web_searches].map(|count| count.0.unwrap_or(0));
        Some([total.input.0?, cache_read, cache_write, total.output.0?, web_searches])
    };
    let models = models.into_iter().take(MOST_MODELS);
    models.map(|(model, total)| Some((model.into_owned(), counts(&total.0?)?))).collect()
}

impl Audit<'_, '_> {
    fn end_process(&mut self) {
        for (model, counts) in std::mem::take(&mut self.last) {
            if self.sums.len() < MOST_MODELS || self.sums.contains_key(&model) {
                let sums = self.sums.entry(model).or_default();
                for (sum, count) in sums.iter_mut().zip(counts) {
                    *sum = sum.saturating_add(count);
                }
            }
        }
    }

    fn finish(mut self, record: &Record<'_>) -> Result<(), Reject> {
        self.end_process();
        let Some(session) = self.session.take().filter(|_| !self.sums.is_empty()) else {
            self.out.discard_session();
            return Ok(());
        };
        let host = record.host();
        let facts =
            Facts { session_id: session.clone(), title: host.title, project_path: host.folder, ..Facts::default() };
        let mut thread = Thread::new(facts);
        for (model, counts) in &self.sums {
            let id = format!("{session}:{model}");
            let [input, cache_read, cache_write, output, web_searches] = counts.map(Some);
            let row = UsageRow {
                response_id: &id,
                model: Some(model),
                input_tokens: input,
                cache_read_tokens: cache_read,
                cache_write_5m_tokens: cache_write,
                output_tokens: output,
                web_searches,
                grain: UsageGrain::Session,
                ..UsageRow::default()
            };
            thread.bill(&Position::new("", self.moment), row, 0, self.out)?;
            self.out.yields_to(Kind::Response, &id, session_key(self.out.agent(), &session), None);
        }
        self.out.end_session(thread.facts)
    }
}
