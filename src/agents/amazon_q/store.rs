//! `data.sqlite3`: one row for each conversation. The program overwrites the row of a directory with its next
//! conversation (`conversations`), or keeps all (`conversations_v2`, Kiro).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Row, params};
use xxhash_rust::xxh3::xxh3_64;

use super::conversation::Conversation;
use crate::agents::document::Torn;
use crate::agents::kit::store::damaged;
use crate::extract::{Reject, Sink};
use crate::source::records::Text;
use crate::source::{Database, Scope, Section, Source, repair, value_bytes};
use crate::time::from_epoch;

/// Table with one row for each directory.
const BY_DIRECTORY: &str = "conversations";
/// Table with one row for each directory and conversation.
const BY_CONVERSATION: &str = "conversations_v2";

/// A conversation of the database, before it is read.
struct Listed {
    id: String,
    /// Changes whenever one of its rows does.
    stamp: u64,
    /// Length of its rows. Bytes.
    bytes: u64,
    /// Creation time of its first row. Microseconds since 1970.
    began: Option<i64>,
    /// Its rows, the newest last.
    rows: Vec<Place>,
}

struct Place {
    table: &'static str,
    directory: String,
    /// Milliseconds since 1970.
    updated: i64,
}

/// Contents of a database, listed before its conversations are read.
#[derive(Default)]
struct Survey {
    conversations: BTreeMap<String, Listed>,
    /// Rows that hold no conversation.
    strangers: u64,
    /// Errors that kept other conversations from being listed, one entry each.
    damage: Vec<String>,
}

impl Survey {
    fn of(source: &Source<'_>, database: &Database) -> Result<Arc<Self>, Reject> {
        source.survey(|| {
            let mut survey = Self::default();
            for read in [list_by_conversation, list_by_directory] {
                match read(database, &mut survey) {
                    Err(Reject::Database(error)) => survey.damage.push(error.to_string()),
                    read => read?,
                }
            }
            for conversation in survey.conversations.values_mut() {
                conversation.rows.sort_by(|a, b| (a.updated, &a.directory).cmp(&(b.updated, &b.directory)));
            }
            Ok(survey)
        })
    }
}

/// Returns the conversations of the database. A row's update time and length show that it has changed; rows of
/// [`BY_DIRECTORY`] have neither, and are hashed.
pub(in crate::agents) fn sections(source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
    let database = source.database()?;
    let survey = Survey::of(source, &database)?;
    let section = |listed: &Listed| {
        let Listed { id, stamp, bytes, began, rows } = listed;
        let modified = rows
            .last()
            .and_then(|row| from_epoch(row.updated as f64))
            .filter(|_| rows.iter().all(|row| row.updated > 0));
        Section { id: id.clone(), stamp: *stamp, bytes: *bytes, began: *began, modified }
    };
    Ok(survey.conversations.values().map(section).collect())
}

/// Reads the database, or one conversation of it.
pub(in crate::agents) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    let survey = Survey::of(source, &database)?;
    let mut damage = Vec::new();
    let wanted: Vec<&Listed> = match source.scope {
        Scope::Section(id) => survey.conversations.get(id).into_iter().collect(),
        Scope::Whole => survey.conversations.values().collect(),
        Scope::Common => Vec::new(),
    };
    if !matches!(source.scope, Scope::Section(_)) {
        damage.clone_from(&survey.damage);
        for _ in 0..survey.strangers {
            out.line();
            out.problem(out.report.lines, "a row that holds no conversation");
        }
    }
    for conversation in wanted {
        match extract_one(&database, conversation, out) {
            Err(Reject::Database(error)) => damage.push(error.to_string()),
            extracted => extracted?,
        }
    }
    for damage in damage {
        out.problem(out.report.lines + 1, &damaged(&damage));
    }
    Ok(())
}

/// Reads one conversation row by row, the newest last.
fn extract_one(database: &Database, listed: &Listed, out: &mut Sink<'_>) -> Result<(), Reject> {
    let project = listed.rows.last().map(|row| row.directory.clone()).filter(|path| !path.is_empty());
    let mut conversation = Conversation::new(listed.id.clone(), project, listed.began, out);
    let mut damage = None;
    for place in &listed.rows {
        let read = read_row(database, place, &listed.id, |bytes| {
            let json = repair(bytes);
            let document = Torn::read(&json, "history");
            conversation.read(&document)
        });
        if let Err(error) = read {
            damage.get_or_insert(error);
        }
    }
    conversation.finish()?;
    damage.map_or(Ok(()), Err)
}

fn read_row(
    database: &Database,
    place: &Place,
    id: &str,
    mut take: impl FnMut(&[u8]) -> Result<(), Reject>,
) -> Result<(), Reject> {
    let narrowed = if place.table == BY_CONVERSATION { "AND conversation_id = ?2" } else { "AND ?2 IS NOT NULL" };
    let query = format!("SELECT value FROM {} WHERE key = ?1 {narrowed}", place.table);
    let mut statement = database.prepare(&query)?;
    let mut rows = statement.query(params![place.directory, id])?;
    while let Some(row) = rows.next()? {
        if let Some(bytes) = value_bytes(row.get_ref(0)?) {
            take(bytes)?;
        }
    }
    Ok(())
}

