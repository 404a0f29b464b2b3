//! `openclaw-agent.sqlite`: all sessions of an agent since 2026.8.1, event by event, and the archives of those that
//! were reset or deleted.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Row;
use rusqlite::types::ValueRef;
use xxhash_rust::xxh3::xxh3_64;

use super::dialect::DIALECT;
use super::family::{Family, Member};
use super::index::Listed;
use crate::agents::kit::store::{damaged, each_row};
use crate::agents::pi::{Known, Transcript};
use crate::extract::jsonl::RecordReader;
use crate::extract::{NoteField, Reject, Sink, session_key};
use crate::source::{
    Database, Line, Scope, Section, Source, Statement, decompress, lines_of_blob, repair, value_bytes, value_text,
};

const EVENTS: &str = "transcript_events";
const ARCHIVES: &str = "session_transcript_archives";
const WINDOWS: &str = "session_windows";
const NODES: &str = "session_nodes";

/// Facts that hold for all sessions of a database.
struct Survey {
    family: Family,
    /// Titles of sessions, whose lines may lie elsewhere.
    titles: Vec<(String, String)>,
    damage: Option<String>,
}

impl Survey {
    fn of(database: &Database) -> Self {
        let (mut members, damage) = match members(database) {
            Ok(members) => (members, None),
            Err(error) => (Vec::new(), Some(message(&error))),
        };
        let titles = members.iter_mut().filter_map(|member| Some((member.session_id.clone(), member.title.take()?)));
        Self { titles: titles.collect(), family: Family::of(members), damage }
    }
}

/// Reads the database, or one session of it.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    let survey = source.survey(|| Ok(Survey::of(&database)))?;
    if let Scope::Section(session) = source.scope {
        return extract_session(&database, &survey.family, session, out);
    }
    for (session, title) in &survey.titles {
        out.note(NoteField::Title, session_key(out.agent(), session), 0, title);
    }
    if let Some(damage) = &survey.damage {
        out.problem(out.report.lines + 1, damage);
    }
    if source.scope == Scope::Whole {
        for session in sessions(&database)?.into_keys() {
            extract_session(&database, &survey.family, &session, out)?;
        }
    }
    Ok(())
}

fn extract_session(database: &Database, family: &Family, session: &str, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut archives = in_order(database, ARCHIVES, &["encoding", "archive_blob"], "created_at")?;
    let mut events = in_order(database, EVENTS, &["event_json", "event_zstd"], "seq")?;
    let known = Known { session_id: Some(session.to_owned()), ..family.known(session) };
    let mut reader = Reader { transcript: Transcript::new(&DIALECT, known, out), number: 0 };
    let read =
        reader.read_archives(archives.as_mut(), session).and_then(|()| reader.read_events(events.as_mut(), session));
    match read {
        Err(error @ Reject::Database(_)) => reader.transcript.sink().problem(reader.number + 1, &message(&error)),
        read => read?,
    }
    reader.transcript.finish()
}

/// The rows of a session by a column, where there is such a column.
fn in_order<'d>(
    database: &'d Database,
    table: &str,
    columns: &[&str],
    order: &str,
) -> Result<Option<Statement<'d>>, Reject> {
    let has_order = database.columns(table)?.iter().any(|column| column == order);
    let order = if has_order { format!("ORDER BY {order}") } else { String::new() };
    database.select(table, columns, &format!("WHERE session_id = ?1 {order}"))
}

fn message(error: &Reject) -> String {
    match error {
        Reject::Database(error) => damaged(error),
        error => format!("the database cannot be read: {error:?}"),
    }
}

/// The sessions of a database. Events are added, and replaced: often the last one, whose row id the new one gets. What
/// a session is called or belongs to may change too.
pub(in crate::agents) fn sections(source: &mut Source<'_>) -> Result<Vec<Section>, Reject> {
    let database = source.database()?;
    let survey = source.survey(|| Ok(Survey::of(&database)))?;
    let sessions = sessions(&database)?;
    let all: u64 = sessions.values().map(|rows| rows.count).sum();
    let section = |(id, rows): (String, Rows)| {
        let stamp = xxh3_64(format!("{rows:?} {}", survey.family.described(&id)).as_bytes());
        let bytes = u128::from(source.bytes) * u128::from(rows.count) / u128::from(all.max(1));
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Section { began: survey.family.began(&id), id, stamp, bytes, modified: None }
    };
    Ok(sessions.into_iter().map(section).collect())
}

