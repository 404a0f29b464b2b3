//! Tables of SQLite databases.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::hash::Hasher;

use rusqlite::types::ValueRef;
use rusqlite::{Params, Row};
use xxhash_rust::xxh3::Xxh3;

use crate::extract::{Reject, Sink};
use crate::source::{Database, Scope, Section, Statement, value_bytes, value_text};
use crate::time::from_epoch;

/// Reads columns of a table. A column that the table lacks is null, and a missing table has no rows.
pub(in crate::agents) fn each_row(
    database: &Database,
    table: &str,
    columns: &[&str],
    rest: &str,
    mut take: impl FnMut(&Row<'_>) -> Result<(), Reject>,
) -> Result<(), Reject> {
    let Some(mut statement) = database.select(table, columns, rest)? else { return Ok(()) };
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        take(row)?;
    }
    Ok(())
}

/// The records of a table that belong to a session or a message. Their places are read first, from an index, and then
/// each record alone: a damaged page loses only the rows stored on it.
pub(in crate::agents) struct Records<'d> {
    in_order: Statement<'d>,
    /// In the order of the owners' index, which may be readable if the sorted query is not.
    unordered: Statement<'d>,
    one: Statement<'d>,
}

/// The position of a record in a database, and the facts that follow from it.
pub(in crate::agents) struct Place {
    pub(in crate::agents) row: i64,
    id: Option<String>,
    /// As the store counts.
    pub(in crate::agents) created: Option<i64>,
}

impl Place {
    /// Returns a name for a record that cannot be read.
    pub(in crate::agents) fn name(&self) -> String {
        self.id.clone().unwrap_or_else(|| format!("row {}", self.row))
    }
}

impl<'d> Records<'d> {
    /// Records by owner; none where there is no such table. Columns that are not there are null.
    pub(in crate::agents) fn of(
        database: &'d Database,
        table: &str,
        owner: &str,
        order: &str,
        columns: &[&str],
    ) -> Result<Option<Self>, Reject> {
        let there = database.columns(table)?;
        let named = |column: &str| there.iter().any(|name| name == column);
        let Some(one) = database.select(table, columns, "WHERE rowid = ?1")? else { return Ok(None) };
        let known =
            ["id", "time_created"].map(|column| if order.contains(column) && named(column) { column } else { "NULL" });
        let of_owner = |columns: &str, rest: &str| {
            database.prepare(&format!("SELECT rowid, {columns} FROM {table} WHERE {owner} = ?1 {rest}"))
        };
        let in_order = of_owner(&known.join(", "), &format!("ORDER BY {order}"))?;
        Ok(Some(Self { in_order, unordered: of_owner("NULL, NULL", "")?, one }))
    }

    /// Emits the records of an owner, or what is wrong with one. Gives back what kept others from being found.
    pub(in crate::agents) fn each(
        &mut self,
        owner: &str,
        mut take: impl FnMut(&Place, Result<&Row<'_>, &rusqlite::Error>) -> Result<(), Reject>,
    ) -> Result<Result<(), rusqlite::Error>, Reject> {
        let mut found = Ok(());
        let places = places(&mut self.in_order, owner).or_else(|(error, _)| {
            found = Err(error);
            places(&mut self.unordered, owner)
        });
        for place in places.unwrap_or_else(|(_, before)| before) {
            let mut rows = self.one.query([place.row])?;
            match rows.next() {
                Ok(Some(row)) => take(&place, Ok(row))?,
                Ok(None) => {}
                Err(error) => take(&place, Err(&error))?,
            }
        }
        Ok(found)
    }
}

/// Returns the positions of an owner's records; if a page is damaged, its error and the positions before it.
fn places(statement: &mut Statement<'_>, owner: &str) -> Result<Vec<Place>, (rusqlite::Error, Vec<Place>)> {
    let mut places = Vec::new();
    let read = statement.query([owner]).and_then(|mut rows| {
        while let Some(row) = rows.next()? {
            places.push(Place { row: row.get(0)?, id: text(row, 1), created: number(row, 2) });
        }
        Ok(())
    });
    match read {
        Ok(()) => Ok(places),
        Err(error) => Err((error, places)),
    }
}

/// Emits the rows that a statement gives. A damaged page ends them; its error is returned as a value.
pub(in crate::agents) fn each(
    statement: &mut Statement<'_>,
    parameters: impl Params,
    mut take: impl FnMut(&Row<'_>) -> Result<(), Reject>,
) -> Result<Result<(), rusqlite::Error>, Reject> {
    let mut rows = match statement.query(parameters) {
        Ok(rows) => rows,
        Err(error) => return Ok(Err(error)),
    };
    loop {
        match rows.next() {
            Ok(Some(row)) => take(row)?,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        }
    }
}

/// Counts what is damaged.
pub(in crate::agents) fn report(read: Result<(), rusqlite::Error>, out: &mut Sink<'_>) {
    if let Err(error) = read {
        damage(&error, out);
    }
}

/// Counts a damaged page.
pub(in crate::agents) fn damage(error: &rusqlite::Error, out: &mut Sink<'_>) {
    out.problem(out.report.lines + 1, &damaged(error));
}

/// The words for a damaged page.
pub(in crate::agents) fn damaged(error: &impl Display) -> String {
    format!("the database is damaged: {error}")
}

/// A column's bytes; none are an empty text.
pub(in crate::agents) fn bytes<'r>(row: &'r Row<'_>, column: usize) -> &'r [u8] {
    row.get_ref(column).ok().and_then(value_bytes).unwrap_or_default()
}

/// A column as text; an empty one counts as none.
pub(in crate::agents) fn text(row: &Row<'_>, column: usize) -> Option<String> {
    value_text(row.get_ref(column).ok()?).filter(|text| !text.is_empty())
}

/// A column as a whole number.
pub(in crate::agents) fn number(row: &Row<'_>, column: usize) -> Option<i64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        ValueRef::Real(_) | ValueRef::Blob(_) | ValueRef::Null => None,
    }
}

/// A column that counts seconds, milliseconds or finer. Microseconds since 1970.
pub(in crate::agents) fn moment(row: &Row<'_>, column: usize) -> Option<i64> {
    number(row, column).and_then(|count| from_epoch(count as f64))
}

/// The sessions of a database, and what kept others from being listed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::agents) struct Listing {
    /// A stamp changes whenever any of the session's rows do.
    pub(in crate::agents) sessions: Vec<Section>,
    pub(in crate::agents) damage: Vec<String>,
}

