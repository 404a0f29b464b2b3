//! A conversation as the program keeps it: messages sent, answers, and metadata of each request.

use serde_json::value::RawValue;

use super::AGENT;
use super::outcome::outcome;
use super::record::{Content, Entry, ModelInfo, Reply, Request, Results, Tangent, User};
use super::tools::call;
use super::usage::usage_row;
use crate::agents::document::Torn;
use crate::agents::ids::Prints;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, Kind, Reject, Sink, key};
use crate::source::records::{Object, Raw, Text};
use crate::tables::{MessageKind, MessageRow, Role, Status, UsageRow};

/// Beginnings of prompts that the program sends by itself.
const AUTOMATIC: [&str; 2] =
    ["In a few words, summarize our conversation so far.", "[SYSTEM NOTE: This is an automated"];
/// Text of the prompt that the program sends when its rules forbid a call.
const FORBIDDEN: &str = "was rejected because the arguments supplied were forbidden";
/// Length at which the working directory of an entry is cut. Bytes.
const LONGEST_CWD: usize = 256;

/// Known fields of a conversation.
const KNOWN: [&str; 18] = [
    "conversation_id",
    "next_message",
    "valid_history_range",
    "transcript",
    "tools",
    "context_manager",
    "context_message_length",
    "latest_summary",
    "model",
    "model_info",
    "file_line_tracker",
    "checkpoint_manager",
    "mcp_enabled",
    "tangent_state",
    "user_turn_metadata",
    "agents",
    "hooks",
    "tool_manager",
];

/// Reads the documents of one conversation: usually one, several if it was saved or loaded elsewhere.
pub(in crate::agents) struct Conversation<'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    model: Option<String>,
    /// Context window of that model. Tokens.
    context_window: Option<i64>,
    first_prompt: Option<String>,
    summary: Option<String>,
}

impl<'o, 's> Conversation<'o, 's> {
    /// Begins the conversation of that id; the project is the directory under which it is kept.
    pub(in crate::agents) fn new(
        id: String,
        project: Option<String>,
        began: Option<i64>,
        out: &'o mut Sink<'s>,
    ) -> Self {
        let facts = Facts { session_id: id, project_path: project, first_moment: began, ..Facts::default() };
        Self { out, thread: Thread::new(facts), model: None, context_window: None, first_prompt: None, summary: None }
    }

    /// Takes the content that a document adds to those before it.
    pub(in crate::agents) fn read(&mut self, document: &Torn<'_>) -> Result<(), Reject> {
        let info: Object<ModelInfo<'_>> = document.field("model_info");
        let info = info.0.unwrap_or_default();
        let named: Text<'_> = document.field("model");
        self.model = info.id.get().or(named.get()).map(str::to_owned);
        self.context_window = info.context_window.0.filter(|tokens| *tokens > 0);
        if let Some(summary) = document.raw("latest_summary") {
            self.take_summary(summary)?;
        }
        let tangent: Object<Tangent<'_>> = document.field("tangent_state");
        let left = tangent.0.as_ref().map(|tangent| tangent.history.0.as_slice()).unwrap_or_default();
        self.thread.prints = Prints::default();
        for entry in left {
            self.take_entry(entry.json().unwrap_or_default())?;
        }
        self.thread.is_sidechain = tangent.0.is_some();
        // A tangent repeats the conversation before it.
        self.thread.prints = Prints::default();
        for entry in &document.items {
            self.take_entry(entry.get())?;
        }
        let waiting: Object<User<'_>> = document.field("next_message");
        if let Some(user) = &waiting.0 {
            self.take_user(user, &Request::default(), None)?;
        }
        self.thread.is_sidechain = false;
        self.report(document);
        Ok(())
    }

    /// Reports the unreadable parts and unknown fields of a document.
    fn report(&mut self, document: &Torn<'_>) {
        for name in document.names().filter(|name| !KNOWN.contains(name)) {
            self.out.unknown(name);
        }
        if let Some(error) = &document.error {
            self.out.line();
            let line = self.out.report.lines;
            self.out.problem(line, &format!("a torn conversation; everything before the tear was read: {error}"));
        }
    }

    /// Completes the session.
    pub(in crate::agents) fn finish(mut self) -> Result<(), Reject> {
        // A title takes precedence over a summary, and a summary of a conversation is no title.
        self.thread.facts.title = self.first_prompt.filter(|_| self.summary.is_some());
        self.thread.facts.summary = self.summary;
        self.thread.finish(self.out)
    }

