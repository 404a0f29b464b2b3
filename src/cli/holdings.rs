//! Counts of each agent's records in a lake.

use super::detect::float;
use super::runner::Runner;
use super::session::{integer, moment, text};
use super::settings::Settings;
use super::when::Clock;
use crate::Result;
use crate::lake::AnyLake;
use crate::query::Statement;
use crate::shown::value::{self, plural, usd_in_words};

/// A session counts with its subagents, and if it has a message or usage, as in the query `totals`.
const SQL: &str = "with held as (
  select
    agent,
    count(distinct machine || '/' || root_session_id) as sessions,
    sum(case when is_subagent then 0 else prompts end) as prompts,
    sum(total_tokens) as tokens,
    sum(round(cost_usd * 1e9)) / 1e9 as cost_usd,
    min(started_at) as oldest,
    max(ended_at) as newest
  from sessions
  where messages > 0 or responses > 0 or total_tokens is not null
  group by agent
),
unpriced as (
  select agent, count(*) as responses from usage where cost_usd is null group by agent
)
select h.*, coalesce(u.responses, 0) as unpriced
from held h
left join unpriced u on u.agent = h.agent
order by h.agent";

/// Counts of the records of an agent, or of all, in a lake.
#[derive(Debug, Clone, Default)]
pub(super) struct Holding {
    /// The agent; empty for all together.
    pub(super) agent: String,
    /// Sessions that a person or a job started.
    pub(super) sessions: i64,
    /// Prompts of people.
    pub(super) prompts: i64,
    /// Tokens, if any are recorded.
    pub(super) tokens: Option<i64>,
    /// Cost of the priced responses, if any has a price.
    pub(super) usd: Option<f64>,
    /// Responses without a price.
    pub(super) unpriced: i64,
    /// Start of the first session. Microseconds since 1970.
    pub(super) oldest: Option<i64>,
    /// End of the last session. Microseconds since 1970.
    pub(super) newest: Option<i64>,
}

/// Reads what a lake holds, agent by agent.
pub(super) fn read(settings: &Settings, lake: &AnyLake) -> Result<Vec<Holding>> {
    read_with(&mut Runner::quiet(settings, lake)?)
}

/// Like [`read`], with a runner.
pub(super) fn read_with(runner: &mut Runner<'_>) -> Result<Vec<Holding>> {
    let rows = runner.rows(&Statement { sql: SQL.to_owned(), parameters: Vec::new() })?;
    let number = |column, row| integer(&rows, column, row).unwrap_or(0);
    let holdings = (0..rows.num_rows()).map(|row| Holding {
        agent: text(&rows, "agent", row).unwrap_or_default().to_owned(),
        sessions: number("sessions", row),
        prompts: number("prompts", row),
        tokens: integer(&rows, "tokens", row),
        usd: float(&rows, "cost_usd", row),
        unpriced: number("unpriced", row),
        oldest: moment(&rows, "oldest", row),
        newest: moment(&rows, "newest", row),
    });
    Ok(holdings.collect())
}

/// Adds up holdings.
pub(super) fn total(holdings: &[Holding]) -> Holding {
    let mut total = Holding::default();
    for held in holdings {
        total.sessions += held.sessions;
        total.prompts += held.prompts;
        total.unpriced += held.unpriced;
        total.tokens = total.tokens.into_iter().chain(held.tokens).reduce(i64::saturating_add);
        total.usd = total.usd.into_iter().chain(held.usd).reduce(|sum, usd| sum + usd);
        total.oldest = total.oldest.into_iter().chain(held.oldest).min();
        total.newest = total.newest.into_iter().chain(held.newest).max();
    }
    total
}

impl Holding {
    /// Returns what was added since an earlier moment.
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            sessions: self.sessions - before.sessions,
            prompts: self.prompts - before.prompts,
            tokens: self.tokens.map(|tokens| tokens - before.tokens.unwrap_or(0)),
            // Differences of sums leave a rest below the least price of a token.
            usd: self.usd.map(|usd| ((usd - before.usd.unwrap_or(0.0)) * 1e9).round() / 1e9),
            unpriced: self.unpriced - before.unpriced,
            ..self.clone()
        }
    }

    /// Returns the sessions and their cost in words: `126 sessions, $87.55+`.
    pub(super) fn in_words(&self) -> String {
        let at_least = value::at_least(self.unpriced > 0);
        let usd = self.usd.map_or_else(String::new, |usd| format!(", {}{at_least}", usd_in_words(usd)));
        plural(self.sessions.unsigned_abs(), "session") + &usd
    }

    /// Returns when the last session ended: `today, 13:21`, `Thu 16 July, 13:21`.
    pub(super) fn newest_in_words(&self, clock: &Clock) -> Option<String> {
        Some(moment_in_words(self.newest?, clock))
    }
}

/// Returns a time in words: `today, 13:21`, `Thu 16 July, 13:21`.
pub(super) fn moment_in_words(micros: i64, clock: &Clock) -> String {
    let day = value::day_of(micros, clock.zone).unwrap_or_default();
    let day = if day == clock.today() { "today".to_owned() } else { value::day_in_words(day, clock.today()) };
    let time = value::time_of_day(micros, clock.zone).unwrap_or_default();
    format!("{day}, {}", time.get(..5).unwrap_or_default())
}
