//! Billed responses: replies, and the model calls within compactions, summaries and tools.

use super::super::record::{Message, Usage};
use super::super::usage::Billed;
use super::{Spot, Transcript, at_moment};
use crate::extract::{Kind, Reject, key};
use crate::tables::UsageRow;

impl Transcript<'_, '_> {
    /// The provider's id with the entry's moment, because local servers give the same ones again; without one the row's
    /// id. None where neither an id nor tokens say that there was a response.
    pub(super) fn response_id(&mut self, spot: &Spot<'_, '_>, message: &Message<'_>) -> Option<String> {
        let id = message.response.get().map(|id| match spot.timestamp {
            Some(moment) => at_moment(id, moment),
            None => format!("{id}#{}", spot.id),
        });
        let usage = message.usage.0.as_ref();
        let was_billed =
            usage.is_some_and(|usage| Billed::of(usage, message.api.get(), message.provider.get()).is_some());
        if id.is_none() && !was_billed {
            return None;
        }
        let is_new = |id: &String| self.seen.insert(key(self.dialect.agent, Kind::Response, id));
        Some(id.filter(is_new).unwrap_or_else(|| spot.id.clone()))
    }

    pub(super) fn bill_reply(
        &mut self,
        spot: &Spot<'_, '_>,
        message: &Message<'_>,
        response: &str,
    ) -> Result<(), Reject> {
        let Some(usage) = message.usage.0.as_ref() else { return Ok(()) };
        self.count_unknown(usage);
        let (api, provider) = (message.api.get(), message.provider.get());
        let Some(billed) = Billed::of(usage, api, provider) else { return Ok(()) };
        let stop_reason = message.stop_reason.get();
        let row = UsageRow {
            message_id: Some(&spot.id),
            timestamp: message.timestamp.0.or(spot.timestamp),
            model: message.response_model.get().or(message.model.get()).or(self.model[1].as_deref()),
            provider: provider.or(self.model[0].as_deref().filter(|_| message.model.get().is_none())),
            duration_ms: duration_ms(message),
            stop_reason,
            is_partial: matches!(stop_reason, Some("aborted" | "error")),
            ..self.usage_row(spot, response, billed)
        };
        self.out.usage(UsageRow { session_id: &self.session_id, ..row }, self.seq, spot.weak)
    }

    /// A model call that the message before made on the way, and of which only the tokens are kept.
    pub(super) fn bill_nested(&mut self, spot: &Spot<'_, '_>, usage: &Usage<'_>, what: &str) -> Result<(), Reject> {
        self.count_unknown(usage);
        let Some(billed) = Billed::of(usage, None, None) else { return Ok(()) };
        let response = format!("{}:{what}", spot.id);
        // Summaries are made by the model that speaks; a tool may ask any.
        let [provider, model] = if what == "tool" { [None, None] } else { self.model.each_ref().map(Option::as_deref) };
        let row = UsageRow { message_id: Some(&spot.id), model, provider, ..self.usage_row(spot, &response, billed) };
        self.out.usage(UsageRow { session_id: &self.session_id, ..row }, self.seq - 1, spot.weak)
    }

    /// A model call that became no message, such as one that keeps the cache warm.
    pub(super) fn bill_entry(&mut self, spot: &Spot<'_, '_>) -> Result<(), Reject> {
        let entry = spot.entry;
        let Some(usage) = entry.usage.0.as_ref() else { return Ok(()) };
        self.count_unknown(usage);
        let provider = entry.provider.get();
        let Some(billed) = Billed::of(usage, None, provider) else { return Ok(()) };
        let row = UsageRow { model: entry.model.get(), provider, ..self.usage_row(spot, &spot.id, billed) };
        self.has_rows = true;
        self.out.usage(UsageRow { session_id: &self.session_id, ..row }, self.seq, spot.weak)
    }

    fn count_unknown(&mut self, usage: &Usage<'_>) {
        for field in &usage.unknown {
            self.out.unknown(&format!("usage field {field}"));
        }
    }

    fn usage_row<'r>(&self, spot: &'r Spot<'_, '_>, response_id: &'r str, billed: Billed) -> UsageRow<'r> {
        UsageRow {
            response_id,
            turn: self.turn,
            timestamp: spot.timestamp,
            input_tokens: billed.input,
            cache_read_tokens: billed.cache_read,
            cache_write_5m_tokens: billed.cache_write_5m,
            cache_write_1h_tokens: billed.cache_write_1h,
            output_tokens: billed.output,
            reasoning_tokens: billed.reasoning,
            cost_usd: billed.cost,
            source_line: i64::try_from(spot.number).ok(),
            ..UsageRow::default()
        }
    }
}

/// Oh My Pi records how long a reply took.
#[expect(clippy::cast_possible_truncation, reason = "milliseconds of a response")]
fn duration_ms(message: &Message<'_>) -> Option<i64> {
    message.duration.0.filter(|ms| (0.0..1e15).contains(ms)).map(|ms| ms.round() as i64)
}
