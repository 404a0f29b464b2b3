//! The encoding of the columns of a data file.

use parquet::basic::{Compression, Encoding as ParquetEncoding, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::tables::{Encoding, TableDef};

/// Size at which a page ends, so that the page in memory stays small. Bytes.
pub(super) const PAGE_BYTES: usize = 1 << 20;
/// Rows after which the writer of other than text columns checks whether a page is full.
const ROWS_AT_ONCE: usize = 2048;
/// zstd level: the lowest, because a run spends most of its time on compression.
pub(super) const ZSTD_LEVEL: i32 = 1;

/// Returns the compression of compressed columns.
pub(super) fn zstd() -> Compression {
    Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).unwrap_or_default())
}

/// The encoder of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoder {
    /// Texts without dictionary and statistics.
    Texts,
    /// Texts with few different values, with a dictionary.
    Words,
    /// Parquet's own writer.
    Library,
}

/// Returns the encoder for a kind of encoding.
pub(super) fn encoder_of(encoding: Encoding) -> Encoder {
    match encoding {
        Encoding::Text | Encoding::Distinct => Encoder::Texts,
        Encoding::Words => Encoder::Words,
        Encoding::Rare | Encoding::Deltas | Encoding::Plain => Encoder::Library,
    }
}

/// Returns the properties for columns that Parquet's own writer encodes. Only `Rare` ones are compressed: the writer
/// sets up a compressor for each column of each row group, which costs more than most of them save.
pub(super) fn properties(table: &TableDef) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_data_page_size_limit(PAGE_BYTES)
        .set_write_batch_size(ROWS_AT_ONCE)
        .set_created_by(format!("llrem {}", env!("CARGO_PKG_VERSION")));
    for column in table.columns {
        let path = ColumnPath::from(column.name);
        match column.encoding {
            Encoding::Rare => {
                properties = properties.set_column_compression(path.clone(), zstd());
                properties = properties.set_column_dictionary_enabled(path, false);
            }
            Encoding::Deltas => {
                properties = properties.set_column_encoding(path.clone(), ParquetEncoding::DELTA_BINARY_PACKED);
                properties = properties.set_column_dictionary_enabled(path, false);
            }
            Encoding::Text | Encoding::Distinct | Encoding::Words | Encoding::Plain => {}
        }
    }
    properties.build()
}
