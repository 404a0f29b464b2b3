//! Options and results of an upload.

use std::path::PathBuf;

use super::profile::Choice;
use crate::redact::Counts;
use crate::remote;

/// Options of one `llrem upload`.
#[derive(Debug, Clone)]
pub struct Options {
    /// The lake's folder.
    pub lake: PathBuf,
    /// Destination.
    pub url: String,
    /// Access to the store.
    pub storage: remote::Options,
    /// Profile of the upload.
    pub profile: Choice,
    /// List what would be uploaded and deleted, and change nothing.
    pub dry_run: bool,
    /// Upload every file again, and delete files at the destination that are not in the lake.
    pub full: bool,
    /// Replace what another lake, or a copy of this one, uploaded under the machine's name.
    pub replace: bool,
}

/// Results of an upload.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Files uploaded.
    pub files_put: u64,
    /// Bytes uploaded.
    pub bytes_put: u64,
    /// Files deleted.
    pub files_removed: u64,
    /// Secrets and personal data replaced, by kind.
    pub replaced: Counts,
    /// Wall time. Seconds.
    pub seconds: f64,
    /// With `dry_run`: the files that would be uploaded or deleted.
    pub planned: Vec<PlannedFile>,
}

/// A file that would be uploaded or deleted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedFile {
    /// Its key below the URL.
    pub path: String,
    /// True if it would be deleted, false if uploaded.
    pub is_removed: bool,
    /// Its size in the store, if known. Bytes.
    pub bytes: Option<u64>,
}
