//! SQLite databases of agents that may be running: every row is read, nothing beside the file is made or changed.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Statement};

use crate::extract::Reject;

/// Longest text or blob that is read from a database. Bytes.
const MAX_VALUE: i32 = 256 << 20;
/// How often a database that changes while it is copied is copied again.
const COPIES: usize = 5;

/// An agent's database, open for reading only.
///
/// With a non-empty write-ahead log beside it, the pair is copied to a private folder and opened there: opening it in
/// place could make or checkpoint files beside it, and ignoring the log loses rows. Without one, the file alone is the
/// whole database, and is opened as immutable, so that no lock is taken.
#[derive(Clone)]
pub struct Database {
    connection: Rc<Connection>,
    _copy: Option<Arc<tempfile::TempDir>>,
}

impl Deref for Database {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self, Reject> {
        let copy = private_copy(path, None)?.map(Arc::new);
        Self::open_with(path, copy)
    }

    fn open_with(path: &Path, copy: Option<Arc<tempfile::TempDir>>) -> Result<Self, Reject> {
        let connection = if let Some(folder) = &copy {
            let name = path.file_name().unwrap_or_default();
            // The copy is ours: SQLite may build its shared-memory index beside it.
            Connection::open_with_flags(folder.path().join(name), OpenFlags::SQLITE_OPEN_READ_WRITE)?
        } else {
            super::open_regular(path).map_err(Reject::Io)?;
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(path), flags)?
        };
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
        connection.execute_batch("PRAGMA query_only = 1; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
        Ok(Self { connection: Rc::new(connection), _copy: copy })
    }

    /// The columns of a table; empty when there is no such table.
    pub fn columns(&self, table: &str) -> Result<Vec<String>, Reject> {
        let mut statement = self.connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let names = statement.query_map([table], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        Ok(names)
    }

    /// A statement that gives columns of a table, and what of it `rest` asks for; none when there is no such table. Columns
    /// came with the agents' versions: those that are not there are null.
    pub fn select(&self, table: &str, columns: &[&str], rest: &str) -> Result<Option<Statement<'_>>, Reject> {
        let there = self.columns(table)?;
        if there.is_empty() {
            return Ok(None);
        }
        let known = |column: &&str| {
            if there.iter().any(|name| name == column) { (*column).to_owned() } else { "NULL".to_owned() }
        };
        let columns: Vec<String> = columns.iter().map(known).collect();
        Ok(Some(self.connection.prepare(&format!("SELECT {} FROM {table} {rest}", columns.join(", ")))?))
    }
}

/// The databases of a run whose sessions are read one by one: each is copied at most once, and what holds for all of its
/// sessions is found out once.
#[derive(Default)]
pub struct Databases {
    /// Where copies go; the system's folder for temporary files, which may lie in memory, when none is named.
    folder: Option<PathBuf>,
    held: Mutex<HashMap<PathBuf, Arc<Held>>>,
}

#[derive(Default)]
struct Held {
    copy: Mutex<PrivateCopy>,
    survey: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

/// Where the copy of a database is.
#[derive(Default)]
enum PrivateCopy {
    #[default]
    NotMade,
    NotNeeded,
    In(Arc<tempfile::TempDir>),
}

thread_local! {
    /// The database whose sections this thread reads: to open it costs more than to read a small one.
    static OPENED: RefCell<Option<(Arc<Held>, Database)>> = const { RefCell::new(None) };
}

impl Databases {
    /// Databases whose copies go into a folder.
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
            if let Some((of, database)) = opened
                && Arc::ptr_eq(of, &held)
            {
                return Ok(database.clone());
            }
            let database = self.open_held(&held, path)?;
            *opened = Some((held, database.clone()));
            Ok(database)
        })
    }

    fn open_held(&self, held: &Held, path: &Path) -> Result<Database, Reject> {
        let mut copy = held.copy.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*copy, PrivateCopy::NotMade) {
            let made = private_copy(path, self.folder.as_deref())?;
            *copy = made.map_or(PrivateCopy::NotNeeded, |folder| PrivateCopy::In(Arc::new(folder)));
        }
        match &*copy {
            PrivateCopy::In(folder) => Database::open_with(path, Some(Arc::clone(folder))),
            PrivateCopy::NotMade | PrivateCopy::NotNeeded => Database::open_with(path, None),
        }
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

/// A copy of a database and its write-ahead log, where there is one that holds anything.
fn private_copy(path: &Path, folder: Option<&Path>) -> Result<Option<tempfile::TempDir>, Reject> {
    let log = sibling(path, "-wal");
    let has_log = std::fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0);
    has_log.then(|| copy_pair(path, &log, folder)).transpose().map_err(Reject::Io)
}

/// The bytes of a text or blob; anything else has none.
pub(crate) fn value_bytes(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
        ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Null => None,
    }
}

/// A value as text, numbers too.
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

/// Copies database and log so that neither changed meanwhile.
fn copy_pair(path: &Path, log: &Path, into: Option<&Path>) -> io::Result<tempfile::TempDir> {
    let folder = into.map_or_else(tempfile::tempdir, tempfile::tempdir_in)?;
    for _ in 0..COPIES {
        let before = (stamp(path)?, stamp(log).ok());
        copy_into(path, folder.path())?;
        if before.1.is_some() {
            copy_into(log, folder.path())?;
        }
        if before == (stamp(path)?, stamp(log).ok()) {
            return Ok(folder);
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "the database kept changing while it was copied"))
}

fn stamp(path: &Path) -> io::Result<(u64, SystemTime)> {
    let metadata = std::fs::metadata(path)?;
    Ok((metadata.len(), metadata.modified()?))
}

fn copy_into(path: &Path, folder: &Path) -> io::Result<()> {
    let mut from = super::open_regular(path)?;
    let mut to = private_file(&folder.join(path.file_name().unwrap_or_default()))?;
    io::copy(&mut from, &mut to)?;
    Ok(())
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
