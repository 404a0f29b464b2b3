//! The checks, in the order in which a failure matters.

use std::collections::BTreeMap;

use super::super::agents::{self, Seen};
use super::super::freshness;
use super::super::holdings::moment_in_words;
use super::super::runner::Runner;
use super::super::schedule;
use super::super::session::{integer, moment, text};
use super::super::settings::{Settings, system_clock};
use super::super::versions;
use super::Check;
use crate::agents::AGENTS;
use crate::etl::free_bytes;
use crate::lake::{AnyLake, Lake};
use crate::pricing;
use crate::query::Statement;
use crate::shown::one_line;
use crate::shown::value::{self, duration, plural, share, size};
use crate::tables::{RunColumns, SourceColumns, SourceState};
use crate::{Error, Result};

/// Age from which prices may be wrong. Days.
const OLD_PRICES: i64 = 90;
/// Days over which the growth of the lake is named.
const WEEK: i64 = 7;
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;
/// Days in which a lost transcript is news: after it, nothing can be done about it.
const RECENT: i64 = 45;
/// Free space below which the next run may fail, whatever the lake's size. Bytes.
const LEAST_ROOM: u64 = 64 << 20;

/// Prompts by agent, and those whose transcript is gone.
const PROMPTS: &str = "select agent, sum(prompts) as prompts,
  sum(case when kind = 'prompts' then prompts else 0 end) as lost,
  max(case when kind = 'prompts' then ended_at end) as newest
from sessions where kind in ('session', 'prompts') group by agent order by agent";

const UNPRICED: &str = "select count(distinct coalesce(model, '')) as models, count(*) as responses
from usage where cost_usd is null";

const VERSIONS: &str = "select agent, agent_version from sessions
where agent_version is not null group by agent, agent_version order by agent, agent_version";

/// Runs all checks. Without a lake, those that need one are left out.
pub(super) fn all(settings: &Settings) -> Result<Vec<Check>> {
    let seen = agents::found(settings)?;
    let lake = match Lake::open(settings.lake_folder()?) {
        Ok(lake) => lake,
        Err(Error::NoLake { .. }) => {
            let missing = Check::problem("last etl", "there is no lake yet: llrem\u{a0}etl makes one");
            let mut checks = vec![missing, schedule(), found(&seen)];
            checks.extend(price_table(settings));
            return Ok(checks);
        }
        Err(error) => return Err(error),
    };
    let mut checks = vec![last_run(settings, &lake)?, schedule(), found(&seen)];
    checks.extend(deleted_soon(settings, &seen));
    let (lake, root) = (AnyLake::Local(lake), settings.lake_folder()?);
    let mut runner = Runner::quiet(settings, &lake)?;
    checks.push(transcripts(settings, &mut runner)?);
    checks.push(bad_files(&lake)?);
    checks.push(unpriced(&mut runner)?);
    checks.extend(price_table(settings));
    checks.extend(newer_versions(&mut runner)?);
    let AnyLake::Local(lake) = &lake else { return Ok(checks) };
    let (files, bytes) = lake.size()?;
    checks.push(growth(settings, lake, files, bytes)?);
    checks.push(consistency(lake)?);
    checks.extend(free_bytes(root).map(|free| room(free, bytes)));
    Ok(checks)
}

fn query(runner: &mut Runner<'_>, sql: &str) -> Result<arrow::array::RecordBatch> {
    runner.rows(&Statement { sql: sql.to_owned(), parameters: Vec::new() })
}

fn last_run(settings: &Settings, lake: &Lake) -> Result<Check> {
    let runs = lake.recent_runs()?;
    let name = "last etl";
    if let Some(warning) = freshness::warning(&runs, &settings.clock) {
        let is_lost = freshness::has_failed(&runs);
        return Ok(if is_lost { Check::problem(name, warning) } else { Check::warning(name, warning) });
    }
    let columns = RunColumns::of(&runs);
    let last = (0..runs.num_rows()).map(|row| columns.row(row)).max_by_key(|run| run.ended_at);
    let said = last.map_or_else(
        || "none is recorded".to_owned(),
        |run| {
            let took = duration((run.ended_at - run.started_at) / 1_000);
            format!("{}, {took}, nothing failed", moment_in_words(run.ended_at, &settings.clock))
        },
    );
    Ok(Check::ok(name, said))
}

