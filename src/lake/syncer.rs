//! Syncs staged files to disk in the background. A worker that waited for the disk after each file would waste its
//! core, and files that are synced at the same time share a commit of the file system.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::fs;
use crate::error::Result;

/// Files that are synced at a time.
const THREADS: usize = 4;
/// Files that may wait, each open. If there are more, the writers wait.
const WAITING: usize = 64;

type Written = (File, PathBuf);

/// Syncs the files that it is given. A commit waits for all of them before it starts.
pub struct Syncer {
    queue: SyncSender<Written>,
    threads: Vec<JoinHandle<Result<()>>>,
}

impl Syncer {
    /// Starts the threads. They end when the syncer is waited for or dropped.
    pub fn start() -> Self {
        let (queue, files) = sync_channel(WAITING);
        let files = Arc::new(Mutex::new(files));
        let threads = (0..THREADS).map(|_| {
            let files = Arc::clone(&files);
            std::thread::spawn(move || sync_all(&files))
        });
        Self { queue, threads: threads.collect() }
    }

    /// Queues a file to be synced before the commit.
    pub(crate) fn sync(&self, file: File, path: &Path) -> Result<()> {
        // A queue without readers has lost its threads to an error. The file is synced here.
        self.queue.send((file, path.to_owned())).or_else(|unsent| fs::sync(&unsent.0.0, path))
    }

    /// Writes a whole file, and queues it to be synced before the commit.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.sync(fs::write_unsynced(path, bytes)?, path)
    }

    /// Waits until all files are on disk.
    ///
    /// # Errors
    /// Fails with the first error of a sync.
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
