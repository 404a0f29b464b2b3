//! One conversation: gives each record its number, turn and parent.

use super::calls::{Call, Calls, Outcome};
use super::facts::keep_earlier;
use crate::agents::held::TOO_MANY;
use crate::agents::ids::Prints;
use crate::agents::tree::Tree;
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key, session_key};
use crate::tables::{MessageKind, MessageRow, Role, UsageRow};

/// A session while its records are read.
#[derive(Default)]
pub(in crate::agents) struct Thread {
    pub(in crate::agents) facts: Facts,
    pub(in crate::agents) calls: Calls,
    /// Names records that have no id.
    pub(in crate::agents) prints: Prints,
    pub(in crate::agents) cwd: Option<String>,
    pub(in crate::agents) is_sidechain: bool,
    /// From 1; none before the first prompt.
    pub(in crate::agents) turn: Option<i64>,
    /// Number of the next record.
    pub(in crate::agents) seq: i64,
    parents: Parents,
    /// The records, if they form a tree.
    pub(in crate::agents) tree: Tree,
    /// Without rows there is no session.
    pub(in crate::agents) has_rows: bool,
    /// Id of the last message.
    before: Option<String>,
    reply: Option<String>,
    ids: KeySet,
}

/// The rule by which messages get their parents.
#[derive(Clone, Copy, Default)]
pub(in crate::agents) enum Parents {
    /// Each message follows the one before.
    #[default]
    Before,
    /// The tree knows them.
    Tree,
    /// The rows have them.
    Rows,
}

/// A record's id, and where and when it was written.
#[derive(Clone, Copy, Default)]
pub(in crate::agents) struct Position<'r> {
    pub(in crate::agents) id: &'r str,
    /// Microseconds since 1970.
    pub(in crate::agents) moment: Option<i64>,
    /// Line of the source, from 1.
    pub(in crate::agents) line: Option<i64>,
    /// True if the record was copied from another session.
    pub(in crate::agents) is_copy: bool,
}

impl<'r> Position<'r> {
    pub(in crate::agents) fn new(id: &'r str, moment: Option<i64>) -> Self {
        Self { id, moment, ..Self::default() }
    }

    pub(in crate::agents) fn on_line(id: &'r str, moment: Option<i64>, line: u64) -> Self {
        Self { line: i64::try_from(line).ok(), ..Self::new(id, moment) }
    }
}

impl Thread {
    /// A session whose messages follow each other, in the folder of its project.
    pub(in crate::agents) fn new(facts: Facts) -> Self {
        Self { cwd: facts.project_path.clone(), facts, ..Self::default() }
    }

    pub(in crate::agents) fn with(self, parents: Parents) -> Self {
        Self { parents, ..self }
    }

    pub(in crate::agents) fn id(&self) -> &str {
        &self.facts.session_id
    }

    pub(in crate::agents) fn begin_turn(&mut self) {
        self.turn = Some(self.turn.unwrap_or(0) + 1);
        self.reply = None;
    }

    /// Number of the last record.
    pub(in crate::agents) fn last_seq(&self) -> i64 {
        (self.seq - 1).max(0)
    }

    /// Id of the last reply of the turn.
    pub(in crate::agents) fn last_reply(&self) -> Option<&str> {
        self.reply.as_deref()
    }

    /// Notes an id. True if the session did not have it.
    pub(in crate::agents) fn is_new(&mut self, kind: Kind, id: &str) -> bool {
        self.ids.insert(key("", kind, id))
    }

    /// Returns true if the session has the id.
    pub(in crate::agents) fn has(&self, kind: Kind, id: &str) -> bool {
        self.ids.contains(&key("", kind, id))
    }

    /// The id of a record that has none, unique over all sessions.
    pub(in crate::agents) fn print<'t>(
        &mut self,
        role: &str,
        moment: Option<i64>,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> String {
        format!("{}#{}", self.facts.session_id, self.prints.name(role, moment, texts))
    }

    /// Adds a message. Its row holds what differs between messages. False if the session has the message.
    pub(in crate::agents) fn message(
        &mut self,
        at: &Position<'_>,
        row: MessageRow<'_>,
        out: &mut Sink<'_>,
    ) -> Result<bool, Reject> {
        let is_new = self.is_new(Kind::Message, at.id);
        if is_new {
            self.push(at, row, out)?;
        }
        Ok(is_new)
    }

