//! Sources for extractors: read-only, with bounds and line numbers.

mod compressed;
mod extent;
pub(crate) mod git;
mod lines;
mod names;
pub(crate) mod records;
mod reject;
mod repair;
mod sqlite;
mod unescape;

use std::fs::{File, Metadata};
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

pub(crate) use compressed::{decompress, lines_of_blob};
pub(crate) use extent::Extent;
pub use lines::{Line, Lines};
pub(crate) use names::{name_of, path_of, text_of};
pub use reject::Reject;
pub use repair::repair;
pub(crate) use repair::without_lone_surrogates;
pub(crate) use sqlite::LeftOut;
pub use sqlite::{Database, Rows, RunCache, Statement};
pub(crate) use sqlite::{value_bytes, value_text};
pub(crate) use unescape::unescape;

use crate::interrupt::interrupted;

/// Longest line that is read. A longer one is a counted problem. Bytes.
pub const MAX_LINE: usize = 64 << 20;

/// Largest document that is read whole. Bytes.
pub const MAX_DOCUMENT: u64 = 32 << 20;

/// The problem of a last line without a line end.
pub(crate) const TORN_END: &str = "the last line is torn";

/// Bytes read at a time from a larger document.
const READ_AT_A_TIME: usize = 256 << 10;

/// Initial buffer size for a small file. Bytes.
const FIRST_READ: usize = 64 << 10;

/// Largest companion file that is read whole. Bytes.
const MAX_SIDECAR: u64 = 16 << 20;

/// Size and time of a source's files, to detect changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Fingerprint {
    /// Size of the main file and its companions. Bytes.
    pub bytes: u64,
    /// Latest modification of them. Nanoseconds since 1970.
    pub modified_ns: i64,
    /// Inode of the main file, to detect a replaced file; 0 if unknown.
    pub inode: u64,
}

impl Fingerprint {
    /// Reads the fingerprint of a source's file and its companions. Missing companions are ignored. Of a folder, only
    /// the time counts: when a file was last added or removed.
    ///
    /// # Errors
    /// Fails if the main file does not exist, or is no regular file.
    pub fn of(path: &Path, companions: &[PathBuf]) -> io::Result<Self> {
        let main = std::fs::metadata(path)?;
        if !main.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let mut print = Self { bytes: main.len(), modified_ns: modified_ns(&main), inode: inode(&main) };
        let log = write_ahead_log(path);
        for metadata in companions.iter().chain(&log).filter_map(|companion| std::fs::metadata(companion).ok()) {
            print.bytes += if metadata.is_file() { metadata.len() } else { 0 };
            print.modified_ns = print.modified_ns.max(modified_ns(&metadata));
        }
        Ok(print)
    }

    /// Returns the latest modification. Microseconds since 1970.
    pub fn modified_us(&self) -> i64 {
        self.modified_ns / 1000
    }
}

/// Returns files with changes that SQLite has not put into the database yet.
fn write_ahead_log(path: &Path) -> Option<PathBuf> {
    let is_database = matches!(path.extension()?.to_str()?, "db" | "sqlite" | "sqlite3" | "vscdb");
    is_database.then(|| path.with_file_name(format!("{}-wal", path.file_name().unwrap_or_default().display())))
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

/// The part of a source to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All of it.
    Whole,
    /// The part that belongs to none of its sections.
    Common,
    /// The section with that id.
    Section(&'a str),
}

/// One of many sessions in a source, with a stamp to detect changes without reading it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// Its id, unique in the source.
    pub id: String,
    /// Changes whenever any data of the section changes.
    pub stamp: u64,
    /// Approximate size. Bytes.
    pub bytes: u64,
    /// When it began. Microseconds since 1970.
    pub began: Option<i64>,
    /// When it was last changed. Microseconds since 1970.
    pub modified: Option<i64>,
}

/// One source, open for reading. Reads at most as many bytes as it had when the run was planned.
pub struct Source<'a> {
    /// Its main file.
    pub path: &'a Path,
    /// Its kind, as the agent's page names it.
    pub kind: &'a str,
    /// Size when the run was planned. Bytes.
    pub bytes: u64,
    /// The part to read.
    pub scope: Scope<'a>,
    /// Its name, if the path is not UTF-8.
    name: Option<&'a str>,
    run: Option<&'a RunCache>,
    progress: &'a dyn Fn(u64),
}

impl<'a> Source<'a> {
    /// Creates a source that reports the bytes read to `progress`.
    pub fn new(path: &'a Path, kind: &'a str, bytes: u64, progress: &'a dyn Fn(u64)) -> Self {
        Self { path, kind, bytes, scope: Scope::Whole, name: None, run: None, progress }
    }

    /// Sets the name of the source in the lake.
    #[must_use]
    pub(crate) fn named(self, name: &'a str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Sets the run's cache, which sources share for data of files next to them.
    #[must_use]
    pub fn within(self, run: &'a RunCache) -> Self {
        Self { run: Some(run), ..self }
    }

    /// The same source, to be read in part.
    #[must_use]
    pub fn scoped(self, scope: Scope<'a>) -> Self {
        Self { scope, ..self }
    }

    /// Returns the same source for a second reading, whose bytes do not count for progress.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { progress: &|_| (), ..*self }
    }

