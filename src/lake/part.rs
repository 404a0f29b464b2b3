//! Parquet files of a part: written to the staging folder, read back batch by batch.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::compute::concat;
use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::fs;
use super::manifest::FileEntry;
use super::syncer::Syncer;
use crate::error::{Error, Result};
use crate::tables::nullable::nulls;
use crate::tables::{LAKE_TABLES, TableDef, blank_column};

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

/// Row groups are closed at this size, which a writer holds in memory. Bytes as encoded and compressed.
const ROW_GROUP_BYTES: usize = 8 << 20;
/// Pages end at this size, so that one that is being written stays small. Bytes.
const PAGE_BYTES: usize = 1 << 20;
/// zstd level: the lowest, because compression is what a run spends most of its time on.
const ZSTD_LEVEL: i32 = 1;
/// Rows that are read at a time.
const READ_ROWS: usize = 1024;

/// Only texts and identities are compressed: a compressor is set up for each column of each row group, which costs more
/// than the other columns hold.
pub(super) fn properties(table: &TableDef) -> WriterProperties {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).unwrap_or_default());
    let mut properties = WriterProperties::builder()
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
        .set_data_page_size_limit(PAGE_BYTES)
        .set_write_batch_size(256)
        .set_created_by(format!("llrem {}", env!("CARGO_PKG_VERSION")));
    for column in table.columns {
        let path = ColumnPath::from(column.name);
        let is_text = TEXTS.contains(&column.name);
        let is_identity = IDENTITIES.contains(&column.name);
        if is_text || is_identity {
            properties = properties.set_column_compression(path.clone(), zstd);
            properties = properties.set_column_dictionary_enabled(path.clone(), false);
        }
        if NUMBERS.contains(&column.name) {
            properties = properties.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
            properties = properties.set_column_dictionary_enabled(path.clone(), false);
        }
        if is_text || is_identity && !RARE.contains(&column.name) {
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    properties.build()
}

/// Writes the four files of a part.
pub struct PartWriter<'s> {
    folder: PathBuf,
    stem: String,
    syncer: &'s Syncer,
    tables: [Option<TableWriter>; 4],
}

/// Writes the file of one table.
pub(crate) struct TableWriter {
    path: PathBuf,
    writer: ArrowWriter<HashedFile>,
    /// Rows of small sessions, which together are written in one go.
    small: Vec<RecordBatch>,
    small_rows: usize,
    rows: u64,
}

/// Batches up to so many rows wait for others: each that is written costs as much as hundreds of rows.
const SMALL_ROWS: usize = 32;
/// Rows that wait at most.
const WAITING_ROWS: usize = 512;

/// A written file that waits to be put in its place.
#[derive(Debug)]
pub struct StagedFile {
    pub(crate) path: PathBuf,
    pub(crate) entry: FileEntry,
}

impl<'s> PartWriter<'s> {
    /// Files are named by the stem and their table.
    pub fn new(folder: &Path, stem: &str, syncer: &'s Syncer) -> Self {
        Self { folder: folder.to_owned(), stem: stem.to_owned(), syncer, tables: [const { None }; 4] }
    }

    /// Adds rows to a table, by its place in `LAKE_TABLES`.
    pub fn write(&mut self, table: usize, batch: &RecordBatch) -> Result<()> {
        let (Some(definition), Some(slot)) = (LAKE_TABLES.get(table), self.tables.get_mut(table)) else {
            return Ok(());
        };
        if batch.num_rows() == 0 {
            return Ok(());
        }
        if slot.is_none() {
            let path = self.folder.join(format!("{}.{}", self.stem, definition.name));
            *slot = Some(TableWriter::create(&path, definition)?);
        }
        slot.as_mut().map_or(Ok(()), |table| table.add(batch))
    }

    /// Completes the files, and leaves them to the syncer.
    pub fn finish(self) -> Result<[Option<StagedFile>; 4]> {
        let mut staged = [const { None }; 4];
        for (slot, table) in staged.iter_mut().zip(self.tables) {
            *slot = table.map(|table| table.finish(self.syncer)).transpose()?;
        }
        Ok(staged)
    }
}

impl TableWriter {
    pub(crate) fn create(path: &Path, table: &TableDef) -> Result<Self> {
        let file = HashedFile::create(path)?;
        let writer = ArrowWriter::try_new(file, table.schema(), Some(properties(table)));
        let writer = writer.map_err(Error::parquet(path))?;
        Ok(Self { path: path.to_owned(), writer, small: Vec::new(), small_rows: 0, rows: 0 })
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() > SMALL_ROWS {
            return self.add_at_once(batch);
        }
        self.rows += batch.num_rows() as u64;
        self.small.push(batch.clone());
        self.small_rows += batch.num_rows();
        if self.small_rows > WAITING_ROWS { self.write_small() } else { Ok(()) }
    }

    /// Adds rows that do not wait for others, however few they are: they may be large.
    pub(crate) fn add_at_once(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        self.write_small()?;
        self.write(batch)
    }

