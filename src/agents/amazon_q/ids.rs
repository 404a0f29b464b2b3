//! What a session has had already.

use crate::extract::{KeySet, Kind, key};

/// Ids of records that were taken.
#[derive(Default)]
pub(in crate::agents) struct Ids(KeySet);

impl Ids {
    /// Notes an id; whether it was not there before.
    pub(in crate::agents) fn is_new(&mut self, kind: Kind, id: &str) -> bool {
        self.0.insert(key("", kind, id))
    }

    /// Whether the id is there.
    pub(in crate::agents) fn has(&self, kind: Kind, id: &str) -> bool {
        self.0.contains(&key("", kind, id))
    }
}
