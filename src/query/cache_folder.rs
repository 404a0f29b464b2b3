//! A folder with what takes long to make again: footers of remote files, findings. Any process may write and remove entries at
//! any time: each is written to a temporary file and renamed, and is ignored if it is damaged.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use bytes::Bytes;

use crate::Result;
use crate::lake::fs;

/// Magic bytes before an entry. They change with the format.
const MAGIC: &[u8; 8] = b"LLREMFT1";
/// Size to which the folder is reduced. Bytes.
const LIMIT: u64 = 256 << 20;
/// Bytes that a process writes before it checks the size of the folder again.
const BETWEEN_LOOKS: u64 = LIMIT / 8;

/// Number of files written by this process, for names of temporary files.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A folder of entries.
#[derive(Debug)]
pub(super) struct CacheFolder {
    folder: PathBuf,
    /// Bytes written since the size was checked. Starts high, so that it is checked early.
    written: AtomicU64,
}

impl CacheFolder {
    /// Opens the folder of one kind of entries.
    pub(super) fn new(cache: &Path, kind: &str) -> Self {
        Self { folder: cache.join(kind), written: AtomicU64::new(BETWEEN_LOOKS) }
    }

    /// Returns an entry, or `None` if it is not there or damaged.
    pub(super) fn read(&self, name: &str) -> Option<Bytes> {
        let bytes = Bytes::from(std::fs::read(self.path(name)?).ok()?);
        let (hash, content) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
        (blake3::hash(content).as_bytes() == hash).then(|| bytes.slice_ref(content))
    }

    /// Writes an entry. Errors are ignored, so that they do not fail the query.
    pub(super) fn write(&self, name: &str, content: &[u8]) {
        if let Some(path) = self.path(name) {
            let _ = self.keep(&path, content);
        }
    }

    fn keep(&self, path: &Path, content: &[u8]) -> Result<()> {
        let folder = path.parent().unwrap_or(&self.folder);
        fs::make_folder(folder)?;
        if self.written.fetch_add(content.len() as u64, Ordering::Relaxed) >= BETWEEN_LOOKS {
            self.written.store(0, Ordering::Relaxed);
            bring_below(&self.folder, LIMIT)?;
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(blake3::hash(content).as_bytes());
        bytes.extend_from_slice(content);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!(".new-{}-{number}", std::process::id()));
        fs::write_unsynced(&temporary, &bytes).and_then(|_| fs::rename(&temporary, path)).inspect_err(|_| {
            let _ = fs::remove(&temporary);
        })
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        let (start, rest) = name.split_at_checked(2)?;
        Some(self.folder.join(start).join(rest))
    }
}

/// Returns the name of the entry that these texts identify.
pub(super) fn name<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = blake3::Hasher::new();
    for text in texts {
        hasher.update(text.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex().to_string()
}

/// Removes the oldest entries until the rest fits.
fn bring_below(folder: &Path, limit: u64) -> Result<()> {
    let entries = walkdir::WalkDir::new(folder).into_iter().filter_map(std::result::Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_file()).filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), entry.into_path()))
    });
    let mut files: Vec<_> = files.collect();
    let mut size: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    files.sort();
    for (_, bytes, path) in files {
        if size <= limit {
            break;
        }
        fs::remove(&path)?;
        size -= bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(folder: &Path) -> Vec<PathBuf> {
        let entries = walkdir::WalkDir::new(folder).into_iter().map(std::result::Result::unwrap);
        entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
    fn a_damaged_entry_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let entries = CacheFolder::new(folder.path(), "footers");
        entries.write("abc", b"some bytes");
        assert!(entries.read("abd").is_none());
        let path = all(folder.path()).remove(0);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert!(entries.read("abc").is_none(), "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(entries.read("abc").is_none(), "cut off at {at}");
        }
        entries.write("abc", b"others");
        assert_eq!(entries.read("abc").unwrap(), "others", "written again");
    }

    #[test]
    #[cfg(unix)]
    fn nobody_else_may_read_them() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        CacheFolder::new(&folder.path().join("llrem"), "footers").write("abc", b"some bytes");
        let modes: Vec<u32> = walkdir::WalkDir::new(folder.path().join("llrem"))
            .into_iter()
            .map(|entry| entry.unwrap().metadata().unwrap().permissions().mode() & 0o777)
            .collect();
        assert_eq!(modes, [0o700, 0o700, 0o700, 0o600]);
    }

    #[test]
    fn the_folder_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let entries = CacheFolder::new(folder.path(), "footers");
        for number in 0..20 {
            entries.write(&name([number.to_string().as_str()]), &[0; 60]);
        }
        for _ in 0..2 {
            bring_below(folder.path(), 5 * 100).unwrap();
            assert_eq!(all(folder.path()).len(), 5);
        }
    }
}
