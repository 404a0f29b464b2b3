//! One writer at a time. Readers take no lock.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::fs;
use super::layout::Layout;
use crate::error::{Error, Result};

/// A lock for writing a lake. Released when dropped, and by the system when the process ends.
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Clears the note, so that a stale file says nothing.
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
    }
}

/// Time that another `detect --new` may take to print.
const PATIENCE: Duration = Duration::from_mins(1);

/// Interval at which a held lock is tried again.
const PAUSE: Duration = Duration::from_millis(100);

impl Lock {
    /// Takes the lock for writing the lake, waiting at most this long.
    pub(crate) fn take(layout: &Layout, wait: Duration) -> Result<Self> {
        Self::take_at(layout, &layout.lock(), wait, Error::ETL)
    }

    /// Takes the lock for uploading the lake, without waiting.
    pub(crate) fn take_for_upload(layout: &Layout) -> Result<Self> {
        Self::take_at(layout, &layout.upload_lock(), Duration::ZERO, "llrem upload")
    }

    /// Takes the lock for reporting new findings, waiting until others have printed theirs.
    pub(crate) fn take_for_report(layout: &Layout) -> Result<Self> {
        Self::take_at(layout, &layout.reported_lock(), PATIENCE, "llrem detect --new")
    }

    fn take_at(layout: &Layout, path: &Path, wait: Duration, command: &'static str) -> Result<Self> {
        let mut file = fs::open_lock(path)?;
        let deadline = Instant::now() + wait;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(Error::io("lock", path)(error)),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    if crate::interrupt::interrupted() {
                        return Err(Error::Interrupted);
                    }
                    std::thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => {
                    let mut holder = String::new();
                    let _ = (&file).take(200).read_to_string(&mut holder);
                    return Err(Error::Locked { command, path: layout.root().to_owned(), holder });
                }
            }
        }
        // The note is only for the message of a waiting process. The lock itself is the system's.
        let note = format!(
            " (process {}, since {} UTC)",
            std::process::id(),
            crate::time::format_utc(Some(crate::time::now()), "%Y-%m-%d %H:%M:%S")
        );
        let _ =
            file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).and_then(|_| file.write_all(note.as_bytes()));
        Ok(Self { file })
    }
}
