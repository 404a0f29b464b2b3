//! The output of `droid exec --output-format stream-json`, kept in a file: a session as far as it was printed. The
//! session's own file overrides it.

use std::collections::BTreeMap;

use super::calls::{Name, command_result};
use super::content::flag;
use super::model::model_name;
use super::record::{CaptureLine, CaptureUsage};
use super::reminder::without_reminders;
use super::settings::{Total, tokens};
use super::tools::ToolResult;
use super::{AGENT, messages_key, total_key};
use crate::agents::ids::{Given, qualified};
use crate::agents::kit::calls::Call;
use crate::agents::kit::facts::{fill, keep_earlier, set};
use crate::agents::kit::thread::{Parents, Position, Thread, blank};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Kind, Reject, Sink, key};
use crate::source::Source;
use crate::tables::{MessageKind, MessageRow, Role, UsageGrain, UsageRow};

/// Reads a capture into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut capture = Capture { out, session_id: None, main: None, unnamed: source.stem(), sessions: BTreeMap::new() };
    capture.read_all(&mut source.lines()?)?;
    capture.finish()
}

struct Capture<'o, 'a, 's> {
    out: &'o mut Sink<'a>,
    /// The session that was last named.
    session_id: Option<String>,
    /// The first session, which is the only one as a rule.
    main: Option<String>,
    /// Name of the session of lines before any is named.
    unnamed: &'s str,
    sessions: BTreeMap<String, Session>,
}

/// One session of a capture.
struct Session {
    thread: Thread,
    model: Option<String>,
    effort: Option<String>,
    /// Turns that were completed.
    completed: i64,
    /// Id and text of the turn's last reply.
    reply: Option<(String, String)>,
    /// Names of turns and calls so far.
    given: Given,
}

impl<'a> RecordReader<'a> for Capture<'_, 'a, '_> {
    type Record = CaptureLine<'static>;
    const STARTS: &'static [&'static str] = &["{\"type\""];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.out
    }

    fn take(&mut self, line: &CaptureLine<'_>, number: u64) -> Result<(), Reject> {
        let kind = line.kind.get().unwrap_or_default();
        if !matches!(kind, "system" | "message" | "tool_call" | "tool_result" | "completion" | "error") {
            self.out.unknown(&format!("record {kind}"));
            return Ok(());
        }
        self.out.unknown_fields("field ", &line.unknown);
        if let Some(session) = line.session.get().filter(|session| self.session_id.as_deref() != Some(*session)) {
            self.session_id = Some(session.to_owned());
        }
        let id = self.session_id.as_deref().unwrap_or(self.unnamed);
        self.out.turn_to(if self.main.get_or_insert_with(|| id.to_owned()) == id { "" } else { id });
        if !self.sessions.contains_key(id) {
            let facts = Facts { session_id: id.to_owned(), ..Facts::default() };
            let thread = Thread::new(facts).with(Parents::Rows);
            let session =
                Session { thread, model: None, effort: None, completed: 0, reply: None, given: Given::default() };
            self.sessions.insert(id.to_owned(), session);
        }
        let Some(session) = self.sessions.get_mut(id) else { return Ok(()) };
        let at = Position { is_copy: true, ..Position::on_line("", line.timestamp.0, number) };
        session.take(kind, line, at, self.out)
    }
}

impl Capture<'_, '_, '_> {
    fn finish(self) -> Result<(), Reject> {
        for (id, session) in self.sessions {
            self.out.turn_to(if self.main.as_ref() == Some(&id) { "" } else { &id });
            session.thread.calls.push_pending(&id, self.out)?;
            self.out.end_session(session.thread.facts)?;
        }
        Ok(())
    }
}

impl Session {
    fn take(&mut self, kind: &str, line: &CaptureLine<'_>, at: Position<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        keep_earlier(&mut self.thread.facts.first_moment, at.moment);
        if let Some(model) = line.model.get() {
            self.model = Some(model_name(model).to_owned());
        }
        set(&mut self.effort, line.effort.get());
        match kind {
            "system" => {
                fill(&mut self.thread.facts.project_path, line.cwd.get());
                Ok(())
            }
            "message" => self.take_message(line, &at, out),
            "tool_call" => self.take_call(line, &at, out),
            "tool_result" => self.take_result(line, &at, out),
            "completion" => self.take_completion(line, &at, out),
            _ => {
                let (id, text) = (self.own_id(line, &at), line.message.get());
                let row = MessageRow { text, is_error: true, ..blank(Role::System, MessageKind::ApiError) };
                self.push(line, &Position { id: &id, ..at }, row, out)
            }
        }
    }

    fn push(
        &mut self,
        line: &CaptureLine<'_>,
        at: &Position<'_>,
        row: MessageRow<'_>,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        self.thread.push(at, row, out)?;
        // One with an id of the agent's is the session's own of that id.
        if line.id.get().is_none() || line.kind.is("completion") {
            out.yields_to(Kind::Message, at.id, messages_key(self.thread.id()), None);
        }
        Ok(())
    }

