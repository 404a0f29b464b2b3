//! The claims of the lake as it is, read when something has changed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::check_interrupt;
use crate::error::Result;
use crate::extract::KeySet;
use crate::lake::claims::{self, Replica, StoredReplica};
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::Manifest;

/// One replica of the lake, and the part that holds its session.
pub(super) struct OldReplica {
    pub(super) part: Arc<PartName>,
    pub(super) stored: StoredReplica,
    unpacked: OnceLock<Arc<Replica>>,
}

impl OldReplica {
    /// All of it, unpacked when it is first asked for.
    pub(super) fn replica(&self) -> &Arc<Replica> {
        self.unpacked.get_or_init(|| Arc::new(self.stored.unpack()))
    }
}

/// All claims of the lake.
#[derive(Default)]
pub(super) struct OldClaims {
    replicas: Vec<OldReplica>,
    by_session: HashMap<(String, String), Vec<usize>>,
}

impl OldClaims {
    /// Reads the claims of all parts; of those whose file is lost, what is known instead.
    pub(super) fn load(layout: &Layout, manifest: &Manifest, known: &HashMap<PartName, Vec<Replica>>) -> Result<Self> {
        let parts: Vec<&PartName> = manifest.parts.keys().collect();
        let loaded: Vec<Vec<OldReplica>> = parts
            .par_iter()
            .map(|part| {
                check_interrupt()?;
                let replicas = match known.get(part) {
                    Some(known) => known.iter().map(StoredReplica::pack).collect::<Result<_>>()?,
                    None => claims::open(&layout.root().join(Layout::claims(part)))?,
                };
                let part = Arc::new(PartName::clone(part));
                let old = |stored| OldReplica { part: Arc::clone(&part), stored, unpacked: OnceLock::new() };
                Ok(replicas.into_iter().map(old).collect())
            })
            .collect::<Result<_>>()?;
        let replicas: Vec<OldReplica> = loaded.into_iter().flatten().collect();
        let mut by_session: HashMap<(String, String), Vec<usize>> = HashMap::new();
        for (place, old) in replicas.iter().enumerate() {
            by_session.entry((old.part.agent.clone(), old.stored.session.clone())).or_default().push(place);
        }
        Ok(Self { replicas, by_session })
    }

    /// Whether the lake has none.
    pub(super) fn is_empty(&self) -> bool {
        self.replicas.is_empty()
    }

    /// The replicas of a session.
    pub(super) fn of_session(&self, agent: &str, session: &str) -> impl Iterator<Item = &OldReplica> {
        let places = self.by_session.get(&(agent.to_owned(), session.to_owned()));
        places.into_iter().flatten().filter_map(|place| self.replicas.get(*place))
    }

    /// The replicas that claim any of the keys, but for those whose source is read again.
    pub(super) fn sharers(&self, keys: &KeySet, read_again: &HashSet<String>) -> Vec<&OldReplica> {
        let shares = |old: &&OldReplica| !read_again.contains(&old.stored.source) && old.stored.claims_any(keys);
        if keys.is_empty() { Vec::new() } else { self.replicas.par_iter().filter(shares).collect() }
    }
}
