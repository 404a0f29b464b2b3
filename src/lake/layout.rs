//! The paths of a lake.

use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::tables::TableDef;

/// Folder of the lake's own state.
pub(crate) const STATE: &str = "_llrem";

/// A lake's paths.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    root: PathBuf,
}

/// Identity of a part: its partition, and its name there.
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

    /// Returns the folder for files that are not committed yet.
    pub(crate) fn staging(&self) -> PathBuf {
        self.state().join("staging")
    }

    /// Returns the folder with the notes of what each thread of a run is reading.
    pub(crate) fn reading(&self) -> PathBuf {
        self.state().join("reading")
    }

    /// Returns the file with the sources that were being read when a run died.
    pub(crate) fn suspects(&self) -> PathBuf {
        self.state().join("suspects")
    }

    /// Returns the file that marks the lake of `llrem demo`, and says for which day it was made.
    pub(crate) fn demo(&self) -> PathBuf {
        self.state().join("demo")
    }

    /// Returns the file with the findings that `detect --new` has reported.
    pub(crate) fn reported(&self) -> PathBuf {
        self.state().join("reported")
    }

    /// Returns the lock file of `detect --new`.
    pub(crate) fn reported_lock(&self) -> PathBuf {
        self.state().join("reported-lock")
    }

    /// Returns the lock file of uploads.
    pub(crate) fn upload_lock(&self) -> PathBuf {
        self.state().join("upload-lock")
    }

    /// Returns the folder with the ledgers of uploads, by destination.
    pub(crate) fn uploads(&self) -> PathBuf {
        self.state().join("uploads")
    }

    /// Returns the folder for files that are rewritten before their upload.
    pub(crate) fn outgoing(&self) -> PathBuf {
        self.state().join("outgoing")
    }

    pub(crate) fn table(&self, table: &TableDef) -> PathBuf {
        self.root.join(table.name)
    }

    /// Returns the folder of a partition, relative to the lake.
    pub(crate) fn partition(table: &TableDef, machine: &str, agent: &str, month: &str) -> String {
        format!("{}/machine={machine}/agent={agent}/month={month}", table.name)
    }

    /// Returns a part's file of one table, relative to the lake.
    pub(crate) fn part(table: &TableDef, machine: &str, part: &PartName) -> String {
        format!("{}/{}.parquet", Self::partition(table, machine, &part.agent, &part.month), part.name)
    }

    /// Returns a part's claims, relative to the lake.
    pub(crate) fn claims(part: &PartName) -> String {
        format!("{STATE}/claims/{}/{}/{}.claims", part.agent, part.month, part.name)
    }
}

impl PartName {
    /// Returns the part of a table's file, by its path relative to the lake, or `None` for other files.
    pub(crate) fn of_file(table: &TableDef, machine: &str, path: &str) -> Option<Self> {
        let rest = path.strip_prefix(table.name)?.strip_prefix("/machine=")?.strip_prefix(machine)?;
        let (agent, rest) = rest.strip_prefix("/agent=")?.split_once('/')?;
        let (month, file) = rest.strip_prefix("month=")?.split_once('/')?;
        let name = file.strip_suffix(".parquet").filter(|name| !name.contains('/'))?;
        Some(Self { agent: agent.to_owned(), month: month.to_owned(), name: name.to_owned() })
    }
}

/// Longest name of a machine that stays unchanged. Letters.
const LONGEST_NAME: usize = 64;

/// Returns a machine's name in a form that is valid in a path. If letters are lost, a hash of the whole name is added:
/// two machines of a team may differ in nothing else.
pub(crate) fn machine_name(name: &str) -> String {
    let safe = safe_name(name);
    match (safe.as_str(), name) {
        (_, "") => "unknown".to_owned(),
        (safe, name) if safe == name => name.to_owned(),
        (safe, name) => format!("{safe}-{:08x}", xxh3_64(name.as_bytes()) >> 32),
    }
}

/// True if a lake with this name belongs to the machine of that name. Before 0.2, punctuation was dropped without a
/// hash.
pub(crate) fn is_name_of(kept: &str, machine: &str) -> bool {
    kept == machine_name(machine) || (machine.is_ascii() && kept == safe_name(machine))
}

fn safe_name(name: &str) -> String {
    let safe: String = name
        .chars()
        .take(LONGEST_NAME)
        .map(|letter| if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.') { letter } else { '-' })
        .collect();
    safe.trim_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_its_part() {
        let part = PartName { agent: "codex".into(), month: "2026-01".into(), name: "2026-01-02-0000beef".into() };
        let path = Layout::part(&crate::tables::USAGE, "m", &part);
        assert_eq!(PartName::of_file(&crate::tables::USAGE, "m", &path), Some(part));
        for (machine, path) in [
            ("n", path.as_str()),
            ("m", "usage/machine=m/x.parquet"),
            ("m", "usage/machine=mm/agent=a/month=b/c.parquet"),
        ] {
            assert_eq!(PartName::of_file(&crate::tables::USAGE, machine, path), None, "{path}");
        }
    }

    #[test]
    fn a_machine_name_cannot_leave_its_folder() {
        for (name, safe) in [
            ("../../etc", "-..-etc-"),
            ("laptop.local", "laptop.local"),
            ("", "unknown"),
            ("a/b=c", "a-b-c-"),
            (".", "-"),
        ] {
            assert!(machine_name(name).starts_with(safe), "{name}");
        }
        assert_eq!(machine_name("laptop.local"), "laptop.local");
    }

    #[test]
    fn machines_that_differ_in_other_letters_have_other_names() {
        let long = "a".repeat(LONGEST_NAME);
        for [a, b] in [
            ["büro", "bäro"],
            ["東京", "大阪"],
            ["anna's mac", "anna-s-mac"],
            [".", ".."],
            [&format!("{long}1"), &format!("{long}2")],
        ] {
            assert_ne!(machine_name(a), machine_name(b));
            assert!([a, b].iter().all(|name| machine_name(name).is_ascii()));
        }
        assert!(machine_name("büro").starts_with("b-ro-"));
    }

    #[test]
    fn a_lake_keeps_the_name_that_it_was_made_with() {
        for (kept, machine) in [("anna-s-mac", "anna's mac"), (&machine_name("anna's mac"), "anna's mac"), ("a", "a")] {
            assert!(is_name_of(kept, machine), "{kept}");
        }
        assert!(!is_name_of("anna-s-mac", "annas-mac"));
    }
}
