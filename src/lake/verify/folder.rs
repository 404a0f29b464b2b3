//! Checks the lake's folder: data files that are not in the manifest, and modes that are too wide.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::Path;

use walkdir::WalkDir;

use crate::lake::layout::Layout;

/// Most files and folders with too wide a mode that are listed one by one; a copied lake has only such files.
const NAMED: usize = 10;

pub(super) fn problems(layout: &Layout, known: &BTreeSet<String>) -> Vec<String> {
    let mut problems = Vec::new();
    let mut wide = Vec::new();
    for entry in WalkDir::new(layout.root()).sort_by_file_name() {
        let entry = match entry {
            Ok(entry) => entry,
            // A file that a run removes meanwhile is no problem.
            Err(error) if error.io_error().is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound) => {
                continue;
            }
            Err(error) => {
                problems.push(format!("cannot look into the lake: {error}"));
                continue;
            }
        };
        let path = relative(entry.path(), layout.root());
        // The next run deletes what an interrupted run left in the staging folder.
        let is_staged = entry.path().starts_with(layout.staging());
        if path.ends_with(".parquet") && !is_staged && !known.contains(&path) {
            problems.push(format!("`{path}` is not in the manifest, but every reader takes it for data"));
        }
        wide.extend(entry.metadata().ok().and_then(|metadata| wide_mode(&path, &metadata)));
    }
    let left = wide.len().saturating_sub(NAMED);
    problems.extend(wide.into_iter().take(NAMED));
    if left > 0 {
        problems.push(format!("{left} more files and folders are open to others than their owner"));
    }
    problems
}

fn relative(path: &Path, root: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    if path.is_empty() { ".".to_owned() } else { path.replace('\\', "/") }
}

#[cfg(unix)]
fn wide_mode(path: &str, metadata: &Metadata) -> Option<String> {
    let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777;
    let widest = if metadata.is_dir() { 0o700 } else { 0o600 };
    let is_wide = !metadata.is_symlink() && mode & !widest != 0;
    is_wide.then(|| format!("`{path}` has mode {mode:04o}, and should have {widest:04o} at most"))
}

#[cfg(not(unix))]
fn wide_mode(_path: &str, _metadata: &Metadata) -> Option<String> {
    None
}
