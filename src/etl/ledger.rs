//! Updates the ledger after a run.

use std::sync::Arc;

use super::Shared;
use super::group::NewPart;
use super::old::OldReplica;
use crate::error::Result;
use crate::identity::{KeySet, Kind, Record, Replica, key};
use crate::lake::layout::{Layout, PartName};
use crate::lake::ledger::{Ledger, Sums};
use crate::lake::manifest::{Manifest, PartEntry};
use crate::lake::part;
use crate::tables::{LAKE_TABLES, MessageColumns, ToolCallColumns, UsageColumns};

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
