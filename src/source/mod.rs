//! What extractors read from: bounded, read-only, never written to, with line numbers and limits.

mod broken;
mod compressed;
mod extent;
pub(crate) mod git;
mod glued;
pub(crate) mod jsonl;
mod lines;
mod names;
pub(crate) mod records;
mod repair;
mod sqlite;
mod unescape;

use std::fs::{File, Metadata};
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

pub(crate) use broken::Broken;
pub(crate) use compressed::{decompress, lines_of_blob};
pub(crate) use extent::Extent;
pub use lines::{Line, Lines};
pub(crate) use names::{name_of, path_of, text_of};
pub use repair::repair;
pub(crate) use repair::without_lone_surrogates;
pub use sqlite::{Database, Rows, RunCache, Statement};
pub(crate) use sqlite::{value_bytes, value_text};
pub(crate) use unescape::unescape;

use crate::extract::Reject;
use crate::interrupt::interrupted;

/// Longest line that is read; a longer one is a counted problem. Bytes.
pub const MAX_LINE: usize = 64 << 20;

/// Largest document that is read whole. Bytes.
pub const MAX_DOCUMENT: u64 = 32 << 20;

/// The problem of a last line that no line end follows.
pub(crate) const TORN_END: &str = "the last line is torn";

/// Bytes that a larger one is read by at a time.
const READ_AT_A_TIME: usize = 256 << 10;

/// Bytes that a small file is read by, at first.
const FIRST_READ: usize = 64 << 10;

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
    /// Looks at a source's file and the companions that are read with it; those that are not there count for nothing.
    /// Of a folder, only the time counts: it is when a file was last added or taken away.
    ///
    /// # Errors
    /// When the main file is not there, or is no regular file.
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

    /// Latest modification. Microseconds since 1970.
    pub fn modified_us(&self) -> i64 {
        self.modified_ns / 1000
    }
}

/// What SQLite has not yet put into a database lies beside it.
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

/// What of a source is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// All of it.
    Whole,
    /// What belongs to none of its sections.
    Common,
    /// The section of that id.
    Section(&'a str),
}

/// One of many sessions that a source holds: what tells that it has changed, without reading it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Section {
    /// Its id, unique in the source.
    pub id: String,
    /// Changes when anything that is read of it does.
    pub stamp: u64,
    /// Roughly what there is to be read. Bytes.
    pub bytes: u64,
    /// When it began. Microseconds since 1970.
    pub began: Option<i64>,
    /// When it was last changed. Microseconds since 1970.
    pub modified: Option<i64>,
}

/// One source, open for reading at most as many bytes as it had when the run was planned.
pub struct Source<'a> {
    /// Its main file.
    pub path: &'a Path,
    /// What it is, in the agent's own words.
    pub kind: &'a str,
    /// Size when the run was planned. Bytes.
    pub bytes: u64,
    /// What of it is to be read.
    pub scope: Scope<'a>,
    /// Its name, where the path is no UTF-8.
    name: Option<&'a str>,
    run: Option<&'a RunCache>,
    progress: &'a dyn Fn(u64),
}

impl<'a> Source<'a> {
    /// A source that tells `progress` how many bytes were read.
    pub fn new(path: &'a Path, kind: &'a str, bytes: u64, progress: &'a dyn Fn(u64)) -> Self {
        Self { path, kind, bytes, scope: Scope::Whole, name: None, run: None, progress }
    }

    /// The same source, by the name that it has in the lake.
    #[must_use]
    pub(crate) fn named(self, name: &'a str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// The same source, read in a run whose sources share what they find out about the files beside them.
    #[must_use]
    pub fn within(self, run: &'a RunCache) -> Self {
        Self { run: Some(run), ..self }
    }

    /// The same source, to be read in part.
    #[must_use]
    pub fn scoped(self, scope: Scope<'a>) -> Self {
        Self { scope, ..self }
    }

    /// The same source, to be looked at once more: its bytes are counted already.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { progress: &|_| (), ..*self }
    }

