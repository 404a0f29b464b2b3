//! `session-store.db`: the program's database of all sessions. Its rows of model calls (schema 8, about 1.0.73) are
//! finer than the events of that time. Its texts are less complete than the events, and count only without them.

use std::collections::BTreeMap;

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::call::{Call, Settings};
use super::metrics::Numbers;
use super::{AGENT, child_session, dollars, recorded_key, stored_key};
use crate::agents::kit::{self, store::each_row};
use crate::extract::{Facts, Kind, NoteField, Reject, Sink, session_key};
use crate::source::records::TokenNumber;
use crate::source::{Database, Source};
use crate::tables::{MessageKind, MessageRow, Role, SessionKind, Vocabulary};

/// One session of the database.
#[derive(Default)]
struct Stored {
    facts: Facts,
    turns: Vec<Turn>,
    /// Model calls, by subagent. Those of the main conversation have an empty name.
    calls: BTreeMap<String, Vec<Call>>,
    begun: Option<i64>,
}

/// A prompt and the last answer to it.
struct Turn {
    index: i64,
    prompt: Option<String>,
    answer: Option<String>,
    timestamp: Option<i64>,
}

/// Reads the database.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    let mut sessions = BTreeMap::new();
    let mut damaged = None;
    for read in [read_sessions, read_turns, read_calls] {
        if let Err(error) = read(&database, &mut sessions, out) {
            damaged.get_or_insert(error);
        }
    }
    for (id, session) in sessions {
        push(&id, session, out)?;
    }
    match damaged {
        Some(Reject::Database(error)) if out.report.lines > 0 => {
            out.problem(out.report.lines + 1, &kit::store::damaged(&error));
            Ok(())
        }
        Some(error) => Err(error),
        None => Ok(()),
    }
}

type Sessions = BTreeMap<String, Stored>;

fn read_sessions(database: &Database, sessions: &mut Sessions, out: &mut Sink<'_>) -> Result<(), Reject> {
    let columns = ["id", "cwd", "repository", "branch", "summary", "created_at"];
    each_row(database, "sessions", &columns, "ORDER BY rowid", |row| {
        out.line();
        let Some(id) = text(row, 0)? else { return Ok(()) };
        let session = sessions.entry(id.clone()).or_default();
        session.begun = moment(row, 5)?;
        session.facts = Facts {
            session_id: id,
            project_path: text(row, 1)?,
            git_repo: text(row, 2)?,
            git_branch: text(row, 3)?,
            summary: text(row, 4)?,
            ..Facts::default()
        };
        Ok(())
    })
}

fn read_turns(database: &Database, sessions: &mut Sessions, out: &mut Sink<'_>) -> Result<(), Reject> {
    let columns = ["session_id", "turn_index", "user_message", "assistant_response", "timestamp"];
    each_row(database, "turns", &columns, "ORDER BY session_id, turn_index, rowid", |row| {
        out.line();
        let Some(session) = text(row, 0)? else { return Ok(()) };
        let turns = &mut sessions.entry(session).or_default().turns;
        let index = number(row, 1)?.unwrap_or_else(|| turns.last().map_or(0, |turn| turn.index.saturating_add(1)));
        if turns.last().is_none_or(|last| last.index < index) {
            turns.push(Turn { index, prompt: text(row, 2)?, answer: text(row, 3)?, timestamp: moment(row, 4)? });
        }
        Ok(())
    })
}

fn read_calls(database: &Database, sessions: &mut Sessions, out: &mut Sink<'_>) -> Result<(), Reject> {
    let columns = [
        "session_id",
        "id",
        "turn_index",
        "agent_id",
        "parent_tool_call_id",
        "model",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
        "total_nano_aiu",
        "duration_ms",
        "finish_reason",
        "created_at",
        "time_to_first_token_ms",
        "reasoning_effort",
    ];
    each_row(database, "assistant_usage_events", &columns, "ORDER BY session_id, id", |row| {
        out.line();
        let Some(session) = text(row, 0)? else { return Ok(()) };
        let count = |column| -> Result<TokenNumber, rusqlite::Error> { Ok(TokenNumber::of(number(row, column)?)) };
        let numbers = Numbers::of(count(6)?, count(8)?, count(9)?, count(7)?, count(10)?);
        // Ids restart when the database is recreated.
        let created = text(row, 14)?.unwrap_or_default();
        let response = format!("store:{session}:{}@{created}", number(row, 1)?.unwrap_or(0));
        let agent = text(row, 3)?.or(text(row, 4)?).filter(|agent| agent != "main").unwrap_or_default();
        let timestamp = moment(row, 14)?;
        let turn = number(row, 2)?.map(|index| index.saturating_add(1));
        let call = Call {
            turn,
            timestamp,
            seq: turn.unwrap_or(0),
            model: text(row, 5)?,
            numbers,
            duration_ms: number(row, 12)?,
            finish: text(row, 13)?,
            first_token_ms: number(row, 15)?,
            settings: Settings { effort: text(row, 16)?.map(Into::into), model: None },
            cost: dollars(fraction(row, 11)?, timestamp),
            ..Call::new(usize::from(!agent.is_empty()), &response)
        };
        if !numbers.is_zero() {
            let calls = sessions.entry(session).or_default().calls.entry(agent).or_default();
            calls.push(call);
        }
        Ok(())
    })
}

