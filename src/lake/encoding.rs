//! How the columns of a data file are stored.

use parquet::basic::{Compression, Encoding as ParquetEncoding, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use crate::tables::{Encoding, TableDef};

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

/// Returns the encoder for a kind of encoding.
pub(super) fn encoder_of(encoding: Encoding) -> Encoder {
    match encoding {
        Encoding::Text | Encoding::Distinct => Encoder::Texts,
        Encoding::Words => Encoder::Words,
        Encoding::Rare | Encoding::Deltas | Encoding::Plain => Encoder::Library,
    }
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
