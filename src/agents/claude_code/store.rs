//! `__store.db`: the SQLite database that 0.2.x kept before it wrote transcripts.

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::json;
use serde_json::value::RawValue;

use super::transcript::{self, Identity};
use crate::agents::kit;
use crate::extract::{Reject, Sink};
use crate::source::{Database, Source, Statement, value_text};

/// Reads the database: each row becomes the line that a transcript would have had.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    let mut statement = messages(&database)?;
    let summaries = summaries(&database)?;
    let mut damaged = None;
    for session in sessions(&database)? {
        let mut lines = Vec::new();
        if let Err(error) = read_session(&mut statement, &session, &mut lines) {
            damaged.get_or_insert(error);
        }
        let identity = Identity { main: Some(session), ..Identity::default() };
        transcript::extract_lines(identity, lines.iter().map(String::as_str), out)?;
    }
    transcript::extract_lines(Identity::default(), summaries.iter().map(String::as_str), out)?;
    if let Some(error) = damaged {
        out.problem(out.report.lines + 1, &kit::store::damaged(&error));
    }
    Ok(())
}

fn sessions(database: &Database) -> Result<Vec<String>, Reject> {
    let mut statement =
        database.prepare("SELECT DISTINCT session_id FROM base_messages WHERE session_id IS NOT NULL ORDER BY 1")?;
    Ok(statement.texts([])?)
}

/// Returns the messages of a session. Later versions added columns; missing ones are read as null.
fn messages(database: &Database) -> Result<Statement<'_>, Reject> {
    let known_of = |alias: &'static str, table: &str| -> Result<_, Reject> {
        let known = database.columns(table)?;
        Ok(move |name: &str| match known.iter().any(|column| column == name) {
            true => format!("{alias}.{name}"),
            false => "NULL".to_owned(),
        })
    };
    let base = known_of("b", "base_messages")?;
    let user = known_of("u", "user_messages")?;
    let assistant = known_of("a", "assistant_messages")?;
    let columns = [
        base("uuid"),
        base("parent_uuid"),
        base("timestamp"),
        base("message_type"),
        base("cwd"),
        base("version"),
        base("isSidechain"),
        user("message"),
        user("tool_use_result"),
        user("is_meta"),
        assistant("message"),
        assistant("cost_usd"),
        assistant("duration_ms"),
        assistant("is_api_error_message"),
        assistant("model"),
    ];
    database.select_from(
        &columns,
        "base_messages b LEFT JOIN user_messages u ON u.uuid = b.uuid LEFT JOIN assistant_messages a ON a.uuid = b.uuid \
         WHERE b.session_id = ?1 ORDER BY b.timestamp, b.rowid",
    )
}

fn read_session(statement: &mut Statement<'_>, session: &str, lines: &mut Vec<String>) -> Result<(), rusqlite::Error> {
    let mut rows = statement.query([session])?;
    while let Some(row) = rows.next()? {
        lines.push(line_of(row, session)?);
    }
    Ok(())
}

fn line_of(row: &Row<'_>, session: &str) -> Result<String, rusqlite::Error> {
    let text = |column| -> Result<Option<String>, rusqlite::Error> { Ok(value_text(row.get_ref(column)?)) };
    let number = |column| -> Result<Option<f64>, rusqlite::Error> { Ok(number_of(row.get_ref(column)?)) };
    let raw = |json: Option<String>| json.and_then(|json| RawValue::from_string(json).ok());
    let kind = text(3)?;
    let message = raw(text(7)?).or(raw(with_model(text(10)?, text(14)?.as_deref())));
    let line = Line {
        r#type: kind.as_deref().unwrap_or(if text(10)?.is_some() { "assistant" } else { "user" }),
        uuid: text(0)?,
        parent_uuid: text(1)?,
        session_id: session,
        timestamp: number(2)?,
        cwd: text(4)?,
        version: text(5)?,
        is_sidechain: number(6)? == Some(1.0),
        message,
        tool_use_result: raw(text(8)?),
        is_meta: number(9)? == Some(1.0),
        cost: number(11)?,
        duration_ms: number(12)?,
        is_api_error_message: number(13)? == Some(1.0),
    };
    Ok(serde_json::to_string(&line).unwrap_or_default())
}

/// Adds the model from its column to a message without a model. If a key occurs twice, the last one counts.
fn with_model(message: Option<String>, model: Option<&str>) -> Option<String> {
    let message = message?;
    let (Some(model), Some(fields)) = (model, message.trim_start().strip_prefix('{')) else { return Some(message) };
    let comma = if fields.trim_start().starts_with('}') { "" } else { "," };
    Some(format!("{{\"model\":{}{comma}{fields}", json!(model)))
}

/// A row in the shape of a transcript's line.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    r#type: &'a str,
    uuid: Option<String>,
    parent_uuid: Option<String>,
    session_id: &'a str,
    timestamp: Option<f64>,
    cwd: Option<String>,
    version: Option<String>,
    is_sidechain: bool,
    message: Option<Box<RawValue>>,
    tool_use_result: Option<Box<RawValue>>,
    is_meta: bool,
    #[serde(rename = "costUSD")]
    cost: Option<f64>,
    duration_ms: Option<f64>,
    is_api_error_message: bool,
}

/// Returns the summaries as lines of a transcript.
fn summaries(database: &Database) -> Result<Vec<String>, Reject> {
    if database.columns("conversation_summaries")?.is_empty() {
        return Ok(Vec::new());
    }
    let mut statement =
        database.prepare("SELECT leaf_uuid, summary FROM conversation_summaries ORDER BY updated_at, leaf_uuid")?;
    let mut rows = statement.query([])?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        let (leaf, summary) = (value_text(row.get_ref(0)?), value_text(row.get_ref(1)?));
        lines.push(json!({"type": "summary", "leafUuid": leaf, "summary": summary}).to_string());
    }
    Ok(lines)
}

fn number_of(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        ValueRef::Blob(_) | ValueRef::Null => None,
    }
}
