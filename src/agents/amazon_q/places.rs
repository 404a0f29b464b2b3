//! Finds the programs' databases, and recognizes saved conversations by their names.

use std::path::{Path, PathBuf};

use crate::agents::folders::{Entry, entries, with_folders_above};
use crate::agents::{Found, Places};

/// Folders of programs' data below the home, on Linux, macOS and Windows.
const DATA: [&str; 4] = [".local/share", "Library/Application Support", "AppData/Local", "AppData/Roaming"];

/// The name of the database.
const DATABASE: &str = "data.sqlite3";

/// Levels of folders below a project to search for saved conversations.
const SAVE_DEPTH: usize = 2;

/// Kinds of sources.
pub(in crate::agents) const STORE: &str = "database";
pub(in crate::agents) const SAVE: &str = "save";

/// Adds the database of a program.
pub(in crate::agents) fn add_store(program: &str, places: &Places, found: &mut Found) {
    let mut folders: Vec<PathBuf> = DATA.iter().map(|folder| places.home.join(folder)).collect();
    folders.extend(places.environment("XDG_DATA_HOME").map(PathBuf::from));
    folders.sort();
    folders.dedup();
    for database in folders.iter().map(|folder| folder.join(program).join(DATABASE)).filter(|path| path.is_file()) {
        found.add(database, STORE);
    }
}

/// Returns true if a path is that of a program's database.
pub(in crate::agents) fn is_store(program: &str, path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name);
    path.file_name().is_some_and(|name| name == DATABASE) && folder.is_some_and(|folder| folder == program)
}

/// Adds the files in projects whose names suggest a saved conversation.
pub(in crate::agents) fn add_saves(words: &[&str], places: &Places, found: &mut Found) {
    for root in &places.project_roots {
        add_saves_below(root, SAVE_DEPTH, words, found);
    }
}

/// Adds conversations saved in the projects that other agents' sessions name, and above them. Ignores folders that may
/// not be listed.
pub(in crate::agents) fn add_saves_in(words: &[&str], projects: &[PathBuf], found: &mut Found) {
    for folder in with_folders_above(projects) {
        let files = entries(folder, &mut Found::default()).into_iter().filter(|entry| !entry.is_folder);
        for save in files.filter(|file| is_save(words, &file.path)) {
            found.add(save.path, SAVE);
        }
    }
}

fn add_saves_below(folder: &Path, depth: usize, words: &[&str], found: &mut Found) {
    let is_passed_over = |entry: &Entry| {
        entry.name().is_none_or(|name| name.starts_with('.') || matches!(name, "node_modules" | "target" | "Library"))
    };
    for entry in entries(folder, found) {
        if entry.is_folder {
            if depth > 0 && !is_passed_over(&entry) {
                add_saves_below(&entry.path, depth - 1, words, found);
            }
        } else if is_save(words, &entry.path) {
            found.add(entry.path, SAVE);
        }
    }
}

/// Returns true if a person may have saved a conversation under a file's name. The program accepts any name.
pub(in crate::agents) fn is_save(words: &[&str], path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).map(str::to_ascii_lowercase);
    name.is_some_and(|name| name.strip_suffix(".json").is_some_and(|stem| words.iter().any(|word| stem.contains(word))))
}
