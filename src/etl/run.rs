//! One run, from the lock to the commit.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::damaged::Damaged;
use super::dry_run::dry_run;
use super::finish::{finish, write_sessions};
use super::fold::{FoldLimits, fold};
use super::open::{open_manifest, refuse_others};
use super::pass::Pass;
use super::plan::{Plan, is_outdated, plan, settles_policy};
use super::policy::Policy;
use super::prepare::{own_prices, prepare};
use super::room::with_need;
use super::settle::process_until_settled;
use super::{Options, Progress, Run, Shared, Summary, check_interrupt, report};
use crate::error::{Error, Result};
use crate::lake::layout::Layout;
use crate::lake::lock::Lock;
use crate::lake::manifest::Manifest;
use crate::lake::suspects::{Breadcrumbs, Suspects};
use crate::lake::{RunRecord, append_run, commit, fs};
use crate::pricing::PriceTable;
use crate::progress::Stage;
use crate::shown;
use crate::source::RunCache;

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
    let started_at = crate::time::now();
    let llrem_version = env!("CARGO_PKG_VERSION").to_owned();
    let mut record = RunRecord { started_at, llrem_version, ..RunRecord::default() };
    let threads = options.jobs.unwrap_or(0).min(MOST_THREADS);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build();
    let threads = threads.map_err(|error| Error::Usage(format!("cannot start the threads: {error}")))?;
    let outcome = threads.install(|| run_passes(options, &layout, progress, &mut record));
    progress.finish();
    if outcome.is_err() {
        commit::abandon(&layout);
    }
    end_record(&mut record, options, outcome.as_ref().err());
    // If a run failed for want of space, recording it may fail too. The first error is the one to report.
    let appended = append_run(&layout, &record);
    let summary = outcome?;
    appended.map_err(Error::after_commit(layout.root()))?;
    Ok(summary)
}

/// Records how the run ended.
fn end_record(record: &mut RunRecord, options: &Options, error: Option<&Error>) {
    record.ended_at = crate::time::now();
    if options.strict && record.sources_bad > 0 {
        let count = u64::try_from(record.sources_bad).unwrap_or(0);
        record.exit_code = i64::from(Error::BadInput { count }.exit_code());
    }
    if let Some(error) = error {
        record.exit_code = i64::from(error.exit_code());
        record.lake_bytes = record.lake_bytes.filter(|_| matches!(error, Error::Committed { .. }));
        record.error = Some(shown::with_urls(&error.to_string()).into_owned());
    }
}

/// Extracts what has changed: first all sources except those that may have killed an earlier run, then each of these
/// alone, after the rest is committed.
fn run_passes(options: &Options, layout: &Layout, progress: &dyn Progress, record: &mut RunRecord) -> Result<Summary> {
    let manifest = open_manifest(options, layout)?;
    let mut suspects = Suspects::load(layout, &manifest)?;
    let (now, policy) = (record.started_at, Policy::of(options));
    let mut run_pass = |pass: &Pass, manifest: Manifest| {
        let cache = RunCache::copied_into(layout.staging());
        let breadcrumbs = Breadcrumbs::new(layout, pass.is_alone());
        let (policy, cache) = (&policy, &cache);
        let run = Run { options, layout, progress, now, policy, cache, pass, breadcrumbs: &breadcrumbs };
        let done = run_pass(run, manifest, record);
        breadcrumbs.clear();
        done
    };
    let before = manifest.generation;
    let (mut summary, apart) = run_pass(&Pass::without(&suspects), manifest)?;
    let mut read_suspects = || {
        let apart = apart.iter().map(|name| &**name);
        for name in suspects.untried().map(String::as_str).chain(apart).collect::<BTreeSet<_>>() {
            check_interrupt()?;
            let (more, _) = run_pass(&Pass::alone(name, &suspects), open_manifest(options, layout)?)?;
            summary.add(more);
        }
        if options.looks_at_everything() { suspects.clear(layout) } else { Ok(()) }
    };
    let outcome = read_suspects();
    report::fill_record(record, &summary);
    outcome.map_err(|error| match Manifest::load(layout) {
        Ok(Some(manifest)) if manifest.generation > before => Error::after_commit(layout.root())(error),
        _ => error,
    })?;
    Ok(summary)
}