    fn write_small(&mut self) -> Result<()> {
        self.small_rows = 0;
        let small = std::mem::take(&mut self.small);
        match small.first() {
            Some(first) => self.write(&one_below_the_other(first.schema_ref(), &small)?),
            None => Ok(()),
        }
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.writer.write(batch).map_err(|error| write_error(error, &self.path))
    }

    /// Completes the file; it is not yet on the disk.
    pub(crate) fn close(self) -> Result<(File, FileEntry)> {
        let rows = self.rows;
        Ok(self.complete()?.close(rows))
    }

    fn finish(self, syncer: &Syncer) -> Result<StagedFile> {
        let (path, rows) = (self.path.clone(), self.rows);
        self.complete()?.stage(&path, rows, syncer)
    }

    fn complete(mut self) -> Result<HashedFile> {
        self.write_small()?;
        self.writer.into_inner().map_err(|error| write_error(error, &self.path))
    }
}

/// One batch of many. Columns of nulls, which most are, are not put together value by value.
fn one_below_the_other(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch, ArrowError> {
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let column = |(place, field): (usize, &FieldRef)| {
        let parts: Vec<&dyn Array> =
            batches.iter().filter_map(|batch| Some(batch.columns().get(place)?.as_ref())).collect();
        if parts.iter().all(|part| part.null_count() == part.len()) {
            return Ok(nulls(field.data_type(), rows));
        }
        concat(&parts)
    };
    let columns = schema.fields().iter().enumerate().map(column).collect::<Result<Vec<_>, ArrowError>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
}

/// A full disk is the system's error, not Parquet's.
pub(super) fn write_error(error: parquet::errors::ParquetError, path: &Path) -> Error {
    if let parquet::errors::ParquetError::External(source) = error {
        return match source.downcast::<io::Error>() {
            Ok(source) => Error::io("write", path)(*source),
            Err(source) => Error::parquet(path)(parquet::errors::ParquetError::External(source)),
        };
    }
    Error::parquet(path)(error)
}

/// A file that knows the hash of what was written.
pub(super) struct HashedFile {
    file: File,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl HashedFile {
    pub(super) fn create(path: &Path) -> Result<Self> {
        Ok(Self { file: fs::create(path)?, hasher: blake3::Hasher::new(), bytes: 0 })
    }

    /// The file, which is complete but not yet on the disk, and what the manifest says of it.
    fn close(self, rows: u64) -> (File, FileEntry) {
        (self.file, FileEntry { rows, bytes: self.bytes, hash: *self.hasher.finalize().as_bytes() })
    }

    /// Leaves the complete file to the syncer.
    pub(super) fn stage(self, path: &Path, rows: u64, syncer: &Syncer) -> Result<StagedFile> {
        let (file, entry) = self.close(rows);
        syncer.sync(file, path)?;
        Ok(StagedFile { path: path.to_owned(), entry })
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Reads the rows of a table's data file in order.
pub(crate) fn read(path: &Path, table: &TableDef) -> Result<PartReader> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Error::damaged(path)("it is missing")),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::damaged(path))?;
    let reader = reader.with_batch_size(READ_ROWS).build().map_err(Error::damaged(path))?;
    Ok(PartReader { reader, schema: table.schema() })
}

/// Reads the rows of an open data file in order; few at a time where they are large. A batch has some `bytes`.
pub(crate) fn read_opened(file: File, path: &Path, table: &TableDef, bytes: u64) -> Result<PartReader> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::parquet(path))?;
    let size = |group: &RowGroupMetaData| group.total_byte_size().max(1) / group.num_rows().max(1) + 1;
    let largest = reader.metadata().row_groups().iter().map(size).max().unwrap_or(1);
    let rows = usize::try_from(bytes / largest.unsigned_abs().max(1)).unwrap_or(READ_ROWS).clamp(1, READ_ROWS);
    let reader = reader.with_batch_size(rows).build().map_err(Error::parquet(path))?;
    Ok(PartReader { reader, schema: table.schema() })
}

/// The rows of a data file, with the columns that its table has now.
pub(crate) struct PartReader {
    reader: ParquetRecordBatchReader,
    schema: SchemaRef,
}

impl Iterator for PartReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        Some(batch.and_then(|batch| with_columns_of(&self.schema, batch)))
    }
}

/// A batch that another version wrote, with the columns of this one: what it did not know is null, 0 or false.
fn with_columns_of(schema: &SchemaRef, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let (found, wanted) = (batch.schema_ref().fields().iter(), schema.fields().iter());
    let kind = |field: &FieldRef| (field.name().clone(), field.is_nullable());
    if found.map(kind).eq(wanted.map(kind)) {
        return Ok(batch);
    }
    let column = |field: &FieldRef| match batch.column_by_name(field.name()) {
        Some(column) => Ok(Arc::clone(column)),
        None => blank_column(field, batch.num_rows()),
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>, ArrowError>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
}
