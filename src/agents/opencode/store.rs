//! `opencode.db`, and those of the channels next to it: all sessions since 1.2, message by message and part by part.

use std::collections::{BTreeSet, HashSet};

use rusqlite::Row;

use super::events::{EventRow, Events};
use super::ids::moment_of;
use super::listing::SESSIONS;
use super::record::{self, Revert, moment};
use super::rows::Known;
use super::transcript::Transcript;
use super::{go, listing};
use crate::agents::kit::store::{Records, bytes, damage, damaged, number, report, text};
use crate::extract::{Reject, Sink};
use crate::source::records::{List, Text};
use crate::source::{Database, Scope, Section, Source, Statement};

/// Sessions between a session and the outermost that started it, at most.
const GENERATIONS: usize = 32;

/// The sessions of the database; none of the Go program's, which is read as a whole.
pub(super) fn sections(source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
    let database = source.database()?;
    if go::is_one(&database)? {
        return Ok(Vec::new());
    }
    Ok(source.survey(|| listing::sessions(&database))?.sessions.clone())
}

/// Reads the database, or one session of it.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    if let Scope::Section(session) = source.scope {
        return Store::open(&database)?.session(session, out);
    }
    if go::is_one(&database)? {
        return go::extract(&database, source.path, out);
    }
    let listing = source.survey(|| listing::sessions(&database))?;
    let mut store = Store::open(&database)?;
    listing.read(source.scope, out, |session, out| store.session(session, out))
}

/// An open database, and what is asked of it for each session.
struct Store<'d> {
    sessions: Vec<Statement<'d>>,
    project: Option<Statement<'d>>,
    messages: Option<Records<'d>>,
    parts: Option<Records<'d>>,
    strays: Option<Statement<'d>>,
    events: Option<Records<'d>>,
    has_events: Option<Statement<'d>>,
    imports: Vec<Statement<'d>>,
}

/// The origin of a session that MiMo Code copied from another program.
struct Import {
    /// The session there.
    origin: Option<String>,
    /// The copied messages; none where all of the session was copied.
    messages: Option<HashSet<String>>,
}

/// Tables of copied sessions, the newest first.
const IMPORTS: [&str; 2] = ["external_import", "claude_import"];

impl<'d> Store<'d> {
    fn open(database: &'d Database) -> Result<Self, Reject> {
        let mut sessions = Vec::new();
        for table in SESSIONS {
            sessions.extend(database.select(table, &SESSION_COLUMNS, "WHERE id = ?1")?);
        }
        let has = |table, column: &str| Ok::<_, Reject>(database.columns(table)?.iter().any(|name| name == column));
        let has_messages = has("message", "id")?;
        let has_parts = has("part", "message_id")?;
        let event_order = if has("session_message", "seq")? { "seq" } else { "time_created, id" };
        let strays = "SELECT count(*) FROM part WHERE session_id = ?1 \
                      AND NOT EXISTS (SELECT 1 FROM message WHERE message.id = part.message_id)";
        let has_events =
            "SELECT 1 FROM session_message WHERE session_id = ?1 AND type IN ('user', 'assistant') LIMIT 1";
        let mut imports = Vec::new();
        for table in IMPORTS {
            if has(table, "session_id")? {
                imports.extend(database.select(table, &["source_key", "message_ids"], "WHERE session_id = ?1")?);
            }
        }
        let events = Records::of(database, "session_message", "session_id", event_order, &EVENT_COLUMNS)?;
        Ok(Self {
            sessions,
            project: database.select("project", &["worktree", "vcs"], "WHERE id = ?1")?,
            messages: Records::of(database, "message", "session_id", "time_created, id", &MESSAGE_COLUMNS)?,
            parts: Records::of(database, "part", "message_id", "id", &["id", "data"])?,
            strays: if has_messages && has_parts { Some(database.prepare(strays)?) } else { None },
            has_events: if events.is_some() { Some(database.prepare(has_events)?) } else { None },
            events,
            imports,
        })
    }

    /// Reads one session. A damaged page loses only the rows stored on it.
    fn session(&mut self, session: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
        let (imported, origin) = match self.import(session) {
            Ok(None) => (HashSet::new(), None),
            Ok(Some(Import { messages: Some(messages), origin })) => (messages, origin),
            Ok(Some(Import { messages: None, .. })) => return Ok(()),
            Err(error) => {
                damage(&error, out);
                return Ok(());
            }
        };
        let (known, boundary) = match self.known(session) {
            Ok(known) => known,
            Err(error) => {
                damage(&error, out);
                (Known { id: session.to_owned(), ..Known::default() }, None)
            }
        };
        let has_events = self.has_events.as_mut().map(|statement| statement.exists([session]));
        if matches!(has_events, Some(Ok(true))) {
            return self.read_events(known, boundary, out);
        }
        self.read_messages(Known { imported_from: origin, ..known }, &imported, out)
    }

    /// Reads what was copied into a session from another program.
    fn import(&mut self, session: &str) -> Result<Option<Import>, rusqlite::Error> {
        for statement in &mut self.imports {
            let mut rows = statement.query([session])?;
            if let Some(row) = rows.next()? {
                let json = text(row, 1).unwrap_or_default();
                let List(ids) = serde_json::from_str::<List<Text<'_>>>(&json).unwrap_or_default();
                let ids: HashSet<String> = ids.iter().filter_map(Text::owned).collect();
                return Ok(Some(Import { origin: text(row, 0), messages: Some(ids).filter(|ids| !ids.is_empty()) }));
            }
        }
        Ok(None)
    }

