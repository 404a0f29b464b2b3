//! A chat history: all runs of Aider in a project, one after the other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use chrono::NaiveDateTime;

use super::analytics::{self, Send};
use super::blocks::{Block, Blocks, STARTED, Take};
use super::inputs::{self, Input};
use super::run::Run;
use super::seed::Seed;
use super::{any_chat_key, chat_key, clock};
use crate::extract::{Reject, Sink};
use crate::source::git::{Commit, Repository};
use crate::source::{Source, TORN_END};

/// Reads a chat history.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let beside = Beside::of(source)?;
    let mut history = History { out, beside, current: None, ids: HashMap::new(), has_claimed: false };
    let mut blocks = Blocks::default();
    let mut lines = source.lines()?;
    while let Some(line) = lines.next_line() {
        history.out.line();
        if line.is_too_long() {
            let reason = format!("the line has {} bytes; longer than 64 MiB is not read", line.length);
            history.out.problem(line.number, &reason);
            continue;
        }
        let text = String::from_utf8_lossy(line.bytes);
        let text = if line.number == 1 { text.trim_start_matches('\u{feff}') } else { &text };
        if line.ended || blocks.is_certain(text, history.has_content()) {
            blocks.line(text, line.number, &mut history)?;
        } else if !text.trim().is_empty() {
            history.out.problem(line.number, TORN_END);
        }
    }
    blocks.finish(&mut history)?;
    if lines.failed() {
        history.out.remark("the file could not be read to its end");
    }
    history.end()
}

/// Most entries to skip in the other file when searching for the one that belongs to a history's entry. Both files have
/// nearly the same order.
pub(super) const MOST_PASSED: usize = 1000;

/// Data that is read together with a history.
pub(super) struct Beside {
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

impl Beside {
    fn of(source: &mut Source<'_>) -> Result<Self, Reject> {
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

struct History<'s, 'o> {
    out: &'o mut Sink<'s>,
    beside: Beside,
    current: Option<Current>,
    /// Number of runs in the file with the same identity.
    ids: HashMap<String, u32>,
    has_claimed: bool,
}

/// The session that the lines belong to.
enum Current {
    Run(Box<Run>),
    Seed(Seed),
}

impl Take for History<'_, '_> {
    type Error = Reject;

    fn take(&mut self, block: Block<'_>, line: u64) -> Result<(), Reject> {
        match block {
            Block::Started(moment) => {
                self.end()?;
                let until = self.beside.next_start(line, moment);
                self.current = Some(Current::Run(Box::new(Run::new(Some(moment), until, line))));
                Ok(())
            }
            Block::Heading(moment) => {
                let mut seed = match self.current.take() {
                    Some(Current::Seed(seed)) => seed,
                    _ => Seed::new(moment),
                };
                seed.heading(moment, self.out);
                self.current = Some(Current::Seed(seed));
                Ok(())
            }
            Block::Typed(_) | Block::Printed(_) | Block::Reply(_) => {
                let headless = || Current::Run(Box::new(Run::new(None, None, 1)));
                match self.current.get_or_insert_with(headless) {
                    Current::Run(run) => run.take(block, line, &mut self.ids, self.out, &mut self.beside),
                    Current::Seed(seed) => seed.take(block, line, self.out),
                }
            }
        }
    }
}

impl History<'_, '_> {
    fn has_content(&self) -> bool {
        match &self.current {
            Some(Current::Run(run)) => run.has_content(),
            Some(Current::Seed(seed)) => seed.has_content(),
            None => false,
        }
    }

    /// Ends the current session. A run in which neither the person nor the model said anything is not a session.
    fn end(&mut self) -> Result<(), Reject> {
        let Some(current) = self.current.take() else { return Ok(()) };
        let facts = match current {
            Current::Run(mut run) => run.end(self.out, &mut self.beside)?,
            Current::Seed(seed) => seed.end(self.out),
        };
        let Some(mut facts) = facts else { return Ok(()) };
        if !self.has_claimed {
            self.has_claimed = true;
            self.out.claim_since(chat_key(self.beside.folder.as_deref()), facts.first_moment);
            self.out.claim_since(any_chat_key(), facts.first_moment);
        }
        facts.project_path = self.beside.folder.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        self.out.claim(crate::extract::session_key(super::AGENT, &facts.session_id), false);
        self.out.end_session(facts)
    }
}
