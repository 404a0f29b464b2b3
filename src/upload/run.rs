//! One upload, from reading the manifest to writing it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};

use super::exchange::{exchange, staged_key};
use super::ledger::Ledger;
use super::plan::Plan;
use super::profile::Rewriter;
use super::send::{Sender, Sent};
use super::{Options, PlannedFile, Summary};
use crate::lake::fs;
use crate::lake::layout::Layout;
use crate::lake::lock::Lock;
use crate::lake::manifest::Manifest;
use crate::progress::{Progress, Stage};
use crate::remote::manifest::{FileKey, RemoteFile, file_key};
use crate::remote::{Remote, leftovers};
use crate::tables::LAKE_TABLES;
use crate::{Error, Result};

/// Files that are uploaded at a time.
const AT_A_TIME: usize = 16;
/// Attempts if the lake changes during the upload.
const ROUNDS: u32 = 10;
/// Interval at which progress is reported and an interruption is checked.
const TICK: Duration = Duration::from_millis(100);
/// Pause before the next attempt.
const PAUSE: Duration = Duration::from_millis(300);

/// Gives the store what the lake has.
///
/// # Errors
/// If it fails, the store is still right for readers, and the next upload does the rest.
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Summary> {
    let clock = Instant::now();
    let remote = Remote::open(&options.url, &options.storage)?.to_be_written();
    let layout = Layout::new(&std::path::absolute(&options.lake).map_err(Error::io("read", &options.lake))?);
    if let Some(folder) = &remote.place.folder {
        refuse_own_folder(layout.root(), folder)?;
    }
    let lake = Manifest::load(&layout)?.ok_or_else(|| Error::NoLake { path: options.lake.clone() })?;
    let outgoing = Outgoing::new(&layout, options.dry_run)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Error::Query(format!("cannot start threads: {error}")))?;
    let outcome = runtime.block_on(upload(options, remote, &layout, lake, outgoing.path(), progress));
    runtime.shutdown_timeout(Duration::from_secs(1));
    progress.finish();
    let summary = outcome?;
    Ok(Summary { seconds: clock.elapsed().as_secs_f64(), ..summary })
}

/// Folder for files that are rewritten before their upload.
enum Outgoing {
    /// A folder of the lake, locked against other uploads.
    Held(PathBuf, #[expect(dead_code, reason = "held until it is dropped")] Lock),
    /// A temporary folder, because the lake must not change.
    Foreign(tempfile::TempDir),
}

impl Outgoing {
    fn new(layout: &Layout, dry_run: bool) -> Result<Self> {
        if dry_run {
            let folder = tempfile::tempdir().map_err(Error::io("write to", &std::env::temp_dir()))?;
            return Ok(Self::Foreign(folder));
        }
        let lock = Lock::take_for_upload(layout)?;
        let folder = layout.outgoing();
        // Leftovers of a killed upload.
        fs::remove_folder(&folder)?;
        fs::make_folder(&folder)?;
        Ok(Self::Held(folder, lock))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Held(folder, _) => folder,
            Self::Foreign(folder) => folder.path(),
        }
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        if let Self::Held(folder, _) = self {
            let _ = fs::remove_folder(folder);
        }
    }
}

/// Refuses to copy a lake into itself: the copy would be part of it.
fn refuse_own_folder(lake: &Path, folder: &Path) -> Result<()> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (lake, folder) = (real(lake), real(folder));
    if folder.starts_with(&lake) || lake.starts_with(&folder) {
        return Err(Error::Usage(format!("`{}` contains the lake, or is in it", folder.display())));
    }
    Ok(())
}

async fn upload(
    options: &Options,
    remote: Remote,
    layout: &Layout,
    mut lake: Manifest,
    outgoing: &Path,
    progress: &dyn Progress,
) -> Result<Summary> {
    progress.stage(Stage::Looking);
    let shared = Arc::new(remote.clone());
    let mut ledger = or_interrupted(Ledger::load(&remote, layout, &lake, options.replace)).await?;
    if ledger.is_new() || options.full || options.replace {
        ledger.adopt().await?;
    }
    if let Some(folder) = remote.place.folder.as_ref().filter(|_| !options.dry_run) {
        remove_leftovers(folder, &lake.machine)?;
    }
    let profile = Rewriter::new(options.profile, &lake);
    let mut summary = Summary::default();
    for round in 0..ROUNDS {
        let plan = Plan::new(&lake, &ledger.state, profile.id(), options.full && round == 0);
        if options.dry_run {
            let sender = Sender::new(remote.clone(), layout.clone(), lake, profile, outgoing.to_owned());
            return foreseen(Arc::new(sender), plan, &ledger, progress).await;
        }
        if plan.is_empty() && ledger.is_saved() {
            return Ok(summary);
        }
        if let Some(folder) = &remote.place.folder {
            fs::make_folder(folder)?;
        }
        plan.announce(&lake, &mut ledger.state);
        ledger.save(&lake).await?;
        let sender =
            Arc::new(Sender::new(remote.clone(), layout.clone(), lake.clone(), profile.clone(), outgoing.to_owned()));
        let mut staged = BTreeMap::new();
        let put = put_all(&sender, &plan, &mut ledger, &mut staged, &mut summary, progress).await;
        if put.as_ref().is_err_and(|error| !matches!(error, Error::UploadConflict { .. })) {
            // Saved so that these files need not be uploaded again. If this fails too, they are.
            let _ = ledger.save(&lake).await;
        }
        if put? {
            progress.stage(Stage::Writing);
            exchange(&mut ledger, &lake, &plan, staged, &shared).await?;
            summary.files_removed += plan.removals.len() as u64;
            ledger.save(&lake).await?;
            return Ok(summary);
        }
        ledger.save(&lake).await?;
        lake = changed_lake(layout, lake.generation).await?;
    }
    Err(Error::DamagedState {
        path: layout.root().to_owned(),
        reason: "files repeatedly differ from the manifest".to_owned(),
    })
}

