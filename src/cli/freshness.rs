//! Says on a terminal that a lake is stale, or that its last run failed.

use arrow::array::RecordBatch;
use chrono::NaiveDate;

use super::settings::Settings;
use super::when::Clock;
use crate::demo;
use crate::lake::AnyLake;
use crate::shown::value::{self, STALE_DAYS};
use crate::tables::{RunColumns, RunRow};

/// Prints the first line of every command that reads a lake, if its rows are old.
pub(super) fn warn(settings: &Settings, lake: &AnyLake) {
    let printer = settings.printer;
    let AnyLake::Local(local) = lake else { return };
    if !printer.is_for_people() {
        return;
    }
    // A lake whose runs cannot be read still answers queries.
    let Ok(runs) = lake.runs() else { return };
    match state(&rows(&runs), &settings.clock) {
        State::Fresh => {}
        State::Stale(_) if demo::is_demo(local.root()) => printer.say_first(
            &printer
                .paint()
                .yellow(&printer.wrapped("The demo's sessions end some days ago. For new ones: llrem\u{a0}demo")),
        ),
        State::Stale(text) => printer.say_first(&printer.paint().yellow(&printer.wrapped(&text))),
        State::Failed(text) => printer.say_first(&printer.paint().red(&printer.wrapped(&text))),
    }
}

/// Age of a lake's data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fed {
    /// End of the last run that brought its rows into the lake. Microseconds since 1970.
    pub(super) last: Option<i64>,
    /// True if nothing has to be said about the lake's age.
    pub(super) is_fresh: bool,
}

/// Returns the age of a lake's data. That of an uploaded lake is unknown.
pub(super) fn fed(lake: &AnyLake, clock: &Clock) -> Fed {
    let runs = if let AnyLake::Local(_) = lake { lake.runs().ok() } else { None };
    let Some(runs) = runs else { return Fed { last: None, is_fresh: true } };
    Fed { last: last_good(&runs), is_fresh: warning(&runs, clock).is_none() }
}

/// Returns the end of the last run that brought its rows into the lake. Microseconds since 1970.
pub(super) fn last_good(runs: &RecordBatch) -> Option<i64> {
    rows(runs).iter().filter(|run| is_good(run)).map(|run| run.ended_at).max()
}

/// Returns what is wrong with the age of a lake, or with its last run.
pub(super) fn warning(runs: &RecordBatch, clock: &Clock) -> Option<String> {
    match state(&rows(runs), clock) {
        State::Fresh => None,
        State::Stale(text) | State::Failed(text) => Some(text),
    }
}

/// True if the last run failed.
pub(super) fn has_failed(runs: &RecordBatch) -> bool {
    rows(runs).iter().max_by_key(|run| run.ended_at).is_some_and(|run| !is_good(run))
}

fn rows(runs: &RecordBatch) -> Vec<RunRow<'_>> {
    let columns = RunColumns::of(runs);
    (0..runs.num_rows()).map(|row| columns.row(row)).collect()
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Fresh,
    Stale(String),
    Failed(String),
}

fn state(runs: &[RunRow<'_>], clock: &Clock) -> State {
    let Some(last) = runs.iter().max_by_key(|run| run.ended_at) else { return State::Fresh };
    let good = runs.iter().filter(|run| is_good(run)).max_by_key(|run| run.ended_at);
    if !is_good(last) {
        let how = if last.exit_code == 130 { "was interrupted" } else { "failed" };
        let reason =
            last.error.filter(|_| last.exit_code != 130).map_or_else(String::new, |error| format!(": {error}"));
        let before = good.filter(|_| last.lake_bytes.is_none());
        let before = before
            .map_or_else(String::new, |run| format!(" The lake is as it was on {}.", moment(run.ended_at, clock)));
        return State::Failed(format!(
            "The last etl {how} {}{reason}.{before} Run: llrem\u{a0}etl",
            recent(last.ended_at, clock)
        ));
    }
    let (day, today) = (day(last.ended_at, clock), clock.today());
    if today.signed_duration_since(day).num_days() < STALE_DAYS {
        return State::Fresh;
    }
    let (ago, named) = (value::days_ago(day, today), value::day_in_words(day, today));
    State::Stale(format!("Last etl {ago} ({named}). Newer sessions are missing. Run: llrem\u{a0}etl"))
}

/// True if the run brought its rows into the lake.
fn is_good(run: &RunRow<'_>) -> bool {
    matches!(run.exit_code, 0 | 3)
}

fn day(micros: i64, clock: &Clock) -> NaiveDate {
    value::day_of(micros, clock.zone).unwrap_or_default()
}

/// Returns a time in a sentence: `Thu 16 July, 03:00`.
fn moment(micros: i64, clock: &Clock) -> String {
    let time = value::time_of_day(micros, clock.zone).unwrap_or_default();
    let minute = time.get(..5).unwrap_or_default();
    format!("{}, {minute}", value::day_in_words(day(micros, clock), clock.today()))
}

/// Returns a time after `failed`: `today at 03:00`, `on Thu 16 July, 03:00`.
fn recent(micros: i64, clock: &Clock) -> String {
    let time = value::time_of_day(micros, clock.zone).unwrap_or_default();
    match day(micros, clock) == clock.today() {
        true => format!("today at {}", time.get(..5).unwrap_or_default()),
        false => format!("on {}", moment(micros, clock)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ended_at: &str, exit_code: i64, error: Option<&'static str>) -> RunRow<'static> {
        let ended_at = ended_at.parse::<chrono::DateTime<chrono::Utc>>().unwrap().timestamp_micros();
        RunRow { ended_at, exit_code, error, ..RunRow::default() }
    }

    fn said(runs: &[RunRow<'_>]) -> String {
        let clock = Clock { now: "2026-07-17T12:02:00Z".parse().unwrap(), zone: chrono_tz::Europe::Berlin };
        match state(runs, &clock) {
            State::Fresh => "fresh".to_owned(),
            State::Stale(text) | State::Failed(text) => text.replace('\u{a0}', " "),
        }
    }

    #[test]
    fn a_lake_is_fresh_for_two_days() {
        assert_eq!(said(&[]), "fresh");
        assert_eq!(said(&[run("2026-07-16T11:40:00Z", 0, None)]), "fresh");
        assert_eq!(said(&[run("2026-07-16T11:40:00Z", 3, None)]), "fresh");
        assert_eq!(
            said(&[run("2026-07-08T11:40:00Z", 0, None)]),
            "Last etl 9 days ago (Wed 8 July). Newer sessions are missing. Run: llrem etl"
        );
    }

    #[test]
    fn a_run_that_failed_is_named() {
        let good = run("2026-07-16T01:00:00Z", 0, None);
        let failed = run("2026-07-17T01:00:00Z", 1, Some("cannot write `x`: no space left on the device"));
        assert_eq!(
            said(&[good, failed]),
            "The last etl failed today at 03:00: cannot write `x`: no space left on the device. The lake is as it was on \
             Thu 16 July, 03:00. Run: llrem etl"
        );
        assert_eq!(
            said(&[run("2026-07-15T01:00:00Z", 130, Some("interrupted"))]),
            "The last etl was interrupted on Wed 15 July, 03:00. Run: llrem etl"
        );
    }
}
