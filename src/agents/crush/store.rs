//! `crush.db`: the sessions of a project.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Row;

use super::record::{Data, Part};
use super::{FOLDER, tools};
use crate::agents::ids::qualified;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::store::{Listing, Records, bytes, damaged, each, moment, number, report, text};
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, Kind, Reject, Sink, error_type};
use crate::source::records::{List, Object, Usd};
use crate::source::{Database, Scope, Section, Source, repair};
use crate::tables::{Category, MessageKind, MessageRow, Role, SessionKind, Status, UsageGrain, UsageRow};

/// Most sessions between one and the outermost that started it.
const GENERATIONS: usize = 32;
/// Most models and providers of a session to count.
const MOST_MODELS: usize = 100;
/// Beginning of the id of a helper that only makes a title.
const TITLE: &str = "title-";

const SESSION_COLUMNS: [&str; 6] = ["id", "created_at", "updated_at", "title", "parent_session_id", "cost"];
const MESSAGE_COLUMNS: [&str; 8] =
    ["id", "role", "parts", "model", "provider", "created_at", "is_summary_message", "finished_at"];

/// A session as the database lists it.
#[derive(Default)]
struct Member {
    parent: Option<String>,
    title: Option<String>,
    /// Microseconds since 1970.
    created: Option<i64>,
    /// Microseconds since 1970.
    updated: Option<i64>,
    /// Cost, with that of its subagents. USD.
    cost: f64,
    /// Cost of its subagents; cost of the helpers for its title, which its own cost does not include. USD.
    of_children: f64,
    of_titles: f64,
}

/// All sessions.
struct Survey {
    listing: Listing,
    members: BTreeMap<String, Member>,
}

impl Survey {
    fn of(database: &Database) -> Result<Self, Reject> {
        let records = [("messages", "session_id")];
        let mut listing = Listing::of(database, "sessions", &SESSION_COLUMNS, &records, |row| moment(row, 1))?;
        listing.sessions.retain(|session| !session.id.starts_with(TITLE));
        let mut members: BTreeMap<String, Member> = BTreeMap::new();
        if let Some(mut rows) = database.select("sessions", &SESSION_COLUMNS, "ORDER BY rowid")? {
            // The listing reports the same damage.
            let _ = each(&mut rows, [], |row| {
                let cost = Usd::of(row.get::<_, Option<f64>>(5).ok().flatten()).0.unwrap_or(0.0);
                let member = Member {
                    parent: text(row, 4),
                    title: text(row, 3),
                    created: moment(row, 1),
                    updated: moment(row, 2),
                    cost,
                    ..Member::default()
                };
                members.extend(text(row, 0).map(|id| (id, member)));
                Ok(())
            })?;
        }
        let costs: Vec<(String, bool, f64)> = members
            .iter()
            .filter_map(|(id, member)| {
                let titled = id.strip_prefix(TITLE);
                Some((titled.map(str::to_owned).or_else(|| member.parent.clone())?, titled.is_some(), member.cost))
            })
            .collect();
        for (parent, is_title, cost) in costs {
            if let Some(parent) = members.get_mut(&parent) {
                *(if is_title { &mut parent.of_titles } else { &mut parent.of_children }) += cost;
            }
        }
        Ok(Self { listing, members })
    }

    fn root_of(&self, session: &str) -> Option<String> {
        let parent_of = |session: &str| self.members.get(session)?.parent.clone();
        std::iter::successors(parent_of(session), |parent| parent_of(parent)).take(GENERATIONS).last()
    }
}

/// Returns the sessions of the database.
pub(super) fn sections(source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
    let database = source.database()?;
    Ok(source.survey(|| Survey::of(&database))?.listing.sessions.clone())
}

/// Reads the database, or one session of it.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    let survey = source.survey(|| Survey::of(&database))?;
    let folder = source.path.parent().filter(|folder| folder.ends_with(FOLDER));
    let project = folder.and_then(Path::parent).and_then(Path::to_str);
    let mut messages = Records::of(&database, "messages", "session_id", "created_at, rowid", &MESSAGE_COLUMNS)?;
    let mut read = |session: &str, out: &mut Sink<'_>| {
        let mut reader = Session::new(&survey, session, project, out);
        if let Some(messages) = &mut messages {
            let read = messages.each(session, |place, row| match row {
                Ok(row) => reader.take(row),
                Err(error) => {
                    reader.out.line();
                    let number = reader.out.report.lines;
                    reader.out.problem(number, &format!("{}: {}", place.name(), damaged(error)));
                    Ok(())
                }
            })?;
            report(read, reader.out);
        }
        reader.finish()
    };
    if let Scope::Section(session) = source.scope {
        return read(session, out);
    }
    survey.listing.read(source.scope, out, read)
}

