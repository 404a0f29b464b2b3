//! Messages and their parts, as the files and the tables `message` and `part` hold them.

use std::collections::BTreeSet;

use serde_json::json;

use super::ids::{Finished, Identity, Traits, moment_of, steps_key};
use super::inline::Inline;
use super::record::{self, Failure, Message, Part, Tokens};
use super::rows::{Known, NewMessage, Response, Rows};
use super::tokens::{Billed, Counter};
use super::tools::{Call, answer_end, between};
use crate::agents::document::Torn;
use crate::extract::{Kind, Reject, Sink};
use crate::source::records::Text;
use crate::source::repair;
use crate::tables::{ErrorType, MessageKind, Role, UsageGrain};

/// Takes a session's messages in order, each followed by its parts.
pub(super) struct Transcript<'o, 'a> {
    pub(super) rows: Rows<'o, 'a>,
    open: Option<Open>,
    lost: Option<Lost>,
    /// The text of the last prompt; after a compaction that made room for it, it is given once more.
    last_prompt: String,
    may_repeat: bool,
    /// Providers that wrote to a cache.
    cache_writers: BTreeSet<String>,
}

/// A message whose record is damaged. Its parts show what it was.
struct Lost {
    id: String,
    /// Microseconds since 1970.
    created: Option<i64>,
    /// An object of the fields before the tear.
    fields: String,
}

/// A message whose parts are being read.
#[derive(Default)]
struct Open {
    id: String,
    identity: Identity,
    seq: i64,
    is_assistant: bool,
    is_summary: bool,
    is_aborted: bool,
    /// True if its own record is damaged.
    is_lost: bool,
    provider: Option<String>,
    model: Option<String>,
    /// Agent that the person chose, such as `plan`. It limits what the model may do.
    agent: Option<String>,
    /// Requested effort.
    effort: Option<String>,
    parent: Option<String>,
    /// Microseconds since 1970.
    created: Option<i64>,
    /// Microseconds since 1970.
    completed: Option<i64>,
    /// The name of the failure, its text, and its type.
    error: Option<(String, Option<String>, ErrorType)>,
    finish: Option<String>,
    billed: Option<Billed>,
    /// USD.
    cost: Option<f64>,
    text: String,
    thinking: String,
    /// True if any text is the person's or the model's own.
    has_own_text: bool,
    has_text: bool,
    attachments: i64,
    is_compaction: bool,
    is_command: bool,
    has_parts: bool,
    begun_steps: u32,
    steps: Vec<Step>,
    /// When the API call that is read began. Microseconds since 1970.
    step_began: Option<i64>,
    /// Calls of the API call that is read.
    calls: Vec<Call>,
    call_ids: Vec<String>,
    retries: Vec<Retry>,
}

/// A failed attempt.
struct Retry {
    part: String,
    /// Microseconds since 1970.
    at: Option<i64>,
    text: Option<String>,
    kind: Option<ErrorType>,
}

/// An API call of a message.
struct Step {
    id: String,
    reason: Option<String>,
    /// USD.
    cost: Option<f64>,
    billed: Billed,
    /// Microseconds since 1970.
    began: Option<i64>,
    /// When the model's answer ended. Microseconds since 1970.
    ended: Option<i64>,
}

impl<'o, 'a> Transcript<'o, 'a> {
    pub(super) fn new(known: Known, out: &'o mut Sink<'a>) -> Self {
        Self {
            rows: Rows::new(known, out),
            open: None,
            lost: None,
            last_prompt: String::new(),
            may_repeat: false,
            cache_writers: BTreeSet::new(),
        }
    }