/// Runs one pass. Returns its summary, and the sources that need a pass of their own.
fn run_pass(run: Run<'_>, mut manifest: Manifest, record: &mut RunRecord) -> Result<(Summary, HashSet<Arc<str>>)> {
    let clock = Instant::now();
    run.progress.stage(Stage::Looking);
    let missing = manifest.ledger.differences_of_rows(manifest.rows());
    let reads_all = run.options.full && run.options.looks_at_everything();
    let damaged = if reads_all { Damaged::give_up(run.layout, &mut manifest)? } else { Damaged::default() };
    let own_prices = own_prices(run.options)?;
    let mut plan = plan(run, &manifest)?;
    record.sources_seen = count(plan.found.len());
    let has_news = !plan.changed.is_empty() || !plan.vanished.is_empty() || manifest.parts.is_empty();
    let has_work = has_news || !damaged.parts.is_empty() || is_outdated(&manifest) || settles_policy(run, &manifest);
    let summary = if has_work {
        read_and_commit(run, manifest, &mut plan, &damaged, own_prices, record)?
    } else {
        fold(run.layout, &mut manifest, run.now, &FoldLimits::LATER)?;
        record.lake_bytes = Some(size(&manifest));
        report::summary(run, &plan, report::ReadTotals::default(), &manifest, &report::known_bad(run, &manifest))
    };
    let damaged_files = damaged.paths.len() as u64;
    Ok((Summary { missing, damaged_files, seconds: clock.elapsed().as_secs_f64(), ..summary }, plan.apart))
}

/// Reads the sources of the plan, writes their rows, commits them, and folds small files.
fn read_and_commit(
    run: Run<'_>,
    manifest: Manifest,
    plan: &mut Plan,
    damaged: &Damaged,
    own_prices: Option<PriceTable>,
    record: &mut RunRecord,
) -> Result<Summary> {
    let limits = if manifest.generation == 0 { &FoldLimits::AT_FIRST } else { &FoldLimits::LATER };
    let (mut shared, groups) = prepare(run, &manifest, plan, damaged, own_prices)?;
    let outcomes = process_until_settled(&shared, plan, groups)?;
    record.sources_seen = count(plan.found.len());
    run.progress.stage(Stage::Writing);
    let bytes_read = shared.bytes.load(Ordering::Relaxed);
    let staged = write_sessions(&mut shared, outcomes).map_err(with_need(&shared, bytes_read))?;
    let Shared { syncer, .. } = shared;
    let known_bad = report::known_bad(run, &manifest);
    let mut finished = finish(run, plan, manifest, staged, &syncer)?;
    finished.steps.extend(damaged.removals(&finished.steps));
    check_interrupt()?;
    run.breadcrumbs.clear();
    commit::commit(run.layout, syncer, finished.steps, &finished.manifest)?;
    report::count_problems(record, &finished.reads);
    record.lake_bytes = Some(size(&finished.manifest));
    tidy(run.layout, &mut finished.manifest, run.now, limits).map_err(Error::after_commit(run.layout.root()))?;
    record.lake_bytes = Some(size(&finished.manifest));
    let mut summary = report::summary(run, plan, finished.reads, &finished.manifest, &known_bad);
    finished.written.add_to(&mut summary);
    summary.bytes_read = bytes_read;
    Ok(summary)
}

/// Folds small files after the commit. If it fails, the new rows stay in the lake.
fn tidy(layout: &Layout, manifest: &mut Manifest, now: i64, limits: &FoldLimits) -> Result<()> {
    fs::remove_folder(&layout.staging())?;
    fs::make_folder(&layout.staging())?;
    fold(layout, manifest, now, limits)?;
    fs::remove_folder(&layout.staging())
}

/// Returns the size of the data files. Bytes.
fn size(manifest: &Manifest) -> i64 {
    i64::try_from(manifest.files().map(|file| file.bytes).sum::<u64>()).unwrap_or(i64::MAX)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
