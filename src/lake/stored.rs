//! An existing data file. Its row groups are read one by one, or copied unchanged.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, RowGroupMetaData};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::SchemaDescriptor;

use super::manifest::FileEntry;
use crate::error::{Error, Result};

/// An open data file and its footer.
pub(crate) struct StoredFile {
    path: PathBuf,
    file: File,
    footer: ArrowReaderMetadata,
}

/// Opens a data file, which must exist.
pub(super) fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Error::damaged(path)("it is missing"),
        _ => Error::io("read", path)(error),
    })
}

impl StoredFile {
    /// Opens a file, and reads its footer.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = open(path)?;
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let footer = ArrowReaderMetadata::load(&file, options).map_err(Error::damaged_parquet(path))?;
        Ok(Self { path: path.to_owned(), file, footer })
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its footer.
    pub(crate) fn footer(&self) -> &ArrowReaderMetadata {
        &self.footer
    }

    /// Returns its columns.
    pub(crate) fn columns(&self) -> &SchemaDescriptor {
        self.footer.metadata().file_metadata().schema_descr()
    }

    /// Returns its row groups, in order.
    pub(crate) fn groups(&self) -> &[RowGroupMetaData] {
        self.footer.metadata().row_groups()
    }

    /// Checks the hash of its bytes, because copied row groups are not decoded.
    pub(crate) fn check(&self, written: &FileEntry) -> Result<()> {
        let mut hasher = blake3::Hasher::new();
        let file = File::open(&self.path).map_err(Error::io("read", &self.path))?;
        hasher.update_reader(file).map_err(Error::io("read", &self.path))?;
        if *hasher.finalize().as_bytes() == written.hash {
            Ok(())
        } else {
            Err(Error::damaged(&self.path)("its content is not what was written"))
        }
    }

    /// Reads its rows, with the columns that they were written with.
    pub(crate) fn reader(&self) -> Result<ParquetRecordBatchReaderBuilder<File>> {
        let file = self.file.try_clone().map_err(Error::io("read", &self.path))?;
        Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.footer.clone()))
    }

    /// Copies a column of a row group into one that is being written, with its statistics and indexes.
    pub(crate) fn copy_column(
        &self,
        group: usize,
        place: usize,
        to: &mut SerializedRowGroupWriter<'_, impl io::Write + Send>,
    ) -> ParquetResult<()> {
        to.append_column(&self.file, as_it_stands(self.footer.metadata(), group, place))
    }
}

/// Returns the metadata of a column in a row group.
fn as_it_stands(metadata: &ParquetMetaData, group: usize, place: usize) -> ColumnCloseResult {
    let (rows, chunk) = (metadata.row_group(group), metadata.row_group(group).column(place));
    ColumnCloseResult {
        bytes_written: chunk.compressed_size().unsigned_abs(),
        rows_written: rows.num_rows().unsigned_abs(),
        metadata: chunk.clone(),
        bloom_filter: None,
        column_index: metadata.column_index().and_then(|groups| groups.get(group)?.get(place)).cloned(),
        offset_index: metadata.offset_index().and_then(|groups| groups.get(group)?.get(place)).cloned(),
    }
}
