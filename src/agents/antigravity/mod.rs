//! Google Antigravity: the program `agy`, the app and the IDE. A conversation is a transcript without tokens, and a
//! database with them.

mod database;
mod history;
mod record;
mod tools;
mod transcript;

use std::path::{Path, PathBuf};

use super::folders::{Entry, add_files, entries, folders, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The agent.
pub struct Antigravity;

static ABOUT: About = About {
    id: "antigravity",
    title: "Antigravity",
    paths: &["~/.gemini/antigravity-cli", "~/.gemini/antigravity", "~/.gemini/antigravity-ide"],
    environment: &[],
    versions: "2026-06, CLI; older conversations are encrypted",
    rests_on: RestsOn::OtherTools,
    records: Records { cost: Grain::Absent, ..Records::EXACT },
    parser_version: 2,
    marks: &[("/step_index", None)],
    streams: &[TRANSCRIPT],
    began: &["created_at"],
    ..About::NEW
};

/// Kinds of sources.
const TRANSCRIPT: &str = "transcript";
const DATABASE: &str = "database";
const HISTORY: &str = "history";
const ENCRYPTED: &str = "encrypted";

/// Folders of the three programs, below `.gemini`.
const FOLDERS: [&str; 3] = ["antigravity-cli", "antigravity", "antigravity-ide"];
/// Folder of transcripts, below the folder named after the conversation.
const LOGS: &str = ".system_generated/logs";
/// Names of the transcript, the one with whole texts first.
const TRANSCRIPTS: [&str; 2] = ["transcript_full.jsonl", "transcript.jsonl"];

impl Agent for Antigravity {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        for folder in FOLDERS {
            let root = places.home.join(".gemini").join(folder);
            found.add_file(root.join("history.jsonl"), HISTORY);
            for conversation in folders(&root.join("brain"), found) {
                if let Some(transcript) = transcript_of(&root, &conversation) {
                    found.add(transcript, TRANSCRIPT);
                }
            }
            for entry in entries(&root.join("conversations"), found) {
                let kind = kind_of(&entry.path).filter(|_| !entry.is_folder);
                let is_read_elsewhere = match kind {
                    Some(ENCRYPTED) => entry.path.with_extension("db").is_file(),
                    // A transcript that was deleted had the same tokens.
                    _ => logs_of(&root, &entry.path).is_some_and(|logs| logs.is_dir()),
                };
                if let Some(kind) = kind.filter(|_| !is_read_elsewhere) {
                    found.add(entry.path, kind);
                }
            }
            let encrypted = |entry: &Entry| kind_of(&entry.path).filter(|kind| *kind == ENCRYPTED);
            add_files(&root.join("implicit"), 0, &encrypted, found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let is_ours = lies_in(path, ".gemini") && FOLDERS.iter().any(|folder| lies_in(path, folder));
        is_ours.then(|| kind_of(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        kind_of(path)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        let database = database_of(path).filter(|_| kind_of(path) == Some(TRANSCRIPT));
        let log = database.as_ref().map(|path| path.with_extension("db-wal"));
        database.into_iter().chain(log).collect()
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            DATABASE => database::extract(source, out),
            HISTORY => history::extract(source, out),
            ENCRYPTED => Err(Reject::Encrypted),
            _ => transcript::extract(source, out),
        }
    }
}

fn kind_of(path: &Path) -> Option<&'static str> {
    match (path.file_name()?.to_str()?, path.extension()?.to_str()?) {
        ("history.jsonl", _) => Some(HISTORY),
        (_, "jsonl") => Some(TRANSCRIPT),
        (_, "db") => Some(DATABASE),
        (_, "pb") => Some(ENCRYPTED),
        _ => None,
    }
}

/// Returns the transcript of a conversation, which has the stem of a path.
fn transcript_of(root: &Path, conversation: &Path) -> Option<PathBuf> {
    let logs = logs_of(root, conversation)?;
    TRANSCRIPTS.map(|name| logs.join(name)).into_iter().find(|path| path.is_file())
}

/// Returns the folder of its transcripts.
fn logs_of(root: &Path, conversation: &Path) -> Option<PathBuf> {
    Some(root.join("brain").join(conversation.file_stem()?).join(LOGS))
}

/// Returns the database of a transcript's conversation.
fn database_of(path: &Path) -> Option<PathBuf> {
    let conversation = path.parent().filter(|folder| folder.ends_with(LOGS))?.ancestors().nth(2)?;
    let name = format!("{}.db", conversation.file_name()?.to_str()?);
    Some(conversation.ancestors().nth(2)?.join("conversations").join(name))
}

/// Returns the conversation of a transcript: the folder above its logs, or else the file's own name.
fn conversation_of(source: &Source<'_>) -> String {
    let folder = source.path.parent().filter(|folder| folder.ends_with(LOGS));
    let conversation = folder.and_then(|folder| folder.ancestors().nth(2)?.file_name()?.to_str());
    conversation.unwrap_or(source.stem()).to_owned()
}

/// Returns the id of a step.
fn step_id(session: &str, step: i64) -> String {
    format!("{session}:{step}")
}
