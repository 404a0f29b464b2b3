//! Finds the extensions' files: in every editor that is built like VS Code, on its servers, and below `~/.cline`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::companion::{ITEM, METADATA, TASKS, index_beside};
use super::dialect::{CLINE, Dialect, KILO_CODE, ROO_CODE, Signs};
use super::task::{HISTORY, SHOWN};
use super::{INDEX, SESSION, SUBAGENT, TASK};
use crate::agents::editor_settings::text_setting;
use crate::agents::editors::users;
use crate::agents::folders::{entries, folders, lies_in};
use crate::agents::{Found, Places};

/// Adds the tasks and sessions of an extension.
pub(in crate::agents) fn discover(dialect: &Dialect, places: &Places, found: &mut Found) {
    for storage in storages(dialect, places, found) {
        add_tasks_of(&storage, found);
        if dialect.is_cline() {
            add_sessions(&storage.join("sessions"), found);
        }
    }
}

/// Adds the tasks of extensions that are not known by name and write the same files.
pub(super) fn discover_forks(places: &Places, found: &mut Found) {
    // The search for the known extensions has already reported folders that cannot be listed.
    for user in users(places, &mut Found::default()) {
        for storage in folders(&user.join("globalStorage"), found) {
            if fork_of(&storage.join("tasks")).is_some() && has_tasks(&storage) {
                add_tasks_of(&storage, found);
            }
        }
    }
}

fn has_tasks(storage: &Path) -> bool {
    let is_task = |task: &PathBuf| SHOWN.iter().chain([&HISTORY]).any(|name| task.join(name).is_file());
    folders(&storage.join("tasks"), &mut Found::default()).iter().any(is_task)
}

/// Returns folders that hold `tasks`, in every editor.
fn storages(dialect: &Dialect, places: &Places, found: &mut Found) -> Vec<PathBuf> {
    let home = &places.home;
    let users = users(places, found);
    let mut custom = BTreeSet::new();
    if let Some(key) = dialect.storage_setting {
        let settings = users.iter().flat_map(|user| settings_of(user));
        let named = settings.filter_map(|settings| text_setting(&settings, key)).map(PathBuf::from);
        custom.extend(named.filter(|folder| places.includes(folder)));
    }
    let of_extensions = users
        .iter()
        .flat_map(|user| dialect.extensions.iter().map(|extension| user.join("globalStorage").join(extension)));
    let mut storages: Vec<PathBuf> = of_extensions.filter(|storage| storage.is_dir()).collect();
    storages.extend(dialect.storages.iter().map(|storage| home.join(storage)));
    custom.retain(|folder| !storages.contains(folder));
    storages.extend(custom);
    storages
}

/// Returns the settings files for an editor's `User` folder: the user's, each profile's, and on a server the machine's.
fn settings_of(user: &Path) -> Vec<PathBuf> {
    let profiles = folders(&user.join("profiles"), &mut Found::default());
    let of_folders = [user.to_owned(), user.with_file_name("Machine")].into_iter().chain(profiles);
    of_folders.map(|folder| folder.join("settings.json")).collect()
}

/// Adds the content of one of Cline's storages: tasks, their index, sessions.
pub(super) fn add_storage(storage: &Path, found: &mut Found) {
    add_tasks_of(storage, found);
    add_sessions(&storage.join("sessions"), found);
}

fn add_tasks_of(storage: &Path, found: &mut Found) {
    add_tasks(&storage.join("tasks"), found);
    found.add_file(storage.join(TASKS), INDEX);
}

fn add_tasks(tasks: &Path, found: &mut Found) {
    for entry in entries(tasks, found) {
        if entry.is_folder {
            let names = SHOWN.iter().chain([&HISTORY, &METADATA]);
            let main = names.map(|name| entry.path.join(name)).find(|path| path.is_file());
            if let Some(main) = main {
                found.add(main, TASK);
            }
        } else if entry.name() == Some("_index.json") {
            found.add(entry.path, INDEX);
        }
    }
}

/// Adds the sessions of Cline's SDK.
pub(super) fn add_sessions(sessions: &Path, found: &mut Found) {
    for session in folders(sessions, found) {
        for entry in entries(&session, found) {
            let kind = entry.name().and_then(|name| session_kind(&session, name));
            if let Some(kind) = kind {
                found.add(entry.path, kind);
            }
        }
    }
}

