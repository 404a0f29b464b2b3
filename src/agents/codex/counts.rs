//! Billed tokens of each response, from running totals that are written repeatedly.

use std::rc::Rc;

use super::record::{TokenInfo, Tokens};
use crate::source::records::TokenNumber;
use crate::tables::UsageRow;

/// Tokens as Codex counts them: input with both caches, output with reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    input: i64,
    cache_read: i64,
    cache_write: i64,
    output: i64,
    reasoning: Option<i64>,
    pub(super) total: i64,
}

impl Numbers {
    pub(super) fn of(tokens: &Tokens<'_>) -> Self {
        let count = |number: TokenNumber| number.0.unwrap_or(0);
        Self {
            input: count(tokens.input),
            cache_read: count(tokens.cache_read),
            cache_write: count(tokens.cache_write),
            output: count(tokens.output),
            reasoning: tokens.reasoning.0,
            total: count(tokens.total),
        }
    }

    /// Returns the difference from an earlier total; `None` if a counter went down.
    fn since(self, earlier: Self) -> Option<Self> {
        let less = |now: i64, then: i64| now.checked_sub(then).filter(|more| *more >= 0);
        Some(Self {
            input: less(self.input, earlier.input)?,
            cache_read: less(self.cache_read, earlier.cache_read)?,
            cache_write: less(self.cache_write, earlier.cache_write)?,
            output: less(self.output, earlier.output)?,
            reasoning: match self.reasoning {
                Some(now) => Some(less(now, earlier.reasoning.unwrap_or(0))?),
                None => None,
            },
            total: less(self.total, earlier.total)?,
        })
    }

    /// Returns true if no response was paid for.
    pub(super) fn is_nothing(self) -> bool {
        self.input == 0 && self.output == 0
    }

    /// Returns true if the tokens are equal, for any recorded totals.
    pub(super) fn is_same_as(self, other: Self) -> bool {
        Self { total: 0, ..self } == Self { total: 0, ..other }
    }
}

/// Meaning of a running total.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// No billed response.
    Nothing,
    /// The last response again.
    Repeated,
    /// A response, and the total with it.
    Response { numbers: Numbers, total: Option<i64> },
}

/// Follows the running totals of a thread.
#[derive(Debug, Default)]
pub(super) struct Totals {
    total: Option<Numbers>,
    last: Option<Numbers>,
}

impl Totals {
    /// Notes totals that another thread paid for.
    pub(super) fn inherit(&mut self, info: &TokenInfo<'_>) {
        self.total = info.total.0.as_ref().map(Numbers::of).or(self.total);
        self.last = info.last.0.as_ref().map(Numbers::of).or(self.last);
    }

    /// Reads the totals after a response. `starts_at_zero`: nothing was counted before the first totals.
    pub(super) fn read(&mut self, info: &TokenInfo<'_>, starts_at_zero: bool) -> Counted {
        let (total, last) = (info.total.0.as_ref().map(Numbers::of), info.last.0.as_ref().map(Numbers::of));
        let (total_before, last_before) = (self.total, self.last);
        self.inherit(info);
        let is_same = match total {
            Some(total) => total_before == Some(total),
            None => last.is_some() && last == last_before,
        };
        if is_same {
            return if last == last_before { Counted::Repeated } else { Counted::Nothing };
        }
        let added = match (last, total, total_before) {
            (Some(last), ..) => last,
            (None, Some(total), Some(before)) => total.since(before).unwrap_or(total),
            (None, Some(total), None) if starts_at_zero => total,
            _ => return Counted::Nothing,
        };
        if added.is_nothing() {
            return Counted::Nothing;
        }
        Counted::Response { numbers: added, total: total.map(|total| total.total) }
    }
}

/// A billed response, held until its message is known.
pub(super) struct Billed {
    pub(super) response_id: String,
    pub(super) message_id: Option<String>,
    /// Place of its message.
    pub(super) seq: i64,
    pub(super) turn: Option<i64>,
    pub(super) timestamp: Option<i64>,
    pub(super) model: Option<Rc<str>>,
    pub(super) service_tier: Option<Rc<str>>,
    pub(super) effort: Option<Rc<str>>,
    /// Largest request that the model takes. Tokens.
    pub(super) context_window: Option<i64>,
    /// Web searches that the provider ran. Count.
    pub(super) web_searches: i64,
    pub(super) numbers: Numbers,
    pub(super) source_line: Option<i64>,
    pub(super) copies: i64,
    pub(super) weak: bool,
    /// True if no other response of its turn came before it.
    pub(super) is_first: bool,
    /// Time of the turn up to its first token. Milliseconds.
    pub(super) first_token_ms: Option<i64>,
    /// True if it comes from running totals, which a record of the response itself supersedes.
    pub(super) is_from_totals: bool,
    /// True if its message has not come yet: until about 0.60 the count comes before it.
    pub(super) waits: bool,
}

impl Billed {
    pub(super) fn row<'r>(&'r self, session_id: &'r str, provider: Option<&'r str>) -> UsageRow<'r> {
        let Numbers { input, cache_read, cache_write, output, reasoning, .. } = self.numbers;
        let read = cache_read.min(input);
        let written = cache_write.min(input - read);
        UsageRow {
            session_id,
            message_id: self.message_id.as_deref(),
            response_id: &self.response_id,
            turn: self.turn,
            timestamp: self.timestamp,
            model: self.model.as_deref(),
            provider,
            input_tokens: Some(input - read - written),
            cache_read_tokens: Some(read),
            cache_write_5m_tokens: Some(written),
            cache_write_1h_tokens: Some(0),
            output_tokens: Some(output),
            reasoning_tokens: reasoning.map(|reasoning| reasoning.min(output)),
            web_searches: Some(self.web_searches).filter(|count| *count > 0),
            service_tier: self.service_tier.as_deref(),
            reasoning_effort: self.effort.as_deref(),
            context_window: self.context_window,
            time_to_first_token_ms: self.first_token_ms,
            copies: self.copies,
            source_line: self.source_line,
            ..UsageRow::default()
        }
    }
}
