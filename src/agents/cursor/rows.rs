//! Rows of one session, in order.

use super::AGENT;
use super::prompt::Prompt;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::thread::{Parents, Position, Thread, blank};
use crate::extract::{Facts, Kind, Reject, Sink, session_key};
use crate::tables::{MessageKind, MessageRow, Role};

/// Emits the rows of one session.
pub(super) struct Rows<'o, 's> {
    pub(super) out: &'o mut Sink<'s>,
    pub(super) thread: Thread,
    /// Start of the session, for a first message without a time of its own. Microseconds since 1970.
    began: Option<i64>,
    /// True if another source with the same records overrides this one.
    is_copy: bool,
    /// Key that is present if another source has all records of this one, and maybe more.
    yields_to: Option<u64>,
}

impl<'o, 's> Rows<'o, 's> {
    pub(super) fn new(out: &'o mut Sink<'s>, session_id: String, began: Option<i64>, is_copy: bool) -> Self {
        let facts = Facts { session_id, first_moment: began, ..Facts::default() };
        Self { out, thread: Thread::new(facts).with(Parents::Rows), began, is_copy, yields_to: None }
    }

    /// Lets a source that claims the key supersede the rows.
    pub(super) fn yielding(self, to: u64) -> Self {
        Self { yields_to: Some(to), ..self }
    }

    /// Adds what a person sent, unless it is empty.
    pub(super) fn prompt(&mut self, at: &Position<'_>, text: Option<&str>, attachments: i64) -> Result<(), Reject> {
        if text.is_none() && attachments == 0 {
            return Ok(());
        }
        let prompt = Prompt::of(text.unwrap_or_default());
        if prompt.kind == MessageKind::Prompt {
            self.thread.begin_turn();
        }
        let row = MessageRow { text: text.map(|_| prompt.text), attachments, ..blank(Role::User, prompt.kind) };
        self.message(&Position { moment: prompt.moment.or(at.moment), ..*at }, row).map(drop)
    }

    /// Adds a message; returns its place among the session's messages.
    pub(super) fn message(&mut self, at: &Position<'_>, row: MessageRow<'_>) -> Result<usize, Reject> {
        let moment = at.moment.or(self.began.filter(|_| !self.thread.has_rows));
        let at = Position { moment, is_copy: self.is_copy, ..*at };
        let row = MessageRow { is_error: row.kind == MessageKind::ApiError, ..row.shorten() };
        let place = self.thread.push(&at, row, self.out)?;
        if let Some(key) = self.yields_to {
            self.out.yields_to(Kind::Message, at.id, key, None);
        }
        Ok(place)
    }

    /// Adds a tool call at the next place.
    pub(super) fn call(&mut self, at: &Position<'_>, call: Call, end: &Outcome<'_>) -> Result<(), Reject> {
        let call = self.thread.number_call(at, Call { is_copy: self.is_copy, ..call });
        self.thread.close_call(&call, end, self.out)?;
        if let Some(key) = self.yields_to {
            self.out.yields_to(Kind::ToolCall, &call.id, key, None);
        }
        Ok(())
    }

    /// Ends the session, present under that key.
    fn end_as(self, presence: u64, facts: Facts) -> Result<(), Reject> {
        self.out.claim(presence, self.is_copy);
        let Facts { session_id, first_moment, .. } = self.thread.facts;
        self.out.end_session(Facts { session_id, first_moment, ..facts })
    }

    /// Ends the session for a source that holds most of it.
    pub(super) fn end(self, facts: Facts) -> Result<(), Reject> {
        let presence = session_key(AGENT, self.thread.id());
        self.end_as(presence, facts)
    }

    /// Ends the session for a transcript, of which another source may hold more. Drops a session without rows.
    pub(super) fn end_transcript(self, facts: Facts) -> Result<(), Reject> {
        if !self.thread.has_rows {
            return Ok(());
        }
        let presence = super::transcript_key(self.thread.id());
        self.end_as(presence, facts)
    }
}

/// Lets a row's twin in a conversation that began before this one supersede it.
pub(super) fn yield_to_twin(out: &mut Sink<'_>, kind: Kind, id: &str, twin: u64, began: i64) {
    // The time is kept in whole seconds and rounded up: two seconds earlier is before this conversation's own claim.
    out.yields_to(kind, id, twin, Some(began.saturating_sub(2_000_000)));
}
