//! Goose: the database of all sessions, and the JSON lines that it kept before.

mod conversation;
mod ledger;
mod legacy;
mod record;
mod store;
mod tools;

use std::path::Path;

use super::folders::{Entry, add_files, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Kind, Reject, Sink, key};
use crate::source::{Section, Source};

/// The agent.
pub struct Goose;

static ABOUT: About = About {
    id: "goose",
    title: "Goose",
    paths: &["~/.local/share/goose/sessions"],
    environment: &["GOOSE_PATH_ROOT", "XDG_DATA_HOME", "APPDATA"],
    versions: "2025 to 2026-11, by its source",
    rests_on: RestsOn::Source,
    records: Records { durations: Grain::Absent, ..Records::EXACT },
    marks: &[("/working_dir", None)],
    streams: &[TRANSCRIPT],
    parser_version: 2,
    sectioned: &[DATABASE],
    began: &["created"],
    ..About::NEW
};

/// Kinds of sources.
const DATABASE: &str = "database";
const TRANSCRIPT: &str = "transcript";

impl Agent for Goose {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let roots = match places.environment("GOOSE_PATH_ROOT") {
            Some(root) => vec![Path::new(&root).join("data")],
            None => vec![
                places.folder("XDG_DATA_HOME", ".local/share").join("goose"),
                places.home.join(".local/share/Block/goose"),
                places.home.join("Library/Application Support/goose"),
                places.folder("APPDATA", "AppData/Roaming").join("Block/goose/data"),
            ],
        };
        for root in roots {
            add_files(&root.join("sessions"), 0, &|entry: &Entry| kind_of(&entry.path), found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let is_ours = lies_in(path, "goose") && path.parent().is_some_and(|folder| folder.ends_with("sessions"));
        is_ours.then(|| kind_of(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        kind_of(path)
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        store::sections(source)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        if source.kind == DATABASE { store::extract(source, out) } else { legacy::extract(source, out) }
    }
}

fn kind_of(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "db" => Some(DATABASE),
        "jsonl" => Some(TRANSCRIPT),
        _ => None,
    }
}

/// Key of the fact that the database has a session. It has all that the lines before it had.
fn stored_key(agent: &str, session: &str) -> u64 {
    key(agent, Kind::Presence, &format!("stored:{session}"))
}