fn schedule() -> Check {
    let name = "schedule";
    let Some(known) = schedule::known() else {
        return Check::warning(name, "nothing runs etl by itself: llrem\u{a0}schedule\u{a0}install");
    };
    let by = known.system.title();
    if !known.is_active {
        return Check::problem(name, format!("{by} does not run it: llrem\u{a0}schedule\u{a0}install"));
    }
    let clock = system_clock();
    let at = known.at.map_or_else(|| "at a time that you set".to_owned(), |at| format!("daily at {at}"));
    let next = known.at.and_then(|at| at.next(&clock));
    let next = next.map_or_else(String::new, |next| format!("; next: {}", moment_in_words(next, &clock)));
    match schedule::last_failure() {
        Some(reason) => Check::problem(name, format!("{at} by {by}; the last run failed: {}", one_line(&reason))),
        None => Check::ok(name, format!("{at} by {by}{next}")),
    }
}

/// Says which agents are here, and when each deletes its sessions.
fn found(seen: &[Seen]) -> Check {
    let here: Vec<&Seen> = seen.iter().filter(|seen| seen.sources > 0).collect();
    if here.is_empty() {
        return Check::warning(
            "agents",
            "no agent's sessions are here: llrem\u{a0}agents\u{a0}--all says where llrem looks",
        );
    }
    let deleting = here.iter().filter_map(|seen| {
        let days = seen.retention_days?;
        let next = match seen.days_left? {
            0 => "the next today".to_owned(),
            left => format!("the next in {}", plural(left, "day")),
        };
        Some(format!("{} deletes after {} ({next})", seen.about.id, plural(days.into(), "day")))
    });
    let deleting: Vec<String> = deleting.collect();
    let deleting = if deleting.is_empty() { "all keep their sessions".to_owned() } else { deleting.join(", ") };
    Check::ok("agents", format!("{} found; {deleting}", here.len()))
}

fn deleted_soon(settings: &Settings, seen: &[Seen]) -> Option<Check> {
    let missing = agents::missing(settings, seen);
    let text = agents::soon(seen, missing)?;
    Some(if missing > 0 { Check::problem("deletion", text) } else { Check::ok("deletion", text) })
}

/// Says how many of the prompts that people typed have no transcript any more.
fn transcripts(settings: &Settings, runner: &mut Runner<'_>) -> Result<Check> {
    let rows = query(runner, PROMPTS)?;
    let mut lost = Vec::new();
    let mut newest = None;
    for row in 0..rows.num_rows() {
        let (gone, all) = (integer(&rows, "lost", row).unwrap_or(0), integer(&rows, "prompts", row).unwrap_or(0));
        if gone > 0 {
            let agent = text(&rows, "agent", row).unwrap_or_default();
            let part = share(gone as f64 / all.max(1) as f64);
            lost.push(format!("{} of {} prompts of {agent} ({part})", value::count(gone), value::count(all)));
            newest = newest.max(moment(&rows, "newest", row));
        }
    }
    let name = "transcripts";
    if lost.is_empty() {
        return Ok(Check::ok(name, "every prompt that was typed has its transcript"));
    }
    let day = newest.and_then(|moment| value::day_of(moment, settings.clock.zone));
    let until = day.map_or_else(String::new, |day| {
        format!("; the newest is of {}", value::day_in_words(day, settings.clock.today()))
    });
    let said = format!("gone before llrem read them: {}{until}", lost.join(", "));
    let is_recent = newest.is_some_and(|moment| settings.clock.now.timestamp_micros() - moment < RECENT * DAY);
    Ok(if is_recent { Check::warning(name, said) } else { Check::ok(name, said) })
}

fn bad_files(lake: &AnyLake) -> Result<Check> {
    let sources = lake.sources()?;
    let columns = SourceColumns::of(&sources);
    let all = sources.num_rows();
    let is_bad = |row: &usize| matches!(columns.state(*row), SourceState::Partial | SourceState::Unreadable);
    Ok(match (0..all).filter(is_bad).count() {
        0 => Check::ok("bad files", format!("none of {all}")),
        bad => Check::warning("bad files", format!("{bad} of {all}: llrem\u{a0}sources\u{a0}--bad")),
    })
}

