//! Copies of billed responses. The lake has the counts of the fullest copy.

use serde::{Deserialize, Serialize};

use crate::tables::UsageRow;

/// An optional count in eight bytes. A run holds one set of them for each response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Count(i64);

impl Count {
    /// Returns the count, if there is one.
    pub fn get(self) -> Option<i64> {
        (self.0 >= 0).then_some(self.0)
    }
}

impl Default for Count {
    fn default() -> Self {
        Self(-1)
    }
}

impl From<Option<i64>> for Count {
    fn from(count: Option<i64>) -> Self {
        count.filter(|count| *count >= 0).map_or(Self::default(), Self)
    }
}

/// One session's copy of a billed response, so that the fullest copy can be found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResponseCopy {
    /// The response.
    pub key: u64,
    /// Tokens.
    pub input: Count,
    /// Tokens.
    pub cache_read: Count,
    /// Tokens.
    pub cache_write_5m: Count,
    /// Tokens.
    pub cache_write_1h: Count,
    /// Tokens.
    pub output: Count,
    /// Tokens.
    pub reasoning: Count,
    /// Count.
    pub web_searches: Count,
    /// Cost as the agent recorded it. USD.
    pub recorded_cost: Option<f64>,
    /// Milliseconds.
    pub duration_ms: Count,
    /// Why the model stopped.
    pub stop_reason: Option<Box<str>>,
    /// Hash of the request's id.
    pub request: Option<u64>,
    /// True if the agent recorded only a running count.
    pub is_partial: bool,
    /// True if it belongs to a side conversation.
    pub is_sidechain: bool,
    /// Copies in this source after the first.
    pub copies: i64,
}

impl ResponseCopy {
    /// Takes the counts from the row of a response with this key. A cost counts only if the agent recorded it.
    pub fn of(key: u64, row: &UsageRow<'_>) -> Self {
        Self {
            key,
            input: row.input_tokens.into(),
            cache_read: row.cache_read_tokens.into(),
            cache_write_5m: row.cache_write_5m_tokens.into(),
            cache_write_1h: row.cache_write_1h_tokens.into(),
            output: row.output_tokens.into(),
            reasoning: row.reasoning_tokens.into(),
            web_searches: row.web_searches.into(),
            recorded_cost: row.cost_usd,
            duration_ms: row.duration_ms.into(),
            stop_reason: row.stop_reason.map(Into::into),
            request: None,
            is_partial: row.is_partial,
            is_sidechain: row.is_sidechain,
            copies: row.copies,
        }
    }

    /// Returns the sum of all kinds of tokens, or `None` if the agent records none of them.
    pub fn total(&self) -> Option<i64> {
        self.counts().into_iter().filter_map(Count::get).reduce(i64::saturating_add)
    }

    /// Returns how many kinds of tokens it counts.
    pub fn known_counts(&self) -> usize {
        self.counts().into_iter().filter_map(Count::get).count()
    }

    fn counts(&self) -> [Count; 5] {
        [self.input, self.cache_read, self.cache_write_5m, self.cache_write_1h, self.output]
    }
}
