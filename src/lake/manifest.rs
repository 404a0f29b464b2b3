//! The manifest: the sources that were read, and the files with their rows. It is written last, in one step.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use postcard::ser_flavors::Size;
use serde::{Deserialize, Deserializer, Serialize};

use super::fs;
use super::layout::{Layout, PartName};
use super::ledger::Ledger;
use crate::error::{Error, Result};
use crate::extract::{Facts, Note};
use crate::source::{Extent, Fingerprint};
use crate::tables::{PerRecordTable, PerTable, SourceState};

/// Newest layout version, which this llrem writes. It reads all versions up to it.
pub(crate) const VERSION: u32 = 1;

/// Magic bytes before the manifest's content, so that no other file is taken for one.
const MAGIC: &[u8; 8] = b"LLREMLK\n";
/// Length of the magic bytes and the version. Bytes.
const HEAD: u64 = 8 + 4;

/// The state of a lake.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Value of the `machine` partition.
    pub(crate) machine: String,
    /// Key of the hashes that replace secrets.
    pub(crate) redaction_key: [u8; 32],
    /// Incremented by every commit.
    pub(crate) generation: u64,
    /// Policy of the stored texts. A change forces re-extraction.
    pub(crate) policy: String,
    /// Every source that was ever read, by path; sections by path, `#` and id.
    #[serde(deserialize_with = "in_full_nodes")]
    pub(crate) sources: BTreeMap<Arc<str>, SourceEntry>,
    /// Every part.
    pub(crate) parts: BTreeMap<PartName, PartEntry>,
    /// Every project path that a session ever named, for sessions that have only its hash.
    pub(crate) project_paths: BTreeSet<String>,
    /// Expected records of the lake. Stored last, where earlier versions of llrem ignore it.
    #[serde(skip)]
    pub(crate) ledger: Ledger,
}

/// A source as last read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SourceEntry {
    pub(crate) agent: Arc<str>,
    pub(crate) kind: Arc<str>,
    /// Id of the section, if it is one of a file.
    pub(crate) section: Option<Box<str>>,
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
    pub(crate) rows: PerTable<u64>,
    pub(crate) extracted_at: i64,
    pub(crate) llrem_version: Arc<str>,
    /// Notes on other sources' sessions.
    pub(crate) notes: Box<[Note]>,
    /// Extent of its files before the last reading. Stored after the ledger, where earlier versions of llrem ignore it.
    #[serde(skip)]
    pub(crate) extent: Option<Extent>,
}

/// Reads a map all at once. A map that grows entry by entry in order needs almost twice the memory: its nodes stay half
/// empty.
fn in_full_nodes<'de, D, K, V>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
}

impl SourceState {
    /// Returns true if something of it could not be read.
    pub(crate) fn is_bad(self) -> bool {
        matches!(self, Self::Partial | Self::Unreadable)
    }
}

/// Some sessions, and the files with their rows: one for each table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartEntry {
    /// The sessions, in the order of their rows.
    pub(crate) sessions: Vec<SessionEntry>,
    /// The files, in the order of `tables::LAKE_TABLES`; `None` if the part has no rows.
    pub(crate) files: PerTable<Option<FileEntry>>,
}

impl PartEntry {
    /// Size of the sources that its sessions were read from. Bytes.
    pub(crate) fn weight(&self) -> u64 {
        self.sessions.iter().map(|session| session.weight).sum()
    }
}

/// A session as last written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionEntry {
    pub(crate) id: Arc<str>,
    /// Paths of its sources.
    pub(crate) sources: Vec<Arc<str>>,
    /// First moment of a record that it owns.
    pub(crate) started_at: Option<i64>,
    /// Bytes of its sources.
    pub(crate) weight: u64,
    /// Hash of the extracted content, so that an unchanged session of a changed source is not rewritten.
    pub(crate) digest: u64,
    /// Hash of the notes of other sources.
    pub(crate) notes: u64,
    /// Facts of its own source.
    pub(crate) marks: Marks,
    /// SHA-256 of its project's path, if its own source gives only that.
    pub(crate) project_hash: Option<String>,
    /// Rows in messages, `tool_calls` and usage.
    pub(crate) rows: PerRecordTable<u64>,
}

impl SessionEntry {
    /// True if it has a row in `sessions`. A session whose records are all owned by others has none.
    pub(crate) fn has_row(&self) -> bool {
        self.rows != [0; 3] || self.marks.is_one_when_empty()
    }
}

/// Flags in one byte, so that manifests with only the first flag can be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marks(u8);

impl Marks {
    const HAS_TITLE: u8 = 1;
    const IS_ONE_WHEN_EMPTY: u8 = 2;
    const HAS_SUMMARY: u8 = 4;
    const HAS_ROOT: u8 = 8;
    const HAS_ORIGIN: u8 = 16;
    const HAS_PARENT: u8 = 32;

    pub(crate) fn of(facts: &Facts) -> Self {
        let title = Self::mark(facts.title.is_some(), Self::HAS_TITLE);
        let summary = Self::mark(facts.summary.is_some(), Self::HAS_SUMMARY);
        let root = Self::mark(facts.root_session_id.is_some(), Self::HAS_ROOT);
        let origin = Self::mark(facts.forked_from_session_id.is_some(), Self::HAS_ORIGIN);
        let parent = Self::mark(facts.parent_session_id.is_some(), Self::HAS_PARENT);
        Self(title | summary | root | origin | parent | Self::mark(facts.is_one_when_empty, Self::IS_ONE_WHEN_EMPTY))
    }

    fn mark(is_so: bool, mark: u8) -> u8 {
        if is_so { mark } else { 0 }
    }

