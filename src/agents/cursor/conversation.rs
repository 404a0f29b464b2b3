//! One conversation, bubble by bubble.

use std::borrow::Cow;

use super::AGENT;
use super::ledger::{Billed, Ledger};
use super::record::{Bubble, ToolData};
use super::rows::{Rows, yield_to_twin};
use super::tools::{self, Ending};
use super::value;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::thread::{Position, blank};
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key};
use crate::source::records::Raw;
use crate::tables::{Category, MessageKind, MessageRow, Role, Vocabulary};

/// Length from which ids of calls are unique; shorter ids restart in each reply.
pub(super) const UNIQUE_FROM: usize = 12;

/// Facts of a conversation other than its bubbles.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) id: String,
    /// Start of the conversation. Microseconds since 1970.
    pub(super) began: Option<i64>,
    /// Model of replies if neither they nor their prompts name one.
    pub(super) model: Option<String>,
    /// Context window of its models. Tokens.
    pub(super) context_window: Option<i64>,
    pub(super) was_aborted: bool,
    /// True if another source with the same conversation overrides this one.
    pub(super) is_copy: bool,
}

/// Facts of a bubble from its list, used if the bubble itself lacks them.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) id: String,
    pub(super) is_users: Option<bool>,
    /// Microseconds since 1970.
    pub(super) moment: Option<i64>,
    /// True if the conversation continued without it.
    pub(super) is_left: bool,
}

/// Reads the bubbles of one conversation into the sink.
pub(super) struct Conversation<'o, 's> {
    rows: Rows<'o, 's>,
    known: Known,
    /// The model of the last prompt.
    asked: Option<String>,
    /// Start and number of each turn, in order of the conversation. Starts are microseconds since 1970.
    turns: Vec<(i64, i64)>,
    seen: KeySet,
    ledger: Ledger,
    left: Vec<usize>,
    has_summary: bool,
}

impl<'o, 's> Conversation<'o, 's> {
    pub(super) fn new(out: &'o mut Sink<'s>, known: Known) -> Self {
        let rows = Rows::new(out, known.id.clone(), known.began, known.is_copy);
        let ledger = Ledger::new(&known.id, known.context_window);
        Self {
            rows,
            known,
            asked: None,
            turns: Vec::new(),
            seen: KeySet::default(),
            ledger,
            left: Vec::new(),
            has_summary: false,
        }
    }

