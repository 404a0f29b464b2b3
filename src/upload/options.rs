//! What an upload is asked to do, and what it says when it is over.

use std::path::PathBuf;

use super::profile::Choice;
use crate::redact::Counts;
use crate::remote;

/// What one `llrem upload` is asked to do.
#[derive(Debug, Clone)]
pub struct Options {
    /// The lake's folder.
    pub lake: PathBuf,
    /// Where to.
    pub url: String,
    /// How the store is reached.
    pub storage: remote::Options,
    /// What leaves.
    pub profile: Choice,
    /// List what would leave, change nothing.
    pub dry_run: bool,
    /// Put every file again, and remove what is there and not in the lake.
    pub full: bool,
    /// Replace what another lake, or a copy of this one, uploaded under the machine's name.
    pub replace: bool,
}

/// What an upload did.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Files put.
    pub files_put: u64,
    /// Bytes put.
    pub bytes_put: u64,
    /// Files removed.
    pub files_removed: u64,
    /// Secrets and personal data replaced, by kind.
    pub replaced: Counts,
    /// Wall time. Seconds.
    pub seconds: f64,
    /// With `dry_run`: what would be put or removed.
    pub planned: Vec<PlannedFile>,
}

/// A file that would be put or removed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedFile {
    /// Its key below the URL.
    pub path: String,
    /// Whether it would be removed; else it would be put.
    pub is_removed: bool,
    /// Its size in the store, where it is known. Bytes.
    pub bytes: Option<u64>,
}
