//! Gemini CLI, 0.0.77 to 0.61: chats as documents and as lines, subagents, typed prompts.

mod chat;
mod content;
mod kinds;
mod look;
mod place;
mod prompts;
mod record;
mod rows;
mod survey;
mod tokens;
mod tools;

use std::path::{Path, PathBuf};

use super::folders::{Entry, add_files, entries, folders};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "gemini-cli";

/// The agent.
pub struct Gemini;

static ABOUT: About = About {
    id: AGENT,
    title: "Gemini CLI",
    paths: &["~/.gemini/tmp"],
    environment: &["GEMINI_CLI_HOME"],
    versions: "0.0.77 to 0.61.0",
    rests_on: RestsOn::Sessions,
    records: Records { cost: Grain::Absent, durations: Grain::Absent, ..Records::EXACT },
    retention_days: Some(30),
    parser_version: 10,
    marks: &[("/projectHash", None)],
    streams: &["transcript", "subagent"],
    began: &["startTime", "timestamp"],
    ..About::NEW
};

/// Folders below a session's that are looked into for its subagents.
const SUBAGENT_DEPTH: usize = 4;

impl Agent for Gemini {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let home = places.folder("GEMINI_CLI_HOME", "");
        for project in folders(&home.join(".gemini/tmp"), found) {
            found.add_file(project.join("logs.json"), "prompts");
            for entry in entries(&project.join("chats"), found) {
                if entry.is_folder {
                    add_files(&entry.path, SUBAGENT_DEPTH, &|entry: &Entry| subagent(entry.name()?), found);
                } else if let Some(kind) = entry.name().and_then(transcript) {
                    found.add(entry.path, kind);
                }
            }
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let is_below = path.ancestors().skip(2).any(|folder| folder.file_name().is_some_and(|name| name == "chats"));
        match folder {
            Some("chats") => transcript(name),
            // Cursor's chats have one each.
            _ if is_below => subagent(name).filter(|_| name != "meta.json"),
            _ if name == "logs.json" => Some("prompts"),
            _ => transcript(name).filter(|_| extension_of(name) == "json"),
        }
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        self.claims(path).or(subagent(name).and(Some("transcript")))
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        let chats = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "chats"));
        let project = chats.unwrap_or(path).parent();
        project.map(|folder| folder.join(place::OWNER)).into_iter().collect()
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            "prompts" => prompts::extract(source, out),
            _ => chat::extract(source, out),
        }
    }
}

/// Returns the kind of a file in `chats`, if it is a chat.
fn transcript(name: &str) -> Option<&'static str> {
    let is_chat = name.starts_with("session-") && subagent(name).is_some();
    is_chat.then_some("transcript")
}

/// Returns the kind of a file below a session's folder, if it is a subagent's chat.
fn subagent(name: &str) -> Option<&'static str> {
    matches!(extension_of(name), "json" | "jsonl").then_some("subagent")
}

fn extension_of(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}
