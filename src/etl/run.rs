//! One run, from the lock to the commit.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rayon::prelude::*;
use walkdir::WalkDir;

use super::damaged::Damaged;
use super::finish::{Finished, finish};
use super::fold::{FoldLimits, fold};
use super::group::{Group, Outcome, Work, process};
use super::notes::Notes;
use super::old::OldClaims;
use super::order::long_ones_in_time;
use super::pass::Pass;
use super::plan::{self, Plan, Planning, groups, is_outdated, plan, settles_policy};
use super::policy::Policy;
use super::read::{Planned, Read};
use super::room::with_need;
use super::{Options, Progress, Shared, Summary, check_interrupt, children, projects, report, resolve};
use crate::agents::Agent;
use crate::error::{Error, Result};
use crate::lake::commit::{self};
use crate::lake::layout::{Layout, is_name_of, machine_name};
use crate::lake::lock::Lock;
use crate::lake::manifest::Manifest;
use crate::lake::suspects::{Breadcrumbs, Suspects};
use crate::lake::syncer::Syncer;
use crate::lake::{RemoteLake, RunRecord, append_run, fs};
use crate::pricing::{PriceTable, Pricer};
use crate::redact::Redactor;
use crate::shown;
use crate::source::RunCache;
use crate::tables::LAKE_TABLES;

/// How often decisions may be repeated before a run fails. Usually one repetition is enough.
const ROUNDS: usize = 8;

/// Stack size of each reading thread. The following recurse on input, within these bounds:
/// - Reading JSON into anything, and walking or dropping a `serde_json::Value` (rich texts of Cursor and Windsurf): 128 levels,
///   the parser's own limit, which is nowhere lifted.
/// - Parts of Gemini's contents: one list within a list item is not followed.
/// - Trees of Cursor's blobs: 32 levels, and no blob twice.
/// - Folders below a project or storage folder (rules, saved conversations, session files): 16 levels at most, each call
///   names its own.
/// - Regular expressions, and SQL of a database's own schema: bounded by their libraries.
///
/// Texts, tags, patches, shell commands, and the parents of messages and sessions are walked in loops.
const STACK: usize = 8 << 20;

/// Most threads. Starting more takes longer than they could save on any machine.
const MOST_THREADS: usize = 256;

/// Extracts what has changed into the lake.
///
/// # Errors
/// If it fails, the lake is unchanged, unless the error says that the commit was done.
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Summary> {
    let layout = Layout::new(&std::path::absolute(&options.lake).map_err(Error::io("read", &options.lake))?);
    if options.dry_run {
        return dry_run(options, &layout);
    }
    refuse_others(&layout)?;
    fs::make_folder(layout.root())?;
    fs::make_folder(&layout.state())?;
    let _lock = Lock::take(&layout, options.wait)?;
    let started = crate::time::now();
    let mut record =
        RunRecord { started_at: started, llrem_version: env!("CARGO_PKG_VERSION").to_owned(), ..RunRecord::default() };
    let threads = options.jobs.unwrap_or(0).min(MOST_THREADS);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build();
    let threads = threads.map_err(|error| Error::Usage(format!("cannot start the threads: {error}")))?;
    let outcome = threads.install(|| extract_all(options, &layout, progress, started, &mut record));
    progress.finish();
    if outcome.is_err() {
        commit::abandon(&layout);
    }
    record.ended_at = crate::time::now();
    if options.strict && record.sources_bad > 0 {
        let count = u64::try_from(record.sources_bad).unwrap_or(0);
        record.exit_code = i64::from(Error::BadInput { count }.exit_code());
    }
    if let Err(error) = &outcome {
        record.exit_code = i64::from(error.exit_code());
        record.error = Some(shown::with_urls(&error.to_string()).into_owned());
    }
    // If a run failed for want of space, recording it may fail too. The first error is the one to report.
    let appended = append_run(&layout, &record);
    let summary = outcome?;
    appended.map_err(Error::after_commit(layout.root()))?;
    Ok(summary)
}

/// Refuses a folder with rows that a run did not write: it would add its own, and rows would count twice.
fn refuse_others(layout: &Layout) -> Result<()> {
    let refusal = |reason| Err(Error::OthersLake { path: layout.root().to_owned(), reason });
    if RemoteLake::in_folder(layout.root()).is_some() {
        return refusal("machines upload their lakes to it");
    }
    let is_known = layout.manifest().exists() || layout.journal().exists();
    if !is_known && LAKE_TABLES.iter().any(|table| has_data(&layout.table(table))) {
        return refusal("it has tables, but no manifest that describes them");
    }
    Ok(())
}

