//! The pages of one column in one row group.

use std::io::{self, Write as _};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, EncodingMask, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriteSpec, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Most rows of a page.
pub(super) const PAGE_ROWS: usize = 20_000;

/// The content of a page of values.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) rows: usize,
    /// Size of the texts without their lengths. Bytes.
    pub(super) text_bytes: usize,
    pub(super) encoding: Encoding,
}

/// Pages written so far.
pub(super) struct PagesSoFar {
    written: TrackedWrite<Vec<u8>>,
    /// The dictionary page, if there is one.
    dictionary: Option<PageWritten>,
    pages: Vec<(Held, PageWritten)>,
}

/// Offset and size of a page.
#[derive(Clone, Copy)]
struct PageWritten {
    offset: u64,
    compressed: usize,
    uncompressed: usize,
}

/// All pages of a column in a row group. Equal columns can share them.
#[derive(Clone)]
pub(super) struct Pages {
    bytes: Bytes,
    dictionary: Option<PageWritten>,
    pages: Vec<(Held, PageWritten)>,
}

/// Statistics by which readers skip pages.
pub(super) struct Bounds {
    pub(super) of_all: Statistics,
    pub(super) of_pages: Option<ColumnIndexMetaData>,
}

impl PagesSoFar {
    pub(super) fn new() -> Self {
        Self { written: TrackedWrite::new(Vec::new()), dictionary: None, pages: Vec::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.written.bytes_written()
    }

    /// Adds a page of values: its compressed bytes, and its uncompressed size.
    pub(super) fn add(&mut self, bytes: Bytes, uncompressed: usize, held: Held) -> Result<()> {
        let page = Page::DataPage {
            buf: bytes,
            num_values: u32::try_from(held.rows)?,
            encoding: held.encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let written = self.write(page, uncompressed)?;
        self.pages.push((held, written));
        Ok(())
    }

    /// Adds the dictionary, which comes first and is not compressed.
    pub(super) fn add_dictionary(&mut self, bytes: Bytes, words: usize) -> Result<()> {
        let size = bytes.len();
        let num_values = u32::try_from(words)?;
        let page = Page::DictionaryPage { buf: bytes, num_values, encoding: Encoding::PLAIN, is_sorted: false };
        self.dictionary = Some(self.write(page, size)?);
        Ok(())
    }

    fn write(&mut self, page: Page, uncompressed: usize) -> Result<PageWritten> {
        let page = CompressedPage::new(page, uncompressed);
        let written: PageWriteSpec = SerializedPageWriter::new(&mut self.written).write_page(page)?;
        Ok(PageWritten {
            offset: written.offset,
            compressed: written.compressed_size,
            uncompressed: written.uncompressed_size,
        })
    }

    /// Copies other pages.
    pub(super) fn copy(&mut self, others: &mut Self) -> Result<()> {
        *self = Self::new();
        others.written.flush()?;
        self.written.write_all(others.written.inner())?;
        self.dictionary = others.dictionary;
        self.pages.clone_from(&others.pages);
        Ok(())
    }

    /// Returns all pages, and starts anew.
    pub(super) fn end(&mut self) -> Result<Pages> {
        let Self { written, dictionary, pages } = std::mem::replace(self, Self::new());
        Ok(Pages { bytes: written.into_inner()?.into(), dictionary, pages })
    }
}

impl Pages {
    /// Writes them as a column of a row group.
    pub(super) fn append(
        &self,
        column: &ColumnDescPtr,
        compression: Compression,
        bounds: Option<Bounds>,
        group: &mut SerializedRowGroupWriter<'_, impl io::Write + Send>,
    ) -> Result<()> {
        let mut offsets = OffsetIndexBuilder::new();
        for (held, written) in &self.pages {
            offsets.append_row_count(i64::try_from(held.rows)?);
            offsets.append_unencoded_byte_array_data_bytes(Some(i64::try_from(held.text_bytes)?));
            offsets.append_offset_and_size(i64::try_from(written.offset)?, i32::try_from(written.compressed)?);
        }
        let rows = self.pages.iter().map(|(held, _)| held.rows as u64).sum::<u64>();
        let uncompressed = self.dictionary.iter().chain(self.pages.iter().map(|(_, written)| written));
        let uncompressed = uncompressed.map(|written| written.uncompressed).sum::<usize>();
        let first = self.pages.first().map_or(0, |(_, written)| written.offset);
        let mut about = ColumnChunkMetaData::builder(column.clone())
            .set_compression(compression)
            .set_encodings_mask(EncodingMask::new_from_encodings(self.encodings().iter()))
            .set_page_encoding_stats(self.page_counts()?)
            .set_dictionary_page_offset(self.dictionary.map(|written| i64::try_from(written.offset)).transpose()?)
            .set_total_compressed_size(i64::try_from(self.bytes.len())?)
            .set_total_uncompressed_size(i64::try_from(uncompressed)?)
            .set_num_values(i64::try_from(rows)?)
            .set_data_page_offset(i64::try_from(first)?);
        let (statistics, column_index) = bounds.map_or((None, None), |bounds| (Some(bounds.of_all), bounds.of_pages));
        if let Some(statistics) = statistics {
            about = about.set_statistics(statistics);
        }
        let closed = ColumnCloseResult {
            bytes_written: self.bytes.len() as u64,
            rows_written: rows,
            metadata: about.build()?,
            bloom_filter: None,
            column_index,
            offset_index: Some(offsets.build()),
        };
        group.append_column(&self.bytes, closed)
    }

    /// Encodings of the values, of the dictionary, and of the levels of nullable columns.
    fn encodings(&self) -> Vec<Encoding> {
        let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
        if self.dictionary.is_some() {
            encodings.push(Encoding::RLE_DICTIONARY);
        }
        encodings
    }

    fn page_counts(&self) -> Result<Vec<PageEncodingStats>> {
        let encoding = self.pages.first().map_or(Encoding::PLAIN, |(held, _)| held.encoding);
        let values =
            PageEncodingStats { page_type: PageType::DATA_PAGE, encoding, count: i32::try_from(self.pages.len())? };
        let dictionary =
            PageEncodingStats { page_type: PageType::DICTIONARY_PAGE, encoding: Encoding::PLAIN, count: 1 };
        Ok(self.dictionary.map(|_| dictionary).into_iter().chain([values]).collect())
    }
}

/// Reads the files of the column tests.
#[cfg(test)]
pub(super) mod read_back {
    use arrow::array::{AsArray, RecordBatch};
    use arrow::compute::concat_batches;
    use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
    use parquet::file::metadata::PageIndexPolicy;

    use super::Bytes;

    pub(in crate::lake) type Texts = Vec<Option<String>>;

    pub(in crate::lake) fn reader(file: &Bytes) -> ParquetRecordBatchReaderBuilder<Bytes> {
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        ParquetRecordBatchReaderBuilder::try_new_with_options(file.clone(), options).unwrap()
    }

    /// Returns the texts of the first column.
    pub(in crate::lake) fn texts(reader: ParquetRecordBatchReaderBuilder<Bytes>) -> Texts {
        let schema = reader.schema().clone();
        let batches: Vec<RecordBatch> = reader.build().unwrap().collect::<Result<_, _>>().unwrap();
        let batch = concat_batches(&schema, &batches).unwrap();
        batch.column(0).as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
    }
}
