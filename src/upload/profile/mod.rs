//! Upload profiles: everything, everything except secrets and personal data, or only counts and times.

mod columns;
mod rewrite;
#[cfg(test)]
#[expect(clippy::string_slice, reason = "a wrong cut fails the test, as it should")]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use crate::Result;
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::{FileEntry, Manifest};
use crate::lake::part;
use crate::redact::{self, Counts, Personal, Redactor};
use crate::tables::{SESSIONS, SessionColumns, TableDef};

/// Raised if a profile removes more than before, so that all files are uploaded again.
const VERSION: u32 = 3;

/// Amount of detail that is uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Files as they are.
    Full,
    /// Texts after the strict rules for secrets, without e-mail and IP addresses and user names.
    #[default]
    Redacted,
    /// No text, input, output, command or title; paths, branches, repositories, and ids that are not random as keyed
    /// hashes.
    Metrics,
}

/// The profile of an upload and its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// The profile.
    pub profile: Profile,
    /// True if [`Profile::Metrics`] keeps the names of projects.
    pub keep_projects: bool,
}

/// Rewrites the lake's files for an upload.
#[derive(Clone)]
pub(super) struct Rewriter {
    choice: Choice,
    id: String,
    /// Key of hashes. It belongs to the lake, so that nobody else can test guesses of paths.
    key: [u8; 32],
    redactor: Redactor,
    /// Names of users in the lake's own paths.
    users: BTreeSet<String>,
}

impl Rewriter {
    pub(super) fn new(choice: Choice, lake: &Manifest) -> Self {
        let key = blake3::derive_key("llrem 2026 upload", &lake.redaction_key);
        let id = match choice {
            Choice { profile: Profile::Full, .. } => "full".to_owned(),
            Choice { profile: Profile::Redacted, .. } => format!("redacted {VERSION}"),
            Choice { profile: Profile::Metrics, keep_projects: false } => format!("metrics {VERSION}"),
            Choice { profile: Profile::Metrics, keep_projects: true } => format!("metrics {VERSION} projects"),
        };
        let paths = lake.sources.keys().map(|path| &**path).chain(lake.project_paths.iter().map(String::as_str));
        let users = paths.filter_map(redact::user_of).map(str::to_owned).collect();
        Self { choice, id, key, redactor: Redactor::new(redact::Mode::Strict, key), users }
    }

    /// Returns a fingerprint of all settings that decide what is removed.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// True if files are rewritten.
    pub(super) fn rewrites(&self) -> bool {
        self.choice.profile != Profile::Full
    }

    /// Returns names of users that a part's files may contain.
    pub(super) fn users(&self, layout: &Layout, lake: &Manifest, name: &PartName) -> Result<BTreeSet<String>> {
        let mut users = self.users.clone();
        let path = layout.root().join(Layout::part(&SESSIONS, &lake.machine, name));
        if !path.exists() {
            return Ok(users);
        }
        for batch in part::read(&path, &SESSIONS)? {
            let batch = batch?;
            let sessions = SessionColumns::of(&batch);
            for row in 0..batch.num_rows() {
                users.extend(sessions.user_name(row).map(str::to_owned));
                users.extend(sessions.project_path(row).and_then(redact::user_of).map(str::to_owned));
            }
        }
        Ok(users)
    }

    /// Writes the uploaded form of an open data file to `to`.
    pub(super) fn rewrite(
        &self,
        file: File,
        from: &Path,
        table: &'static TableDef,
        users: &BTreeSet<String>,
        to: &Path,
    ) -> Result<(FileEntry, Counts)> {
        let personal = Personal::new(self.key, users);
        let cleaner = rewrite::Cleaner { rewriter: self, personal };
        cleaner.rewrite(file, from, table, to)
    }
}
