//! One conversation of a file, as far as it has been read.

use super::call::Settings;
use crate::agents::held::MOST_IN_REPLY;

/// One conversation.
#[derive(Default)]
pub(super) struct Thread {
    pub(super) session: String,
    /// The session that started it; `None` for the main one.
    pub(super) parent: Option<String>,
    pub(super) title: Option<String>,
    pub(super) agent_type: Option<String>,
    /// Its id in envelopes; `None` while only the call that started it is known.
    pub(super) agent: Option<String>,
    /// The call that started it.
    pub(super) call: Option<String>,
    pub(super) seq: i64,
    pub(super) turn: Option<i64>,
    pub(super) model: Option<String>,
    pub(super) settings: Settings,
    pub(super) cwd: Option<String>,
    pub(super) branch: Option<String>,
    /// The message before the next one.
    pub(super) last_message: Option<String>,
    /// The reply that further chunks may continue.
    pub(super) reply: Option<Reply>,
    pub(super) first_moment: Option<i64>,
    pub(super) has_rows: bool,
}

impl Thread {
    pub(super) fn main(session: &str) -> Self {
        Self { session: session.to_owned(), ..Self::default() }
    }

    /// Takes the next place in the session.
    pub(super) fn next_seq(&mut self) -> i64 {
        self.has_rows = true;
        self.seq += 1;
        self.seq - 1
    }
}

/// A reply that further chunks may continue.
pub(super) struct Reply {
    pub(super) id: String,
    pub(super) response: String,
    pub(super) parent: Option<String>,
    pub(super) seq: i64,
    pub(super) turn: Option<i64>,
    pub(super) timestamp: Option<i64>,
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) model: Option<String>,
    pub(super) line: i64,
}

impl Reply {
    /// True if the next chunk begins another message.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() + self.thinking.len() > MOST_IN_REPLY
    }
}
