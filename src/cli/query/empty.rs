//! Says why a query has no rows.

use super::super::runner::Runner;
use super::super::session::text;
use super::super::settings::Settings;
use super::super::when::Period;
use super::asked::Asked;
use crate::Result;
use crate::query::Statement;
use crate::shown::one_line;
use crate::shown::value::{self, listed};

/// The day of each agent's newest usage, and of its newest session: some agents record no usage.
const NEWEST: &str = "select
  s.agent,
  cast(max(case when u.grain is not null then cast(coalesce(u.timestamp, s.started_at) as date) end) as text) as used,
  cast(max(cast(s.started_at as date)) as text) as started
from sessions s
left join usage u on u.machine = s.machine and u.agent = s.agent and u.session_id = s.session_id";

/// Returns what was asked, and the nearest that exists.
pub(in crate::cli) fn sentence(settings: &Settings, runner: &mut Runner<'_>, asked: Asked<'_>) -> Result<String> {
    let period = asked.period(settings)?;
    let (agent, project) = (asked.value("agent"), asked.value("project"));
    let own =
        newest(runner, &[agent.map(|agent| ("s.agent", agent)), project.map(|project| ("s.project", project))], None)?;
    let latest = own.iter().map(|newest| newest.day.as_str()).max();
    let what = if own.iter().any(|newest| newest.has_usage) { "usage" } else { "sessions" };
    let of = whose(project, agent);
    let when = if period.is_open() { String::new() } else { format!(" {}", period.in_words()) };
    let is_outside = latest.and_then(|day| day.parse().ok()).is_none_or(|day| !period.touches(day));
    if !is_outside {
        let title = &asked.canned.title;
        return Ok(format!("{title}{of}{when}: nothing of this was recorded."));
    }
    let Some(latest) = latest else {
        let others: Vec<String> = newest(runner, &[], None)?.into_iter().map(|newest| newest.agent).collect();
        let others = listed(&others);
        return Ok(match others.as_str() {
            "" => "The lake holds no sessions yet.".to_owned(),
            others => format!("No sessions{of}. The lake has sessions of {others}."),
        });
    };
    let newest_day = latest.parse().map_or_else(|_| latest.to_owned(), value::weekday_and_day);
    if of.is_empty() {
        return Ok(format!("No {what}{when}. The newest is of {newest_day}."));
    }
    let others = newest(runner, &[], Some(period))?;
    let others = others.iter().filter(|newest| newest.has_usage).map(|newest| newest.agent.as_str());
    let others = match listed(&others.collect::<Vec<_>>()) {
        others if others.is_empty() => others,
        others => format!("; in the period there is usage of {others}"),
    };
    Ok(format!("No {what}{of}{when}. Its newest is of {newest_day}{others}."))
}

/// Returns whose records were asked for, as a part of a sentence: ` of shop by codex`.
pub(in crate::cli) fn whose(project: Option<&str>, agent: Option<&str>) -> String {
    let who: Vec<String> = [project, agent].into_iter().flatten().map(one_line).collect();
    if who.is_empty() { String::new() } else { format!(" of {}", who.join(" by ")) }
}

/// The newest usage of an agent, or its newest session if it records no usage.
struct Newest {
    agent: String,
    day: String,
    has_usage: bool,
}

/// Returns the newest of each agent with sessions.
fn newest(runner: &mut Runner<'_>, filters: &[Option<(&str, &str)>], within: Option<Period>) -> Result<Vec<Newest>> {
    let quoted = |text: &str| text.replace('\'', "''");
    let mut conditions: Vec<String> =
        filters.iter().flatten().map(|(column, value)| format!("{column} = '{}'", quoted(value))).collect();
    if let Some(period) = within {
        let moment = "coalesce(u.timestamp, s.started_at)";
        conditions.extend(period.since_sql().map(|since| format!("{moment} >= {since}")));
        conditions.extend(period.until_sql().map(|until| format!("{moment} < {until}")));
    }
    let filter = if conditions.is_empty() { String::new() } else { format!(" where {}", conditions.join(" and ")) };
    let sql = format!("{NEWEST}{filter} group by s.agent order by s.agent");
    let rows = runner.rows(&Statement { sql, parameters: Vec::new() })?;
    let row = |row| {
        let used = text(&rows, "used", row);
        let day = used.or_else(|| text(&rows, "started", row))?.to_owned();
        Some(Newest { agent: text(&rows, "agent", row)?.to_owned(), day, has_usage: used.is_some() })
    };
    Ok((0..rows.num_rows()).filter_map(row).collect())
}
