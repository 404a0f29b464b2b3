//! OpenAI Codex CLI: rollouts of 0.2 to 0.169, sessions of the TypeScript program, typed prompts, titles.

mod changes;
mod content;
mod counts;
mod history;
mod limits;
mod lineage;
mod outcome;
mod record;
mod rollout;
mod spawn;
mod state;
mod titles;
mod tools;
mod typed;
mod typescript;

use std::path::Path;

use chrono::NaiveDateTime;

use super::folders::{Entry, add_files, folders, lies_in};
use super::ids::is_uuid;
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The agent.
pub struct Codex;

static ABOUT: About = About {
    id: "codex",
    title: "Codex CLI",
    paths: &[
        "~/.codex/sessions",
        "~/.codex/archived_sessions",
        "~/.codex/history.jsonl",
        "~/.codex/session_index.jsonl",
        "~/.codex/state_*.sqlite",
        "~/.openclaw/agents/*/agent/codex-home",
    ],
    environment: &["CODEX_HOME", "CODEX_SQLITE_HOME"],
    versions: "0.2.0 to 0.169.0",
    rests_on: RestsOn::Sessions,
    records: Records { cost: Grain::Absent, durations: Grain::Absent, ..Records::EXACT },
    parser_version: 13,
    marks: &[("/type", Some("session_meta"))],
    streams: &["transcript"],
    began: &["timestamp", "ts"],
    ..About::NEW
};

/// Folders below `sessions/`: year, month, day.
const DATE_DEPTH: usize = 3;

impl Agent for Codex {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let root = places.folder("CODEX_HOME", ".codex");
        // OpenClaw runs Codex with a home of its own for each agent.
        let agents = folders(&places.home.join(".openclaw/agents"), found);
        let inner = agents.into_iter().map(|agent| agent.join("agent/codex-home"));
        for root in std::iter::once(root).chain(inner) {
            discover(&root, found);
            add_files(&root, 0, &|entry: &Entry| companion_kind(entry.name()?), found);
        }
        if let Some(folder) = places.environment("CODEX_SQLITE_HOME") {
            let is_database = |entry: &Entry| companion_kind(entry.name()?).filter(|kind| *kind == "database");
            add_files(Path::new(&folder), 0, &is_database, found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        let is_in = |folder: &str| lies_in(path, folder);
        let in_home = || {
            let is_line_by_line = is_lines(name) && (is_in("sessions") || is_in("archived_sessions"));
            companion_kind(name)
                .or(is_line_by_line.then_some("transcript"))
                .filter(|_| is_in(".codex") || is_in("codex-home"))
        };
        rollout_kind(name).or_else(in_home).or((name == "session_index.jsonl").then_some("titles"))
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        self.claims(path).or(companion_kind(name)).or(is_lines(name).then_some("transcript"))
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            "prompts" => history::extract(source, out),
            "titles" => titles::extract(source, out),
            "database" => state::extract(source, out),
            _ => extract(source, out),
        }
    }
}

/// Adds the sessions in a home of Codex.
pub(super) fn discover(root: &Path, found: &mut Found) {
    add_files(&root.join("sessions"), DATE_DEPTH, &session_kind, found);
    add_files(&root.join("archived_sessions"), 0, &session_kind, found);
}

/// Reads a session.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    out.set_own_output(outcome::own_output);
    if source.kind == "document" { typescript::extract(source, out) } else { rollout::extract(source, out) }
}

/// Returns the kind of a file in a folder of sessions. A compressed rollout next to the plain one is a copy of the same
/// session. The plain one overrides it; the copy counts once the plain one is deleted.
fn session_kind(entry: &Entry) -> Option<&'static str> {
    let name = entry.name()?;
    rollout_kind(name).or_else(|| is_lines(name).then_some("transcript"))
}

/// Returns the kind of a file with the name of a rollout.
pub(super) fn rollout_kind(name: &str) -> Option<&'static str> {
    let stem = name.strip_prefix("rollout-")?;
    if is_lines(stem.strip_suffix(".zst").unwrap_or(stem)) {
        return Some("transcript");
    }
    stem.strip_suffix(".json").map(|_| "document")
}

fn is_lines(name: &str) -> bool {
    name.strip_suffix(".jsonl").is_some()
}

/// Returns the kind of a file next to the sessions.
fn companion_kind(name: &str) -> Option<&'static str> {
    match name {
        "history.jsonl" | "history.json" => Some("prompts"),
        "session_index.jsonl" => Some("titles"),
        _ => {
            let number = name.strip_prefix("state_")?.strip_suffix(".sqlite")?;
            number.bytes().all(|digit| digit.is_ascii_digit()).then_some("database")
        }
    }
}

/// Returns the session that a file is named after: the UUID at the end of the name, or all text after the date.
fn session_of_name(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.strip_suffix(".zst").unwrap_or(name);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let uuid = stem.len().checked_sub(36).and_then(|start| stem.get(start..)).filter(|id| is_uuid(id));
    uuid.or_else(|| stem.strip_prefix("rollout-")?.get("YYYY-MM-DD-".len()..)).unwrap_or(stem).to_owned()
}

/// Returns the local time in a rollout's name.
fn time_of_name(path: &Path) -> Option<NaiveDateTime> {
    let rest = path.file_name()?.to_str()?.strip_prefix("rollout-")?;
    NaiveDateTime::parse_from_str(rest.get(.."YYYY-MM-DDThh-mm-ss".len())?, "%Y-%m-%dT%H-%M-%S").ok()
}

/// Returns the id of a response. The provider's ids are unique and stay as they are. Any other is qualified by its
/// session.
fn response_id(id: &str, session: &str) -> String {
    let is_unique = id.len() >= 20 || id.starts_with("resp_");
    if is_unique { id.to_owned() } else { format!("{session}#{id}") }
}
