//! Windsurf (Cascade), since 2026-06 Devin Desktop: conversations that cannot be read, and the chat tabs of its first
//! years.

mod cascade;
mod chat;
mod rest;

use std::path::{Path, PathBuf};

use super::editors::WORKSPACE;
use super::folders::{Entry, add_files, entries, folders, with_folders_above};
use super::{About, Agent, Found, Grain, Places, Records, RestsOn};
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// The value of the `agent` column.
const AGENT: &str = "windsurf";

/// Kinds of sources: a conversation, the editor's database of a workspace or of all, the events of an agent, rules that
/// people write, another program's database.
const CASCADE: &str = "cascade";
const STORE: &str = "database";
const EVENTS: &str = "acp-events";
const RULES: &str = "rules";
const DEVIN: &str = "devin-cli";

/// Names that the program had.
const PROGRAMS: [&str; 3] = ["Windsurf", "Windsurf - Next", "Devin"];
/// Folders of programs' settings below the home, on Linux, macOS and Windows.
const SETTINGS: [&str; 3] = [".config", "Library/Application Support", "AppData/Roaming"];
/// Folders with a folder of conversations.
const CASCADES: [&str; 3] = [".codeium/windsurf", ".codeium/windsurf-next", ".codeium"];
/// The name of the editor's databases.
const DATABASE: &str = "state.vscdb";
/// Folders below a project that are looked into for rules.
const RULES_DEPTH: usize = 2;

/// The agent.
pub struct Windsurf;

static ABOUT: About = About {
    id: AGENT,
    title: "Windsurf",
    paths: &[
        "~/.codeium/windsurf/cascade",
        "~/.config/Windsurf/User",
        "<project>/.windsurfrules",
        "<project>/.windsurf/rules",
    ],
    environment: &["XDG_CONFIG_HOME"],
    versions: "chat tabs of 2024 and 2025; conversations are encrypted",
    rests_on: RestsOn::OtherTools,
    records: Records {
        tool_calls: Grain::Absent,
        tokens: Grain::Absent,
        cost: Grain::Absent,
        durations: Grain::Absent,
        ..Records::EXACT
    },
    parser_version: 3,
    ..About::NEW
};

impl Agent for Windsurf {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn discover(&self, places: &Places, found: &mut Found) {
        for folder in CASCADES {
            let folder = places.home.join(folder);
            add_files(&folder.join("cascade"), 0, &|entry: &Entry| kind_of(&entry.path), found);
            add_files(&folder.join("memories"), 0, &|entry: &Entry| kind_of(&entry.path), found);
        }
        for user in users(places) {
            for workspace in folders(&user.join("workspaceStorage"), found) {
                add(workspace.join(DATABASE), found);
            }
            add(user.join("globalStorage").join(DATABASE), found);
            add_files(&user.join("acp-events"), 0, &|entry: &Entry| kind_of(&entry.path), found);
        }
        add(places.home.join(".local/share/devin/cli/sessions.db"), found);
        for root in &places.project_roots {
            add_rules(root, RULES_DEPTH, found);
        }
    }

    fn discover_in_projects(&self, projects: &[PathBuf], found: &mut Found) {
        for folder in with_folders_above(projects) {
            add(folder.join(".windsurfrules"), found);
            add_rules_of(folder, found);
        }
    }

    fn claims(&self, path: &Path) -> Option<&'static str> {
        kind_of(path)
    }

    fn companions(&self, path: &Path) -> Vec<PathBuf> {
        let is_of_workspace = kind_of(path) == Some(STORE) && !is_of_all(path);
        is_of_workspace.then(|| path.with_file_name(WORKSPACE)).into_iter().collect()
    }

    fn extract(&self, source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        match source.kind {
            CASCADE => cascade::extract(source, out),
            STORE if is_of_all(source.path) => rest::count_summaries(source, out),
            STORE => chat::extract(source, out),
            DEVIN => {
                out.remark("the sessions of Devin CLI, another program, are not read");
                Ok(())
            }
            _ => rest::count_lines(source, out),
        }
    }
}

/// The folders of the editor's users.
fn users(places: &Places) -> Vec<PathBuf> {
    let mut settings: Vec<PathBuf> = SETTINGS.iter().map(|folder| places.home.join(folder)).collect();
    settings.extend(places.environment("XDG_CONFIG_HOME").map(PathBuf::from));
    settings.sort();
    settings.dedup();
    settings.iter().flat_map(|folder| PROGRAMS.map(|program| folder.join(program).join("User"))).collect()
}

fn add(path: PathBuf, found: &mut Found) {
    if let Some(kind) = kind_of(&path) {
        found.add_file(path, kind);
    }
}

/// Returns the kind of a file, by its name and folder.
fn kind_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let parts: Vec<&str> = path.parent()?.components().filter_map(|part| part.as_os_str().to_str()).collect();
    let lies_in = |folder: &str| parts.contains(&folder);
    let is_program = || parts.windows(2).any(|pair| matches!(pair, [program, "User"] if PROGRAMS.contains(program)));
    match (parts.as_slice(), name) {
        ([.., "cascade"], name) if lies_in(".codeium") => has_extension(name, "pb").then_some(CASCADE),
        ([.., "memories"], "global_rules.md") if lies_in(".codeium") => Some(RULES),
        ([.., ".windsurf", "rules"], name) => has_extension(name, "md").then_some(RULES),
        (_, ".windsurfrules") => Some(RULES),
        ([.., "workspaceStorage", _], DATABASE) if is_program() => Some(STORE),
        ([.., "globalStorage"], DATABASE) if is_program() => Some(STORE),
        ([.., "acp-events"], name) if is_program() => has_extension(name, "ndjson").then_some(EVENTS),
        ([.., "devin", "cli"], "sessions.db") => Some(DEVIN),
        _ => None,
    }
}

/// Returns true if a database is that of all workspaces.
fn is_of_all(path: &Path) -> bool {
    path.parent().and_then(Path::file_name).is_some_and(|name| name == "globalStorage")
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, own)| own == extension && !stem.is_empty())
}

/// Adds the rules that lie in a project's own folder of them.
fn add_rules_of(project: &Path, found: &mut Found) {
    add_files(&project.join(".windsurf/rules"), 0, &|entry: &Entry| kind_of(&entry.path), found);
}

/// Adds the rules of projects.
fn add_rules(folder: &Path, depth: usize, found: &mut Found) {
    for entry in entries(folder, found) {
        let Some(name) = entry.name() else { continue };
        if !entry.is_folder {
            if let Some(kind) = kind_of(&entry.path).filter(|kind| *kind == RULES) {
                found.add(entry.path, kind);
            }
        } else if name == ".windsurf" {
            add_rules_of(folder, found);
        } else if depth > 0 && !name.starts_with('.') && !matches!(name, "node_modules" | "target" | "Library") {
            add_rules(&entry.path, depth - 1, found);
        }
    }
}