fn list_by_conversation(database: &Database, into: &mut Survey) -> Result<(), Reject> {
    let columns = database.columns(BY_CONVERSATION)?;
    let column = |name: &'static str| if columns.iter().any(|column| column == name) { name } else { "NULL" };
    let query =
        format!("key, conversation_id, octet_length(value), {}, {}", column("created_at"), column("updated_at"));
    each_row(database, BY_CONVERSATION, &query, into, |row, into| {
        let (Some(directory), Some(id)) = (text_of(row, 0)?, text_of(row, 1)?) else { return Ok(()) };
        let [length, created, updated] = [2, 3, 4].map(|column| number_of(row, column));
        let (length, created, updated) = (length?.unwrap_or(0), created?, updated?.unwrap_or(0));
        let place = Place { table: BY_CONVERSATION, directory, updated };
        let stamp = xxh3_64(format!("{updated} {length}").as_bytes());
        add(into, id, place, stamp, length, created.and_then(|ms| from_epoch(ms as f64)));
        Ok(())
    })
}

/// Lists the conversations of [`BY_DIRECTORY`]. Their ids and times are in the values.
fn list_by_directory(database: &Database, into: &mut Survey) -> Result<(), Reject> {
    each_row(database, BY_DIRECTORY, "key, value", into, |row, into| {
        let Some(directory) = text_of(row, 0)? else { return Ok(()) };
        let value = value_bytes(row.get_ref(1)?).unwrap_or_default();
        let Some(id) = conversation_id(value) else {
            into.strangers += 1;
            return Ok(());
        };
        let length = i64::try_from(value.len()).unwrap_or(i64::MAX);
        let place = Place { table: BY_DIRECTORY, directory, updated: last_request(value) };
        add(into, id, place, xxh3_64(value), length, None);
        Ok(())
    })
}

/// Reads the rows of a table one by one, so that a damaged page loses only the rows stored on it.
fn each_row(
    database: &Database,
    table: &str,
    columns: &str,
    into: &mut Survey,
    take: impl Fn(&Row<'_>, &mut Survey) -> Result<(), rusqlite::Error>,
) -> Result<(), Reject> {
    if database.columns(table)?.is_empty() {
        return Ok(());
    }
    let mut statement = database.prepare(&format!("SELECT {columns} FROM {table} WHERE rowid = ?1"))?;
    for number in row_numbers(database, table, into)? {
        if let Err(error) = statement.query_row([number], |row| take(row, into))
            && error != rusqlite::Error::QueryReturnedNoRows
        {
            into.damage.push(error.to_string());
        }
    }
    Ok(())
}

/// Returns the numbers of a table's rows from the index of its keys, which is on other pages than the values. If the
/// index is damaged, also reads the table itself.
fn row_numbers(database: &Database, table: &str, into: &mut Survey) -> Result<BTreeSet<i64>, Reject> {
    let mut numbers = BTreeSet::new();
    for by in ["", "NOT INDEXED"] {
        let mut statement = database.prepare(&format!("SELECT rowid FROM {table} {by}"))?;
        let mut rows = statement.query([])?;
        let damage = loop {
            match rows.next() {
                Ok(Some(row)) => drop(numbers.insert(row.get(0)?)),
                Ok(None) => return Ok(numbers),
                Err(error) => break error,
            }
        };
        into.damage.push(damage.to_string());
    }
    Ok(numbers)
}

fn add(into: &mut Survey, id: String, place: Place, stamp: u64, length: i64, began: Option<i64>) {
    let listed = into.conversations.entry(id.clone()).or_insert_with(|| Listed {
        id,
        stamp: 0,
        bytes: 0,
        began,
        rows: Vec::new(),
    });
    let place_stamp = xxh3_64(format!("{} {} {stamp}", place.table, place.directory).as_bytes());
    listed.stamp ^= place_stamp;
    listed.bytes = listed.bytes.saturating_add(u64::try_from(length).unwrap_or(0));
    listed.began = listed.began.into_iter().chain(began).min();
    listed.rows.push(place);
}

/// Beginning of a value that the program writes.
const FIRST: &[u8] = b"{\"conversation_id\":\"";

/// Returns the id, which the program writes first.
fn conversation_id(value: &[u8]) -> Option<String> {
    if let Some(rest) = value.strip_prefix(FIRST)
        && let Some(id) = memchr::memchr(b'"', rest).and_then(|end| rest.get(..end))
        && !id.is_empty()
        && !id.contains(&b'\\')
    {
        return std::str::from_utf8(id).ok().map(str::to_owned);
    }
    let json = repair(value);
    let document = Torn::read(&json, "history");
    document.field::<Text<'_>>("conversation_id").owned()
}

/// Returns the end of the last request: the last number under `KEY`. Milliseconds since 1970.
fn last_request(value: &[u8]) -> i64 {
    const KEY: &[u8] = b"\"stream_end_timestamp_ms\":";
    let number = memchr::memmem::rfind(value, KEY).and_then(|place| value.get(place + KEY.len()..));
    let digits = number.unwrap_or_default().trim_ascii_start().iter().take_while(|byte| byte.is_ascii_digit()).take(18);
    digits.fold(0, |number, digit| number * 10 + i64::from(digit - b'0'))
}

fn text_of(row: &Row<'_>, column: usize) -> Result<Option<String>, rusqlite::Error> {
    Ok(value_bytes(row.get_ref(column)?).map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

fn number_of(row: &Row<'_>, column: usize) -> Result<Option<i64>, rusqlite::Error> {
    match row.get_ref(column)? {
        ValueRef::Integer(number) => Ok(Some(number)),
        _ => Ok(None),
    }
}
