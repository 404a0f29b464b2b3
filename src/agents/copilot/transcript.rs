//! State of the reader of an events file.

use std::collections::HashMap;

use super::ledger::Ledger;
use super::pending::Calls;
use super::thread::Thread;
use crate::agents::ids::Prints;
use crate::extract::jsonl::Broken;
use crate::extract::{Facts, KeySet, Sink};

/// The session that a file's place names, which is not certain outside the agent's own folders.
pub(super) struct Place {
    pub(super) session: String,
    pub(super) is_sure: bool,
}

pub(super) struct Transcript<'o, 'a> {
    pub(super) out: &'o mut Sink<'a>,
    pub(super) session: String,
    pub(super) is_sure_of_session: bool,
    pub(super) facts: Facts,
    /// The main conversation first, then the subagents.
    pub(super) threads: Vec<Thread>,
    /// Subagents by their ids, and by the calls that started them.
    pub(super) thread_names: HashMap<String, usize>,
    pub(super) calls: Calls,
    pub(super) asked: HashMap<String, Asked>,
    pub(super) ledger: Ledger,
    pub(super) broken: Broken,
    pub(super) seen: KeySet,
    /// Names events that have no id.
    pub(super) prints: Prints,
    /// True if the file has any content of a session. Without such content and billed calls, there is no session.
    pub(super) has_conversation: bool,
}

/// The position of an event.
pub(super) struct EventHead<'e> {
    pub(super) id: &'e str,
    pub(super) line: i64,
    pub(super) timestamp: Option<i64>,
    pub(super) agent: Option<&'e str>,
    /// The type of the event.
    pub(super) kind: &'e str,
}

/// A permission that was asked for.
pub(super) struct Asked {
    pub(super) kind: String,
    pub(super) call: Option<String>,
}

impl<'o, 'a> Transcript<'o, 'a> {
    pub(super) fn new(place: Place, out: &'o mut Sink<'a>) -> Self {
        Self {
            out,
            threads: vec![Thread::main(&place.session)],
            session: place.session,
            is_sure_of_session: place.is_sure,
            facts: Facts::default(),
            thread_names: HashMap::new(),
            calls: Calls::default(),
            asked: HashMap::new(),
            ledger: Ledger::default(),
            broken: Broken::default(),
            seen: KeySet::default(),
            prints: Prints::default(),
            has_conversation: false,
        }
    }

    pub(super) fn count_unknown(&mut self, head: &EventHead<'_>, fields: &[String]) {
        for field in fields {
            self.out.unknown(&format!("{} field {field}", head.kind));
        }
    }
}
