//! A chat history: all runs of Aider in a project, one after the other.

use std::collections::HashMap;

use chrono::NaiveDateTime;

use super::blocks::{Block, Blocks, Take};
use super::companions::Companions;
use super::run::Run;
use super::seed::Seed;
use super::{any_chat_key, before_key, chat_key};
use crate::extract::{Reject, Sink};
use crate::source::{Source, TORN_END};

/// Reads a chat history.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let companions = Companions::of(source)?;
    let mut history = History { out, companions, current: None, ids: HashMap::new(), has_claimed: false };
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
    history.end(None)
}

struct History<'s, 'o> {
    out: &'o mut Sink<'s>,
    companions: Companions,
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
                self.end(Some(moment))?;
                let until = self.companions.next_start(line, moment);
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
                    Current::Run(run) => run.take(block, line, &mut self.ids, self.out, &mut self.companions),
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

    /// Ends the current session. A run in which neither the person nor the model said anything is not a session. `next` is
    /// the time of the next run's start.
    fn end(&mut self, next: Option<NaiveDateTime>) -> Result<(), Reject> {
        let Some(current) = self.current.take() else { return Ok(()) };
        let facts = match current {
            Current::Run(mut run) => run.end(self.out, &mut self.companions)?,
            Current::Seed(seed) => seed.end(self.out),
        };
        let Some(mut facts) = facts else { return Ok(()) };
        let before = next.map(before_key).into_iter();
        if facts.first_moment.is_none() {
            // The head of the file was cut off. The lake may have the whole run, and what was typed before it.
            before.for_each(|before| self.out.supersede_all(before));
            self.out.claim(any_chat_key(), false);
        } else {
            before.for_each(|before| self.out.claim(before, false));
            if !std::mem::replace(&mut self.has_claimed, true) {
                self.out.claim_since(chat_key(self.companions.folder.as_deref()), facts.first_moment);
                self.out.claim_since(any_chat_key(), facts.first_moment);
            }
        }
        facts.project_path = self.companions.folder.as_ref().map(|folder| folder.to_string_lossy().into_owned());
        self.out.claim(crate::extract::session_key(super::AGENT, &facts.session_id), false);
        self.out.end_session(facts)
    }
}
