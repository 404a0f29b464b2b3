//! A session in the making: gives each record its place, and each once.

use super::AGENT;
use super::calls::{Call, Calls, Outcome};
use super::ids::Ids;
use crate::agents::ids::Prints;
use crate::agents::kit::facts::keep_earlier;
use crate::extract::{Facts, Kind, Reject, Sink, key, session_key};
use crate::tables::{MessageKind, MessageRow, UsageRow};

/// What Kiro CLI took over from Amazon Q, with its ids, is Amazon Q's where both have it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::agents) enum Twin {
    /// Nothing of it is in another agent's store.
    None,
    /// It may have been taken over by the other.
    First,
    /// It may have been taken over from the other.
    Second,
}

/// Hands on the rows of one session.
pub(in crate::agents) struct Thread<'o, 's> {
    pub(in crate::agents) out: &'o mut Sink<'s>,
    agent: &'static str,
    pub(in crate::agents) id: String,
    pub(in crate::agents) ids: Ids,
    /// Names records that have no id.
    pub(in crate::agents) prints: Prints,
    pub(in crate::agents) calls: Calls,
    pub(in crate::agents) cwd: Option<String>,
    pub(in crate::agents) is_sidechain: bool,
    /// Whether messages say themselves that they are copies.
    pub(in crate::agents) is_copy: bool,
    pub(in crate::agents) twin: Twin,
    /// From 1; none before the first prompt.
    pub(in crate::agents) turn: Option<i64>,
    /// Microseconds since 1970.
    pub(in crate::agents) first_moment: Option<i64>,
    seq: i64,
    parent: Option<String>,
    reply: Option<String>,
    has_rows: bool,
}

impl<'o, 's> Thread<'o, 's> {
    /// Begins the session of that id.
    pub(in crate::agents) fn new(agent: &'static str, id: String, out: &'o mut Sink<'s>) -> Self {
        Self {
            out,
            agent,
            id,
            ids: Ids::default(),
            prints: Prints::default(),
            calls: Calls::default(),
            cwd: None,
            is_sidechain: false,
            is_copy: false,
            twin: Twin::None,
            turn: None,
            first_moment: None,
            seq: 0,
            parent: None,
            reply: None,
            has_rows: false,
        }
    }

    /// Begins a turn.
    pub(in crate::agents) fn next_turn(&mut self) {
        self.turn = Some(self.turn.map_or(1, |turn| turn + 1));
        self.reply = None;
    }

    /// Place of the last record.
    pub(in crate::agents) fn place(&self) -> i64 {
        (self.seq - 1).max(0)
    }

    /// Id of the last reply of the turn.
    pub(in crate::agents) fn last_reply(&self) -> Option<&str> {
        self.reply.as_deref()
    }

    /// Hands on a message behind those before it, unless it was there already.
    pub(in crate::agents) fn push(&mut self, row: MessageRow<'_>) -> Result<(), Reject> {
        if !self.ids.is_new(Kind::Message, row.message_id) {
            return Ok(());
        }
        keep_earlier(&mut self.first_moment, row.timestamp);
        let row = MessageRow {
            session_id: &self.id,
            seq: self.seq,
            parent_id: self.parent.as_deref(),
            turn: self.turn,
            cwd: self.cwd.as_deref(),
            is_sidechain: self.is_sidechain,
            ..row.shorten()
        };
        self.seq += 1;
        self.has_rows = true;
        let id = row.message_id.to_owned();
        if row.kind == MessageKind::Reply {
            self.reply = Some(id.clone());
        }
        self.out.message(row, self.is_copy)?;
        self.tell_twin(Kind::Message, &id);
        self.parent = Some(id);
        Ok(())
    }

    /// Takes a call of the last message, unless it was there already.
    pub(in crate::agents) fn begin_call(&mut self, call: Call) {
        if self.ids.is_new(Kind::ToolCall, &call.id) {
            let (seq, turn, is_sidechain) = (self.seq, self.turn, self.is_sidechain);
            self.tell_twin(Kind::ToolCall, &call.id);
            self.calls.begin(Call { seq, turn, is_sidechain, ..call });
            self.seq += 1;
            self.has_rows = true;
        }
    }

    /// Ends the call of that id, if it waits.
    pub(in crate::agents) fn end_call(&mut self, id: &str, end: &Outcome<'_>) -> Result<(), Reject> {
        match self.calls.take(id) {
            Some(call) => call.push(&self.id, end, self.out),
            None => Ok(()),
        }
    }

    /// Hands on what a response or turn used, unless it was there already; the place is that of its message.
    pub(in crate::agents) fn push_usage(&mut self, row: UsageRow<'_>, place: i64) -> Result<(), Reject> {
        if !self.ids.is_new(Kind::Response, row.response_id) {
            return Ok(());
        }
        let id = row.response_id.to_owned();
        let row = UsageRow { session_id: &self.id, is_sidechain: self.is_sidechain, ..row.shorten() };
        self.has_rows = true;
        self.out.usage(row, place, false)?;
        self.tell_twin(Kind::Response, &id);
        Ok(())
    }

    /// Says of a record that it is there, or that it gives way to the same in the store that it was taken over from.
    fn tell_twin(&mut self, kind: Kind, id: &str) {
        let same = || key(AGENT, Kind::Presence, &format!("{} of {}:{id}", kind as u8, self.id));
        match self.twin {
            Twin::None => {}
            Twin::First => self.out.claim(same(), false),
            Twin::Second => self.out.yields_to(kind, id, same(), None),
        }
    }

    /// Completes the session; one without rows leaves nothing.
    pub(in crate::agents) fn finish(mut self, facts: Facts) -> Result<(), Reject> {
        self.calls.push_pending(&self.id, self.out)?;
        if !self.has_rows {
            self.out.discard_session();
            return Ok(());
        }
        self.out.claim(session_key(self.agent, &self.id), false);
        let first_moment = facts.first_moment.into_iter().chain(self.first_moment).min();
        self.out.end_session(Facts { session_id: self.id, first_moment, ..facts })
    }
}
