//! Parquet files of a part: written to the staging folder, and read batch by batch.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, Fields, SchemaRef};
use arrow::error::ArrowError;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use rayon::prelude::*;

use super::stored::{self, StoredFile};
use super::syncer::Syncer;
use super::table_writer::{StagedFile, TableWriter};
use crate::error::{Error, Result};
use crate::tables::{LAKE_TABLES, PerTable, TableDef, blank_column};

/// Most rows that are read at a time.
const READ_ROWS: usize = 1024;
/// About the most bytes that are read at a time.
const READ_BYTES: u64 = 4 << 20;

/// Writes the four files of a part.
pub struct PartWriter<'s> {
    folder: PathBuf,
    stem: String,
    syncer: &'s Syncer,
    tables: PerTable<Option<TableWriter>>,
    is_side_by_side: bool,
}

impl<'s> PartWriter<'s> {
    /// Creates the writer. File names consist of the stem and the table.
    pub fn new(folder: &Path, stem: &str, syncer: &'s Syncer) -> Self {
        let (folder, stem) = (folder.to_owned(), stem.to_owned());
        Self { folder, stem, syncer, tables: [const { None }; 4], is_side_by_side: false }
    }

    /// Lets all threads write the files, if they have nothing else to do.
    #[must_use]
    pub(crate) fn side_by_side(self, is_side_by_side: bool) -> Self {
        Self { is_side_by_side, ..self }
    }

    /// Adds rows to the tables, from an index in `LAKE_TABLES` on.
    pub(crate) fn write_all(&mut self, from: usize, batches: &[RecordBatch]) -> Result<()> {
        for (table, _) in (from..).zip(batches).filter(|(_, batch)| batch.num_rows() > 0) {
            self.table(table)?;
        }
        let add = |(table, batch): (&mut Option<TableWriter>, &RecordBatch)| match table {
            Some(table) if batch.num_rows() > 0 => table.add(batch),
            _ => Ok(()),
        };
        if self.is_side_by_side {
            self.tables.par_iter_mut().skip(from).zip(batches).try_for_each(add)
        } else {
            self.tables.iter_mut().skip(from).zip(batches).try_for_each(add)
        }
    }

    /// Adds rows to a table, by its index in `LAKE_TABLES`.
    pub fn write(&mut self, table: usize, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.table(table)?.map_or(Ok(()), |writer| writer.add(batch))
    }

    /// Copies a row group unchanged to a table, by its index in `LAKE_TABLES`.
    pub(crate) fn copy_group(&mut self, table: usize, from: &StoredFile, group: usize) -> Result<()> {
        self.table(table)?.map_or(Ok(()), |writer| writer.copy_group(from, group))
    }

    /// Writes the file of a table, by its index in `LAKE_TABLES`, also if it gets no rows.
    pub(crate) fn write_file(&mut self, table: usize) -> Result<()> {
        self.table(table).map(drop)
    }

    fn table(&mut self, table: usize) -> Result<Option<&mut TableWriter>> {
        let (Some(definition), Some(slot)) = (LAKE_TABLES.get(table), self.tables.get_mut(table)) else {
            return Ok(None);
        };
        if slot.is_none() {
            let path = self.folder.join(format!("{}.{}", self.stem, definition.name));
            *slot = Some(TableWriter::create(&path, definition)?);
        }
        Ok(slot.as_mut())
    }

    /// Completes the files, and passes them to the syncer.
    pub fn finish(self) -> Result<PerTable<Option<StagedFile>>> {
        let Self { tables, syncer, is_side_by_side, .. } = self;
        let mut staged = [const { None }; 4];
        let finish = |(slot, table): (&mut Option<StagedFile>, Option<TableWriter>)| -> Result<()> {
            *slot = table.map(|table| table.finish(syncer)).transpose()?;
            Ok(())
        };
        if is_side_by_side {
            staged.par_iter_mut().zip(tables).try_for_each(finish)?;
        } else {
            staged.iter_mut().zip(tables).try_for_each(finish)?;
        }
        Ok(staged)
    }
}

/// Reads the rows of a table's data file in order.
pub(crate) fn read(path: &Path, table: &TableDef) -> Result<PartReader> {
    let file = stored::open(path)?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::damaged_parquet(path))?;
    let rows = rows_of(reader.metadata(), READ_BYTES);
    let reader = reader.with_batch_size(rows).build().map_err(Error::damaged_parquet(path))?;
    Ok(PartReader { path: path.to_owned(), reader, schema: table.schema() })
}

/// Reads the rows of one row group of a table's data file.
pub(crate) fn read_group(file: &StoredFile, group: usize, table: &TableDef) -> Result<PartReader> {
    let reader = file.reader()?.with_row_groups(vec![group]).with_batch_size(READ_ROWS).build();
    let reader = reader.map_err(Error::damaged_parquet(file.path()))?;
    Ok(PartReader { path: file.path().to_owned(), reader, schema: table.schema() })
}

/// Reads the rows of an open data file in order, in batches of about `bytes`.
pub(crate) fn read_opened(file: File, path: &Path, table: &TableDef, bytes: u64) -> Result<PartReader> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::parquet(path))?;
    let rows = rows_of(reader.metadata(), bytes);
    let reader = reader.with_batch_size(rows).build().map_err(Error::parquet(path))?;
    Ok(PartReader { path: path.to_owned(), reader, schema: table.schema() })
}

/// Returns how many rows have about so many bytes.
fn rows_of(file: &ParquetMetaData, bytes: u64) -> usize {
    let size = |group: &RowGroupMetaData| group.total_byte_size().max(1) / group.num_rows().max(1) + 1;
    let largest = file.row_groups().iter().map(size).max().unwrap_or(1);
    usize::try_from(bytes / largest.unsigned_abs().max(1)).unwrap_or(READ_ROWS).clamp(1, READ_ROWS)
}

/// True if a file has exactly the table's current columns.
pub(crate) fn has_columns_of(file: &StoredFile, table: &TableDef) -> bool {
    let (found, wanted) = (file.footer().schema().fields(), table.schema());
    is_as_wanted(found, wanted.fields())
}

/// The rows of a data file, with the table's current columns.
pub(crate) struct PartReader {
    path: PathBuf,
    reader: ParquetRecordBatchReader,
    schema: SchemaRef,
}

impl Iterator for PartReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        let batch = batch.and_then(|batch| with_columns_of(&self.schema, batch));
        Some(batch.map_err(|error| Error::parquet(&self.path)(error.into())))
    }
}

/// Converts a batch of another version to the columns of this one. New columns are null, 0 or false.
fn with_columns_of(schema: &SchemaRef, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    if is_as_wanted(batch.schema_ref().fields(), schema.fields()) {
        return Ok(batch);
    }
    let column = |field: &FieldRef| match batch.column_by_name(field.name()) {
        Some(column) => Ok(Arc::clone(column)),
        None => blank_column(field, batch.num_rows()),
    };
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>, ArrowError>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns)
}

fn is_as_wanted(found: &Fields, wanted: &Fields) -> bool {
    let kind = |field: &FieldRef| (field.name().clone(), field.is_nullable());
    found.iter().map(kind).eq(wanted.iter().map(kind))
}