/// The rows of a session, as far as is known without reading their contents: their number, and the sums of their row
/// ids, sizes and moments.
#[derive(Debug, Default)]
struct Rows {
    count: u64,
    ids: f64,
    bytes: f64,
    moments: f64,
}

/// Columns that hold contents, one of them in each row.
const CONTENTS: [&str; 3] = ["event_json", "event_zstd", "archive_blob"];

/// The sessions that have events or archives.
fn sessions(database: &Database) -> Result<BTreeMap<String, Rows>, Reject> {
    let mut sessions: BTreeMap<String, Rows> = BTreeMap::new();
    for table in [EVENTS, ARCHIVES] {
        let columns = database.columns(table)?;
        if columns.is_empty() {
            continue;
        }
        let is_there = |column: &&str| columns.iter().any(|name| name == column);
        let sizes = CONTENTS.into_iter().filter(is_there).map(|column| format!("TOTAL(octet_length({column}))"));
        let bytes = sizes.chain(["0.0".to_owned()]).collect::<Vec<_>>().join(" + ");
        // The lower half: sums of whole moments are too large to show a difference of some milliseconds.
        let moments = Some("TOTAL(created_at & 0xffffffff)").filter(|_| is_there(&"created_at")).unwrap_or("0.0");
        let query =
            format!("SELECT session_id, COUNT(*), TOTAL(rowid), {bytes}, {moments} FROM {table} GROUP BY session_id");
        let mut statement = database.prepare(&query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Some(session) = text_of(row.get_ref(0)?) else { continue };
            let entry = sessions.entry(session).or_default();
            entry.count += u64::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
            entry.ids += row.get::<_, f64>(2)?;
            entry.bytes += row.get::<_, f64>(3)?;
            entry.moments += row.get::<_, f64>(4)?;
        }
    }
    Ok(sessions)
}

/// Reads the lines of one session.
struct Reader<'o, 'a> {
    transcript: Transcript<'o, 'a>,
    /// Records so far, over archives and events.
    number: u64,
}

impl Reader<'_, '_> {
    /// Reads the archived records, which come before those in the table; a record in both counts once.
    fn read_archives(&mut self, statement: Option<&mut Statement<'_>>, session: &str) -> Result<(), Reject> {
        let Some(statement) = statement else { return Ok(()) };
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            let is_compressed = text_of(row.get_ref(0)?).is_none_or(|encoding| encoding == "zstd");
            let Some(blob) = value_bytes(row.get_ref(1)?) else { continue };
            let mut lines = lines_of_blob(blob.to_vec(), is_compressed).map_err(Reject::Io)?;
            while let Some(line) = lines.next_line() {
                self.number += 1;
                self.transcript.read_line(&Line { number: self.number, ..line })?;
            }
            if lines.failed() || lines.cut_at().is_some() {
                self.transcript.sink().problem(self.number + 1, "an archive could not be unpacked to its end");
            }
        }
        Ok(())
    }

    fn read_events(&mut self, statement: Option<&mut Statement<'_>>, session: &str) -> Result<(), Reject> {
        let Some(statement) = statement else { return Ok(()) };
        let mut rows = statement.query([session])?;
        while let Some(row) = rows.next()? {
            self.number += 1;
            self.read_event(row)?;
        }
        Ok(())
    }

    /// Since 2026.9.6 events of more than some 3 KB are compressed, and their text is null.
    fn read_event(&mut self, row: &Row<'_>) -> Result<(), Reject> {
        let number = self.number;
        let unpacked;
        let bytes = match (value_bytes(row.get_ref(0)?), value_bytes(row.get_ref(1)?)) {
            (Some(text), _) => text,
            (None, Some(blob)) => match decompress(blob) {
                Ok(bytes) => {
                    unpacked = bytes;
                    &unpacked
                }
                Err(error) => {
                    self.transcript.sink().line();
                    self.transcript.sink().problem(number, &format!("an event could not be unpacked: {error}"));
                    return Ok(());
                }
            },
            (None, None) => return Ok(()),
        };
        let line = Line { number, bytes, length: bytes.len() as u64, ended: true };
        self.transcript.read_line(&line)
    }
}

