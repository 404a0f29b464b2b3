//! Parquet files and Arrow streams, for other programs.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::Rows;
use super::target::Target;

/// A Parquet file, compressed with zstd.
pub(super) struct Parquet(ArrowWriter<Target>);

impl Parquet {
    pub(super) fn new(target: Target, schema: &SchemaRef) -> Result<Self, ArrowError> {
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = ArrowWriter::try_new(target, schema.clone(), Some(properties));
        writer.map(Self).map_err(failed)
    }
}

impl Rows for Parquet {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.0.write(batch).map_err(failed)
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        self.0.finish().map(drop).map_err(failed)
    }
}

/// An Arrow IPC stream.
pub(super) struct Arrow(StreamWriter<Target>);

impl Arrow {
    pub(super) fn new(target: Target, schema: &SchemaRef) -> Result<Self, ArrowError> {
        StreamWriter::try_new(target, schema).map(Self)
    }
}

impl Rows for Arrow {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.0.write(batch)
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        self.0.finish()
    }
}

fn failed(error: ParquetError) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}
