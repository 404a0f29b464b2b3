//! A task of which only `ui_messages.json` is left: its messages and calls are made from the rows that the person saw.

use std::borrow::Cow;

use super::billing::{Answer, Billing};
use super::content::plain;
use super::keys;
use super::record::{Details, Shown};
use super::rows::Rows;
use super::timeline::{Names, Timeline, moment, name_of};
use crate::agents::kit::calls::Call;
use crate::agents::kit::texts::add_line;
use crate::agents::kit::thread::{Position, blank};
use crate::extract::{Kind, Reject};
use crate::tables::{MessageKind, MessageRow, Role, Status};

/// Writes rows from the shown entries, in their order.
pub(super) struct Chatter<'c, 'o, 's> {
    pub(super) rows: &'c mut Rows<'o, 's>,
    billing: Billing<'c>,
    timeline: &'c Timeline,
    names: Names,
    /// Requests so far.
    requests: usize,
    reply: Reply,
    /// The person's messages since the last request, which the next one sends.
    heard: Vec<Heard>,
    parent: Option<String>,
    has_begun: bool,
}

/// A message of the person.
struct Heard {
    /// Name within the task.
    id: String,
    at: Option<i64>,
    kind: MessageKind,
    text: Option<String>,
    attachments: i64,
}

/// The model's reply to the last request.
#[derive(Default)]
struct Reply {
    /// Name within the task.
    id: String,
    at: Option<i64>,
    text: String,
    thinking: String,
    calls: Vec<ShownCall>,
}

struct ShownCall {
    id: String,
    name: String,
    input: String,
    at: Option<i64>,
    is_done: bool,
    output: Option<String>,
    output_at: Option<i64>,
}

impl Reply {
    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.thinking.is_empty() && self.calls.is_empty()
    }
}

impl<'c, 'o, 's> Chatter<'c, 'o, 's> {
    pub(super) fn new(rows: &'c mut Rows<'o, 's>, billing: Billing<'c>, timeline: &'c Timeline) -> Self {
        let (names, reply, heard) = (Names::default(), Reply::default(), Vec::new());
        Self { rows, billing, timeline, names, requests: 0, reply, heard, parent: None, has_begun: false }
    }

    /// Takes a row.
    pub(super) fn take(&mut self, shown: &Shown<'_>, place: u64) -> Result<(), Reject> {
        if !self.timeline.is_current(shown, place) {
            return Ok(());
        }
        let name = name_of(shown);
        let (at, id) = (shown.at.0.and_then(moment), format!("ui:{}:{name}", self.names.of(shown)));
        match name {
            "api_req_started" => {
                self.end_reply(place)?;
                self.requests += 1;
            }
            "task" => self.listen(shown, id, at, MessageKind::Prompt),
            "text" if !self.has_begun && self.requests == 0 => self.listen(shown, id, at, MessageKind::Prompt),
            "user_feedback" => self.listen(shown, id, at, MessageKind::Prompt),
            "user_feedback_diff" | "subtask_result" => self.listen(shown, id, at, MessageKind::Meta),
            "text"
            | "plan_completion_result"
            | "followup"
            | "plan_mode_respond"
            | "act_mode_respond"
            | "new_task"
            | "condense"
            | "summarize_task"
            | "report_bug" => self.hear(shown, id, at),
            "completion_result" if shown.say.get().is_some() => self.hear(shown, id, at),
            "reasoning" => {
                if let Some(text) = plain(shown.text) {
                    self.begin_reply(id, at);
                    add_line(&mut self.reply.thinking, &text);
                }
            }
            "tool" | "command" | "use_mcp_server" | "browser_action_launch" | "browser_action" | "use_subagents" => {
                self.call(shown, id, at);
            }
            "command_output" | "mcp_server_response" | "browser_action_result" => {
                if let (Some(call), Some(text)) = (self.reply.calls.last_mut(), plain(shown.text)) {
                    add_line(call.output.get_or_insert_default(), &text);
                    call.output_at = at;
                }
            }
            _ => {}
        }
        self.has_begun = true;
        Ok(())
    }

    fn listen(&mut self, shown: &Shown<'_>, id: String, at: Option<i64>, kind: MessageKind) {
        let text = plain(shown.text).map(Cow::into_owned);
        let attachments = i64::try_from(shown.images.0.len() + shown.files.0.len()).unwrap_or(i64::MAX);
        if text.is_some() || attachments > 0 {
            self.heard.push(Heard { id, at, kind, text, attachments });
        }
    }

