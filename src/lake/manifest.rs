//! The manifest: what was read from where, and which files hold it. Written last, in one step.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fs;
use super::layout::{Layout, PartName};
use super::ledger::Ledger;
use crate::error::{Error, Result};
use crate::extract::{Facts, Note};
use crate::source::{Extent, Fingerprint};
use crate::tables::SourceState;

/// Layout version of lakes that this llrem writes; it reads those up to it.
pub(crate) const VERSION: u32 = 1;

/// What stands before the manifest's content, so that no other file is taken for one.
const MAGIC: &[u8; 8] = b"LLREMLK\n";
/// What a manifest begins with, and its version. Bytes.
const HEAD: u64 = 8 + 4;

/// The state of a lake.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Value of the `machine` partition.
    pub(crate) machine: String,
    /// Key of the hashes that stand for secrets.
    pub(crate) redaction_key: [u8; 32],
    /// Rises with every commit.
    pub(crate) generation: u64,
    /// What texts were kept and replaced when the rows were written; another choice extracts again.
    pub(crate) policy: String,
    /// Every source that was ever read, by path; the sections of one by path, `#` and id.
    pub(crate) sources: BTreeMap<String, SourceEntry>,
    /// Every part.
    pub(crate) parts: BTreeMap<PartName, PartEntry>,
    /// Every project path that a session ever named, so that those that name only its hash find it.
    pub(crate) project_paths: BTreeSet<String>,
    /// What should be in the lake. Stored after all else, where an llrem that does not know it leaves it alone.
    #[serde(skip)]
    pub(crate) ledger: Ledger,
}

/// A source as it was last read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SourceEntry {
    pub(crate) agent: String,
    pub(crate) kind: String,
    /// Id of the section that it is of its file.
    pub(crate) section: Option<String>,
    pub(crate) print: Fingerprint,
    pub(crate) parser_version: u32,
    pub(crate) state: SourceState,
    pub(crate) lines: u64,
    pub(crate) bad_lines: u64,
    pub(crate) first_bad_line: Option<u64>,
    pub(crate) problem: Option<String>,
    pub(crate) unknown: Option<String>,
    pub(crate) redactions: Option<String>,
    /// Rows in sessions, messages, `tool_calls` and usage.
    pub(crate) rows: [u64; 4],
    pub(crate) extracted_at: i64,
    pub(crate) llrem_version: String,
    /// What it says of other sources' rows.
    pub(crate) notes: Vec<Note>,
    /// Extent of its files before the last reading. Stored behind the ledger, so that earlier versions of llrem can read the
    /// manifest: they ignore what is there.
    #[serde(skip)]
    pub(crate) extent: Option<Extent>,
}

impl SourceState {
    /// Returns true if something of it could not be read.
    pub(crate) fn is_bad(self) -> bool {
        matches!(self, Self::Partial | Self::Unreadable)
    }
}

/// Some sessions, and the files that hold their rows: one of each table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartEntry {
    /// The sessions, in the order of their rows.
    pub(crate) sessions: Vec<SessionEntry>,
    /// The files, as `tables::LAKE_TABLES`; none where the part has no rows.
    pub(crate) files: [Option<FileEntry>; 4],
}

impl PartEntry {
    /// Bytes of sources that its sessions were read from.
    pub(crate) fn weight(&self) -> u64 {
        self.sessions.iter().map(|session| session.weight).sum()
    }
}

/// A session as it was last written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionEntry {
    pub(crate) id: String,
    /// Paths of the sources that hold it.
    pub(crate) sources: Vec<String>,
    /// First record of its own.
    pub(crate) started_at: Option<i64>,
    /// Bytes of its sources.
    pub(crate) weight: u64,
    /// Hash of what was extracted, so that an unchanged session of a changed source is not written again.
    pub(crate) digest: u64,
    /// Hash of what other sources say of it.
    pub(crate) notes: u64,
    /// What its own source says of it.
    pub(crate) marks: Marks,
    /// SHA-256 of its project's path, where its own source gives only that.
    pub(crate) project_hash: Option<String>,
    /// Rows in messages, `tool_calls` and usage.
    pub(crate) rows: [u64; 3],
}

impl SessionEntry {
    /// Whether it has a row in `sessions`: one whose records are all another's has none.
    pub(crate) fn has_row(&self) -> bool {
        self.rows != [0; 3] || self.marks.is_one_when_empty()
    }
}

/// Flags in one byte, so that manifests from when there was but the first can be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marks(u8);

impl Marks {
    const HAS_TITLE: u8 = 1;
    const IS_ONE_WHEN_EMPTY: u8 = 2;
    const HAS_SUMMARY: u8 = 4;

    pub(crate) fn of(facts: &Facts) -> Self {
        let title = Self::mark(facts.title.is_some(), Self::HAS_TITLE);
        let summary = Self::mark(facts.summary.is_some(), Self::HAS_SUMMARY);
        Self(title | summary | Self::mark(facts.is_one_when_empty, Self::IS_ONE_WHEN_EMPTY))
    }

    fn mark(is_so: bool, mark: u8) -> u8 {
        if is_so { mark } else { 0 }
    }

    /// Whether its own source gives it a title.
    pub(crate) fn has_title(self) -> bool {
        self.0 & Self::HAS_TITLE != 0
    }

