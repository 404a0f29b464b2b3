//! Changes that a run makes to the ledger: records that were added, moved, or are missing.

use super::old::OldReplica;
use super::rebuild::Rebuilt;
use crate::identity::{KeySet, Kind, Replica};
use crate::lake::ledger::Sums;

/// Records of a part before and after the run. Both exclude unchanged sessions.
#[derive(Default)]
pub(super) struct Balance {
    pub(super) before: Sums,
    pub(super) now: Sums,
    /// Records that sessions own now and did not before. Empty in the run that creates a lake, because nothing left it.
    pub(super) gained: Vec<u64>,
    /// Records that sessions no longer own, except superseded ones and those that another reading corrected.
    pub(super) left: Vec<(Kind, u64)>,
}

impl Balance {
    /// Adds a rebuilt session. `is_first_run` is true if the lake has no records, `is_damaged` if rows of the session
    /// were in a lost file, which the run reports.
    pub(super) fn add_session<'o>(
        &mut self,
        before: impl Iterator<Item = &'o OldReplica>,
        session: &Rebuilt,
        is_first_run: bool,
        is_damaged: bool,
    ) {
        let owned = |replica: &Replica| -> Vec<(Kind, u64)> {
            let owned = replica.records.iter().filter(|record| record.is_owned);
            owned.map(|record| (record.kind, record.key)).collect()
        };
        for member in session.members() {
            self.now.add(&Sums::of(&member.replica.records));
        }
        let before: Vec<(Kind, u64)> = before.flat_map(|old| owned(&old.replica())).collect();
        if before.is_empty() {
            let gained = session.members().filter(|_| !is_first_run).flat_map(|member| owned(&member.replica));
            self.gained.extend(gained.map(|(_, key)| key));
            return;
        }
        let now: KeySet = session.members().flat_map(|member| owned(&member.replica)).map(|(_, key)| key).collect();
        let had: KeySet = before.iter().map(|(_, key)| *key).collect();
        self.gained.extend(now.iter().filter(|key| !had.contains(*key)));
        if session.is_corrected || session.has_grown || is_damaged {
            return;
        }
        let superseded: KeySet =
            session.members().flat_map(|member| &member.replica.yields).map(|it| it.record).collect();
        let left = before.into_iter().filter(|(_, key)| !now.contains(key) && !superseded.contains(key));
        self.left.extend(left);
    }

    /// Counts the records of the part's changed sessions.
    pub(super) fn close<'o>(&mut self, before: impl Iterator<Item = &'o OldReplica>) {
        for old in before {
            self.before.add(&Sums::of(&old.replica().records));
        }
    }
}
