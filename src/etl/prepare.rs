//! Prepares what the threads of a pass share: prices, rules, groups, and the claims of the lake.

use std::collections::HashSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use super::damaged::Damaged;
use super::group::Group;
use super::notes::Notes;
use super::old::OldClaims;
use super::plan::{Plan, groups};
use super::policy::Policy;
use super::{Options, Run, Shared};
use crate::error::{Error, Result};
use crate::identity::Owners;
use crate::lake::manifest::Manifest;
use crate::lake::syncer::Syncer;
use crate::pricing::{PriceTable, Pricer};
use crate::redact::Redactor;

/// Returns the prices with the user's own, if there are any.
pub(super) fn own_prices(options: &Options) -> Result<Option<PriceTable>> {
    let prices = options.prices.as_ref().map(|own| PriceTable::bundled().with_overrides(own)).transpose();
    prices.map_err(|error| Error::Usage(error.to_string()))
}

/// Returns the shared state of a pass, and its groups. Prices and rules take some milliseconds, and so do old claims,
/// so they are loaded in parallel: a run with few changes should not take much longer.
pub(super) fn prepare<'a>(
    run: Run<'a>,
    manifest: &'a Manifest,
    plan: &Plan,
    damaged: &'a Damaged,
    own_prices: Option<PriceTable>,
) -> Result<(Shared<'a>, Vec<Group>)> {
    let rules = || {
        let redactor = Redactor::new(run.options.redact, manifest.redaction_key);
        (Pricer::new(own_prices.unwrap_or_else(PriceTable::bundled)), redactor)
    };
    let work = || {
        let groups = groups(plan, run, manifest, damaged);
        let read_again: HashSet<Arc<str>> = groups.iter().flat_map(|group| group.sources.keys().cloned()).collect();
        let known = damaged.claims.clone();
        let load = || OldClaims::load(run.layout, manifest, known, &read_again);
        let old = if groups.is_empty() { OldClaims::default() } else { load()? };
        Ok::<_, Error>((groups, read_again, old))
    };
    let ((pricer, redactor), work) = rayon::join(rules, work);
    let (groups, read_again, old) = work?;
    let old = Arc::new(old);
    let of_lake = Arc::clone(&old);
    let shared = Shared {
        run,
        manifest,
        redactor,
        pricer,
        syncer: Syncer::start(),
        old,
        keeps_texts: run.policy.stores_texts_of(&Policy::of_lake(manifest)),
        notes: Mutex::new(known_notes(manifest, &read_again)),
        read_again,
        damaged_parts: &damaged.parts,
        vanished: plan.vanished.iter().cloned().collect(),
        dropped: plan.dropped.clone(),
        owners: Mutex::new(Owners::over(Box::new(move |number| of_lake.unpack(number)))),
        redactions: Mutex::default(),
        bytes: AtomicU64::new(0),
        staged: AtomicU64::new(0),
    };
    Ok((shared, groups))
}

/// Returns the notes of the sources that the pass does not read.
fn known_notes(manifest: &Manifest, read_again: &HashSet<Arc<str>>) -> Notes {
    let mut notes = Notes::default();
    for (_, entry) in manifest.sources.iter().filter(|(name, _)| !read_again.contains(*name)) {
        notes.add(&entry.notes, entry.print.modified_ns);
    }
    notes
}
