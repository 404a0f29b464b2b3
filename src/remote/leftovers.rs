//! Leftovers of killed uploads to a folder: a file is written as its name, `#` and a number, and then renamed. The
//! store does not list such files, but readers of the folder as one data set take them for data.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

/// Returns the leftovers below a folder, in order. Empty if the folder does not exist.
pub(crate) fn leftovers(folder: &Path) -> Vec<PathBuf> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    files.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_leftover)).collect()
}

fn is_leftover(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once(".parquet#").is_some_and(|(_, number)| is_number(number))
}