    /// Takes a message. `created` is when its store says that it was written; the message itself knows better.
    pub(super) fn begin(&mut self, id: &str, created: Option<i64>, bytes: &[u8]) -> Result<(), Reject> {
        self.end()?;
        self.rows.record();
        record::read::<Message<'static>, _>(bytes, |read| match read {
            Ok(message) => self.take(id, created, &message),
            Err(reason) => {
                self.lose(id, created, bytes, &reason);
                Ok(())
            }
        })
    }

    /// Says if the next messages are a subagent's within the session.
    pub(super) fn step_aside(&mut self, is_sidechain: bool) -> Result<(), Reject> {
        self.end()?;
        self.rows.is_sidechain = is_sidechain;
        Ok(())
    }

    /// Takes a message whose record cannot be had.
    pub(super) fn begin_lost(&mut self, id: &str, created: Option<i64>, reason: &str) -> Result<(), Reject> {
        self.end()?;
        self.rows.record();
        self.lose(id, created, &[], reason);
        Ok(())
    }

    /// Counts a damaged record; the parts that lie elsewhere are still its own.
    fn lose(&mut self, id: &str, created: Option<i64>, bytes: &[u8], reason: &str) {
        self.rows.problem(id, reason);
        let json = repair(bytes);
        let torn = Torn::read(&json, "parts");
        let fields = torn.names().filter_map(|name| Some(format!("{}:{}", json!(name), torn.raw(name)?.get())));
        let fields = format!("{{{}}}", fields.collect::<Vec<_>>().join(","));
        self.lost = Some(Lost { id: id.to_owned(), created, fields });
    }

    /// Opens the damaged message that a part is of. Where its record does not say whose it is, the kind of the part
    /// does. One that may be a copy is none: nothing would show that it is there already.
    fn open_lost(&mut self, lost: &Lost, part: &str) {
        record::read::<Message<'static>, _>(lost.fields.as_bytes(), |read| {
            let mut message = read.unwrap_or_default();
            if message.role.get().is_none() {
                message.role = Text(Some(if is_models(part) { "assistant" } else { "user" }.into()));
            }
            let open = Open { is_lost: true, ..self.open_of(&lost.id, lost.created, &message) };
            self.open = Some(open).filter(|open| !open.identity.is_copy() && !self.rows.known.is_stray);
        });
    }

    fn take(&mut self, id: &str, created: Option<i64>, message: &Message<'_>) -> Result<(), Reject> {
        self.rows.out.unknown_fields("message field ", &message.unknown);
        let open = self.open_of(id, created, message);
        self.open = Some(open);
        if let Some(parts) = message.parts.json() {
            let tools = message.metadata.0.as_ref().map(|metadata| metadata.tools);
            let inline = Inline::new(parts, tools.unwrap_or_default());
            for (number, part) in inline.parts().enumerate() {
                self.part_of(&format!("{number}"), &part, &inline)?;
            }
        }
        Ok(())
    }

    fn open_of(&mut self, id: &str, created: Option<i64>, message: &Message<'_>) -> Open {
        let metadata = message.metadata.0.as_ref();
        let first = metadata.and_then(|metadata| metadata.assistant.0.as_ref());
        let asked = message.model.0.as_ref();
        let is_assistant = message.role.is("assistant");
        if !is_assistant && !message.role.is("user") {
            self.rows.out.unknown(&format!("role {}", message.role.get().unwrap_or_default()));
        }
        let model = message.model_id.get().or_else(|| first?.model.get()).or_else(|| asked?.id.get());
        let provider = message.provider_id.get().or_else(|| first?.provider.get()).or_else(|| asked?.provider.get());
        let times = message.time.0.as_ref().or_else(|| metadata?.time.0.as_ref());
        let created = times.and_then(|times| times.created.0).or(created).or_else(|| moment_of(id));
        let role = if is_assistant { "assistant" } else { "user" };
        let tokens = message.tokens.0.as_ref().or_else(|| first?.tokens.0.as_ref());
        let completed = times.and_then(|times| times.completed.0);
        let cost = message.cost.0.or_else(|| first?.cost.0);
        let finished = Finished::of(completed, tokens, cost).filter(|_| is_assistant);
        let traits = Traits { role, created, provider, model, finished };
        let agent = message.agent.get().or(message.mode.get()).filter(|_| !traits.is_moved());
        let (provider, model) = if traits.is_moved() { (None, None) } else { (provider, model) };
        let identity = self.rows.identity(id, traits, false);
        let place = message.path.0.as_ref().or_else(|| first?.path.0.as_ref());
        self.rows.enter(place.and_then(|place| place.cwd.get()));
        let error = message.error.0.as_ref().or_else(|| metadata?.error.0.as_ref());
        let error = error.map(|error| {
            (error.name.get().unwrap_or_default().to_owned(), error.text().map(str::to_owned), error.kind())
        });
        let billed = self.billed(provider, tokens);
        let summary = message.summary.json().or_else(|| first?.summary.json());
        Open {
            id: id.to_owned(),
            seq: self.rows.seq(),
            is_assistant,
            is_summary: is_assistant && summary == Some("true"),
            is_aborted: error.as_ref().is_some_and(|(name, ..)| name == ABORTED),
            provider: provider.map(str::to_owned),
            model: model.map(str::to_owned),
            agent: agent.map(str::to_owned),
            effort: message.variant.get().map(str::to_owned),
            parent: message.parent.owned(),
            created,
            completed,
            error,
            finish: message.finish.owned(),
            billed,
            cost,
            step_began: created,
            identity,
            ..Open::default()
        }
    }

    /// Takes a part of the message that was taken last.
    pub(super) fn part(&mut self, id: &str, bytes: &[u8]) -> Result<(), Reject> {
        self.rows.record();
        record::read::<Part<'static>, _>(bytes, |read| match read {
            Ok(part) => self.part_of(id, &part, &Inline::default()),
            Err(reason) => {
                self.rows.problem(id, &reason);
                Ok(())
            }
        })
    }

    fn part_of(&mut self, id: &str, part: &Part<'_>, inline: &Inline<'_>) -> Result<(), Reject> {
        self.rows.out.unknown_fields("part field ", &part.unknown);
        let kind = part.kind.get().unwrap_or_default();
        if let Some(lost) = self.lost.take() {
            self.open_lost(&lost, kind);
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        open.has_parts = true;
        open.is_assistant |= open.is_lost && is_models(kind);
        let times = part.time.0.as_ref();
        match kind {
            "text" if !open.is_assistant && part.ignored.0 => {}
            "text" => open.add_text(part),
            "reasoning" => append(&mut open.thinking, part.text.get().unwrap_or_default()),
            "file" => open.attachments += 1,
            "tool" => open.calls.push(Call::of_part(id, part, open.is_aborted)),
            "tool-invocation" => {
                if let Some(call) = &part.invocation.0 {
                    let moments = inline.moments(call.call.get().unwrap_or_default());
                    open.calls.push(Call::of_invocation(id, call, moments));
                }
            }
            "step-start" => open.begun_steps += 1,
            "step-finish" => return self.step(id, part),
            "retry" => {
                let error = part.error.0.as_ref();
                open.retries.push(Retry {
                    part: id.to_owned(),
                    at: times.and_then(|times| times.created.0),
                    text: error.and_then(|error| error.text()).map(str::to_owned),
                    kind: error.map(Failure::kind),
                });
            }
            "compaction" => {
                open.is_compaction = true;
                self.may_repeat = part.overflow.0;
            }
            "subtask" => {
                open.is_command |= part.command.get().is_some();
                open.has_own_text = true;
                append(&mut open.text, part.prompt.get().unwrap_or_default());
            }
            "snapshot" | "patch" | "agent" | "source-url" => {}
            other => self.rows.out.unknown(&format!("part {other}")),
        }
        Ok(())
    }

    /// Takes the end of an API call: what it was billed for, and that the calls so far are its.
    fn step(&mut self, id: &str, part: &Part<'_>) -> Result<(), Reject> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let tokens = self.billed(open.provider.as_deref(), part.tokens.0.as_ref());
        let response = open.identity.of_part(id, open.steps.len() + 1).into_owned();
        let ended = answer_end(&open.calls, open.completed);
        let last_end = open.calls.iter().filter_map(|call| call.end).max();
        let is_recorded = tokens.is_some() || part.cost.0.is_some_and(|cost| cost > 0.0);
        open.push_calls(is_recorded.then_some(response.as_str()), &mut self.rows)?;
        if is_recorded {
            open.steps.push(Step {
                id: response,
                reason: part.reason.owned(),
                cost: part.cost.0,
                billed: tokens.unwrap_or_default(),
                began: open.step_began,
                ended,
            });
        }
        open.step_began = last_end.or(open.step_began);
        self.open = Some(open);
        Ok(())
    }

    /// Returns the tokens and the cost of a call to a provider.
    fn billed(&mut self, provider: Option<&str>, tokens: Option<&Tokens<'_>>) -> Option<Billed> {
        let counter = Counter {
            provider,
            version: self.rows.known.version.as_deref(),
            counts_apart: false,
            writes_cache: provider.is_some_and(|provider| self.cache_writers.contains(provider)),
        };
        let billed = Billed::of(tokens?, counter);
        if let Some(provider) = provider.filter(|_| !counter.writes_cache && billed.cache_write > Some(0)) {
            self.cache_writers.insert(provider.to_owned());
        }
        Some(billed)
    }

    /// Completes the message that was taken last.
    pub(super) fn end(&mut self) -> Result<(), Reject> {
        self.lost = None;
        let Some(mut open) = self.open.take() else { return Ok(()) };
        let response = match open.steps.last() {
            Some(step) => Some(step.id.clone()),
            None => open.has_usage().then(|| open.identity.id().to_owned()),
        };
        let ended = answer_end(&open.calls, open.completed);
        open.push_calls(response.as_deref(), &mut self.rows)?;
        let kind = self.kind(&open);
        let error = open.error.as_ref().and_then(|(_, text, _)| text.as_deref());
        let text = Some(open.text.as_str()).filter(|text| !text.is_empty()).or(error);
        let finish = open.steps.last().and_then(|step| step.reason.as_deref()).or(open.finish.as_deref());
        let new = NewMessage {
            seq: open.seq,
            parent: open.parent.as_deref(),
            timestamp: open.created,
            role: match kind {
                MessageKind::ToolResult => Role::Tool,
                _ if open.is_assistant => Role::Assistant,
                _ => Role::User,
            },
            kind,
            text,
            thinking: Some(open.thinking.as_str()).filter(|text| !text.is_empty()),
            model: open.model.as_deref().filter(|_| open.is_assistant),
            response: response.as_deref(),
            stop_reason: finish,
            is_error: open.error.is_some(),
            error_type: open.error.as_ref().map(|(.., kind)| *kind),
            permission_mode: open.agent.as_deref(),
            attachments: open.attachments,
            is_bare: !open.has_parts,
            is_unfinished: open.is_lost || (open.is_assistant && open.completed.is_none()),
        };
        self.rows.message(&open.id, &open.identity, &new)?;
        self.push_responses(&open, ended)?;
        self.push_retries(&open)
    }

    /// Adds the API calls of a message: those of its steps, or one for the numbers of the message itself.
    fn push_responses(&mut self, open: &Open, ended: Option<i64>) -> Result<(), Reject> {
        let (identity, seq) = (&open.identity, open.seq);
        for step in &open.steps {
            self.rows.response(identity, &open.response_of(step, seq))?;
        }
        let steps = steps_key(self.rows.out.agent(), identity.id());
        if !open.steps.is_empty() {
            self.rows.out.claim(steps, identity.is_copy());
        }
        if open.has_usage() {
            let step = Step {
                id: identity.id().to_owned(),
                reason: open.finish.clone(),
                cost: open.cost,
                billed: open.billed.unwrap_or_default(),
                began: open.created,
                ended,
            };
            let response = Response { is_partial: open.begun_steps > 1, ..open.response_of(&step, seq) };
            self.rows.response(identity, &response)?;
            self.rows.out.yields_to(Kind::Response, identity.id(), steps, None);
        }
        Ok(())
    }

    /// Returns the kind of a message. A prompt or command begins a turn.
    fn kind(&mut self, open: &Open) -> MessageKind {
        if open.is_assistant {
            return match open.error.as_ref().map(|(name, ..)| name.as_str()) {
                Some(ABORTED) => MessageKind::Abort,
                Some("MessageOutputLengthError" | "StructuredOutputError") | None if open.is_summary => {
                    MessageKind::Summary
                }
                Some("MessageOutputLengthError" | "StructuredOutputError") | None => MessageKind::Reply,
                Some(_) => MessageKind::ApiError,
            };
        }
        if open.is_compaction {
            return MessageKind::Compaction;
        }
        // Outputs of a task's tools, moved to a session.
        if !open.has_text && !open.call_ids.is_empty() {
            return MessageKind::ToolResult;
        }
        let is_made = open.has_text && !open.has_own_text;
        let is_repeated = self.may_repeat && !open.text.is_empty() && open.text == self.last_prompt;
        if is_made || is_repeated {
            self.may_repeat &= is_made;
            return MessageKind::Meta;
        }
        self.may_repeat = false;
        self.last_prompt.clone_from(&open.text);
        self.rows.turn();
        if open.is_command { MessageKind::Command } else { MessageKind::Prompt }
    }

    fn push_retries(&mut self, open: &Open) -> Result<(), Reject> {
        let identity = &open.identity;
        for (number, Retry { part, at, text, kind }) in open.retries.iter().enumerate() {
            let retry = Identity::of_row(format!("{}#retry-{number}", identity.id()), identity);
            let seq = self.rows.seq();
            let new = NewMessage {
                seq,
                parent: Some(identity.id()),
                timestamp: at.or(open.created),
                role: Role::System,
                kind: MessageKind::ApiError,
                text: text.as_deref(),
                model: open.model.as_deref(),
                is_error: true,
                error_type: *kind,
                ..NewMessage::default()
            };
            self.rows.message(part, &retry, &new)?;
        }
        Ok(())
    }

    /// Completes the session.
    pub(super) fn finish(mut self) -> Result<(), Reject> {
        self.end()?;
        self.rows.finish()
    }
}

