//! Finds the session that an argument names.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};

use super::runner::Runner;
use crate::Result;
use crate::query::Statement;
use crate::query::short_id::{KnownSession, SessionIds};
use crate::tables::SessionColumns;

/// Selects the ids of all sessions, with their projects and days.
const SQL: &str = "select machine, agent, month, session_id, root_session_id, project, \
                   cast(cast(started_at as date) as text) as day from sessions";

/// Returns the ids of all sessions of the lake.
pub(super) fn ids(runner: &mut Runner<'_>) -> Result<SessionIds> {
    let rows = runner.rows(&Statement { sql: SQL.to_owned(), parameters: Vec::new() })?;
    let columns = SessionColumns::named(&rows);
    let known = (0..rows.num_rows()).map(|row| KnownSession {
        machine: text(&rows, "machine", row).unwrap_or_default().to_owned(),
        agent: text(&rows, "agent", row).unwrap_or_default().to_owned(),
        month: text(&rows, "month", row).unwrap_or_default().to_owned(),
        session_id: columns.session_id(row).to_owned(),
        root_session_id: columns.root_session_id(row).to_owned(),
        project: columns.project(row).map(str::to_owned),
        day: text(&rows, "day", row).map(str::to_owned),
    });
    Ok(SessionIds::new(known.collect()))
}

/// Returns the session that an id, or the beginning of one, names.
pub(super) fn find(runner: &mut Runner<'_>, typed: &str) -> Result<KnownSession> {
    ids(runner)?.find(typed).cloned()
}

/// Returns a text of a query's result, if the column has one there.
pub(super) fn text<'r>(rows: &'r RecordBatch, column: &str, row: usize) -> Option<&'r str> {
    let texts = rows.column_by_name(column)?;
    if let Some(texts) = texts.as_string_opt::<i32>() {
        return (!texts.is_null(row)).then(|| texts.value(row));
    }
    let texts = texts.as_string_view_opt()?;
    (!texts.is_null(row)).then(|| texts.value(row))
}

/// Returns a time of a query's result, if the column has one there. Microseconds since 1970.
pub(super) fn moment(rows: &RecordBatch, column: &str, row: usize) -> Option<i64> {
    let times = rows.column_by_name(column)?.as_primitive_opt::<TimestampMicrosecondType>()?;
    times.is_valid(row).then(|| times.value(row))
}

/// Returns a whole number of a query's result, if the column has one there.
pub(super) fn integer(rows: &RecordBatch, column: &str, row: usize) -> Option<i64> {
    let numbers = rows.column_by_name(column)?.as_primitive_opt::<Int64Type>()?;
    numbers.is_valid(row).then(|| numbers.value(row))
}
