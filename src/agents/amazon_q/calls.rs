//! Tool calls that wait for their results.

use std::borrow::Cow;

use super::tools::Asked;
use crate::agents::waiting::Waiting;
use crate::extract::{Reject, Sink};
use crate::tables::{Status, ToolCallRow};

/// A call as made.
#[derive(Default)]
pub(in crate::agents) struct Call {
    pub(in crate::agents) id: String,
    pub(in crate::agents) seq: i64,
    pub(in crate::agents) message_id: Option<String>,
    pub(in crate::agents) response_id: Option<String>,
    pub(in crate::agents) turn: Option<i64>,
    pub(in crate::agents) name: String,
    /// JSON.
    pub(in crate::agents) input: Option<String>,
    /// Microseconds since 1970.
    pub(in crate::agents) started_at: Option<i64>,
    /// What the person decided: `rejected`.
    pub(in crate::agents) decision: Option<Status>,
    /// Session of the subagent that it started.
    pub(in crate::agents) child: Option<String>,
    pub(in crate::agents) is_sidechain: bool,
    /// Line of the source, from 1.
    pub(in crate::agents) line: Option<i64>,
}

/// How a call ended.
pub(in crate::agents) struct Outcome<'t> {
    pub(in crate::agents) status: Status,
    pub(in crate::agents) exit_code: Option<i64>,
    pub(in crate::agents) output: Option<Cow<'t, str>>,
    /// Microseconds since 1970.
    pub(in crate::agents) ended_at: Option<i64>,
}

impl Call {
    /// Hands the call on.
    pub(in crate::agents) fn push(&self, session: &str, end: &Outcome<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let asked = Asked::of(&self.name, self.input.as_deref());
        let row = ToolCallRow {
            session_id: session,
            seq: self.seq,
            call_id: &self.id,
            message_id: self.message_id.as_deref(),
            response_id: self.response_id.as_deref(),
            turn: self.turn,
            name: &self.name,
            category: asked.category,
            mcp_server: asked.server.as_deref(),
            input: self.input.as_deref(),
            command: asked.command.as_deref(),
            file_path: asked.file.as_deref(),
            status: self.decision.unwrap_or(end.status),
            exit_code: end.exit_code,
            output: end.output.as_deref(),
            started_at: self.started_at,
            ended_at: end.ended_at,
            child_session_id: self.child.as_deref(),
            is_sidechain: self.is_sidechain,
            source_line: self.line,
            ..ToolCallRow::default()
        };
        out.tool_call(row, false)
    }
}

/// The calls of a session that have no result yet.
#[derive(Default)]
pub(in crate::agents) struct Calls(Waiting<Call>);

impl Calls {
    /// Calls up to which those that a text names are looked for.
    const NAMED: usize = 1000;

    /// Takes a call.
    pub(in crate::agents) fn begin(&mut self, call: Call) {
        let id = call.id.clone();
        self.0.push([&id], call);
    }

    /// The call of that id, which waits no more.
    pub(in crate::agents) fn take(&mut self, id: &str) -> Option<Call> {
        self.0.take(id)
    }

    /// The call of that id, while it waits.
    pub(in crate::agents) fn get(&mut self, id: &str) -> Option<&mut Call> {
        self.0.get_mut(id)
    }

    /// The call that was made last, of those that wait.
    pub(in crate::agents) fn last(&mut self) -> Option<&mut Call> {
        self.0.last_mut()
    }

    /// Those that a text names, else all; they wait no more.
    pub(in crate::agents) fn take_named_in(&mut self, text: &str) -> Vec<Call> {
        let is_named = |call: &Call| text.contains(&call.name) || text.contains(&call.id);
        let named = if self.0.len() <= Self::NAMED { self.0.take_where(is_named) } else { Vec::new() };
        if named.is_empty() { self.0.drain().collect() } else { named }
    }

    /// Hands on those that never got a result.
    pub(in crate::agents) fn push_pending(&mut self, session: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
        let pending = Outcome { status: Status::Pending, exit_code: None, output: None, ended_at: None };
        self.0.drain().try_for_each(|call| call.push(session, &pending, out))
    }
}
