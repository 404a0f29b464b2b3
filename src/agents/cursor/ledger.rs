//! Usage of a conversation that Cursor records: tokens of a few bubbles, and in some versions a cost for each model.

use std::collections::BTreeMap;

use super::AGENT;
use super::record::{Cost, Entries};
use super::rows::yield_to_twin;
use super::value;
use crate::extract::{Kind, Reject, Sink, key};
use crate::source::records::Raw;
use crate::tables::{UsageGrain, UsageRow};

/// A response with recorded tokens.
#[derive(Debug, Clone)]
pub(super) struct Billed {
    pub(super) id: String,
    pub(super) bubble: String,
    pub(super) has_message: bool,
    pub(super) seq: i64,
    pub(super) turn: Option<i64>,
    /// Microseconds since 1970.
    pub(super) timestamp: Option<i64>,
    pub(super) model: Option<String>,
    pub(super) input: i64,
    pub(super) output: i64,
    pub(super) duration_ms: Option<i64>,
    /// Bubbles that repeat it.
    pub(super) copies: i64,
    /// Key that it shares with its copy in a duplicated conversation, and start of this conversation.
    pub(super) twin: Option<(u64, i64)>,
}

/// Responses of a conversation, and costs of models in it.
#[derive(Default)]
pub(super) struct Ledger {
    session: String,
    context_window: Option<i64>,
    billed: Vec<Billed>,
    /// Places of responses, by the id that their bubbles name.
    places: BTreeMap<String, Vec<usize>>,
    /// Cost of each model. USD.
    costs: BTreeMap<String, f64>,
}

impl Ledger {
    pub(super) fn new(session: &str, context_window: Option<i64>) -> Self {
        Self { session: session.to_owned(), context_window, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.billed.is_empty()
    }

    /// Adds a bubble's tokens of a response; returns the response's id. The same numbers under the same id are one
    /// response; other numbers are another response.
    pub(super) fn add(&mut self, id: &str, billed: Billed) -> String {
        let places = self.places.entry(id.to_owned()).or_default();
        for place in places.iter() {
            if let Some(known) = self.billed.get_mut(*place)
                && (known.input, known.output) == (billed.input, billed.output)
            {
                known.copies += 1;
                return known.id.clone();
            }
        }
        let id = if places.is_empty() { id.to_owned() } else { format!("{id}#{}", billed.bubble) };
        places.push(self.billed.len());
        self.billed.push(Billed { id: id.clone(), ..billed });
        id
    }

    /// Takes `usageData`: models, and the cost of each. Returns true if there is any.
    pub(super) fn take_costs(&mut self, costs: Raw<'_>) -> bool {
        let Some(json) = costs.json().filter(|json| json.starts_with('{')) else { return false };
        let entries: Entries<'_> = serde_json::from_str(json).unwrap_or_default();
        for (model, cost) in entries.0.iter().filter(|(model, _)| !model.is_empty()) {
            let cents = value::read::<Cost<'static>, _>(cost.get(), |cost| cost.cents.0).ok().flatten();
            if let Some(cents) = cents.filter(|cents| *cents >= 0.0) {
                self.costs.insert(model.clone().into_owned(), cents / 100.0);
            }
        }
        !self.costs.is_empty()
    }

    /// Emits the responses, and a row for each model with a cost. The row has the tokens of the model's responses, and
    /// supersedes their rows because it has their cost too.
    pub(super) fn push(self, out: &mut Sink<'_>, session: &str, began: Option<i64>, weak: bool) -> Result<(), Reject> {
        let mut priced: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
        for billed in &self.billed {
            let seq = billed.seq;
            let row = UsageRow { context_window: self.context_window, ..billed.row(session) };
            out.usage(row, seq, weak)?;
            if let Some((twin, began)) = billed.twin {
                out.claim_since(twin, Some(began));
                yield_to_twin(out, Kind::Response, &billed.id, twin, began);
            }
            let Some(model) = billed.model.as_deref() else { continue };
            out.yields_to(Kind::Response, &billed.id, self.key_of(out, model), None);
            if let Some(model) = self.named_in_costs(out, model) {
                let sum = priced.entry(model).or_default();
                *sum = (sum.0.saturating_add(billed.input), sum.1.saturating_add(billed.output));
            }
        }
        for (model, cost) in &self.costs {
            let tokens = priced.get(model.as_str()).copied();
            let id = format!("{session}:usageData:{model}");
            let row = UsageRow {
                timestamp: began,
                model: Some(model),
                input_tokens: tokens.map(|(input, _)| input),
                output_tokens: tokens.map(|(_, output)| output),
                cost_usd: Some(*cost),
                grain: UsageGrain::Session,
                ..blank(session, &id)
            };
            out.usage(row, 0, weak)?;
            out.claim(self.key_of(out, model), false);
        }
        Ok(())
    }

    /// Returns the spelling of a model in the costs, which may differ from that in bubbles; `None` if they lack the
    /// model.
    fn named_in_costs(&self, out: &Sink<'_>, model: &str) -> Option<&str> {
        let same = || self.costs.keys().find(|named| out.model_named(named) == out.model_named(model));
        let exact = self.costs.get_key_value(model).map(|(named, _)| named);
        exact.or_else(same).map(String::as_str)
    }

    /// Returns the key of the fact that the cost of a model in the conversation is recorded.
    fn key_of(&self, out: &Sink<'_>, model: &str) -> u64 {
        key(AGENT, Kind::Presence, &format!("cost:{}:{}", self.session, out.model_named(model)))
    }
}

impl Billed {
    fn row<'r>(&'r self, session: &'r str) -> UsageRow<'r> {
        UsageRow {
            message_id: Some(&*self.bubble).filter(|_| self.has_message),
            turn: self.turn,
            timestamp: self.timestamp,
            model: self.model.as_deref(),
            input_tokens: Some(self.input),
            output_tokens: Some(self.output),
            duration_ms: self.duration_ms,
            copies: self.copies,
            ..blank(session, &self.id)
        }
    }
}

fn blank<'r>(session_id: &'r str, response_id: &'r str) -> UsageRow<'r> {
    UsageRow { session_id, response_id, ..UsageRow::default() }
}
