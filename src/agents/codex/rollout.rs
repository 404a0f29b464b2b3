//! One rollout: lines into messages, tool calls and responses.

mod calls;
mod completed;
mod events;
mod ids;
mod meta;
mod replies;
mod usage;
mod users;

use std::rc::Rc;

use chrono::NaiveDateTime;

use super::content;
use super::counts::{Billed, Totals};
use super::limits::Limits;
use super::lineage::Lineage;
use super::record::{Compacted, Event, Item, Line, Meta, TurnContext, UsageRecord};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, KeyMap, KeySet, Kind, Reject, Sink, key, session_key};
use crate::source::Source;
use crate::tables::{MessageKind, MessageRow, Role};
use calls::Calls;
use ids::Ids;
use replies::Reply;
use users::Waiting;

/// Reads a rollout into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut rollout = Rollout::new(super::session_of_name(source.path), out);
    rollout.named_time = super::time_of_name(source.path);
    rollout.read_all(&mut source.lines()?)?;
    rollout.finish()
}

/// Lines and items that hold nothing for the tables.
const IGNORED: [&str; 6] = [
    "world_state",
    "inter_agent_communication_metadata",
    "retained_context",
    "realtime_item",
    "state",
    "configuration_update",
];

/// Items that had lines of their own before there were envelopes.
const ITEMS: [&str; 9] = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "web_search_call",
    "ghost_snapshot",
];

pub(super) struct Rollout<'o, 'a> {
    out: &'o mut Sink<'a>,
    session: String,
    facts: Facts,
    lineage: Lineage,
    /// True if a line proved that lines before it were copied from another thread.
    has_copies: bool,
    /// Keys of the records so far that may be another thread's.
    unclear: Vec<u64>,
    /// True if the file's own first line has come.
    has_meta: bool,
    /// Local time that the file is named by.
    named_time: Option<NaiveDateTime>,
    /// Time of lines without a time of their own (until 0.31). Microseconds since 1970.
    moment: Option<i64>,
    model: Option<Rc<str>>,
    provider: Option<String>,
    service_tier: Option<Rc<str>>,
    effort: Option<Rc<str>>,
    /// Largest request that the model takes. Tokens.
    context_window: Option<i64>,
    /// Approvals and sandbox of the turn.
    permission_mode: Option<String>,
    /// Limits that were recorded since the last billed response.
    limits: Limits,
    cwd: Option<String>,
    seq: i64,
    turn: Option<i64>,
    ids: Ids,
    /// The last message.
    parent: Option<String>,
    /// The reply that further items may continue.
    reply: Option<Reply>,
    waiting: Waiting,
    calls: Calls,
    totals: Totals,
    /// The last billed response.
    billed: Option<Billed>,
    /// The first billed response of the turn, until the turn ends, with the limits after it.
    first: Option<(Billed, Limits)>,
    /// True from the start of a turn until its first response is billed.
    awaits_first: bool,
    /// Web searches since the last billed response. Count.
    web_searches: i64,
    /// True if counts come before their reply; `None` until the turn's first count shows it.
    counts_come_first: Option<bool>,
    /// True if the turn has records of its responses, so that running totals add nothing.
    turn_has_records: bool,
    responses: KeySet,
    /// Last number given to a response name, by the name's key. Count.
    repeats: KeyMap<u64>,
    /// Place of the first message of each turn that still counts.
    turn_starts: Vec<usize>,
    /// Messages emitted.
    places: usize,
    /// The last error of the turn, which its end repeats.
    error: Option<String>,
    /// True if prompts are claimed by their text, for a history that names no session.
    claims_prompts: bool,
    has_rows: bool,
}

/// Number and time of a line.
#[derive(Clone, Copy)]
pub(super) struct LinePosition {
    number: u64,
    moment: Option<i64>,
}

