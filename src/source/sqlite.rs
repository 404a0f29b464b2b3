//! SQLite databases of agents that may be running. Reads every row, and creates or changes no file next to the
//! database.
//!
//! A database is untrusted. Only its tables are read, never views, virtual tables or computed columns. Each connection
//! has limits. A statement ends if the run is interrupted, or if it does more work than the size of the file explains.

mod bounds;
mod statement;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::{Interruptible, READ_AT_A_TIME, Reject};
use crate::interrupt::interrupted;
use bounds::{Bounds, Spent, explained};
pub(crate) use statement::LeftOut;
use statement::{Guard, guarded};
pub use statement::{Rows, Statement};

/// Attempts to copy a database that changes during the copy.
const COPIES: u32 = 40;
/// Longest pause between two attempts. Milliseconds.
const LONGEST_PAUSE: u64 = 100;
/// Bytes of a log's header, which changes when the log is restarted.
const LOG_HEADER: u64 = 32;
/// Beginning of a rollback journal with overwritten pages of a transaction.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// An agent's database, open for reading only.
///
/// If there is a write-ahead log that is not empty, or the journal of a transaction that is not over, both files are copied
/// to a private folder and opened there. Opening them in place could create or checkpoint files; the database without the
/// other file lacks rows. Without one, the file alone is the whole database: it is read without a lock, which could keep
/// the agent from writing, and what was read of it counts only if [`RunCache::have_changed`] finds that nobody wrote to it
/// meanwhile.
#[derive(Clone)]
pub struct Database {
    connection: Rc<Connection>,
    bounds: Rc<Bounds>,
    copy: Option<Arc<tempfile::TempDir>>,
}

/// Detects writes: SQLite counts the transactions in the header.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: SystemTime,
    header: Vec<u8>,
}

impl Stamp {
    const HEADER: u64 = 100;

    fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Self { bytes: metadata.len(), modified: metadata.modified()?, header: super::head(path, Self::HEADER)? })
    }
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self, Reject> {
        let copy = private_copy(path, None, false)?.map(Arc::new);
        Self::open_with(path, copy, Arc::default())
    }

    fn open_with(path: &Path, copy: Option<Arc<tempfile::TempDir>>, spent: Spent) -> Result<Self, Reject> {
        let mut connection = if let Some(folder) = &copy {
            let name = path.file_name().unwrap_or_default();
            // The copy is private, so SQLite may create its shared-memory index next to it.
            Connection::open_with_flags(folder.path().join(name), OpenFlags::SQLITE_OPEN_READ_WRITE)?
        } else {
            super::open_regular(path).map_err(Reject::Io)?;
            let stamp = Stamp::of(path).map_err(Reject::Io)?;
            IN_PLACE.with_borrow_mut(|opened| opened.push((path.to_owned(), stamp)));
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(path), flags)?
        };
        let bounds = Rc::new(Bounds::set(&mut connection, spent)?);
        Ok(Self { connection: Rc::new(connection), bounds, copy })
    }

    /// Returns its size. Bytes.
    pub fn bytes(&self) -> Result<u64, Reject> {
        Ok(self.bounds.bytes(&self.connection)?)
    }

    /// Returns the columns of a table; empty if there is no such table.
    pub fn columns(&self, table: &str) -> Result<Vec<String>, Reject> {
        let tables = self.bounds.tables(&self.connection)?;
        if tables.is_other(table) {
            LeftOut::add_name(table);
        }
        Ok(tables.columns(table).to_vec())
    }

    /// Prepares a query of the database's tables. Fails if it uses a view, a virtual table, or a computed column.
    pub fn prepare(&self, query: &str) -> Result<Statement<'_>, Reject> {
        self.prepare_guarded(query, None)
    }

    /// Prepares a statement for columns of a table, with `rest` as the rest of the query. Returns `None` if there is no
    /// such table. Agents added columns over time: missing ones are null.
    pub fn select(&self, table: &str, columns: &[&str], rest: &str) -> Result<Option<Statement<'_>>, Reject> {
        let there = self.columns(table)?;
        if there.is_empty() {
            return Ok(None);
        }
        let tables = self.bounds.tables(&self.connection)?;
        for column in columns.iter().filter(|column| tables.is_computed(table, column)) {
            LeftOut::add_name(&format!("{table}.{column}"));
        }
        let known = |column: &&str| {
            if there.iter().any(|name| name == column) { (*column).to_owned() } else { "NULL".to_owned() }
        };
        let columns: Vec<String> = columns.iter().map(known).collect();
        self.select_from(&columns, &format!("{table} {rest}")).map(Some)
    }

    /// Prepares a statement for columns, or nulls, of what follows `FROM`. A row that is too large is left out and
    /// reported.
    pub fn select_from(&self, columns: &[String], from: &str) -> Result<Statement<'_>, Reject> {
        let (query, guard) = guarded(columns, from, self.bytes()?);
        self.prepare_guarded(&query, guard)
    }

    fn prepare_guarded(&self, query: &str, guard: Option<Guard>) -> Result<Statement<'_>, Reject> {
        // Loads the tables, because the statement is checked against them.
        self.bounds.tables(&self.connection)?.check(query)?;
        Ok(Statement::new(self.connection.prepare_cached(query).map_err(explained)?, &self.bounds, guard))
    }
}

