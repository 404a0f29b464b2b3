//! `llrem verify`: checks the lake against its manifest and its own rules.
//!
//! A commit that a crash cut off is no problem: until the next run completes it, a file may be the old one or the new
//! one.

mod files;
mod folder;
mod identities;
mod part;
mod tally;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::commit;
use super::layout::{Layout, PartName};
use super::ledger::Ledger;
use super::manifest::{Manifest, PartEntry};
use super::state::damaged_runs;
use crate::error::{Error, Result};
use crate::interrupt::interrupted;
use files::Expected;
pub(crate) use files::is_whole;
use identities::Identities;

/// Most checks if a run changes the lake meanwhile.
const ATTEMPTS: usize = 5;

/// Returns a line for each problem, in order.
pub(super) fn verify(layout: &Layout, manifest: Manifest, read_data: bool) -> Result<Vec<String>> {
    let mut lake = State::of(layout, manifest);
    for _ in 1..ATTEMPTS {
        let problems = lake.problems(layout, read_data)?;
        let now = Manifest::load(layout)?.map(|manifest| State::of(layout, manifest));
        match now.filter(|now| !problems.is_empty() && now.generations() != lake.generations()) {
            Some(now) => lake = now,
            None => return Ok(problems),
        }
    }
    lake.problems(layout, read_data)
}

/// The expected state: the manifest, and the manifest of a commit in progress.
struct State {
    manifest: Manifest,
    pending: Option<Manifest>,
    damage: Option<String>,
}

impl State {
    fn of(layout: &Layout, manifest: Manifest) -> Self {
        match commit::pending_manifest(layout) {
            Ok(pending) => Self { manifest, pending, damage: None },
            Err(error) => Self { manifest, pending: None, damage: Some(error.to_string()) },
        }
    }

    fn generations(&self) -> (u64, Option<u64>) {
        (self.manifest.generation, self.pending.as_ref().map(|pending| pending.generation))
    }

    fn problems(&self, layout: &Layout, read_data: bool) -> Result<Vec<String>> {
        let (identities, ledger) = (Identities::default(), Mutex::new(Ledger::default()));
        let names: BTreeSet<&PartName> =
            self.manifest.parts.keys().chain(self.pending.iter().flat_map(|pending| pending.parts.keys())).collect();
        let of_part = |name: &PartName| self.part_problems(layout, name, &identities, &ledger, read_data);
        let mut problems: Vec<String> =
            names.into_par_iter().filter(|_| !interrupted()).flat_map_iter(of_part).collect();
        if problems.is_empty() && self.pending.is_none() && !self.manifest.ledger.is_empty() {
            let found = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
            problems.extend(self.manifest.ledger.differences_of_records(&found));
        }
        problems.extend(self.damage.clone());
        problems.extend(damaged_runs(layout));
        problems.extend(folder::problems(layout, &self.known_files()));
        problems.sort();
        problems.dedup();
        if interrupted() { Err(Error::Interrupted) } else { Ok(problems) }
    }

    fn part_problems(
        &self,
        layout: &Layout,
        name: &PartName,
        identities: &Identities,
        ledger: &Mutex<Ledger>,
        read_data: bool,
    ) -> Vec<String> {
        let absent = PartEntry::default();
        let before = self.manifest.parts.get(name);
        let after = self.pending.as_ref().map_or(before, |pending| pending.parts.get(name));
        let expected = Expected { before: before.unwrap_or(&absent), after: after.unwrap_or(&absent) };
        let mut problems = files::problems(layout, &self.manifest.machine, name, &expected, read_data);
        if let Some(part) = before.filter(|part| after == Some(*part) && problems.is_empty()) {
            problems = part::problems(layout, &self.manifest, name, part, identities, ledger);
        }
        problems
    }

    /// Paths of all data files, relative to the lake.
    fn known_files(&self) -> BTreeSet<String> {
        let manifests = [Some(&self.manifest), self.pending.as_ref()];
        let parts = manifests.into_iter().flatten().flat_map(|manifest| &manifest.parts);
        parts.flat_map(|(name, part)| files::paths(&self.manifest.machine, name, part)).collect()
    }
}
