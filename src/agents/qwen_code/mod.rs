//! Qwen Code: sessions and subagents as lines.

mod content;
mod record;
mod tokens;
mod tools;
mod transcript;

use std::path::{Path, PathBuf};

use super::folders::{add_files, folders, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "qwen-code";

/// Kinds of sources.
const SESSION: &str = "transcript";
const SUBAGENT: &str = "subagent";

/// The agent.
pub struct QwenCode;

static ABOUT: About = About {
    id: AGENT,
    title: "Qwen Code",
    paths: &["~/.qwen/projects"],
    environment: &["QWEN_RUNTIME_DIR", "QWEN_HOME"],
    versions: "2026, up to 0.24",
    rests_on: RestsOn::Sessions,
    records: Records { cost: Grain::Absent, ..Records::EXACT },
    parser_version: 9,
    marks: &[("/message/parts", None)],
    streams: &[SESSION, SUBAGENT],
    began: &["timestamp"],
    ..About::NEW
};

impl Agent for QwenCode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let moved = ABOUT.environment.iter().find_map(|name| places.environment(name));
        let root = moved.map_or_else(|| places.home.join(".qwen"), PathBuf::from);
        for project in folders(&root.join("projects"), found) {
            add_files(&project.join("chats"), 1, &|entry| kind_of(&entry.path), found);
            add_files(&project.join("subagents"), 1, &|entry| kind_of(&entry.path), found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let is_ours = lies_in(path, ".qwen");
        is_ours.then(|| kind_of(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        let stem = path.file_name()?.to_str()?.strip_suffix(".jsonl");
        kind_of(path).or(stem.filter(|stem| !stem.contains('.')).and(Some(SESSION)))
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        let is_subagent = kind_of(path) == Some(SUBAGENT);
        is_subagent.then(|| path.with_extension("meta.json")).into_iter().collect()
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        transcript::extract(source, out)
    }
}

/// `chats/<session>.jsonl`, `chats/archive/<session>.jsonl`, or `subagents/<session>/agent-<id>.jsonl`. What the
/// program keeps next to a session has a further ending, as `<session>.ledger.jsonl`.
fn kind_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl").filter(|name| !name.contains('.'))?;
    let folder = path.parent()?;
    if folder.ends_with("chats") || folder.ends_with("chats/archive") {
        return Some(SESSION);
    }
    let is_below_subagents = folder.parent()?.file_name()? == "subagents";
    (is_below_subagents && name.starts_with("agent-")).then_some(SUBAGENT)
}