    /// The rows of 2.x.
    fn read_events(&mut self, known: Known, boundary: Option<i64>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let session = known.id.clone();
        let mut events = Events::new(known, out);
        if boundary.is_some() {
            events.rows.trust_boundary();
        }
        if let Some(records) = &mut self.events {
            let read = records.each(&session, |place, row| {
                let row = match row {
                    Ok(row) => row,
                    Err(error) => {
                        events.rows.record();
                        events.rows.problem(&place.name(), &damaged(error));
                        return Ok(());
                    }
                };
                let (id, kind) = (text(row, 0), text(row, 1));
                let seq = number(row, 2);
                events.row(&EventRow {
                    id: id.as_deref().unwrap_or_default(),
                    kind: kind.as_deref().unwrap_or_default(),
                    created: number(row, 3).and_then(moment),
                    is_replay: boundary.is_some_and(|boundary| seq.is_some_and(|seq| seq <= boundary)),
                    data: bytes(row, 4),
                })
            })?;
            report(read, events.rows.out);
        }
        events.rows.finish()
    }

    /// The rows of 1.2 and later.
    fn read_messages(&mut self, known: Known, imported: &HashSet<String>, out: &mut Sink<'_>) -> Result<(), Reject> {
        let session = known.id.clone();
        let mut transcript = Transcript::new(known, out);
        let Self { messages, parts, strays, .. } = self;
        if let Some(messages) = messages {
            let read = messages.each(&session, |place, row| {
                let id = match row {
                    Ok(row) => {
                        let id = text(row, 0).unwrap_or_default();
                        if imported.contains(&id) {
                            return Ok(());
                        }
                        transcript.step_aside(text(row, 3).is_some_and(|agent| agent != MAIN))?;
                        transcript.begin(&id, number(row, 1).and_then(moment), bytes(row, 2))?;
                        id
                    }
                    Err(error) => {
                        let id = place.name();
                        if imported.contains(&id) {
                            return Ok(());
                        }
                        let created = place.created.and_then(moment).or_else(|| moment_of(&id));
                        transcript.begin_lost(&id, created, &damaged(error))?;
                        id
                    }
                };
                let Some(parts) = parts.as_mut() else { return Ok(()) };
                let read = parts.each(&id, |place, row| match row {
                    Ok(row) => transcript.part(&text(row, 0).unwrap_or_default(), bytes(row, 1)),
                    Err(error) => {
                        transcript.rows.record();
                        transcript.rows.problem(&place.name(), &damaged(error));
                        Ok(())
                    }
                })?;
                report(read, transcript.rows.out);
                Ok(())
            })?;
            report(read, transcript.rows.out);
        }
        let stray: Option<i64> = strays.as_mut().and_then(|strays| strays.query_row([&session], |row| row.get(0)).ok());
        if let Some(stray) = stray.filter(|stray| *stray > 0) {
            transcript.rows.record();
            transcript.rows.problem(&session, &format!("{stray} parts of messages that are gone"));
        }
        transcript.finish()
    }

    /// Returns the facts in the session's row, and the `seq` up to which its rows are copies.
    fn known(&mut self, session: &str) -> Result<(Known, Option<i64>), rusqlite::Error> {
        let mut found = None;
        for statement in &mut self.sessions {
            let mut rows = statement.query([session])?;
            if let Some(row) = rows.next()? {
                found = Some((known_of(session, row), text(row, 2), number(row, 9)));
                break;
            }
        }
        let Some((mut known, project, boundary)) = found else {
            return Ok((Known { id: session.to_owned(), ..Known::default() }, None));
        };
        if let (Some(statement), Some(project)) = (&mut self.project, project) {
            let mut rows = statement.query([project])?;
            if let Some(row) = rows.next()? {
                known.worktree = text(row, 0);
                known.is_git = text(row, 1).as_deref() == Some("git");
            }
        }
        known.root = known.parent.as_deref().map(|parent| self.root(parent));
        Ok((known, boundary))
    }

    /// The outermost session above a parent.
    fn root(&mut self, parent: &str) -> String {
        let mut root = parent.to_owned();
        let mut seen = BTreeSet::new();
        while seen.len() < GENERATIONS && seen.insert(root.clone()) {
            let mut parents = self
                .sessions
                .iter_mut()
                .filter_map(|statement| statement.query_row([&root], |row| Ok(text(row, 3))).ok());
            let Some(above) = parents.next().flatten() else { break };
            root = above;
        }
        root
    }
}

const SESSION_COLUMNS: [&str; 11] = [
    "version",
    "directory",
    "project_id",
    "parent_id",
    "title",
    "agent",
    "time_created",
    "revert",
    "fork_session_id",
    "fork_boundary",
    "slug",
];
const MESSAGE_COLUMNS: [&str; 4] = ["id", "time_created", "data", "agent_id"];
/// MiMo Code's name for the agent that the person talks to.
const MAIN: &str = "main";
const EVENT_COLUMNS: [&str; 5] = ["id", "type", "seq", "time_created", "data"];

fn known_of(session: &str, row: &Row<'_>) -> Known {
    let reverted = record::read::<Revert<'static>, _>(bytes(row, 7), |read| {
        let revert = read.ok()?;
        Some((revert.message.get()?.to_owned(), revert.part.get().is_some()))
    });
    let version = text(row, 0);
    // In a moved row the slug is a task's name, and the version is this.
    let is_moved = version.as_deref() == Some("v2");
    Known {
        id: session.to_owned(),
        version: version.filter(|_| !is_moved),
        directory: text(row, 1),
        worktree: None,
        is_git: false,
        parent: text(row, 3),
        title: text(row, 4),
        agent: text(row, 5),
        created: number(row, 6).and_then(moment),
        forked_from: text(row, 8),
        imported_from: None,
        moved_from: text(row, 10).filter(|_| is_moved),
        root: None,
        is_stray: false,
        reverted,
    }
}
