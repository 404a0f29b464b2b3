//! Kiro CLI: the database that it took over from Amazon Q, and the files of its two later engines.

mod content;
mod events;
mod messages;
mod record;
mod state;

use std::path::{Path, PathBuf};

use super::amazon_q::{self, SAVE, STORE};
use super::folders::entries;
use super::{About, Agent, Found, Places, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::{Section, Source};

/// The value of the `agent` column, and the name of its folder.
const AGENT: &str = "kiro-cli";

/// Words in the names of saved conversations.
const WORDS: [&str; 1] = ["kiro"];

/// Kinds of sources: what happened in a session of the second engine, what is left where only its state is; a session
/// of the third engine, and of a subagent there.
const EVENTS: &str = "events";
const STATE: &str = "state";
const MESSAGES: &str = "messages";
const SUBAGENT: &str = "subagent";

/// The agent.
pub struct KiroCli;

static ABOUT: About = About {
    id: AGENT,
    title: "Kiro CLI",
    paths: &[
        "~/.kiro/sessions",
        "~/.local/share/kiro-cli",
        "~/Library/Application Support/kiro-cli",
        "<project>/*kiro*.json",
    ],
    environment: &["XDG_DATA_HOME"],
    versions: "1 to 3, up to 2026-07",
    rests_on: RestsOn::OtherTools,
    records: amazon_q::RECORDS,
    parser_version: 7,
    streams: &[EVENTS, MESSAGES, SUBAGENT],
    sectioned: &[STORE],
    began: &["timestamp"],
    ..About::NEW
};

impl Agent for KiroCli {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        amazon_q::add_store(AGENT, places, found);
        amazon_q::add_saves(&WORDS, places, found);
        let sessions = places.home.join(".kiro/sessions");
        for entry in entries(&sessions, found) {
            if !entry.is_folder {
                add_events(entry.path, found);
            } else if entry.name() == Some("cli") {
                for event in entries(&entry.path, found) {
                    add_events(event.path, found);
                }
            } else {
                for session in entries(&entry.path, found) {
                    add_messages(&session.path, found);
                }
            }
        }
    }

    fn discover_in_projects(&self, projects: &[PathBuf], found: &mut Found) {
        amazon_q::add_saves_in(&WORDS, projects, found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        if amazon_q::is_store(AGENT, path) {
            return Some(STORE);
        }
        if let Some(kind) = kind_of(path) {
            return Some(kind);
        }
        amazon_q::is_save(&WORDS, path).then_some(SAVE)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        match kind_of(path) {
            Some(EVENTS) => vec![path.with_extension("json")],
            Some(kind @ (MESSAGES | SUBAGENT)) => session_folder(path, kind).map(description).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        amazon_q::sections(source)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            STORE => amazon_q::extract_store(source, out),
            SAVE => amazon_q::extract_save(source, out),
            EVENTS | STATE => events::extract(source, out),
            _ => messages::extract(source, out),
        }
    }
}

/// Returns the kind of a file below `.kiro/sessions`, by its name: `[cli/]<session>.jsonl`,
/// `<folder>/sess_<id>/messages.jsonl`, `<folder>/sess_<id>/sub-executions/<id>.jsonl`.
fn kind_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?;
    let extension = path.extension()?.to_str()?;
    let is_session = |folder: &Path| named(folder, |name| name.starts_with("sess_"));
    if is_session(folder) && name == "messages.jsonl" {
        return Some(MESSAGES);
    }
    if named(folder, |name| name == "sub-executions") && extension == "jsonl" && folder.parent().is_some_and(is_session)
    {
        return Some(SUBAGENT);
    }
    let sessions = if named(folder, |name| name == "cli") { folder.parent()? } else { folder };
    let is_ours = named(sessions, |name| name == "sessions") && named(sessions.parent()?, |name| name == ".kiro");
    match extension {
        "jsonl" if is_ours => Some(EVENTS),
        "json" if is_ours => Some(STATE),
        _ => None,
    }
}

fn named(folder: &Path, is: impl Fn(&str) -> bool) -> bool {
    folder.file_name().and_then(|name| name.to_str()).is_some_and(is)
}

/// Adds a file of the second engine; the state of a session is read with its events.
fn add_events(path: PathBuf, found: &mut Found) {
    match kind_of(&path) {
        Some(STATE) if path.with_extension("jsonl").is_file() => {}
        Some(kind) => found.add(path, kind),
        None => {}
    }
}

/// Adds a session of the third engine, and its subagents.
fn add_messages(session: &Path, found: &mut Found) {
    let main = session.join("messages.jsonl");
    if kind_of(&main).is_some() && main.is_file() {
        found.add(main, MESSAGES);
        for entry in entries(&session.join("sub-executions"), found) {
            if let Some(kind) = kind_of(&entry.path) {
                found.add(entry.path, kind);
            }
        }
    }
}

/// The folder of a session of the third engine.
fn session_folder<'p>(path: &'p Path, kind: &str) -> Option<&'p Path> {
    let folder = path.parent()?;
    if kind == SUBAGENT { folder.parent() } else { Some(folder) }
}

/// Returns the file that describes a session of the third engine.
fn description(session: &Path) -> PathBuf {
    session.join("session.json")
}
