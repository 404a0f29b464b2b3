//! Tool calls that wait for their results.

use std::borrow::Cow;

use super::tools::Asked;
use crate::extract::{Reject, Sink};
use crate::tables::ToolCallRow;

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
    pub(in crate::agents) decision: Option<&'static str>,
    /// Session of the subagent that it started.
    pub(in crate::agents) child: Option<String>,
    pub(in crate::agents) is_sidechain: bool,
    /// Line of the source, from 1.
    pub(in crate::agents) line: Option<i64>,
}

/// How a call ended.
pub(in crate::agents) struct Outcome<'t> {
    pub(in crate::agents) status: &'static str,
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
            output_bytes: end.output.as_ref().and_then(|output| i64::try_from(output.len()).ok()),
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
pub(in crate::agents) struct Calls(Vec<Call>);

impl Calls {
    /// Takes a call.
    pub(in crate::agents) fn begin(&mut self, call: Call) {
        self.0.push(call);
    }

    /// The call of that id, which waits no more.
    pub(in crate::agents) fn take(&mut self, id: &str) -> Option<Call> {
        let place = self.0.iter().position(|call| call.id == id)?;
        Some(self.0.swap_remove(place))
    }

    /// The call of that id, while it waits.
    pub(in crate::agents) fn get(&mut self, id: &str) -> Option<&mut Call> {
        self.0.iter_mut().find(|call| call.id == id)
    }

    /// The call that was made last, of those that wait.
    pub(in crate::agents) fn last(&mut self) -> Option<&mut Call> {
        self.0.iter_mut().max_by_key(|call| call.seq)
    }

    /// Those that are waited for, which then wait no more.
    pub(in crate::agents) fn take_where(&mut self, wanted: impl Fn(&Call) -> bool) -> Vec<Call> {
        self.0.extract_if(.., |call| wanted(call)).collect()
    }

    /// Hands on those that never got a result.
    pub(in crate::agents) fn push_pending(&mut self, session: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
        let pending = Outcome { status: "pending", exit_code: None, output: None, ended_at: None };
        self.0.drain(..).try_for_each(|call| call.push(session, &pending, out))
    }
}