/// Returns the kind of a file in the folder of a session.
fn session_kind(folder: &Path, name: &str) -> Option<&'static str> {
    let agent = name.strip_suffix(".messages.json")?;
    let is_lead = folder.file_name().is_some_and(|session| session == agent);
    Some(if is_lead { SESSION } else { SUBAGENT })
}

/// Returns the kind of a file if it is the extension's, by its path.
pub(in crate::agents) fn claims(dialect: &Dialect, path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?;
    let kind = match name {
        "taskHistory.json" | "_index.json" => INDEX,
        HISTORY if SHOWN.iter().any(|shown| folder.join(shown).is_file()) => return None,
        METADATA if SHOWN.iter().chain([&HISTORY]).any(|main| folder.join(main).is_file()) => return None,
        HISTORY | METADATA => TASK,
        name if SHOWN.contains(&name) => TASK,
        name => session_kind(folder, name).filter(|_| dialect.is_cline())?,
    };
    let is_extensions = |id: &str| path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(id));
    let is_stored = |storage: &&str| {
        let parts: Vec<_> = Path::new(storage).iter().collect();
        let all: Vec<_> = path.iter().collect();
        all.windows(parts.len()).any(|window| window == parts)
    };
    let is_ours = dialect.extensions.iter().any(|id| is_extensions(id)) || dialect.storages.iter().any(is_stored);
    let is_nameless = || dialect.takes_nameless && (kind != INDEX || fork_of(path).is_some());
    // A storage in an editor has the name of the extension that wrote the file.
    let is_signed = || kind == TASK && !lies_in(path, "globalStorage") && shows_signs(dialect, path, folder);
    (is_ours || is_nameless() || is_signed()).then_some(kind)
}

/// Bytes of a task to search for a sign of its extension.
const SIGNED_WITHIN: u64 = 256 << 10;

/// Returns true if a task has a sign that only this extension's tasks have.
fn shows_signs(dialect: &Dialect, path: &Path, folder: &Path) -> bool {
    let Signs { files, words } = dialect.signs;
    if files.is_empty() && words.is_empty() {
        return false;
    }
    let has_file = files.iter().any(|name| folder.join(name).is_file());
    let head = || crate::source::head(path, SIGNED_WITHIN).unwrap_or_default();
    has_file || words.iter().any(|word| memchr::memmem::find(&head(), word.as_bytes()).is_some())
}

/// Returns the extension whose storage a path leads through, if it is not known by name.
fn fork_of(path: &Path) -> Option<&str> {
    let mut parts = path.iter().skip_while(|part| *part != "globalStorage");
    let extension = parts.nth(1)?.to_str().filter(|_| parts.next().is_some())?;
    let dialects = [&CLINE, &ROO_CODE, &KILO_CODE];
    let mut known = dialects.iter().flat_map(|dialect| dialect.extensions);
    (!known.any(|id| extension.eq_ignore_ascii_case(id))).then_some(extension)
}

/// Returns true if a source is of an extension that is not known by name and derives from Roo Code or Kilo Code.
pub(super) fn is_of_roos_kind(path: &Path) -> bool {
    let (Some(_), Some(folder)) = (fork_of(path), path.parent()) else { return false };
    let is_index = path.file_name().is_some_and(|name| name == "_index.json");
    is_index || [&ROO_CODE, &KILO_CODE].iter().any(|dialect| shows_signs(dialect, path, folder))
}

/// Returns the files that are read together with a task or session.
pub(in crate::agents) fn companions(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Vec::new();
    };
    if name.ends_with(".messages.json") {
        let manifest = folder.file_name().and_then(|session| session.to_str());
        return manifest.map(|session| folder.join(format!("{session}.json"))).into_iter().collect();
    }
    if matches!(name, "taskHistory.json" | "_index.json") {
        return Vec::new();
    }
    let beside = [HISTORY, METADATA, ITEM].into_iter().filter(|beside| *beside != name);
    beside.map(|beside| folder.join(beside)).chain(index_beside(folder)).collect()
}
