//! A run: discover → plan → extract → resolve → commit. Only this module uses threads.

use crate::tables::SourceState;

mod balance;
mod carry;
mod children;
mod damaged;
mod dry_run;
mod finish;
mod fold;
mod gathered;
mod group;
mod late_children;
mod ledger;
mod notes;
mod old;
mod old_rows;
mod open;
mod options;
mod order;
mod pass;
mod plan;
mod policy;
mod prepare;
mod process;
mod projects;
mod read;
mod rebuild;
mod reclaimed;
mod remainder;
mod renamed;
mod report;
mod resolve;
mod room;
mod run;
mod sessions;
mod settle;
mod totals;
mod turns;
#[cfg(test)]
mod upgrade_tests;
mod usage;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use crate::extract::Content;
pub use crate::progress::{Progress, Silent};
pub(crate) use fold::fold_all;
pub use options::{AgentSummary, Options, Summary};
pub(crate) use room::free_bytes;
pub use run::run;

use crate::error::{Error, Result};
use crate::extract::Context;
use crate::identity::{Owners, Reading};
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::Manifest;
use crate::lake::suspects::Breadcrumbs;
use crate::lake::syncer::Syncer;
use crate::pricing::Pricer;
use crate::redact::{Counts, Redactor};
use crate::source::{RunCache, path_of};
use gathered::Gathered;
use notes::Notes;
use old::OldClaims;
use pass::Pass;
use plan::Dropped;
use policy::Policy;
use read::Planned;

/// Inputs of a pass of a run, besides the lake.
#[derive(Clone, Copy)]
struct Run<'a> {
    options: &'a Options,
    layout: &'a Layout,
    progress: &'a dyn Progress,
    /// Start of the run. Microseconds since 1970.
    now: i64,
    /// The settings that affect rows.
    policy: &'a Policy,
    cache: &'a RunCache,
    /// The sources to read in this pass.
    pass: &'a Pass,
    /// Records which source is being read, for the case that it kills the process.
    breadcrumbs: &'a Breadcrumbs,
}

/// State that all threads of a pass share.
struct Shared<'a> {
    run: Run<'a>,
    /// The lake at the start of the pass.
    manifest: &'a Manifest,
    redactor: Redactor,
    pricer: Pricer,
    syncer: Syncer,
    old: Arc<OldClaims>,
    /// True if rows with texts stay where their sources have less of them: not if another policy stored the texts.
    keeps_texts: bool,
    /// Names of the sources that the pass reads.
    read_again: HashSet<Arc<str>>,
    /// Parts with lost or damaged files.
    damaged_parts: &'a BTreeSet<PartName>,
    /// Names of the sources that have vanished.
    vanished: HashSet<String>,
    /// Sections that files no longer have.
    dropped: Dropped,
    owners: Mutex<Owners>,
    notes: Mutex<Notes>,
    /// Secrets replaced in streamed rows, by source. Only the last streaming counts.
    redactions: Mutex<HashMap<String, Counts>>,
    bytes: AtomicU64,
    staged: AtomicU64,
}

impl Shared<'_> {
    fn context(&self, agent: &'static str) -> Context<'_> {
        Context {
            agent,
            redactor: &self.redactor,
            pricer: &self.pricer,
            content: self.run.options.content,
            zone: self.run.options.zone,
        }
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn redactions(&self) -> MutexGuard<'_, HashMap<String, Counts>> {
        self.redactions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.run.progress.advance(0, bytes);
    }

    /// Returns an empty collection of a session's rows.
    fn gather(&self) -> Gathered {
        Gathered::new(&self.run.layout.staging(), read::most_held())
    }

    /// Returns a unique name for staged files.
    fn stage_name(&self) -> String {
        format!("{:06}", self.staged.fetch_add(1, Ordering::Relaxed))
    }

    /// True if a source of the lake can be read again.
    fn is_there(&self, source: &str) -> bool {
        let entry = self.manifest.sources.get(source);
        let is_gone = entry.is_some_and(|entry| entry.state == SourceState::Gone && !self.read_again.contains(source));
        let file = entry.map_or(source, |entry| entry.file(source));
        !is_gone && !self.vanished.contains(source) && path_of(file).exists()
    }

    /// Returns how the reading of a source in this run relates to the previous one. `has_only_grown` is true if its
    /// files still have the content of that time.
    fn reading(&self, planned: &Planned, has_only_grown: bool) -> Reading {
        let Some(entry) = self.manifest.sources.get(&*planned.name) else { return Reading::Changed };
        let is_same = match planned.section {
            Some(_) => entry.print.inode == planned.print.inode,
            None => entry.print == planned.print,
        };
        if !is_same && has_only_grown {
            return Reading::Grown;
        }
        match (is_same, entry.parser_version == planned.agent.about().parser_version) {
            (true, true) => Reading::Same,
            (true, false) => Reading::Reparsed,
            (false, true) => Reading::Changed,
            (false, false) => Reading::ChangedAndReparsed,
        }
    }
}

/// Fails if the person interrupted the run.
fn check_interrupt() -> Result<()> {
    if crate::interrupt::interrupted() { Err(Error::Interrupted) } else { Ok(()) }
}
