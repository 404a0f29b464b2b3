//! Tool calls: joins the events of request, start and end of each.

use super::pending::{PendingCall, call_key};
use super::record::{ToolComplete, ToolRequest, ToolStart};
use super::tools;
use super::transcript::{EventHead, Transcript};
use crate::agents::held::TOO_MANY;
use crate::agents::ids;
use crate::extract::{LineCounts, Reject};
use crate::tables::ToolCallRow;

impl Transcript<'_, '_> {
    /// Opens the call that a message asks for.
    pub(super) fn open_requested(
        &mut self,
        thread: usize,
        head: &EventHead<'_>,
        request: &ToolRequest<'_>,
        message_id: &str,
        response: &str,
    ) -> Result<(), Reject> {
        let Some(id) = request.call.get() else { return Ok(()) };
        if self.calls.open.contains_key(&call_key(id)) {
            return Ok(());
        }
        let mut call = self.new_call(thread, head, id);
        call.message_id = Some(message_id.to_owned());
        call.response_id = Some(response.to_owned());
        call.describe(&request.name, &request.arguments, &request.server);
        self.open_call(head, id, call)
    }

    fn open_call(&mut self, head: &EventHead<'_>, id: &str, call: PendingCall) -> Result<(), Reject> {
        let bytes = call.bytes();
        self.calls.open.insert(call_key(id), call);
        if self.calls.bytes.exceed(bytes, self.calls.open.values().map(PendingCall::bytes)) {
            self.out.problem(head.line.cast_unsigned(), TOO_MANY);
            self.calls.answered.extend(self.calls.open.keys());
            self.push_open_calls()?;
        }
        Ok(())
    }

    fn new_call(&mut self, thread: usize, head: &EventHead<'_>, id: &str) -> PendingCall {
        let key = call_key(id);
        // Some models' servers restart the numbers of calls in each session or response. Forks keep the events' ids.
        let own = match self.calls.answered.contains(&key) {
            true => format!("{id}@{}", head.id),
            false => ids::qualified(head.id, id).into_owned(),
        };
        if own != id {
            self.calls.ids.insert(key, own.clone());
        }
        let state = self.threads.get_mut(thread);
        let (seq, turn) = state.map(|thread| (thread.next_seq(), thread.turn)).unwrap_or_default();
        PendingCall {
            thread,
            id: own,
            seq,
            turn,
            requested_at: head.timestamp,
            line: head.line,
            ..PendingCall::default()
        }
    }

    pub(super) fn take_tool_start(&mut self, head: &EventHead<'_>, start: &ToolStart<'_>) -> Result<(), Reject> {
        self.count_unknown(head, &start.unknown);
        let id = start.call.get().unwrap_or(head.id);
        let mut call = match self.calls.open.remove(&call_key(id)) {
            Some(call) => call,
            None => {
                let thread = self.thread_of(head.agent, start.parent_call.get());
                self.new_call(thread, head, id)
            }
        };
        self.has_conversation |= head.kind == "tool.user_requested";
        call.describe(&start.name, &start.arguments, &start.server);
        call.started_at = head.timestamp;
        self.open_call(head, id, call)
    }

    pub(super) fn take_tool_complete(
        &mut self,
        head: &EventHead<'_>,
        complete: &ToolComplete<'_>,
    ) -> Result<(), Reject> {
        self.count_unknown(head, &complete.unknown);
        let id = complete.call.get().unwrap_or(head.id);
        let key = call_key(id);
        let call = match self.calls.open.remove(&key) {
            Some(call) => call,
            None if self.calls.answered.contains(&key) => return Ok(()),
            None => {
                let thread = self.thread_of(head.agent, complete.parent_call.get());
                PendingCall { requested_at: None, ..self.new_call(thread, head, id) }
            }
        };
        self.calls.answered.insert(key);
        let result = complete.result.0.as_ref();
        let error = complete.error.0.as_ref();
        let output = result
            .and_then(|result| result.content.get().or(result.detailed.get()))
            .or(error.and_then(|error| error.message.get().or(error.code.get())));
        let outcome = tools::outcome(call.category, complete, call.decision);
        let metrics = complete.telemetry.0.as_ref().and_then(|telemetry| telemetry.metrics.0.as_ref());
        let lines = metrics.and_then(LineCounts::lines).unwrap_or_default();
        let ended_at = head.timestamp.filter(|_| !outcome.is_late);
        self.turn_to(call.thread);
        let Some(thread) = self.threads.get(call.thread) else { return Ok(()) };
        let row = ToolCallRow {
            status: outcome.status,
            is_denied: Some(outcome.is_denied),
            exit_code: outcome.exit_code,
            output,
            lines_added: lines.added,
            lines_removed: lines.removed,
            ended_at,
            duration_ms: call.duration_until(ended_at),
            ..call.row(&thread.session)
        };
        self.out.tool_call(row, false)
    }

    /// Emits the calls that have no end, in order.
    pub(super) fn push_open_calls(&mut self) -> Result<(), Reject> {
        let mut open: Vec<PendingCall> = std::mem::take(&mut self.calls.open).into_values().collect();
        open.sort_by_key(|call| (call.thread, call.seq));
        for call in open {
            self.turn_to(call.thread);
            let Some(thread) = self.threads.get(call.thread) else { continue };
            self.out.tool_call(call.row(&thread.session), false)?;
        }
        Ok(())
    }
}
