//! All file operations on a lake: creating, writing, syncing, renaming and removing. Folders are created with mode 0700
//! and files with 0600. Every operation is counted, so that a test can kill the process before and after each.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::error::{Error, Result};

#[cfg(debug_assertions)]
mod probe {
    use std::io;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static COUNT: AtomicU64 = AtomicU64::new(0);

    fn point(name: &str) -> Option<u64> {
        std::env::var(name).ok()?.parse().ok()
    }
    static DIE_BEFORE: LazyLock<Option<u64>> = LazyLock::new(|| point("LLREM_TEST_DIE_BEFORE"));
    static DIE_AFTER: LazyLock<Option<u64>> = LazyLock::new(|| point("LLREM_TEST_DIE_AFTER"));
    static FULL_FROM: LazyLock<Option<u64>> = LazyLock::new(|| point("LLREM_TEST_FULL_FROM"));

    pub(super) fn around<T>(operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let number = COUNT.fetch_add(1, Ordering::SeqCst) + 1;
        if *DIE_BEFORE == Some(number) {
            std::process::abort();
        }
        if FULL_FROM.is_some_and(|from| number >= from) {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let result = operation();
        if *DIE_AFTER == Some(number) {
            std::process::abort();
        }
        result
    }
}

#[cfg(not(debug_assertions))]
mod probe {
    pub(super) fn around<T>(operation: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
        operation()
    }
}

/// Creates a folder and its parents, for the owner only. An existing folder stays as it is.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    probe::around(|| {
        #[expect(clippy::disallowed_methods, reason = "this is the one place")]
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path)
    })
    .map_err(Error::io("create", path))
}

/// Creates an empty file for the owner only, replacing an existing one.
pub(crate) fn create(path: &Path) -> Result<File> {
    probe::around(|| private().write(true).create(true).truncate(true).open(path)).map_err(Error::io("create", path))
}

/// Opens a file for locking, and creates it if it does not exist.
pub(crate) fn open_lock(path: &Path) -> Result<File> {
    private().read(true).write(true).create(true).truncate(false).open(path).map_err(Error::io("open", path))
}

/// Overwrites the beginning of a file that is only a hint. Nothing in the lake depends on it, so it is neither synced
/// nor counted.
pub(crate) fn scribble(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)
}

fn private() -> OpenOptions {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Syncs a file's content to disk.
pub(crate) fn sync(file: &File, path: &Path) -> Result<()> {
    probe::around(|| file.sync_data()).map_err(Error::io("sync", path))
}

/// Syncs the names in a folder to disk. Windows opens no folder, and its file system keeps a journal of names.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    probe::around(|| if cfg!(windows) { Ok(()) } else { File::open(path)?.sync_all() }).map_err(Error::io("sync", path))
}

/// Writes a whole file and syncs it to disk.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_pieces(path, &[bytes])
}

/// Writes a whole file, piece by piece, and syncs it to disk.
pub(crate) fn write_pieces(path: &Path, pieces: &[&[u8]]) -> Result<()> {
    let mut file = create(path)?;
    probe::around(|| pieces.iter().try_for_each(|piece| file.write_all(piece))).map_err(Error::io("write", path))?;
    sync(&file, path)
}

/// Writes a whole file without syncing it.
pub(crate) fn write_unsynced(path: &Path, bytes: &[u8]) -> Result<File> {
    let mut file = create(path)?;
    probe::around(|| file.write_all(bytes)).map_err(Error::io("write", path))?;
    Ok(file)
}

/// Appends a line to a file. If a crash cut off the last line, it is ended first, so that only that line is lost.
pub(crate) fn append_line(path: &Path, line: &[u8]) -> Result<()> {
    probe::around(|| {
        let mut file = private().read(true).append(true).create(true).open(path)?;
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(-1)).is_ok() {
            file.read_exact(&mut last)?;
        }
        let end: &[u8] = if last == *b"\n" { b"" } else { b"\n" };
        file.write_all(&[end, line].concat())
    })
    .map_err(Error::io("write", path))
}

/// Renames a file over another in one step.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    probe::around(|| {
        #[expect(clippy::disallowed_methods, reason = "this is the one place")]
        std::fs::rename(from, to)
    })
    .map_err(Error::io("replace", to))
}

/// Removes a file, if it exists.
pub(crate) fn remove(path: &Path) -> Result<()> {
    let removed = probe::around(|| {
        #[expect(clippy::disallowed_methods, reason = "this is the one place")]
        std::fs::remove_file(path)
    });
    absent_is_fine(removed).map_err(Error::io("remove", path))
}

/// Removes a folder with its content, if it exists.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    let removed = probe::around(|| {
        #[expect(clippy::disallowed_methods, reason = "this is the one place")]
        std::fs::remove_dir_all(path)
    });
    absent_is_fine(removed).map_err(Error::io("remove", path))
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Reads a whole file. Returns `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    read_by(path, File::read_to_end)
}

/// Reads at most this many bytes of a file. Returns `None` if it does not exist.
pub(crate) fn read_start(path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
    read_by(path, |file, bytes| file.take(most).read_to_end(bytes))
}

/// Reads at most this many bytes at the end of a file. Returns `None` if it does not exist.
pub(crate) fn read_end(path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
    read_by(path, |file, bytes| {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
        file.read_to_end(bytes)
    })
}

fn read_by(path: &Path, read: impl FnOnce(&mut File, &mut Vec<u8>) -> io::Result<usize>) -> Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|mut file| read(&mut file, &mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Exchanges two folders in one step, so that no reader sees both or neither. Returns false if the system cannot.
pub(crate) fn exchange(a: &Path, b: &Path) -> Result<bool> {
    let exchanged = probe::around(|| {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).map_err(io::Error::from)
        }
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        Err(io::Error::from(io::ErrorKind::Unsupported))
    });
    match exchanged {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => Ok(false),
        Err(error) => Err(Error::io("exchange", b)(error)),
    }
}

/// Creates a hard link to a file.
pub(crate) fn link(from: &Path, to: &Path) -> Result<()> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    let linked = probe::around(|| std::fs::hard_link(from, to));
    linked.map_err(Error::io("link", to))
}

/// Returns the number of a file on its disk, which changes when another file takes its place.
#[cfg(unix)]
pub(crate) fn number(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
pub(crate) fn number(_: &std::fs::Metadata) -> u64 {
    0
}
