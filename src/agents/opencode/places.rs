//! Finds OpenCode's files of a session, and classifies files by their path.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::program::Program;
use super::{DATABASE, FIRST_SESSION, SESSION, STRAY};
use crate::agents::folders::{each_project, entries, folders};
use crate::agents::{Found, Places};

/// The folders that a session's files lie in.
pub(super) struct Folders {
    pub(super) session: String,
    /// Holds a file for each message.
    pub(super) messages: PathBuf,
    /// Holds a folder for each message, with a file for each part.
    pub(super) parts: PathBuf,
    /// Holds the files of the sessions of the same project.
    pub(super) sessions: Option<PathBuf>,
    /// Holds a file for each project; none before 2025-06.
    pub(super) projects: Option<PathBuf>,
}

impl Folders {
    /// The folders of a source of that kind.
    pub(super) fn of(path: &Path, kind: &str) -> Option<Self> {
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        let stem = || path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
        let ancestor = |nth: usize| path.ancestors().nth(nth);
        let folder = ancestor(1)?;
        match kind {
            SESSION => {
                let (session, storage) = (stem()?, ancestor(3)?);
                Some(Self {
                    messages: storage.join("message").join(&session),
                    parts: storage.join("part"),
                    sessions: Some(folder.to_owned()),
                    projects: Some(storage.join("project")),
                    session,
                })
            }
            FIRST_SESSION => {
                let (session, storage) = (stem()?, ancestor(2)?);
                Some(Self {
                    messages: storage.join("message").join(&session),
                    parts: storage.join("part").join(&session),
                    sessions: Some(folder.to_owned()),
                    projects: None,
                    session,
                })
            }
            _ => {
                let (session, storage) = (name(folder)?, ancestor(3)?);
                let parts = storage.join("part");
                let is_first = name(storage)? == "session";
                Some(Self {
                    parts: if is_first { parts.join(&session) } else { parts },
                    messages: folder.to_owned(),
                    sessions: None,
                    projects: None,
                    session,
                })
            }
        }
    }

    /// Returns the paths whose change means that the session has changed: its messages, the folders of their parts, and
    /// the last message's parts.
    pub(super) fn companions(&self) -> Vec<PathBuf> {
        let mut companions = vec![self.messages.clone()];
        let messages = records(&self.messages);
        let last = messages.last().map(|(name, _)| self.parts.join(name));
        for (name, path) in messages {
            companions.push(self.parts.join(name));
            companions.push(path);
        }
        companions.extend(last.iter().flat_map(|last| records(last)).map(|(_, path)| path));
        companions
    }
}

/// The records in a folder, by name. What is being written (`.oc-….tmp`) is none.
pub(super) fn records(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = entries(folder, &mut Found::default()).into_iter();
    let mut records: Vec<_> = entries
        .filter(|entry| !entry.is_folder)
        .filter_map(|entry| Some((entry.name()?.strip_suffix(".json")?.to_owned(), entry.path)))
        .collect();
    records.sort();
    records
}

/// Returns the kind of a file of a program, by its path and name. A program other than the first has its files in a
/// folder of its name.
pub(super) fn kind_of(program: &Program, path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let lies_in_folder = |nth: usize| {
        program.is_first()
            || path.ancestors().nth(nth).and_then(Path::file_name).is_some_and(|name| name == program.name)
    };
    if program.names(name) || (program.keeps(name) && lies_in_folder(1)) {
        return Some(DATABASE);
    }
    let kind = kind_in_folders(path, name)?;
    lies_in_folder(if kind == FIRST_SESSION { 6 } else { 4 }).then_some(kind)
}

fn kind_in_folders(path: &Path, name: &str) -> Option<&'static str> {
    name.strip_suffix(".json").filter(|stem| !stem.starts_with('.'))?;
    let mut folders = path.ancestors().skip(1).map(|folder| folder.file_name().and_then(|name| name.to_str()));
    match [folders.next()??, folders.next()??, folders.next()??] {
        ["info", "session", "storage"] => Some(FIRST_SESSION),
        ["message" | "part" | "share", "session", "storage"] => None,
        [_, "session", "storage"] => Some(SESSION),
        [_, "message", "storage" | "session"] => is_stray(path).then_some(STRAY),
        _ => None,
    }
}