    /// True if its own source gives a title.
    pub(crate) fn has_title(self) -> bool {
        self.0 & Self::HAS_TITLE != 0
    }

    /// True if the summary is from its own source.
    pub(crate) fn has_summary(self) -> bool {
        self.0 & Self::HAS_SUMMARY != 0
    }

    /// True if its own source names the outermost parent.
    pub(crate) fn has_root(self) -> bool {
        self.0 & Self::HAS_ROOT != 0
    }

    /// True if its own source names the parent. Never true for what earlier versions wrote.
    pub(crate) fn has_parent(self) -> bool {
        self.0 & Self::HAS_PARENT != 0
    }

    /// True if its own source names the session whose history was copied.
    pub(crate) fn has_origin(self) -> bool {
        self.0 & Self::HAS_ORIGIN != 0
    }

    /// True if it has a row in `sessions` although it has none elsewhere.
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
    "llrem was killed several times while it read only this source; it is skipped until it changes";

impl SourceEntry {
    /// True if reading the source has killed the process.
    pub(crate) fn is_fatal(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| problem.contains(FATAL))
    }

    /// Returns the file of the source with this name.
    pub(crate) fn file<'n>(&self, name: &'n str) -> &'n str {
        let section = self.section.as_ref().and_then(|section| name.strip_suffix(&**section));
        section.and_then(|rest| rest.strip_suffix('#')).unwrap_or(name)
    }
}

impl Manifest {
    /// Returns the rows of each session, with its part.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&PartName, PerRecordTable<u64>)> {
        self.parts.iter().flat_map(|(name, part)| part.sessions.iter().map(move |session| (name, session.rows)))
    }

    /// Returns the known sections of a source, with their names.
    pub(crate) fn sections_of<'m>(&'m self, name: &str) -> impl Iterator<Item = (&'m str, &'m SourceEntry)> + use<'m> {
        let from = format!("{name}#");
        let those = self
            .sources
            .range::<str, _>((Bound::Included(&*from), Bound::Unbounded))
            .take_while(move |(name, _)| name.starts_with(&from));
        those.map(|(name, entry)| (&**name, entry)).filter(|(_, entry)| entry.section.is_some())
    }

    /// Uses one copy of each source's name for the source and its sessions, and one of each text that sources share.
    pub(crate) fn share_texts(&mut self) {
        let mut texts: HashSet<Arc<str>> = HashSet::new();
        for entry in self.sources.values_mut() {
            for text in [&mut entry.agent, &mut entry.kind, &mut entry.llrem_version] {
                match texts.get(&**text) {
                    Some(known) => *text = Arc::clone(known),
                    None => drop(texts.insert(Arc::clone(text))),
                }
            }
        }
        for session in self.parts.values_mut().flat_map(|part| &mut part.sessions) {
            for source in &mut session.sources {
                if let Some((name, _)) = self.sources.get_key_value(&**source) {
                    *source = Arc::clone(name);
                }
            }
        }
    }

    /// Returns the data files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &FileEntry> {
        self.parts.values().flat_map(|part| part.files.iter().flatten())
    }

    /// Returns an identity of the lake that does not depend on its path, and does not reveal the key that it is
    /// computed from.
    pub(crate) fn id(&self) -> [u8; 16] {
        let hash = blake3::derive_key("llrem 2026 lake id", &self.redaction_key);
        hash.first_chunk().copied().unwrap_or_default()
    }

    /// Reads the manifest of a lake. Returns `None` if there is no lake.
    pub(crate) fn load(layout: &Layout) -> Result<Option<Self>> {
        let path = layout.manifest();
        fs::read(&path)?.map(|bytes| Self::decode(&bytes, &path, layout.root())).transpose()
    }

    /// True if there is a lake that this llrem can read. Reads only the beginning: a large manifest takes longer to
    /// read than many queries.
    pub(crate) fn is_there(layout: &Layout) -> Result<bool> {
        let path = layout.manifest();
        let start = fs::read_start(&path, HEAD)?;
        start.map_or(Ok(false), |start| after_version(&start, &path, layout.root()).map(|_| true))
    }

    pub(crate) fn decode(bytes: &[u8], path: &Path, lake: &Path) -> Result<Self> {
        let damaged = |reason: &str| damaged(path, reason);
        let rest = after_version(bytes, path, lake)?;
        let (hash, content) = rest.split_first_chunk::<32>().ok_or_else(|| damaged("it is cut off"))?;
        if blake3::hash(content).as_bytes() != hash {
            return Err(damaged("its hash is wrong"));
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
        let head = [MAGIC.as_slice(), &VERSION.to_le_bytes(), &[0; 32]].concat();
        let content = head.len();
        let extents: Vec<Option<&Extent>> = self.sources.values().map(|entry| entry.extent.as_ref()).collect();
        let stored = (self, &self.ledger, &extents);
        // A buffer that grows would need up to three times the memory meanwhile.
        let size = postcard::serialize_with_flavor(&stored, Size::default()).map_err(unwritten)?;
        let mut bytes = Vec::with_capacity(content + size);
        bytes.extend(head);
        let mut bytes = postcard::to_extend(&stored, bytes).map_err(unwritten)?;
        if let Some((head, content)) = bytes.split_at_mut_checked(content)
            && let Some(hash) = head.last_chunk_mut()
        {
            *hash = *blake3::hash(content).as_bytes();
        }
        Ok(bytes)
    }
}

/// Returns the bytes after the version of a manifest, if this llrem knows that version.
fn after_version<'b>(bytes: &'b [u8], path: &Path, lake: &Path) -> Result<&'b [u8]> {
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| damaged(path, "it is not a manifest"))?;
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
