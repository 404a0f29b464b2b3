//! Says why a query has no rows.

use super::super::runner::Runner;
use super::super::session::text;
use super::super::settings::Settings;
use super::super::when::Period;
use super::asked::Asked;
use crate::Result;
use crate::query::Statement;
use crate::shown::{one_line, value};

/// The day of the newest usage, and who used what.
const NEWEST: &str = "select s.agent, cast(max(cast(coalesce(u.timestamp, s.started_at) as date)) as text) as day
from usage u join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id";

/// Returns what was asked, and the nearest that exists.
pub(in crate::cli) fn sentence(settings: &Settings, runner: &mut Runner<'_>, asked: Asked<'_>) -> Result<String> {
    let period = asked.period(settings)?;
    let (agent, project) = (asked.value("agent"), asked.value("project"));
    let own =
        newest(runner, &[agent.map(|agent| ("s.agent", agent)), project.map(|project| ("s.project", project))], None)?;
    let latest = own.iter().map(|(_, day)| day.as_str()).max();
    let of = whose(project, agent);
    let when = if period.is_open() { String::new() } else { format!(" {}", period.in_words()) };
    let is_outside = latest.and_then(|day| day.parse().ok()).is_none_or(|day| !period.touches(day));
    if !is_outside {
        let title = &asked.canned.title;
        return Ok(format!("{title}{of}{when}: nothing of this was recorded."));
    }
    let Some(latest) = latest else {
        let others = listed(newest(runner, &[], None)?.iter().map(|(agent, _)| agent.as_str()));
        return Ok(match others.as_str() {
            "" => "The lake holds no usage yet.".to_owned(),
            others => format!("No usage{of}. The lake has usage of {others}."),
        });
    };
    let newest_day = latest.parse().map_or_else(|_| latest.to_owned(), value::weekday_and_day);
    if of.is_empty() {
        return Ok(format!("No usage{when}. The newest is of {newest_day}."));
    }
    let others = match listed(newest(runner, &[], Some(period))?.iter().map(|(agent, _)| agent.as_str())) {
        others if others.is_empty() => others,
        others => format!("; in the period there is usage of {others}"),
    };
    Ok(format!("No usage{of}{when}. Its newest is of {newest_day}{others}."))
}

/// Returns whose records were asked for, as a part of a sentence: ` of shop by codex`.
pub(in crate::cli) fn whose(project: Option<&str>, agent: Option<&str>) -> String {
    let who: Vec<String> = [project, agent].into_iter().flatten().map(one_line).collect();
    if who.is_empty() { String::new() } else { format!(" of {}", who.join(" by ")) }
}

/// Returns the names of agents as a part of a sentence.
pub(in crate::cli) fn listed<'a>(agents: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = agents.collect();
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// Returns the agents with usage, and the day of their newest.
fn newest(
    runner: &mut Runner<'_>,
    filters: &[Option<(&str, &str)>],
    within: Option<Period>,
) -> Result<Vec<(String, String)>> {
    let quoted = |text: &str| text.replace('\'', "''");
    let mut conditions: Vec<String> =
        filters.iter().flatten().map(|(column, value)| format!("{column} = '{}'", quoted(value))).collect();
    if let Some(period) = within {
        let moment = "coalesce(u.timestamp, s.started_at)";
        conditions.extend(period.since_text().map(|since| format!("{moment} >= timestamp '{since}'")));
        conditions.extend(period.until_text().map(|until| format!("{moment} < timestamp '{until}'")));
    }
    let filter = if conditions.is_empty() { String::new() } else { format!(" where {}", conditions.join(" and ")) };
    let sql = format!("{NEWEST}{filter} group by s.agent order by s.agent");
    let rows = runner.rows(&Statement { sql, parameters: Vec::new() })?;
    let row = |row| Some((text(&rows, "agent", row)?.to_owned(), text(&rows, "day", row)?.to_owned()));
    Ok((0..rows.num_rows()).filter_map(row).collect())
}