fn has_data(table: &Path) -> bool {
    let mut entries = WalkDir::new(table).into_iter().filter_map(Result::ok);
    entries.any(|entry| entry.path().extension().is_some_and(|suffix| suffix == "parquet"))
}

fn dry_run(options: &Options, layout: &Layout) -> Result<Summary> {
    let manifest = Manifest::load(layout)?.unwrap_or_default();
    let (policy, cache) = (Policy::of(options), RunCache::default());
    let (pass, breadcrumbs) = (Pass::default(), Breadcrumbs::default());
    let plan = plan(Planning {
        options,
        manifest: &manifest,
        policy: &policy,
        cache: &cache,
        pass: &pass,
        breadcrumbs: &breadcrumbs,
    })?;
    let mut summary = report::summary(&plan, &[], &manifest);
    summary.kept_machine = kept_machine(options, &manifest);
    let due = plan.found.iter().filter(|planned| plan.changed.contains(&planned.name));
    let due = due.filter(|planned| planned.section.is_none());
    summary.would_read =
        due.map(|planned| (planned.path.clone(), if planned.is_new { "new" } else { "changed" })).collect();
    if options.looks_into_projects() && !summary.would_read.is_empty() {
        let agents = plan::chosen_agents(options).into_iter().map(Agent::about);
        summary.would_look_for = agents.filter(|about| about.keeps_files_in_projects()).map(|about| about.id).collect();
    }
    Ok(summary)
}

/// Returns the machine's name in the lake, if it differs from the requested one.
fn kept_machine(options: &Options, manifest: &Manifest) -> Option<String> {
    let wanted = options.machine.as_deref()?;
    (!manifest.machine.is_empty() && !is_name_of(&manifest.machine, wanted)).then(|| manifest.machine.clone())
}

fn open_manifest(options: &Options, layout: &Layout) -> Result<Manifest> {
    commit::recover(layout)?;
    if let Some(manifest) = Manifest::load(layout)? {
        return Ok(manifest);
    }
    let machine = options.machine.clone().unwrap_or_else(|| gethostname::gethostname().to_string_lossy().into_owned());
    let redaction_key = crate::random::bytes()?;
    Ok(Manifest { machine: machine_name(&machine), redaction_key, ..Manifest::default() })
}

/// Extracts what has changed: first all sources except those that may have killed an earlier run, then each of these
/// alone, after the rest is committed.
fn extract_all(
    options: &Options,
    layout: &Layout,
    progress: &dyn Progress,
    now: i64,
    record: &mut RunRecord,
) -> Result<Summary> {
    let manifest = open_manifest(options, layout)?;
    let mut suspects = Suspects::load(layout, &manifest)?;
    let mut extract = |pass: &Pass, manifest: Manifest| {
        let breadcrumbs = Breadcrumbs::new(layout, pass.is_alone());
        let extracted = extract(options, layout, progress, now, record, manifest, pass, &breadcrumbs);
        breadcrumbs.clear();
        extracted
    };
    let (mut summary, apart) = extract(&Pass::without(&suspects), manifest)?;
    for name in suspects.untried().map(String::as_str).chain(apart.iter().map(|name| &**name)).collect::<BTreeSet<_>>()
    {
        check_interrupt()?;
        let (more, _) = extract(&Pass::alone(name, &suspects), open_manifest(options, layout)?)?;
        summary.add(more);
    }
    if options.looks_at_everything() {
        suspects.clear(layout)?;
    }
    report::fill_record(record, &summary);
    Ok(summary)
}

