//! Mistral Vibe: sessions as lines (2.x), as one document (1.x), and in a store with a journal (3.0).

mod lines;
mod meta;
mod store;
mod tools;

use std::path::{Path, PathBuf};

use super::folders::{entries, folders, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Kind, Reject, Sink, key};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "vibe";

/// Kinds of sources: a session of 3.0, of 2.x, and of 1.x.
const STORE: &str = "store";
const MESSAGES: &str = "messages";
const DOCUMENT: &str = "document";

/// The folder of the agent, and that of its sessions below it.
const HOME: &str = ".vibe";
const SESSIONS: &str = "logs/session";
/// The folder of stores.
const STORES: &str = "unified";
/// The file that a store begins with.
const CURRENT: &str = "CURRENT";
/// The lines of a session, and what describes it.
const LINES: &str = "messages.jsonl";
const META: &str = "meta.json";

/// The agent.
pub struct Vibe;

static ABOUT: About = About {
    id: AGENT,
    title: "Mistral Vibe",
    paths: &["~/.vibe/logs/session"],
    environment: &["VIBE_HOME"],
    versions: "2.0 to 3.0",
    rests_on: RestsOn::Sessions,
    records: Records { cost: Grain::Absent, ..Records::EXACT },
    parser_version: 2,
    has_totals: true,
    streams: &[MESSAGES],
    ..About::NEW
};

impl Agent for Vibe {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let sessions = places.folder("VIBE_HOME", HOME).join(SESSIONS);
        for entry in entries(&sessions, found) {
            if !entry.is_folder {
                if self.takes(&entry.path) == Some(DOCUMENT) {
                    found.add(entry.path, DOCUMENT);
                }
            } else if entry.name() == Some(STORES) {
                for store in folders(&entry.path, found) {
                    found.add_file(store.join(CURRENT), STORE);
                }
            } else {
                found.add_file(entry.path.join(LINES), MESSAGES);
                for agent in folders(&entry.path.join("agents"), found) {
                    found.add_file(agent.join(LINES), MESSAGES);
                }
            }
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let folder = path.parent().and_then(|folder| folder.file_name()?.to_str()).unwrap_or_default();
        let is_ours = lies_in(path, HOME) || folder.starts_with("session_") || self.takes(path) == Some(STORE);
        is_ours.then(|| self.takes(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        let of_store = || path.ancestors().nth(2).is_some_and(|folder| folder.ends_with(STORES));
        match name {
            CURRENT if of_store() => Some(STORE),
            LINES => Some(MESSAGES),
            _ if name.starts_with("session_") && path.extension().is_some_and(|it| it == "json") => Some(DOCUMENT),
            _ => None,
        }
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        match self.takes(path) {
            Some(STORE) => store::files(path),
            Some(MESSAGES) => vec![path.with_file_name(META)],
            _ => Vec::new(),
        }
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            STORE => store::extract(source, out),
            _ => lines::extract(source, out),
        }
    }
}

/// Key of the fact that a session has a store, which 3.0 made of its lines.
fn stored_key(session: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("stored:{session}"))
}
