//! Differences between the extensions that write Cline's files.

/// One extension's use of the files.
pub(in crate::agents) struct Dialect {
    /// Value of the `agent` column.
    pub(in crate::agents) agent: &'static str,
    /// Folders in an editor's `globalStorage`.
    pub(in crate::agents) extensions: &'static [&'static str],
    /// Folders below the home that hold a storage of their own.
    pub(in crate::agents) storages: &'static [&'static str],
    /// Setting of the editor that names a folder for tasks, in addition to the usual ones.
    pub(in crate::agents) storage_setting: Option<&'static str>,
    /// Signs of this extension's tasks, for folders whose names do not show the extension.
    pub(in crate::agents) signs: Signs,
    /// True if tasks elsewhere, without a name that shows their extension, are this extension's.
    pub(in crate::agents) takes_nameless: bool,
    /// Time from which `tokensIn` is the whole prompt for every provider. Milliseconds since 1970.
    pub(in crate::agents) whole_prompt_since: Option<i64>,
}

/// Signs of the extension that wrote a task.
pub(in crate::agents) struct Signs {
    /// Names of additional files.
    pub(in crate::agents) files: &'static [&'static str],
    /// Names in the records of requests.
    pub(in crate::agents) words: &'static [&'static str],
}

impl Dialect {
    /// Returns true if it is Cline itself, which records the provider of each request but has no single meaning of
    /// `tokensIn`.
    pub(super) fn is_cline(&self) -> bool {
        self.whole_prompt_since.is_none()
    }
}
