//! The manifest of a machine's uploads: one object per machine, written in one step and only over the version that was
//! read.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::{PartEntry, SessionEntry};
use crate::tables::{LAKE_TABLES, PerRecordTable};
use crate::{Error, Result};

/// Newest layout version of manifests, which this llrem writes. It reads all versions up to it.
pub(crate) const VERSION: u32 = 1;
/// Length of the version. Bytes.
pub(crate) const HEAD: u64 = 12;
/// Folder with one folder for each machine.
pub(crate) const MACHINES: &str = "_llrem/machines";
/// Magic bytes before the content, so that no other object is taken for a manifest.
const MAGIC: &[u8; 8] = b"LLREMUP\n";
/// zstd level: it is written rarely and read often.
const ZSTD_LEVEL: i32 = 9;
/// Largest content, so that a damaged object cannot use all memory. Bytes.
const LARGEST: usize = 1 << 30;

/// Name of the barrier that blocks readers from a folder. It has the suffix of data, so that they try to read it, and
/// says why they cannot.
pub(crate) const BARRIER: &str = "llrem-upload-in-progress.parquet";

/// A file of a lake in the store: its part, and the index of its table in `LAKE_TABLES`.
pub(crate) type FileKey = (PartName, usize);

/// The uploads of a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MachineManifest {
    /// Identity of the lake, to distinguish two machines with the same name.
    pub(crate) lake: [u8; 16],
    /// Unique for each write. When the loser of two uploads adds files, it stays the winner's.
    pub(crate) nonce: [u8; 16],
    /// When it was written. Microseconds since 1970.
    pub(crate) written_at: i64,
    /// Version of llrem that wrote it.
    pub(crate) llrem_version: String,
    /// Every part.
    pub(crate) parts: BTreeMap<PartName, RemotePart>,
    /// Files that an upload is about to write or delete. Until it is done, they may be in the old or the new state.
    pub(crate) unsure: BTreeSet<FileKey>,
    /// Keys of barriers in folders whose files are being exchanged.
    pub(crate) barriers: BTreeSet<String>,
}

/// Some sessions, and the files with their rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemotePart {
    /// Rows in messages, `tool_calls` and usage of each session, by the hash of its id; upper bounds.
    pub(crate) sessions: BTreeMap<u64, PerRecordTable<u64>>,
    /// True if there may be rows of other sessions.
    pub(crate) has_others: bool,
    /// The files, in the order of `LAKE_TABLES`.
    pub(crate) files: [Option<RemoteFile>; 4],
}

/// A data file in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteFile {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// BLAKE3 of its content.
    pub(crate) hash: [u8; 32],
    /// BLAKE3 of the file of the lake that it comes from.
    pub(crate) source: [u8; 32],
    /// Fingerprint of the profile.
    pub(crate) profile: String,
    /// The store's own tag of the content.
    pub(crate) etag: Option<String>,
}

impl MachineManifest {
    /// Returns the key of a machine's manifest.
    pub(crate) fn key(machine: &str) -> String {
        format!("{MACHINES}/{machine}/manifest")
    }

    /// Returns the folder of staged files.
    pub(crate) fn staging(machine: &str) -> String {
        format!("{MACHINES}/{machine}/staged")
    }

    /// Returns the layout version of a manifest with this beginning, or `None` if it is no manifest.
    pub(crate) fn version(head: &[u8]) -> Option<u32> {
        head.strip_prefix(MAGIC)?.first_chunk().map(|version| u32::from_le_bytes(*version))
    }

    pub(crate) fn decode(bytes: &[u8], shown: &str) -> Result<Self> {
        let damaged = |reason: &str| Error::DamagedState { path: shown.into(), reason: reason.to_owned() };
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| damaged("it is not a manifest"))?;
        let (version, rest) = rest.split_first_chunk().ok_or_else(|| damaged("it is cut off"))?;
        let version = u32::from_le_bytes(*version);
        if version > VERSION {
            return Err(Error::NewerLake { path: shown.into(), found: version, known: VERSION });
        }
        let (hash, packed) = rest.split_first_chunk::<32>().ok_or_else(|| damaged("it is cut off"))?;
        if blake3::hash(packed).as_bytes() != hash {
            return Err(damaged("its hash is wrong"));
        }
        let content = zstd::bulk::decompress(packed, LARGEST).map_err(|error| damaged(&error.to_string()))?;
        postcard::from_bytes(&content).map_err(|error| damaged(&error.to_string()))
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let unwritten = |error: String| Error::Query(format!("cannot write the manifest: {error}"));
        let content = postcard::to_stdvec(self).map_err(|error| unwritten(error.to_string()))?;
        let packed = zstd::bulk::compress(&content, ZSTD_LEVEL).map_err(|error| unwritten(error.to_string()))?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(blake3::hash(&packed).as_bytes());
        bytes.extend_from_slice(&packed);
        Ok(bytes)
    }

    /// Returns every file that exists, or may exist.
    pub(crate) fn files(&self) -> BTreeSet<FileKey> {
        let known = self.parts.iter().flat_map(|(name, part)| {
            let places = part.files.iter().enumerate().filter(|(_, file)| file.is_some());
            places.map(|(place, _)| (name.clone(), place))
        });
        known.chain(self.unsure.iter().cloned()).collect()
    }

    /// Returns a file, if its state is known.
    pub(crate) fn file(&self, (part, place): &FileKey) -> Option<&RemoteFile> {
        self.parts.get(part)?.files.get(*place)?.as_ref()
    }
}