#[expect(clippy::too_many_arguments, reason = "what a run has, and what differs between its passes")]
fn extract(
    options: &Options,
    layout: &Layout,
    progress: &dyn Progress,
    now: i64,
    record: &mut RunRecord,
    mut manifest: Manifest,
    pass: &Pass,
    breadcrumbs: &Breadcrumbs,
) -> Result<(Summary, HashSet<Arc<str>>)> {
    let clock = Instant::now();
    progress.stage("looking");
    let missing = manifest.ledger.differences_of_rows(manifest.parts.iter());
    let reads_all = options.full && options.looks_at_everything();
    let damaged = if reads_all { Damaged::give_up(layout, &mut manifest)? } else { Damaged::default() };
    let own_prices = options.prices.as_ref().map(|text| PriceTable::bundled().with_overrides(text)).transpose();
    let own_prices = own_prices.map_err(|error| Error::Usage(error.to_string()))?;
    let cache = RunCache::copied_into(layout.staging());
    let policy = Policy::of(options);
    let planning = Planning { options, manifest: &manifest, policy: &policy, cache: &cache, pass, breadcrumbs };
    let mut plan = plan(planning)?;
    record.sources_seen = count(plan.found.len());
    let is_new_lake = manifest.generation == 0;
    let is_idle = plan.changed.is_empty() && plan.vanished.is_empty() && !is_new_lake;
    if is_idle && damaged.parts.is_empty() && !is_outdated(&manifest) && !settles_policy(planning) {
        fold(layout, &mut manifest, now, &FoldLimits::LATER)?;
        let summary = Summary {
            seconds: clock.elapsed().as_secs_f64(),
            kept_machine: kept_machine(options, &manifest),
            missing,
            ..report::summary(&plan, &[], &manifest)
        };
        return Ok((summary, plan.apart));
    }
    let Prepared { pricer, redactor, groups, read_again, old } =
        prepare(planning, &plan, &damaged, layout, own_prices, now)?;
    let to_read = Amount::of(&groups);
    progress.start(to_read.files, to_read.bytes);
    progress.stage("extracting");
    let mut notes = Notes::default();
    for (_, entry) in manifest.sources.iter().filter(|(name, _)| !read_again.contains(name.as_str())) {
        notes.add(&entry.notes, entry.print.modified_ns);
    }
    let syncer = Syncer::start();
    let vanished = plan.vanished.clone();
    let shared = Shared {
        options,
        layout,
        syncer: &syncer,
        manifest: &manifest,
        redactor: &redactor,
        pricer: &pricer,
        progress,
        now,
        old,
        cache: &cache,
        keeps_fuller: policy.stores_texts_of(&Policy::of_lake(&manifest)),
        pass,
        breadcrumbs,
        read_again,
        damaged_parts: &damaged.parts,
        vanished: vanished.iter().map(String::as_str).collect(),
        owners: Mutex::default(),
        notes: Mutex::new(notes),
        redactions: Mutex::default(),
        bytes: AtomicU64::new(0),
        staged: AtomicU64::new(0),
    };
    let mut outcomes = process_until_settled(&shared, planning, &mut plan, groups, to_read)?;
    check_interrupt()?;
    children::name_late_ones(&shared, &mut outcomes)?;
    record.sources_seen = count(plan.found.len());
    progress.stage("committing");
    let read = shared.bytes.load(Ordering::Relaxed);
    let mut finished = finish(&shared, &plan, outcomes).map_err(with_need(&shared, read))?;
    finished.steps.extend(damaged.removals(&finished.steps));
    check_interrupt()?;
    let bytes_read = shared.bytes.load(Ordering::Relaxed);
    let Shared { old, .. } = shared;
    breadcrumbs.clear();
    commit_while_freeing(layout, syncer, &mut finished, old)?;
    let limits = if is_new_lake { &FoldLimits::AT_FIRST } else { &FoldLimits::LATER };
    let tidied = tidy(layout, &mut finished.manifest, now, limits);
    let reads: Vec<Read> = std::mem::take(&mut finished.reads);
    let mut summary = report::summary(&plan, &reads, &finished.manifest);
    summary.kept_machine = kept_machine(options, &finished.manifest);
    finished.written.add_to(&mut summary);
    let refused = reads.iter().filter(|read| pass.refuses(&read.planned.name));
    summary.skipped = refused.map(|read| read.planned.path.clone()).collect();
    summary.damaged_files = damaged.paths.len() as u64;
    summary.missing = missing;
    summary.bytes_read = bytes_read;
    summary.seconds = clock.elapsed().as_secs_f64();
    report::count_problems(record, &reads);
    tidied.map_err(Error::after_commit(layout.root()))?;
    Ok((summary, plan.apart))
}

