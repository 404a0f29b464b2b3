//! Factory Droid, 2025-10 and later: session files with their settings, and captured streams.

mod calls;
mod capture;
mod content;
mod model;
mod record;
mod reminder;
mod settings;
mod tools;
mod transcript;
mod user;

use std::path::{Component, Path, PathBuf};

use super::folders::{Entry, add_files, entries};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Kind, Reject, Sink, key};
use crate::source::{Source, head};

/// The value of the `agent` column.
const AGENT: &str = "droid";

/// Kinds of sources.
const SESSION: &str = "transcript";
const SIDE_QUESTION: &str = "side_question";
const CAPTURE: &str = "capture";

/// Folder of the side questions.
const SIDE_QUESTIONS: &str = "btw";
/// Folders below `projects` that are looked into.
const CAPTURE_DEPTH: usize = 6;
/// Bytes that distinguish a session from a captured stream.
const HEAD: u64 = 64 << 10;

/// The agent.
pub struct Droid;

static ABOUT: About = About {
    id: AGENT,
    title: "Factory Droid",
    paths: &["~/.factory/sessions", "~/.factory/projects"],
    versions: "2025-10 to 0.215",
    rests_on: RestsOn::Sessions,
    records: Records { tokens: Grain::Session, cost: Grain::Absent, durations: Grain::Session, ..Records::EXACT },
    parser_version: 11,
    marks: &[("/type", Some("session_start"))],
    streams: &[SESSION, SIDE_QUESTION, CAPTURE],
    began: &["timestamp"],
    ..About::NEW
};

impl Agent for Droid {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let root = places.home.join(".factory");
        for entry in entries(&root.join("sessions"), found) {
            if entry.is_folder {
                add_files(&entry.path, 0, &|entry| session_kind(&entry.path), found);
            } else if let Some(kind) = session_kind(&entry.path) {
                found.add(entry.path, kind);
            }
        }
        let capture = |entry: &Entry| is_lines(&entry.path).then_some(CAPTURE);
        add_files(&root.join("projects"), CAPTURE_DEPTH, &capture, found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let mut parts = path.components().map(Component::as_os_str).skip_while(|part| *part != ".factory");
        if parts.next().is_some() {
            let is_stored = parts.next().is_some_and(|part| part == "sessions");
            return if is_stored { session_kind(path) } else { is_lines(path).then_some(CAPTURE) };
        }
        let folder = path.parent()?.file_name()?.to_str()?;
        let is_named = folder == AGENT || path.file_name()?.to_str()?.starts_with(AGENT);
        (is_named && is_lines(path)).then_some(CAPTURE)
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        self.claims(path).or(is_lines(path).then_some(CAPTURE))
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        vec![settings::settings_of(path)]
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        if source.kind == CAPTURE && !holds_session(source.path) {
            capture::extract(source, out)
        } else {
            transcript::extract(source, out)
        }
    }
}

/// `<session>.jsonl`, in a folder of its project or, until 2025, next to those folders.
fn session_kind(path: &Path) -> Option<&'static str> {
    let folder = path.parent().and_then(Path::file_name);
    let kind = if folder.is_some_and(|folder| folder == SIDE_QUESTIONS) { SIDE_QUESTION } else { SESSION };
    is_lines(path).then_some(kind)
}

fn is_lines(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Returns true if a file anywhere is a session rather than a captured stream.
fn holds_session(path: &Path) -> bool {
    let head = head(path, HEAD).unwrap_or_default();
    ["\"session_start\"", "\"message\":{"].iter().any(|mark| memchr::memmem::find(&head, mark.as_bytes()).is_some())
}

/// The key of the fact that a session's own file has its messages, so that those of captures are not needed.
fn messages_key(session: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("{session}:messages"))
}

/// The key of the fact that a session's own file has its total, which the turns of captures are in.
fn total_key(session: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("{session}:total"))
}
