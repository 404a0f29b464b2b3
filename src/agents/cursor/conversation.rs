//! One conversation, bubble by bubble.

use std::borrow::Cow;

use super::AGENT;
use super::ledger::{Billed, Ledger};
use super::record::{Bubble, ToolData};
use super::rows::{Called, Rows, Said};
use super::tools::{Asked, Outcome};
use super::value;
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key};
use crate::source::records::Raw;
use crate::tables::{Category, MessageKind, Role, Vocabulary};

/// Ids of calls that are this long are unique; shorter ones are counted anew in each reply.
pub(super) const UNIQUE_FROM: usize = 12;

/// What is known of a conversation beside its bubbles.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) id: String,
    /// When it was begun. Microseconds since 1970.
    pub(super) began: Option<i64>,
    /// Model of replies that name none, and that no prompt names one for.
    pub(super) model: Option<String>,
    pub(super) was_aborted: bool,
    /// Whether another source that has the same conversation goes before this one.
    pub(super) is_copy: bool,
}

/// What its list says of a bubble, for what the bubble itself does not say.
#[derive(Debug, Clone, Default)]
pub(super) struct Place {
    pub(super) id: String,
    pub(super) is_users: Option<bool>,
    /// Microseconds since 1970.
    pub(super) moment: Option<i64>,
    /// Whether the conversation went on without it.
    pub(super) is_left: bool,
}

/// Reads the bubbles of one conversation into the sink.
pub(super) struct Conversation<'o, 's> {
    rows: Rows<'o, 's>,
    known: Known,
    /// The model that the last prompt was for.
    asked: Option<String>,
    /// When each turn began, in order of the conversation. Microseconds since 1970.
    turns: Vec<(i64, i64)>,
    seen: KeySet,
    ledger: Ledger,
    left: Vec<usize>,
    has_summary: bool,
}

impl<'o, 's> Conversation<'o, 's> {
    pub(super) fn new(out: &'o mut Sink<'s>, known: Known) -> Self {
        let rows = Rows::new(out, known.id.clone(), known.began);
        let rows = if known.is_copy { rows.weak() } else { rows };
        let ledger = Ledger::new(&known.id);
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
        let Some(is_users) = bubble.is_users().or(place.is_users) else {
            let kind = bubble.kind.get().unwrap_or("without a type");
            self.rows.out.unknown(&format!("bubble {kind}"));
            return Ok(());
        };
        if bubble.is_users().is_none()
            && let Some(kind) = bubble.kind.get()
        {
            self.rows.out.unknown(&format!("bubble {kind}"));
        }
        let role = if is_users { Role::User } else { Role::Assistant };
        let same = bubble.server_id.get().map(|id| key(AGENT, Kind::Message, &format!("{}:{id}", role.as_str())));
        let own = key(AGENT, Kind::Message, &place.id);
        let is_again = !self.seen.insert(own) | same.is_some_and(|same| !self.seen.insert(same));
        if is_again {
            return Ok(());
        }
        let timestamp = bubble.moment().or(place.moment);
        let tool = bubble.tool.0.as_ref().filter(|tool| tool.name.get().is_some() || tool.id.get().is_some());
        let (text, thinking) = (bubble.shown(), bubble.thought());
        let summary = bubble.summary();
        let attachments = if is_users { bubble.attachments() } else { 0 };
        let is_shown = text.is_some() || thinking.is_some() || tool.is_some() || attachments > 0;
        let has_error = bubble.error.json().is_some_and(|error| error != "{}");
        let kind = match (is_users, bubble.is_nudge.0 || bubble.is_hidden.0) {
            _ if has_error && !is_users => MessageKind::ApiError,
            (_, true) => MessageKind::Meta,
            (true, false) => MessageKind::Prompt,
            (false, false) => MessageKind::Reply,
        };
        if is_users {
            self.asked = bubble.model().map(str::to_owned).or(self.asked.take());
        }
        if !is_shown && !has_error && summary.is_none() && bubble.tokens().is_none() {
            return Ok(());
        }
        let in_line = self.rows.turn;
        if kind == MessageKind::Prompt && is_shown {
            let turn = self.rows.begin_turn();
            self.turns.extend(timestamp.map(|moment| (moment, turn)));
        } else if place.is_left {
            self.rows.turn = self.turn_at(timestamp);
        }
        let model =
            bubble.model().map(str::to_owned).or_else(|| self.asked.clone()).or_else(|| self.known.model.clone());
        let model = model.as_deref().filter(|_| !is_users);
        let response = self.bill(bubble, place, timestamp, model, is_shown);
        if is_shown || has_error {
            let error = bubble.error.json().filter(|_| has_error);
            let said = Said {
                id: &place.id,
                role,
                kind,
                text: text.as_deref().or(error),
                thinking: thinking.as_deref(),
                model,
                response_id: response.as_deref(),
                timestamp,
                attachments,
                line: None,
            };
            self.say(&said, place.is_left)?;
            self.tell_twin(bubble, is_users, Kind::Message, &place.id);
        }
        if let Some(tool) = tool {
            let call_id = self.call(tool, place, timestamp, response.as_deref())?;
            if let Some(call_id) = call_id {
                self.tell_twin(bubble, is_users, Kind::ToolCall, &call_id);
            }
        }
        if let Some(summary) = summary {
            self.has_summary = true;
            let id = if is_shown || has_error { format!("{}#summary", place.id) } else { place.id.clone() };
            let kind = MessageKind::Compaction;
            let said = Said { id: &id, role: Role::System, kind, text: Some(&summary), timestamp, ..Said::default() };
            self.say(&said, place.is_left)?;
            self.tell_twin(bubble, is_users, Kind::Message, &id);
        }
        if place.is_left && kind != MessageKind::Prompt {
            self.rows.turn = in_line;
        }
        Ok(())
    }

