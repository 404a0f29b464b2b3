//! The state of a session of the second engine: where it ran, its model, and what is noted of its turns.

use std::collections::HashMap;
use std::path::Path;

use crate::agents::amazon_q::blank_usage;
use crate::agents::kit::thread::{Position, Thread};
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::source::records::{Fraction, List, Moment, Number, Object, Text, TokenNumber, record};
use crate::source::{Source, repair};
use crate::tables::{UsageGrain, UsageRow};

record! {
    /// The state as it is written.
    Stored<'a> {
        id: Text<'a> = "session_id",
        cwd: Text<'a> = "cwd",
        title: Text<'a> = "title",
        created: Moment = "created_at",
        state: Object<Inner<'a>> = "session_state",
    }

    /// The state with which the engine continues.
    Inner<'a> {
        model: Object<ModelState<'a>> = "rts_model_state",
        conversation: Object<Conversation<'a>> = "conversation_metadata",
    }

    /// The model in use.
    ModelState<'a> { info: Object<ModelInfo<'a>> = "model_info" }

    /// The model in use.
    ModelInfo<'a> { id: Text<'a> = "model_id" }

    /// The metadata of the conversation.
    Conversation<'a> { turns: List<Object<Turn<'a>>> = "user_turn_metadatas" }

    /// The metadata of a turn.
    Turn<'a> {
        input: TokenNumber = "input_token_count",
        output: TokenNumber = "output_token_count",
        end: Moment = "end_timestamp",
        messages: List<Text<'a>> = "message_ids",
        model: Text<'a> = "model",
        duration: Object<Duration<'a>> = "turn_duration",
        metered: List<Object<Metered<'a>>> = "metering_usage",
    }

    /// The credits charged for a turn.
    Metered<'a> { value: Fraction = "value", unit: Text<'a> = "unit" }

    /// The duration of a turn.
    Duration<'a> { seconds: Number = "secs", nanoseconds: Number = "nanos" }
}

/// A session's state.
#[derive(Default)]
pub(super) struct State {
    pub(super) id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    title: Option<String>,
    created: Option<i64>,
    turns: Vec<NotedTurn>,
    /// The first turn that names a message.
    turn_of: HashMap<String, usize>,
}

/// A turn as noted.
struct NotedTurn {
    input: Option<i64>,
    output: Option<i64>,
    end: Option<i64>,
    messages: Vec<String>,
    model: Option<String>,
    duration_ms: Option<i64>,
    credits: Option<f64>,
}

impl NotedTurn {
    fn says_something(&self) -> bool {
        self.end.is_some() || !self.messages.is_empty() || self.input.or(self.output).is_some()
    }
}

impl State {
    /// Reads the state next to a session's events; nothing if there is none.
    pub(super) fn beside(source: &Source<'_>) -> Self {
        Self::of(&source.sidecar(&source.path.with_extension("json")).unwrap_or_default()).unwrap_or_default()
    }

    /// Reads a state; none where it is no JSON object.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let json = repair(bytes);
        let stored: Stored<'_> = serde_json::from_str(&json).ok()?;
        let own = |text: &Text<'_>| text.owned();
        let state = stored.state.0.unwrap_or_default();
        let model = state.model.0.and_then(|model| own(&model.info.0?.id));
        let turns = state.conversation.0.unwrap_or_default().turns.0;
        let noted = |turn: Turn<'_>| NotedTurn {
            input: counted(turn.input),
            output: counted(turn.output),
            end: turn.end.0,
            messages: turn.messages.0.iter().filter_map(own).collect(),
            model: own(&turn.model).or_else(|| model.clone()),
            duration_ms: turn.duration.0.as_ref().and_then(milliseconds),
            credits: credits(
                turn.metered
                    .0
                    .iter()
                    .filter_map(|metered| metered.0.as_ref())
                    .map(|metered| (&metered.unit, metered.value)),
            ),
        };
        let turns: Vec<NotedTurn> = turns.into_iter().map(|turn| noted(turn.0.unwrap_or_default())).collect();
        let mut turn_of = HashMap::new();
        for (place, turn) in turns.iter().enumerate() {
            for message in &turn.messages {
                turn_of.entry(message.clone()).or_insert(place);
            }
        }
        Some(Self {
            id: own(&stored.id),
            cwd: own(&stored.cwd),
            title: own(&stored.title),
            created: stored.created.0,
            turns,
            turn_of,
            model,
        })
    }

    /// The model of the turn that a message belongs to.
    pub(super) fn model_of(&self, message: &str) -> Option<&str> {
        let turn = self.turn_of.get(message).and_then(|turn| self.turns.get(*turn));
        turn.and_then(|turn| turn.model.as_deref()).or(self.model.as_deref())
    }

    /// Facts of the session. If the state has no id, the name of its file is the id.
    pub(super) fn facts(&self, path: &Path) -> Facts {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        Facts {
            session_id: self.id.clone().unwrap_or_else(|| stem.to_owned()),
            project_path: self.cwd.clone(),
            title: self.title.clone(),
            first_moment: self.created,
            ..Facts::default()
        }
    }

    /// Adds the usage of the turns. `place_of` returns the turn and the `seq` of a message.
    pub(super) fn push_usage(
        &self,
        thread: &mut Thread,
        place_of: impl Fn(&str) -> Option<(Option<i64>, i64)>,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        for turn in self.turns.iter().filter(|turn| turn.says_something()) {
            let id = match turn.messages.first() {
                Some(id) => format!("{id}:turn"),
                None => thread.print("turn", turn.end, turn.model.as_deref()),
            };
            if !thread.is_new(Kind::Response, &id) {
                continue;
            }
            let last = turn.messages.iter().rev().find_map(|id| Some((id, place_of(id)?)));
            let (in_turn, place) = last.map_or((None, 0), |(_, at)| at);
            let row = UsageRow {
                message_id: last.map(|(id, _)| id.as_str()),
                turn: in_turn,
                timestamp: turn.end,
                model: turn.model.as_deref(),
                input_tokens: turn.input,
                output_tokens: turn.output,
                duration_ms: turn.duration_ms,
                credits: turn.credits,
                ..blank_usage(&id, UsageGrain::Turn)
            };
            thread.bill(&Position::default(), row, place, out)?;
        }
        Ok(())
    }
}

/// Returns the sum of what was charged in credits.
pub(super) fn credits<'t>(charged: impl Iterator<Item = (&'t Text<'t>, Fraction)>) -> Option<f64> {
    let credits = charged.filter(|(unit, _)| unit.get().is_some_and(|unit| unit.starts_with("credit")));
    credits.filter_map(|(_, Fraction(value))| value).reduce(|sum, value| sum + value)
}

fn milliseconds(duration: &Duration<'_>) -> Option<i64> {
    let whole = duration.seconds.0.filter(|seconds| *seconds >= 0)?.checked_mul(1000)?;
    whole.checked_add(duration.nanoseconds.0.unwrap_or(0).max(0) / 1_000_000)
}

/// Counts are 0 also in turns that used tokens, so that 0 says nothing.
fn counted(count: TokenNumber) -> Option<i64> {
    count.0.filter(|count| *count > 0)
}
