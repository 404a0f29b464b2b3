//! Detects whether the files of a source have only grown since the last reading.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::open_regular;

/// Length of the hashed end of each file. If a program rewrites a file without some lines, this position has other
/// bytes. Bytes.
const END: u64 = 8 << 10;
/// Length of the hashed beginning of each file. Bytes.
const START: u64 = 4 << 10;

/// First bytes of an SQLite database. SQLite changes its files in place, so a hash of their ends proves nothing.
const DATABASE: &[u8] = b"SQLite format 3\0";

/// Sizes of a source's files, and a hash of the beginning and end of each. Later, the same hash over the same sizes shows
/// that the files have only grown.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Extent {
    /// Size of the main file and of each companion; `None` for a file that does not exist. Bytes.
    sizes: Box<[Option<u64>]>,
    /// Hash of their beginnings and ends.
    hash: u64,
}

impl Extent {
    /// Returns the extent of a source's file and its companions, or `None` if any of them is a folder or a database.
    pub(crate) fn of(path: &Path, companions: &[PathBuf]) -> Option<Self> {
        let size = |path: &Path| match std::fs::metadata(path) {
            Ok(metadata) => metadata.is_file().then_some(Some(metadata.len())),
            Err(error) => (error.kind() == io::ErrorKind::NotFound).then_some(None),
        };
        let sizes: Box<[Option<u64>]> = files(path, companions).map(size).collect::<Option<_>>()?;
        let hash = hash(path, companions, &sizes)?;
        Some(Self { sizes, hash })
    }

    /// True if the files still have this content at the same positions.
    pub(crate) fn is_held_by(&self, path: &Path, companions: &[PathBuf]) -> bool {
        self.sizes.len() == companions.len() + 1 && hash(path, companions, &self.sizes) == Some(self.hash)
    }
}

fn files<'p>(path: &'p Path, companions: &'p [PathBuf]) -> impl Iterator<Item = &'p Path> {
    std::iter::once(path).chain(companions.iter().map(PathBuf::as_path))
}

/// Returns the hash of beginnings and ends for files of these sizes, or `None` if one is shorter or cannot be read.
fn hash(path: &Path, companions: &[PathBuf], sizes: &[Option<u64>]) -> Option<u64> {
    let mut hasher = Xxh3::new();
    for (path, size) in files(path, companions).zip(sizes) {
        let Some(size) = *size else { continue };
        let mut file = open_regular(path).ok()?;
        let start = read(&mut file, 0, size.min(START))?;
        if start.starts_with(DATABASE) {
            return None;
        }
        hasher.update(&start);
        let begin = size.saturating_sub(END).max(START);
        hasher.update(&read(&mut file, begin, size.saturating_sub(begin))?);
    }
    Some(hasher.digest())
}

fn read(file: &mut File, begin: u64, length: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).ok()?];
    if length > 0 {
        file.seek(SeekFrom::Start(begin)).and_then(|_| file.read_exact(&mut bytes)).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "what fails here fails a test")]

    use super::*;

    #[test]
    fn files_that_grow_hold_what_they_held_and_those_written_anew_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let [path, beside] = ["a.jsonl", "a.json"].map(|name| folder.path().join(name));
        let companions = [beside.clone()];
        let lines: Vec<String> = (0..20_000).map(|number| format!("{{\"line\":{number}}}\n")).collect();
        std::fs::write(&path, lines[..10_000].concat()).unwrap();
        let extent = Extent::of(&path, &companions).unwrap();
        let is_held = || extent.is_held_by(&path, &companions);
        assert!(is_held());
        std::fs::write(&path, lines.concat()).unwrap();
        assert!(is_held(), "the file has grown");
        std::fs::write(&beside, "{}").unwrap();
        assert!(is_held(), "a companion that was not there has come");
        for dropped in [0..1, 500..501, 9_999..10_000] {
            let rest = [&lines[..dropped.start], &lines[dropped.end..]].concat().concat();
            std::fs::write(&path, rest).unwrap();
            assert!(!is_held(), "without {dropped:?}");
        }
        std::fs::write(&path, lines[..9_000].concat()).unwrap();
        assert!(!is_held(), "the file was cut off");
    }

    #[test]
    fn a_companion_that_is_gone_or_says_something_else_counts() {
        let folder = tempfile::tempdir().unwrap();
        let [path, beside] = ["a.jsonl", "a.json"].map(|name| folder.path().join(name));
        let companions = [beside.clone()];
        std::fs::write(&path, "{}\n").unwrap();
        std::fs::write(&beside, "{\"model\":\"a\"}").unwrap();
        let extent = Extent::of(&path, &companions).unwrap();
        std::fs::write(&beside, "{\"model\":\"b\"}").unwrap();
        assert!(!extent.is_held_by(&path, &companions));
        std::fs::remove_file(&beside).unwrap();
        assert!(!extent.is_held_by(&path, &companions));
    }

    #[test]
    fn databases_and_folders_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.db");
        std::fs::write(&path, b"SQLite format 3\0 and pages").unwrap();
        assert_eq!(Extent::of(&path, &[]), None);
        std::fs::write(&path, "{}\n").unwrap();
        assert!(Extent::of(&path, &[]).is_some());
        assert_eq!(Extent::of(&path, &[folder.path().to_owned()]), None);
    }
}
