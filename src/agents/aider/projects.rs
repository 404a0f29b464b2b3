//! Finds chat histories, which lie in projects: searches the folders that may hold projects.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{ANALYTICS, CHAT, INPUTS};
use crate::agents::folders::with_folders_above;
use crate::agents::{Found, Places, USUAL_DEPTH};

/// Levels of folders below a root to search.
const DEPTH: usize = 6;
/// Most folders to search in all, those nearest to the roots first.
const MAX_FOLDERS: usize = 100_000;
/// Most folders to search below roots that nothing names, and the longest time for it.
const MAX_USUAL: (usize, Duration) = (20_000, Duration::from_secs(2));

/// Folders of downloaded or built files, which never hold a project.
const SKIPPED: [&str; 3] = ["node_modules", ".git", "target"];
/// Folders of downloaded files. They hold no projects, and so many folders that the search would end before it reached
/// the projects.
const CACHES: [&str; 7] = [".cache", "Caches", ".cargo", ".rustup", ".npm", ".gradle", ".m2"];

/// Finds the sources below the roots.
pub(super) fn discover(places: &Places, found: &mut Found) {
    let mut seen: HashSet<PathBuf> = found.sources.iter().map(|source| source.path.clone()).collect();
    let mut add = |path: PathBuf, kind: &'static str| {
        if seen.insert(path.clone()) {
            found.add(path, kind);
        }
    };
    let mut folders: VecDeque<(PathBuf, usize)> = places.project_roots.iter().map(|root| (root.clone(), 0)).collect();
    let (mut looked_into, began) = (0, Instant::now());
    let is_usual = places.has_usual_roots;
    let deepest = if is_usual { USUAL_DEPTH } else { DEPTH };
    while let Some((folder, depth)) = folders.pop_front() {
        looked_into += 1;
        let is_over = is_usual && (looked_into > MAX_USUAL.0 || began.elapsed() > MAX_USUAL.1);
        if looked_into > MAX_FOLDERS || is_over {
            break;
        }
        look_into(&folder, &mut add, |below| {
            if depth < deepest {
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

/// Finds the sources in the projects that other agents' sessions name, and in the folders above them.
pub(super) fn discover_in(projects: &[PathBuf], found: &mut Found) {
    for folder in with_folders_above(projects) {
        look_for(folder, found);
    }
}

/// Adds a folder's own files, and passes on the folders below it. Skips folders that may not be listed.
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

/// Adds the files of a folder that is or holds a project, without listing it.
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

    #[cfg(unix)]
    #[test]
    #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
    fn the_usual_folders_are_searched_if_none_is_named() {
        let bench = tempfile::tempdir().unwrap();
        let home = bench.path().join("home");
        let write = |folder: PathBuf| {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(CHAT), "").unwrap();
        };
        for folder in ["code/one", "work/a/b/c/d", "work/a/b/c/d/too-deep", "Documents/unusual"] {
            write(home.join(folder));
        }
        write(bench.path().join("elsewhere/out"));
        std::os::unix::fs::symlink(bench.path().join("elsewhere"), home.join("src")).unwrap();
        let found = |roots: Vec<PathBuf>| {
            let mut found = Found::default();
            discover(&Places::of_user(home.clone(), roots), &mut found);
            let folders = found.sources.iter().map(|source| source.path.parent().unwrap());
            let mut folders: Vec<PathBuf> = folders.map(|it| it.strip_prefix(&home).unwrap_or(it).to_owned()).collect();
            folders.sort();
            folders
        };
        assert_eq!(found(Vec::new()), [PathBuf::from("code/one"), PathBuf::from("work/a/b/c/d")]);
        assert_eq!(found(vec![home.join("Documents")]), [PathBuf::from("Documents/unusual")]);
    }

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
