//! Aider, 0.35 to 0.86: chat histories in projects, typed prompts, the analytics log.

mod analytics;
mod blocks;
mod chat;
mod companions;
mod edits;
mod inputs;
mod notices;
mod projects;
mod reasoning;
mod run;
mod seed;
mod tokens;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use chrono::NaiveDateTime;

use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Kind, Reject, Sink, key};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "aider";

/// The agent.
pub struct Aider;

static ABOUT: About = About {
    id: AGENT,
    title: "Aider",
    paths: &["<project>/.aider.chat.history.md", "<project>/.aider.input.history"],
    environment: &["AIDER_CHAT_HISTORY_FILE", "AIDER_INPUT_HISTORY_FILE", "AIDER_ANALYTICS_LOG"],
    versions: "0.35 to 0.86",
    rests_on: RestsOn::Sessions,
    records: Records { durations: Grain::Absent, ..Records::EXACT },
    parser_version: 5,
    ..About::NEW
};

/// Name of the chat history.
const CHAT: &str = ".aider.chat.history.md";
/// Name of the history of typed prompts.
const INPUTS: &str = ".aider.input.history";
/// Names under which the analytics log is searched for next to a chat history. The person chooses its name.
const ANALYTICS: [&str; 4] =
    [".aider.analytics.jsonl", "aider.analytics.jsonl", "aider-analytics.jsonl", "analytics.jsonl"];

impl Agent for Aider {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn only_appends(&self) -> bool {
        true
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let named = [("AIDER_CHAT_HISTORY_FILE", "chat"), ("AIDER_INPUT_HISTORY_FILE", "prompts")];
        for (variable, kind) in named.into_iter().chain([("AIDER_ANALYTICS_LOG", "analytics")]) {
            let path = places.environment(variable).map(PathBuf::from);
            if let Some(path) = path.filter(|path| path.is_absolute() && path.is_file()) {
                found.add(path, kind);
            }
        }
        projects::discover(places, found);
    }

    fn discover_in_projects(&self, all: &[PathBuf], found: &mut Found) {
        projects::discover_in(all, found);
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        let has = |parts: &[&str]| parts.iter().all(|part| name.contains(part));
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("md") if has(&["aider", "chat", "history"]) => Some("chat"),
            Some("jsonl" | "log") if has(&["aider", "analytics"]) => Some("analytics"),
            _ => has(&["aider", "input", "history"]).then_some("prompts"),
        }
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        if self.claims(path) != Some("chat") {
            return Vec::new();
        }
        std::iter::once(INPUTS).chain(ANALYTICS).map(|name| path.with_file_name(name)).collect()
    }

    fn started_hint(&self, kind: &str, head: &[u8]) -> Option<i64> {
        let mark: &[u8] = match kind {
            "chat" => blocks::STARTED.as_bytes(),
            "prompts" => b"\n# ",
            _ => return None,
        };
        let place = memchr::memmem::find(head, mark)? + mark.len();
        crate::time::parse_iso(std::str::from_utf8(head.get(place..place + 19)?).ok()?)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            "prompts" => inputs::extract(source, out),
            "analytics" => analytics::extract(source, out),
            _ => chat::extract(source, out),
        }
    }
}

/// Identity of a session: a hash of its opening.
fn session_id(digest: &[u8]) -> String {
    digest.iter().take(8).fold("aider:".to_owned(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}

/// Returns the key of the fact that a folder has a chat history, which holds everything typed since its start.
fn chat_key(folder: Option<&Path>) -> u64 {
    let folder = folder.unwrap_or(Path::new("")).to_string_lossy();
    key(AGENT, Kind::Presence, &format!("chat:{folder}"))
}

/// Returns the key of the fact that any chat history exists. An analytics log does not name its project.
fn any_chat_key() -> u64 {
    key(AGENT, Kind::Presence, "chats")
}

/// Returns the key of the fact that a run was followed by one that started at a time.
fn before_key(next: NaiveDateTime) -> u64 {
    key(AGENT, Kind::Presence, &format!("before:{next}"))
}

/// Reads a local time as all of Aider's files write it: `2026-01-02 09:00:00`, with or without a fraction.
fn clock(text: &str) -> Option<NaiveDateTime> {
    NaiveDateTime::parse_from_str(text.trim_end(), "%Y-%m-%d %H:%M:%S%.f").ok()
}
