//! Chat histories lie in projects, wherever those are: the folders that may hold projects are looked through.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{ANALYTICS, CHAT, INPUTS};
use crate::agents::folders::with_folders_above;
use crate::agents::{Found, Places};

/// Folders below a root that are looked into.
const DEPTH: usize = 6;
/// Folders that are looked into in all, the ones nearest to the roots first.
const MAX_FOLDERS: usize = 100_000;

/// Folders that hold what was downloaded or built, never a project.
const SKIPPED: [&str; 3] = ["node_modules", ".git", "target"];
/// Folders of downloaded files. They hold no projects, and so many folders that the search would end before it reached
/// the projects.
const CACHES: [&str; 7] = [".cache", "Caches", ".cargo", ".rustup", ".npm", ".gradle", ".m2"];

/// Finds what lies below the roots.
pub(super) fn discover(places: &Places, found: &mut Found) {
    let mut seen: HashSet<PathBuf> = found.sources.iter().map(|source| source.path.clone()).collect();
    let mut add = |path: PathBuf, kind: &'static str| {
        if seen.insert(path.clone()) {
            found.add(path, kind);
        }
    };
    let mut folders: VecDeque<(PathBuf, usize)> = places.project_roots.iter().map(|root| (root.clone(), 0)).collect();
    let mut looked_into = 0;
    while let Some((folder, depth)) = folders.pop_front() {
        looked_into += 1;
        if looked_into > MAX_FOLDERS {
            break;
        }
        look_into(&folder, &mut add, |below| {
            if depth < DEPTH {
                folders.push_back((below, depth + 1));
            }
        });
    }
    if looked_into > MAX_FOLDERS {
        let problem = format!("more than {MAX_FOLDERS} folders; name those of your projects in project_roots");
        let root = places.project_roots.first().cloned().unwrap_or_default();
        found.problems.push((root, problem));
    }
}

/// Finds what lies in the projects that other agents' sessions name, and above them.
pub(super) fn discover_in(projects: &[PathBuf], found: &mut Found) {
    for folder in with_folders_above(projects) {
        look_for(folder, found);
    }
}

/// Adds a folder's own files, and tells the folders below it. Others' folders, which may not be listed, hold nothing.
fn look_into(folder: &Path, add: &mut impl FnMut(PathBuf, &'static str), mut below: impl FnMut(PathBuf)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if may_hold_projects(&name) {
                below(entry.path());
            }
        } else if let Some(kind) = kind_of(&name) {
            let path = entry.path();
            if path.is_file() {
                add(path, kind);
            }
        }
    }
}

/// Adds the files of a folder that is a project, or holds one, without listing it.
fn look_for(folder: &Path, found: &mut Found) {
    for name in [CHAT, INPUTS] {
        let path = folder.join(name);
        if let Some(kind) = kind_of(OsStr::new(name)).filter(|_| path.is_file()) {
            found.add(path, kind);
        }
    }
}

fn may_hold_projects(name: &OsStr) -> bool {
    !SKIPPED.iter().chain(&CACHES).any(|skipped| *skipped == name)
}

fn kind_of(name: &OsStr) -> Option<&'static str> {
    match name.to_str()? {
        CHAT => Some("chat"),
        INPUTS => Some("prompts"),
        // Any program may call its log `analytics.jsonl`.
        name if name.contains("aider") && ANALYTICS.contains(&name) => Some("analytics"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projects_are_not_looked_for_in_what_was_downloaded_or_built() {
        for name in ["node_modules", ".git", "target", ".cache", "Caches"] {
            assert!(!may_hold_projects(OsStr::new(name)), "{name}");
        }
        for name in ["build", "dist", "env", ".config", ".dotfiles", "snap"] {
            assert!(may_hold_projects(OsStr::new(name)), "{name}");
        }
    }
}
