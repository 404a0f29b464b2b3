//! Writes one data file from new rows and from row groups of other files.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use arrow::compute::concat;
use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::writer::SerializedFileWriter;

use super::encoding::properties;
use super::fs;
use super::manifest::FileEntry;
use super::stored::StoredFile;
use super::syncer::Syncer;
use crate::error::{Error, Result};
use crate::tables::nullable::nulls;
use crate::tables::{TableDef, bytes_of};

/// Size at which row groups are closed. A writer holds a row group in memory, and a change of a session rewrites it.
/// Bytes as encoded and compressed; the last pages count uncompressed.
const ROW_GROUP_BYTES: usize = 3 << 20;
/// Largest batch that waits for others. Writing a batch costs as much as hundreds of rows.
const SMALL_ROWS: usize = 32;
/// Most rows that wait.
const WAITING_ROWS: usize = 512;
/// Most bytes that wait: a few rows may have large texts.
const WAITING_BYTES: usize = 4 << 20;

/// Writes the file of one table.
pub(crate) struct TableWriter {
    path: PathBuf,
    writer: SerializedFileWriter<HashedFile>,
    /// Creates the encoders of a row group's columns.
    encoders: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    /// The current row group.
    group: Option<RowGroup>,
    /// Rows of small sessions, which are written together.
    small: Vec<RecordBatch>,
    small_rows: usize,
    small_bytes: usize,
    rows: u64,
}

/// A staged file that is complete.
#[derive(Debug)]
pub struct StagedFile {
    pub(crate) path: PathBuf,
    pub(crate) entry: FileEntry,
}

impl TableWriter {
    pub(crate) fn create(path: &Path, table: &TableDef) -> Result<Self> {
        let file = HashedFile::create(path)?;
        Self::begin(file, path, table).map_err(Error::parquet(path))
    }

