//! The sessions of a database, without a look at what was said in them: their rows, and what the indexes count.

use std::collections::BTreeMap;
use std::hash::Hasher;

use rusqlite::Row;
use xxhash_rust::xxh3::Xxh3;

use super::record::moment;
use crate::agents::kit::store::{Listing, each, number, text};
use crate::extract::Reject;
use crate::source::{Database, Section, Statement};

/// The tables that hold sessions, the newest first.
pub(super) const SESSIONS: [&str; 2] = ["session_v2", "session"];
/// The tables that hold a session's records, and those that say where it was copied from.
const RECORDS: [&str; 5] = ["message", "part", "session_message", "external_import", "claude_import"];

/// The facts about a session so far.
#[derive(Default)]
struct Counted {
    stamp: Xxh3,
    records: u64,
    began: Option<i64>,
}

/// Every session that has a row of its own or records. A stamp changes with when the session was last written to, the
/// number of its messages and parts, the last of each, and when the last message and its parts were last written to.
/// Reads the sessions' rows, the indexes by session, and two rows
/// of each session.
pub(super) fn sessions(database: &Database) -> Result<Listing, Reject> {
    let mut damage = Vec::new();
    let mut counted: BTreeMap<String, Counted> = BTreeMap::new();
    for table in SESSIONS {
        if let Some(mut rows) =
            database.select(table, &["id", "time_created", "time_updated", "title", "revert"], "")?
        {
            let read = each(&mut rows, [], |row| {
                let Some(id) = text(row, 0) else { return Ok(()) };
                let session = counted.entry(id).or_default();
                session.began = session.began.or(number(row, 1).and_then(moment));
                session.stamp.write_i64(number(row, 2).unwrap_or_default());
                for column in [3, 4] {
                    session.stamp.update(text(row, column).unwrap_or_default().as_bytes());
                }
                Ok(())
            })?;
            damage.extend(read.err().map(|error| error.to_string()));
        }
    }
    for table in RECORDS {
        if database.columns(table)?.iter().any(|column| column == "session_id") {
            let query = format!("SELECT session_id, count(*), max(rowid) FROM {table} GROUP BY session_id");
            let read = each(&mut database.prepare(&query)?, [], |row| {
                let Some(id) = text(row, 0) else { return Ok(()) };
                let session = counted.entry(id).or_default();
                session.records += number(row, 1).and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
                session.stamp.write_i64(number(row, 1).unwrap_or_default());
                session.stamp.write_i64(number(row, 2).unwrap_or_default());
                Ok(())
            })?;
            damage.extend(read.err().map(|error| error.to_string()));
        }
    }
    add_last(database, &mut counted)?;
    let bytes = database.bytes()?;
    let records: u64 = counted.values().map(|session| session.records).sum();
    let weight = |session: &Counted| u128::from(bytes) * u128::from(session.records) / u128::from(records.max(1));
    let sessions = counted.into_iter().map(|(id, session)| Section {
        id,
        stamp: session.stamp.digest(),
        bytes: u64::try_from(weight(&session)).unwrap_or(u64::MAX),
        began: session.began,
        modified: None,
    });
    Ok(Listing { sessions: sessions.collect(), damage })
}

/// Adds when the last message of each session and its parts were last written to: what is being written changes there.
fn add_last(database: &Database, counted: &mut BTreeMap<String, Counted>) -> Result<(), Reject> {
    let newest = "WHERE session_id = ?1 ORDER BY time_created DESC, id DESC LIMIT 1";
    let mut messages = database.select("message", &["time_updated", "id"], newest)?;
    let mut events = database.select("session_message", &["time_updated", "id"], newest)?;
    let mut parts = database.select("part", &["time_updated"], "WHERE message_id = ?1")?;
    for (id, session) in counted {
        let message = messages.as_mut().and_then(|statement| last(statement, id));
        let event = events.as_mut().and_then(|statement| last(statement, id));
        for (updated, _) in message.iter().chain(&event) {
            session.stamp.write_i64(*updated);
        }
        let (Some((_, message)), Some(parts)) = (message, &mut parts) else { continue };
        let mut newest = 0;
        let add = |row: &Row<'_>| {
            newest = newest.max(number(row, 0).unwrap_or_default());
            Ok(())
        };
        // The reading of the session reports damaged rows.
        let _ = each(parts, [message], add)?;
        session.stamp.write_i64(newest);
    }
    Ok(())
}

fn last(statement: &mut Statement<'_>, session: &str) -> Option<(i64, String)> {
    statement
        .query_row([session], |row| Ok((number(row, 0).unwrap_or_default(), text(row, 1).unwrap_or_default())))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    const TABLES: &str = "
        CREATE TABLE session (id text PRIMARY KEY, title text, time_created integer, time_updated integer);
        CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
        CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_updated integer, data text);
        CREATE TABLE external_import (session_id text, source_key text, message_ids text);
        INSERT INTO session VALUES ('ses_a', 'A', 1772000000000, 1), ('ses_b', 'B', 1772000001000, 1);
        INSERT INTO message VALUES ('msg_a1', 'ses_a', 1, 1, '{}'), ('msg_a2', 'ses_a', 2, 1, '{}'), ('msg_b1', 'ses_b', 1, 1, '{}');
        INSERT INTO part VALUES ('prt_a1', 'msg_a1', 'ses_a', 1, '{}'), ('prt_a2', 'msg_a2', 'ses_a', 1, '{}');";

    fn listed(path: &std::path::Path) -> Vec<Section> {
        let database = Source::new(path, "database", 0, &|_| {}).database().unwrap();
        let listing = sessions(&database).unwrap();
        assert!(listing.damage.is_empty());
        listing.sessions
    }

    #[test]
    fn a_change_of_any_kind_gives_its_session_another_stamp_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        let execute = |query: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(query).unwrap();
        execute(TABLES);
        let mut before = listed(&path);
        assert_eq!(before.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["ses_a", "ses_b"]);
        assert_eq!((before[0].began, before[1].began), (Some(1_772_000_000_000_000), Some(1_772_000_001_000_000)));
        assert!(before[0].bytes > before[1].bytes);
        for change in [
            "UPDATE session SET time_updated = 2 WHERE id = 'ses_a'",
            "UPDATE session SET title = 'C' WHERE id = 'ses_a'",
            "UPDATE message SET time_updated = 2 WHERE id = 'msg_a2'",
            "UPDATE part SET time_updated = 2 WHERE id = 'prt_a2'",
            "INSERT INTO part VALUES ('prt_a3', 'msg_a2', 'ses_a', 1, '{}')",
            "INSERT INTO message VALUES ('msg_a3', 'ses_a', 3, 1, '{}')",
            "DELETE FROM message WHERE id = 'msg_a1'",
            "INSERT INTO external_import VALUES ('ses_a', 'claude:1', '[]')",
            "DELETE FROM external_import WHERE session_id = 'ses_a'",
        ] {
            execute(change);
            let after = listed(&path);
            assert_ne!(after[0].stamp, before[0].stamp, "{change}");
            assert_eq!(after[1].stamp, before[1].stamp, "{change}");
            before = after;
        }
        assert_eq!(listed(&path), before);
    }

    #[test]
    fn records_without_a_session_are_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        let query = format!("{TABLES} DELETE FROM session;");
        rusqlite::Connection::open(&path).unwrap().execute_batch(&query).unwrap();
        assert_eq!(listed(&path).iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), ["ses_a", "ses_b"]);
    }
}
