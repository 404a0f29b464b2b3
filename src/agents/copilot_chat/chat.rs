//! A chat: requests into messages, tool calls and usage.

use std::collections::BTreeSet;

use serde_json::Value;

use super::calls::{self, Measured, ModelCalls};
use super::replay;
use super::request::{Request, thinking_of};
use super::tools::{call, call_ids, outcome, own_id, parts_of};
use super::{AGENT, replay::Chat};
use crate::agents::editors::{WORKSPACE, workspace_folder};
use crate::agents::ids::qualified;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::agents::kit::values::At;
use crate::extract::{Facts, Kind, Reject, Sink, key};
use crate::source::Source;
use crate::tables::{ErrorType, MessageKind, MessageRow, Role, Status, UsageGrain, UsageRow};

/// Reads a chat.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(Chat { fields, requests }) = replay::read(source, out)? else { return Ok(()) };
    let session = fields.text_at("/sessionId").unwrap_or(source.stem());
    let description = source.path.parent().and_then(|folder| folder.parent()).map(|storage| storage.join(WORKSPACE));
    let folder = description.and_then(|description| workspace_folder(source, &description));
    let text = |pointer: &str| fields.text_at(pointer).map(str::to_owned);
    let facts = Facts {
        session_id: session.to_owned(),
        project_path: folder.or_else(|| text("/workingDirectory")),
        git_branch: text("/repoData/localBranch"),
        git_commit: text("/repoData/localHeadCommit"),
        git_repo: text("/repoData/remoteUrl"),
        title: text("/customTitle"),
        first_moment: fields.moment_at("/creationDate"),
        ..Facts::default()
    };
    let Measured { calls, failed } = calls::read(source, session, out);
    let count = requests.len();
    let all = requests.iter().enumerate();
    let all: Vec<_> = all.map(|(place, (value, cut))| (Request::new(value, place + 1 == count), *cut)).collect();
    let mut measured = by_request(calls, &all);
    let mut reader = Reader { out, thread: Thread::new(facts), abandoned: Vec::new(), failed };
    reader.add_calls(measured.pop().unwrap_or_default())?;
    for ((request, is_cut), calls) in all.iter().zip(measured) {
        let first = reader.abandoned.len();
        reader.take(request, calls)?;
        if !*is_cut && !request.is_undone() {
            reader.abandoned.truncate(first);
        }
    }
    let Reader { out, thread, abandoned, .. } = reader;
    out.abandon(&abandoned);
    thread.finish(out)
}

