//! Kiro IDE before 1.0: chats, sessions of a workspace, and logs of what was done for each prompt. Later versions write
//! what Kiro CLI writes.

mod chat;
mod content;
mod execution;
mod record;
mod session;
mod workspace;

use std::path::{Path, PathBuf};

use super::folders::{Entry, add_files, entries};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Kind, Reject, Sink, key};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "kiro-ide";

/// Kinds of sources.
const CHAT: &str = "chat";
const SESSION: &str = "session";
const EXECUTION: &str = "execution";

/// Folders of the editor's users below the home, on Linux, macOS and Windows, and of its remote server.
const USERS: [&str; 4] = [
    ".config/Kiro/User",
    "Library/Application Support/Kiro/User",
    "AppData/Roaming/Kiro/User",
    ".kiro-server/data/User",
];
/// The folder of the agent below.
const OURS: &str = "kiro.kiroagent";
/// The folder of sessions below that.
const SESSIONS: &str = "workspace-sessions";
/// The folder of logs below a workspace's: SHA-256 of `KIRO::EXECUTION::SAVES`, cut.
const LOGS: &str = "414d1636299d2b9e4ce7e17fb11f63e9";

/// The agent.
pub struct KiroIde;

static ABOUT: About = About {
    id: AGENT,
    title: "Kiro IDE",
    paths: &["~/.config/Kiro/User/globalStorage/kiro.kiroagent"],
    environment: &["XDG_CONFIG_HOME"],
    versions: "before 1.0",
    rests_on: RestsOn::OtherTools,
    records: Records { tokens: Grain::Absent, cost: Grain::Absent, durations: Grain::Absent, ..Records::EXACT },
    parser_version: 4,
    began: &["startTime"],
    ..About::NEW
};

impl Agent for KiroIde {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let mut users: Vec<PathBuf> = USERS.iter().map(|user| places.home.join(user)).collect();
        users.extend(places.environment("XDG_CONFIG_HOME").map(|folder| PathBuf::from(folder).join("Kiro/User")));
        users.sort();
        users.dedup();
        for user in users {
            for workspace in entries(&user.join("globalStorage").join(OURS), found) {
                if workspace.is_folder {
                    add_files(&workspace.path, 1, &|entry: &Entry| kind_of(&entry.path), found);
                }
            }
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        kind_of(path)
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            CHAT => chat::extract(source, out),
            SESSION => session::extract(source, out),
            _ => execution::extract(source, out),
        }
    }
}

/// Returns the kind of a file below the agent's folder: `<workspace>/<id>.chat`,
/// `workspace-sessions/<path>/<session>.json`, `<workspace>/<logs>/<id>`.
fn kind_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?;
    let above = folder.parent()?;
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is = |folder: &Path, name: &str| folder.file_name().is_some_and(|own| own == name);
    if is(above, OURS) && extension == Some("chat") {
        return Some(CHAT);
    }
    if is(above, SESSIONS) && is(above.parent()?, OURS) {
        return (extension == Some("json") && name != "sessions.json").then_some(SESSION);
    }
    (is(folder, LOGS) && is(above.parent()?, OURS) && !name.contains('.')).then_some(EXECUTION)
}

/// Key of the fact that a log has an answer.
fn answered(execution: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("answered:{execution}"))
}

/// Key of the fact that a log has a prompt.
fn asked(execution: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("asked:{execution}"))
}