    fn take_message(&mut self, line: &CaptureLine<'_>, at: &Position<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let id = self.own_id(line, at);
        let at = &Position { id: &id, ..*at };
        let text = line.text.get().unwrap_or_default();
        if line.role.is("assistant") {
            self.reply = Some((at.id.to_owned(), text.to_owned()));
            return self.push_reply(line, at, text, out);
        }
        let typed = without_reminders(text);
        let is_of_system = line.role.is("system");
        let is_prompt = !typed.is_empty() && !is_of_system;
        if is_prompt {
            self.thread.begin_turn();
            self.reply = None;
        }
        let role = if is_of_system { Role::System } else { Role::User };
        let kind = if is_prompt { MessageKind::Prompt } else { MessageKind::Meta };
        let text = Some(if is_prompt { &*typed } else { text });
        self.push(line, at, MessageRow { text, ..blank(role, kind) }, out)
    }

    fn push_reply(
        &mut self,
        line: &CaptureLine<'_>,
        at: &Position<'_>,
        text: &str,
        out: &mut Sink<'_>,
    ) -> Result<(), Reject> {
        let model = self.model.clone();
        let row = blank(Role::Assistant, MessageKind::Reply);
        self.push(line, at, MessageRow { text: Some(text), model: model.as_deref(), ..row }, out)
    }

    fn take_call(&mut self, line: &CaptureLine<'_>, at: &Position<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let made_up = self.id_of_line(at);
        let of = Name { namespace: None, id: line.call.get().or(line.id.get()), made_up: &made_up };
        let tool = line.tool.get().or(line.tool_id.get()).unwrap_or("unknown");
        let message_id = line.message_id.get().map(|message| qualified(self.thread.id(), message).into_owned());
        let call = Call { message_id, ..of.call(&self.thread, &mut self.given, tool, &line.parameters) };
        of.open(&mut self.thread, at, call, out)
    }

    fn take_result(&mut self, line: &CaptureLine<'_>, at: &Position<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let made_up = self.id_of_line(at);
        let of = Name { namespace: None, id: line.call.get().or(line.id.get()), made_up: &made_up };
        let result = ToolResult { is_error: flag(&line.is_error), ..command_result(&line.value) };
        of.close(&mut self.thread, at, result, out)
    }

    /// The end of a turn: its last reply, unless a message held it, and what it was billed for.
    fn take_completion(&mut self, line: &CaptureLine<'_>, at: &Position<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
        self.completed += 1;
        let total = line.usage.0.as_ref().and_then(total_of);
        let name = self.name_of_turn(line, total.as_ref());
        if let Some(text) = line.final_text.get()
            && self.reply.as_ref().is_none_or(|(_, reply)| reply.trim() != text.trim())
        {
            let message_id = format!("{}#final-{name}", self.thread.id());
            self.push_reply(line, &Position { id: &message_id, ..*at }, text, out)?;
            self.reply = Some((message_id, String::new()));
        }
        let reply = self.reply.take().map(|(id, _)| id);
        let Some(total) = total else { return Ok(()) };
        let response_id = format!("{}#turn-{name}", self.thread.id());
        let row = UsageRow {
            message_id: reply.as_deref(),
            turn: self.thread.turn,
            model: self.model.as_deref(),
            reasoning_effort: self.effort.as_deref(),
            duration_ms: line.duration.0.filter(|ms| *ms >= 0),
            grain: UsageGrain::Turn,
            ..total.row(&response_id)
        };
        self.thread.bill(at, row, self.thread.seq - 1, out)?;
        out.yields_to(Kind::Response, &response_id, total_key(self.thread.id()), None);
        Ok(())
    }

    /// Returns a name that distinguishes a turn from those of other captures of the same session, which each program
    /// counts from 1. Two turns may end at one moment.
    fn name_of_turn(&mut self, line: &CaptureLine<'_>, total: Option<&Total>) -> String {
        let counts = total.map(|total| format!("+{}+{}", total.input.unwrap_or(0), total.output.unwrap_or(0)));
        let moment = line.timestamp.0.map(|at| format!("{at}{}", counts.unwrap_or_default()));
        let reply = || self.reply.as_ref().map(|(id, _)| id.clone()).filter(|id| !id.contains("#line-"));
        let name = moment.or_else(reply).unwrap_or_else(|| self.completed.to_string());
        self.given.numbered(key(AGENT, Kind::Response, &name), name)
    }

    /// The id of a line's message.
    fn own_id(&self, line: &CaptureLine<'_>, at: &Position<'_>) -> String {
        line.id.get().map_or_else(|| self.id_of_line(at), |id| qualified(self.thread.id(), id).into_owned())
    }

    fn id_of_line(&self, at: &Position<'_>) -> String {
        format!("{}#line-{}", self.thread.id(), at.line.unwrap_or_default())
    }
}

fn total_of(usage: &CaptureUsage<'_>) -> Option<Total> {
    let [input, output, cache_read, cache_write] =
        [usage.input, usage.output, usage.cache_read, usage.cache_write].map(tokens);
    let is_billed = [input, output, cache_read, cache_write].into_iter().flatten().any(|count| count > 0);
    is_billed.then_some(Total { input, cache_read, cache_write, output, reasoning: None })
}