    fn push_heard(&mut self, heard: &Heard) -> Result<(), Reject> {
        let id = format!("{}:{}", self.rows.thread.id(), heard.id);
        let row = MessageRow {
            parent_id: self.parent.as_deref(),
            text: heard.text.as_deref(),
            attachments: heard.attachments,
            ..blank(Role::User, heard.kind)
        };
        self.rows.say(&Position::new(&id, heard.at), row)?;
        self.yields_to(Kind::Message, &id);
        self.parent = Some(id);
        Ok(())
    }

    fn begin_reply(&mut self, id: String, at: Option<i64>) {
        if self.reply.is_empty() {
            self.reply.at = at;
            self.reply.id = id;
        }
    }

    fn hear(&mut self, shown: &Shown<'_>, id: String, at: Option<i64>) {
        let Some(text) = plain(shown.text) else { return };
        self.begin_reply(id, at);
        let details: Details<'_> = serde_json::from_str(&text).unwrap_or_default();
        add_line(&mut self.reply.text, details.question.get().or(details.response.get()).unwrap_or(&text));
    }

    /// Adds a call. A call that was asked for and then shown has two rows.
    fn call(&mut self, shown: &Shown<'_>, id: String, at: Option<i64>) {
        let text = plain(shown.text).unwrap_or_default();
        let name = name_of(shown);
        let details: Details<'_> = serde_json::from_str(&text).unwrap_or_default();
        let input = if serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok() && text.starts_with('{') {
            text.to_string()
        } else {
            serde_json::json!({ "command": text }).to_string()
        };
        let name = details.tool.get().filter(|_| name == "tool").unwrap_or(name);
        // A call that is shown, not asked for, is done.
        let is_done = shown.say.get().is_some();
        if let Some(last) = self.reply.calls.last_mut().filter(|last| last.name == name && last.input == input) {
            last.is_done |= is_done;
            return;
        }
        self.begin_reply(id.clone(), at);
        let (name, output) = (name.to_owned(), None);
        self.reply.calls.push(ShownCall { id, name, input, at, is_done, output, output_at: None });
    }

    fn end_reply(&mut self, place: u64) -> Result<(), Reject> {
        let reply = std::mem::take(&mut self.reply);
        if !reply.is_empty() {
            self.push(&reply)?;
        }
        self.billing.note_before_row(self.rows, place)?;
        self.billing.bill_before(self.rows, Some(self.requests), self.billing.indexed())?;
        std::mem::take(&mut self.heard).iter().try_for_each(|heard| self.push_heard(heard))
    }

    fn push(&mut self, reply: &Reply) -> Result<(), Reject> {
        let request = self.requests.checked_sub(1);
        let at = self.billing.moment_of(request).or(reply.at);
        let model = self.billing.model_of(request).0.or(self.billing.indexed());
        let response = self.billing.response_of(self.rows.thread.id(), request);
        let id = format!("{}:{}:reply", self.rows.thread.id(), reply.id);
        let row = MessageRow {
            parent_id: self.parent.as_deref(),
            text: Some(&reply.text),
            thinking: Some(&reply.thinking),
            model,
            response_id: response.as_deref(),
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        let seq = self.rows.say(&Position::new(&id, at), row)?;
        self.yields_to(Kind::Message, &id);
        if let Some(request) = request {
            let answer = Answer { id: &id, seq, model: None, provider: None };
            self.billing.bill(self.rows, request, Some(answer), self.billing.indexed())?;
        }
        for shown in &reply.calls {
            let call_id = format!("{}:{}", self.rows.thread.id(), shown.id);
            let call = Call {
                message_id: Some(id.clone()),
                response_id: response.clone(),
                status: if shown.is_done { Status::Ok } else { Status::Pending },
                started_at: shown.at,
                ..self.rows.call(call_id, &shown.name, Some(shown.input.clone()))
            };
            self.rows.end_call(&call, shown.output.as_deref().map(Cow::Borrowed), false, shown.output_at)?;
            self.yields_to(Kind::ToolCall, &call.id);
        }
        self.parent = Some(id);
        Ok(())
    }

    /// Lets the model's history supersede a row, because the history has more.
    fn yields_to(&mut self, kind: Kind, id: &str) {
        let history = keys::history(self.rows.agent, self.rows.thread.id());
        self.rows.out.yields_to(kind, id, history, None);
    }

    /// Ends the last reply and emits the remaining rows.
    pub(super) fn finish(mut self) -> Result<(), Reject> {
        self.end_reply(u64::MAX)?;
        let indexed = self.billing.indexed();
        self.billing.finish(self.rows, indexed)
    }
}