    /// Opens another file that is read together with it, whose bytes count for it. Returns `None` if it does not exist.
    pub fn beside<'b>(&self, path: &'b Path) -> Option<Source<'b>>
    where
        'a: 'b,
    {
        let metadata = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        Some(Source { path, bytes: metadata.len(), scope: Scope::Whole, name: None, ..self.again() })
    }

    /// Returns the file's name without its extension.
    pub fn stem(&self) -> &'a str {
        let stem = |path: &'a Path| path.file_stem()?.to_str();
        stem(self.path).or_else(|| stem(Path::new(self.name?))).unwrap_or_default()
    }

    /// Returns its lines, from the first; decompressed if the file is, or was, named `.zst`.
    pub fn lines(&mut self) -> Result<Lines<'a>, Reject> {
        let file = open_regular(self.path).map_err(Reject::Io)?;
        if !is_compressed(self.path) {
            return Ok(Lines::new(Box::new(file), self.bytes, self.progress));
        }
        (self.progress)(self.bytes);
        let file = zstd::stream::read::Decoder::new(file.take(self.bytes)).map_err(Reject::Io)?;
        Ok(Lines::unpacked(Box::new(file), compressed::most_of(self.bytes)))
    }

    /// Returns its lines again. Those of a small file are still in memory.
    pub fn lines_again(&self, read: Lines<'a>) -> Result<Lines<'a>, Reject> {
        read.rewound().map_or_else(|| self.again().lines(), Ok)
    }

    /// Reads a whole file of at most [`MAX_DOCUMENT`]. Returns `None` for a larger one; use [`Self::reader`].
    pub fn document(&mut self) -> Result<Option<Vec<u8>>, Reject> {
        if self.bytes > MAX_DOCUMENT {
            return Ok(None);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(self.bytes).unwrap_or_default());
        let file = Interruptible(open_regular(self.path).map_err(Reject::Io)?);
        file.take(self.bytes).read_to_end(&mut bytes).map_err(Reject::Io)?;
        (self.progress)(self.bytes);
        Ok(Some(bytes))
    }

    /// Returns a reader from the first byte, for a document that is too large for memory.
    pub fn reader(&mut self) -> Result<impl BufRead + use<'a>, Reject> {
        let file = Interruptible(open_regular(self.path).map_err(Reject::Io)?);
        (self.progress)(self.bytes);
        Ok(io::BufReader::with_capacity(READ_AT_A_TIME, file.take(self.bytes)))
    }

    /// Reads a small file next to it. Returns `None` if it does not exist or is too large.
    pub fn sidecar(&self, path: &Path) -> Option<Vec<u8>> {
        let bytes = head(path, MAX_SIDECAR).ok()?;
        ((bytes.len() as u64) < MAX_SIDECAR).then_some(bytes)
    }

    /// Lists the names in a folder near it, in order; none if it cannot be listed.
    pub fn names_in(&self, folder: &Path) -> Vec<String> {
        let listing = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut names: Vec<String> = listing.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Opens its SQLite database without hindering or changing the agent's own use of it.
    pub fn database(&mut self) -> Result<Database, Reject> {
        let database = match self.run {
            Some(run) => run.open(self.path)?,
            None => Database::open(self.path)?,
        };
        (self.progress)(self.bytes);
        Ok(database)
    }

    /// Returns data that all of its sections share. Computed once in a run.
    pub fn survey<T: std::any::Any + Send + Sync>(
        &self,
        make: impl FnOnce() -> Result<T, Reject>,
    ) -> Result<std::sync::Arc<T>, Reject> {
        self.survey_of(self.path, make)
    }

    /// Returns data that all sources with a common file share. Computed once in a run.
    pub fn survey_of<T: std::any::Any + Send + Sync>(
        &self,
        path: &Path,
        make: impl FnOnce() -> Result<T, Reject>,
    ) -> Result<std::sync::Arc<T>, Reject> {
        match self.run {
            Some(run) => run.survey(path, make),
            None => make().map(std::sync::Arc::new),
        }
    }
}

/// A reader that fails if the run is interrupted.
struct Interruptible<R>(R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // Not `Interrupted`, after which readers try again.
        if interrupted() { Err(io::Error::other("interrupted")) } else { self.0.read(bytes) }
    }
}

fn is_compressed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(b".zst") || memchr::memmem::find(name, b".zst.").is_some()
}

/// Reads a small text file that a person wrote. A pipe, which may never end, is refused; `/dev/null` is an empty file.
///
/// # Errors
/// Fails if the file cannot be read, is a pipe or folder, is not UTF-8 or is larger than 16 MiB.
pub fn read_text(path: &Path) -> io::Result<String> {
    let file = open_without_waiting(path)?;
    let kind = file.metadata()?.file_type();
    if !kind.is_file() && !is_device(kind) {
        return Err(not_regular());
    }
    let mut bytes = Vec::new();
    if file.take(MAX_SIDECAR).read_to_end(&mut bytes)? as u64 == MAX_SIDECAR {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 16 MiB"));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(unix)]
fn is_device(kind: std::fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&kind)
}

#[cfg(not(unix))]
fn is_device(_kind: std::fs::FileType) -> bool {
    false
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

/// Opens a regular file for reading. Refuses a pipe, device or folder, without blocking.
fn open_regular(path: &Path) -> io::Result<File> {
    let file = open_without_waiting(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Opening a pipe would wait for its writer.
fn open_without_waiting(path: &Path) -> io::Result<File> {
    #[expect(clippy::disallowed_methods, reason = "opens for reading only")]
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.open(path)
}

/// Reads the first bytes of a file.
///
/// # Errors
/// Fails if it cannot be opened or read, or is no regular file.
pub fn head(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    // Allocated in advance: an empty vector is filled by reads that start at 32 bytes and double.
    let mut head = Vec::with_capacity(usize::try_from(bytes).unwrap_or(usize::MAX).min(FIRST_READ));
    file.take(bytes).read_to_end(&mut head)?;
    Ok(head)
}