    /// Adds a message that the session does not have. Returns its place among the session's messages.
    pub(in crate::agents) fn push(
        &mut self,
        at: &Position<'_>,
        row: MessageRow<'_>,
        out: &mut Sink<'_>,
    ) -> Result<usize, Reject> {
        keep_earlier(&mut self.facts.first_moment, at.moment);
        if row.kind == MessageKind::Reply {
            self.reply = Some(at.id.to_owned());
        }
        let row = MessageRow {
            session_id: &self.facts.session_id,
            seq: self.seq,
            message_id: at.id,
            parent_id: match self.parents {
                Parents::Before => self.before.as_deref(),
                Parents::Tree => self.tree.row_above(),
                Parents::Rows => row.parent_id,
            },
            turn: self.turn,
            timestamp: at.moment,
            cwd: row.cwd.or(self.cwd.as_deref()),
            is_sidechain: self.is_sidechain,
            source_line: at.line,
            ..row.shorten()
        };
        let place = out.message(row, at.is_copy)?;
        self.seq += 1;
        self.has_rows = true;
        match self.parents {
            Parents::Before => self.before = Some(at.id.to_owned()),
            Parents::Tree => self.tree.set_row(place, at.id),
            Parents::Rows => {}
        }
        Ok(place)
    }

    /// Adds a billed response; `seq` is that of its message.
    pub(in crate::agents) fn bill(
        &mut self,
        at: &Position<'_>,
        row: UsageRow<'_>,
        seq: i64,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        self.has_rows = true;
        let row = UsageRow {
            session_id: &self.facts.session_id,
            timestamp: row.timestamp.or(at.moment),
            is_sidechain: self.is_sidechain,
            source_line: at.line,
            ..row.shorten()
        };
        out.usage(row, seq, at.is_copy)
    }

    /// Opens a call, which waits for its result. False if the session has the call.
    pub(in crate::agents) fn open_call(
        &mut self,
        at: &Position<'_>,
        call: Call,
        out: &mut Sink<'_>,
    ) -> Result<bool, Reject> {
        let is_new = self.is_new(Kind::ToolCall, &call.id);
        if is_new {
            self.open_named_call(at, None, call, out)?;
        }
        Ok(is_new)
    }

    /// Opens a call that the session does not have, by the name that its result gives it. Some servers number their calls
    /// anew in each response: a call of that name that is still open gets no result.
    pub(in crate::agents) fn open_named_call(
        &mut self,
        at: &Position<'_>,
        name: Option<&str>,
        call: Call,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        let call = Call { started_at: at.moment, ..self.number_call(at, call) };
        let unanswered = self.calls.open(name, call);
        if unanswered.len() > 1 {
            out.problem(at.line.and_then(|line| u64::try_from(line).ok()).unwrap_or(1), TOO_MANY);
        }
        unanswered.iter().try_for_each(|call| call.push_pending(&self.facts.session_id, out))
    }

    /// Removes the call that a result names. A result without a call makes one; there is none if the call has its result.
    pub(in crate::agents) fn take_call(
        &mut self,
        at: &Position<'_>,
        name: &str,
        make: impl FnOnce(&mut Self) -> Call,
    ) -> Option<Call> {
        let call = self.calls.take(name);
        if call.is_some() || self.calls.has(name) {
            return call;
        }
        let call = make(self);
        let call = self.number_call(at, call);
        self.calls.note_seq(name, call.seq);
        Some(call)
    }

    /// Numbers a call that is not opened, because its result is known.
    pub(in crate::agents) fn number_call(&mut self, at: &Position<'_>, call: Call) -> Call {
        self.has_rows = true;
        self.seq += 1;
        let (seq, turn, is_sidechain) = (self.seq - 1, self.turn, self.is_sidechain);
        Call { seq, turn, is_sidechain, line: at.line, is_copy: at.is_copy || call.is_copy, ..call }
    }

    /// Adds a call that ended.
    pub(in crate::agents) fn close_call(
        &self,
        call: &Call,
        end: &Outcome<'_>,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        call.push(&self.facts.session_id, end, out)
    }

    /// Completes the session. A session without rows leaves nothing.
    pub(in crate::agents) fn finish(self, out: &mut Sink<'_>) -> Result<(), Reject> {
        self.calls.push_pending(&self.facts.session_id, out)?;
        if !self.has_rows {
            out.discard_session();
            return Ok(());
        }
        out.claim(session_key(out.agent(), &self.facts.session_id), false);
        out.abandon(&self.tree.abandoned_rows());
        out.end_session(self.facts)
    }
}

/// A message of which nothing else is known.
pub(in crate::agents) fn blank<'r>(role: Role, kind: MessageKind) -> MessageRow<'r> {
    MessageRow { role, kind, ..MessageRow::default() }
}
