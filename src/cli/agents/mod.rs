//! `llrem agents`: lists what each agent has on this machine, what it records, and what it will soon delete.

mod screen;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow::array::{ArrayRef, Int64Array, ListBuilder, RecordBatch, StringArray, StringBuilder};

use super::args::Agents;
use super::holdings;
use super::output::{Format, Output};
use super::settings::{Settings, checked_home};
use crate::agents::{AGENTS, About, Agent, Found, Grain, Places};
use crate::lake::AnyLake;
use crate::shown::in_home;
use crate::source::{Fingerprint, name_of};
use crate::tables::SourceColumns;
use crate::{Error, Result};
pub(super) use screen::soon;

/// Sources that will be deleted within this time are counted.
const SOON: Duration = Duration::from_secs(7 * DAY);
const DAY: u64 = 86_400;

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: Agents) -> Result<()> {
    let places = places(settings, typed.home)?;
    let seen = look(settings, &places);
    let output = Output::new(&settings.output, Format::Table)?;
    if !output.is_on_terminal() || typed.all {
        return output.wrapping().print(&rows(&seen)?);
    }
    let held = settings.open_lake().ok().map(|lake| holdings::read(settings, &lake)).transpose()?;
    let missing = missing(settings, &seen);
    screen::Screen { settings, places: &places, seen: &seen, held: held.as_deref(), missing }.print()
}

/// Returns what each agent has on this machine.
pub(super) fn found(settings: &Settings) -> Result<Vec<Seen>> {
    Ok(look(settings, &places(settings, None)?))
}

/// Returns which transcripts agents will delete soon, and whether the lake has them.
pub(super) fn deleted_soon(settings: &Settings) -> Result<Option<String>> {
    let seen = found(settings)?;
    Ok(soon(&seen, missing(settings, &seen)))
}

/// Returns what each agent has.
fn look(settings: &Settings, places: &Places) -> Vec<Seen> {
    let seen = AGENTS.iter().map(|agent| {
        let mut found = Found::default();
        agent.discover(places, &mut found);
        for (path, reason) in &found.problems {
            settings.printer.warn(&format!("cannot list `{}`: {reason}", path.display()));
        }
        Seen::of(*agent, agent.retention_days(places), found, settings.clock.now.into())
    });
    seen.collect()
}

/// Returns where to look: below a folder, or where the user's own environment points.
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

/// Sources of an agent on this machine.
pub(super) struct Seen {
    pub(super) about: &'static About,
    pub(super) retention_days: Option<u32>,
    pub(super) sources: i64,
    pub(super) bytes: i64,
    /// Paths of what will be deleted soon, and sizes with their companions; `None` if the agent keeps its sessions.
    expiring: Option<Vec<(PathBuf, u64)>>,
    /// Whole days until the agent deletes the first of its sources; 0 if it may do so now.
    pub(super) days_left: Option<u64>,
    /// Paths of its sources.
    paths: Vec<PathBuf>,
}

impl Seen {
    fn of(agent: &dyn Agent, retention_days: Option<u32>, found: Found, now: SystemTime) -> Self {
        let about = agent.about();
        let expiring = retention_days.map(|_| Vec::new());
        let mut seen =
            Self { about, retention_days, sources: 0, bytes: 0, expiring, days_left: None, paths: Vec::new() };
        for path in found.sources.into_iter().map(|source| source.path) {
            let Ok(file) = std::fs::metadata(&path) else { continue };
            seen.sources += 1;
            seen.bytes += i64::try_from(file.len()).unwrap_or(i64::MAX);
            let modified = file.modified().unwrap_or(now);
            if let (Some(days), Some(expiring)) = (retention_days, &mut seen.expiring) {
                let end = modified + Duration::from_secs(u64::from(days) * DAY);
                let left = end.duration_since(now).map_or(0, |left| left.as_secs() / DAY);
                seen.days_left = Some(seen.days_left.map_or(left, |least| least.min(left)));
                if end <= now + SOON {
                    let print = Fingerprint::of(&path, &agent.companions(&path));
                    expiring.push((path.clone(), print.map_or(0, |print| print.bytes)));
                }
            }
            seen.paths.push(path);
        }
        seen
    }

    /// Returns the folder that holds all of its sources, and for files in projects, how many folders have some.
    pub(super) fn place(&self) -> String {
        let folders: Vec<&Path> = self.paths.iter().filter_map(|path| path.parent()).collect();
        let Some((first, others)) = folders.split_first() else { return String::new() };
        let shared = |folder: &Path, other: &Path| -> PathBuf {
            folder
                .components()
                .zip(other.components())
                .take_while(|(one, same)| one == same)
                .map(|(one, _)| one)
                .collect()
        };
        let common = others.iter().fold(first.to_path_buf(), |common, other| shared(&common, other));
        let common = in_home(&common.to_string_lossy()).into_owned();
        let distinct: BTreeSet<_> = folders.iter().collect();
        if self.about.paths.iter().all(|path| path.starts_with("<project>")) && distinct.len() > 1 {
            return format!("{} folders below {common}", distinct.len());
        }
        common
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

/// Returns how many of the files that will be deleted soon the lake has not read as they are.
pub(super) fn missing(settings: &Settings, seen: &[Seen]) -> usize {
    let expiring = || seen.iter().filter_map(|agent| agent.expiring.as_ref()).flatten();
    let Ok(AnyLake::Local(lake)) = settings.open_lake() else { return expiring().count() };
    let Ok(sources) = lake.sources() else { return expiring().count() };
    let columns = SourceColumns::of(&sources);
    let known: BTreeMap<&str, i64> =
        (0..sources.num_rows()).map(|row| (columns.path(row), columns.bytes(row))).collect();
    let is_read = |path: &Path, bytes: u64| known.get(&*name_of(path)).copied() == i64::try_from(bytes).ok();
    expiring().filter(|(path, bytes)| !is_read(path, *bytes)).count()
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
        ("expiring", numbers(|agent| agent.expiring.as_ref().map(|all| i64::try_from(all.len()).unwrap_or(i64::MAX)))),
        ("retention_days", numbers(|agent| agent.retention_days.map(i64::from))),
        ("exact", lists(&|agent| agent.recorded(Grain::Exact).collect())),
        ("by_session", lists(&|agent| agent.recorded(Grain::Session).collect())),
        ("absent", lists(&|agent| agent.recorded(Grain::Absent).collect())),
        ("rests_on", Arc::new(seen.iter().map(|agent| Some(agent.about.rests_on.as_str())).collect::<StringArray>())),
        ("places", lists(&|agent| agent.about.paths.to_vec())),
        ("environment", lists(&|agent| agent.about.environment.to_vec())),
    ])?)
}