    /// Kiro CLI took over the conversations of Amazon Q with their ids. Amazon Q's record supersedes the one of Kiro
    /// CLI.
    fn note_twin(&mut self, kind: Kind, id: &str) {
        let twin = key(AGENT, Kind::Presence, &format!("{} of {}:{id}", kind as u8, self.thread.id()));
        if self.out.agent() == AGENT {
            self.out.claim(twin, false);
        } else {
            self.out.yields_to(kind, id, twin, None);
        }
    }

    fn push(&mut self, id: &str, moment: Option<i64>, row: MessageRow<'_>) -> Result<(), Reject> {
        if self.thread.message(&Position::new(id, moment), row, self.out)? {
            self.note_twin(Kind::Message, id);
        }
        Ok(())
    }

    /// Takes the summary that a compaction left, which since 2025-07-22 comes with the metadata of its request.
    fn take_summary(&mut self, summary: &RawValue) -> Result<(), Reject> {
        let pair: (Text<'_>, Object<Request<'_>>) = serde_json::from_str(summary.get())
            .unwrap_or_else(|_| (serde_json::from_str(summary.get()).unwrap_or_default(), Object(None)));
        let (text, Object(request)) = pair;
        let Some(text) = text.get() else { return Ok(()) };
        self.summary = Some(text.to_owned());
        let request = request.unwrap_or_default();
        let response = request.id.get().or(request.message.get());
        let id = match response {
            Some(id) => format!("{id}:summary"),
            None => self.thread.print("summary", request.end.0, [text]),
        };
        let model = request.model.owned().or_else(|| self.model.clone());
        let row = MessageRow {
            text: Some(text),
            model: model.as_deref().filter(|_| response.is_some()),
            response_id: response,
            ..blank(Role::System, MessageKind::Compaction)
        };
        self.push(&id, request.end.0, row)?;
        if let Some(response) = response {
            self.push_usage(response, &request, &id)?;
        }
        Ok(())
    }

    fn take_entry(&mut self, json: &str) -> Result<(), Reject> {
        self.out.line();
        let entry = match Entry::read(json) {
            Ok(entry) => entry,
            Err(error) => {
                let line = self.out.report.lines;
                self.out.problem(line, &format!("an entry that cannot be read: {error}"));
                return Ok(());
            }
        };
        self.out.unknown_fields("history.", &entry.unknown);
        let request = entry.request.0.as_ref();
        let reply = entry.reply();
        let own_id = reply
            .and_then(|reply| reply.id.get())
            .or_else(|| request.and_then(|request| request.id.get().or(request.message.get())));
        let id = match own_id {
            Some(id) => id.to_owned(),
            None => self.thread.print("entry", None, entry.texts()),
        };
        if !self.thread.is_new(Kind::Presence, &id) {
            return Ok(());
        }
        let none = Request::default();
        if let Some(user) = &entry.user.0 {
            self.take_user(user, request.unwrap_or(&none), own_id)?;
        }
        let response = request.map(|request| request.id.get().unwrap_or(&id));
        if let Some(reply) = reply {
            self.take_reply(reply, request.unwrap_or(&none), &id, response)?;
        }
        if let (Some(request), Some(response)) = (request, response) {
            self.push_usage(response, request, &id)?;
        }
        Ok(())
    }

    /// Takes the message sent to the model; `id` is the agent's own id of the answer.
    fn take_user(&mut self, user: &User<'_>, request: &Request<'_>, id: Option<&str>) -> Result<(), Reject> {
        let environment = user.environment.0.as_ref().and_then(|environment| environment.state.0.as_ref());
        if let Some(cwd) = environment.and_then(|state| state.cwd.get()) {
            self.set_cwd(cwd);
        }
        let Some(content) = &user.content.0 else { return Ok(()) };
        self.out.unknown_fields("content.", &content.unknown);
        let Content { prompt, cancelled, results, .. } = content;
        for results in [&results.0, &cancelled.0].into_iter().flatten() {
            self.take_results(results, user.timestamp.0.or(request.start.0), id)?;
        }
        let typed = [&prompt.0, &cancelled.0].into_iter().flatten().find_map(|content| content.prompt.get());
        match typed {
            Some(text) => self.take_prompt(text, user, request, id),
            None => Ok(()),
        }
    }

    /// Sets the working directory. If an entry's is cut, takes the whole one under which the conversation is kept.
    fn set_cwd(&mut self, cwd: &str) {
        let project = &mut self.thread.facts.project_path;
        let whole = project.as_deref().filter(|path| cwd.len() >= LONGEST_CWD && path.starts_with(cwd));
        let cwd = whole.unwrap_or(cwd).to_owned();
        project.get_or_insert_with(|| cwd.clone());
        self.thread.cwd = Some(cwd);
    }

