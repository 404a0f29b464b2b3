//! Estimates how much disk space a run needs.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::Ordering;

use walkdir::WalkDir;

use super::Shared;
use crate::error::Error;

/// Extra space to ask for if the estimate was too low. Bytes.
const MARGIN: u64 = 4 << 20;

/// Adds the needed disk space to an error of a full disk: the staged bytes, extrapolated to all bytes to read. The old
/// files stay until the new ones are complete.
pub(super) fn with_need(shared: &Shared<'_>, to_read: u64) -> impl FnOnce(Error) -> Error {
    move |error| {
        let kind = error.io_source().map(std::io::Error::kind);
        if !matches!(kind, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)) {
            return error;
        }
        let root = shared.run.layout.root();
        let read = shared.bytes.load(Ordering::Relaxed).clamp(1, to_read.max(1));
        let staged = staged_bytes(&shared.run.layout.staging());
        let needed = u128::from(staged) * u128::from(to_read.max(1)) / u128::from(read);
        let needed = u64::try_from(needed).unwrap_or(u64::MAX);
        let free = free_bytes(root).map(|free| free.saturating_add(staged));
        // The free space was not enough, whatever the estimate says.
        let least = free.map_or(0, |free| free.saturating_add(MARGIN));
        Error::DiskFull { path: root.to_owned(), needed: needed.max(least), free, source: Box::new(error) }
    }
}

fn staged_bytes(folder: &Path) -> u64 {
    let files = WalkDir::new(folder).into_iter().filter_map(Result::ok);
    files.filter_map(|file| file.metadata().ok()).filter(std::fs::Metadata::is_file).map(|file| file.len()).sum()
}

/// Returns the free space on a folder's disk. Bytes.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let disk = rustix::fs::statvfs(folder).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}
