//! One request of a chat: the prompt, the answer and the counts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::tools::{Ended, own_id};
use crate::agents::kit::texts::append;
use crate::agents::kit::values::At;
use crate::tables::{UsageGrain, UsageRow};

/// A request.
pub(super) struct Request<'v> {
    value: &'v Value,
    /// True if no later request follows it: it may still run.
    is_last: bool,
}

impl<'v> Request<'v> {
    pub(super) fn new(value: &'v Value, is_last: bool) -> Self {
        Self { value, is_last }
    }

    pub(super) fn id(&self) -> Option<&'v str> {
        self.value.text_at("/requestId")
    }

    pub(super) fn began(&self) -> Option<i64> {
        self.value.moment_at("/timestamp")
    }

    pub(super) fn ended(&self) -> Option<i64> {
        self.value.moment_at("/modelState/completedAt").or_else(|| self.value.moment_at("/responseTimestamp"))
    }

    pub(super) fn prompt(&self) -> Option<&'v str> {
        self.value.text_at("/message/text").or_else(|| self.value.text_at("/message"))
    }

    pub(super) fn attachments(&self) -> i64 {
        i64::try_from(self.value.items_at("/variableData/variables").len()).unwrap_or(0)
    }

    /// Returns true if the person took it back.
    pub(super) fn is_undone(&self) -> bool {
        self.value.at("/shouldBeRemovedOnSend").is_some_and(Value::is_object) || self.value.is_true_at("/isHidden")
    }

    pub(super) fn response_id(&self) -> Option<&'v str> {
        self.value.text_at("/responseId")
    }

    pub(super) fn parts(&self) -> &'v [Value] {
        self.value.items_at("/response")
    }

    /// Returns the model's rounds, each of which is one call of the model.
    pub(super) fn rounds(&self) -> &'v [Value] {
        self.value.items_at("/result/metadata/toolCallRounds")
    }

    /// Returns the results of tool calls, by the calls' ids.
    pub(super) fn results(&self) -> BTreeMap<&'v str, &'v Value> {
        let results = self.value.at("/result/metadata/toolCallResults").and_then(Value::as_object);
        results.into_iter().flatten().map(|(id, result)| (own_id(id), result)).collect()
    }

    /// Returns the summaries that replaced the conversation so far.
    pub(super) fn summaries(&self) -> impl Iterator<Item = &'v Value> {
        let all = self.value.items_at("/result/metadata/summaries");
        all.iter().chain(self.value.at("/result/metadata/summary").filter(|_| all.is_empty()))
    }

    pub(super) fn end(&self) -> Ended {
        let state = self.value.whole_at("/modelState/value");
        Ended {
            has_result: self.has_result(),
            is_over: self.is_over(),
            is_cancelled: state == Some(2) || self.value.is_true_at("/isCanceled"),
            is_open: matches!(state, Some(0 | 4)),
        }
    }

    /// Returns true if its answer is complete. A running answer is saved as a cancelled one.
    pub(super) fn is_over(&self) -> bool {
        self.has_result() || !self.is_last
    }

    fn has_result(&self) -> bool {
        self.value.at("/result").is_some()
    }

    /// Returns the error of a failed request.
    pub(super) fn error(&self) -> Option<&'v Value> {
        self.value.at("/result/errorDetails").filter(|error| error.is_object())
    }

    /// Returns the model that answered.
    pub(super) fn model(&self) -> Option<&'v str> {
        let resolved = self.value.text_at("/result/metadata/resolvedModel");
        let of_round = || self.rounds().iter().rev().find_map(|round| round.text_at("/modelId"));
        let of_part = || self.parts().iter().find_map(|part| part.text_at("/resolved/id"));
        resolved.or_else(of_round).or_else(of_part).or_else(|| self.value.text_at("/modelId")).map(own_model)
    }

    /// Returns the text and the thinking of an answer without rounds.
    pub(super) fn answer(&self) -> (Option<Cow<'v, str>>, Option<Cow<'v, str>>) {
        let (mut text, mut thinking) = (None, None);
        for part in self.parts() {
            match part.text_at("/kind") {
                None | Some("markdownContent") => {
                    let own = part.as_str().or_else(|| part.text_at("/value"));
                    if let Some(added) = own.or_else(|| part.text_at("/content/value")) {
                        append(&mut text, added.into(), "");
                    }
                }
                Some("thinking") => {
                    if let Some(added) = thinking_of(part, "/value") {
                        append(&mut thinking, added, "\n");
                    }
                }
                Some(_) => {}
            }
        }
        (text, thinking)
    }

    /// Returns the counts of the turn: one row for each model if the request has them, else one row.
    pub(super) fn usage(&self, id: &str) -> Vec<(String, UsageRow<'v>)> {
        let blank = UsageRow {
            grain: UsageGrain::Turn,
            timestamp: self.began(),
            model: self.model(),
            duration_ms: self.value.whole_at("/elapsedMs").filter(|ms| *ms >= 0),
            time_to_first_token_ms: self.value.whole_at("/result/timings/firstProgress"),
            credits: self.value.at("/copilotCredits").and_then(Value::as_f64),
            ..UsageRow::default()
        };
        let totals = self.value.items_at("/modelTotals");
        if !totals.is_empty() {
            let named = |total: &'v Value| {
                let model = total.text_at("/model");
                let [input, cached] = ["/inputTokens", "/cachedTokens"].map(|key| total.count_at(key));
                let cached = cached.map(|cached| cached.min(input.unwrap_or(0)));
                // Values of the whole turn count for no model of several.
                let turn = if totals.len() == 1 {
                    blank.clone()
                } else {
                    UsageRow { credits: None, duration_ms: None, time_to_first_token_ms: None, ..blank.clone() }
                };
                let row = UsageRow {
                    model: model.map(own_model),
                    input_tokens: input.map(|input| input - cached.unwrap_or(0)),
                    cache_read_tokens: cached,
                    output_tokens: total.count_at("/outputTokens"),
                    ..turn
                };
                (format!("{id}:{}", model.unwrap_or_default()), row)
            };
            return totals.iter().map(named).collect();
        }
        let count = |own: &str, noted: &str| self.value.count_at(own).or_else(|| self.value.count_at(noted));
        let row = UsageRow {
            input_tokens: count("/promptTokens", "/result/metadata/promptTokens"),
            output_tokens: count("/completionTokens", "/result/metadata/outputTokens"),
            // The input is that of the last call.
            is_partial: self.rounds().len() > 1,
            ..blank
        };
        let is_known = row.input_tokens.is_some() || row.output_tokens.is_some();
        is_known.then(|| (id.to_owned(), row)).into_iter().collect()
    }
}

/// Returns the name of a model without that of the program.
fn own_model(model: &str) -> &str {
    model.strip_prefix("copilot/").unwrap_or(model)
}

/// Returns a thought, which is a text or a list of texts.
pub(super) fn thinking_of<'v>(value: &'v Value, pointer: &str) -> Option<Cow<'v, str>> {
    let thought = value.at(pointer)?;
    let texts = thought.as_array().map_or(std::slice::from_ref(thought), Vec::as_slice);
    crate::agents::kit::texts::join(texts.iter().filter_map(Value::as_str).map(Cow::Borrowed))
        .filter(|text| !text.is_empty())
}
