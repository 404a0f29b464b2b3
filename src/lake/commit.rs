//! All or nothing over many files: a journal of the steps goes to disk first. A crash before that leaves the lake
//! unchanged. After it, the next run completes the commit.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fs;
use super::layout::Layout;
use super::manifest::Manifest;
use super::syncer::Syncer;
use crate::error::{Error, Result};

/// One step of a commit. Paths are relative to the lake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// Moves a staged file to its place.
    Place { from: String, to: String },
    /// Replaces a folder by a staged one in a single step.
    Exchange { from: String, to: String },
    /// Removes a file.
    Remove { path: String },
}

#[derive(Deserialize)]
struct Journal {
    steps: Vec<Step>,
    manifest: Vec<u8>,
}

/// Name of the file that marks a staged folder, to distinguish it from the one that it replaces.
pub(crate) const MARK: &str = "_staged";

/// Executes the steps and replaces the manifest. Staged files must be on disk before they become part of the lake.
pub(crate) fn commit(layout: &Layout, staged: Syncer, steps: Vec<Step>, manifest: &Manifest) -> Result<()> {
    staged.wait()?;
    for folder in folders_of(&steps) {
        fs::make_folder(&layout.root().join(folder))?;
    }
    let journal = Journal { steps, manifest: manifest.encode()? };
    // All of it except the bytes of the manifest, which may be large and is not copied.
    let head = postcard::to_stdvec(&(&journal.steps, journal.manifest.len()))
        .map_err(|error| Error::Query(format!("cannot write the journal: {error}")))?;
    let hash = blake3::Hasher::new().update(&head).update(&journal.manifest).finalize();
    let staged = layout.staging().join("journal");
    fs::write_pieces(&staged, &[hash.as_bytes(), &head, &journal.manifest])?;
    fs::sync_folder(&layout.staging())?;
    fs::rename(&staged, &layout.journal())?;
    let unfinished = |error| Error::Unfinished { path: layout.root().to_owned(), source: Box::new(error) };
    let finish = || fs::sync_folder(&layout.state()).and_then(|()| apply(layout, &journal));
    crate::interrupt::uncut(finish).map_err(unfinished)
}

/// Completes a commit that a crash cut off, and deletes staged files of a run that did not commit.
pub(crate) fn recover(layout: &Layout) -> Result<()> {
    if let Some(journal) = pending(layout)? {
        apply(layout, &journal)?;
    }
    fs::remove_folder(&layout.staging())?;
    fs::make_folder(&layout.staging())
}

/// Deletes the staged files of a failed run to free their space, except those that a pending commit needs.
pub(crate) fn abandon(layout: &Layout) {
    if !layout.journal().exists() {
        let _ = fs::remove_folder(&layout.staging());
    }
}

/// Returns the manifest of a pending commit.
pub(crate) fn pending_manifest(layout: &Layout) -> Result<Option<Manifest>> {
    let Some(journal) = pending(layout)? else { return Ok(None) };
    Manifest::decode(&journal.manifest, &layout.journal(), layout.root()).map(Some)
}

fn pending(layout: &Layout) -> Result<Option<Journal>> {
    let path = layout.journal();
    let Some(bytes) = fs::read(&path)? else { return Ok(None) };
    let damaged = |reason: &str| Error::DamagedState { path: path.clone(), reason: reason.to_owned() };
    let (hash, content) = bytes.split_first_chunk::<32>().ok_or_else(|| damaged("it is cut off"))?;
    if blake3::hash(content).as_bytes() != hash {
        return Err(damaged("its hash is wrong"));
    }
    postcard::from_bytes(content).map(Some).map_err(|error| damaged(&error.to_string()))
}

fn apply(layout: &Layout, journal: &Journal) -> Result<()> {
    let root = layout.root();
    for step in &journal.steps {
        match step {
            Step::Place { from, to } => place(&root.join(from), &root.join(to))?,
            Step::Exchange { from, to } => exchange(&root.join(from), &root.join(to))?,
            Step::Remove { path } => fs::remove(&root.join(path))?,
        }
    }
    for folder in folders_of(&journal.steps) {
        fs::sync_folder(&root.join(folder))?;
    }
    let staged = layout.staging().join("manifest");
    fs::make_folder(&layout.staging())?;
    fs::write(&staged, &journal.manifest)?;
    fs::rename(&staged, &layout.manifest())?;
    fs::sync_folder(&layout.state())?;
    fs::remove(&layout.journal())
}

/// A staged file that no longer exists was moved before the crash.
fn place(from: &Path, to: &Path) -> Result<()> {
    if from.exists() { fs::rename(from, to) } else { Ok(()) }
}

/// The mark identifies the new one of the two folders.
fn exchange(from: &Path, to: &Path) -> Result<()> {
    if from.join(MARK).exists() && !fs::exchange(from, to)? {
        return Err(Error::io("exchange", to)(std::io::Error::from(std::io::ErrorKind::Unsupported)));
    }
    fs::remove(&to.join(MARK))?;
    fs::remove_folder(from)
}

/// Returns the folders whose entries a commit changes, outermost first, including the lake's own folder.
fn folders_of(steps: &[Step]) -> Vec<String> {
    let mut folders = BTreeSet::new();
    for step in steps {
        let (Step::Place { to: path, .. } | Step::Exchange { to: path, .. } | Step::Remove { path }) = step;
        let mut rest = path.as_str();
        while let Some((folder, _)) = rest.rsplit_once('/') {
            folders.insert(folder.to_owned());
            rest = folder;
        }
        folders.insert(String::new());
    }
    folders.into_iter().collect()
}
