//! Rewrites one column of a data file. The other columns are copied without decoding.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::writer::SerializedFileWriter;

use super::encoding::properties;
use super::stored::StoredFile;
use super::syncer::Syncer;
use super::table_writer::{HashedFile, StagedFile, write_error};
use crate::error::Result;
use crate::tables::TableDef;

/// A change of a column.
pub(crate) struct Change<'c, F> {
    /// The column. It is no list.
    pub(crate) column: &'c str,
    /// The columns that the new values are computed from.
    pub(crate) of: &'c [&'c str],
    /// Computes the new values of some rows. The batch has the columns `of`, in the table's order.
    pub(crate) values: F,
}

/// Writes a copy of a data file of this version, with other values in a column. The old file stays.
pub(crate) fn write_changed<F>(
    from: &Path,
    to: &Path,
    table: &TableDef,
    change: &Change<'_, F>,
    syncer: &Syncer,
) -> Result<StagedFile>
where
    F: Fn(&RecordBatch) -> ParquetResult<ArrayRef>,
{
    let stored = StoredFile::open(from)?;
    let out = HashedFile::create(to)?;
    let written = copy(&stored, out, table, change).map_err(|error| write_error(error, to))?;
    let rows = stored.footer().metadata().file_metadata().num_rows().unsigned_abs();
    written.stage(to, rows, syncer)
}

fn copy<F>(stored: &StoredFile, out: HashedFile, table: &TableDef, change: &Change<'_, F>) -> ParquetResult<HashedFile>
where
    F: Fn(&RecordBatch) -> ParquetResult<ArrayRef>,
{
    let about = stored.footer().metadata().file_metadata();
    let properties = properties(table).into_builder().set_key_value_metadata(about.key_value_metadata().cloned());
    let schema = about.schema_descr().root_schema_ptr();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::new(properties.build()))?;
    let encoders = ArrowRowGroupWriterFactory::new(&writer, table.schema());
    for (group, chunks) in stored.groups().iter().enumerate() {
        let mut rows = writer.next_row_group()?;
        for (place, chunk) in chunks.columns().iter().enumerate() {
            if chunk.column_path().string() == change.column {
                encode(stored, group, place, table, &encoders, change)?.append_to_row_group(&mut rows)?;
            } else {
                stored.copy_column(group, place, &mut rows)?;
            }
        }
        rows.close()?;
    }
    writer.into_inner()
}

/// Computes the column of a row group.
fn encode<F>(
    stored: &StoredFile,
    group: usize,
    place: usize,
    table: &TableDef,
    encoders: &ArrowRowGroupWriterFactory,
    change: &Change<'_, F>,
) -> ParquetResult<ArrowColumnChunk>
where
    F: Fn(&RecordBatch) -> ParquetResult<ArrayRef>,
{
    let missing = || ParquetError::General(format!("no column {}", change.column));
    let schema = table.schema();
    let field = schema.field_with_name(change.column)?;
    let mut encoder = encoders.create_column_writers(group)?.into_iter().nth(place).ok_or_else(missing)?;
    let mask = ProjectionMask::columns(stored.columns(), change.of.iter().copied());
    let reader = stored.reader().map_err(|error| ParquetError::External(error.into()))?;
    for batch in reader.with_row_groups(vec![group]).with_projection(mask).build()? {
        for leaf in compute_leaves(field, &(change.values)(&batch?)?)? {
            encoder.write(&leaf)?;
        }
    }
    encoder.close()
}
