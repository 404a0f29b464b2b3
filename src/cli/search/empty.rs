//! Says why a search has no hits.

use super::super::query::whose;
use super::super::runner::Runner;
use super::super::session::{moment, text};
use super::super::settings::Settings;
use super::{Filter, conditions, plain};
use crate::Result;
use crate::cli::args::Search;
use crate::shown::value;

/// The first and the last time in the sessions of each agent.
const TIMES: &str =
    "select agent, min(started_at) as oldest, max(coalesce(ended_at, started_at)) as newest from sessions";

/// Returns the filters in words: ` of shop by codex since Fri 2026-07-10`.
pub(super) fn scope(typed: &Search, filter: &Filter) -> String {
    let of = whose(typed.project.as_deref(), typed.agent.as_deref());
    if filter.period.is_open() { of } else { format!("{of} {}", filter.period.in_words()) }
}

/// Returns which sessions there are, if none passes the filters.
pub(super) fn known(settings: &Settings, runner: &mut Runner<'_>, typed: &Search, filter: &Filter) -> Result<String> {
    let (agent, project) = (&filter.agent, &filter.project);
    let wanted = conditions([
        agent.as_ref().map(|agent| format!("agent = {agent}")),
        project.as_ref().map(|project| format!("project = {project}")),
        None,
        None,
    ]);
    let of = whose(typed.project.as_deref(), typed.agent.as_deref());
    let rows = runner.rows(&plain(format!("{TIMES}{wanted} group by agent")))?;
    if rows.num_rows() == 0 {
        let all = runner.rows(&plain(format!("{TIMES} group by agent order by agent")))?;
        let agents: Vec<&str> = (0..all.num_rows()).filter_map(|row| text(&all, "agent", row)).collect();
        return Ok(match value::listed(&agents) {
            agents if agents.is_empty() => "The lake has no sessions yet.".to_owned(),
            agents => format!("The lake has sessions of {agents}."),
        });
    }
    let times = |column| (0..rows.num_rows()).filter_map(|row| moment(&rows, column, row)).collect::<Vec<_>>();
    let (oldest, newest) = (times("oldest").into_iter().min(), times("newest").into_iter().max());
    let is_before = filter.period.until().zip(oldest).is_some_and(|(until, oldest)| until <= oldest);
    let (which, time) = if is_before { ("oldest", oldest) } else { ("newest", newest) };
    Ok(match time.and_then(|time| value::day_of(time, settings.clock.zone)) {
        Some(day) => format!("The {which} session{of} is of {}.", value::weekday_and_day(day)),
        None => format!("No session{of} has a time."),
    })
}
