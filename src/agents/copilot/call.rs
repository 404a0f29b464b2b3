//! One model call as billed, from any kind of record.

use std::rc::Rc;

use super::metrics::Numbers;
use crate::tables::{UsageGrain, UsageRow};

/// A credit costs a cent.
const CREDITS_PER_DOLLAR: f64 = 100.0;

/// Model and effort that the person selected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) model: Option<Rc<str>>,
    pub(super) effort: Option<Rc<str>>,
}

/// One model call, or the total of several.
#[derive(Clone, Default)]
pub(super) struct Call {
    pub(super) thread: usize,
    pub(super) response: String,
    pub(super) message_id: Option<String>,
    pub(super) request: Option<String>,
    pub(super) seq: i64,
    pub(super) turn: Option<i64>,
    pub(super) timestamp: Option<i64>,
    pub(super) line: i64,
    pub(super) model: Option<String>,
    pub(super) numbers: Numbers,
    pub(super) has_long_cache: bool,
    pub(super) cost: Option<f64>,
    pub(super) duration_ms: Option<i64>,
    pub(super) first_token_ms: Option<i64>,
    pub(super) settings: Settings,
    pub(super) finish: Option<String>,
    pub(super) is_partial: bool,
    pub(super) grain: UsageGrain,
    pub(super) weak: bool,
    /// True if the provider's own id of the call is known, which joins its record and its reply.
    pub(super) is_named: bool,
}

impl Call {
    pub(super) fn new(thread: usize, response: &str) -> Self {
        Self { thread, response: response.to_owned(), ..Self::default() }
    }

    pub(super) fn row<'r>(&'r self, session: &'r str) -> UsageRow<'r> {
        let written = self.numbers.cache_write;
        let (five_minutes, one_hour) =
            if self.has_long_cache { (written.map(|_| 0), written) } else { (written, written.map(|_| 0)) };
        UsageRow {
            session_id: session,
            message_id: self.message_id.as_deref(),
            response_id: &self.response,
            request_id: self.request.as_deref(),
            turn: self.turn,
            timestamp: self.timestamp,
            model: self.model.as_deref(),
            input_tokens: self.numbers.input,
            cache_read_tokens: self.numbers.cache_read,
            cache_write_5m_tokens: five_minutes,
            cache_write_1h_tokens: one_hour,
            output_tokens: self.numbers.output,
            reasoning_tokens: self.numbers.reasoning,
            cost_usd: self.cost,
            duration_ms: self.duration_ms,
            time_to_first_token_ms: self.first_token_ms,
            credits: self.cost.map(|usd| (usd * CREDITS_PER_DOLLAR * 1e9).round() / 1e9),
            requested_model: self.settings.model.as_deref(),
            reasoning_effort: self.settings.effort.as_deref(),
            stop_reason: self.finish.as_deref(),
            grain: self.grain,
            is_partial: self.is_partial,
            is_sidechain: self.thread > 0,
            source_line: Some(self.line).filter(|line| *line > 0),
            ..UsageRow::default()
        }
    }
}
