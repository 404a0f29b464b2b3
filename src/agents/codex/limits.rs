//! The account's limits, which Codex records with token counts.

use std::rc::Rc;

use super::record::{LimitWindow, RateLimits};
use crate::tables::UsageRow;

/// Minutes of the shortest window that counts as long.
const DAY: i64 = 24 * 60;
const SECOND: i64 = 1_000_000;

/// The limits of an account at one time.
#[derive(Debug, Default)]
pub(super) struct Limits {
    plan: Option<Rc<str>>,
    short: Option<Window>,
    long: Option<Window>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    percent: f64,
    minutes: i64,
    /// Microseconds since 1970.
    resets_at: Option<i64>,
}

impl Limits {
    /// Sorts the windows by their length: the first one that the service names may be a month long.
    pub(super) fn of(recorded: &RateLimits<'_>, moment: Option<i64>) -> Self {
        let nested = |window: Option<&LimitWindow<'_>>| window.and_then(|window| Window::of(window, moment));
        let flat = |percent: Option<f64>, minutes: Option<i64>| {
            Some(Window { percent: percent?, minutes: minutes?, resets_at: None })
        };
        let windows = [
            nested(recorded.primary.0.as_ref()).or(flat(recorded.primary_percent.0, recorded.primary_minutes.0)),
            nested(recorded.secondary.0.as_ref()).or(flat(recorded.secondary_percent.0, recorded.secondary_minutes.0)),
        ];
        let windows = || windows.into_iter().flatten();
        Self {
            plan: recorded.plan.get().map(Into::into),
            short: windows().filter(|window| window.minutes < DAY).max_by_key(|window| window.minutes),
            long: windows().filter(|window| window.minutes >= DAY).max_by_key(|window| window.minutes),
        }
    }

    /// Adds the limits to the row of the response before them.
    pub(super) fn fill<'r>(&'r self, row: UsageRow<'r>) -> UsageRow<'r> {
        UsageRow {
            plan: self.plan.as_deref(),
            limit_short_percent: self.short.map(|window| window.percent),
            limit_short_resets_at: self.short.and_then(|window| window.resets_at),
            limit_long_percent: self.long.map(|window| window.percent),
            limit_long_resets_at: self.long.and_then(|window| window.resets_at),
            limit_long_minutes: self.long.map(|window| window.minutes),
            ..row
        }
    }
}

impl Window {
    fn of(recorded: &LimitWindow<'_>, moment: Option<i64>) -> Option<Self> {
        let from_now = || moment?.checked_add(recorded.resets_in.0?.checked_mul(SECOND)?);
        let resets_at = recorded.resets_at.0.and_then(|seconds| seconds.checked_mul(SECOND)).or_else(from_now);
        Some(Self { percent: recorded.percent.0?, minutes: recorded.minutes.0?, resets_at })
    }
}
