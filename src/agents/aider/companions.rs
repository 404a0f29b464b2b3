//! Data that is read together with a chat history: typed prompts, sends, the starts of its runs, the project's commits.

use std::path::{Path, PathBuf};

use chrono::NaiveDateTime;

use super::analytics::{self, Send};
use super::blocks::STARTED;
use super::clock;
use super::inputs::{self, Input};
use crate::extract::Reject;
use crate::source::Source;
use crate::source::git::{Commit, Repository};

/// Most entries to skip in the other file when searching for the one that belongs to a history's entry. Both files have
/// nearly the same order.
pub(super) const MOST_PASSED: usize = 1000;

/// Data that is read together with a history.
pub(super) struct Companions {
    pub(super) folder: Option<PathBuf>,
    pub(super) inputs: Vec<Input>,
    /// For each input, the latest time up to it.
    latest: Vec<NaiveDateTime>,
    pub(super) sends: Vec<Send>,
    /// Lines of the history that start a run, and the times of these runs.
    starts: Vec<(u64, NaiveDateTime)>,
    repository: Option<Repository>,
    is_opened: bool,
}

impl Companions {
    pub(super) fn of(source: &mut Source<'_>) -> Result<Self, Reject> {
        let (inputs, sends) = (inputs::beside(source), analytics::beside(source));
        let latest = inputs.iter().scan(NaiveDateTime::MIN, |latest, input| {
            *latest = (*latest).max(input.time);
            Some(*latest)
        });
        let latest = latest.collect();
        let mut starts = Vec::new();
        let mut lines = source.again().lines()?;
        while let Some(line) = lines.next_line() {
            let moment = line.bytes.strip_prefix(STARTED.as_bytes()).and_then(|rest| std::str::from_utf8(rest).ok());
            starts.extend(moment.and_then(clock).map(|moment| (line.number, moment)));
        }
        let folder = source.path.parent().map(Path::to_owned);
        Ok(Self { folder, inputs, latest, sends, starts, repository: None, is_opened: false })
    }

    /// Returns the place of the first input typed at or after a time.
    pub(super) fn first_input_since(&self, moment: NaiveDateTime) -> usize {
        self.latest.partition_point(|latest| *latest < moment)
    }

    /// Returns the start of the run after the one that begins on that line.
    pub(super) fn next_start(&self, line: u64, began: NaiveDateTime) -> Option<NaiveDateTime> {
        let later = self.starts.partition_point(|(start, _)| *start <= line);
        let later = self.starts.get(later..)?.iter().map(|(_, moment)| *moment);
        later.take(MOST_PASSED).find(|moment| *moment >= began)
    }

    /// Returns the commit of the project's repository whose hash begins with these digits.
    pub(super) fn commit(&mut self, digits: &str) -> Option<Commit> {
        if !std::mem::replace(&mut self.is_opened, true) {
            self.repository = Repository::of_folder(self.folder.as_deref()?);
        }
        self.repository.as_mut()?.commit(digits)
    }
}
