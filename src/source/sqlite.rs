//! SQLite databases of agents that may be running: every row is read, nothing beside the file is made or changed.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

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
pub struct Database {
    connection: Connection,
    _copy: Option<tempfile::TempDir>,
}

impl Deref for Database {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Database {
    pub(super) fn open(path: &Path) -> Result<Self, Reject> {
        let log = sibling(path, "-wal");
        let has_log = std::fs::metadata(&log).is_ok_and(|metadata| metadata.len() > 0);
        let (connection, copy) = if has_log {
            let folder = copy_pair(path, &log).map_err(Reject::Io)?;
            let name = path.file_name().unwrap_or_default();
            // The copy is ours: SQLite may build its shared-memory index beside it.
            (Connection::open_with_flags(folder.path().join(name), OpenFlags::SQLITE_OPEN_READ_WRITE)?, Some(folder))
        } else {
            super::open_regular(path).map_err(Reject::Io)?;
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            (Connection::open_with_flags(immutable_uri(path), flags)?, None)
        };
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
        connection.execute_batch("PRAGMA query_only = 1; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
        Ok(Self { connection, _copy: copy })
    }

    /// The columns of a table; empty when there is no such table.
    pub fn columns(&self, table: &str) -> Result<Vec<String>, Reject> {
        let mut statement = self.connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let names = statement.query_map([table], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        Ok(names)
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
fn copy_pair(path: &Path, log: &Path) -> io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
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