/// Processes groups until no decision changes any more.
fn process_until_settled(
    shared: &Shared<'_>,
    planning: Planning<'_>,
    plan: &mut Plan,
    groups: Vec<Group>,
    mut to_read: Amount,
) -> Result<Vec<Outcome>> {
    let (options, pass) = (shared.options, shared.pass);
    let mut outcomes = process_all(shared, groups)?;
    let mut known_projects = shared.manifest.project_paths.clone();
    let mut known: HashMap<Arc<str>, Arc<Planned>> = by_name(&plan.found, pass).collect();
    for round in 0.. {
        let mut next = Vec::new();
        let projects = projects::add_new(&outcomes, &mut known_projects);
        if options.looks_into_projects() && !projects.is_empty() {
            next = plan::look_into(&projects, planning, plan, shared.now);
            to_read.add(&Amount::of(&next));
            shared.progress.start(to_read.files, to_read.bytes);
            known.extend(by_name(&plan.found, pass));
        }
        check_interrupt()?;
        next.extend(resolve::stale(shared, &mut outcomes, &known));
        if next.is_empty() {
            break;
        }
        check_round(round)?;
        outcomes.extend(process_all(shared, next)?);
    }
    Ok(outcomes)
}

/// Folds small files after the commit. If it fails, the new rows stay in the lake.
fn tidy(layout: &Layout, manifest: &mut Manifest, now: i64, limits: &FoldLimits) -> Result<()> {
    fs::remove_folder(&layout.staging())?;
    fs::make_folder(&layout.staging())?;
    fold(layout, manifest, now, limits)?;
    fs::remove_folder(&layout.staging())
}

/// Fails the run if decisions still change after the last round. The lake is unchanged.
fn check_round(round: usize) -> Result<()> {
    let reason = "sessions that share records could not be distinguished; please report it";
    if round < ROUNDS { Ok(()) } else { Err(Error::Query(reason.to_owned())) }
}

/// Frees the memory of millions of claims while the commit waits for the disk.
fn commit_while_freeing(layout: &Layout, syncer: Syncer, finished: &mut Finished, spent: impl Send) -> Result<()> {
    let steps = std::mem::take(&mut finished.steps);
    let commit = || commit::commit(layout, syncer, steps, &finished.manifest);
    let (committed, ()) = rayon::join(commit, || drop(spent));
    committed
}

/// Prepares what a run works with. Prices and rules take some milliseconds, and so do old claims, so they are loaded in
/// parallel: a run with few changes should not take much longer.
fn prepare(
    planning: Planning<'_>,
    plan: &Plan,
    damaged: &Damaged,
    layout: &Layout,
    prices: Option<PriceTable>,
    now: i64,
) -> Result<Prepared> {
    let rules = || {
        let redactor = Redactor::new(planning.options.redact, planning.manifest.redaction_key);
        (Pricer::new(prices.unwrap_or_else(PriceTable::bundled)), redactor)
    };
    let work = || {
        let groups = groups(plan, planning, damaged, now);
        let read_again: HashSet<Arc<str>> = groups.iter().flat_map(|group| group.sources.keys().cloned()).collect();
        let is_idle = groups.is_empty();
        let old = if is_idle {
            OldClaims::default()
        } else {
            OldClaims::load(layout, planning.manifest, damaged.claims.clone(), &read_again)?
        };
        Ok::<_, Error>((groups, read_again, old))
    };
    let ((pricer, redactor), work) = rayon::join(rules, work);
    let (groups, read_again, old) = work?;
    Ok(Prepared { pricer, redactor, groups, read_again, old })
}

/// Input of a run: prices, rules, groups and the claims of the lake.
struct Prepared {
    pricer: Pricer,
    redactor: Redactor,
    groups: Vec<Group>,
    read_again: HashSet<Arc<str>>,
    old: OldClaims,
}

fn process_all(shared: &Shared<'_>, groups: Vec<Group>) -> Result<Vec<Outcome>> {
    let to_read = shared.bytes.load(Ordering::Relaxed) + Amount::of(&groups).bytes;
    process_groups(shared, groups).map_err(with_need(shared, to_read))
}

fn process_groups(shared: &Shared<'_>, groups: Vec<Group>) -> Result<Vec<Outcome>> {
    let (folded, groups): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(Group::is_folded);
    let waiting = AtomicUsize::new(groups.len());
    // A source that is read alone is not read together with others of its session either.
    let all_threads = if shared.pass.is_alone() { Work::InTurn } else { Work::SideBySide };
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

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
