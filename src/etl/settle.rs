//! Processes groups until their decisions settle.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::group::{Group, Outcome};
use super::order::long_ones_in_time;
use super::pass::Pass;
use super::plan::{self, Plan};
use super::process::{Work, process};
use super::read::Planned;
use super::room::with_need;
use super::{Shared, check_interrupt, late_children, projects, resolve};
use crate::error::{Error, Result};
use crate::progress::Stage;

/// Most repetitions of decisions before a run fails. Usually one is enough.
const ROUNDS: usize = 8;

/// Processes groups, and those that their projects and decisions add, until no decision changes any more.
pub(super) fn process_until_settled(shared: &Shared<'_>, plan: &mut Plan, groups: Vec<Group>) -> Result<Vec<Outcome>> {
    let run = shared.run;
    let mut to_read = Amount::of(&groups);
    run.progress.stage(Stage::Reading);
    run.progress.start(to_read.files, to_read.bytes);
    let mut outcomes = process_all(shared, groups)?;
    let mut known_projects = shared.manifest.project_paths.clone();
    let mut known: HashMap<Arc<str>, Arc<Planned>> = by_name(&plan.found, run.pass).collect();
    for round in 0.. {
        let mut next = Vec::new();
        let projects = projects::add_new(&outcomes, &mut known_projects);
        if run.options.looks_into_projects() && !projects.is_empty() {
            next = plan::look_into(&projects, run, shared.manifest, plan);
            to_read.add(&Amount::of(&next));
            run.progress.start(to_read.files, to_read.bytes);
            known.extend(by_name(&plan.found, run.pass));
        }
        check_interrupt()?;
        next.extend(resolve::stale(shared, &mut outcomes, &known));
        if next.is_empty() {
            break;
        }
        check_round(round)?;
        outcomes.extend(process_all(shared, next)?);
    }
    check_interrupt()?;
    late_children::name_late_ones(shared, &mut outcomes)?;
    Ok(outcomes)
}

/// Fails the run if decisions still change after the last round. The lake is unchanged.
fn check_round(round: usize) -> Result<()> {
    let reason = "sessions that share records could not be distinguished; please report it";
    if round < ROUNDS { Ok(()) } else { Err(Error::Query(reason.to_owned())) }
}

fn process_all(shared: &Shared<'_>, groups: Vec<Group>) -> Result<Vec<Outcome>> {
    let to_read = shared.bytes.load(Ordering::Relaxed) + Amount::of(&groups).bytes;
    process_groups(shared, groups).map_err(with_need(shared, to_read))
}

fn process_groups(shared: &Shared<'_>, groups: Vec<Group>) -> Result<Vec<Outcome>> {
    let (folded, groups): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(Group::is_folded);
    let waiting = AtomicUsize::new(groups.len());
    // A source that is read alone is not read together with others of its session either.
    let all_threads = if shared.run.pass.is_alone() { Work::InTurn } else { Work::SideBySide };
    let threads = rayon::current_num_threads();
    let groups = long_ones_in_time(groups, threads);
    let outcomes = groups.into_iter().par_bridge().map(|group| {
        // One of the last groups is done first. Its thread then helps with the others.
        let is_among_last = waiting.fetch_sub(1, Ordering::Relaxed) <= threads;
        process(shared, group, if is_among_last { all_threads } else { Work::InTurn })
    });
    let mut outcomes: Vec<Outcome> = outcomes.collect::<Result<_>>()?;
    // One group at a time, so that memory does not grow with the number of threads.
    for group in folded {
        outcomes.push(process(shared, group, all_threads)?);
    }
    Ok(outcomes)
}

fn by_name(found: &[Arc<Planned>], pass: &Pass) -> impl Iterator<Item = (Arc<str>, Arc<Planned>)> {
    let here = found.iter().filter(|planned| !pass.leaves(&planned.name));
    here.map(|planned| (planned.name.clone(), Arc::clone(planned)))
}

/// Returns the number of bytes to read.
#[derive(Default)]
struct Amount {
    files: u64,
    bytes: u64,
}

impl Amount {
    fn of(groups: &[Group]) -> Self {
        let sources = groups.iter().flat_map(|group| group.sources.values());
        sources.fold(Self::default(), |sum, planned| Self { files: sum.files + 1, bytes: sum.bytes + planned.bytes() })
    }

    fn add(&mut self, more: &Self) {
        self.files += more.files;
        self.bytes += more.bytes;
    }
}