impl<'a> RecordReader<'a> for Rollout<'_, 'a> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"timestamp\"", "{\"type\"", "{\"id\"", "{\"ordinal\""];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        self.out.unknown_fields("field ", &line.unknown);
        let position = LinePosition { number, moment: line.timestamp.0.or(self.moment) };
        let kind = line.kind.get().unwrap_or_default();
        let mut spare = String::new();
        let Some(payload) = line.payload.json() else { return self.take_bare(position, kind, line) };
        self.lineage.ordinal(line.ordinal.0);
        match kind {
            "session_meta" => {
                self.read(payload, &mut spare, number, |this, meta: Meta<'_>| this.take_meta(position, &meta))
            }
            "turn_context" => self
                .read(payload, &mut spare, number, |this, context: TurnContext<'_>| this.take_turn_context(&context)),
            "response_item" => {
                self.read(payload, &mut spare, number, |this, item: Item<'_>| this.take_item(position, &item))
            }
            "event_msg" => {
                self.read(payload, &mut spare, number, |this, event: Event<'_>| this.take_event(position, &event))
            }
            "token_usage_record" => self
                .read(payload, &mut spare, number, |this, record: UsageRecord<'_>| this.take_record(position, &record)),
            "compacted" => self.read(payload, &mut spare, number, |this, compacted: Compacted<'_>| {
                this.take_compacted(position, &compacted)
            }),
            "inter_agent_communication" => {
                self.read(payload, &mut spare, number, |this, item: Item<'_>| this.take_agent_message(position, &item))
            }
            kind if IGNORED.contains(&kind) => Ok(()),
            kind => {
                self.out.unknown(&format!("record {kind}"));
                Ok(())
            }
        }
    }
}

impl<'o, 'a> Rollout<'o, 'a> {
    pub(super) fn new(session: String, out: &'o mut Sink<'a>) -> Self {
        Self {
            out,
            lineage: Lineage::of(&session, None),
            session,
            has_copies: false,
            unclear: Vec::new(),
            facts: Facts::default(),
            has_meta: false,
            named_time: None,
            moment: None,
            model: None,
            provider: None,
            service_tier: None,
            effort: None,
            context_window: None,
            permission_mode: None,
            limits: Limits::default(),
            cwd: None,
            seq: 0,
            turn: None,
            ids: Ids::default(),
            parent: None,
            reply: None,
            waiting: Waiting::default(),
            calls: Calls::default(),
            totals: Totals::default(),
            billed: None,
            first: None,
            awaits_first: false,
            web_searches: 0,
            counts_come_first: None,
            turn_has_records: false,
            responses: KeySet::default(),
            repeats: KeyMap::default(),
            turn_starts: Vec::new(),
            places: 0,
            error: None,
            claims_prompts: false,
            has_rows: false,
        }
    }

    /// Returns a reader for a session that is one document with only one known time.
    pub(super) fn of_document(session: String, moment: Option<i64>, out: &'o mut Sink<'a>) -> Self {
        let mut rollout = Self::new(session, out);
        rollout.moment = moment;
        rollout.facts.first_moment = moment;
        rollout.claims_prompts = true;
        rollout
    }

    /// Takes an item of a document, counted from 1; `None` if it cannot be read.
    pub(super) fn take_document_item(&mut self, number: u64, item: Option<&Item<'_>>) -> Result<(), Reject> {
        self.out.line();
        match item {
            Some(item) => self.take_item(LinePosition { number, moment: self.moment }, item),
            None => {
                self.out.problem(number, "the item is no object");
                Ok(())
            }
        }
    }

    /// Reads a payload of the given shape. Any other shape is reported as a problem.
    fn read<'s, T: serde::Deserialize<'s>>(
        &mut self,
        json: &'s str,
        spare: &'s mut String,
        number: u64,
        take: impl FnOnce(&mut Self, T) -> Result<(), Reject>,
    ) -> Result<(), Reject> {
        match content::parse(json, spare) {
            Some(payload) => take(self, payload),
            None => {
                self.out.problem(number, "the payload is no object");
                Ok(())
            }
        }
    }

    /// Takes a line without an envelope: 0.2 to 0.31.
    fn take_bare(&mut self, position: LinePosition, kind: &str, line: &Line<'_>) -> Result<(), Reject> {
        if line.record_type.get().is_some() {
            return Ok(());
        }
        match kind {
            "" if line.id.get().is_some() => {
                self.take_bare_meta(line);
                Ok(())
            }
            kind if ITEMS.contains(&kind) => self.take_item(position, &item_of(line)),
            kind => {
                self.out.unknown(&format!("record {kind}"));
                Ok(())
            }
        }
    }

    fn take_turn_context(&mut self, context: &TurnContext<'_>) -> Result<(), Reject> {
        let sandbox = context.sandbox.0.as_ref().and_then(|sandbox| sandbox.kind.get());
        let mode = [context.approval.get(), sandbox].into_iter().flatten().collect::<Vec<_>>().join("/");
        self.permission_mode = Some(mode).filter(|mode| !mode.is_empty());
        self.flush_prompt()?;
        self.begin_turn(context.turn.get())?;
        if self.lineage.is_copied() {
            return Ok(());
        }
        self.set_model(context.model.get());
        self.set_cwd(context.cwd.get());
        self.effort = context.effort.get().map(Into::into);
        if let Some(tier) = context.service_tier.get() {
            self.set_service_tier(Some(tier));
        }
        Ok(())
    }

    /// Begins a turn, or continues it after its settings were repeated.
    fn begin_turn(&mut self, id: Option<&str>) -> Result<(), Reject> {
        self.close_reply()?;
        if self.lineage.turn(id) {
            self.drop_copies()?;
        }
        self.counts_come_first = None;
        Ok(())
    }

    fn set_model(&mut self, model: Option<&str>) {
        if let Some(model) = model
            && self.model.as_deref() != Some(model)
        {
            self.model = Some(model.into());
        }
    }

    /// Sets the service tier. Codex's fast mode is the provider's tier `priority`.
    fn set_service_tier(&mut self, tier: Option<&str>) {
        self.service_tier = tier.map(|tier| if tier == "fast" { "priority" } else { tier }.into());
    }

    fn set_cwd(&mut self, cwd: Option<&str>) {
        if let Some(cwd) = cwd.map(meta::without_prefix)
            && self.cwd.as_deref() != Some(cwd)
        {
            self.cwd = Some(cwd.to_owned());
        }
    }

    fn take_compacted(&mut self, position: LinePosition, compacted: &Compacted<'_>) -> Result<(), Reject> {
        if let Some(thread) = compacted.latest.0.as_ref().and_then(|record| record.thread.get()) {
            self.lineage.named(thread == self.session);
        }
        if self.lineage.is_copied() {
            return Ok(());
        }
        self.settle()?;
        self.stop_waiting();
        let text = compacted.message.get();
        let id = self.ids.of(self.lineage.namespace(&self.session), None, &["compacted", text.unwrap_or_default()]);
        let row = MessageRow { role: Role::System, kind: MessageKind::Compaction, text, ..blank(&id, position) };
        self.push(row)
    }

    /// Emits the held rows: the user's message without an event, and the reply.
    fn settle(&mut self) -> Result<(), Reject> {
        self.flush_user()?;
        self.flush_prompt()?;
        self.close_reply()
    }

    /// Emits a message, and fills in its place and the values that all messages have.
    fn push(&mut self, row: MessageRow<'_>) -> Result<(), Reject> {
        let seq = self.seq;
        self.seq += 1;
        let parent = self.parent.replace(row.message_id.to_owned());
        self.push_at(seq, parent.as_deref(), self.turn, row)
    }

    /// Emits a message with a given place.
    fn push_at(
        &mut self,
        seq: i64,
        parent: Option<&str>,
        turn: Option<i64>,
        row: MessageRow<'_>,
    ) -> Result<(), Reject> {
        self.flush_prompt()?;
        self.has_rows = true;
        self.places += 1;
        let (id, weak) = (row.message_id, self.lineage.is_unclear());
        let row = MessageRow {
            session_id: &self.session,
            seq,
            parent_id: parent,
            turn,
            cwd: self.cwd.as_deref(),
            git_branch: self.facts.git_branch.as_deref(),
            ..row.shorten()
        };
        self.out.message(row, weak)?;
        self.note_unclear(Kind::Message, id, weak);
        Ok(())
    }

    /// Notes a record that a later line may prove to be another thread's.
    fn note_unclear(&mut self, kind: Kind, id: &str, weak: bool) {
        if weak && self.lineage.origin().is_some() {
            self.unclear.push(key(self.out.agent(), kind, id));
        }
    }

    /// Supersedes the unclear records, which a line proved to be another thread's.
    fn drop_copies(&mut self) -> Result<(), Reject> {
        self.flush_prompt()?;
        if self.lineage.origin().is_some() {
            self.flush_billed()?;
            self.flush_first()?;
            self.has_copies = true;
            let copies = std::mem::take(&mut self.unclear);
            if let Some(first) = copies.first() {
                let proof = copies_key(self.out.agent(), &self.session, *first);
                self.out.claim(proof, false);
                for copy in &copies {
                    self.out.supersede(*copy, proof);
                }
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), Reject> {
        self.settle()?;
        self.flush_billed()?;
        self.flush_first()?;
        self.drain_calls()?;
        if !self.has_rows {
            self.out.discard_session();
            return Ok(());
        }
        self.out.claim(session_key(self.out.agent(), &self.session), false);
        let facts = self.complete_facts();
        self.out.end_session(facts)
    }
}

/// Returns the key of the fact that records were copied from another thread. It is made from the key of the first one,
/// as line numbers change when lines are dropped.
fn copies_key(agent: &str, session: &str, first: u64) -> u64 {
    key(agent, Kind::Presence, &format!("copies from {first:016x} in {session}"))
}

/// Returns a row with the values of its line.
fn blank(id: &str, position: LinePosition) -> MessageRow<'_> {
    MessageRow {
        message_id: id,
        timestamp: position.moment,
        role: Role::System,
        kind: MessageKind::Meta,
        source_line: i64::try_from(position.number).ok(),
        ..MessageRow::default()
    }
}

/// Returns the item of a line without an envelope.
fn item_of<'l>(line: &Line<'l>) -> Item<'l> {
    Item {
        kind: line.kind.clone(),
        id: line.id.clone(),
        role: line.role.clone(),
        content: line.content,
        summary: line.summary,
        encrypted: line.encrypted,
        name: line.name.clone(),
        arguments: line.arguments,
        input: line.input,
        call: line.call.clone(),
        output: line.output,
        status: line.status.clone(),
        action: line.action,
        ..Item::default()
    }
}
