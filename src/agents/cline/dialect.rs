//! What tells the extensions apart that write Cline's files.

/// One extension's use of the files.
pub(in crate::agents) struct Dialect {
    /// Value of the `agent` column.
    pub(in crate::agents) agent: &'static str,
    /// Folders in an editor's `globalStorage`.
    pub(in crate::agents) extensions: &'static [&'static str],
    /// Folders below the home that hold a storage of their own.
    pub(in crate::agents) storages: &'static [&'static str],
    /// Setting of the editor that names a folder for tasks, beside the usual ones.
    pub(in crate::agents) storage_setting: Option<&'static str>,
    /// What stands in tasks of this extension and of no other, whose folders say by no name whose they are.
    pub(in crate::agents) signs: Signs,
    /// True if tasks that lie elsewhere, and say by no name whose they are, are this extension's.
    pub(in crate::agents) takes_nameless: bool,
    /// Since when `tokensIn` is the whole prompt, whatever the provider. Milliseconds since 1970.
    pub(in crate::agents) whole_prompt_since: Option<i64>,
}

/// What tells whose a task is.
pub(in crate::agents) struct Signs {
    /// Names of files beside the others.
    pub(in crate::agents) files: &'static [&'static str],
    /// Names in the records of requests.
    pub(in crate::agents) words: &'static [&'static str],
}

impl Dialect {
    /// Returns true if it is Cline itself, which tells the provider of each request but has no one meaning of
    /// `tokensIn`.
    pub(super) fn is_cline(&self) -> bool {
        self.whole_prompt_since.is_none()
    }
}