/// Emits a session. Its events supersede its turns, and also its calls if they record them.
fn push(id: &str, session: Stored, out: &mut Sink<'_>) -> Result<(), Reject> {
    let presence = session_key(AGENT, id);
    let mut seq = 0;
    let mut parent: Option<String> = None;
    for turn in &session.turns {
        for (role, kind, text) in
            [(Role::User, MessageKind::Prompt, &turn.prompt), (Role::Assistant, MessageKind::Reply, &turn.answer)]
        {
            let Some(text) = text else { continue };
            let message = format!("store:{id}:{}:{}", turn.index, role.as_str());
            out.message(turn.row(id, seq, &message, parent.as_deref(), (role, kind, text)), false)?;
            out.yields_to(Kind::Message, &message, presence, None);
            parent = Some(message);
            seq += 1;
        }
    }
    let moments = session.calls.values().flatten().map(|call| call.timestamp);
    if let Some(first) = moments.min() {
        out.claim_since(stored_key(id), first);
    }
    let facts = Facts {
        session_id: id.to_owned(),
        kind: SessionKind::Session,
        first_moment: session.turns.iter().filter_map(|turn| turn.timestamp).chain(session.begun).min(),
        ..session.facts
    };
    if let Some(summary) = &facts.summary {
        out.note(NoteField::Summary, presence, 0, summary);
    }
    for (agent, calls) in session.calls {
        let is_main = agent.is_empty();
        let owner = if is_main { id.to_owned() } else { child_session(id, &agent) };
        out.turn_to(if is_main { "" } else { &owner });
        for call in &calls {
            out.usage(call.row(&owner), call.seq, false)?;
            out.yields_to(Kind::Response, &call.response, recorded_key(id), call.timestamp);
        }
        if !is_main {
            out.end_session(Facts {
                session_id: owner,
                kind: SessionKind::Subagent,
                title: None,
                summary: None,
                parent_session_id: Some(id.to_owned()),
                root_session_id: Some(id.to_owned()),
                is_subagent: true,
                first_moment: calls.iter().filter_map(|call| call.timestamp).min(),
                ..facts.clone()
            })?;
        }
    }
    out.turn_to("");
    out.end_session(facts)
}

impl Turn {
    fn row<'r>(
        &'r self,
        session: &'r str,
        seq: i64,
        id: &'r str,
        parent: Option<&'r str>,
        (role, kind, text): (Role, MessageKind, &'r str),
    ) -> MessageRow<'r> {
        MessageRow {
            session_id: session,
            seq,
            message_id: id,
            parent_id: parent,
            turn: Some(self.index.saturating_add(1)),
            timestamp: self.timestamp,
            role,
            kind,
            text: Some(text),
            ..MessageRow::default()
        }
    }
}

fn text(row: &Row<'_>, column: usize) -> Result<Option<String>, rusqlite::Error> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()).filter(|text| !text.is_empty()),
        ValueRef::Integer(number) => Some(number.to_string()),
        _ => None,
    })
}

fn fraction(row: &Row<'_>, column: usize) -> Result<Option<f64>, rusqlite::Error> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number).filter(|number| number.is_finite()),
        ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()),
        _ => None,
    })
}

/// Returns a whole number; `None` if it is below 0 or too large to be exact.
#[expect(clippy::cast_possible_truncation, reason = "bounded by the filter before it")]
fn number(row: &Row<'_>, column: usize) -> Result<Option<i64>, rusqlite::Error> {
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    Ok(fraction(row, column)?.filter(|number| (0.0..LARGEST).contains(number)).map(|number| number as i64))
}

fn moment(row: &Row<'_>, column: usize) -> Result<Option<i64>, rusqlite::Error> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(crate::time::parse_iso),
        _ => fraction(row, column)?.and_then(crate::time::from_epoch),
    })
}