impl Listing {
    /// Lists the sessions of a table by the first of the given columns. Their stamps change with the other columns, and
    /// with the number and the last row of their records: tables, each with the column that names the session.
    pub(in crate::agents) fn of(
        database: &Database,
        table: &str,
        columns: &[&str],
        records: &[(&str, &str)],
        began: impl Fn(&Row<'_>) -> Option<i64>,
    ) -> Result<Self, Reject> {
        let mut damage = Vec::new();
        let mut listed: BTreeMap<String, Listed> = BTreeMap::new();
        if let Some(mut rows) = database.select(table, columns, "")? {
            let read = each(&mut rows, [], |row| {
                let Some(id) = text(row, 0) else { return Ok(()) };
                let session = listed.entry(id).or_default();
                session.began = session.began.or(began(row));
                for column in 1..columns.len() {
                    session.stamp.update(text(row, column).unwrap_or_default().as_bytes());
                    session.stamp.update(&[0xff]);
                }
                Ok(())
            })?;
            damage.extend(read.err().map(|error| error.to_string()));
        }
        for (table, owner) in records {
            if !database.columns(table)?.iter().any(|column| column == owner) {
                continue;
            }
            let query = format!("SELECT {owner}, count(*), max(rowid) FROM {table} GROUP BY {owner}");
            let read = each(&mut database.prepare(&query)?, [], |row| {
                let Some(id) = text(row, 0) else { return Ok(()) };
                let session = listed.entry(id).or_default();
                session.records += number(row, 1).and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
                for column in [1, 2] {
                    session.stamp.write_i64(number(row, column).unwrap_or_default());
                }
                Ok(())
            })?;
            damage.extend(read.err().map(|error| error.to_string()));
        }
        let bytes = u128::from(database.bytes()?);
        let records: u128 = listed.values().map(|session| u128::from(session.records)).sum();
        let weight = |session: &Listed| bytes * u128::from(session.records) / records.max(1);
        let sessions = listed.into_iter().map(|(id, session)| Section {
            id,
            stamp: session.stamp.digest(),
            bytes: u64::try_from(weight(&session)).unwrap_or(u64::MAX),
            began: session.began,
            modified: None,
        });
        Ok(Self { sessions: sessions.collect(), damage })
    }

    /// Reads the sessions, unless each is read by itself.
    pub(in crate::agents) fn read(
        &self,
        scope: Scope<'_>,
        out: &mut Sink<'_>,
        mut read: impl FnMut(&str, &mut Sink<'_>) -> Result<(), Reject>,
    ) -> Result<(), Reject> {
        for error in &self.damage {
            out.problem(out.report.lines + 1, &damaged(&error));
        }
        let sessions = self.sessions.iter().filter(|_| scope == Scope::Whole);
        sessions.map(|session| session.id.as_str()).try_for_each(|session| read(session, out))
    }
}

/// The facts about a session that the listing collects.
#[derive(Default)]
struct Listed {
    stamp: Xxh3,
    records: u64,
    began: Option<i64>,
}
