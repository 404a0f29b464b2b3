//! The extensions that write Cline's files, and the differences between them.

/// One extension's use of the files.
pub(in crate::agents) struct Dialect {
    /// Value of the `agent` column.
    pub(super) agent: &'static str,
    /// Folders in an editor's `globalStorage`.
    pub(super) extensions: &'static [&'static str],
    /// Folders below the home that hold a storage of their own.
    pub(super) storages: &'static [&'static str],
    /// Setting of the editor that names a folder for tasks, in addition to the usual ones.
    pub(super) storage_setting: Option<&'static str>,
    /// Signs of this extension's tasks, for folders whose names do not show the extension.
    pub(super) signs: Signs,
    /// True if tasks elsewhere, without a name that shows their extension, are this extension's.
    pub(super) takes_nameless: bool,
    /// Time from which `tokensIn` is the whole prompt for every provider. Milliseconds since 1970.
    pub(super) whole_prompt_since: Option<i64>,
}

/// Signs of the extension that wrote a task.
pub(super) struct Signs {
    /// Names of additional files.
    pub(super) files: &'static [&'static str],
    /// Names in the records of requests.
    pub(super) words: &'static [&'static str],
}

impl Dialect {
    /// Returns true if it is Cline itself, which records the provider of each request but has no single meaning of
    /// `tokensIn`.
    pub(super) fn is_cline(&self) -> bool {
        self.whole_prompt_since.is_none()
    }
}

pub(super) static CLINE: Dialect = Dialect {
    agent: "cline",
    extensions: &["saoudrizwan.claude-dev", "saoudrizwan.cline-nightly"],
    storages: &[".cline/data"],
    storage_setting: None,
    signs: Signs { files: &[], words: &[] },
    takes_nameless: true,
    whole_prompt_since: None,
};

pub(in crate::agents) static ROO_CODE: Dialect = Dialect {
    agent: "roo-code",
    extensions: &["rooveterinaryinc.roo-cline", "rooveterinaryinc.roo-code-nightly"],
    storages: &[".vscode-mock/global-storage"],
    storage_setting: Some("roo-cline.customStoragePath"),
    signs: Signs { files: &["history_item.json"], words: &["apiProtocol", "condense_context"] },
    takes_nameless: false,
    // 3.29.5, of 2025-11-01.
    whole_prompt_since: Some(1_761_955_200_000),
};

pub(in crate::agents) static KILO_CODE: Dialect = Dialect {
    agent: "kilo-code",
    extensions: &["kilocode.kilo-code"],
    storages: &[],
    storage_setting: Some("kilo-code.customStoragePath"),
    signs: Signs { files: &[], words: &["inferenceProvider", "usageMissing"] },
    takes_nameless: false,
    // 4.119.0, of 2025-11-12.
    whole_prompt_since: Some(1_762_905_600_000),
};

/// Extensions that are not known by name and derive from Roo Code.
pub(super) static FORK_OF_ROO: Dialect = Dialect {
    agent: "cline",
    extensions: &[],
    storages: &[],
    storage_setting: None,
    signs: Signs { files: &[], words: &[] },
    takes_nameless: false,
    whole_prompt_since: ROO_CODE.whole_prompt_since,
};
