//! Lists folders and reads the first bytes of files, for agents that look for their sources.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Found;
use crate::interrupt::interrupted;
use crate::source::{name_of, text_of};

/// An entry of a folder.
pub(super) struct Entry {
    pub(super) path: PathBuf,
    /// True if it is a folder, or a link to one.
    pub(super) is_folder: bool,
    /// Its name in ASCII, where it is no UTF-8.
    ascii_name: Option<String>,
}

impl Entry {
    fn new(path: PathBuf, is_folder: bool) -> Self {
        let odd = path.file_name().filter(|name| name.to_str().is_none());
        Self { ascii_name: odd.map(|name| text_of(name).into_owned()), path, is_folder }
    }

    /// Returns the target of a link, or `None` if it is a folder that was visited before. A link to nowhere is a file
    /// that cannot be read.
    fn at_target(link: PathBuf, found: &mut Found) -> Option<Self> {
        let is_folder = link.is_dir();
        (!is_folder || found.follows(&link)).then(|| Self::new(link, is_folder))
    }

    /// The same by its path as a text, where that is another.
    fn with_text_path(&self) -> Option<Self> {
        let is_text = self.path.to_str().is_some();
        (!is_text).then(|| Self::new(name_of(&self.path).into_owned().into(), self.is_folder))
    }

    /// Its name; what is no UTF-8 in it is written in ASCII.
    pub(super) fn name(&self) -> Option<&str> {
        self.ascii_name.as_deref().or_else(|| self.path.file_name()?.to_str())
    }
}

/// Returns the entries of a folder, in no order. A missing folder has none; one that cannot be listed is a problem.
pub(super) fn entries(path: &Path, found: &mut Found) -> Vec<Entry> {
    let listing = match std::fs::read_dir(path) {
        Ok(listing) => listing,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            found.problems.push((path.to_owned(), error.to_string()));
            return Vec::new();
        }
    };
    let (mut entries, mut links) = (Vec::new(), Vec::new());
    // A run that is interrupted ends before it looks at what was found.
    for entry in listing.filter_map(Result::ok).take_while(|_| !interrupted()) {
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => links.push(entry.path()),
            kind => entries.push(Entry::new(entry.path(), kind.is_ok_and(|kind| kind.is_dir()))),
        }
    }
    // Of two links to one folder, the same one is followed each time.
    links.sort_unstable();
    entries.extend(links.into_iter().filter_map(|link| Entry::at_target(link, found)));
    entries
}

/// The folders in a folder; as [`entries`].
pub(super) fn folders(path: &Path, found: &mut Found) -> Vec<PathBuf> {
    entries(path, found).into_iter().filter(|entry| entry.is_folder).map(|entry| entry.path).collect()
}

/// True if the path leads through a folder of that name.
pub(super) fn lies_in(path: &Path, folder: &str) -> bool {
    path.components().any(|part| part.as_os_str() == folder)
}

/// Folders and all above them, each once.
pub(super) fn with_folders_above(folders: &[PathBuf]) -> BTreeSet<&Path> {
    folders.iter().flat_map(|folder| folder.ancestors()).collect()
}

/// Levels of folders below a given one to search for projects.
const PROJECT_DEPTH: usize = 3;
/// Folders that hold no projects.
const PASSED_OVER: [&str; 4] = ["node_modules", "target", "Library", "AppData"];

/// Visits a folder and the folders below it that may be projects. Folders that cannot be listed are ignored.
pub(super) fn each_project(root: &Path, visit: &mut impl FnMut(&Path)) {
    visit_projects(root, PROJECT_DEPTH, visit);
}

fn visit_projects(folder: &Path, depth: usize, visit: &mut impl FnMut(&Path)) {
    visit(folder);
    if depth == 0 {
        return;
    }
    for entry in entries(folder, &mut Found::default()) {
        let is_project = entry.name().is_some_and(|name| !name.starts_with('.') && !PASSED_OVER.contains(&name));
        if entry.is_folder && is_project {
            visit_projects(&entry.path, depth - 1, visit);
        }
    }
}

/// Adds the files below a folder that are sources by their names, down to a depth of folders.
pub(super) fn add_files(
    folder: &Path,
    depth: usize,
    kind_of: &impl Fn(&Entry) -> Option<&'static str>,
    found: &mut Found,
) {
    for entry in entries(folder, found) {
        if entry.is_folder {
            if depth > 0 {
                add_files(&entry.path, depth - 1, kind_of, found);
            }
        } else if let Some(kind) = kind_of(entry.with_text_path().as_ref().unwrap_or(&entry)) {
            found.add(entry.path, kind);
        }
    }
}

/// The earliest moment that stands under a key in the first bytes of a source: ISO 8601 or a number since 1970.
/// Microseconds since 1970.
pub(super) fn first_moment(head: &[u8], key: &str) -> Option<i64> {
    let mark = format!("\"{key}\":");
    let places = memchr::memmem::find_iter(head, mark.as_bytes());
    places.filter_map(|place| moment_at(head.get(place + mark.len()..)?.get(..48)?)).min()
}

fn moment_at(value: &[u8]) -> Option<i64> {
    let value = std::str::from_utf8(value).ok()?.trim_start();
    match value.strip_prefix('"') {
        Some(text) => crate::time::parse_iso(text.split('"').next()?),
        None => crate::time::from_epoch(value.split([',', '}']).next()?.trim().parse().ok()?),
    }
}
