//! The encoding of the columns of a data file.

use parquet::basic::{Compression, Encoding as ParquetEncoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::tables::{Encoding, TableDef};

/// Size at which a page ends, so that the page in memory stays small. Bytes.
const PAGE_BYTES: usize = 1 << 20;
/// Rows after which the writer checks whether a page is full.
const ROWS_AT_ONCE: usize = 2048;
/// zstd level: the lowest, because a run spends most of its time on compression.
const ZSTD_LEVEL: i32 = 1;

/// Returns the properties of a table's columns. Only texts and rare values are compressed: the writer sets up a
/// compressor for each column of each row group, which costs more than the other columns save.
pub(super) fn properties(table: &TableDef) -> WriterProperties {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).unwrap_or_default());
    let mut properties = WriterProperties::builder()
        .set_data_page_size_limit(PAGE_BYTES)
        .set_write_batch_size(ROWS_AT_ONCE)
        .set_created_by(format!("llrem {}", env!("CARGO_PKG_VERSION")));
    for column in table.columns {
        let path = || ColumnPath::from(column.name);
        if matches!(column.encoding, Encoding::Text | Encoding::Rare) {
            properties = properties.set_column_compression(path(), zstd);
        }
        if matches!(column.encoding, Encoding::Text | Encoding::Rare | Encoding::Deltas) {
            properties = properties.set_column_dictionary_enabled(path(), false);
        }
        if column.encoding == Encoding::Text {
            properties = properties.set_column_statistics_enabled(path(), EnabledStatistics::None);
        }
        if column.encoding == Encoding::Deltas {
            properties = properties.set_column_encoding(path(), ParquetEncoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}
