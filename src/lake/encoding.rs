//! How each column of a data file is stored.

use arrow::datatypes::{DataType, Field};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::tables::TableDef;

/// Texts: no dictionary and no statistics, which would only repeat them.
const TEXTS: [&str; 8] = ["text", "thinking", "input", "output", "command", "title", "summary", "source_path"];
/// Identities: nearly every value is another one, so that a dictionary or the least and greatest of them would only cost.
const IDENTITIES: [&str; 11] = [
    "message_id",
    "parent_id",
    "text_sketch",
    "call_id",
    "response_id",
    "request_id",
    "input_key",
    "input_shape",
    "output_key",
    "error_key",
    "child_session_id",
];

/// Identities that whole files may be without: that they are is worth knowing.
const RARE: [&str; 3] = ["request_id", "error_key", "child_session_id"];

/// Whole numbers that differ from row to row: their differences, packed to the bit, are smaller than a dictionary with its
/// places or than plain numbers compressed, and cost less than either.
const NUMBERS: [&str; 14] = [
    "timestamp",
    "started_at",
    "ended_at",
    "seq",
    "source_line",
    "output_bytes",
    "duration_ms",
    "active_ms",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "total_tokens",
];

/// Pages end at this size, so that one that is being written stays small. Bytes.
pub(super) const PAGE_BYTES: usize = 1 << 20;
/// Rows after which the writer of columns that are not of texts alone looks whether a page is full.
const ROWS_AT_ONCE: usize = 2048;
/// zstd level: the lowest, because compression is what a run spends most of its time on.
pub(super) const ZSTD_LEVEL: i32 = 1;

/// The compression of what is compressed.
pub(super) fn zstd() -> Compression {
    Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).unwrap_or_default())
}

/// What encodes a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoder {
    /// Texts alone: without dictionary and without statistics.
    Texts,
    /// Words of which there are few, by way of a dictionary.
    Words,
    /// Whatever Parquet's own writer makes of it.
    Library,
}

/// What encodes the column.
pub(super) fn encoder_of(field: &Field) -> Encoder {
    let name = field.name().as_str();
    match field.data_type() {
        DataType::Utf8 if TEXTS.contains(&name) || is_identity(name) && !RARE.contains(&name) => Encoder::Texts,
        DataType::Utf8 if !is_identity(name) => Encoder::Words,
        _ => Encoder::Library,
    }
}

/// Whether a column's values name something, and nearly each is another one.
pub(super) fn is_identity(column: &str) -> bool {
    IDENTITIES.contains(&column)
}

/// For the columns that Parquet's own writer encodes. It sets up a compressor for each column of each row group, which costs
/// more than most of them hold.
pub(super) fn properties(table: &TableDef) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_data_page_size_limit(PAGE_BYTES)
        .set_write_batch_size(ROWS_AT_ONCE)
        .set_created_by(format!("llrem {}", env!("CARGO_PKG_VERSION")));
    for column in table.columns {
        let path = ColumnPath::from(column.name);
        if RARE.contains(&column.name) {
            properties = properties.set_column_compression(path.clone(), zstd());
            properties = properties.set_column_dictionary_enabled(path.clone(), false);
        }
        if NUMBERS.contains(&column.name) {
            properties = properties.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
            properties = properties.set_column_dictionary_enabled(path, false);
        }
    }
    properties.build()
}
