//! The changes that give the store what the lake has.

use std::collections::{BTreeMap, BTreeSet};

use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::{FileEntry, Manifest};
use crate::remote::manifest::{BARRIER, FileKey, MachineManifest, RemotePart};
use crate::tables::LAKE_TABLES;

/// Changes to the store.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Files to upload.
    pub(super) puts: BTreeMap<FileKey, FileEntry>,
    /// Files to delete.
    pub(super) removals: BTreeSet<FileKey>,
    /// Agents whose rows may move from one file to another.
    pub(super) exchanged: BTreeSet<String>,
    /// Keys of barriers, which block readers meanwhile.
    pub(super) barriers: BTreeSet<String>,
}

impl Plan {
    pub(super) fn new(lake: &Manifest, remote: &MachineManifest, profile: &str, full: bool) -> Self {
        let mut plan = Self::default();
        for (name, part) in &lake.parts {
            for (place, entry) in part.files.iter().enumerate() {
                let Some(entry) = entry else { continue };
                let key = (name.clone(), place);
                let known = remote.file(&key).filter(|_| !full && !remote.unsure.contains(&key));
                if known.is_none_or(|file| file.source != entry.hash || file.profile != profile) {
                    plan.puts.insert(key, entry.clone());
                }
            }
        }
        let is_wanted = |(name, place): &FileKey| {
            lake.parts.get(name).and_then(|part| part.files.get(*place)).is_some_and(Option::is_some)
        };
        plan.removals = remote.files().into_iter().filter(|key| !is_wanted(key)).collect();
        plan.set_barriers(lake, remote);
        plan
    }

    fn set_barriers(&mut self, lake: &Manifest, remote: &MachineManifest) {
        let changed: BTreeSet<&PartName> = self.puts.keys().chain(&self.removals).map(|(name, _)| name).collect();
        let losing: Vec<&PartName> = changed
            .into_iter()
            .filter(|name| remote.parts.get(*name).is_some_and(|part| part.loses(lake.parts.get(*name))))
            .collect();
        self.exchanged = losing.iter().map(|name| name.agent.clone()).collect();
        // Barriers of an interrupted upload stay until its exchange is done.
        self.barriers.clone_from(&remote.barriers);
        for key in &remote.barriers {
            let agent = key.split('/').find_map(|part| part.strip_prefix("agent="));
            self.exchanged.extend(agent.map(str::to_owned));
        }
        for name in losing {
            for (place, table) in LAKE_TABLES.iter().enumerate() {
                let key = (name.clone(), place);
                if remote.file(&key).is_some() || remote.unsure.contains(&key) {
                    let folder = Layout::partition(table, &lake.machine, &name.agent, &name.month);
                    self.barriers.insert(format!("{folder}/{BARRIER}"));
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.puts.is_empty() && self.removals.is_empty() && self.barriers.is_empty()
    }

    /// True if a file is staged until all of its agent's files can be exchanged.
    pub(super) fn is_exchanged(&self, (part, _): &FileKey) -> bool {
        self.exchanged.contains(&part.agent)
    }

    /// Names in the manifest, before anything is changed, all files that will change.
    pub(super) fn announce(&self, lake: &Manifest, remote: &mut MachineManifest) {
        for key in self.puts.keys().chain(&self.removals) {
            remote.unsure.insert(key.clone());
            let part = remote.parts.entry(key.0.clone()).or_default();
            if let Some(entry) = lake.parts.get(&key.0) {
                part.add_sessions(entry);
            }
        }
        remote.barriers.clone_from(&self.barriers);
    }
}

/// Changes the manifest's parts to what they are after the upload.
pub(super) fn settle(lake: &Manifest, remote: &mut MachineManifest) {
    let unsure: BTreeSet<PartName> = remote.unsure.iter().map(|(name, _)| name.clone()).collect();
    remote.parts.retain(|name, part| {
        if unsure.contains(name) {
            return true;
        }
        match lake.parts.get(name) {
            Some(entry) => part.set_sessions(entry),
            None => *part = RemotePart::default(),
        }
        part.files.iter().any(Option::is_some)
    });
}
