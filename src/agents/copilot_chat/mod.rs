//! Copilot Chat in VS Code and its forks: a chat as one document, or as a log of changes to it. Two files of the
//! extension, if they exist, measure each call of the model.

mod calls;
mod chat;
mod replay;
mod request;
mod tools;

use std::path::{Path, PathBuf};

use super::editors::{WORKSPACE, users};
use super::folders::{Entry, add_files, folders, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "copilot-chat";

/// Kinds of sources: a log of changes, a whole document, and what the extension keeps next to them.
const LOG: &str = "log";
const CHAT: &str = "chat";
const EXTENSION: &str = "extension";

/// Folders of chats: of a workspace, and of windows without one.
const CHATS: [&str; 2] = ["chatSessions", "emptyWindowChatSessions"];
/// The extension's database of spans, below `globalStorage`.
const TRACES: &str = "github.copilot-chat/agent-traces.db";
/// The extension's folder, below that of a workspace, and the folder of its logs.
const OURS: &str = "GitHub.copilot-chat";
const DEBUG_LOGS: &str = "GitHub.copilot-chat/debug-logs";

/// The agent.
pub struct CopilotChat;

static ABOUT: About = About {
    id: AGENT,
    title: "Copilot Chat",
    paths: &[
        "~/.config/Code/User/workspaceStorage",
        "~/.config/Code/User/globalStorage/emptyWindowChatSessions",
        "~/Library/Application Support/Code/User/workspaceStorage",
    ],
    environment: &["XDG_CONFIG_HOME", "APPDATA"],
    versions: "VS Code of 2024 to 2026",
    rests_on: RestsOn::Source,
    records: Records { tokens: Grain::Session, cost: Grain::Absent, ..Records::EXACT },
    parser_version: 2,
    marks: &[("/v/requests", None)],
    began: &["creationDate"],
    ..About::NEW
};

impl Agent for CopilotChat {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        for user in users(places, found) {
            for workspace in folders(&user.join("workspaceStorage"), found) {
                add_chats(&workspace.join(CHATS[0]), found);
            }
            add_chats(&user.join("globalStorage").join(CHATS[1]), found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        if lies_in(path, OURS) {
            return path.extension().is_some_and(|extension| extension == "jsonl").then_some(EXTENSION);
        }
        let folder = path.parent()?.file_name()?;
        CHATS.iter().any(|name| folder == *name).then(|| self.takes(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        match path.extension()?.to_str()? {
            "jsonl" => Some(LOG),
            "json" => Some(CHAT),
            _ => None,
        }
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        let Some(storage) = path.parent().and_then(Path::parent) else { return Vec::new() };
        let mut companions = vec![storage.join(WORKSPACE)];
        companions.extend(debug_logs(path));
        companions.extend(traces(path));
        companions
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        if source.kind == EXTENSION {
            out.remark("the extension's own logs are read together with their chat");
            return Ok(());
        }
        chat::extract(source, out)
    }
}

/// Adds the chats of a folder. A document next to a log of the same name is the log's state before 1.109.
fn add_chats(folder: &Path, found: &mut Found) {
    let kind_of = |entry: &Entry| {
        let kind = CopilotChat.claims(&entry.path)?;
        (kind == LOG || !entry.path.with_extension("jsonl").is_file()).then_some(kind)
    };
    add_files(folder, 0, &kind_of, found);
}

/// Returns the debug logs of a chat: one of the chat itself, and one of each helper that it started.
fn debug_logs(path: &Path) -> Vec<PathBuf> {
    let (Some(storage), Some(stem)) = (path.parent().and_then(Path::parent), path.file_stem()) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(storage.join(DEBUG_LOGS).join(stem)).into_iter().flatten();
    let logs = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut logs: Vec<PathBuf> = logs.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
    logs.sort_unstable();
    logs
}

/// Returns the extension's database of the editor that has a chat.
fn traces(path: &Path) -> Option<PathBuf> {
    let storage = path.parent()?.parent()?;
    let global = if storage.file_name()? == "globalStorage" {
        storage.to_owned()
    } else {
        storage.parent()?.parent()?.join("globalStorage")
    };
    Some(global.join(TRACES))
}
