//! The tokens billed for the turns of a session.

use std::collections::BTreeMap;
use std::path::Path;

use super::record::{Line, Summary, Update, Usage};
use crate::agents::kit::thread::{Position, Thread};
use crate::extract::{Kind, Reject, Sink};
use crate::source::{Source, repair};
use crate::tables::{UsageGrain, UsageRow};

/// Ticks of a US dollar.
const TICKS_PER_DOLLAR: f64 = 1e10;
/// Models of a turn that are counted; damage may name any number.
const MOST_MODELS: usize = 100;

/// Tokens of one model in a turn. The cached ones are parts of the input, reasoning of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Counts {
    input: i64,
    output: i64,
    cache_read: i64,
    cache_write: i64,
    reasoning: i64,
    duration_ms: Option<i64>,
    /// USD; none where Grok does not vouch for it.
    cost: Option<f64>,
}

impl Counts {
    fn of(usage: &Usage<'_>, is_trusted: bool) -> Self {
        let [input, output, cache_read, cache_write, reasoning] =
            [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning]
                .map(|count| count.0.unwrap_or(0));
        let ticks = usage.ticks.0.filter(|ticks| is_trusted && !usage.has_partial_cost.0 && *ticks >= 0.0);
        let cost = ticks.map(|ticks| ticks / TICKS_PER_DOLLAR);
        Self { input, output, cache_read, cache_write, reasoning, duration_ms: usage.duration_ms.0, cost }
    }

    /// Takes away what a subagent was billed for, which has rows of its own.
    fn without(self, child: &Self) -> Self {
        let less = |count: i64, of_child: i64| count.saturating_sub(of_child).max(0);
        Self {
            input: less(self.input, child.input),
            output: less(self.output, child.output),
            cache_read: less(self.cache_read, child.cache_read),
            cache_write: less(self.cache_write, child.cache_write),
            reasoning: less(self.reasoning, child.reasoning),
            duration_ms: self.duration_ms,
            cost: self.cost.zip(child.cost).map(|(cost, of_child)| (cost - of_child).max(0.0)),
        }
    }

    fn is_zero(&self) -> bool {
        [self.input, self.output, self.cache_read, self.cache_write].iter().all(|count| *count == 0)
    }

    fn row<'r>(&self) -> UsageRow<'r> {
        let cached = self.cache_read.saturating_add(self.cache_write);
        UsageRow {
            input_tokens: Some(self.input.saturating_sub(cached).max(0)),
            cache_read_tokens: Some(self.cache_read),
            cache_write_5m_tokens: Some(self.cache_write),
            output_tokens: Some(self.output),
            reasoning_tokens: Some(self.reasoning),
            cost_usd: self.cost,
            duration_ms: self.duration_ms.filter(|ms| *ms >= 0),
            ..UsageRow::default()
        }
    }
}

/// A turn that ended.
#[derive(Default)]
struct Turn {
    /// Microseconds since 1970.
    moment: Option<i64>,
    models: BTreeMap<String, Counts>,
    stop_reason: Option<String>,
    effort: Option<String>,
    is_incomplete: bool,
    number: Option<i64>,
    seq: i64,
    line: u64,
    is_copy: bool,
}

/// The turns of a session, by their prompts: of two endings of one prompt, the last counts.
#[derive(Default)]
pub(super) struct Turns {
    turns: BTreeMap<String, Turn>,
    /// Subagents by the prompt during which they were started, each with the moment. Microseconds since 1970.
    children: BTreeMap<String, Vec<(String, Option<i64>)>>,
}

impl Turns {
    /// Takes the end of a turn. The model and its effort apply where the turn names none.
    pub(super) fn end(
        &mut self,
        update: &Update<'_>,
        [model, effort]: [Option<&str>; 2],
        at: &Position<'_>,
        thread: &Thread,
    ) {
        let Some((prompt, usage)) = update.prompt.get().zip(update.usage.0.as_ref()) else { return };
        let turn = Turn {
            moment: at.moment,
            models: by_model(usage, model),
            stop_reason: update.stop_reason.owned(),
            effort: effort.map(str::to_owned),
            is_incomplete: usage.is_incomplete.0,
            number: thread.turn,
            seq: thread.last_seq(),
            line: at.line.and_then(|line| u64::try_from(line).ok()).unwrap_or_default(),
            is_copy: at.is_copy,
        };
        self.turns.insert(prompt.to_owned(), turn);
    }