impl RemotePart {
    /// True if rows would leave the part if it became the lake's part.
    pub(crate) fn loses(&self, part: Option<&PartEntry>) -> bool {
        let kept: BTreeMap<u64, PerRecordTable<u64>> =
            part.map(|part| part.sessions.iter().map(rows_of).collect()).unwrap_or_default();
        let is_lost = |(id, rows): (&u64, &PerRecordTable<u64>)| {
            // A session without such rows may still have its row in `sessions`.
            kept.get(id).is_none_or(|kept| rows.iter().zip(kept).any(|(rows, kept)| kept < rows))
        };
        self.has_others || self.sessions.iter().any(is_lost)
    }

    /// Merges what the part may also have.
    pub(crate) fn add_sessions(&mut self, part: &PartEntry) {
        for (id, rows) in part.sessions.iter().map(rows_of) {
            let most = self.sessions.entry(id).or_default();
            for (most, rows) in most.iter_mut().zip(rows) {
                *most = rows.max(*most);
            }
        }
    }

    /// Sets the part to exactly what the lake's part has.
    pub(crate) fn set_sessions(&mut self, part: &PartEntry) {
        self.sessions = part.sessions.iter().map(rows_of).collect();
        self.has_others = false;
    }
}

fn rows_of(session: &SessionEntry) -> (u64, PerRecordTable<u64>) {
    (xxhash_rust::xxh3::xxh3_64(session.id.as_bytes()), session.rows)
}

/// Returns the key of a file.
pub(crate) fn file_key(machine: &str, (part, place): &FileKey) -> String {
    LAKE_TABLES.get(*place).map(|table| Layout::part(table, machine, part)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(sessions: &[(&str, PerRecordTable<u64>)]) -> PartEntry {
        let sessions =
            sessions.iter().map(|(id, rows)| SessionEntry { id: (*id).into(), rows: *rows, ..SessionEntry::default() });
        PartEntry { sessions: sessions.collect(), files: [const { None }; 4] }
    }

    #[test]
    fn it_comes_back_as_it_was_and_damage_is_told() {
        let name = PartName { agent: "a".into(), month: "2026-01".into(), name: "x".into() };
        let file = RemoteFile {
            rows: 1,
            bytes: 2,
            hash: [3; 32],
            source: [4; 32],
            profile: "full".into(),
            etag: Some("e".into()),
        };
        let mut manifest = MachineManifest { nonce: [7; 16], ..MachineManifest::default() };
        manifest.unsure.insert((name.clone(), 1));
        manifest
            .parts
            .insert(name.clone(), RemotePart { files: [Some(file), None, None, None], ..RemotePart::default() });
        let bytes = manifest.encode().unwrap();
        assert_eq!(MachineManifest::decode(&bytes, "m").unwrap(), manifest);
        assert_eq!(manifest.files().into_iter().collect::<Vec<_>>(), [(name.clone(), 0), (name, 1)]);
        for at in 0..bytes.len() {
            assert!(MachineManifest::decode(&bytes[..at], "m").is_err(), "{at}");
        }
        let mut newer = bytes.clone();
        newer[8] = 9;
        assert!(matches!(MachineManifest::decode(&newer, "m"), Err(Error::NewerLake { found: 9, .. })));
    }

    #[test]
    fn rows_that_leave_a_part() {
        let mut remote = RemotePart::default();
        remote.set_sessions(&part(&[("s", [2, 1, 1]), ("t", [1, 0, 0])]));
        assert!(!remote.loses(Some(&part(&[("s", [2, 1, 1]), ("t", [1, 0, 0])]))));
        assert!(!remote.loses(Some(&part(&[("s", [3, 1, 1]), ("t", [1, 0, 0]), ("u", [9, 9, 9])]))), "grown");
        assert!(remote.loses(Some(&part(&[("s", [2, 0, 1]), ("t", [1, 0, 0])]))), "fewer rows");
        assert!(remote.loses(Some(&part(&[("s", [2, 1, 1])]))), "a session less");
        assert!(remote.loses(None), "gone");
        remote.set_sessions(&part(&[("s", [2, 1, 1]), ("empty", [0; 3])]));
        assert!(!remote.loses(Some(&part(&[("s", [2, 1, 1]), ("empty", [0; 3])]))));
        assert!(remote.loses(Some(&part(&[("s", [2, 1, 1])]))), "a session without rows less");
        remote.set_sessions(&part(&[("s", [2, 1, 1]), ("t", [1, 0, 0])]));
        remote.add_sessions(&part(&[("s", [1, 5, 1]), ("u", [1, 0, 0])]));
        assert!(
            remote.loses(Some(&part(&[("s", [2, 1, 1]), ("t", [1, 0, 0]), ("u", [1, 0, 0])]))),
            "may have had more"
        );
    }
}
