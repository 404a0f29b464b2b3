//! A transcript: steps into messages and tool calls. Calls have no ids; results come in their order.

use std::collections::BTreeMap;

use super::database::{Billing, Response};
use super::history::{OF_COMMAND, OF_PARENT, note_folder};
use super::record::Step;
use super::{conversation_of, database_of, step_id, tools};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::store::damage;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Kind, NoteField, Reject, Sink, error_type, session_key};
use crate::source::Source;
use crate::tables::{MessageKind, MessageRow, Role, Status, UsageRow};

/// Most calls of a turn that wait for results.
const MOST_OPEN: usize = 1000;

/// Reads a transcript.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let session = conversation_of(source);
    let database = database_of(source.path);
    let billing = match database.as_ref().and_then(|path| source.beside(path)) {
        Some(mut database) => match Billing::read(&mut database, &session, out) {
            Ok(billing) => billing,
            Err(Reject::Database(error)) => {
                damage(&error, out);
                Billing::default()
            }
            Err(reject) => return Err(reject),
        },
        None => Billing::default(),
    };
    let facts = Facts { session_id: session, title: billing.title, ..Facts::default() };
    let (mut answers, mut rest) = (BTreeMap::new(), Vec::new());
    for response in billing.responses {
        match response.step {
            Some(step) => rest.extend(answers.insert(step, response)),
            None => rest.push(response),
        }
    }
    let (thread, open, turns) = (Thread::new(facts), Vec::new(), BTreeMap::new());
    let mut transcript = Transcript { out, thread, answers, rest, open, has_folder: false, turns };
    transcript.read_all(&mut source.lines()?)?;
    transcript.finish()
}

struct Transcript<'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    /// Responses that belong to a step, by its number.
    answers: BTreeMap<i64, Response>,
    /// All other responses.
    rest: Vec<Response>,
    /// Calls of the turn that have no result yet.
    open: Vec<Call>,
    has_folder: bool,
    /// The prompts: the step and the turn of each.
    turns: BTreeMap<i64, i64>,
}

impl<'s> RecordReader<'s> for Transcript<'_, 's> {
    type Record = Step<'static>;
    const STARTS: &'static [&'static str] = &["{\"step_index\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, step: &Step<'_>, line: u64) -> Result<(), Reject> {
        self.out.unknown_fields("field ", &step.unknown);
        let kind = step.kind.get().unwrap_or_default();
        let id = match step.number.0 {
            Some(number) => step_id(self.thread.id(), number),
            None => self.thread.print(kind, step.created.0, step.content.get()),
        };
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        let at = Position::on_line(&id, step.created.0, line);
        let text = step.content.get();
        let row = |role, kind| MessageRow { text, ..blank(role, kind) };
        match kind {
            "USER_INPUT" => {
                self.interrupt()?;
                self.thread.begin_turn();
                self.turns.extend(step.number.0.zip(self.thread.turn));
                let text = text.map(request);
                self.push(&at, MessageRow { text, ..blank(Role::User, MessageKind::Prompt) })
            }
            "PLANNER_RESPONSE" => self.take_reply(step, &at),
            "SYSTEM_MESSAGE" => self.push(&at, row(Role::System, MessageKind::Notice)),
            "CHECKPOINT" => {
                let has_summary = text.is_some_and(|text| text.to_ascii_lowercase().contains("summary"));
                let kind = if has_summary { MessageKind::Compaction } else { MessageKind::Meta };
                self.push(&at, row(Role::System, kind))
            }
            "ERROR_MESSAGE" => {
                let error_type = Some(error_type(None, None, text));
                self.push(&at, MessageRow { error_type, is_error: true, ..row(Role::System, MessageKind::ApiError) })
            }
            _ if step.source.is("MODEL") => self.take_result(kind, text.unwrap_or_default(), &at),
            _ => self.push(&at, row(Role::System, MessageKind::Meta)),
        }
    }
}

impl Transcript<'_, '_> {
    fn push(&mut self, at: &Position<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        self.thread.message(at, row, self.out).map(drop)
    }

