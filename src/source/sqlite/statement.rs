//! Statements over an agent's tables, and their rows.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rusqlite::fallible_streaming_iterator::FallibleStreamingIterator;
use rusqlite::{CachedStatement, Error, Params, Row};

use super::bounds::{Bounds, MAX_ROW, explained, not_stored, stopped};
use crate::interrupt::interrupted;

thread_local! {
    /// Objects and rows that were left out since the last call.
    static LEFT_OUT: RefCell<LeftOut> = const { RefCell::new(LeftOut::NOTHING) };
}

/// Data that is not read: rows that are too large, and whatever is not a table.
pub(crate) struct LeftOut {
    /// Objects that agents have as tables, but that are something else.
    pub(super) names: BTreeSet<String>,
    /// Rows that are too large.
    pub(crate) rows: u64,
    /// The problem of the first of them.
    pub(crate) first: String,
}

impl LeftOut {
    const NOTHING: Self = Self { names: BTreeSet::new(), rows: 0, first: String::new() };

    /// Takes what this thread has left out.
    pub(super) fn take() -> Self {
        LEFT_OUT.replace(Self::NOTHING)
    }

    /// Returns the problem of each object that is no table.
    pub(crate) fn no_tables(&self) -> impl Iterator<Item = String> {
        self.names.iter().map(|name| not_stored(name))
    }

    /// Adds an object that is no table.
    pub(super) fn add_name(name: &str) {
        LEFT_OUT.with_borrow_mut(|left_out| {
            left_out.names.insert(name.to_owned());
        });
    }

    fn add_row(&mut self, table: &str, bytes: i64) {
        self.rows += 1;
        if self.rows == 1 {
            self.first = format!("a row of `{table}` has {bytes} bytes; longer than 64 MiB is not read");
        }
    }
}

/// Finds rows of a statement that are too large.
pub(super) struct Guard {
    table: String,
    /// The column with a row's length.
    column: usize,
}

/// Prepares a query that reads no values of rows that are too large. A database that is smaller than the largest row
/// has none.
pub(super) fn guarded(columns: &[String], from: &str, bytes: u64) -> (String, Option<Guard>) {
    if bytes <= MAX_ROW as u64 {
        return (format!("SELECT {} FROM {from}", columns.join(", ")), None);
    }
    // SQLite knows the length of a value without reading it.
    let lengths =
        columns.iter().filter(|column| *column != "NULL").map(|column| format!("ifnull(octet_length({column}), 0)"));
    let length = lengths.chain(["0".to_owned()]).collect::<Vec<_>>().join(" + ");
    let guarded = columns.iter().map(|column| format!("CASE WHEN {length} <= {MAX_ROW} THEN {column} END"));
    let all = guarded.chain([length.clone()]).collect::<Vec<_>>().join(", ");
    let table = from.split_whitespace().next().unwrap_or_default().to_owned();
    (format!("SELECT {all} FROM {from}"), Some(Guard { table, column: columns.len() }))
}

/// A query of an agent's database.
pub struct Statement<'d> {
    statement: CachedStatement<'d>,
    bounds: &'d Bounds,
    guard: Option<Guard>,
}

impl<'d> Statement<'d> {
    pub(super) fn new(statement: CachedStatement<'d>, bounds: &'d Bounds, guard: Option<Guard>) -> Self {
        Self { statement, bounds, guard }
    }

    /// Runs the query.
    pub fn query(&mut self, parameters: impl Params) -> Result<Rows<'_>, Error> {
        Ok(Rows { rows: self.statement.query(parameters)?, bounds: self.bounds, guard: self.guard.as_ref() })
    }

    /// Returns the first row.
    ///
    /// # Errors
    /// Fails with [`Error::QueryReturnedNoRows`] if there is none.
    pub fn query_row<T>(
        &mut self,
        parameters: impl Params,
        take: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        take(self.query(parameters)?.next()?.ok_or(Error::QueryReturnedNoRows)?)
    }

    /// True if there is any row.
    pub fn exists(&mut self, parameters: impl Params) -> Result<bool, Error> {
        Ok(self.query(parameters)?.next()?.is_some())
    }

    /// Returns the first column of all rows, as text.
    pub fn texts(&mut self, parameters: impl Params) -> Result<Vec<String>, Error> {
        let mut rows = self.query(parameters)?;
        let mut texts = Vec::new();
        while let Some(row) = rows.next()? {
            texts.push(row.get(0)?);
        }
        Ok(texts)
    }
}

/// The rows of a query.
pub struct Rows<'s> {
    rows: rusqlite::Rows<'s>,
    bounds: &'s Bounds,
    guard: Option<&'s Guard>,
}

impl<'s> Rows<'s> {
    /// Returns the next row, or `None` at the end. Rows that are too large are left out.
    #[expect(clippy::should_implement_trait, reason = "a row is gone when the next one is read")]
    pub fn next(&mut self) -> Result<Option<&Row<'s>>, Error> {
        loop {
            if interrupted() {
                return Err(stopped());
            }
            self.rows.advance().map_err(explained)?;
            let Some(row) = self.rows.get() else { return Ok(None) };
            self.bounds.count(row)?;
            if !self.is_too_large(row)? {
                return Ok(self.rows.get());
            }
        }
    }

    fn is_too_large(&self, row: &Row<'_>) -> Result<bool, Error> {
        let Some(guard) = self.guard else { return Ok(false) };
        let bytes: i64 = row.get(guard.column)?;
        let is_too_large = usize::try_from(bytes).is_ok_and(|bytes| bytes > MAX_ROW);
        if is_too_large {
            LEFT_OUT.with_borrow_mut(|left_out| left_out.add_row(&guard.table, bytes));
        }
        Ok(is_too_large)
    }
}