    /// Another file that is read together with it, whose bytes are counted with its own; none when it is not there.
    pub fn beside<'b>(&self, path: &'b Path) -> Option<Source<'b>>
    where
        'a: 'b,
    {
        let metadata = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        Some(Source { path, bytes: metadata.len(), scope: Scope::Whole, name: None, ..self.again() })
    }

    /// The file's name without its extension.
    pub fn stem(&self) -> &'a str {
        let stem = |path: &'a Path| path.file_stem()?.to_str();
        stem(self.path).or_else(|| stem(Path::new(self.name?))).unwrap_or_default()
    }

    /// Its lines, from the first; decompressed when the file is named `.zst`, or was before it was named on.
    pub fn lines(&mut self) -> Result<Lines<'a>, Reject> {
        let file = open_regular(self.path).map_err(Reject::Io)?;
        if !is_compressed(self.path) {
            return Ok(Lines::new(Box::new(file), self.bytes, self.progress));
        }
        (self.progress)(self.bytes);
        let file = zstd::stream::read::Decoder::new(file.take(self.bytes)).map_err(Reject::Io)?;
        Ok(Lines::unpacked(Box::new(file), self.bytes))
    }

    /// Its lines once more: those of a small file are still held.
    pub fn lines_again(&self, read: Lines<'a>) -> Result<Lines<'a>, Reject> {
        read.rewound().map_or_else(|| self.again().lines(), Ok)
    }

    /// The whole of a file that is no larger than [`MAX_DOCUMENT`]; none for a larger one, which is for [`Self::reader`].
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

    /// Its bytes from the first, for a document that is too large to be held.
    pub fn reader(&mut self) -> Result<impl BufRead + use<'a>, Reject> {
        let file = Interruptible(open_regular(self.path).map_err(Reject::Io)?);
        (self.progress)(self.bytes);
        Ok(io::BufReader::with_capacity(READ_AT_A_TIME, file.take(self.bytes)))
    }

    /// A small file that lies beside it; none when it is not there or is too large.
    pub fn sidecar(&self, path: &Path) -> Option<Vec<u8>> {
        let bytes = head(path, MAX_SIDECAR).ok()?;
        ((bytes.len() as u64) < MAX_SIDECAR).then_some(bytes)
    }

    /// Names of what lies in a folder near it, in order; none when it cannot be listed.
    pub fn names_in(&self, folder: &Path) -> Vec<String> {
        let listing = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        let mut names: Vec<String> = listing.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    /// Its SQLite database, opened so that the agent's own use of it is neither hindered nor changed.
    pub fn database(&mut self) -> Result<Database, Reject> {
        let database = match self.run {
            Some(run) => run.open(self.path)?,
            None => Database::open(self.path)?,
        };
        (self.progress)(self.bytes);
        Ok(database)
    }

    /// What holds for all of its sections: found out once in a run, however many of them are read.
    pub fn survey<T: std::any::Any + Send + Sync>(
        &self,
        make: impl FnOnce() -> Result<T, Reject>,
    ) -> Result<std::sync::Arc<T>, Reject> {
        self.survey_of(self.path, make)
    }

    /// What holds for all sources that share a file: found out once in a run.
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

/// Bytes that end with an error when the run is interrupted.
struct Interruptible<R>(R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // Not of the kind that readers try again after.
        if interrupted() { Err(io::Error::other("interrupted")) } else { self.0.read(bytes) }
    }
}

fn is_compressed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(b".zst") || memchr::memmem::find(name, b".zst.").is_some()
}

/// The text of a small file that a person wrote. A pipe, which may never end, is refused; `/dev/null` is an empty file.
///
/// # Errors
/// When it cannot be read, is a pipe or folder, is no UTF-8 or is larger than 16 MiB.
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

/// Opens a regular file for reading; a pipe, device or folder is refused and never blocks.
fn open_regular(path: &Path) -> io::Result<File> {
    let file = open_without_waiting(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
}

/// Opening a pipe would wait for who writes to it.
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

/// The first bytes of a file, for a look at what it is.
///
/// # Errors
/// When it cannot be opened or read, or is no regular file.
pub fn head(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    // Room from the start: a vector without any is filled by reads that begin at 32 bytes and double.
    let mut head = Vec::with_capacity(usize::try_from(bytes).unwrap_or(usize::MAX).min(FIRST_READ));
    file.take(bytes).read_to_end(&mut head)?;
    Ok(head)
}