    fn take_reply(&mut self, step: &Step<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let (text, thinking) = (step.content.get(), step.thinking.get());
        let response = step.number.0.and_then(|step| self.answers.remove(&step));
        if let Some(response) = &response {
            self.bill(response, at)?;
        }
        let (model, response_id) =
            response.as_ref().map_or((None, None), |response| (response.model.as_deref(), Some(&*response.id)));
        let row = MessageRow { text, thinking, model, response_id, ..blank(Role::Assistant, MessageKind::Reply) };
        self.push(at, row)?;
        if response.is_some() {
            self.out.from_companion(Kind::Message, at.id);
        }
        for (place, used) in step.calls.0.iter().enumerate() {
            let Some(used) = &used.0 else { continue };
            let (call, cwd) = tools::call(used);
            if let Some(cwd) = cwd.filter(|_| !self.has_folder) {
                self.has_folder = true;
                note_folder(self.thread.id(), &cwd, OF_COMMAND, self.out);
            }
            let id = format!("{}:{place}", at.id);
            let response_id = response.as_ref().map(|response| response.id.clone());
            if response_id.is_some() {
                self.out.from_companion(Kind::ToolCall, &id);
            }
            let message_id = Some(at.id.to_owned());
            let call = Call { id, message_id, response_id, started_at: at.moment, ..call };
            let call = self.thread.number_call(at, call);
            if self.open.len() >= MOST_OPEN {
                let lost = self.open.remove(0);
                self.thread.close_call(&lost, &Outcome::default(), self.out)?;
            }
            self.open.push(call);
        }
        Ok(())
    }

    /// Takes the result of a tool. It belongs to the first open call of its name, else to the first open call.
    fn take_result(&mut self, kind: &str, text: &str, at: &Position<'_>) -> Result<(), Reject> {
        let place = self.open.iter().position(|call| tools::is_result_of(kind, call));
        let place = place.or_else(|| (!self.open.is_empty()).then_some(0));
        let call = place.map(|place| self.open.remove(place));
        let is_command = kind == "RUN_COMMAND";
        let (began, end) = tools::outcome(text, is_command, at.moment);
        let is_error = end.status != Status::Ok;
        self.push(at, MessageRow { is_error, ..blank(Role::Tool, MessageKind::ToolResult) })?;
        let children: Vec<&str> = tools::conversations(text).filter(|_| kind == "INVOKE_SUBAGENT").collect();
        for child in &children {
            self.note_child(child, text);
        }
        let Some(call) = call else { return Ok(()) };
        let child = children.first().map(|child| (*child).to_owned());
        let call = Call { started_at: began.or(call.started_at), child, ..call };
        self.thread.close_call(&call, &end, self.out)
    }

    fn note_child(&mut self, child: &str, text: &str) {
        let key = session_key(self.out.agent(), child);
        self.out.note(NoteField::Parent, key, 0, self.thread.id());
        self.out.note(NoteField::Root, key, 0, self.thread.id());
        if let Some(folder) = tools::workspaces(text).next() {
            note_folder(child, folder, OF_PARENT, self.out);
        }
    }

    /// Adds the open calls as interrupted: the person continued without their results.
    fn interrupt(&mut self) -> Result<(), Reject> {
        self.close_open(Status::Interrupted)
    }

    fn close_open(&mut self, status: Status) -> Result<(), Reject> {
        for call in std::mem::take(&mut self.open) {
            self.thread.close_call(&call, &Outcome { status, ..Outcome::default() }, self.out)?;
        }
        Ok(())
    }

    /// Adds a response. The response of an answer comes just before its message.
    fn bill(&mut self, response: &Response, at: &Position<'_>) -> Result<(), Reject> {
        let is_answer = !at.id.is_empty();
        let row = UsageRow {
            message_id: Some(at.id).filter(|_| is_answer),
            turn: if is_answer { self.thread.turn } else { self.turn_at(response.first_step) },
            timestamp: response.moment,
            ..response.row()
        };
        self.thread.bill(at, row, self.thread.seq, self.out)
    }

    /// Returns the turn of a step.
    fn turn_at(&self, step: Option<i64>) -> Option<i64> {
        self.turns.range(..=step?).next_back().map(|(_, turn)| *turn)
    }

    fn finish(mut self) -> Result<(), Reject> {
        self.close_open(Status::Pending)?;
        let rest = std::mem::take(&mut self.answers).into_values().chain(std::mem::take(&mut self.rest));
        for response in rest {
            self.bill(&response, &Position::new("", response.moment))?;
        }
        self.thread.finish(self.out)
    }
}

/// Returns the person's words without the text that the program wraps around them.
fn request(text: &str) -> &str {
    let inner = text.split_once("<USER_REQUEST>").map_or(text, |(_, rest)| rest);
    inner.split_once("</USER_REQUEST>").map_or(inner, |(inner, _)| inner).trim()
}
