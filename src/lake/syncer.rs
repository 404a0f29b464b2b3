//! Brings staged files to the disk while the work goes on: a worker that waited for the disk after each would waste its
//! core, and files that are synced at the same time share the file system's own commit.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::fs;
use crate::error::Result;

/// Files that are synced at a time.
const THREADS: usize = 4;
/// Files that may wait, each open; more make the writers wait.
const WAITING: usize = 64;

type Written = (File, PathBuf);

/// Syncs the files that it is given; a commit takes it, and begins when all of them are on the disk.
pub struct Syncer {
    queue: SyncSender<Written>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Syncer {
    /// Starts the threads; they end when the syncer is waited for or dropped.
    pub fn start() -> Self {
        let (queue, files) = sync_channel(WAITING);
        let files = Arc::new(Mutex::new(files));
        let threads = (0..THREADS).map(|_| {
            let files = Arc::clone(&files);
            std::thread::spawn(move || sync_all(&files))
        });
        Self { queue, threads: threads.collect() }
    }

    /// Sees to it that a file is on the disk before the commit.
    pub(crate) fn sync(&self, file: File, path: &Path) -> Result<()> {
        // A queue that nobody reads has lost its threads to an error; what is left is synced here.
        self.queue.send((file, path.to_owned())).or_else(|unsent| fs::sync(&unsent.0.0, path))
    }

    /// Writes a whole file, and sees to it that it is on the disk before the commit.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.sync(fs::write_unsynced(path, bytes)?, path)
    }

    /// Waits until all files are on the disk.
    ///
    /// # Errors
    /// The first that is not.
    pub(crate) fn wait(self) -> Result<()> {
        drop(self.queue);
        self.threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
    }
}

fn sync_all(files: &Mutex<Receiver<Written>>) -> Result<()> {
    loop {
        let next = files.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((file, path)) = next else { return Ok(()) };
        fs::sync(&file, &path)?;
    }
}