/// Writes the rows of one session.
struct Session<'v, 'o, 's> {
    survey: &'v Survey,
    out: &'o mut Sink<'s>,
    thread: Thread,
    last_message: i64,
    /// Replies of each provider's model. Count.
    models: BTreeMap<(Option<String>, String), u64>,
}

impl<'v, 'o, 's> Session<'v, 'o, 's> {
    fn new(survey: &'v Survey, session: &str, project: Option<&str>, out: &'o mut Sink<'s>) -> Self {
        let member = survey.members.get(session);
        let parent = member.and_then(|member| member.parent.clone());
        let is_subagent = parent.is_some();
        let facts = Facts {
            session_id: session.to_owned(),
            kind: if is_subagent { SessionKind::Subagent } else { SessionKind::Session },
            project_path: project.map(str::to_owned),
            title: member.and_then(|member| member.title.clone()),
            root_session_id: survey.root_of(session),
            parent_session_id: parent,
            is_subagent,
            first_moment: member.and_then(|member| member.created),
            ..Facts::default()
        };
        Self { survey, out, thread: Thread::new(facts), last_message: 0, models: BTreeMap::new() }
    }

    fn take(&mut self, row: &Row<'_>) -> Result<(), Reject> {
        self.out.line();
        let Some(id) = text(row, 0) else { return Ok(()) };
        let json = repair(bytes(row, 2));
        let parts = match serde_json::from_str::<List<Object<Part<'_>>>>(&json) {
            Ok(List(parts)) => parts,
            Err(error) => {
                self.out.problem(self.out.report.lines, &format!("{id}: no JSON list: {error}"));
                List::default().0
            }
        };
        let message = StoredMessage {
            role: text(row, 1).unwrap_or_default(),
            is_summary: number(row, 6) == Some(1),
            parts: &parts,
        };
        let (model, provider) = (text(row, 3), text(row, 4));
        let at = Position::new(&id, moment(row, 5));
        if let Some(model) = model.as_ref().filter(|_| message.role == "assistant" && self.models.len() < MOST_MODELS) {
            *self.models.entry((provider, model.clone())).or_default() += 1;
        }
        let duration = moment(row, 7).zip(at.moment).map(|(end, start)| (end - start) / 1000).filter(|ms| *ms >= 0);
        self.take_message(&message, model.as_deref(), duration, &at)?;
        self.take_calls(&message, &at)?;
        self.take_end(&message, &at)
    }

    fn take_message(
        &mut self,
        message: &StoredMessage<'_>,
        model: Option<&str>,
        duration: Option<i64>,
        at: &Position<'_>,
    ) -> Result<(), Reject> {
        let texts = join(message.of("text").filter_map(|data| data.text.get()).map(Into::into));
        let thinking = join(message.of("reasoning").filter_map(|data| data.thinking.get()).map(Into::into));
        let command = message.of("shell_command").find_map(|data| data.command.get());
        let attachments = message.of("binary").count() + message.of("image_url").count();
        let (role, kind) = match message.role.as_str() {
            _ if message.is_summary => (Role::System, MessageKind::Compaction),
            "assistant" => (Role::Assistant, MessageKind::Reply),
            "tool" => (Role::Tool, MessageKind::ToolResult),
            "user" if command.is_some() => (Role::User, MessageKind::Command),
            "user" => (Role::User, MessageKind::Prompt),
            _ => (Role::System, MessageKind::Meta),
        };
        if matches!(kind, MessageKind::Prompt | MessageKind::Command) {
            self.thread.begin_turn();
        }
        let row = MessageRow {
            text: texts.as_deref().or(command).filter(|_| kind != MessageKind::ToolResult),
            thinking: thinking.as_deref(),
            model: model.filter(|_| matches!(kind, MessageKind::Reply | MessageKind::Compaction)),
            duration_ms: duration.filter(|_| kind == MessageKind::Compaction),
            stop_reason: message.of("finish").find_map(|data| data.reason.get()),
            is_error: message.of("tool_result").any(|data| data.is_error.0),
            attachments: i64::try_from(attachments).unwrap_or(0),
            ..blank(role, kind)
        };
        self.push(at, row)
    }

    fn push(&mut self, at: &Position<'_>, row: MessageRow<'_>) -> Result<(), Reject> {
        self.thread.message(at, row, self.out)?;
        self.last_message = self.thread.last_seq();
        Ok(())
    }

    fn take_calls(&mut self, message: &StoredMessage<'_>, at: &Position<'_>) -> Result<(), Reject> {
        for data in message.of("tool_call") {
            let name = data.id.get().unwrap_or_default();
            let child = format!("{}$${name}", at.id);
            let call = Call {
                id: qualified(at.id, name).into_owned(),
                message_id: Some(at.id.to_owned()),
                child: Some(child).filter(|child| self.survey.members.contains_key(child)),
                ..tools::call(data.name.get().unwrap_or("unknown"), data.input.get())
            };
            if self.thread.is_new(Kind::ToolCall, &call.id) {
                self.thread.open_named_call(at, Some(name), call, self.out)?;
            }
        }
        for data in message.of("tool_result") {
            let name = data.call.get().unwrap_or_default();
            let id = qualified(at.id, name).into_owned();
            let make = |_: &mut Thread| Call { id, ..tools::call(data.name.get().unwrap_or("unknown"), None) };
            let Some(call) = self.thread.take_call(at, name, make) else { continue };
            let end = tools::outcome(&call, data, at.moment);
            self.thread.close_call(&call, &end, self.out)?;
        }
        for (place, data) in message.of("shell_command").enumerate() {
            self.take_command(data, place, at)?;
        }
        Ok(())
    }

    /// Adds the person's own command.
    fn take_command(&mut self, data: &Data<'_>, place: usize, at: &Position<'_>) -> Result<(), Reject> {
        let call = Call {
            id: format!("{}#{place}", at.id),
            message_id: Some(at.id.to_owned()),
            command: data.command.owned(),
            ..Call::of_tool("shell_command", Category::Shell, None)
        };
        if !self.thread.is_new(Kind::ToolCall, &call.id) {
            return Ok(());
        }
        let call = Call { started_at: at.moment, ..self.thread.number_call(at, call) };
        let exit_code = data.exit_code.0;
        let status = if exit_code.is_some_and(|code| code != 0) { Status::Error } else { Status::Ok };
        let output = data.output.get().map(Into::into);
        self.thread.close_call(&call, &Outcome { status, exit_code, output, ..Outcome::default() }, self.out)
    }

    /// Adds the end of a reply, if it was stopped or failed.
    fn take_end(&mut self, message: &StoredMessage<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let Some(finish) = message.of("finish").next() else { return Ok(()) };
        let id = format!("{}:end", at.id);
        let at = Position { id: &id, ..*at };
        let texts = [finish.message.get(), finish.details.get()];
        let text = join(texts.into_iter().flatten().map(Into::into));
        match finish.reason.get() {
            Some("canceled") => {
                self.push(&at, MessageRow { text: text.as_deref(), ..blank(Role::System, MessageKind::Abort) })
            }
            Some("error") => {
                let error_type = Some(error_type(None, None, text.as_deref()));
                let row = blank(Role::System, MessageKind::ApiError);
                self.push(&at, MessageRow { text: text.as_deref(), is_error: true, error_type, ..row })
            }
            _ => Ok(()),
        }
    }

    fn finish(mut self) -> Result<(), Reject> {
        self.thread.calls.interrupt_before(self.last_message);
        self.bill()?;
        self.thread.finish(self.out)
    }

    /// Adds the session's own cost. The recorded cost includes its subagents, but not its title.
    fn bill(&mut self) -> Result<(), Reject> {
        let Some(member) = self.survey.members.get(self.thread.id()) else { return Ok(()) };
        let cost = (member.cost - member.of_children).max(0.0) + member.of_titles;
        if cost <= 0.0 {
            return Ok(());
        }
        let mut providers: Vec<&Option<String>> = self.models.keys().map(|(provider, _)| provider).collect();
        providers.dedup();
        let most = self.models.iter().max_by_key(|(_, count)| **count).filter(|_| providers.len() == 1);
        let id = format!("{}:cost", self.thread.id());
        let row = UsageRow {
            response_id: &id,
            model: most.map(|((_, model), _)| model.as_str()),
            provider: most.and_then(|((provider, _), _)| provider.as_deref()),
            cost_usd: Some(cost),
            grain: UsageGrain::Session,
            ..UsageRow::default()
        };
        let seq = self.thread.last_seq();
        self.thread.bill(&Position::new("", member.updated), row, seq, self.out)
    }
}

/// A message as stored.
struct StoredMessage<'m> {
    role: String,
    is_summary: bool,
    parts: &'m [Object<Part<'m>>],
}

impl<'m> StoredMessage<'m> {
    fn of(&self, kind: &'static str) -> impl Iterator<Item = &'m Data<'m>> + use<'m> {
        let parts = self.parts.iter().filter_map(|part| part.0.as_ref());
        parts.filter(move |part| part.kind.is(kind)).filter_map(|part| part.data.0.as_ref())
    }
}
