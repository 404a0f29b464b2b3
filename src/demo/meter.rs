//! Counts the tokens of a conversation as a provider does: the context grows, and earlier parts of it are cached.

use chrono::{DateTime, TimeDelta, Utc};

/// Time that a cache lives after its last use.
const LIFE: TimeDelta = TimeDelta::minutes(5);
/// Letters of a token.
const LETTERS: usize = 4;
/// Part of the first request that other sessions of the day have cached: instructions and tools.
const SHARED: i64 = 12_000;

/// Tokens of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Read from the cache.
    pub(super) read: i64,
    /// Sent, and not read from the cache.
    pub(super) fresh: i64,
    pub(super) output: i64,
}

/// The state of a conversation.
pub(super) struct Meter {
    /// Tokens of the next request.
    context: i64,
    cached: i64,
    used_at: DateTime<Utc>,
}

impl Meter {
    pub(super) fn new(context: i64, now: DateTime<Utc>) -> Self {
        Self { context, cached: SHARED.min(context / 2), used_at: now }
    }

    /// Adds a text to the next request.
    pub(super) fn add(&mut self, text: &str) {
        self.context += tokens_of(text);
    }

    /// Counts a request and its response.
    pub(super) fn bill(&mut self, now: DateTime<Utc>, output: i64, is_cold: bool) -> Tokens {
        let is_alive = !is_cold && now - self.used_at <= LIFE;
        let read = if is_alive { self.cached } else { 0 };
        let tokens = Tokens { read, fresh: (self.context - read).max(1), output };
        self.used_at = now;
        self.cached = self.context;
        self.context += output;
        tokens
    }

    /// Replaces the conversation by its summary. Only instructions and tools stay cached.
    pub(super) fn compact(&mut self, summary: &str) {
        self.context = SHARED + 6_000 + tokens_of(summary);
        self.cached = SHARED;
    }

    /// Goes back to an earlier context.
    pub(super) fn return_to(&mut self, context: i64) {
        self.context = context;
        self.cached = self.cached.min(context);
    }

    pub(super) fn context(&self) -> i64 {
        self.context
    }
}

pub(super) fn tokens_of(text: &str) -> i64 {
    i64::try_from(text.len().div_ceil(LETTERS)).unwrap_or(i64::MAX)
}
