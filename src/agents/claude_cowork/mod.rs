//! Claude Cowork, the agent mode of Claude Desktop: each session runs Claude Code with a home of its own.

mod audit;

use std::path::{Path, PathBuf};

use super::claude_code::{self, Host, Identity};
use super::folders::{folders, lies_in};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::records::{List, Text, record};
use crate::source::{Source, repair};

/// The agent.
pub struct ClaudeCowork;

static ABOUT: About = About {
    id: "claude-cowork",
    title: "Claude Cowork",
    paths: &[
        "~/.config/Claude/local-agent-mode-sessions",
        "~/Library/Application Support/Claude/local-agent-mode-sessions",
    ],
    folders: &[SESSIONS],
    environment: &["XDG_CONFIG_HOME", "APPDATA", "LOCALAPPDATA"],
    versions: "2026, with Claude Code 2.1.5 to 2.1.234",
    rests_on: RestsOn::OtherTools,
    records: Records { cost: Grain::Absent, durations: Grain::Absent, ..Records::EXACT },
    streams: &["transcript", "subagent", AUDIT],
    began: &["timestamp", "_audit_timestamp"],
    ..About::NEW
};

/// Folder in the program's data that holds the sessions.
const SESSIONS: &str = "local-agent-mode-sessions";
/// Kind of a source that is a signed copy of a session's stream.
const AUDIT: &str = "audit";
/// Home folder of sessions in a virtual machine, as in early 2026.
const IN_MACHINE: &str = "/sessions/";

impl Agent for ClaudeCowork {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        let packaged = "Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming";
        let roots = [
            places.folder("XDG_CONFIG_HOME", ".config"),
            places.home.join("Library/Application Support"),
            places.folder("APPDATA", "AppData/Roaming"),
            places.folder("LOCALAPPDATA", "AppData/Local").join(packaged),
        ];
        for root in roots {
            for organisation in folders(&root.join("Claude").join(SESSIONS), found) {
                discover_accounts(&organisation, found);
            }
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        lies_in(path, SESSIONS).then(|| self.takes(path)).flatten()
    }

    fn takes(&self, path: &Path) -> Option<&'static str> {
        match path.file_name()?.to_str()? {
            "audit.jsonl" => Some(AUDIT),
            name => claude_code::kind_of(name),
        }
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        claude_code::companions(path).into_iter().chain(record_of(path)).collect()
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let bytes = record_of(source.path).and_then(|path| source.sidecar(&path)).unwrap_or_default();
        let text = repair(&bytes);
        let record: Record<'_> = serde_json::from_str(&text).unwrap_or_default();
        if source.kind == AUDIT {
            return audit::extract(source, &record, out);
        }
        let identity = Identity { host: Some(record.host()), ..Identity::default() };
        claude_code::extract(source, identity, out)
    }
}

record! {
    /// `local_<id>.json`. Its system prompt and permissions are not read.
    Record<'a> {
        session: Text<'a> = "cliSessionId",
        title: Text<'a> = "title",
        cwd: Text<'a> = "cwd",
        folders: List<Text<'a>> = "userSelectedFolders",
    }
}

impl Record<'_> {
    fn host(&self) -> Host {
        let own = self.cwd.get().filter(|cwd| !cwd.starts_with(IN_MACHINE));
        let folder = self.folders.0.first().and_then(Text::owned).or(own.map(str::to_owned));
        Host { title: self.title.owned(), folder, inner_folders: IN_MACHINE }
    }
}

fn discover_accounts(organisation: &Path, found: &mut Found) {
    for account in folders(organisation, found) {
        discover_sessions(&account, found);
        discover_sessions(&account.join("agent"), found);
    }
}

fn discover_sessions(account: &Path, found: &mut Found) {
    for session in folders(account, found) {
        if is_session(&session) {
            claude_code::discover(&session.join(".claude/projects"), found);
            found.add_file(session.join("audit.jsonl"), AUDIT);
        }
    }
}

fn is_session(folder: &Path) -> bool {
    folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("local_"))
}

/// Returns the file next to a session's folder that describes the session.
fn record_of(path: &Path) -> Option<PathBuf> {
    let folder = path.ancestors().skip(1).find(|folder| is_session(folder))?;
    Some(folder.with_file_name(format!("{}.json", folder.file_name()?.to_str()?)))
}
