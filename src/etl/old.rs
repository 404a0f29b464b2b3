//! The lake's memory of all replicas. It is read if something has changed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use super::check_interrupt;
use crate::error::Result;
use crate::identity::{Replica, session_key};
use crate::lake::claims::{self, Keys, StoredReplica};
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::Manifest;

/// One replica of the lake, and the part that holds its session.
pub(super) struct OldReplica {
    pub(super) part: Arc<PartName>,
    pub(super) stored: StoredReplica,
    /// True if this run reads its source.
    is_read_again: bool,
    unpacked: Mutex<Option<Arc<Replica>>>,
}

impl OldReplica {
    /// Returns the whole replica. It is decoded once, until [`OldClaims::free`].
    pub(super) fn replica(&self) -> Arc<Replica> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(unpacked.get_or_insert_with(|| Arc::new(self.stored.unpack())))
    }
}

/// All replicas of the lake.
#[derive(Default)]
pub(super) struct OldClaims {
    replicas: Vec<OldReplica>,
    /// Key of each replica's session and position of the replica, in order.
    by_session: Vec<(u64, usize)>,
    /// Sorted so that those of each part are next to each other.
    by_part: HashMap<PartName, Range<usize>>,
}

impl OldClaims {
    /// Reads the claims of all parts. For a part whose file is lost, uses the claims that were rebuilt.
    pub(super) fn load(
        layout: &Layout,
        manifest: &Manifest,
        mut known: HashMap<PartName, Vec<Replica>>,
        read_again: &HashSet<Arc<str>>,
    ) -> Result<Self> {
        let parts: Vec<(&PartName, Option<Vec<Replica>>)> =
            manifest.parts.keys().map(|part| (part, known.remove(part))).collect();
        let loaded: Vec<Vec<OldReplica>> = parts
            .into_par_iter()
            .map(|(part, known)| {
                check_interrupt()?;
                let replicas = match known {
                    Some(known) => known.into_iter().map(StoredReplica::whole).collect(),
                    None => claims::open(&layout.root().join(Layout::claims(part)))?,
                };
                let entries = manifest.parts.get(part).into_iter().flat_map(|part| &part.sessions);
                let ids: HashSet<&Arc<str>> = entries.map(|entry| &entry.id).collect();
                let part = Arc::new(PartName::clone(part));
                let old = |mut stored: StoredReplica| {
                    let source = read_again.get(&*stored.source);
                    // These names are in memory already.
                    stored.source = source.cloned().unwrap_or(stored.source);
                    stored.session = ids.get(&stored.session).map_or(stored.session, |id| Arc::clone(id));
                    let is_read_again = source.is_some();
                    OldReplica { part: Arc::clone(&part), is_read_again, stored, unpacked: Mutex::default() }
                };
                Ok(replicas.into_iter().map(old).collect())
            })
            .collect::<Result<_>>()?;
        let mut by_part = HashMap::new();
        let mut end = 0;
        for loaded in loaded.iter().filter(|loaded| !loaded.is_empty()) {
            let range = end..end + loaded.len();
            end = range.end;
            by_part.extend(loaded.first().map(|first| (PartName::clone(&first.part), range)));
        }
        let mut replicas = Vec::with_capacity(loaded.iter().map(Vec::len).sum());
        replicas.extend(loaded.into_iter().flatten());
        let session = |old: &OldReplica| session_key(&old.part.agent, &old.stored.session);
        let mut by_session: Vec<(u64, usize)> = replicas.iter().map(session).zip(0..).collect();
        by_session.par_sort_unstable();
        Ok(Self { replicas, by_session, by_part })
    }

    /// True if the lake has no replicas.
    pub(super) fn is_empty(&self) -> bool {
        self.replicas.is_empty()
    }

    /// Returns the replicas of a session.
    pub(super) fn of_session(&self, agent: &str, session: &str) -> impl Iterator<Item = &OldReplica> {
        self.places_of(agent, session).filter_map(|place| self.replicas.get(place))
    }

    fn places_of(&self, agent: &str, session: &str) -> impl Iterator<Item = usize> {
        let key = session_key(agent, session);
        let places = self.by_session.iter().skip(self.by_session.partition_point(|(other, _)| *other < key));
        places.take_while(move |(other, _)| *other == key).map(|(_, place)| *place)
    }

    /// Returns the number of the replica that is equal to this one.
    pub(super) fn number_of(&self, agent: &str, replica: &Replica) -> Option<u32> {
        let is_equal = |old: &OldReplica| old.stored.source == replica.source && *old.replica() == *replica;
        let mut places = self.places_of(agent, &replica.session);
        places.find(|place| self.replicas.get(*place).is_some_and(is_equal)).and_then(|place| place.try_into().ok())
    }

    /// Decodes the replica with a number.
    pub(super) fn unpack(&self, number: u32) -> Replica {
        self.replicas.get(number as usize).map(|old| old.stored.unpack()).unwrap_or_default()
    }

    /// Returns the replicas of a part's sessions.
    pub(super) fn of_part(&self, part: &PartName) -> &[OldReplica] {
        self.by_part.get(part).and_then(|range| self.replicas.get(range.clone())).unwrap_or_default()
    }

    /// Frees the decoded replicas of a part. They would take more memory than all else, and few are needed again.
    pub(super) fn free(&self, part: &PartName) {
        for old in self.of_part(part) {
            old.unpacked.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }

    /// Returns the replicas of all sessions that share any of the keys, except those whose source is read again.
    pub(super) fn sharers(&self, keys: &Keys) -> Vec<&OldReplica> {
        self.sharing(keys, |old| !old.is_read_again)
    }

    /// Like [`OldClaims::sharers`], including replicas whose source is read again.
    pub(super) fn all_sharers(&self, keys: &Keys) -> Vec<&OldReplica> {
        self.sharing(keys, |_| true)
    }

    fn sharing(&self, keys: &Keys, is_wanted: impl Fn(&OldReplica) -> bool + Sync) -> Vec<&OldReplica> {
        if keys.is_empty() {
            return Vec::new();
        }
        let sharing = self.replicas.par_iter().filter(|old| is_wanted(old) && old.stored.shares(keys));
        let sharing: Vec<&OldReplica> = sharing.collect();
        let sessions: HashSet<(&str, &str)> =
            sharing.iter().map(|old| (old.part.agent.as_str(), &*old.stored.session)).collect();
        let all = sessions.into_iter().flat_map(|(agent, session)| self.of_session(agent, session));
        let all: Vec<&OldReplica> = all.filter(|old| is_wanted(old)).collect();
        // The caller looks at each of them.
        all.par_iter().for_each(|old| drop(old.replica()));
        all
    }
}
