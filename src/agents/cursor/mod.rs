//! Cursor: conversations of the editor in its databases since 2023, chats of the command-line program, transcripts of
//! both.

mod blocks;
mod bubble;
mod chat;
mod composer;
mod conversation;
mod database;
mod items;
mod keys;
mod ledger;
mod listing;
mod place;
mod prompt;
mod record;
mod rows;
mod state;
mod store;
mod text;
mod titles;
mod tools;
mod transcript;
mod value;

use std::path::{Path, PathBuf};

use super::folders::{add_files, folders, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Kind, Reject, Sink, key};
use crate::source::{Section, Source};

/// The value of the `agent` column.
const AGENT: &str = "cursor";

/// The agent.
pub struct Cursor;

static ABOUT: About = About {
    id: AGENT,
    title: "Cursor",
    paths: &[
        "~/.config/Cursor/User",
        "~/Library/Application Support/Cursor/User",
        "~/AppData/Roaming/Cursor/User",
        "~/.cursor/chats",
        "~/.cursor/acp-sessions",
        "~/.cursor/projects",
        "~/.cursor/ai-tracking",
    ],
    environment: &["XDG_CONFIG_HOME", "APPDATA"],
    versions: "0.42 to 3.21",
    rests_on: RestsOn::Sessions,
    records: Records { tokens: Grain::Absent, cost: Grain::Session, durations: Grain::Absent, ..Records::EXACT },
    parser_version: 9,
    streams: &["transcript", "transcript-txt"],
    began: &["timestamp"],
    ..About::NEW
};

/// Name of the databases, in the folder of all workspaces and in that of each.
const STATE: &str = "state.vscdb";
/// The database of a chat of the command-line program.
const STORE: &str = "store.db";
/// The database of titles, and its folder.
const TITLES: &str = "ai-code-tracking.db";
const TRACKING: &str = "ai-tracking";
/// The folder of a project's transcripts.
const TRANSCRIPTS: &str = "agent-transcripts";
/// Levels of folders below it to search.
const TRANSCRIPT_DEPTH: usize = 3;

impl Agent for Cursor {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let home = &places.home;
        let config = places.folder("XDG_CONFIG_HOME", ".config");
        let user_folders = [
            config.join("Cursor/User"),
            home.join("Library/Application Support/Cursor/User"),
            places.folder("APPDATA", "AppData/Roaming").join("Cursor/User"),
        ];
        for user in user_folders {
            let workspaces = folders(&user.join("workspaceStorage"), found);
            let folders = workspaces.into_iter().chain([user.join("globalStorage")]);
            folders.for_each(|folder| found.add_file(folder.join(STATE), "database"));
        }
        let program = home.join(".cursor");
        for chats in [program.join("chats"), config.join("cursor/chats")] {
            for folder in folders(&chats, found) {
                add_stores(&folder, found);
            }
        }
        add_stores(&program.join("acp-sessions"), found);
        found.add_file(program.join(TRACKING).join(TITLES), "titles");
        for project in folders(&program.join("projects"), found) {
            let kind = |entry: &super::folders::Entry| transcript_kind(&entry.path);
            add_files(&project.join(TRANSCRIPTS), TRANSCRIPT_DEPTH, &kind, found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        match name {
            STATE => is_cursors(path).then_some("database"),
            STORE => is_chat(path).then_some("database"),
            TITLES => lies_in(path, TRACKING).then_some("titles"),
            _ => transcript_kind(path).filter(|_| lies_in(path, TRANSCRIPTS)),
        }
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        match path.file_name().and_then(|name| name.to_str()) {
            Some(STATE) => vec![path.with_file_name("workspace.json")],
            Some(STORE) => vec![path.with_file_name("meta.json")],
            _ => Vec::new(),
        }
    }

    fn has_sections(&self, path: &Path, _kind: &str) -> bool {
        path.file_name().is_some_and(|name| name == STATE)
    }

    fn sections(&self, source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
        let database = source.database()?;
        state::sections(source, &database)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            "database" => extract_database(source, out),
            "titles" => titles::extract(source, out),
            "transcript-txt" => text::extract(source, out),
            _ => transcript::extract(source, out),
        }
    }
}

/// Reads a database by the tables that it has.
fn extract_database(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    if store::is_store(&database)? {
        return store::extract(source, &database, out);
    }
    state::extract(source, &database, out)
}

/// Adds the databases of the chats in a folder.
fn add_stores(folder: &Path, found: &mut Found) {
    for chat in folders(folder, found) {
        found.add_file(chat.join(STORE), "database");
    }
}

/// Returns true if a `state.vscdb` is Cursor's: similar editors keep theirs in folders with their own names.
fn is_cursors(path: &Path) -> bool {
    let user = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "User"));
    let editor = user.and_then(Path::parent).and_then(Path::file_name).and_then(|name| name.to_str());
    editor.is_none_or(|name| name.starts_with("Cursor"))
}

/// Returns true if a `store.db` is that of a chat: its folder has the chat's id as its name.
fn is_chat(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    uuid::Uuid::try_parse(folder).is_ok() || ["chats", "acp-sessions"].iter().any(|name| lies_in(path, name))
}

/// Returns the kind of a file among transcripts.
fn transcript_kind(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "jsonl" => Some("transcript"),
        "txt" => Some("transcript-txt"),
        _ => None,
    }
}

/// Returns the key of the fact that a session has a transcript, which holds less than the databases do.
fn transcript_key(session: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("transcript:{session}"))
}

/// Returns the key of the fact that a workspace has composers.
fn workspace_key(workspace: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("workspace:{workspace}"))
}