    /// Returns true if the summary is from its own source.
    pub(crate) fn has_summary(self) -> bool {
        self.0 & Self::HAS_SUMMARY != 0
    }

    /// Whether it has a row in `sessions` though it has none elsewhere.
    pub(crate) fn is_one_when_empty(self) -> bool {
        self.0 & Self::IS_ONE_WHEN_EMPTY != 0
    }
}

/// A data file as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// BLAKE3 of its content.
    pub(crate) hash: [u8; 32],
}

/// Problem of a source that is skipped until it changes.
pub(crate) const FATAL: &str =
    "llrem died again and again while it read only this source; it is skipped until it changes";

impl SourceEntry {
    /// Returns true if reading the source has killed the program.
    pub(crate) fn is_fatal(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.contains(FATAL))
    }

    /// The file of the source of that name.
    pub(crate) fn file<'n>(&self, name: &'n str) -> &'n str {
        let section = self.section.as_ref().and_then(|section| name.strip_suffix(section.as_str()));
        section.and_then(|rest| rest.strip_suffix('#')).unwrap_or(name)
    }
}

impl Manifest {
    /// The sections that are known of a source, with their names.
    pub(crate) fn sections_of<'m>(&'m self, name: &str) -> impl Iterator<Item = (&'m str, &'m SourceEntry)> + use<'m> {
        let from = format!("{name}#");
        let those = self.sources.range(from.clone()..).take_while(move |(name, _)| name.starts_with(&from));
        those.map(|(name, entry)| (name.as_str(), entry)).filter(|(_, entry)| entry.section.is_some())
    }

    /// Stands for the lake, wherever it lies; tells nothing of the key that it is made of.
    pub(crate) fn id(&self) -> [u8; 16] {
        let hash = blake3::derive_key("llrem 2026 lake id", &self.redaction_key);
        hash.first_chunk().copied().unwrap_or_default()
    }

    /// The manifest of a lake; none where there is no lake.
    pub(crate) fn load(layout: &Layout) -> Result<Option<Self>> {
        let path = layout.manifest();
        fs::read(&path)?.map(|bytes| Self::decode(&bytes, &path, layout.root())).transpose()
    }

    /// Whether there is a lake, and one that can be read. Of a large one, all of the manifest takes longer to read than many
    /// a query.
    pub(crate) fn is_there(layout: &Layout) -> Result<bool> {
        let path = layout.manifest();
        let start = fs::read_start(&path, HEAD)?;
        start.map_or(Ok(false), |start| behind_version(&start, &path, layout.root()).map(|_| true))
    }

    pub(crate) fn decode(bytes: &[u8], path: &Path, lake: &Path) -> Result<Self> {
        let damaged = |reason: &str| damaged(path, reason);
        let rest = behind_version(bytes, path, lake)?;
        let (hash, content) = rest.split_first_chunk::<32>().ok_or_else(|| damaged("it is cut off"))?;
        if blake3::hash(content).as_bytes() != hash {
            return Err(damaged("its content does not have the hash it should have"));
        }
        let damaged = |error: postcard::Error| damaged(&error.to_string());
        let (mut manifest, rest) = postcard::take_from_bytes::<Self>(content).map_err(damaged)?;
        if !rest.is_empty() {
            let (ledger, rest) = postcard::take_from_bytes(rest).map_err(damaged)?;
            manifest.ledger = ledger;
            if !rest.is_empty() {
                let extents: Vec<Option<Extent>> = postcard::from_bytes(rest).map_err(damaged)?;
                for (entry, extent) in manifest.sources.values_mut().zip(extents) {
                    entry.extent = extent;
                }
            }
        }
        Ok(manifest)
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let unwritten = |error| Error::Query(format!("cannot write the manifest: {error}"));
        let mut head = [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat();
        head.resize(head.len() + 32, 0);
        let content = head.len();
        let bytes = postcard::to_extend(self, head).map_err(unwritten)?;
        let bytes = postcard::to_extend(&self.ledger, bytes).map_err(unwritten)?;
        let extents: Vec<Option<&Extent>> = self.sources.values().map(|entry| entry.extent.as_ref()).collect();
        let mut bytes = postcard::to_extend(&extents, bytes).map_err(unwritten)?;
        if let Some((head, content)) = bytes.split_at_mut_checked(content)
            && let Some(hash) = head.last_chunk_mut()
        {
            *hash = *blake3::hash(content).as_bytes();
        }
        Ok(bytes)
    }
}

/// What follows the version in a manifest, if this llrem knows that.
fn behind_version<'b>(bytes: &'b [u8], path: &Path, lake: &Path) -> Result<&'b [u8]> {
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| damaged(path, "it does not begin as a manifest"))?;
    let (version, rest) = rest.split_first_chunk().ok_or_else(|| damaged(path, "it is cut off"))?;
    let version = u32::from_le_bytes(*version);
    if version > VERSION {
        return Err(Error::NewerLake { path: lake.to_owned(), found: version, known: VERSION });
    }
    Ok(rest)
}

fn damaged(path: &Path, reason: &str) -> Error {
    Error::DamagedState { path: path.to_owned(), reason: reason.to_owned() }
}
