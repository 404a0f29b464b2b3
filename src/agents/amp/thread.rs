//! A thread: one document, rewritten at each change.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::ledger::{Events, row, row_of_event};
use super::record::{Block, Environment, Event, Ledger, Message};
use super::tools;
use crate::agents::document::{self, Torn};
use crate::agents::ids::qualified;
use crate::agents::kit::calls::Call;
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::agents::uri::path_of_uri;
use crate::extract::{Facts, Kind, Reject, Sink, error_type};
use crate::source::Source;
use crate::source::records::{Moment, Object, Text};
use crate::tables::{MessageKind, MessageRow, Role, Status, UsageRow};

/// Reads a thread.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(json) = document::text(source, "a thread", out)? else { return Ok(()) };
    let document = Torn::read(&json, "messages");
    if let Some(error) = &document.error {
        out.line();
        out.problem(1, &format!("the document is torn: {error}"));
    }
    let ledger: Object<Ledger<'_>> = document.field("usageLedger");
    let events = ledger.0.map(|ledger| ledger.events.0).unwrap_or_default();
    let events: Vec<Event<'_>> = events.into_iter().filter_map(|event| event.0).collect();
    let thread = Thread::new(facts_of(&document, source.stem()));
    let mut reader = Reader { out, thread, events: Events::new(&events), last_message: 0, turns: BTreeMap::new() };
    let billed = document.items.iter().filter_map(|item| message_of(item)).filter(|message| message.usage.0.is_some());
    reader.events.take_named(billed.filter_map(|message| message.id.0));
    for (number, item) in (1..).zip(&document.items) {
        reader.out.line();
        match message_of(item) {
            Some(message) => reader.take(&message)?,
            None => reader.out.problem(number, "the message is no object"),
        }
        reader.out.note_out_of_range(number);
    }
    reader.finish()
}

fn message_of(item: &RawValue) -> Option<Message<'_>> {
    serde_json::from_str(item.get()).ok()
}

fn facts_of(document: &Torn<'_>, stem: &str) -> Facts {
    let id: Text<'_> = document.field("id");
    let environment: Object<Environment<'_>> = document.field("env");
    let initial = environment.0.and_then(|environment| environment.initial.0).unwrap_or_default();
    let tree = initial.trees.0.first().and_then(|tree| tree.0.as_ref());
    let repository = tree.and_then(|tree| tree.repository.0.as_ref());
    let branch = repository.and_then(|repository| repository.reference.get());
    Facts {
        session_id: id.get().unwrap_or(stem).to_owned(),
        agent_version: initial.platform.0.as_ref().and_then(|platform| platform.version.owned()),
        project_path: tree.and_then(|tree| path_of_uri(tree.uri.get()?)),
        git_branch: branch.map(|branch| branch.strip_prefix("refs/heads/").unwrap_or(branch).to_owned()),
        git_commit: repository.and_then(|repository| repository.commit.owned()),
        git_repo: repository.and_then(|repository| repository.url.owned()),
        title: document.field::<Text<'_>>("title").owned(),
        first_moment: document.field::<Moment>("created").0,
        ..Facts::default()
    }
}

struct Reader<'e, 'j, 'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    events: Events<'e, 'j>,
    last_message: i64,
    /// The turns that have a time, by their beginning. Microseconds since 1970.
    turns: BTreeMap<i64, i64>,
}