    fn begin(file: HashedFile, path: &Path, table: &TableDef) -> ParquetResult<Self> {
        let schema = table.schema();
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties(table)))?;
        let (writer, encoders) = writer.into_serialized_writer()?;
        Ok(Self {
            path: path.to_owned(),
            writer,
            encoders,
            schema,
            group: None,
            small: Vec::new(),
            small_rows: 0,
            small_bytes: 0,
            rows: 0,
        })
    }

    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let bytes = bytes_of(batch)?;
        if batch.num_rows() > SMALL_ROWS || bytes > WAITING_BYTES {
            return self.add_at_once(batch);
        }
        self.rows += batch.num_rows() as u64;
        self.small.push(batch.clone());
        self.small_rows += batch.num_rows();
        self.small_bytes += bytes;
        if self.small_rows > WAITING_ROWS || self.small_bytes > WAITING_BYTES { self.write_small() } else { Ok(()) }
    }

    /// Adds rows that do not wait for others, however few they are: they may be large.
    pub(crate) fn add_at_once(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        self.write_small()?;
        self.write(batch)
    }

    fn write_small(&mut self) -> Result<()> {
        (self.small_rows, self.small_bytes) = (0, 0);
        let small = std::mem::take(&mut self.small);
        match small.first() {
            Some(first) => self.write(&one_below_the_other(first.schema_ref(), &small)?),
            None => Ok(()),
        }
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.encode(batch).map_err(|error| write_error(error, &self.path))
    }

    fn encode(&mut self, batch: &RecordBatch) -> ParquetResult<()> {
        let mut from = 0;
        while from < batch.num_rows() {
            let rows = self.room()?.min(batch.num_rows() - from);
            self.encode_in_group(&batch.slice(from, rows))?;
            from += rows;
            if self.room()? == 0 {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn encode_in_group(&mut self, batch: &RecordBatch) -> ParquetResult<()> {
        let Some(group) = &mut self.group else { return Ok(()) };
        group.rows += batch.num_rows();
        let mut columns = group.columns.iter_mut();
        for (field, values) in self.schema.fields().iter().zip(batch.columns()) {
            for (leaf, column) in compute_leaves(field, values)?.iter().zip(&mut columns) {
                column.write(leaf)?;
            }
        }
        Ok(())
    }

    /// Returns how many more rows the row group takes, if they are as large as its rows so far.
    fn room(&mut self) -> ParquetResult<usize> {
        let group = match &mut self.group {
            Some(group) => group,
            none => none.insert(RowGroup::begin(&self.encoders, self.writer.flushed_row_groups().len())?),
        };
        let bytes = group.size();
        let left = ROW_GROUP_BYTES.saturating_sub(bytes);
        Ok(bytes.checked_div(group.rows).map_or(usize::MAX, |average| left / average.max(1)))
    }

    /// Writes the current row group.
    fn end_group(&mut self) -> ParquetResult<()> {
        let Some(group) = self.group.take().filter(|group| group.rows > 0) else { return Ok(()) };
        let mut out = self.writer.next_row_group()?;
        for column in group.columns {
            column.close()?.append_to_row_group(&mut out)?;
        }
        out.close()?;
        Ok(())
    }

    /// Copies a row group with the same columns from another file.
    pub(super) fn copy_group(&mut self, from: &StoredFile, group: usize) -> Result<()> {
        self.write_small()?;
        self.rows += from.groups().get(group).map_or(0, |group| group.num_rows().unsigned_abs());
        let copied = self.end_group().and_then(|()| {
            let mut out = self.writer.next_row_group()?;
            (0..from.columns().num_columns()).try_for_each(|column| from.copy_column(group, column, &mut out))?;
            out.close()
        });
        copied.map(|_| ()).map_err(|error| write_error(error, &self.path))
    }

    /// Completes the file, without syncing it.
    pub(crate) fn close(self) -> Result<(File, FileEntry)> {
        let (path, rows) = (self.path.clone(), self.rows);
        self.complete()?.close(&path, rows)
    }

    pub(super) fn finish(self, syncer: &Syncer) -> Result<StagedFile> {
        let (path, rows) = (self.path.clone(), self.rows);
        self.complete()?.stage(&path, rows, syncer)
    }

    fn complete(mut self) -> Result<HashedFile> {
        self.write_small()?;
        self.end_group().and_then(|()| self.writer.into_inner()).map_err(|error| write_error(error, &self.path))
    }
}

/// Columns of a row group in progress.
struct RowGroup {
    columns: Vec<ArrowColumnWriter>,
    rows: usize,
}

impl RowGroup {
    fn begin(encoders: &ArrowRowGroupWriterFactory, place: usize) -> ParquetResult<Self> {
        Ok(Self { columns: encoders.create_column_writers(place)?, rows: 0 })
    }

    /// Returns the size so far. Bytes.
    fn size(&self) -> usize {
        self.columns.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum()
    }
}

/// Concatenates batches. Most columns hold only nulls, and are not built value by value.
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

/// A full disk is an error of the system, not of Parquet.
pub(super) fn write_error(error: ParquetError, path: &Path) -> Error {
    if let ParquetError::External(source) = error {
        return match source.downcast::<io::Error>() {
            Ok(source) => Error::io("write", path)(*source),
            Err(source) => Error::parquet(path)(ParquetError::External(source)),
        };
    }
    Error::parquet(path)(error)
}

/// Bytes that are hashed and written in one go; more than Parquet passes on at a time.
const WRITTEN_AT_ONCE: usize = 128 << 10;

/// A file that computes the hash of its content.
pub(super) struct HashedFile(BufWriter<Hashed>);

struct Hashed {
    file: File,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl HashedFile {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let hashed = Hashed { file: fs::create(path)?, hasher: blake3::Hasher::new(), bytes: 0 };
        Ok(Self(BufWriter::with_capacity(WRITTEN_AT_ONCE, hashed)))
    }

    /// Returns the complete file, not synced yet, and its entry for the manifest.
    fn close(self, path: &Path, rows: u64) -> Result<(File, FileEntry)> {
        let hashed = self.0.into_inner().map_err(|error| Error::io("write", path)(error.into_error()))?;
        let Hashed { file, hasher, bytes } = hashed;
        Ok((file, FileEntry { rows, bytes, hash: *hasher.finalize().as_bytes() }))
    }

    /// Passes the complete file to the syncer.
    pub(super) fn stage(self, path: &Path, rows: u64, syncer: &Syncer) -> Result<StagedFile> {
        let (file, entry) = self.close(path, rows)?;
        syncer.sync(file, path)?;
        Ok(StagedFile { path: path.to_owned(), entry })
    }
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Write for Hashed {
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
