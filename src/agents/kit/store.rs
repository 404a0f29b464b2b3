//! Tables of SQLite databases.

use rusqlite::Row;

use crate::extract::Reject;
use crate::source::Database;

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