fn unpriced(runner: &mut Runner<'_>) -> Result<Check> {
    let rows = query(runner, UNPRICED)?;
    let number = |column| integer(&rows, column, 0).and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    let (models, responses) = (plural(number("models"), "model"), plural(number("responses"), "response"));
    Ok(match number("responses") {
        0 => Check::ok("prices", "every response has one"),
        _ => Check::warning(
            "prices",
            format!("{models} without a price ({responses}): llrem\u{a0}query\u{a0}data_quality"),
        ),
    })
}

fn price_table(settings: &Settings) -> Option<Check> {
    let (day, today) = (pricing::bundled_day()?, settings.clock.today());
    let age = today.signed_duration_since(day).num_days().max(0);
    let said = format!("of {}, {} old", value::day_in_words(day, today), plural(age.unsigned_abs(), "day"));
    Some(match age {
        ..=OLD_PRICES => Check::ok("price table", said),
        _ => Check::warning("price table", format!("{said}: a newer llrem has newer prices")),
    })
}

/// Says which agents are newer than what llrem was tested with.
fn newer_versions(runner: &mut Runner<'_>) -> Result<Vec<Check>> {
    let rows = query(runner, VERSIONS)?;
    let mut by_agent: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in 0..rows.num_rows() {
        if let (Some(agent), Some(version)) = (text(&rows, "agent", row), text(&rows, "agent_version", row)) {
            by_agent.entry(agent).or_default().push(version);
        }
    }
    let newer = AGENTS.iter().map(|agent| agent.about()).filter_map(|about| {
        let (version, tested) = versions::newer(about, by_agent.get(about.id)?.iter().copied())?;
        let (id, version) = (about.id, one_line(version));
        Some(Check::warning("versions", format!("{id} {version} is newer than what llrem was tested with ({tested})")))
    });
    let newer: Vec<Check> = newer.collect();
    let known = "no agent is newer than what llrem was tested with";
    Ok(if newer.is_empty() { vec![Check::ok("versions", known)] } else { newer })
}

/// Says how large the lake is, and how much it grew.
fn growth(settings: &Settings, lake: &Lake, files: u64, bytes: u64) -> Result<Check> {
    let runs = lake.runs()?;
    let columns = RunColumns::of(&runs);
    let week_ago = settings.clock.now.timestamp_micros() - WEEK * DAY;
    let sizes = (0..runs.num_rows()).filter_map(|row| Some((columns.ended_at(row), columns.lake_bytes(row)?)));
    let before = sizes.filter(|(ended_at, _)| *ended_at <= week_ago).max_by_key(|(ended_at, _)| *ended_at);
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let grown = before.map(|(_, before)| bytes - before).map_or_else(String::new, |grown| match grown {
        0 => "; as large as a week ago".to_owned(),
        1.. => format!("; {} more than a week ago", size(grown)),
        _ => format!("; {} less than a week ago", size(-grown)),
    });
    Ok(Check::ok("lake", format!("{}, {}{grown}", size(bytes), plural(files, "file"))))
}

fn consistency(lake: &Lake) -> Result<Check> {
    let problems = lake.verify(false)?;
    let name = "consistency";
    Ok(match problems.as_slice() {
        // Modes of files are checked where files have some.
        [] if cfg!(unix) => Check::ok(name, "the lake is complete, and only you can read it"),
        [] => Check::ok(name, "the lake is complete"),
        [only] => Check::problem(name, format!("{}: llrem\u{a0}verify", one_line(only))),
        [first, others @ ..] => {
            let count = plural(others.len() as u64, "other problem");
            Check::problem(name, format!("{}, and {count}: llrem\u{a0}verify", one_line(first)))
        }
    })
}

/// Says whether a run has room. At most, it writes a part of the lake anew before it deletes the old files.
fn room(free: u64, lake: u64) -> Check {
    let bytes = |bytes: u64| size(i64::try_from(bytes).unwrap_or(i64::MAX));
    let said = format!("{} free on the lake's disk", bytes(free));
    match free {
        free if free < LEAST_ROOM => Check::problem("disk", format!("{said}; etl needs more")),
        free if free < lake / 2 => Check::warning("disk", format!("{said}; the lake has {}", bytes(lake))),
        _ => Check::ok("disk", said),
    }
}