    fn take_prompt(
        &mut self,
        text: &str,
        user: &User<'_>,
        request: &Request<'_>,
        id: Option<&str>,
    ) -> Result<(), Reject> {
        let is_forbidding = text.starts_with("Tool use with ") && text.contains(FORBIDDEN);
        let is_automatic = is_forbidding || AUTOMATIC.iter().any(|opening| text.starts_with(opening));
        // A message that waits for its answer has a time, but no id of the answer yet.
        let timed = user.timestamp.0.map(|moment| format!("{}:{moment}:u", self.thread.id()));
        let timed = timed.filter(|id| !self.thread.has(Kind::Message, id));
        let id = timed.or_else(|| id.map(|id| format!("{id}:u")));
        let id = id.unwrap_or_else(|| self.thread.print("user", None, [text]));
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        let timestamp = user.timestamp.0.or(request.start.0);
        if is_forbidding {
            self.forbid(text, timestamp)?;
        }
        if !is_automatic {
            self.thread.begin_turn();
            self.first_prompt.get_or_insert_with(|| text.to_owned());
        }
        let kind = if is_automatic { MessageKind::Meta } else { MessageKind::Prompt };
        let attachments = i64::try_from(user.images.0.len()).unwrap_or(0);
        self.push(&id, timestamp, MessageRow { text: Some(text), attachments, ..blank(Role::User, kind) })
    }

    /// Ends the calls that the program's rules forbade: those that the text names, else all open ones.
    fn forbid(&mut self, text: &str, ended_at: Option<i64>) -> Result<(), Reject> {
        let calls = self.thread.calls.take_mentioned(text);
        let end = Outcome {
            status: Status::Error,
            is_denied: Some(true),
            output: Some(text.into()),
            ended_at,
            ..Outcome::default()
        };
        calls.iter().try_for_each(|call| self.thread.close_call(call, &end, self.out))
    }

    fn take_results(&mut self, results: &Results<'_>, moment: Option<i64>, id: Option<&str>) -> Result<(), Reject> {
        let mut is_error = false;
        let mut first = None;
        for result in results.results.0.iter().filter_map(|result| result.0.as_ref()) {
            let end = outcome(result, moment);
            is_error |= end.status != Status::Ok;
            let call_id = result.id.get().unwrap_or_default();
            first = first.or(result.id.get());
            if let Some(call) = self.thread.calls.take(call_id) {
                self.thread.close_call(&call, &end, self.out)?;
            }
        }
        if results.results.0.is_empty() {
            return Ok(());
        }
        let id = first.or(id).map(|id| format!("{id}:r"));
        let id = id.unwrap_or_else(|| self.thread.print("tool", moment, []));
        self.push(&id, moment, MessageRow { is_error, ..blank(Role::Tool, MessageKind::ToolResult) })
    }

    fn take_reply(
        &mut self,
        reply: &Reply<'_>,
        request: &Request<'_>,
        id: &str,
        response: Option<&str>,
    ) -> Result<(), Reject> {
        let model = request.model.owned().or_else(|| self.model.clone());
        let row = MessageRow {
            text: reply.text.get(),
            model: model.as_deref(),
            response_id: response,
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        self.push(id, request.end.0, row)?;
        for (place, used) in reply.calls.0.iter().filter_map(|call| call.0.as_ref()).enumerate() {
            let call_id = used.id.get().map_or_else(|| format!("{id}#{place}"), str::to_owned);
            let name = used.original_name.get().or(used.name.get());
            let call = Call {
                message_id: Some(id.to_owned()),
                response_id: response.map(str::to_owned),
                ..call(&call_id, name, given_input(used.original_input, used.input))
            };
            if self.thread.open_call(&Position::new(id, request.end.0), call, self.out)? {
                self.note_twin(Kind::ToolCall, &call_id);
            }
        }
        Ok(())
    }

    fn push_usage(&mut self, response: &str, request: &Request<'_>, message: &str) -> Result<(), Reject> {
        if !self.thread.is_new(Kind::Response, response) {
            return Ok(());
        }
        let row = usage_row(request, response);
        let model = row.model.or(self.model.as_deref());
        let row = UsageRow {
            message_id: Some(message),
            turn: self.thread.turn,
            model,
            context_window: self.context_window.filter(|_| model == self.model.as_deref()),
            ..row.shorten()
        };
        self.thread.bill(&Position::default(), row, self.thread.last_seq(), self.out)?;
        self.note_twin(Kind::Response, response);
        Ok(())
    }
}

/// Returns the arguments as the model gave them: the program repairs some before it runs a tool.
fn given_input<'a>(original: Raw<'a>, repaired: Raw<'a>) -> Option<&'a str> {
    let given = original.json().filter(|json| *json != "{}");
    given.or(repaired.json()).or(original.json())
}
