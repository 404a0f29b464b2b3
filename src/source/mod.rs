//! What extractors read from: bounded, read-only, never written to, with line numbers and limits.

mod lines;
pub(crate) mod records;
mod repair;
mod sqlite;
mod unescape;

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

pub use lines::{Line, Lines};
pub use repair::{repair, split_glued};
pub use sqlite::Database;
pub(crate) use unescape::unescape;

use crate::extract::Reject;

/// Longest line that is read; a longer one is a counted problem. Bytes.
pub const MAX_LINE: usize = 64 << 20;

/// Largest sidecar file that is read whole. Bytes.
const MAX_SIDECAR: u64 = 16 << 20;

/// What tells that a source has changed: size and time of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Fingerprint {
    /// Size of the main file and its companions. Bytes.
    pub bytes: u64,
    /// Latest modification of them. Nanoseconds since 1970.
    pub modified_ns: i64,
    /// Inode of the main file, so that a replaced file is seen; 0 where there is none.
    pub inode: u64,
}

impl Fingerprint {
    /// Looks at a source's file and the companions that are read with it.
    ///
    /// # Errors
    /// When the main file is not there, or is no regular file.
    pub fn of(path: &Path) -> io::Result<Self> {
        let main = std::fs::metadata(path)?;
        if !main.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut print = Self { bytes: main.len(), modified_ns: modified_ns(&main), inode: inode(&main) };
        if let Some(metadata) = companion(path).and_then(|companion| std::fs::metadata(companion).ok()) {
            print.bytes += metadata.len();
            print.modified_ns = print.modified_ns.max(modified_ns(&metadata));
        }
        Ok(print)
    }

    /// Latest modification. Microseconds since 1970.
    pub fn modified_us(&self) -> i64 {
        self.modified_ns / 1000
    }
}

/// File that is read together with a source's main file: a subagent's description, a database's write-ahead log.
fn companion(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    if let Some(stem) = name.strip_suffix(".jsonl") {
        return stem.starts_with("agent-").then(|| path.with_file_name(format!("{stem}.meta.json")));
    }
    let is_database = matches!(path.extension()?.to_str()?, "db" | "sqlite" | "vscdb");
    is_database.then(|| path.with_file_name(format!("{name}-wal")))
}

fn modified_ns(metadata: &Metadata) -> i64 {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> u64 {
    0
}

/// One source, open for reading at most as many bytes as it had when the run was planned.
pub struct Source<'a> {
    /// Its main file.
    pub path: &'a Path,
    /// What it is, in the agent's own words.
    pub kind: &'a str,
    /// Size when the run was planned. Bytes.
    pub bytes: u64,
    progress: &'a dyn Fn(u64),
}

impl<'a> Source<'a> {
    /// A source that tells `progress` how many bytes were read.
    pub fn new(path: &'a Path, kind: &'a str, bytes: u64, progress: &'a dyn Fn(u64)) -> Self {
        Self { path, kind, bytes, progress }
    }

    /// The file's name without its extension.
    pub fn stem(&self) -> &'a str {
        self.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }

    /// Its lines, from the first.
    pub fn lines(&mut self) -> Result<Lines<'a>, Reject> {
        let file = open_regular(self.path).map_err(Reject::Io)?;
        Ok(Lines::new(file, self.bytes, self.progress))
    }

    /// A small file that lies beside it; none when it is not there or is too large.
    pub fn sidecar(&self, path: &Path) -> Option<Vec<u8>> {
        let file = open_regular(path).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_SIDECAR).read_to_end(&mut bytes).ok()?;
        ((bytes.len() as u64) < MAX_SIDECAR).then_some(bytes)
    }

    /// Its SQLite database, opened so that the agent's own use of it is neither hindered nor changed.
    pub fn database(&mut self) -> Result<Database, Reject> {
        let database = Database::open(self.path)?;
        (self.progress)(self.bytes);
        Ok(database)
    }
}

/// Opens a regular file for reading; a pipe, device or folder is refused and never blocks.
fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// The first bytes of a file, for a look at what it is.
///
/// # Errors
/// When it cannot be opened or read, or is no regular file.
pub fn head(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    open_regular(path)?.take(bytes).read_to_end(&mut head)?;
    Ok(head)
}
