//! Updates the ledger after a run: records that were added, moved, or are missing.

use std::sync::Arc;

use super::old::OldReplica;
use super::rebuild::Rebuilt;
use crate::error::Result;
use crate::identity::{KeySet, Kind, Record, Replica, key};
use crate::lake::layout::{Layout, PartName};
use crate::lake::ledger::{Ledger, Sums};
use crate::lake::manifest::{Manifest, PartEntry};
use crate::lake::part;
use crate::tables::{LAKE_TABLES, MessageColumns, ToolCallColumns, UsageColumns};

use super::Shared;
use super::group::NewPart;

/// Records of a part before and after the run. Both exclude unchanged sessions.
#[derive(Default)]
pub(super) struct Balance {
    before: Sums,
    now: Sums,
    /// Records that sessions own now and did not before.
    gained: Vec<u64>,
    /// Records that sessions no longer own, except superseded ones and those that another reading corrected.
    left: Vec<(Kind, u64)>,
}

impl Balance {
    /// Adds a rebuilt session. `is_damaged` is true if rows of it were in a lost file, which the run reports.
    pub(super) fn add_session<'o>(
        &mut self,
        before: impl Iterator<Item = &'o OldReplica>,
        session: &Rebuilt,
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
            self.gained.extend(session.members().flat_map(|member| owned(&member.replica)).map(|(_, key)| key));
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

/// Returns the ledger of the lake after a run that writes these parts.
pub(super) fn settled(shared: &Shared<'_>, parts: &[NewPart]) -> Result<Ledger> {
    let mut ledger = shared.manifest.ledger.clone();
    if ledger.is_empty() {
        ledger = of_lake(shared)?;
    }
    // Most runs lose nothing, and a first run only gains, so the set is built on demand.
    let has_losses = parts.iter().any(|part| !part.balance.left.is_empty());
    let gaining = parts.iter().filter(|_| has_losses);
    let gained: KeySet = gaining.flat_map(|part| part.balance.gained.iter().copied()).collect();
    for part in parts {
        let month = ledger.month(&part.name);
        month.add(&part.balance.now);
        month.subtract(&part.balance.before);
        // A record that no session owns any more is lost: the ledger still expects it.
        for (kind, key) in part.balance.left.iter().filter(|(_, key)| !gained.contains(key)) {
            month.add_key(*kind, *key);
        }
    }
    Ok(ledger)
}

/// Creates the first ledger of a lake from its claims, or from its rows if the two differ.
fn of_lake(shared: &Shared<'_>) -> Result<Ledger> {
    let mut ledger = Ledger::default();
    for (name, part) in &shared.manifest.parts {
        let replicas: Vec<Arc<Replica>> = shared.old.of_part(name).iter().map(OldReplica::replica).collect();
        let records = replicas.iter().flat_map(|replica| &replica.records);
        let owned: Vec<&Record> = records.filter(|record| record.is_owned).collect();
        let rows: u64 = part.sessions.iter().flat_map(|session| session.rows).sum();
        let sums = if owned.len() as u64 == rows {
            Sums::of(owned)
        } else {
            of_rows(shared.run.layout, shared.manifest, name, part)?
        };
        ledger.month(name).add(&sums);
    }
    Ok(ledger)
}

fn of_rows(layout: &Layout, manifest: &Manifest, name: &PartName, part: &PartEntry) -> Result<Sums> {
    let mut sums = Sums::default();
    let files = LAKE_TABLES.into_iter().enumerate().zip(&part.files).skip(1).filter(|(_, file)| file.is_some());
    for ((place, table), _) in files {
        for batch in part::read(&layout.root().join(Layout::part(table, &manifest.machine, name)), table)? {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let (kind, id) = match place {
                    1 => (Kind::Message, MessageColumns::of(&batch).message_id(row)),
                    2 => (Kind::ToolCall, ToolCallColumns::of(&batch).call_id(row)),
                    _ => (Kind::Response, UsageColumns::of(&batch).response_id(row)),
                };
                sums.add_key(kind, key(&name.agent, kind, id));
            }
        }
    }
    Ok(sums)
}
