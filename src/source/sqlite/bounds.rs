//! Bounds of a database: what may be read of it, and how much work that may take.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rusqlite::ffi::ErrorCode;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Error, Row};

use super::value_bytes;
use crate::interrupt::interrupted;
use crate::source::MAX_LINE;

/// Longest row that is read; the same as for a line. Bytes.
pub(super) const MAX_ROW: usize = MAX_LINE;

/// Limits of every connection, far above the needs of any agent's tables.
const LIMITS: [(Limit, i32); 9] = [
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 256 << 10),
    (Limit::SQLITE_LIMIT_COLUMN, 512),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
    (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 100),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Steps of SQLite's virtual machine between two checks: a fraction of a millisecond.
const STEPS: u16 = 4096;
/// Steps for loading the schema: enough for thousands of tables; agents have dozens.
const MAX_SCHEMA_STEPS: u64 = 50_000;
/// Steps that a run may spend on any database, however small: some seconds.
const FREE_STEPS: u64 = 200_000_000;
/// Steps for each byte of the database. A row has tens of bytes at least and takes tens of steps.
const STEPS_PER_BYTE: u64 = 64;
/// Most times that each byte is read for one source. Pages that are linked more than once make a small file give endless
/// rows.
const READS_PER_BYTE: u64 = 8;
/// Bytes that may be read from any database, however small.
const FREE_BYTES: u64 = 1 << 20;

/// Steps that a run has spent on a database so far, in all connections to it.
pub(super) type Spent = Arc<AtomicU64>;

/// The tables of a database.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// Stored columns, by table.
    columns: BTreeMap<String, Vec<String>>,
    /// Computed columns, as table and column, in lower case.
    computed: BTreeSet<(String, String)>,
    /// Views and virtual tables, in lower case.
    others: BTreeSet<String>,
}

impl Tables {
    /// Reads the schema. Tables have a root page of their own; names in a schema may be anything.
    fn read(connection: &Connection) -> Result<Self, Error> {
        let mut tables = Self::default();
        let query = "SELECT t.name, c.name, c.hidden = 2 FROM sqlite_schema AS t CROSS JOIN pragma_table_xinfo(t.name) AS c \
                     WHERE t.type = 'table' AND t.rootpage > 0 AND t.sql LIKE 'CREATE TABLE%' ORDER BY t.rowid, c.cid";
        let mut statement = connection.prepare(query)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (table, column): (String, String) = (row.get(0)?, row.get(1)?);
            if row.get(2)? {
                tables.computed.insert((table.to_ascii_lowercase(), column.to_ascii_lowercase()));
            } else {
                tables.columns.entry(table.to_ascii_lowercase()).or_default().push(column);
            }
        }
        let mut statement = connection.prepare("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let name = row.get::<_, String>(0)?.to_ascii_lowercase();
            if !tables.columns.contains_key(&name) {
                tables.others.insert(name);
            }
        }
        Ok(tables)
    }

    /// Refuses a query that uses anything but tables: even preparing it may take forever.
    pub(super) fn check(&self, query: &str) -> Result<(), Error> {
        let names = query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        match names.into_iter().find(|name| self.is_other(name)) {
            Some(name) => Err(error(ErrorCode::AuthorizationForStatementDenied, &not_stored(name))),
            None => Ok(()),
        }
    }

    /// True for the name of a view or virtual table.
    pub(super) fn is_other(&self, name: &str) -> bool {
        !self.others.is_empty() && self.others.contains(&name.to_ascii_lowercase())
    }

    /// Returns the stored columns of a table; none if there is no such table.
    pub(super) fn columns(&self, table: &str) -> &[String] {
        self.columns.get(&table.to_ascii_lowercase()).map(Vec::as_slice).unwrap_or_default()
    }

    /// True if the column is computed.
    pub(super) fn is_computed(&self, table: &str, column: &str) -> bool {
        !self.computed.is_empty() && self.computed.contains(&(table.to_ascii_lowercase(), column.to_ascii_lowercase()))
    }

    /// Authorizes a statement to read stored data of tables, and nothing else.
    fn authorize(&self, context: &AuthContext<'_>) -> Authorization {
        let is_allowed = match context.action {
            AuthAction::Select | AuthAction::Function { .. } => true,
            AuthAction::Read { table_name, column_name } => {
                self.columns.contains_key(&table_name.to_ascii_lowercase())
                    && !self.is_computed(table_name, column_name)
            }
            _ => false,
        };
        if is_allowed { Authorization::Allow } else { Authorization::Deny }
    }
}