const ABORTED: &str = "MessageAbortedError";

impl Open {
    fn add_text(&mut self, part: &Part<'_>) {
        self.has_text = true;
        self.has_own_text |= !part.synthetic.0;
        append(&mut self.text, part.text.get().unwrap_or_default());
    }

    /// Returns true if the message itself has the numbers of its API call.
    fn has_usage(&self) -> bool {
        let is_billed = self.billed.is_some_and(|billed| !billed.is_zero());
        self.steps.is_empty() && (is_billed || self.cost.is_some_and(|cost| cost > 0.0))
    }

    fn push_calls(&mut self, response: Option<&str>, rows: &mut Rows<'_, '_>) -> Result<(), Reject> {
        let identity = &self.identity;
        for call in std::mem::take(&mut self.calls) {
            let mut id = identity.of_call(&call.id).into_owned();
            if self.call_ids.contains(&id) {
                id = identity.of_part(&call.part, self.call_ids.len()).into_owned();
            }
            rows.call(identity, &id, &call, response)?;
            self.call_ids.push(id);
        }
        Ok(())
    }

    fn response_of<'s>(&'s self, step: &'s Step, seq: i64) -> Response<'s> {
        Response {
            id: &step.id,
            seq,
            timestamp: step.began,
            provider: self.provider.as_deref(),
            model: self.model.as_deref(),
            billed: step.billed,
            cost: step.cost,
            duration_ms: between(self.created, step.ended).filter(|_| self.steps.len() <= 1 && self.begun_steps <= 1),
            stop_reason: step.reason.as_deref(),
            effort: self.effort.as_deref(),
            is_partial: false,
            grain: UsageGrain::Response,
        }
    }
}

/// Returns true if only the model's messages have parts of a kind.
fn is_models(part: &str) -> bool {
    matches!(part, "reasoning" | "tool" | "tool-invocation" | "step-start" | "step-finish" | "retry")
}

/// Appends a text to another, with an empty line between them.
pub(super) fn append(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}