    /// Notes a subagent that was started, or resumed, during a turn.
    pub(super) fn start(&mut self, prompt: &str, child: &str, moment: Option<i64>) {
        let children = self.children.entry(prompt.to_owned()).or_default();
        if !children.iter().any(|(known, _)| known == child) {
            children.push((child.to_owned(), moment));
        }
    }

    /// Adds the rows. A turn of a subagent that ran during a turn is counted in that turn too. Earlier ones are of
    /// another turn, or were copied.
    pub(super) fn bill(mut self, source: &Source<'_>, thread: &mut Thread, out: &mut Sink<'_>) -> Result<(), Reject> {
        for (prompt, children) in &self.children {
            let Some(turn) = self.turns.get_mut(prompt) else { continue };
            for (child, started) in children {
                let Some(log) = super::log_of(source.path, child) else { continue };
                for of_child in Self::of_log(source, &log).turns.into_values() {
                    let ended = of_child.moment;
                    if ended.is_some() && ended >= *started && ended <= turn.moment {
                        for model in turn.subtract(&of_child) {
                            out.from_companion(Kind::Response, &format!("{prompt}:{model}"));
                        }
                    }
                }
            }
        }
        for (prompt, turn) in &self.turns {
            for (model, counts) in turn.models.iter().filter(|(_, counts)| !counts.is_zero()) {
                let id = format!("{prompt}:{model}");
                let row = UsageRow {
                    message_id: Some(prompt),
                    response_id: &id,
                    turn: turn.number,
                    model: Some(model).filter(|model| !model.is_empty()).map(String::as_str),
                    provider: model.starts_with("grok").then_some("xai"),
                    grain: UsageGrain::Turn,
                    stop_reason: turn.stop_reason.as_deref(),
                    reasoning_effort: turn.effort.as_deref(),
                    is_partial: turn.is_incomplete,
                    ..counts.row()
                };
                let at = Position { is_copy: turn.is_copy, ..Position::on_line("", turn.moment, turn.line) };
                thread.bill(&at, row, turn.seq, out)?;
            }
        }
        Ok(())
    }

    /// The turns in another session's log.
    fn of_log(source: &Source<'_>, log: &Path) -> Self {
        let mut turns = Self::default();
        let Some(mut lines) = source.beside(log).and_then(|mut log| log.lines().ok()) else { return turns };
        let bytes = super::index_of(source, log);
        let text = repair(&bytes);
        let summary: Summary<'_> = serde_json::from_str(&text).unwrap_or_default();
        let thread = Thread::default();
        while let Some(line) = lines.next_line() {
            let text = repair(line.bytes);
            let Ok(line) = serde_json::from_str::<Line<'_>>(&text) else { continue };
            let Some(params) = line.params.0 else { continue };
            let Some(update) = params.update.0.filter(|update| update.kind.is("turn_completed")) else { continue };
            let moment = params.meta.0.and_then(|meta| meta.moment.0).or(line.timestamp.0);
            turns.end(&update, [summary.model.get(), None], &Position::new("", moment), &thread);
        }
        turns
    }
}

impl Turn {
    /// Returns the models of which something was subtracted.
    fn subtract<'c>(&mut self, child: &'c Self) -> Vec<&'c str> {
        let mut models = Vec::new();
        for (model, counts) in &child.models {
            if let Some(own) = self.models.get_mut(model) {
                *own = own.without(counts);
                models.push(model.as_str());
            }
        }
        models
    }
}

/// The counts of each model; all of them are the session's model's if the log has no counts by model.
fn by_model(usage: &Usage<'_>, model: Option<&str>) -> BTreeMap<String, Counts> {
    let is_trusted = !usage.has_partial_cost.0 && !usage.is_incomplete.0;
    let by_model: BTreeMap<String, Usage<'_>> =
        usage.models.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    if by_model.is_empty() {
        return BTreeMap::from([(model.unwrap_or_default().to_owned(), Counts::of(usage, is_trusted))]);
    }
    by_model.into_iter().take(MOST_MODELS).map(|(model, usage)| (model, Counts::of(&usage, is_trusted))).collect()
}
