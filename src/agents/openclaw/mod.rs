//! OpenClaw, once clawdbot and moltbot: pi's lines in files, in archives of them, and since 2026.8.1 in a database.

mod cold;
mod dialect;
mod family;
mod index;
mod names;
mod store;

use std::path::{Path, PathBuf};

use super::folders::{Entry, add_files, entries, folders, lies_in};
use super::pi::{self, Known, Transcript};
use super::{About, Agent, Found, Places, RestsOn};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Reject, Sink};
use crate::source::{Section, Source};
pub(super) use names::kind_of;
pub(super) use store::sections;

/// The agent.
pub struct OpenClaw;

static ABOUT: About = About {
    id: "openclaw",
    title: "OpenClaw",
    paths: &["~/.openclaw/agents", "~/.clawdbot/agents", "~/.moltbot/agents", "~/.kimi_openclaw/agents"],
    environment: &["OPENCLAW_STATE_DIR", "OPENCLAW_HOME", "CLAWDBOT_STATE_DIR"],
    versions: "up to 2026.9.6",
    rests_on: RestsOn::Sessions,
    records: pi::RECORDS,
    parser_version: 11,
    marks: &[
        ("/customType", Some("model-snapshot")),
        ("/message/api", Some("openclaw-transcript")),
        ("/message/provider", Some("openclaw")),
    ],
    streams: &["transcript", "archive", "cold", "database"],
    sectioned: &["database"],
    began: &["timestamp"],
    ..About::NEW
};

/// Names that its folder had, the present one first, and the one that Kimi gives it.
const FOLDERS: [&str; 5] = [".openclaw", ".clawdbot", ".moldbot", ".moltbot", ".kimi_openclaw"];

impl Agent for OpenClaw {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        for root in roots(places, found) {
            discover(&root, found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let is_ours = |name: &str| {
            FOLDERS
                .iter()
                .any(|folder| name.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
        };
        let lies_in_ours = path.components().any(|part| part.as_os_str().to_str().is_some_and(is_ours));
        let kind = kind_of(path)?;
        let is_codex = lies_in(path, "codex-home");
        let has_own_name = kind == "database";
        (!is_codex && (lies_in_ours || has_own_name)).then_some(kind)
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        kind_of(path)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        companions(path)
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        sections(source)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        extract(source, out)
    }
}

/// Adds the sessions below a state folder.
pub(super) fn discover(root: &Path, found: &mut Found) {
    discover_sessions(&root.join("sessions"), found);
    for agent in folders(&root.join("agents"), found) {
        found.add_file(agent.join("agent/openclaw-agent.sqlite"), "database");
        discover_sessions(&agent.join("sessions"), found);
        discover_sessions(&agent.join("session-sqlite-import-archive"), found);
    }
}

/// The index next to a transcript.
pub(super) fn companions(path: &Path) -> Vec<PathBuf> {
    match kind_of(path) {
        Some("transcript" | "archive") => vec![path.with_file_name("sessions.json")],
        _ => Vec::new(),
    }
}

/// Reads one source.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    match source.kind {
        "database" => store::extract(source, out),
        "cold" => cold::extract(source, out),
        _ => extract_transcript(source, out),
    }
}

/// Returns the folders that the environment names, or those in the home under all their names, profiles included.
fn roots(places: &Places, found: &mut Found) -> Vec<PathBuf> {
    let named = ["OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR"].iter().find_map(|name| places.environment(name));
    if let Some(folder) = named {
        return vec![PathBuf::from(folder)];
    }
    let home = places.folder("OPENCLAW_HOME", "");
    let mut roots: Vec<PathBuf> = FOLDERS.iter().map(|name| home.join(name)).collect();
    let is_profile = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(".openclaw-"))
    };
    roots.extend(folders(&home, found).into_iter().filter(is_profile));
    roots
}

fn discover_sessions(folder: &Path, found: &mut Found) {
    for entry in entries(folder, found) {
        if !entry.is_folder {
            if let Some(kind) = kind_of(&entry.path) {
                found.add(entry.path, kind);
            }
        } else if entry.name() == Some("cold") {
            add_files(&entry.path, 0, &|entry: &Entry| kind_of(&entry.path), found);
        }
    }
}

/// Reads one transcript, live or archived.
fn extract_transcript(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let (session, is_thread) = names::session_of(source.path);
    let known = Known {
        session_id: is_thread.then(|| session.to_owned()),
        fallback_id: session.to_owned(),
        ..index::beside(source)?.known(session)
    };
    let mut transcript = Transcript::new(&dialect::DIALECT, known, out);
    transcript.read_all(&mut source.lines()?)?;
    transcript.finish()
}
