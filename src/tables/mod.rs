//! The tables, each declared once. Schema, builders, `llrem schema` and `docs/tables.md` are generated from here.

pub(crate) mod columns;
mod messages;
pub(crate) mod nullable;
mod sessions;
mod state;
mod timestamp;
mod tool_calls;
mod usage;
mod vocabulary;

use arrow::array::{Array, ArrayData, ArrayRef, RecordBatch, make_array};
use arrow::datatypes::Field;
use arrow::error::ArrowError;

pub use columns::{ColumnDef, Encoding, Privacy, TableDef};
pub use messages::{MESSAGES, MessageColumns, MessageRow, Messages};
pub use sessions::{SESSIONS, SessionColumns, SessionRow, Sessions};
pub use state::{
    FINDINGS, FindingColumns, FindingRow, Findings, PRICES, PriceTableColumns, PriceTableRow, Prices, RUNS, RunColumns,
    RunRow, Runs, SOURCES, SourceColumns, SourceRow, Sources,
};
pub use timestamp::timestamp_type;
pub use tool_calls::{TOOL_CALLS, ToolCallColumns, ToolCallRow, ToolCalls};
pub use usage::{USAGE, Usage, UsageColumns, UsageRow};
pub use vocabulary::{
    Basis, Category, CostSource, ErrorType, GitOperation, MessageKind, PriceKind, PriceTier, Role, SessionKind,
    Severity, SourceState, Status, TestOutcome, Unlisted, UsageGrain, Vocabulary,
};

/// One value for each of [`LAKE_TABLES`], in their order.
pub type PerTable<T> = [T; 4];

/// One value for each table of a session's records: messages, tool calls, usage.
pub type PerRecordTable<T> = [T; 3];

/// The tables that the lake stores as Parquet, in the order in which a session is written.
pub static LAKE_TABLES: PerTable<&TableDef> = [&SESSIONS, &MESSAGES, &TOOL_CALLS, &USAGE];

/// The tables that `llrem sql` computes when a query names them: from the lake's state, the price table or the detectors.
pub static STATE_TABLES: [&TableDef; 4] = [&SOURCES, &RUNS, &PRICES, &FINDINGS];

/// Returns a column of nulls, or of zeros or empty texts if the field is not nullable.
pub(crate) fn blank_column(field: &Field, rows: usize) -> Result<ArrayRef, ArrowError> {
    if field.is_nullable() {
        return Ok(nullable::nulls(field.data_type(), rows));
    }
    let zeros = ArrayData::new_null(field.data_type(), rows).into_builder().nulls(None);
    Ok(make_array(zeros.build()?))
}

/// Returns the size of a batch's rows in memory. Bytes.
pub(crate) fn bytes_of(batch: &RecordBatch) -> Result<usize, ArrowError> {
    batch.columns().iter().map(|column| column.to_data().get_slice_memory_size()).sum()
}

/// Returns a fingerprint of the names and types of all columns of the lake's tables. A change forces re-extraction.
pub(crate) fn fingerprint() -> String {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    for column in LAKE_TABLES.into_iter().flat_map(|table| table.columns) {
        hasher.update(format!("{} {:?} {};", column.name, (column.data_type)(), column.nullable).as_bytes());
    }
    format!("{:016x}", hasher.digest())
}

/// The hive partition columns of every lake table, outermost first: name and meaning.
pub const PARTITION_COLUMNS: [(&str, &str); 3] = [
    (
        "machine",
        "Machine that the session ran on: the configured name, or else the host name when the lake was created.",
    ),
    ("agent", "Coding agent that wrote the session, as `llrem agents` names it."),
    ("month", "Month of the session's start, UTC, as YYYY-MM; `unknown` if the agent recorded no time."),
];
