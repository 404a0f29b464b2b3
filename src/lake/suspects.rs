//! Sources that kill the process. A stack overflow or a lack of memory leaves no error, so each thread notes the source
//! that it reads. A run that finds such notes reads these sources last, each alone. A source that was read alone in
//! [`FATAL`] deaths in a row is not read again until it changes. Fewer deaths may have been a person's `kill`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::fs;
use super::layout::Layout;
use super::manifest::Manifest;
use crate::error::Result;

/// Deaths during which nothing else was read, after which a source is skipped.
pub(crate) const FATAL: u32 = 5;

/// Sources that may kill the process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Suspects {
    /// Sources that were being read when a run died, and how often each of them was read alone then.
    deaths: BTreeMap<String, u32>,
    /// Sources that are skipped until they change.
    skipped: BTreeSet<String>,
}

impl Suspects {
    /// Reads the records of earlier runs, and the last notes of a run that died.
    pub(crate) fn load(layout: &Layout, manifest: &Manifest) -> Result<Self> {
        let known = fs::read(&layout.suspects())?;
        // The records are only hints; a damaged file counts as none.
        let deaths = known.and_then(|bytes| postcard::from_bytes(&bytes).ok()).unwrap_or_default();
        let skipped = manifest.sources.iter().filter(|(_, entry)| entry.is_fatal());
        let mut suspects = Self { deaths, skipped: skipped.map(|(name, _)| name.to_string()).collect() };
        let notes = notes_in(layout)?;
        for note in &notes {
            *suspects.deaths.entry(note.source.clone()).or_default() += u32::from(note.is_alone);
        }
        if !notes.is_empty() {
            suspects.save(layout)?;
        }
        if layout.reading().exists() {
            fs::remove_folder(&layout.reading())?;
        }
        Ok(suspects)
    }

    /// Returns the names of all suspects.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.deaths.keys().chain(&self.skipped)
    }

    /// Returns the names of those that a run reads alone, even unchanged ones: the dead run may have read only
    /// part of them.
    pub(crate) fn untried(&self) -> impl Iterator<Item = &String> {
        self.deaths.keys().filter(|name| !self.is_fatal(name))
    }

    /// True if reading the source has killed the process often enough.
    pub(crate) fn is_fatal(&self, source: &str) -> bool {
        self.deaths.get(source).is_some_and(|deaths| *deaths >= FATAL)
    }

    /// Forgets the deaths, after all suspects were read or are recorded as skipped.
    pub(crate) fn clear(&mut self, layout: &Layout) -> Result<()> {
        if std::mem::take(&mut self.deaths).is_empty() { Ok(()) } else { self.save(layout) }
    }

    fn save(&self, layout: &Layout) -> Result<()> {
        match postcard::to_stdvec(&self.deaths) {
            Ok(bytes) if !self.deaths.is_empty() => fs::write(&layout.suspects(), &bytes),
            _ => fs::remove(&layout.suspects()),
        }
    }
}

/// A thread's note.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    source: String,
    is_alone: bool,
}

fn notes_in(layout: &Layout) -> Result<Vec<Note>> {
    let Ok(files) = std::fs::read_dir(layout.reading()) else { return Ok(Vec::new()) };
    let mut notes = Vec::new();
    for file in files.filter_map(std::result::Result::ok) {
        let bytes = fs::read(&file.path())?.unwrap_or_default();
        // The rest of the file is left of a longer note.
        notes.extend(postcard::take_from_bytes(&bytes).ok().map(|(note, _): (Note, _)| note));
    }
    Ok(notes)
}

/// Notes the sources being read, for the run after one that dies.
#[derive(Default)]
pub(crate) struct Breadcrumbs {
    /// `None` if nothing is noted.
    folder: Option<PathBuf>,
    is_alone: bool,
    /// One file for each thread.
    files: Mutex<BTreeMap<usize, Arc<File>>>,
}

impl Breadcrumbs {
    /// Starts taking notes. `is_alone` is true if only one source is read.
    pub(crate) fn new(layout: &Layout, is_alone: bool) -> Self {
        crate::interrupt::remove_at_end(layout.reading());
        Self { folder: Some(layout.reading()), is_alone, files: Mutex::default() }
    }

    /// Notes that this thread starts to read a source. The note stays until the next one, because processing a source
    /// may kill the process as well. A note that cannot be written is ignored.
    pub(crate) fn note(&self, source: &str) {
        let note = Note { source: source.to_owned(), is_alone: self.is_alone };
        if let (Ok(bytes), Some(file)) = (postcard::to_stdvec(&note), self.file()) {
            let _ = fs::scribble(&file, &bytes);
        }
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<usize, Arc<File>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self) -> Option<Arc<File>> {
        let folder = self.folder.as_ref()?;
        let thread = rayon::current_thread_index().unwrap_or(usize::MAX);
        let mut files = self.files();
        if let Some(file) = files.get(&thread) {
            return Some(file.clone());
        }
        fs::make_folder(folder).ok()?;
        let file = Arc::new(fs::open_lock(&folder.join(thread.to_string())).ok()?);
        files.insert(thread, file.clone());
        Some(file)
    }

    /// Deletes all notes: everything was read.
    pub(crate) fn clear(&self) {
        let mut files = self.files();
        if let (Some(folder), false) = (&self.folder, files.is_empty()) {
            let _ = fs::remove_folder(folder);
        }
        files.clear();
    }
}
