//! Claude Code, 0.2 to 2.1: transcripts, subagents, the legacy database, typed prompts.

mod content;
mod pending;
mod prompts;
mod provider;
mod record;
mod responses;
mod store;
mod tools;
mod transcript;
mod tree;
mod user;

use std::path::{Path, PathBuf};

use super::folders::{Entry, add_files, entries, folders};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn, editor_settings};
use crate::extract::{Kind, Reject, Sink, key};
use crate::source::Source;
pub(super) use transcript::{Host, Identity};

/// The value of the `agent` column.
const AGENT: &str = "claude-code";

/// The agent.
pub struct ClaudeCode;

static ABOUT: About = About {
    id: AGENT,
    title: "Claude Code",
    paths: &["~/.claude/projects", "~/.config/claude/projects", "~/.claude/__store.db", "~/.claude/history.jsonl"],
    environment: &["CLAUDE_CONFIG_DIR"],
    versions: "0.2.90 to 2.1.330",
    rests_on: RestsOn::Sessions,
    records: Records { cost: Grain::Absent, durations: Grain::Absent, ..Records::EXACT },
    retention_days: Some(30),
    parser_version: 12,
    marks: &[("/sessionId", None)],
    streams: &["transcript", "subagent"],
    began: &["timestamp"],
    ..About::NEW
};

/// Records that hold nothing for the tables.
const IGNORED_RECORDS: [&str; 41] = [
    "last-prompt",
    "tag",
    "agent-name",
    "agent-color",
    "agent-setting",
    "mode",
    "permission-mode",
    "queue-operation",
    "file-history-snapshot",
    "file-history-delta",
    "content-replacement",
    "worktree-state",
    "continued-in",
    "derived-from",
    "fork-context-ref",
    "cost-state",
    "speculation-accept",
    "attribution-snapshot",
    "frame-link",
    "bridge-session",
    "session-owner",
    "history-suppression",
    "isolation-latch",
    "memory-mode",
    "tools-used",
    "api-request",
    "api-request-shape",
    "api-request-blob",
    "data-flow-records",
    "resume-head-vouch",
    "observer-ref",
    "ended-by-model",
    "atis-latch",
    "dev-mods",
    "repl-mode",
    "hybrid-organization",
    "artifact",
    "marble-origami",
    "checkpoint",
    "marble-origami-commit",
    "marble-origami-snapshot",
];

/// Subtypes of `system` records that inform the person.
const KNOWN_NOTICES: [&str; 17] = [
    "",
    "informational",
    "microcompact_boundary",
    "away_summary",
    "memory_saved",
    "agents_killed",
    "scheduled_task_fire",
    "bridge_status",
    "notification",
    "model_refusal_fallback",
    "model_refusal_no_fallback",
    "model_fallback",
    "thinking",
    "session_state_changed",
    "api_refusal",
    "error",
    "session_start",
];

/// Levels of folders below `subagents/` to search.
const SUBAGENT_DEPTH: usize = 6;

impl Agent for ClaudeCode {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        for root in roots(places) {
            found.add_file(root.join("__store.db"), "database");
            found.add_file(root.join("history.jsonl"), "prompts");
            discover(&root.join("projects"), found);
        }
    }

    fn retention_days(&self, places: &Places) -> Option<u32> {
        let set = |root: PathBuf| editor_settings::number_setting(&root.join("settings.json"), "cleanupPeriodDays");
        roots(places).into_iter().find_map(set).or(ABOUT.retention_days)
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        match name {
            "__store.db" => Some("database"),
            "history.jsonl" => Some("prompts"),
            _ => kind_of(name),
        }
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        companions(path)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            "database" => store::extract(source, out),
            "prompts" => prompts::extract(source, out),
            _ => extract(source, Identity::default(), out),
        }
    }
}

/// Adds the transcripts in a folder of projects.
pub(super) fn discover(projects: &Path, found: &mut Found) {
    for project in folders(projects, found) {
        discover_project(&project, found);
    }
}

/// Returns the file that describes a subagent.
pub(super) fn companions(path: &Path) -> Vec<PathBuf> {
    let stem = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".jsonl"));
    let description = stem.filter(|stem| stem.starts_with("agent-")).map(|stem| format!("{stem}.meta.json"));
    description.map(|name| path.with_file_name(name)).into_iter().collect()
}

/// Reads a transcript. Its path names the session.
pub(super) fn extract(source: &mut Source<'_>, known: Identity, out: &mut Sink<'_>) -> Result<(), Reject> {
    let identity = Identity { host: known.host, hides_cache: known.hides_cache, ..identity(source) };
    transcript::extract(source, identity, out)
}

/// Returns `CLAUDE_CONFIG_DIR` (some tools let it name several folders) or `~/.claude`, and the folder that 1.0.x could
/// use.
fn roots(places: &Places) -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = match places.environment("CLAUDE_CONFIG_DIR") {
        Some(folders) => folders.split(',').map(|folder| PathBuf::from(folder.trim())).collect(),
        None => vec![places.home.join(".claude")],
    };
    roots.push(places.folder("XDG_CONFIG_HOME", ".config").join("claude"));
    roots.dedup();
    roots
}

fn discover_project(project: &Path, found: &mut Found) {
    let subagent = |entry: &Entry| kind_of(entry.name()?).filter(|kind| *kind == "subagent");
    for entry in entries(project, found) {
        if entry.is_folder {
            add_files(&entry.path.join("subagents"), SUBAGENT_DEPTH, &subagent, found);
        } else if let Some(kind) = entry.name().and_then(kind_of) {
            found.add(entry.path, kind);
        }
    }
}

/// Returns the kind of a transcript by its name.
pub(super) fn kind_of(name: &str) -> Option<&'static str> {
    let stem = name.strip_suffix(".jsonl")?;
    match stem {
        "resume-head" | "journal" | "history" => None,
        _ if stem.starts_with("agent-") => Some("subagent"),
        _ => Some("transcript"),
    }
}

/// Returns the key of a tool call within its session.
fn call_key(id: &str) -> u64 {
    key("", Kind::ToolCall, id)
}

/// Returns the session of a transcript, by its path: `<session>.jsonl`, `agent-<id>.jsonl` next to sessions (until
/// 2.0.65), or `<session>/subagents/**/agent-<id>.jsonl`.
fn identity(source: &Source<'_>) -> Identity {
    let stem = source.stem();
    let Some(agent) = stem.strip_prefix("agent-").filter(|_| source.kind == "subagent") else {
        return Identity { main: Some(stem.to_owned()), ..Identity::default() };
    };
    let parent = source.path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "subagents"));
    let main = parent.and_then(Path::parent).and_then(Path::file_name).and_then(|name| name.to_str());
    Identity { main: main.map(str::to_owned), agent: Some(agent.to_owned()), ..Identity::default() }
}
