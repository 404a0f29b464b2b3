//! Where everything lies in a lake.

use std::path::{Path, PathBuf};

use crate::tables::TableDef;

/// Folder of the lake's own state.
pub(crate) const STATE: &str = "_llrem";

/// A lake's paths.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    root: PathBuf,
}

/// Which partition a part lies in, and its name there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(crate) struct PartName {
    /// Value of the `agent` partition.
    pub(crate) agent: String,
    /// Value of the `month` partition.
    pub(crate) month: String,
    /// Name of the part's file in each table, without extension.
    pub(crate) name: String,
}

impl Layout {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.root.join(STATE)
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.state().join("manifest")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.state().join("journal")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.state().join("lock")
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.state().join("runs.ndjson")
    }

    /// Where files are written before they are committed.
    pub(crate) fn staging(&self) -> PathBuf {
        self.state().join("staging")
    }

    pub(crate) fn table(&self, table: &TableDef) -> PathBuf {
        self.root.join(table.name)
    }

    /// Folder of a partition, relative to the lake.
    pub(crate) fn partition(table: &TableDef, machine: &str, agent: &str, month: &str) -> String {
        format!("{}/machine={machine}/agent={agent}/month={month}", table.name)
    }

    /// A part's file of one table, relative to the lake.
    pub(crate) fn part(table: &TableDef, machine: &str, part: &PartName) -> String {
        format!("{}/{}.parquet", Self::partition(table, machine, &part.agent, &part.month), part.name)
    }

    /// A part's claims, relative to the lake.
    pub(crate) fn claims(part: &PartName) -> String {
        format!("{STATE}/claims/{}/{}/{}.claims", part.agent, part.month, part.name)
    }
}

/// A machine's name as it may stand in a path.
pub(crate) fn machine_name(name: &str) -> String {
    let safe: String = name
        .chars()
        .take(64)
        .map(|letter| if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.') { letter } else { '-' })
        .collect();
    let safe = safe.trim_matches('.').to_owned();
    if safe.is_empty() { "unknown".to_owned() } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_name_cannot_leave_its_folder() {
        for (name, safe) in
            [("../../etc", "-..-etc"), ("laptop.local", "laptop.local"), ("", "unknown"), ("a/b=c", "a-b-c")]
        {
            assert_eq!(machine_name(name), safe);
        }
    }
}
