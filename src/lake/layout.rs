//! Where everything lies in a lake.

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

    /// What each thread of a run is reading.
    pub(crate) fn reading(&self) -> PathBuf {
        self.state().join("reading")
    }

    /// Sources that were being read when a run died.
    pub(crate) fn suspects(&self) -> PathBuf {
        self.state().join("suspects")
    }

    /// Held while the lake is uploaded.
    pub(crate) fn upload_lock(&self) -> PathBuf {
        self.state().join("upload-lock")
    }

    /// What uploads of the lake have written, by where to.
    pub(crate) fn uploads(&self) -> PathBuf {
        self.state().join("uploads")
    }

    /// Where files are rewritten before they are uploaded.
    pub(crate) fn outgoing(&self) -> PathBuf {
        self.state().join("outgoing")
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

impl PartName {
    /// The part that a file of a table belongs to, by its path relative to the lake; none for other files.
    pub(crate) fn of_file(table: &TableDef, machine: &str, path: &str) -> Option<Self> {
        let rest = path.strip_prefix(table.name)?.strip_prefix("/machine=")?.strip_prefix(machine)?;
        let (agent, rest) = rest.strip_prefix("/agent=")?.split_once('/')?;
        let (month, file) = rest.strip_prefix("month=")?.split_once('/')?;
        let name = file.strip_suffix(".parquet").filter(|name| !name.contains('/'))?;
        Some(Self { agent: agent.to_owned(), month: month.to_owned(), name: name.to_owned() })
    }
}

/// Longest name of a machine that is taken as it is. Letters.
const LONGEST_NAME: usize = 64;

/// A machine's name as it may stand in a path. A name that loses letters ends in a hash of the whole: two machines of a
/// team may differ in nothing else.
pub(crate) fn machine_name(name: &str) -> String {
    let safe = safe_name(name);
    match (safe.as_str(), name) {
        (_, "") => "unknown".to_owned(),
        (safe, name) if safe == name => name.to_owned(),
        (safe, name) => format!("{safe}-{:08x}", xxh3_64(name.as_bytes()) >> 32),
    }
}

/// True if a lake that has this name was made for the machine of that name. Until 0.2, punctuation was lost without a hash.
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