/// Enforces the bounds of a connection.
pub(super) struct Bounds {
    tables: Arc<OnceLock<Tables>>,
    /// Size of the database. Bytes.
    bytes: Arc<OnceLock<u64>>,
    /// Bytes that may still be read for the current source.
    left: Cell<u64>,
}

impl Bounds {
    /// Sets the limits of a new connection.
    pub(super) fn set(connection: &mut Connection, spent: Spent) -> Result<Self, Error> {
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, c_int::try_from(MAX_ROW).unwrap_or(c_int::MAX))?;
        for (limit, most) in LIMITS {
            connection.set_limit(limit, most)?;
        }
        connection.execute_batch("PRAGMA query_only = 1; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
        let tables = Arc::new(OnceLock::<Tables>::new());
        let bytes = Arc::new(OnceLock::new());
        let mut steps = Steps { bytes: Arc::clone(&bytes), of_schema: 0, spent };
        connection.progress_handler(c_int::from(STEPS), Some(move || interrupted() || steps.are_too_many()))?;
        let known = Arc::clone(&tables);
        let authorize = move |context: AuthContext<'_>| {
            known.get().map_or(Authorization::Allow, |tables| tables.authorize(&context))
        };
        connection.authorizer(Some(authorize))?;
        Ok(Self { tables, bytes, left: Cell::new(0) })
    }

    /// Returns the tables, which are loaded before any other statement.
    pub(super) fn tables(&self, connection: &Connection) -> Result<&Tables, Error> {
        if let Some(tables) = self.tables.get() {
            return Ok(tables);
        }
        self.bytes(connection)?;
        self.begin();
        let tables = Tables::read(connection).map_err(explained)?;
        Ok(self.tables.get_or_init(|| tables))
    }

    /// Returns the size of the database, which SQLite knows after loading the schema. Bytes.
    pub(super) fn bytes(&self, connection: &Connection) -> Result<u64, Error> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(*bytes);
        }
        let query = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let bytes: i64 = connection.query_row(query, [], |row| row.get(0)).map_err(explained)?;
        Ok(*self.bytes.get_or_init(|| u64::try_from(bytes).unwrap_or_default()))
    }

    /// Resets the count of read bytes for another source.
    pub(super) fn begin(&self) {
        let bytes = self.bytes.get().copied().unwrap_or_default();
        self.left.set(bytes.saturating_mul(READS_PER_BYTE).saturating_add(FREE_BYTES));
    }

    /// Counts a row.
    pub(super) fn count(&self, row: &Row<'_>) -> Result<(), Error> {
        let values = (0..row.as_ref().column_count()).filter_map(|column| row.get_ref(column).ok());
        let bytes: usize = values.filter_map(value_bytes).map(<[u8]>::len).sum();
        match self.left.get().checked_sub(bytes as u64 + 1) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(error(ErrorCode::DatabaseCorrupt, "it gives more rows than it can hold")),
        }
    }
}

/// Counts the steps of a connection.
struct Steps {
    /// Size of the database, if known. Bytes.
    bytes: Arc<OnceLock<u64>>,
    of_schema: u64,
    spent: Spent,
}

impl Steps {
    fn are_too_many(&mut self) -> bool {
        let Some(bytes) = self.bytes.get() else {
            self.of_schema += u64::from(STEPS);
            return self.of_schema > MAX_SCHEMA_STEPS;
        };
        let most = bytes.saturating_mul(STEPS_PER_BYTE).saturating_add(FREE_STEPS);
        self.spent.fetch_add(u64::from(STEPS), Ordering::Relaxed) > most
    }
}

/// Returns the error for a name.
pub(super) fn not_stored(name: &str) -> String {
    format!("`{name}` is a view, a virtual table or a computed column, which is not read")
}

/// Returns the error, with the bound if that ended the statement.
pub(super) fn explained(failed: Error) -> Error {
    match failed.sqlite_error_code() {
        Some(code @ ErrorCode::OperationInterrupted) if !interrupted() => {
            error(code, "reading it takes more work than its size explains")
        }
        _ => failed,
    }
}

/// Returns the error of a statement that an interruption of the run ended.
pub(super) fn stopped() -> Error {
    error(ErrorCode::OperationInterrupted, "interrupted")
}

fn error(code: ErrorCode, reason: &str) -> Error {
    let code = rusqlite::ffi::Error { code, extended_code: 0 };
    Error::SqliteFailure(code, Some(reason.to_owned()))
}