/// A cache of files that several sources or sections of a run share. Each database is copied at most once, and facts about
/// all of its sessions are read once.
#[derive(Default)]
pub struct RunCache {
    /// Folder for copies. If `None`, the system's folder for temporary files, which may be in memory.
    folder: Option<PathBuf>,
    held: Mutex<HashMap<PathBuf, Arc<Held>>>,
}

#[derive(Default)]
struct Held {
    copy: Mutex<PrivateCopy>,
    spent: Spent,
    survey: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

impl Held {
    /// True if it is read from a copy from now on.
    fn is_copied(&self) -> bool {
        let copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(*copy, PrivateCopy::In(_) | PrivateCopy::Wanted)
    }
}

/// State of the copy of a database.
#[derive(Default)]
enum PrivateCopy {
    #[default]
    NotMade,
    NotNeeded,
    /// The database changed while it was read in place.
    Wanted,
    In(Arc<tempfile::TempDir>),
}

thread_local! {
    /// The open database of this thread: opening costs more than reading a small section.
    static OPENED: RefCell<Option<Opened>> = const { RefCell::new(None) };
    /// Databases that this thread reads in place, and their stamps when they were opened.
    static IN_PLACE: RefCell<Vec<(PathBuf, Stamp)>> = const { RefCell::new(Vec::new()) };
}

struct Opened {
    held: Arc<Held>,
    database: Database,
    in_place: Vec<(PathBuf, Stamp)>,
}

impl RunCache {
    /// RunCache whose copies go into a folder.
    pub(crate) fn copied_into(folder: PathBuf) -> Self {
        Self { folder: Some(folder), ..Self::default() }
    }

    fn held(&self, path: &Path) -> Arc<Held> {
        let mut all = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(path.to_owned()).or_default())
    }

    pub(super) fn open(&self, path: &Path) -> Result<Database, Reject> {
        let held = self.held(path);
        OPENED.with_borrow_mut(|opened| {
            if let Some(known) = opened.as_ref().filter(|known| Arc::ptr_eq(&known.held, &held))
                && (known.database.copy.is_some() || !held.is_copied())
            {
                IN_PLACE.with_borrow_mut(|in_place| in_place.extend(known.in_place.iter().cloned()));
                known.database.bounds.begin();
                return Ok(known.database.clone());
            }
            let before = IN_PLACE.with_borrow(Vec::len);
            let database = self.open_held(&held, path)?;
            let in_place = IN_PLACE.with_borrow(|all| all.get(before..).unwrap_or_default().to_vec());
            *opened = Some(Opened { held, database: database.clone(), in_place });
            Ok(database)
        })
    }

    /// Starts watching the databases that this thread reads in place.
    pub(crate) fn watch() {
        IN_PLACE.with_borrow_mut(Vec::clear);
        LeftOut::take();
    }

    /// Takes what was skipped since [`Self::watch`].
    pub(crate) fn left_out() -> LeftOut {
        LeftOut::take()
    }

    /// True if a database that this thread has read in place since [`Self::watch`] changed meanwhile, so that the
    /// result may mix two states. It is read from a copy the next time. With `is_read_again`, every database is: it is
    /// read twice, and may change in between.
    pub(crate) fn have_changed(&self, is_read_again: bool) -> bool {
        let read = IN_PLACE.with_borrow_mut(std::mem::take);
        let is_same = |(path, stamp): &(PathBuf, Stamp)| {
            !is_read_again && !has_journal(path) && Stamp::of(path).is_ok_and(|now| now == *stamp)
        };
        let changed: Vec<&(PathBuf, Stamp)> = read.iter().filter(|read| !is_same(read)).collect();
        for (path, _) in &changed {
            let held = self.held(path);
            let mut copy = held.copy.lock().unwrap_or_else(PoisonError::into_inner);
            if !matches!(*copy, PrivateCopy::In(_)) {
                *copy = PrivateCopy::Wanted;
            }
            *held.survey.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        if !changed.is_empty() {
            OPENED.with_borrow_mut(Option::take);
        }
        !changed.is_empty()
    }

    fn open_held(&self, held: &Held, path: &Path) -> Result<Database, Reject> {
        let mut copy = held.copy.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*copy, PrivateCopy::NotMade | PrivateCopy::Wanted) {
            let is_wanted = matches!(*copy, PrivateCopy::Wanted);
            let made = private_copy(path, self.folder.as_deref(), is_wanted)?;
            *copy = made.map_or(PrivateCopy::NotNeeded, |folder| PrivateCopy::In(Arc::new(folder)));
        }
        let copy = match &*copy {
            PrivateCopy::In(folder) => Some(Arc::clone(folder)),
            PrivateCopy::NotMade | PrivateCopy::Wanted | PrivateCopy::NotNeeded => None,
        };
        Database::open_with(path, copy, Arc::clone(&held.spent))
    }

