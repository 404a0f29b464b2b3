//! Sources that kill the program. A stack overflow or a full memory leaves no error behind, only what was noted before: each
//! thread notes the source that it reads. A run that finds such notes reads these sources last, each alone. One that was
//! alone in [`FATAL`] deaths in a row is not read again until it changes: fewer may have been a person's `kill`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::fs;
use super::layout::Layout;
use super::manifest::Manifest;
use crate::error::Result;

/// Deaths with nothing else being read, after which a source is skipped.
pub(crate) const FATAL: u32 = 5;

/// Sources that may kill the program.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Suspects {
    /// Those that were being read when a run died, with how often each of them was read alone then.
    deaths: BTreeMap<String, u32>,
    /// Those that are skipped until they change.
    skipped: BTreeSet<String>,
}

impl Suspects {
    /// Reads what earlier runs left, and what a run that died noted last.
    pub(crate) fn load(layout: &Layout, manifest: &Manifest) -> Result<Self> {
        let known = fs::read(&layout.suspects())?;
        // They only hint at something; a damaged file hints at nothing.
        let deaths = known.and_then(|bytes| postcard::from_bytes(&bytes).ok()).unwrap_or_default();
        let skipped = manifest.sources.iter().filter(|(_, entry)| entry.is_fatal());
        let mut suspects = Self { deaths, skipped: skipped.map(|(name, _)| name.clone()).collect() };
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

    /// The names of all.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.deaths.keys().chain(&self.skipped)
    }

    /// The names of those that a run reads alone although nothing says that they have changed: it is not known what the run
    /// that died had read of them.
    pub(crate) fn untried(&self) -> impl Iterator<Item = &String> {
        self.deaths.keys().filter(|name| !self.is_fatal(name))
    }

    /// Returns true if reading the source has killed the program often enough.
    pub(crate) fn is_fatal(&self, source: &str) -> bool {
        self.deaths.get(source).is_some_and(|deaths| *deaths >= FATAL)
    }

    /// Forgets the deaths: all suspects were read, or are recorded as skipped.
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

/// What a thread noted.
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
        // What follows is left of a longer note.
        notes.extend(postcard::take_from_bytes(&bytes).ok().map(|(note, _): (Note, _)| note));
    }
    Ok(notes)
}

/// Notes what is being read, for the run after one that dies.
#[derive(Default)]
pub(crate) struct Breadcrumbs {
    /// None where nothing is noted.
    folder: Option<PathBuf>,
    is_alone: bool,
    /// A file for each thread.
    files: Mutex<BTreeMap<usize, Arc<File>>>,
}

impl Breadcrumbs {
    /// Begins to note; `is_alone` when only one source is read.
    pub(crate) fn new(layout: &Layout, is_alone: bool) -> Self {
        crate::interrupt::remove_at_end(layout.reading());
        Self { folder: Some(layout.reading()), is_alone, files: Mutex::default() }
    }

    /// Notes that this thread begins to read a source. It stands until the next one is noted: what is made of a source may
    /// kill the program as well. A note that cannot be written is missing, no more.
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

    /// Takes all notes back: everything was read.
    pub(crate) fn clear(&self) {
        let mut files = self.files();
        if let (Some(folder), false) = (&self.folder, files.is_empty()) {
            let _ = fs::remove_folder(folder);
        }
        files.clear();
    }
}
