//! Checks that ids are unique in a lake.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::Xxh3;

/// Hashes of all ids so far, wide enough to avoid collisions.
#[derive(Default)]
pub(super) struct Identities {
    seen: Mutex<HashSet<u128>>,
}

impl Identities {
    /// Adds ids of one kind and agent. Returns those that are duplicates.
    pub(super) fn repeated<'t>(&self, agent: &str, kind: &str, ids: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
        let mut base = Xxh3::new();
        for part in [agent, kind] {
            base.update(part.as_bytes());
            base.update(&[0]);
        }
        let hashed: Vec<(u128, &str)> = ids
            .map(|id| {
                let mut hasher = base.clone();
                hasher.update(id.as_bytes());
                (hasher.digest128(), id)
            })
            .collect();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        hashed.into_iter().filter(|(hash, _)| !seen.insert(*hash)).map(|(_, id)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_one_of_its_kind_and_agent() {
        let identities = Identities::default();
        assert!(identities.repeated("a", "call_id", ["1", "2"].into_iter()).is_empty());
        assert!(identities.repeated("b", "call_id", ["1"].into_iter()).is_empty());
        assert!(identities.repeated("a", "message_id", ["1"].into_iter()).is_empty());
        assert_eq!(identities.repeated("a", "call_id", ["3", "1", "3"].into_iter()), ["1", "3"]);
    }
}