/// Deletes leftovers of the machine's killed uploads in a folder.
fn remove_leftovers(folder: &Path, machine: &str) -> Result<()> {
    let folders = LAKE_TABLES.iter().map(|table| folder.join(table.name).join(format!("machine={machine}")));
    folders.flat_map(|folder| leftovers(&folder)).try_for_each(|path| fs::remove(&path))
}

/// Reads the lake again, after a file differed from its manifest.
async fn changed_lake(layout: &Layout, generation: u64) -> Result<Manifest> {
    let gone = || Error::NoLake { path: layout.root().to_owned() };
    let mut lake = Manifest::load(layout)?.ok_or_else(gone)?;
    if lake.generation == generation {
        tokio::time::sleep(PAUSE).await;
        lake = Manifest::load(layout)?.ok_or_else(gone)?;
    }
    Ok(lake)
}

/// Uploads new files, and stages the files that replace others. Returns true if no file changed during the upload.
async fn put_all(
    sender: &Arc<Sender>,
    plan: &Plan,
    ledger: &mut Ledger<'_>,
    staged: &mut BTreeMap<FileKey, RemoteFile>,
    summary: &mut Summary,
    progress: &dyn Progress,
) -> Result<bool> {
    progress.stage(Stage::Uploading);
    progress.start(plan.puts.len() as u64, plan.puts.values().map(|entry| entry.bytes).sum());
    let machine = &sender.lake.machine;
    let tasks = plan.puts.iter().map(|(key, entry)| {
        let to = if plan.is_exchanged(key) { staged_key(machine, key) } else { file_key(machine, key) };
        let task = Arc::clone(sender).send(key.clone(), entry.clone(), to);
        let key = key.clone();
        async move { (key, tokio::spawn(task).await) }
    });
    let mut tasks = std::pin::pin!(futures::stream::iter(tasks).buffer_unordered(AT_A_TIME));
    let mut is_complete = true;
    loop {
        let next = tokio::time::timeout(TICK, tasks.next()).await;
        progress.advance(0, sender.take_arrived());
        if crate::interrupt::interrupted() {
            return Err(Error::Interrupted);
        }
        let Ok(next) = next else { continue };
        let Some((key, outcome)) = next else { return Ok(is_complete) };
        let outcome = outcome.map_err(|error| Error::Query(format!("a task ended early: {error}")))?;
        match outcome? {
            Sent::Changed => is_complete = false,
            Sent::Put(file, replaced) => {
                summary.files_put += 1;
                summary.bytes_put += file.bytes;
                summary.replaced.merge(&replaced);
                if plan.is_exchanged(&key) {
                    staged.insert(key, *file);
                } else {
                    ledger.placed(key, *file);
                }
            }
        }
        progress.advance(1, 0);
        ledger.save_sometimes(&sender.lake).await?;
    }
}

/// Returns the files that would be uploaded and deleted.
async fn foreseen(sender: Arc<Sender>, plan: Plan, ledger: &Ledger<'_>, progress: &dyn Progress) -> Result<Summary> {
    progress.start(plan.puts.len() as u64, plan.puts.values().map(|entry| entry.bytes).sum());
    let machine = sender.lake.machine.clone();
    let mut summary = Summary::default();
    let measured = plan.puts.into_iter().map(|(key, entry)| {
        let (path, size) = (file_key(&machine, &key), entry.bytes);
        let measure = Arc::clone(&sender).measure(key, entry);
        async move { Ok::<_, Error>((path, size, measure.await?)) }
    });
    let measured = futures::stream::iter(measured).buffer_unordered(AT_A_TIME).map_ok(|(path, size, measured)| {
        progress.advance(1, size);
        (path, measured)
    });
    let measured: Vec<_> = or_interrupted(measured.try_collect()).await?;
    for (path, measured) in measured {
        let bytes = measured.as_ref().map(|(bytes, _)| *bytes);
        summary.files_put += 1;
        summary.bytes_put += bytes.unwrap_or_default();
        if let Some((_, replaced)) = &measured {
            summary.replaced.merge(replaced);
        }
        summary.planned.push(PlannedFile { path, is_removed: false, bytes });
    }
    for key in &plan.removals {
        let bytes = ledger.state.file(key).map(|file| file.bytes);
        summary.files_removed += 1;
        summary.planned.push(PlannedFile { path: file_key(&machine, key), is_removed: true, bytes });
    }
    summary.planned.sort();
    Ok(summary)
}

/// Stops work when the person interrupts it.
async fn or_interrupted<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let asked = async {
        while !crate::interrupt::interrupted() {
            tokio::time::sleep(TICK).await;
        }
    };
    tokio::select! {
        biased;
        () = asked => Err(Error::Interrupted),
        outcome = work => outcome,
    }
}