/// Assigns each call to its request: the last one that began before it. The last element holds calls that belong to
/// none.
fn by_request(calls: ModelCalls, requests: &[(Request<'_>, bool)]) -> Vec<ModelCalls> {
    let mut began: Vec<(i64, usize)> =
        requests.iter().enumerate().filter_map(|(place, (request, _))| Some((request.began()?, place))).collect();
    began.sort_unstable();
    let mut all = vec![ModelCalls::new(); requests.len() + 1];
    for (id, call) in calls {
        let before = call.began.map_or(0, |moment| began.partition_point(|(began, _)| *began <= moment));
        let place = before.checked_sub(1).and_then(|last| began.get(last)).map(|(_, place)| *place);
        // A later request may not have been saved yet.
        let is_late = |place: usize| {
            let end = requests.get(place).and_then(|(request, _)| request.ended());
            before == began.len() && end.zip(call.began).is_some_and(|(end, began)| began > end)
        };
        let place = place.filter(|place| !is_late(*place)).unwrap_or(requests.len());
        if let Some(of_request) = all.get_mut(place) {
            of_request.insert(id, call);
        }
    }
    all
}

struct Reader<'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    /// Places of messages that the conversation left.
    abandoned: Vec<usize>,
    /// Ids of the tool calls whose spans failed.
    failed: BTreeSet<String>,
}

impl Reader<'_, '_> {
    fn take(&mut self, request: &Request<'_>, calls: ModelCalls) -> Result<(), Reject> {
        let id = match request.id() {
            Some(id) => qualified(self.thread.id(), id).into_owned(),
            None => self.thread.print("request", request.began(), request.prompt()),
        };
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        self.thread.begin_turn();
        let (text, attachments) = (request.prompt(), request.attachments());
        let row = MessageRow { text, attachments, ..blank(Role::User, MessageKind::Prompt) };
        self.push(&id, request.began(), row)?;
        // The calls of helpers alone do not count the turn.
        let is_measured = calls.values().any(|call| !call.is_of_helper);
        if is_measured {
            self.out.claim(measured_key(&id), false);
        }
        self.add_calls(calls)?;
        let usage = if is_measured { Vec::new() } else { request.usage(&id) };
        let last = self.take_answer(request, &id, usage.first().map(|(id, _)| id.as_str()))?;
        for (response, row) in usage {
            let row = UsageRow { response_id: &response, message_id: last.as_deref(), ..row.shorten() };
            self.bill(row, &id)?;
        }
        let model = request.model();
        for summary in request.summaries() {
            self.take_summary(summary, &Position::new(&id, request.began()), model, is_measured)?;
        }
        self.take_end(request, &id)
    }

    /// Adds the answer and its tool calls. Returns the id of the last reply.
    fn take_answer(
        &mut self,
        request: &Request<'_>,
        id: &str,
        response: Option<&str>,
    ) -> Result<Option<String>, Reject> {
        let mut parts = parts_of(request.parts());
        let results = request.results();
        let model = request.model();
        let mut last = None;
        let rounds = request.rounds();
        for (number, round) in rounds.iter().enumerate() {
            let moment = round.moment_at("/timestamp");
            let response = response.filter(|_| number + 1 == rounds.len());
            let own = self.take_reply(id, round, response, model)?;
            for made in round.items_at("/toolCalls") {
                let call_id = own_id(made.text_at("/id").unwrap_or_default());
                let part = parts.remove(call_id);
                let call = call(made.text_at("/name").unwrap_or("unknown"), made.text_at("/arguments"), part);
                let call = Call { message_id: Some(own.clone()), started_at: moment, ..call };
                let end = outcome(results.get(call_id).copied(), part, &request.end());
                self.add_call(id, call_id, call, end)?;
            }
            last = Some(own);
        }
        if rounds.is_empty() && request.is_over() {
            let (text, thinking) = request.answer();
            if text.is_some() || thinking.is_some() || response.is_some() {
                let own = match request.response_id() {
                    Some(own) => qualified(id, own).into_owned(),
                    None => format!("{id}:reply"),
                };
                let row = MessageRow {
                    text: text.as_deref(),
                    thinking: thinking.as_deref(),
                    model,
                    response_id: response,
                    ..blank(Role::Assistant, MessageKind::Reply)
                };
                self.push(&own, request.ended(), row)?;
                last = Some(own);
            }
        }
        // Calls of subagents, and of requests without rounds.
        for call_id in call_ids(request.parts()) {
            let Some(part) = parts.remove(call_id) else { continue };
            let call = call(part.text_at("/toolId").unwrap_or("unknown"), None, Some(part));
            self.thread.is_sidechain = part.text_at("/subAgentInvocationId").is_some();
            let end = outcome(results.get(call_id).copied(), Some(part), &request.end());
            self.add_call(id, call_id, Call { message_id: last.clone(), ..call }, end)?;
            self.thread.is_sidechain = false;
        }
        Ok(last)
    }

    /// Stores the reply of a round and returns its id.
    fn take_reply(
        &mut self,
        id: &str,
        round: &Value,
        response: Option<&str>,
        model: Option<&str>,
    ) -> Result<String, Reject> {
        let text = round.text_at("/response");
        let moment = round.moment_at("/timestamp");
        let own = match round.text_at("/id") {
            Some(own) => qualified(id, own).into_owned(),
            None => self.thread.print("round", moment, [id].into_iter().chain(text)),
        };
        let thinking = thinking_of(round, "/thinking/text");
        let row = MessageRow {
            text,
            thinking: thinking.as_deref(),
            model: round.text_at("/modelId").or(model),
            response_id: response,
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        self.push(&own, moment, row)?;
        Ok(own)
    }

    fn add_call(&mut self, id: &str, call_id: &str, call: Call, end: Outcome<'_>) -> Result<(), Reject> {
        let own = qualified(id, call_id).into_owned();
        if !self.thread.is_new(Kind::ToolCall, &own) {
            return Ok(());
        }
        let has_failed = end.status == Status::Ok && self.failed.contains(call_id);
        let end = if has_failed { Outcome { status: Status::Error, ..end } } else { end };
        let call = self.thread.number_call(&Position::default(), Call { id: own, ..call });
        self.thread.close_call(&call, &end, self.out)?;
        if has_failed {
            self.out.from_companion(Kind::ToolCall, &call.id);
        }
        Ok(())
    }

    /// Adds a summary, which another call of the model wrote, at the position of its request.
    fn take_summary(
        &mut self,
        summary: &Value,
        at: &Position<'_>,
        model: Option<&str>,
        is_measured: bool,
    ) -> Result<(), Reject> {
        let own = format!("{}:summary:{}", at.id, summary.text_at("/toolCallRoundId").unwrap_or_default());
        let [input, cached] = ["/usage/prompt_tokens", "/usage/prompt_tokens_details/cached_tokens"]
            .map(|pointer| summary.count_at(pointer));
        let cached = cached.map(|cached| cached.min(input.unwrap_or(0)));
        let output = summary.count_at("/usage/completion_tokens");
        let model = summary.text_at("/model").or(model);
        let duration_ms = summary.whole_at("/durationMs");
        let is_billed = !is_measured && (input.is_some() || output.is_some());
        if is_billed {
            let row = UsageRow {
                response_id: &own,
                message_id: Some(&own),
                grain: UsageGrain::Response,
                model,
                timestamp: at.moment,
                input_tokens: input.map(|input| input - cached.unwrap_or(0)),
                cache_read_tokens: cached,
                output_tokens: output,
                duration_ms: duration_ms.filter(|ms| *ms >= 0),
                ..UsageRow::default()
            };
            self.bill(row, at.id)?;
        }
        let row = MessageRow {
            text: summary.text_at("/text"),
            model,
            duration_ms,
            response_id: Some(own.as_str()).filter(|_| is_billed),
            ..blank(Role::System, MessageKind::Compaction)
        };
        self.push(&own, None, row)
    }

    /// Adds the end of a request, if it failed or was stopped.
    fn take_end(&mut self, request: &Request<'_>, id: &str) -> Result<(), Reject> {
        let (error, end) = (request.error(), request.end());
        let is_abort = end.is_cancelled && end.is_over;
        if !is_abort && error.is_none() {
            return Ok(());
        }
        let is_set = |key: &str| error.is_some_and(|error| error.is_true_at(key));
        let error_type = match () {
            () if is_set("/isQuotaExceeded") => Some(ErrorType::UsageLimit),
            () if is_set("/isRateLimited") => Some(ErrorType::RateLimit),
            () => None,
        };
        let kind = if is_abort { MessageKind::Abort } else { MessageKind::ApiError };
        let text = error.and_then(|error| error.text_at("/message"));
        let row = MessageRow { text, is_error: !is_abort, error_type, ..blank(Role::System, kind) };
        self.push(&format!("{id}:end"), request.ended(), row)
    }

    fn push(&mut self, id: &str, moment: Option<i64>, row: MessageRow<'_>) -> Result<(), Reject> {
        if self.thread.is_new(Kind::Message, id) {
            let place = self.thread.push(&Position::new(id, moment), row, self.out)?;
            self.abandoned.push(place);
        }
        Ok(())
    }

    /// Adds calls of the model.
    fn add_calls(&mut self, calls: ModelCalls) -> Result<(), Reject> {
        for (span, call) in calls {
            let id = qualified(self.thread.id(), &span).into_owned();
            let row = UsageRow { turn: self.thread.turn, ..call.row(&id) };
            self.thread.is_sidechain = call.is_of_helper;
            self.thread.bill(&Position::default(), row, self.thread.last_seq(), self.out)?;
            self.thread.is_sidechain = false;
        }
        Ok(())
    }

    /// Adds the usage that a request records, which its measured calls supersede.
    fn bill(&mut self, row: UsageRow<'_>, id: &str) -> Result<(), Reject> {
        let row = UsageRow { turn: self.thread.turn, ..row };
        let response = row.response_id.to_owned();
        self.thread.bill(&Position::default(), row, self.thread.last_seq(), self.out)?;
        self.out.yields_to(Kind::Response, &response, measured_key(id), None);
        Ok(())
    }
}

/// Returns the key of the fact that the calls of a request were measured.
fn measured_key(request: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("measured:{request}"))
}
