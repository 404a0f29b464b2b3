//! Items of paginated histories (0.144 and later): they repeat messages, record the outcomes of calls, and are the only
//! record of calls that a script made within a call.

use std::borrow::Cow;

use super::super::changes;
use super::super::content::{Content, parse, plain_text};
use super::super::outcome::{End, Outcome};
use super::super::record::{Completed, Event, McpResult};
use super::super::tools::{self, Request};
use super::calls::{Answer, Call};
use super::events::{duration_of, has_failed};
use super::{LinePosition, Rollout};
use crate::agents::mcp;
use crate::extract::{Kind, Reject};
use crate::tables::Category;

/// Items that repeat others.
const IGNORED: [&str; 10] = [
    "AgentMessage",
    "Reasoning",
    "Plan",
    "ContextCompaction",
    "WebSearch",
    "ImageView",
    "ImageGeneration",
    "HookPrompt",
    "DynamicToolCall",
    "Extension",
];

impl Rollout<'_, '_> {
    pub(super) fn take_completed(&mut self, position: LinePosition, event: &Event<'_>) -> Result<(), Reject> {
        let mut spare = String::new();
        let Some(item) = event.item.json().and_then(|json| parse::<Completed<'_>>(json, &mut spare)) else {
            return Ok(());
        };
        match item.kind.get().unwrap_or_default() {
            "UserMessage" => {
                let text = Content::of(item.content.json(), false).text.unwrap_or_default();
                self.take_announced(position, &text)
            }
            "CommandExecution" | "FileChange" | "McpToolCall" => self.take_call_item(position, event.started.0, &item),
            "CollabAgentToolCall" | "CollabToolCall" | "SubAgentActivity" => {
                let child = item.receivers.0.first().or(Some(&item.thread)).and_then(|thread| thread.get());
                self.link_child(item.id.get(), child);
                Ok(())
            }
            "EnteredReviewMode" => self.enter_review(position, item.review.get()),
            "ExitedReviewMode" => self.leave_review(position, item.review.get()),
            kind if IGNORED.contains(&kind) => Ok(()),
            kind => {
                self.out.unknown(&format!("item_completed {kind}"));
                Ok(())
            }
        }
    }

    /// Takes the end of a call; adds the call if no item of the model did.
    fn take_call_item(
        &mut self,
        position: LinePosition,
        started: Option<i64>,
        item: &Completed<'_>,
    ) -> Result<(), Reject> {
        let end = End {
            exit_code: item.exit_code.0,
            duration_ms: duration_of(item.duration),
            ..End::of(item.status.get(), None)
        };
        let failed = end.failed || item.error.json().is_some() || has_failed(item.result);
        let end = End { failed, ..end };
        let id = item.id.get().unwrap_or_default();
        if let Some(call) = self.calls.get_mut(id) {
            call.ends(end);
            call.lines = changes::lines(item.changes);
            if let Some(server) = item.server.get() {
                call.mcp_server = Some(server.to_owned());
                call.category = mcp::category(server);
            }
            return Ok(());
        }
        let is_the_persons = matches!(item.source.get(), Some("user_shell" | "userShell"));
        if id.is_empty() || self.calls.knows(id) || is_the_persons {
            return Ok(());
        }
        self.flush_user()?;
        let call = Call { started_at: started.or(position.moment), ..self.inner_call(position, item, id, end) };
        self.push_call(&call)
    }

    /// Returns a call that a script made within a call.
    fn inner_call(&mut self, position: LinePosition, item: &Completed<'_>, id: &str, end: End) -> Call {
        let open = self.reply.as_ref().map(|reply| (reply.id.clone(), reply.response_id.clone()));
        let (message_id, response_id) = open.or(self.calls.last_reply.clone()).unzip();
        let server = item.server.get();
        let (name, category, input) = match item.kind.get() {
            Some("CommandExecution") => (Cow::Borrowed("CommandExecution"), Category::Shell, item.command.json()),
            Some("FileChange") => (Cow::Borrowed("FileChange"), Category::Edit, item.changes.json()),
            _ => {
                let (server, tool) = (server.unwrap_or_default(), item.tool.get().unwrap_or_default());
                (Cow::Owned(format!("mcp__{server}__{tool}")), mcp::category(server), item.arguments.json())
            }
        };
        let seq = self.seq;
        self.seq += 1;
        self.calls.settle(id);
        let output = item.output.owned().or_else(|| result_text(item));
        let outcome = Outcome::of_end(end);
        let call_id = self.calls.next_id(id, self.lineage.namespace(&self.session));
        let weak = self.lineage.is_unclear();
        self.note_unclear(Kind::ToolCall, &call_id, weak);
        Call {
            call_id,
            seq,
            message_id,
            response_id: response_id.flatten(),
            turn: self.turn,
            name: name.into_owned(),
            category,
            mcp_server: server.map(str::to_owned),
            request: Request {
                input: input.map(str::to_owned),
                command: (category == Category::Shell).then(|| tools::command_line(input)).flatten(),
                file_path: (category == Category::Edit).then(|| tools::first_key(input)).flatten(),
            },
            source_line: i64::try_from(position.number).ok(),
            weak,
            lines: changes::lines(item.changes),
            answer: Some(Answer { outcome, output, ended_at: position.moment }),
            ..Call::default()
        }
    }
}

/// Returns the answer of an MCP server, or its error.
fn result_text(item: &Completed<'_>) -> Option<String> {
    let result: McpResult<'_> = serde_json::from_str(item.result.json().unwrap_or("{}")).unwrap_or_default();
    let content = result.good.0.as_ref().and_then(|good| good.content.json()).or(result.content.json());
    let text = Content::of(content, true).text.map(Cow::into_owned);
    text.or_else(|| plain_text(result.bad.json().or(item.error.json())))
}
