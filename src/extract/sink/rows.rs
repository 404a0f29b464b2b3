//! The rows of a sink: each is checked, redacted and hashed, and its record is claimed.

use std::borrow::Cow;

use super::{Mode, Sink};
use crate::error::Result;
use crate::extract::hashing::Hex;
use crate::extract::likeness::Letters;
use crate::extract::repeated::Repeated;
use crate::extract::{Reject, arguments, edited_lines, error_type, fullness, likeness, repository, test_runs};
use crate::identity::{Kind, Record, ResponseCopy, key};
use crate::redact::Counts;
use crate::source::records::Usd;
use crate::tables::{Category, MessageKind, MessageRow, Status, ToolCallRow, UsageRow};
use crate::time::plausible;

/// Largest charge for a response that is no damage. Credits.
const MOST_CREDITS: f64 = 1e9;

/// Caches for short texts that are equal in consecutive rows.
#[derive(Default)]
pub(super) struct Places {
    cwd: Repeated,
    branch: Repeated,
    mode: Repeated,
    file: Repeated,
    tool: Repeated,
    server: Repeated,
}

impl Sink<'_> {
    /// Adds a message. Returns its index among the session's messages. A message that the source repeats is added once.
    pub fn message(&mut self, row: MessageRow<'_>, weak: bool) -> Result<usize, Reject> {
        let key = key(self.context.agent, Kind::Message, row.message_id);
        if !self.is_first(key) {
            return Ok(self.place_of_repeat());
        }
        // Git reports `HEAD` for a checkout without a branch.
        let git_branch = row.git_branch.filter(|branch| *branch != "HEAD");
        let is_failure = row.kind == MessageKind::ApiError;
        let error_type = is_failure.then(|| row.error_type.unwrap_or_else(|| error_type(None, None, row.text)));
        let duration_ms = row.duration_ms.filter(|ms| *ms >= 0);
        let row = MessageRow { timestamp: plausible(row.timestamp), git_branch, error_type, duration_ms, ..row };
        let record = Record {
            moment: row.timestamp.unwrap_or(i64::MAX),
            fullness: fullness::of_message(&row),
            is_copy: weak,
            ..Record::new(Kind::Message, key, row.seq)
        };
        self.session().passes(row.seq, bytes_of(&[row.text, row.thinking]));
        let keeps = self.takes_rows();
        let [text, thinking] = self.clean_row(keeps, [row.text, row.thinking]);
        let (stores, seed) = (self.stores_texts(), self.sketch_seed());
        let counts = &mut self.redacted_in_rows;
        let cwd = self.places.cwd.clean(row.cwd.filter(|_| keeps), self.context.redactor, counts);
        let git_branch = self.places.branch.clean(row.git_branch.filter(|_| keeps), self.context.redactor, counts);
        let mode = self.places.mode.clean(row.permission_mode.filter(|_| keeps), self.context.redactor, counts);
        let rows = self.current.get_or_insert_default();
        rows.records.push(record);
        let place = rows.message_count;
        rows.message_count += 1;
        if keeps {
            let is_abandoned = matches!(self.mode, Mode::Stream { .. }) && rows.abandoned.binary_search(&place).is_ok();
            if matches!(self.mode, Mode::ClaimsOnly) || rows.places.is_some() {
                rows.places.get_or_insert_default().push(place);
            }
            let prompt = text.as_deref().filter(|_| row.kind == MessageKind::Prompt);
            let sketch = prompt.and_then(|prompt| likeness::text_sketch(prompt, seed));
            let [text, thinking] = [text, thinking].map(|text| text.filter(|_| stores));
            rows.messages.push(key, &[text.as_deref(), thinking.as_deref()]).push(MessageRow {
                text: text.as_deref(),
                text_sketch: sketch.as_deref(),
                thinking: thinking.as_deref(),
                cwd: cwd.as_deref(),
                git_branch: git_branch.as_deref(),
                permission_mode: mode.as_deref(),
                is_abandoned,
                ..row
            });
        }
        self.flush_when_full()?;
        Ok(place)
    }

    /// Adds a tool call, claimed by its id, and hashes its input and output. A call that the source repeats is added
    /// once.
    pub fn tool_call(&mut self, row: ToolCallRow<'_>, weak: bool) -> Result<(), Reject> {
        let key = key(self.context.agent, Kind::ToolCall, row.call_id);
        if !self.is_first(key) {
            return Ok(());
        }
        let row = measured(row);
        let record =
            Record { fullness: fullness::of_call(&row), is_copy: weak, ..Record::new(Kind::ToolCall, key, row.seq) };
        self.session().passes(row.seq, bytes_of(&[row.input, row.command, row.output]));
        let keeps = self.takes_rows();
        let [input, command, output] = self.clean_row(keeps, [row.input, row.command, row.output]);
        let (stores, context) = (self.stores_texts(), self.context);
        let hex = |hash: u64| Hex::of(if stores { hash } else { context.redactor.keyed(hash) });
        let counts = &mut self.redacted_in_rows;
        let file_path = self.places.file.clean(row.file_path.filter(|_| keeps), context.redactor, counts);
        let name = self.places.tool.clean(Some(row.name).filter(|_| keeps), context.redactor, counts);
        let server = self.places.server.clean(row.mcp_server.filter(|_| keeps), context.redactor, counts);
        let rows = self.current.get_or_insert_default();
        rows.records.push(record);
        if row.category == Category::Task && row.child_session_id.is_none() {
            rows.childless.insert(key);
        }
        if keeps {
            let name = name.as_deref().unwrap_or_default();
            let own_output = output.as_deref().map(self.own_output);
            let hashes = call_hashes(name, input.as_deref(), own_output, row.status, &mut self.letters);
            let [input_key, shape, output_key, error_key] = hashes.map(|hash| hash.map(hex));
            let [input, command, output] = [input, command, output].map(|text| text.filter(|_| stores));
            let changes = repository::changes(&row);
            let tests = test_runs::test_run(&row);
            let lines = edited_lines::edited_lines(&row);
            let places = [changes.git_branch, changes.pull_request.as_deref()];
            let [git_branch, pull_request] =
                places.map(|text| text.map(|text| context.redactor.redact(text, &mut self.redacted_in_rows)));
            rows.tool_calls.push(key, &[input.as_deref(), output.as_deref(), command.as_deref()]).push(ToolCallRow {
                name,
                mcp_server: server.as_deref(),
                input: input.as_deref(),
                input_key: input_key.as_deref(),
                input_shape: shape.as_deref(),
                command: command.as_deref(),
                output: output.as_deref(),
                output_key: output_key.as_deref(),
                error_key: error_key.as_deref(),
                file_path: file_path.as_deref(),
                git_operations: Some(changes.operations),
                commit_sha: changes.commit_sha,
                git_branch: git_branch.as_deref(),
                pull_request: pull_request.as_deref(),
                lines_added: lines.added,
                lines_removed: lines.removed,
                test_outcome: tests.map(|run| run.outcome),
                tests_passed: tests.and_then(|run| run.passed),
                tests_failed: tests.and_then(|run| run.failed),
                ..row
            });
        }
        self.flush_when_full()
    }

    /// Returns the same name for two spellings that are priced as one model.
    pub fn model_named<'m>(&self, name: &'m str) -> Cow<'m, str> {
        let named = UsageRow { model: Some(name), ..UsageRow::default() };
        self.context.pricer.model_key(&named).map_or(Cow::Borrowed(name), |key| Cow::Owned(key.to_owned()))
    }

    /// Adds a billed response, claimed by its id, with its total and, if the agent recorded none, its cost. `seq` is
    /// the position of its message. A response that the source repeats is added once, with the counts of its fullest
    /// copy.
    pub fn usage(&mut self, row: UsageRow<'_>, seq: i64, weak: bool) -> Result<(), Reject> {
        let Usd(cost_usd) = Usd::of(row.cost_usd);
        let skill = row.skill.map(|name| self.context.redactor.redact(name, &mut self.redacted_in_rows));
        let row = UsageRow {
            timestamp: plausible(row.timestamp),
            limit_short_resets_at: plausible(row.limit_short_resets_at),
            limit_long_resets_at: plausible(row.limit_long_resets_at),
            cost_usd,
            credits: row.credits.filter(|credits| (0.0..MOST_CREDITS).contains(credits)),
            time_to_first_token_ms: row.time_to_first_token_ms.filter(|ms| *ms >= 0),
            skill: skill.as_deref(),
            ..row
        };
        let key = key(self.context.agent, Kind::Response, row.response_id);
        let copy = ResponseCopy {
            request: row.request_id.map(|id| crate::identity::key(self.context.agent, Kind::Presence, id)),
            ..ResponseCopy::of(key, &row)
        };
        let fullness = fullness::of_response(&row, &copy);
        let record = Record { fullness, is_copy: weak, ..Record::new(Kind::Response, key, seq) };
        let is_first = self.is_first(key);
        let row = self.context.pricer.priced(row.shorten(), &mut self.recent_model);
        let keeps = self.takes_rows();
        let rows = self.session();
        rows.responses.push(copy);
        if !is_first {
            let fullest = rows.repeated.entry(key).or_default();
            *fullest = fullness.max(*fullest);
            return Ok(());
        }
        rows.records.push(record);
        if keeps {
            rows.usage.push(key, &[]).push(row);
        }
        self.flush_when_full()
    }

    /// Redacts a row's texts. Their hashes are computed from the result, even if the texts are not kept.
    fn clean_row<'t, const N: usize>(&mut self, keeps: bool, texts: [Option<&'t str>; N]) -> [Option<Cow<'t, str>>; N] {
        let mut unseen = Counts::default();
        let counts = if self.stores_texts() { &mut self.redacted_in_rows } else { &mut unseen };
        texts.map(|text| text.filter(|_| keeps).map(|text| self.context.redactor.redact(text, counts)))
    }
}

/// Returns the call with the size of its output, and without times that cannot be.
fn measured(row: ToolCallRow<'_>) -> ToolCallRow<'_> {
    ToolCallRow {
        output_bytes: row.output.and_then(|output| i64::try_from(output.len()).ok()),
        started_at: plausible(row.started_at),
        ended_at: plausible(row.ended_at),
        ..row
    }
}

/// Returns the hashes of a call's input, of its shape, of its output, and of its error.
fn call_hashes(
    name: &str,
    input: Option<&str>,
    output: Option<&str>,
    status: Status,
    letters: &mut Letters,
) -> [Option<u64>; 4] {
    let error = output.filter(|_| status == Status::Error);
    [
        input.map(|input| arguments::input_key(name, input)),
        input.map(|input| likeness::input_shape(name, input, letters)),
        output.map(likeness::output_key),
        error.and_then(|error| likeness::error_key(error, letters)),
    ]
}

fn bytes_of(texts: &[Option<&str>]) -> usize {
    texts.iter().flatten().map(|text| text.len()).sum()
}