/// Returns true if a message is the first of a session whose own file is gone.
fn is_stray(path: &Path) -> bool {
    let Some(folders_of) = Folders::of(path, STRAY) else { return false };
    let is_first = || records(&folders_of.messages).first().is_some_and(|(_, first)| first == path);
    let Some(storage) = path.ancestors().nth(3) else { return false };
    let is_old = storage.file_name().is_some_and(|name| name == "session");
    let file = format!("{}.json", folders_of.session);
    let projects =
        if is_old { vec![storage.join("info")] } else { folders(&storage.join("session"), &mut Found::default()) };
    !projects.iter().any(|project| project.join(&file).is_file()) && is_first()
}

/// The data folders: what the environment names, or the usual ones.
pub(super) fn roots(program: &Program, places: &Places) -> Vec<PathBuf> {
    if let Some(folder) = program.folder_variable.and_then(|variable| places.environment(variable)) {
        return vec![PathBuf::from(folder)];
    }
    let data = places.environment("XDG_DATA_HOME").map_or_else(|| places.home.join(".local/share"), PathBuf::from);
    let others = ["Library/Application Support", "AppData/Local"];
    let mut roots = vec![data.join(program.name)];
    roots.extend(others.iter().map(|folder| places.home.join(folder).join(program.name)));
    roots
}

/// Adds the sources in a data folder.
pub(super) fn discover(program: &Program, root: &Path, found: &mut Found) {
    for entry in entries(root, found) {
        if !entry.is_folder && entry.name().is_some_and(|name| program.keeps(name)) {
            found.add(entry.path, DATABASE);
        }
    }
    let storage = root.join("storage");
    let mut sessions = HashSet::new();
    for project in folders(&storage.join("session"), found) {
        add_sessions(&project, SESSION, &mut sessions, found);
    }
    add_strays(&storage.join("message"), &sessions, found);
    for project in folders(&root.join("project"), found) {
        let storage = project.join("storage/session");
        let mut sessions = HashSet::new();
        add_sessions(&storage.join("info"), FIRST_SESSION, &mut sessions, found);
        add_strays(&storage.join("message"), &sessions, found);
    }
}

fn add_sessions(folder: &Path, kind: &'static str, sessions: &mut HashSet<String>, found: &mut Found) {
    for entry in entries(folder, found) {
        let stem = entry.name().and_then(|name| name.strip_suffix(".json"));
        if let Some(stem) = stem.filter(|stem| !entry.is_folder && !stem.starts_with('.')) {
            sessions.insert(stem.to_owned());
            found.add(entry.path, kind);
        }
    }
}

/// Adds the first message of each session whose own file is not there.
fn add_strays(folder: &Path, sessions: &HashSet<String>, found: &mut Found) {
    for session in folders(folder, found) {
        let is_known = session.file_name().and_then(|name| name.to_str()).is_some_and(|name| sessions.contains(name));
        if !is_known && let Some((_, first)) = records(&session).into_iter().next() {
            found.add(first, STRAY);
        }
    }
}

/// Adds the database that the environment names, where it is none of those in the data folders.
pub(super) fn discover_named(program: &Program, places: &Places, roots: &[PathBuf], found: &mut Found) {
    let Some(name) = places.environment(program.database_variable).filter(|name| name != ":memory:") else { return };
    let path = roots.first().map_or_else(|| PathBuf::from(&name), |root| root.join(&name));
    if path.is_file() && !found.sources.iter().any(|source| source.path == path) {
        found.add(path, DATABASE);
    }
}

/// Adds the databases that the Go program kept in its projects.
pub(super) fn discover_projects(root: &Path, found: &mut Found) {
    each_project(root, &mut |project| add_go(project, found));
}

/// Adds the database that the Go program kept in a project.
pub(super) fn add_go(project: &Path, found: &mut Found) {
    let database = project.join(".opencode/opencode.db");
    if database.is_file() {
        found.add(database, DATABASE);
    }
}
