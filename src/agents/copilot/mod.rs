//! GitHub Copilot CLI, 0.0.3xx to 1.0.9x: events files, the central database, the oldest chats.

mod agents;
mod call;
mod calls;
mod events;
mod ledger;
mod legacy;
mod messages;
mod metrics;
mod pending;
mod record;
mod sidecars;
mod store;
mod thread;
mod tools;
mod totals;
mod transcript;
mod usage;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::folders::{Entry, add_files, entries, folders};
use super::{About, Agent, Found, Places, Records, RestsOn};
use crate::extract::{Kind, Reject, Sink, key};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "copilot-cli";

/// The agent.
pub struct CopilotCli;

static ABOUT: About = About {
    id: AGENT,
    title: "GitHub Copilot CLI",
    paths: &[
        "~/.copilot/session-state",
        "~/.copilot/session-store.db",
        "~/.copilot/history-session-state",
        "~/.copilot-cli/sessions",
        "~/.copilot/jb",
    ],
    environment: &["COPILOT_HOME", "XDG_STATE_HOME"],
    versions: "0.0.3xx to 1.0.95",
    rests_on: RestsOn::Sessions,
    records: Records::EXACT,
    parser_version: 11,
    marks: &[("/type", Some("session.start"))],
    streams: &["transcript"],
    began: &["startTime", "timestamp"],
    ..About::NEW
};

/// The central database.
const STORE: &str = "session-store.db";

/// The events of a session that has a folder.
const EVENTS: &str = "events.jsonl";

impl Agent for CopilotCli {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        // Newer versions leave links in the old places, so two paths may lead to one file.
        let mut seen = HashSet::new();
        let mut is_new = |path: &Path| path.canonicalize().is_ok_and(|path| seen.insert(path));
        for root in roots(places) {
            for sessions in ["session-state", "sessions"].map(|name| root.join(name)) {
                if is_new(&sessions) {
                    discover_sessions(&sessions, found);
                }
            }
            for conversation in folders(&root.join("jb"), found) {
                if let Some(first) = partitions(&conversation).into_iter().next().filter(|path| is_new(path)) {
                    found.add(first, "transcript");
                }
            }
            let store = root.join(STORE);
            if store.is_file() && is_new(&store) {
                found.add(store, "database");
            }
            let legacy = root.join("history-session-state");
            if is_new(&legacy) {
                add_files(&legacy, 0, &|entry| entry.name().filter(|name| is_legacy(name)).map(|_| "legacy"), found);
            }
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent().and_then(Path::file_name).and_then(|folder| folder.to_str());
        match (name, folder) {
            (STORE, _) => Some("database"),
            (EVENTS, _) => Some("transcript"),
            _ if number_of_partition(path).is_some() => Some("transcript"),
            (name, Some("session-state")) if has_extension(name, "jsonl") => Some("transcript"),
            (name, Some("history-session-state")) if is_legacy(name) => Some("legacy"),
            _ => None,
        }
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let is_lines = has_extension(path.file_name()?.to_str()?, "jsonl");
        self.claims(path).or(is_lines.then_some("transcript"))
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        if number_of_partition(path).is_some() {
            return other_partitions(path);
        }
        let has_folder = path.file_name().is_some_and(|name| name == EVENTS);
        let names = sidecars::NAMES.iter().filter(|_| has_folder);
        names.map(|name| path.with_file_name(name)).collect()
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            "database" => store::extract(source, out),
            "legacy" => legacy::extract(source, out),
            _ => events::extract(source, out),
        }
    }
}

/// Returns `COPILOT_HOME` or `~/.copilot`, the folder of 0.0.x below `XDG_STATE_HOME`, and `~/.copilot-cli`, which some
/// people use.
fn roots(places: &Places) -> Vec<PathBuf> {
    let home = places.folder("COPILOT_HOME", ".copilot");
    let state = places.environment("XDG_STATE_HOME").map(|state| PathBuf::from(state).join(".copilot"));
    [Some(home), state, Some(places.home.join(".copilot-cli"))].into_iter().flatten().collect()
}

/// Returns the number of a part of a conversation in a JetBrains IDE: `jb/<conversation>/partition-<n>.jsonl`.
fn number_of_partition(path: &Path) -> Option<u64> {
    let is_theirs = path.parent()?.parent()?.ends_with("jb");
    let number = path.file_name()?.to_str()?.strip_prefix("partition-")?.strip_suffix(".jsonl")?;
    number.parse().ok().filter(|_| is_theirs)
}

/// Returns the parts of such a conversation, in order.
fn partitions(conversation: &Path) -> Vec<PathBuf> {
    let files = entries(conversation, &mut Found::default()).into_iter().map(|entry| entry.path);
    let mut numbered: Vec<_> = files.filter_map(|path| Some((number_of_partition(&path)?, path))).collect();
    numbered.sort();
    numbered.into_iter().map(|(_, path)| path).collect()
}

/// Returns the parts that are read after the first one.
fn other_partitions(first: &Path) -> Vec<PathBuf> {
    let all = first.parent().map(partitions).unwrap_or_default();
    all.into_iter().filter(|path| path != first).collect()
}

/// Finds sessions, each of which is one file (older) or a folder.
fn discover_sessions(folder: &Path, found: &mut Found) {
    let flat = |entry: &Entry| entry.name().filter(|name| has_extension(name, "jsonl")).map(|_| "transcript");
    add_files(folder, 0, &flat, found);
    for session in folders(folder, found) {
        found.add_file(session.join(EVENTS), "transcript");
    }
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, found)| !stem.is_empty() && found == extension)
}

fn is_legacy(name: &str) -> bool {
    name.starts_with("session_") && has_extension(name, "json")
}

/// Returns the session of a subagent.
fn child_session(session: &str, agent: &str) -> String {
    format!("{session}/agent-{agent}")
}

/// Returns the key of the fact that the central database has the calls of a session, since the first of them.
fn stored_key(session: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("stored:{session}"))
}

/// Returns the key of the fact that a session's events have its calls, since the process that began to record them.
fn recorded_key(session: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("recorded:{session}"))
}

/// Returns the amount billed at a time in units of 10^-9 "AI units" of a cent each. `None` if it is 0, or from before
/// units had a price. USD.
fn dollars(nano: Option<f64>, at: Option<i64>) -> Option<f64> {
    let nano = nano.filter(|nano| *nano > 0.0 && at >= Some(metrics::UNITS_HAVE_A_PRICE))?;
    Some(nano / NANO_PER_DOLLAR)
}

/// Billing units for a US dollar.
const NANO_PER_DOLLAR: f64 = 1e11;
