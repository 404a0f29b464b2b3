//! Reads the form in which each heading is a time, typed text follows `> `, and one file is one session.

use chrono::NaiveDateTime;
use sha2::{Digest, Sha256};

use super::blocks::Block;
use super::inputs::kind_of;
use super::{session_id, tokens};
use crate::extract::{Facts, Reject, Sink};
use crate::tables::{MessageKind, MessageRow, Role, UsageGrain, UsageRow};

/// The session as read so far.
pub(super) struct Seed {
    /// Identity; empty until something was said.
    id: String,
    began: NaiveDateTime,
    /// Time of the last heading.
    moment: Option<i64>,
    seq: i64,
    turn: i64,
    /// Place and id of the last reply without a report of tokens.
    reply: Option<(i64, String)>,
}

impl Seed {
    /// A session that begins with a heading.
    pub(super) fn new(began: NaiveDateTime) -> Self {
        Self { id: String::new(), began, moment: None, seq: 0, turn: 0, reply: None }
    }

    pub(super) fn has_content(&self) -> bool {
        !self.id.is_empty()
    }

    /// Sets the session's identity from the first text.
    fn begin(&mut self, prompt: &str) {
        if self.has_content() {
            return;
        }
        let mut digest = Sha256::new();
        digest.update(format!("{}\n{}", self.began, prompt.lines().next().unwrap_or_default()));
        self.id = session_id(&digest.finalize());
    }

    pub(super) fn heading(&mut self, moment: NaiveDateTime, out: &Sink<'_>) {
        self.moment = out.local_moment(moment);
        self.turn += 1;
    }

    pub(super) fn take(&mut self, block: Block<'_>, line: u64, out: &mut Sink<'_>) -> Result<(), Reject> {
        if let Block::Typed(text) | Block::Reply(text) = block {
            self.begin(text);
        }
        let id = format!("{}#line-{line}", self.id);
        let (text, role, kind) = match block {
            Block::Typed(text) => (text, Role::User, kind_of(text)),
            Block::Reply(text) => (text, Role::Assistant, MessageKind::Reply),
            Block::Printed(text) => return self.usage(text, &id, line, out),
            Block::Started(_) | Block::Heading(_) => return Ok(()),
        };
        self.reply = (kind == MessageKind::Reply).then(|| (self.seq, id.clone()));
        let row = MessageRow {
            session_id: &self.id,
            seq: self.seq,
            message_id: &id,
            turn: Some(self.turn),
            // Only typed text has a time.
            timestamp: self.moment.filter(|_| role == Role::User),
            role,
            kind,
            text: Some(text),
            source_line: i64::try_from(line).ok(),
            ..MessageRow::default()
        };
        self.seq += 1;
        out.message(row, false)?;
        Ok(())
    }

    fn usage(&mut self, text: &str, id: &str, line: u64, out: &mut Sink<'_>) -> Result<(), Reject> {
        let Some(printed) = tokens::read(text.trim_end()).filter(|_| self.has_content()) else { return Ok(()) };
        let numbers = printed.numbers(None, None);
        let reply = self.reply.take();
        let row = UsageRow {
            session_id: &self.id,
            message_id: reply.as_ref().map(|(_, id)| id.as_str()),
            response_id: id,
            turn: Some(self.turn),
            timestamp: self.moment,
            input_tokens: Some(numbers.input),
            cache_read_tokens: numbers.cache_read,
            cache_write_5m_tokens: numbers.cache_write,
            output_tokens: Some(numbers.output),
            cost_usd: printed.cost,
            grain: UsageGrain::Turn,
            is_partial: true,
            source_line: i64::try_from(line).ok(),
            ..UsageRow::default()
        };
        out.usage(row, reply.as_ref().map_or(self.seq - 1, |(seq, _)| *seq), false)
    }

    /// Ends the session. Returns `None` if it has no rows.
    pub(super) fn end(self, out: &Sink<'_>) -> Option<Facts> {
        let first_moment = out.local_moment(self.began);
        (self.seq > 0).then(|| Facts { session_id: self.id, first_moment, ..Facts::default() })
    }
}
