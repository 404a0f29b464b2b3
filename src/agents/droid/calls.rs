//! Tool calls, and the results that later records give them.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::AGENT;
use super::content::plain_text;
use super::record::{CommandResult, Input};
use super::tools::{self, ToolResult};
use crate::agents::ids::{Given, is_global, qualified};
use crate::agents::kit::texts::join;
use crate::extract::{KeyMap, KeySet, Kind, Reject, Request, Sink, key};
use crate::source::records::Raw;
use crate::source::{unescape, without_lone_surrogates};
use crate::tables::{Category, Status, ToolCallRow};

/// The call that a record belongs to.
#[derive(Clone, Copy)]
pub(super) struct Name<'n> {
    /// Session that has the record.
    pub(super) session: &'n str,
    /// Session that makes an id unique which is not by itself.
    pub(super) namespace: &'n str,
    /// The agent's id.
    pub(super) id: Option<&'n str>,
    /// What stands for it where there is none.
    pub(super) made_up: &'n str,
}

impl<'n> Name<'n> {
    fn raw(&self) -> &'n str {
        self.id.unwrap_or(self.made_up)
    }
}

/// Where a call was made.
pub(super) struct Place<'p> {
    pub(super) seq: i64,
    pub(super) message_id: Option<&'p str>,
    pub(super) turn: Option<i64>,
    pub(super) at: Option<i64>,
    pub(super) line: u64,
    pub(super) weak: bool,
}

/// A call whose result is to come.
#[derive(Default)]
struct Call {
    id: String,
    seq: i64,
    message_id: Option<String>,
    turn: Option<i64>,
    name: String,
    category: Category,
    input: Option<String>,
    command: Option<String>,
    file_path: Option<String>,
    started_at: Option<i64>,
    source_line: Option<i64>,
    weak: bool,
}

/// The calls of a session.
#[derive(Default)]
pub(super) struct Calls {
    /// Those without a result, by the id that the result will name.
    open: KeyMap<Call>,
    /// Ids of all calls.
    seen: KeySet,
    given: Given,
}

fn call_key(id: &str) -> u64 {
    key(AGENT, Kind::ToolCall, id)
}

impl Calls {
    /// Opens a call; false when it is there already.
    pub(super) fn open(
        &mut self,
        of: Name<'_>,
        name: &str,
        input: &Raw<'_>,
        place: &Place<'_>,
        out: &mut Sink<'_>,
    ) -> Result<bool, Reject> {
        let id = self.next_id(of);
        if !self.seen.insert(call_key(&id)) {
            return Ok(false);
        }
        let json = arguments(input);
        let request = json.as_deref().and_then(Request::of);
        let arguments = request.as_ref().and_then(|request| request.fields::<Input<'_>>().ok()).unwrap_or_default();
        let category = tools::category(name);
        let command = arguments.command.get().filter(|_| category == Category::Shell);
        let call = Call {
            id: id.into_owned(),
            seq: place.seq,
            message_id: place.message_id.map(str::to_owned),
            turn: place.turn,
            name: name.to_owned(),
            category,
            command: command.map(str::to_owned),
            file_path: tools::file_of(category, &arguments).map(str::to_owned),
            started_at: place.at,
            source_line: i64::try_from(place.line).ok(),
            weak: place.weak,
            input: json.map(Cow::into_owned),
        };
        let displaced = self.open.insert(call_key(of.raw()), call);
        displaced.map_or(Ok(()), |call| out.tool_call(call.row(of.session), call.weak))?;
        Ok(true)
    }

    /// An id that is unique by itself, else one of the session, numbered from the second on.
    fn next_id<'n>(&mut self, call: Name<'n>) -> Cow<'n, str> {
        let Some(id) = call.id.filter(|id| !is_global(id)) else { return Cow::Borrowed(call.raw()) };
        let id = format!("{}#{id}", call.namespace);
        Cow::Owned(self.given.numbered(call_key(&id), id))
    }

    /// Emits the call that a result answers. A second result of a call is left out; one of a call that no record holds
    /// stands for the call, at the next place.
    pub(super) fn close(
        &mut self,
        of: Name<'_>,
        result: &ToolResult<'_>,
        place: &Place<'_>,
        out: &mut Sink<'_>,
    ) -> Result<bool, Reject> {
        let is_known = self.open.remove(&call_key(of.raw()));
        let is_new = is_known.is_none();
        let call = match is_known {
            Some(call) => call,
            None => {
                let id = of.id.map_or(Cow::Borrowed(of.made_up), |id| qualified(of.namespace, id));
                if !self.seen.insert(call_key(&id)) {
                    return Ok(false);
                }
                Call {
                    id: id.into_owned(),
                    seq: place.seq,
                    turn: place.turn,
                    name: "unknown".to_owned(),
                    category: Category::Other,
                    source_line: i64::try_from(place.line).ok(),
                    weak: true,
                    ..Call::default()
                }
            }
        };
        let (status, exit_code) = result.outcome(call.category);
        let output = result.text.as_deref();
        let row = ToolCallRow { status, exit_code, output, ended_at: result.at, ..call.row(of.session) };
        out.tool_call(row, call.weak)?;
        Ok(is_new)
    }

    /// Says that all calls so far are copies.
    pub(super) fn weaken(&mut self) {
        self.open.values_mut().for_each(|call| call.weak = true);
    }

    /// Emits the calls without a result, in order.
    pub(super) fn finish(&mut self, session: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
        let mut calls: Vec<Call> = self.open.drain().map(|(_, call)| call).collect();
        calls.sort_by_key(|call| call.seq);
        calls.iter().try_for_each(|call| out.tool_call(call.row(session), call.weak))
    }
}

impl Call {
    fn row<'r>(&'r self, session_id: &'r str) -> ToolCallRow<'r> {
        ToolCallRow {
            session_id,
            seq: self.seq,
            call_id: &self.id,
            message_id: self.message_id.as_deref(),
            turn: self.turn,
            name: &self.name,
            category: self.category,
            mcp_server: tools::mcp_server(&self.name),
            input: self.input.as_deref(),
            command: self.command.as_deref(),
            file_path: self.file_path.as_deref(),
            status: Status::Pending,
            started_at: self.started_at,
            source_line: self.source_line,
            ..ToolCallRow::default()
        }
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
