//! Progress of long work.

/// A stage of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It looks for what has changed.
    Looking,
    /// It reads sources.
    Reading,
    /// It writes and commits the lake.
    Writing,
    /// It sends files.
    Uploading,
    /// It runs detectors.
    Detecting,
}

/// Receives the progress of a run. Called from several threads.
pub trait Progress: Sync {
    /// Starts a stage.
    fn stage(&self, stage: Stage);
    /// Sets how much there is to do in this stage: files and their bytes, or other items. Called again if more is found.
    fn start(&self, items: u64, bytes: u64);
    /// Adds what was done since the last call.
    fn advance(&self, items: u64, bytes: u64);
    /// The run is done.
    fn finish(&self);
}

/// Ignores all progress.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _stage: Stage) {}
    fn start(&self, _items: u64, _bytes: u64) {}
    fn advance(&self, _items: u64, _bytes: u64) {}
    fn finish(&self) {}
}
