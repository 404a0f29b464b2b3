//! `llrem agents`: lists what each agent has on this machine, what it records, and what it will soon delete.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow::array::{ArrayRef, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder};

use super::args::Agents;
use super::output::{Format, Output};
use super::settings::{Settings, checked_home};
use crate::agents::{AGENTS, About, Found, Grain, Places};
use crate::{Error, Result};

/// Sources that will be deleted within this time are counted.
const SOON: Duration = Duration::from_secs(7 * DAY);
const DAY: u64 = 86_400;

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: Agents) -> Result<()> {
    let places = places(settings, typed.home)?;
    let mut seen = Vec::new();
    for agent in AGENTS {
        let mut found = Found::default();
        agent.discover(&places, &mut found);
        for (path, reason) in &found.problems {
            settings.printer.warn(&format!("cannot list `{}`: {reason}", path.display()));
        }
        seen.push(Seen::of(agent.about(), agent.retention_days(&places), &found, settings.clock.now.into()));
    }
    Output::new(&settings.output, Format::Table)?.wrapping().print(&rows(&seen)?)
}

fn places(settings: &Settings, home: Option<PathBuf>) -> Result<Places> {
    match checked_home(home)? {
        Some(home) => Ok(Places::below(home)),
        None => {
            let home = etcetera::home_dir();
            let home =
                home.map_err(|_| Error::Usage("the home folder is unknown; name one with --home DIR".to_owned()))?;
            Ok(Places::of_user(home, settings.project_roots().to_vec()))
        }
    }
}

struct Seen {
    about: &'static About,
    retention_days: Option<u32>,
    sources: i64,
    bytes: i64,
    expiring: Option<i64>,
}

impl Seen {
    fn of(about: &'static About, retention_days: Option<u32>, found: &Found, now: SystemTime) -> Self {
        let mut seen = Self { about, retention_days, sources: 0, bytes: 0, expiring: retention_days.map(|_| 0) };
        let files = found.sources.iter().filter_map(|source| std::fs::metadata(&source.path).ok());
        for file in files {
            seen.sources += 1;
            seen.bytes += i64::try_from(file.len()).unwrap_or(i64::MAX);
            let modified = file.modified().unwrap_or(now);
            if let (Some(days), Some(expiring)) = (retention_days, &mut seen.expiring) {
                let end = modified + Duration::from_secs(u64::from(days) * DAY);
                *expiring += i64::from(end <= now + SOON);
            }
        }
        seen
    }

    /// Names of the data that the agent records at this grain.
    fn recorded(&self, grain: Grain) -> impl Iterator<Item = &'static str> {
        let records = &self.about.records;
        let all = [
            ("messages", records.messages),
            ("tool calls", records.tool_calls),
            ("tokens", records.tokens),
            ("cost", records.cost),
            ("durations", records.durations),
        ];
        all.into_iter().filter(move |(_, recorded)| *recorded == grain).map(|(name, _)| name)
    }
}

fn rows(seen: &[Seen]) -> Result<RecordBatch> {
    let numbers =
        |number: fn(&Seen) -> Option<i64>| -> ArrayRef { Arc::new(seen.iter().map(number).collect::<Int64Array>()) };
    let lists = |list: &dyn Fn(&Seen) -> Vec<&'static str>| -> ArrayRef {
        let mut builder = ListBuilder::new(StringBuilder::new());
        for agent in seen {
            builder.append_value(list(agent).into_iter().map(Some));
        }
        Arc::new(builder.finish())
    };
    let names: ArrayRef = Arc::new(seen.iter().map(|agent| Some(agent.about.id)).collect::<StringArray>());
    Ok(RecordBatch::try_from_iter([
        ("agent", names),
        ("sources", numbers(|agent| Some(agent.sources))),
        ("bytes", numbers(|agent| Some(agent.bytes))),
        ("expiring", numbers(|agent| agent.expiring)),
        ("retention_days", numbers(|agent| agent.retention_days.map(i64::from))),
        ("exact", lists(&|agent| agent.recorded(Grain::Exact).collect())),
        ("by_session", lists(&|agent| agent.recorded(Grain::Session).collect())),
        ("absent", lists(&|agent| agent.recorded(Grain::Absent).collect())),
        ("places", lists(&|agent| agent.about.paths.to_vec())),
        ("environment", lists(&|agent| agent.about.environment.to_vec())),
    ])?)
}
