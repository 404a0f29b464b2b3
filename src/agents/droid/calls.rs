//! Tool calls, and the results that later records give them.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::AGENT;
use super::content::plain_text;
use super::record::{CommandResult, Input};
use super::tools::{self, ToolResult};
use crate::agents::ids::{Given, is_global, qualified};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, Thread};
use crate::extract::{Kind, Reject, Request, Sink, key};
use crate::source::records::Raw;
use crate::source::{unescape, without_lone_surrogates};
use crate::tables::Category;

/// Names the call that a record is about.
pub(super) struct Name<'n> {
    /// Session that makes an id unique which is not by itself, if another one.
    pub(super) namespace: Option<&'n str>,
    /// The agent's id.
    pub(super) id: Option<&'n str>,
    /// Replaces a missing id.
    pub(super) made_up: &'n str,
}

impl<'n> Name<'n> {
    fn raw(&self) -> &'n str {
        self.id.unwrap_or(self.made_up)
    }

    /// An id that is unique by itself, else one of the session, numbered from the second on.
    fn next_id(&self, thread: &Thread, given: &mut Given) -> String {
        let Some(id) = self.id.filter(|id| !is_global(id)) else { return self.raw().to_owned() };
        let id = format!("{}#{id}", self.namespace.unwrap_or(thread.id()));
        given.numbered(key(AGENT, Kind::ToolCall, &id), id)
    }

    /// The call of a tool with these arguments.
    pub(super) fn call(&self, thread: &Thread, given: &mut Given, tool: &str, input: &Raw<'_>) -> Call {
        let json = arguments(input);
        let request = json.as_deref().and_then(Request::of);
        let arguments: Input<'_> = request.and_then(|request| request.fields().ok()).unwrap_or_default();
        let of_tool = tools::call(tool);
        let command = arguments.command.owned().filter(|_| of_tool.category == Category::Shell);
        let file = tools::file_of(of_tool.category, &arguments).map(str::to_owned);
        Call { id: self.next_id(thread, given), command, file, input: json.map(Cow::into_owned), ..of_tool }
    }

    /// Opens a call, unless the session has it.
    pub(super) fn open(
        &self,
        thread: &mut Thread,
        at: &Position<'_>,
        call: Call,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        if thread.is_new(Kind::ToolCall, &call.id) {
            thread.open_named_call(at, Some(self.raw()), call, out)?;
        }
        Ok(())
    }

    /// Adds the call that a result answers. A second result of a call is left out; a result without a call makes one.
    pub(super) fn close(
        &self,
        thread: &mut Thread,
        at: &Position<'_>,
        result: ToolResult<'_>,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        let call = if let Some(call) = thread.calls.take(self.raw()) {
            call
        } else {
            let id =
                self.id.map_or(Cow::Borrowed(self.made_up), |id| qualified(self.namespace.unwrap_or(thread.id()), id));
            if !thread.is_new(Kind::ToolCall, &id) {
                return Ok(());
            }
            thread.number_call(at, Call { id: id.into_owned(), is_copy: true, ..tools::call("unknown") })
        };
        let (status, exit_code) = result.outcome(call.category);
        let end = Outcome { status, exit_code, output: result.text, ended_at: at.moment, ..Outcome::default() };
        thread.close_call(&call, &end, out)
    }
}

/// A call's arguments as JSON; some records hold them as a text.
fn arguments<'a>(input: &Raw<'a>) -> Option<Cow<'a, str>> {
    let json = input.json()?;
    if json.starts_with('"')
        && let Some(inner) = unescape(json)
        && inner.trim_start().starts_with('{')
        && serde_json::from_str::<IgnoredAny>(&inner).is_ok()
    {
        return Some(inner);
    }
    Some(without_lone_surrogates(json))
}

/// The result that a record of a stream holds: a text, or what a command wrote and how it exited.
pub(super) fn command_result<'a>(value: &Raw<'a>) -> ToolResult<'a> {
    let json = value.json().filter(|json| json.starts_with('{'));
    let structured: CommandResult<'_> = json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let exit_code = structured.exit_code.0;
    let streams = [structured.stdout, structured.stderr].map(|stream| stream.0.filter(|text| !text.is_empty()));
    let written = join(streams.into_iter().flatten()).or_else(|| exit_code.map(|_| Cow::Borrowed("")));
    ToolResult { text: written.or_else(|| plain_text(value)), exit_code, ..ToolResult::default() }
}
