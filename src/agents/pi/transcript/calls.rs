//! Tool calls, and the results that later entries give them.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::super::content::Block;
use super::super::record::{Arguments, Message};
use super::super::tools;
use super::{PlacedEntry, Transcript, at_moment, named_key};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::thread::{Position, Thread};
use crate::extract::{Kind, NoteField, Reject, Request};
use crate::source::{repair, unescape};
use crate::tables::{Category, Status};

impl Transcript<'_, '_> {
    pub(super) fn open_call(
        &mut self,
        placed: &PlacedEntry<'_, '_>,
        message: &Message<'_>,
        block: &Block<'_>,
        place: usize,
        response: Option<&str>,
    ) -> Result<(), Reject> {
        let of_tool = tools::call(block.name.get().unwrap_or("unknown"));
        let asked = block.arguments.json().map(asked).unwrap_or_default();
        let call = Call {
            id: call_id(&mut self.thread, &placed.at, block.id.get(), place),
            message_id: Some(placed.at.id.to_owned()),
            response_id: response.map(str::to_owned),
            input: asked.input,
            command: asked.command.filter(|_| of_tool.category == Category::Shell),
            file: asked.file.filter(|_| of_tool.category.has_file()),
            status: match message.stop_reason.get() {
                Some("aborted" | "error") => Status::Interrupted,
                _ => Status::Pending,
            },
            ..of_tool
        };
        self.thread.open_named_call(&placed.at, block.id.get(), call, self.out)
    }

    pub(super) fn close_call(&mut self, placed: &PlacedEntry<'_, '_>, message: &Message<'_>) -> Result<(), Reject> {
        let id = message.call.get();
        let call = self.thread.take_call(&placed.at, id.unwrap_or(placed.at.id), |thread| Call {
            id: call_id(thread, &placed.at, id, 0),
            ..tools::call(message.tool.get().unwrap_or("unknown"))
        });
        let Some(mut call) = call else { return Ok(()) };
        let output = message.content.output();
        let details = message.details.0.as_ref();
        let mut end = tools::outcome(output.as_deref().unwrap_or_default(), message.is_error.0, details);
        // pi's shell makes every other exit code an error. The shells of its forks also start commands in the background.
        if end.status == Status::Ok && message.tool.get() == Some("bash") && self.out.agent() == "pi" {
            end.exit_code = end.exit_code.or(Some(0));
        }
        let child_key = details.and_then(|details| details.child_key.get());
        call.child = child_key.and_then(|child| self.known.by_key.get(child)).cloned();
        if let (Some(child_key), None, false) = (child_key, &call.child, call.is_copy) {
            // It is in the list of another of OpenClaw's agents, which does not have this session.
            let child = named_key(self.out.agent(), child_key);
            self.out.note(NoteField::Parent, child, 0, self.thread.id());
            let root = self.known.root_session_id.as_deref().unwrap_or(self.thread.id());
            self.out.note(NoteField::Root, child, 0, root);
        }
        self.thread.close_call(&call, &Outcome { output, ended_at: placed.at.moment, ..end }, self.out)
    }

    /// Adds a command of the person's own: call and result in one.
    pub(super) fn push_execution(
        &mut self,
        placed: &PlacedEntry<'_, '_>,
        message: &Message<'_>,
        tool: &'static str,
        code: Option<&str>,
    ) -> Result<(), Reject> {
        let field = if tool == "bash" { "command" } else { "code" };
        let call = Call {
            id: format!("{}:{tool}", placed.at.id),
            message_id: Some(placed.at.id.to_owned()),
            input: code.map(|code| serde_json::json!({ field: code }).to_string()),
            command: code.filter(|_| tool == "bash").map(str::to_owned),
            ..tools::call(tool)
        };
        let call = self.thread.number_call(&placed.at, call);
        let exit_code = message.exit_code.0;
        let status = match exit_code {
            _ if message.cancelled.0 => Status::Interrupted,
            Some(0) => Status::Ok,
            _ => Status::Error,
        };
        let output = message.output.0.as_deref().map(Cow::Borrowed);
        let end = Outcome { status, exit_code, output, ended_at: placed.at.moment, ..Outcome::default() };
        self.thread.close_call(&call, &end, self.out)
    }
}

/// The provider's id with the entry's moment: some count calls from 0 in each reply.
fn call_id(thread: &mut Thread, at: &Position<'_>, id: Option<&str>, place: usize) -> String {
    let by_place = || format!("{}:call-{place}", at.id);
    let call_id = match (id, at.moment) {
        (Some(id), Some(moment)) => at_moment(id, moment),
        (Some(id), None) => format!("{}:{id}", at.id),
        (None, _) => by_place(),
    };
    if thread.is_new(Kind::ToolCall, &call_id) {
        return call_id;
    }
    let call_id = by_place();
    thread.is_new(Kind::ToolCall, &call_id);
    call_id
}

/// Returns the arguments of a call, as sound JSON, with the command and the file in them. Some are a text that holds them,
/// and such a text may be torn.
fn asked(json: &str) -> Call {
    let text = unescape(json).filter(|text| text.trim_start().starts_with('{'));
    let is_sound = text.as_ref().is_none_or(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    let mut json = text.unwrap_or(Cow::Borrowed(json));
    let mut call = if is_sound { call_of(&json) } else { None };
    if call.is_none() {
        json = Cow::Owned(repair(json.as_bytes()).into_owned());
        call = call_of(&json);
    }
    Call { input: Some(json.into_owned()), ..call.unwrap_or_default() }
}

fn call_of(json: &str) -> Option<Call> {
    let arguments: Arguments<'_> = Request::of(json)?.fields().ok()?;
    Some(Call { command: arguments.command.owned(), file: arguments.path.owned(), ..Call::default() })
}
