//! Grok Build, xAI's program: a folder for each session, with a log of updates and the history that the model sees.

mod chat;
mod items;
mod record;
mod tools;
mod turns;
mod updates;

use std::path::{Path, PathBuf};

use super::folders::{folders, lies_in};
use super::{About, Agent, Found, Places, Records, RestsOn};
use crate::extract::{Facts, Kind, Reject, Sink, key};
use crate::source::records::Text;
use crate::source::{Source, repair};
use crate::tables::SessionKind;
use record::Summary;

/// The agent.
pub struct Grok;

static ABOUT: About = About {
    id: "grok",
    title: "Grok Build",
    paths: &["~/.grok/sessions"],
    environment: &["GROK_HOME"],
    versions: "up to 2026-08, by its source",
    rests_on: RestsOn::Source,
    records: Records::EXACT,
    parser_version: 3,
    marks: &[("/params/update/sessionUpdate", None)],
    streams: &[UPDATES, CHAT],
    began: &["timestamp"],
    ..About::NEW
};

/// Kinds of sources: the log, and the history of sessions that have no log.
const UPDATES: &str = "transcript";
const CHAT: &str = "history";

const LOG: &str = "updates.jsonl";
const HISTORY: &str = "chat_history.jsonl";
const SUMMARY: &str = "summary.json";

impl Agent for Grok {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        for project in folders(&places.folder("GROK_HOME", ".grok").join("sessions"), found) {
            for session in folders(&project, found) {
                // Another program keeps other files in folders of these names.
                if !session.join(SUMMARY).is_file() {
                    continue;
                }
                let log = session.join(LOG);
                if log.is_file() {
                    found.add(log, UPDATES);
                } else {
                    found.add_file(session.join(HISTORY), CHAT);
                }
            }
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?;
        (lies_in(path, ".grok") && (name == LOG || name == HISTORY)).then(|| self.takes(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        match path.file_name()?.to_str()? {
            LOG => Some(UPDATES),
            HISTORY => Some(CHAT),
            _ => path.extension().is_some_and(|extension| extension == "jsonl").then_some(UPDATES),
        }
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        let files = [SUMMARY, HISTORY].map(|name| path.with_file_name(name));
        let started = folders(&path.with_file_name("subagents"), &mut Found::default());
        let started = started.iter().filter_map(|child| child.file_name()?.to_str());
        let logs = started.filter_map(|child| log_of(path, child));
        let of_children = logs.flat_map(|log| [log.with_file_name(SUMMARY), log]);
        files.into_iter().filter(|file| file != path).chain(of_children).collect()
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let bytes = index_of(source, source.path);
        let text = repair(&bytes);
        let summary: Summary<'_> = serde_json::from_str(&text).unwrap_or_default();
        if source.kind == CHAT { chat::extract(source, &summary, out) } else { updates::extract(source, &summary, out) }
    }
}

/// The session of a file: the folder that it is in.
fn session_of(path: &Path) -> &str {
    path.parent().and_then(|folder| folder.file_name()?.to_str()).unwrap_or_default()
}

/// The bytes of the index next to a log.
fn index_of(source: &Source<'_>, log: &Path) -> Vec<u8> {
    source.sidecar(&log.with_file_name(SUMMARY)).unwrap_or_default()
}

/// The log of another session: in a folder next to the session's, as a rule, or in another project's.
fn log_of(path: &Path, session: &str) -> Option<PathBuf> {
    let project = path.parent()?.parent()?;
    let is_name = !session.is_empty() && session != ".." && !session.contains(['/', '\\']);
    let near = project.join(session).join(LOG);
    if !is_name || near.is_file() {
        return is_name.then_some(near);
    }
    let projects = folders(project.parent()?, &mut Found::default());
    projects.into_iter().map(|project| project.join(session).join(LOG)).find(|log| log.is_file())
}

/// Returns the facts about a session that the index records.
fn facts_of(source: &Source<'_>, summary: &Summary<'_>) -> Facts {
    let kind = summary.kind.get().unwrap_or_default();
    let (is_subagent, is_fork) = (kind.starts_with("subagent"), matches!(kind, "fork" | "worktree"));
    let parent = summary.parent.owned();
    let cwd = summary.info.0.as_ref().and_then(|info| info.cwd.owned());
    Facts {
        session_id: session_of(source.path).to_owned(),
        kind: if is_subagent { SessionKind::Subagent } else { SessionKind::Session },
        project_path: summary.workspace.owned().filter(|_| kind == "worktree").or(cwd),
        git_branch: summary.branch.owned(),
        git_commit: summary.commit.owned(),
        git_repo: summary.remotes.0.first().and_then(Text::owned),
        title: summary.title.owned().or(summary.session_summary.owned()),
        forked_from_session_id: parent.clone().filter(|_| is_fork),
        parent_session_id: parent.filter(|_| !is_fork),
        is_subagent,
        subagent_type: summary.agent_name.owned().filter(|_| is_subagent),
        first_moment: summary.created.0,
        ..Facts::default()
    }
}

/// Key of the fact that a session has a log, which says more than its history.
fn log_key(agent: &str, session: &str) -> u64 {
    key(agent, Kind::Presence, &format!("log:{session}"))
}