    pub(super) fn sink(&mut self) -> &mut Sink<'s> {
        self.rows.out
    }

    /// Takes a bubble.
    pub(super) fn take(&mut self, bubble: &Bubble<'_>, place: &Place) -> Result<(), Reject> {
        let Some(is_users) = self.is_users(bubble, place) else { return Ok(()) };
        let role = if is_users { Role::User } else { Role::Assistant };
        if self.is_again(bubble, place, role) {
            return Ok(());
        }
        let timestamp = bubble.moment().or(place.moment);
        let tool = bubble.tool.0.as_ref().filter(|tool| tool.name.get().is_some() || tool.id.get().is_some());
        let (text, thinking) = (bubble.shown(), bubble.thought());
        let summary = bubble.summary();
        let attachments = if is_users { bubble.attachments() } else { 0 };
        let is_shown = text.is_some() || thinking.is_some() || tool.is_some() || attachments > 0;
        let error = bubble.error.json().filter(|error| *error != "{}");
        let kind = kind_of(bubble, role, error.is_some());
        if is_users {
            self.asked = bubble.model().map(str::to_owned).or(self.asked.take());
        }
        let has_message = is_shown || error.is_some();
        if !has_message && summary.is_none() && bubble.tokens().is_none() {
            return Ok(());
        }
        let in_line = self.rows.thread.turn;
        self.enter_turn(kind == MessageKind::Prompt && is_shown, timestamp, place.is_left);
        let model = bubble.model().or(self.asked.as_deref()).or(self.known.model.as_deref()).filter(|_| !is_users);
        let model = model.map(str::to_owned);
        let response = self.bill(bubble, place, timestamp, model.as_deref(), is_shown);
        if has_message {
            let row = MessageRow {
                text: text.as_deref().or(error),
                thinking: thinking.as_deref(),
                model: model.as_deref(),
                response_id: response.as_deref(),
                attachments,
                ..blank(role, kind)
            };
            self.say(&Position::new(&place.id, timestamp), row, place.is_left)?;
            self.yield_to_earlier(bubble, is_users, Kind::Message, &place.id);
        }
        if let Some(tool) = tool
            && let Some(call_id) = self.call(tool, place, timestamp, response.as_deref())?
        {
            self.yield_to_earlier(bubble, is_users, Kind::ToolCall, &call_id);
        }
        if let Some(summary) = summary {
            let id = if has_message { format!("{}#summary", place.id) } else { place.id.clone() };
            self.summarize(&id, &summary, timestamp, place.is_left)?;
            self.yield_to_earlier(bubble, is_users, Kind::Message, &id);
        }
        if place.is_left && kind != MessageKind::Prompt {
            self.rows.thread.turn = in_line;
        }
        Ok(())
    }

    /// Returns true if the bubble is the user's; `None` if neither the bubble nor its list records it.
    fn is_users(&mut self, bubble: &Bubble<'_>, place: &Place) -> Option<bool> {
        let known = bubble.is_users();
        let is_users = known.or(place.is_users);
        let kind = bubble.kind.get().or(is_users.is_none().then_some("without a type"));
        if let Some(kind) = kind.filter(|_| known.is_none()) {
            self.rows.out.unknown(&format!("bubble {kind}"));
        }
        is_users
    }

    /// Returns true if the bubble, or another of the same id on the server, was taken before.
    fn is_again(&mut self, bubble: &Bubble<'_>, place: &Place, role: Role) -> bool {
        let same = bubble.server_id.get().map(|id| key(AGENT, Kind::Message, &format!("{}:{id}", role.as_str())));
        let own = key(AGENT, Kind::Message, &place.id);
        !self.seen.insert(own) | same.is_some_and(|same| !self.seen.insert(same))
    }

    fn say(&mut self, at: &Position<'_>, row: MessageRow<'_>, is_left: bool) -> Result<(), Reject> {
        let place = self.rows.message(at, row)?;
        self.left.extend(Some(place).filter(|_| is_left));
        Ok(())
    }

    /// Adds a summary of the conversation so far.
    fn summarize(&mut self, id: &str, text: &str, timestamp: Option<i64>, is_left: bool) -> Result<(), Reject> {
        self.has_summary = true;
        let row = MessageRow { text: Some(text), ..blank(Role::System, MessageKind::Compaction) };
        self.say(&Position::new(id, timestamp), row, is_left)
    }

    /// Begins a turn at a prompt. A bubble without which the conversation continued belongs to the turn of its own
    /// time.
    fn enter_turn(&mut self, is_prompt: bool, timestamp: Option<i64>, is_left: bool) {
        if is_prompt {
            self.rows.thread.begin_turn();
            self.turns.extend(timestamp.zip(self.rows.thread.turn));
        } else if is_left {
            self.rows.thread.turn = self.turn_at(timestamp);
        }
    }

    /// Returns the turn of a time.
    fn turn_at(&self, moment: Option<i64>) -> Option<i64> {
        let moment = moment?;
        self.turns.iter().filter(|(begun, _)| *begun <= moment).max().map(|(_, turn)| *turn)
    }

    /// Notes the tokens of a bubble; returns the id of its response.
    fn bill(
        &mut self,
        bubble: &Bubble<'_>,
        place: &Place,
        timestamp: Option<i64>,
        model: Option<&str>,
        is_shown: bool,
    ) -> Option<String> {
        let Some((input, output)) = bubble.tokens() else { return bubble.usage_id.owned() };
        let id = bubble.usage_id.get().or(bubble.server_id.get()).unwrap_or(&place.id);
        Some(self.ledger.add(
            id,
            Billed {
                id: String::new(),
                bubble: place.id.clone(),
                has_message: is_shown,
                seq: self.rows.thread.seq,
                turn: self.rows.thread.turn,
                timestamp,
                model: model.map(str::to_owned),
                input,
                output,
                duration_ms: bubble.duration_ms(),
                copies: 0,
                twin: bubble.twin_key(false).zip(self.known.began),
            },
        ))
    }

    /// Lets the bubble of the conversation that began first supersede its copies.
    fn yield_to_earlier(&mut self, bubble: &Bubble<'_>, is_users: bool, kind: Kind, id: &str) {
        let (Some(began), Some(twin)) = (self.known.began, bubble.twin_key(is_users)) else { return };
        self.rows.out.claim_since(twin, Some(began));
        yield_to_twin(self.rows.out, kind, id, twin, began);
    }

    fn call(
        &mut self,
        tool: &ToolData<'_>,
        place: &Place,
        timestamp: Option<i64>,
        response: Option<&str>,
    ) -> Result<Option<String>, Reject> {
        let call_id = match tool.id.get() {
            Some(id) if id.len() >= UNIQUE_FROM => id.to_owned(),
            Some(id) => format!("{}#{id}", place.id),
            None => place.id.clone(),
        };
        if !self.seen.insert(key(AGENT, Kind::ToolCall, &call_id)) {
            return Ok(None);
        }
        let number = tool.number.0;
        let by_number = format!("tool_{}", number.unwrap_or_default());
        let name = tool.name.get().unwrap_or(&by_number);
        let (raw_args, params) = (given(tool.raw_args), given(tool.params));
        let call = tools::call(name, number, [raw_args.as_deref(), params.as_deref()]);
        let result = value::within(tool.result);
        let Ending { status, exit_code, output, child } = Ending::of(tool, result.as_deref());
        let input = raw_args.as_deref().or(params.as_deref()).or(tool.raw_args.json().map(|_| "{}"));
        let call = Call {
            id: call_id.clone(),
            message_id: Some(place.id.clone()),
            response_id: response.map(str::to_owned),
            input: input.map(str::to_owned),
            started_at: timestamp,
            child: child.filter(|_| call.category == Category::Task),
            ..call
        };
        let (status, output) = (status.unwrap_or_default(), output.map(Cow::Owned).or(result));
        let end = Outcome { status, exit_code, output, ..Outcome::default() };
        self.rows.call(&Position::default(), call, &end)?;
        Ok(Some(call_id))
    }

    /// Ends the conversation, present also under the workspace's key. A summary that no bubble holds is its last
    /// message. If nothing was said, there is no session, and the sink is returned.
    pub(super) fn end(
        mut self,
        facts: Facts,
        summary: Option<String>,
        workspace: Option<u64>,
        costs: Raw<'_>,
    ) -> Result<Option<&'o mut Sink<'s>>, Reject> {
        let id = self.known.id.clone();
        let has_costs = self.ledger.take_costs(costs);
        if !self.rows.thread.has_rows && self.ledger.is_empty() && !has_costs {
            return Ok(Some(self.rows.out));
        }
        if let Some(text) = summary.as_deref().filter(|_| !self.has_summary) {
            self.summarize(&format!("{id}#summary"), text, None, false)?;
        }
        if self.known.was_aborted {
            let id = format!("{id}#aborted");
            self.rows.message(&Position::new(&id, None), blank(Role::System, MessageKind::Abort))?;
        }
        self.ledger.push(self.rows.out, &id, self.known.began, self.known.is_copy)?;
        self.rows.out.abandon(&self.left);
        if let Some(workspace) = workspace {
            self.rows.out.claim(workspace, false);
        }
        self.rows.end(Facts { summary, ..facts })?;
        Ok(None)
    }
}

fn kind_of(bubble: &Bubble<'_>, role: Role, has_error: bool) -> MessageKind {
    match role {
        Role::Assistant if has_error => MessageKind::ApiError,
        _ if bubble.is_nudge.0 || bubble.is_hidden.0 => MessageKind::Meta,
        Role::User => MessageKind::Prompt,
        _ => MessageKind::Reply,
    }
}

fn given(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    value::within(raw).filter(|text| text.trim() != "{}")
}