    fn say(&mut self, said: &Said<'_>, is_left: bool) -> Result<(), Reject> {
        let place = self.rows.message(said)?;
        self.left.extend(Some(place).filter(|_| is_left));
        Ok(())
    }

    /// The turn that a moment lies in.
    fn turn_at(&self, moment: Option<i64>) -> Option<i64> {
        let moment = moment?;
        self.turns.iter().filter(|(begun, _)| *begun <= moment).max().map(|(_, turn)| *turn)
    }

    /// Notes the tokens of a bubble; gives the id of the response that it belongs to.
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
                seq: self.rows.seq,
                turn: self.rows.turn,
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

    /// Copies of a bubble give way to that of the conversation that was begun first.
    fn tell_twin(&mut self, bubble: &Bubble<'_>, is_users: bool, kind: Kind, id: &str) {
        let (Some(began), Some(twin)) = (self.known.began, bubble.twin_key(is_users)) else { return };
        self.rows.out.claim_since(twin, Some(began));
        give_way_to_twin(self.rows.out, kind, id, twin, began);
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
        let asked = Asked::of(name, number, [raw_args.as_deref(), params.as_deref()]);
        let result = value::within(tool.result);
        let outcome = Outcome::of(tool, result.as_deref());
        self.rows.call(&Called {
            id: &call_id,
            message_id: &place.id,
            response_id: response,
            name,
            category: asked.category,
            mcp_server: asked.mcp_server.as_deref(),
            input: raw_args.as_deref().or(params.as_deref()).or(tool.raw_args.json().map(|_| "{}")),
            command: asked.command.as_deref(),
            file_path: asked.file.as_deref(),
            status: outcome.status.unwrap_or_default(),
            exit_code: outcome.exit_code,
            output: outcome.output.as_deref().or(result.as_deref()),
            started_at: timestamp,
            child: outcome.child.as_deref().filter(|_| asked.category == Category::Task),
            line: None,
        })?;
        Ok(Some(call_id))
    }

    /// Ends the conversation, present also under the workspace's key. A summary that no bubble holds is its last message.
    /// Where nothing was said, there is no session: then the sink is given back.
    pub(super) fn end(
        mut self,
        facts: Facts,
        summary: Option<String>,
        workspace: Option<u64>,
        costs: Raw<'_>,
    ) -> Result<Option<&'o mut Sink<'s>>, Reject> {
        let id = self.known.id.clone();
        let has_costs = self.ledger.take_costs(costs);
        if self.rows.count == 0 && self.ledger.is_empty() && !has_costs {
            return Ok(Some(self.rows.out));
        }
        if let Some(text) = summary.as_deref().filter(|_| !self.has_summary) {
            let id = format!("{id}#summary");
            let said = Said {
                id: &id,
                role: Role::System,
                kind: MessageKind::Compaction,
                text: Some(text),
                ..Said::default()
            };
            self.rows.message(&said)?;
        }
        if self.known.was_aborted {
            let id = format!("{id}#aborted");
            self.rows.message(&Said { id: &id, role: Role::System, kind: MessageKind::Abort, ..Said::default() })?;
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

/// Says of a row that it is no row where a conversation that was begun before this one has its twin.
pub(super) fn give_way_to_twin(out: &mut Sink<'_>, kind: Kind, id: &str, twin: u64, began: i64) {
    // The moment is kept in whole seconds and rounded up: two seconds before lies before this conversation's own claim.
    out.yields_to(kind, id, twin, Some(began.saturating_sub(2_000_000)));
}

fn given(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    value::within(raw).filter(|text| text.trim() != "{}")
}