/// The sessions as nodes (what they are called) and windows (one a session, several a node) list them.
fn members(database: &Database) -> Result<Vec<Member>, Reject> {
    let nodes = nodes(database)?;
    let mut members = windows(database, &nodes)?;
    members.sort_by_key(|member| member.began);
    let in_windows: BTreeSet<&String> = members.iter().map(|member| &member.session_id).collect();
    let alone: Vec<Member> = nodes.into_values().filter(|node| !in_windows.contains(&node.session_id)).collect();
    members.extend(alone);
    Ok(members)
}

/// Returns the nodes by their keys, each with its present session.
fn nodes(database: &Database) -> Result<BTreeMap<String, Member>, Reject> {
    let mut nodes = BTreeMap::new();
    let columns = [
        "session_key",
        "current_session_id",
        "entry_json",
        "label",
        "display_name",
        "spawned_by",
        "parent_session_key",
        "fork_source_session_id",
    ];
    each_row(database, NODES, &columns, "", |row| {
        let [key, current, entry, label, display, spawned_by, parent_key, fork_source] = texts_of(row)?;
        let Some(key) = key else { return Ok(()) };
        let entry = entry.unwrap_or_default();
        let entry = repair(entry.as_bytes());
        let listed: Listed<'_> = serde_json::from_str(&entry).unwrap_or_default();
        let mut node = listed.member(&key);
        node.session_id = current.unwrap_or(node.session_id);
        node.title = label.or(display).or(node.title);
        node.spawned_by = spawned_by.or(node.spawned_by);
        node.parent_key = parent_key.or(node.parent_key);
        node.forked_from = fork_source;
        nodes.insert(key, node);
        Ok(())
    })?;
    Ok(nodes)
}

/// Returns the sessions that the windows of nodes had.
fn windows(database: &Database, nodes: &BTreeMap<String, Member>) -> Result<Vec<Member>, Reject> {
    let mut members = Vec::new();
    let columns = [
        "session_key",
        "session_id",
        "created_at",
        "reason",
        "previous_session_id",
        "spawned_by",
        "parent_session_key",
        "started_at",
    ];
    each_row(database, WINDOWS, &columns, "", |row| {
        let [key, session, created, reason, previous, spawned_by, parent_key, started] = texts_of(row)?;
        let (Some(key), Some(session_id)) = (key, session) else { return Ok(()) };
        let mut member = nodes.get(&key).cloned().unwrap_or_else(|| Member { key, ..Member::default() });
        let moment = |text: Option<String>| text?.parse().ok().and_then(crate::time::from_epoch);
        let is_fork = reason.as_deref() == Some("fork");
        // The programs' sessions are those of the node's present session alone.
        if member.session_id != session_id {
            member.programs = BTreeMap::new();
        }
        member.began = moment(created).or_else(|| moment(started));
        member.spawned_by = spawned_by.or(member.spawned_by);
        member.parent_key = parent_key.or(member.parent_key);
        member.forked_from = member.forked_from.or(previous).filter(|origin| is_fork && *origin != session_id);
        member.session_id = session_id;
        members.push(member);
        Ok(())
    })?;
    Ok(members)
}

fn texts_of<const N: usize>(row: &Row<'_>) -> Result<[Option<String>; N], rusqlite::Error> {
    let mut texts = [const { None }; N];
    for (place, text) in texts.iter_mut().enumerate() {
        *text = text_of(row.get_ref(place)?);
    }
    Ok(texts)
}

/// A value as text; an empty one counts as none.
fn text_of(value: ValueRef<'_>) -> Option<String> {
    value_text(value).filter(|text| !text.is_empty())
}