impl Reader<'_, '_, '_, '_> {
    fn take(&mut self, message: &Message<'_>) -> Result<(), Reject> {
        let role = message.role.get().unwrap_or_default();
        let blocks = &message.content.0;
        let usage = message.usage.0.as_ref();
        let sent = message.meta.0.as_ref().and_then(|meta| meta.sent.0);
        let moment = sent.or(usage.and_then(|usage| usage.timestamp.0));
        let id = match message.id.0 {
            Some(number) => format!("{}:{number}", self.thread.id()),
            None => self.thread.print(role, moment, blocks.iter().filter_map(|block| block.text.get())),
        };
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        let event = usage.and_then(|usage| self.events.of(message.id.0, usage));
        let moment = moment.or(event.and_then(|event| event.timestamp.0));
        let at = Position::new(&id, moment);
        let state = message.state.0.as_ref();
        let text = join(of_kind(blocks, "text").filter_map(|block| block.text.get()).map(Into::into));
        let has_results = of_kind(blocks, "tool_result").next().is_some();
        let (row_role, kind) = match role {
            "assistant" => (Role::Assistant, MessageKind::Reply),
            "info" => (Role::System, MessageKind::Notice),
            _ if has_results && text.is_none() => (Role::Tool, MessageKind::ToolResult),
            _ => (Role::User, MessageKind::Prompt),
        };
        if kind == MessageKind::Prompt {
            self.thread.begin_turn();
            self.turns.extend(moment.zip(self.thread.turn));
        }
        if let Some(usage) = usage {
            let (turn, stop_reason) = (self.thread.turn, state.and_then(|state| state.stop_reason.get()));
            let row = UsageRow { message_id: Some(&id), response_id: &id, turn, stop_reason, ..row(usage) };
            self.thread.bill(&at, row, self.thread.seq, self.out)?;
        }
        let thinking = join(of_kind(blocks, "thinking").filter_map(|block| block.thinking.get()).map(Into::into));
        let failed = |block: &Block<'_>| tools::outcome(block, None).status == Status::Error;
        let row = MessageRow {
            text: text.as_deref(),
            thinking: thinking.as_deref(),
            model: usage.and_then(|usage| usage.model.get()),
            response_id: usage.map(|_| id.as_str()),
            stop_reason: state.and_then(|state| state.stop_reason.get()),
            attachments: i64::try_from(of_kind(blocks, "image").count()).unwrap_or(0),
            is_error: of_kind(blocks, "tool_result").any(failed),
            ..blank(row_role, kind)
        };
        self.push(&at, row)?;
        self.take_calls(blocks, usage.is_some(), &at)?;
        let end = format!("{id}:end");
        let at = Position { id: &end, ..at };
        match state.and_then(|state| state.kind.get()) {
            Some("cancelled") => self.push(&at, blank(Role::System, MessageKind::Abort)),
            Some("error") => {
                let error = state.and_then(|state| state.error.0.as_ref()?.message.get());
                let error_type = Some(error_type(None, None, error));
                let row = blank(Role::System, MessageKind::ApiError);
                self.push(&at, MessageRow { text: error, is_error: true, error_type, ..row })
            }
            _ => Ok(()),
        }
    }

    fn push(&mut self, at: &Position<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        self.thread.message(at, row, self.out)?;
        self.last_message = self.thread.last_seq();
        Ok(())
    }

    fn take_calls(&mut self, blocks: &[Block<'_>], is_billed: bool, at: &Position<'_>) -> Result<(), Reject> {
        for block in of_kind(blocks, "tool_use") {
            let name = block.id.get().unwrap_or_default();
            let call = Call {
                id: qualified(at.id, name).into_owned(),
                message_id: Some(at.id.to_owned()),
                response_id: is_billed.then(|| at.id.to_owned()),
                ..tools::call(block.name.get().unwrap_or("unknown"), block.input.json())
            };
            if self.thread.is_new(Kind::ToolCall, &call.id) {
                self.thread.open_named_call(at, Some(name), call, self.out)?;
            }
        }
        for block in of_kind(blocks, "tool_result") {
            let name = block.call.get().unwrap_or_default();
            let id = qualified(at.id, name).into_owned();
            let make = |_: &mut Thread| Call { id, ..tools::call("unknown", None) };
            let Some(call) = self.thread.take_call(at, name, make) else { continue };
            self.thread.close_call(&call, &tools::outcome(block, at.moment), self.out)?;
        }
        Ok(())
    }

    /// Adds the usage of titles, subagents and other helpers, of which only events are left.
    fn finish(mut self) -> Result<(), Reject> {
        self.thread.calls.interrupt_before(self.last_message);
        let seq = self.thread.last_seq();
        self.thread.is_sidechain = true;
        // Without the time of each prompt, an event may belong to a later turn.
        let are_dated = i64::try_from(self.turns.len()).ok() == self.thread.turn;
        let turns = if are_dated { std::mem::take(&mut self.turns) } else { BTreeMap::new() };
        for event in self.events.rest() {
            let id = match event.id.get() {
                Some(id) => format!("{}:{id}", self.thread.id()),
                None => self.thread.print("event", event.timestamp.0, event.model.get()),
            };
            let turn = event.timestamp.0.and_then(|moment| turns.range(..=moment).next_back());
            let turn = turn.map(|(_, turn)| *turn);
            let row = UsageRow { response_id: &id, turn, ..row_of_event(event) };
            if row.input_tokens.is_some() || row.output_tokens.is_some() {
                self.thread.bill(&Position::new("", event.timestamp.0), row, seq, self.out)?;
            }
        }
        self.thread.finish(self.out)
    }
}

fn of_kind<'b, 'j>(blocks: &'b [Block<'j>], kind: &'static str) -> impl Iterator<Item = &'b Block<'j>> {
    blocks.iter().filter(move |block| block.kind.is(kind))
}
