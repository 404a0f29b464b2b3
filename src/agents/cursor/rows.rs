//! Rows of one session, in order.

use super::AGENT;
use crate::agents::ids::Prints;
use crate::agents::kit::facts::keep_earlier;
use crate::extract::{Facts, Kind, Reject, Sink, session_key};
use crate::tables::{Category, MessageKind, MessageRow, Role, Status, ToolCallRow};

/// Emits the rows of one session.
pub(super) struct Rows<'o, 's> {
    pub(super) out: &'o mut Sink<'s>,
    pub(super) session: String,
    /// Names records that have no id.
    pub(super) prints: Prints,
    /// Place of the next message or tool call.
    pub(super) seq: i64,
    pub(super) turn: Option<i64>,
    /// When the session began, for a first message without a time of its own. Microseconds since 1970.
    began: Option<i64>,
    first_moment: Option<i64>,
    /// True if another source that has the same records goes before this one.
    weak: bool,
    /// What is present when another source tells all that is told here, and more.
    gives_way_to: Option<u64>,
    pub(super) count: usize,
}

/// A message to be handed on.
#[derive(Clone, Copy, Default)]
pub(super) struct Said<'m> {
    pub(super) id: &'m str,
    pub(super) role: Role,
    pub(super) kind: MessageKind,
    pub(super) text: Option<&'m str>,
    pub(super) thinking: Option<&'m str>,
    pub(super) model: Option<&'m str>,
    pub(super) response_id: Option<&'m str>,
    pub(super) timestamp: Option<i64>,
    pub(super) attachments: i64,
    pub(super) line: Option<i64>,
}

/// A tool call to be handed on.
#[derive(Default)]
pub(super) struct Called<'c> {
    pub(super) id: &'c str,
    pub(super) message_id: &'c str,
    pub(super) response_id: Option<&'c str>,
    pub(super) name: &'c str,
    pub(super) category: Category,
    pub(super) mcp_server: Option<&'c str>,
    pub(super) input: Option<&'c str>,
    pub(super) command: Option<&'c str>,
    pub(super) file_path: Option<&'c str>,
    pub(super) status: Status,
    pub(super) exit_code: Option<i64>,
    pub(super) output: Option<&'c str>,
    pub(super) started_at: Option<i64>,
    pub(super) child: Option<&'c str>,
    pub(super) line: Option<i64>,
}

impl<'o, 's> Rows<'o, 's> {
    pub(super) fn new(out: &'o mut Sink<'s>, session: String, began: Option<i64>) -> Self {
        Self {
            out,
            session,
            prints: Prints::default(),
            seq: 0,
            turn: None,
            began,
            first_moment: began,
            weak: false,
            gives_way_to: None,
            count: 0,
        }
    }

    /// The same, of a source that others with the same records go before.
    pub(super) fn weak(self) -> Self {
        Self { weak: true, ..self }
    }

    /// The same, of a source whose records are no rows where the key is claimed.
    pub(super) fn giving_way(self, to: u64) -> Self {
        Self { gives_way_to: Some(to), ..self }
    }

    /// Begins a turn.
    pub(super) fn begin_turn(&mut self) -> i64 {
        let turn = self.turn.unwrap_or(0) + 1;
        self.turn = Some(turn);
        turn
    }

    /// Adds a message; gives its place among the session's messages.
    pub(super) fn message(&mut self, said: &Said<'_>) -> Result<usize, Reject> {
        let timestamp = said.timestamp.or(self.began.filter(|_| self.count == 0));
        keep_earlier(&mut self.first_moment, timestamp);
        let row = MessageRow {
            session_id: &self.session,
            seq: self.seq,
            message_id: said.id,
            turn: self.turn,
            timestamp,
            role: said.role,
            kind: said.kind,
            text: said.text,
            thinking: said.thinking,
            model: said.model,
            response_id: said.response_id,
            is_error: said.kind == MessageKind::ApiError,
            attachments: said.attachments,
            source_line: said.line,
            ..MessageRow::default()
        };
        self.seq += 1;
        self.count += 1;
        let place = self.out.message(row, self.weak)?;
        if let Some(key) = self.gives_way_to {
            self.out.yields_to(Kind::Message, said.id, key, None);
        }
        Ok(place)
    }

    /// Adds a tool call at the next place.
    pub(super) fn call(&mut self, called: &Called<'_>) -> Result<(), Reject> {
        let seq = self.seq;
        self.seq += 1;
        self.call_at(called, seq, self.turn)
    }

    /// Adds a tool call.
    pub(super) fn call_at(&mut self, called: &Called<'_>, seq: i64, turn: Option<i64>) -> Result<(), Reject> {
        let row = ToolCallRow {
            session_id: &self.session,
            seq,
            call_id: called.id,
            message_id: Some(called.message_id),
            response_id: called.response_id,
            turn,
            name: called.name,
            category: called.category,
            mcp_server: called.mcp_server,
            input: called.input,
            command: called.command,
            file_path: called.file_path,
            status: called.status,
            exit_code: called.exit_code,
            output: called.output,
            started_at: called.started_at,
            child_session_id: called.child,
            source_line: called.line,
            ..ToolCallRow::default()
        };
        self.out.tool_call(row, self.weak)?;
        if let Some(key) = self.gives_way_to {
            self.out.yields_to(Kind::ToolCall, called.id, key, None);
        }
        Ok(())
    }

    /// Ends the session, present under that key.
    fn end_as(self, presence: u64, facts: Facts) -> Result<(), Reject> {
        self.out.claim(presence, self.weak);
        self.out.end_session(Facts { session_id: self.session, first_moment: self.first_moment, ..facts })
    }

    /// Ends the session, of which this source tells most.
    pub(super) fn end(self, facts: Facts) -> Result<(), Reject> {
        let presence = session_key(AGENT, &self.session);
        self.end_as(presence, facts)
    }

    /// Ends a session of which another source may tell more.
    pub(super) fn end_transcript(self, facts: Facts) -> Result<(), Reject> {
        let presence = super::transcript_key(&self.session);
        self.end_as(presence, facts)
    }
}