    pub(super) fn survey<T: Any + Send + Sync>(
        &self,
        path: &Path,
        make: impl FnOnce() -> Result<T, Reject>,
    ) -> Result<Arc<T>, Reject> {
        let held = self.held(path);
        let mut survey = held.survey.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = survey.clone().and_then(|known| known.downcast().ok()) {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        *survey = Some(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        Ok(made)
    }
}

/// Copies a database and its log or journal, if one is in use or if a copy is needed anyway.
fn private_copy(path: &Path, folder: Option<&Path>, is_wanted: bool) -> Result<Option<tempfile::TempDir>, Reject> {
    let needs_copy = is_wanted || has_log(path) || has_journal(path);
    needs_copy.then(|| consistent_copy(path, folder)).transpose().map_err(Reject::Io)
}

/// True if there are transactions next to a database that are not in it yet.
fn has_log(path: &Path) -> bool {
    std::fs::metadata(sibling(path, "-wal")).is_ok_and(|metadata| metadata.len() > 0)
}

/// True if a transaction has begun to overwrite pages of a database and is not over. A journal that is kept for reuse
/// begins with zeros.
fn has_journal(path: &Path) -> bool {
    super::head(&sibling(path, "-journal"), JOURNAL_MAGIC.len() as u64).is_ok_and(|head| head == JOURNAL_MAGIC)
}

/// Returns the bytes of a text or blob, or `None` for other values.
pub(crate) fn value_bytes(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
        ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Null => None,
    }
}

/// Returns a value as text, also if it is a number.
pub(crate) fn value_text(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Null => None,
    }
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    path.with_file_name(name)
}

fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => uri.push(char::from(*byte)),
            _ => uri.extend(['%', hex(byte >> 4), hex(byte & 15)]),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

fn hex(digit: u8) -> char {
    char::from_digit(u32::from(digit), 16).unwrap_or('0').to_ascii_uppercase()
}

/// Copies a consistent state of a database with its log or journal. SQLite rolls such a copy back to the last whole
/// transaction, as after a crash.
fn consistent_copy(path: &Path, into: Option<&Path>) -> io::Result<tempfile::TempDir> {
    let (log, journal) = (sibling(path, "-wal"), sibling(path, "-journal"));
    // A log only grows, until all of it is in the database and it restarts with another header. A journal must not
    // change.
    let state =
        || -> io::Result<_> { Ok((Stamp::of(path)?, super::head(&log, LOG_HEADER).ok(), Stamp::of(&journal).ok())) };
    for attempt in 0..COPIES {
        if interrupted() {
            break;
        }
        let folder = into.map_or_else(tempfile::tempdir, tempfile::tempdir_in)?;
        let before = state()?;
        copy_into(path, folder.path())?;
        for companion in [&log, &journal] {
            absent_is_fine(copy_into(companion, folder.path()))?;
        }
        if before == state()? {
            return Ok(folder);
        }
        // Irregular pauses hit the gaps between the writes of a program that writes regularly.
        let pause = (u64::from(attempt) * 7 + 3) % LONGEST_PAUSE;
        std::thread::sleep(std::time::Duration::from_millis(pause));
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "the database kept changing while it was copied"))
}

fn absent_is_fine(copied: io::Result<()>) -> io::Result<()> {
    match copied {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied,
    }
}

fn copy_into(path: &Path, folder: &Path) -> io::Result<()> {
    let mut from = Interruptible(super::open_regular(path)?);
    let to = private_file(&folder.join(path.file_name().unwrap_or_default()))?;
    let mut to = io::BufWriter::with_capacity(READ_AT_A_TIME, to);
    io::copy(&mut from, &mut to)?;
    to.into_inner()?;
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "writes the private copy of a database; the lake does not depend on it")]
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
