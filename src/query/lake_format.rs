//! Statistics of the lake's Parquet files for the planner and the readers. The engine's own format collects the minimum
//! and maximum of every column of every file before a query starts, and reads the Arrow schema of each file. With
//! hundreds of files, that takes longer than most queries, which need only rows and bytes; the rest is read when a file
//! is opened.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef, TimeUnit};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, ScalarValue, Statistics};
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::file_format::{FileFormat, FileMeta};
use datafusion::datasource::physical_plan::parquet::metadata::{CachedParquetMetaData, DFParquetMetadata};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::DataFusionError;
use datafusion::execution::cache::cache_manager::{CachedFileMetadataEntry, FileMetadataCache};
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_plan::ExecutionPlan;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataBuilder,
};
use parquet::file::statistics::Statistics as ChunkStatistics;

/// Parquet files with a known schema.
#[derive(Debug)]
pub(super) struct LakeFormat {
    parquet: ParquetFormat,
    /// Bytes at the end of a file that are read at once.
    footer: Option<usize>,
    pages: PageIndexPolicy,
}

impl LakeFormat {
    /// Creates the format, with the number of bytes at the end of a file to read at once, and with or without the page
    /// index.
    pub(super) fn new(footer: Option<usize>, pages: PageIndexPolicy) -> Self {
        Self { parquet: ParquetFormat::default().with_metadata_size_hint(footer), footer, pages }
    }

    /// Reads the footer of a file in a task of its own, so that many are read in parallel.
    async fn footer(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        file: &ObjectMeta,
    ) -> Result<Arc<ParquetMetaData>> {
        let footers = state.runtime_env().cache_manager.get_file_metadata_cache();
        if let Some(known) = known(&*footers, file) {
            return Ok(known);
        }
        let (store, file, size, pages) = (Arc::clone(store), file.clone(), self.footer, self.pages);
        let task = SpawnedTask::spawn(async move {
            let reading = DFParquetMetadata::new(store.as_ref(), &file).with_metadata_size_hint(size);
            let footer = reading.with_page_index_policy(Some(pages)).fetch_metadata().await?;
            let footer = Arc::new(without_schema(Arc::unwrap_or_clone(footer)));
            let cached = Arc::new(CachedParquetMetaData::new(Arc::clone(&footer)));
            footers.put(&file.location, CachedFileMetadataEntry::new(file.clone(), cached));
            Ok(footer)
        });
        task.join_unwind().await.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?
    }
}

fn known(footers: &FileMetadataCache, file: &ObjectMeta) -> Option<Arc<ParquetMetaData>> {
    let entry = footers.get(&file.location).filter(|entry| entry.is_valid_for(file))?;
    Some(Arc::clone(entry.file_metadata.as_any().downcast_ref::<CachedParquetMetaData>()?.parquet_metadata()))
}

/// Removes the Arrow schema from a footer, because it would be parsed each time the file is opened. It adds nothing to
/// the Parquet schema and the table's own.
fn without_schema(footer: ParquetMetaData) -> ParquetMetaData {
    let file = footer.file_metadata();
    let bare = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        None,
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    let mut parts = footer.into_builder();
    let (groups, columns, offsets) = (parts.take_row_groups(), parts.take_column_index(), parts.take_offset_index());
    ParquetMetaDataBuilder::new(bare).set_row_groups(groups).set_column_index(columns).set_offset_index(offsets).build()
}

/// Returns the rows, and the bytes by column: the planner needs them to choose which side of a join to hold. For
/// timestamps also the minimum, maximum and number of nulls: whole files are skipped by them.
fn statistics(footer: &ParquetMetaData, schema: &SchemaRef) -> Statistics {
    let rows = usize::try_from(footer.file_metadata().num_rows()).unwrap_or_default();
    let bytes = |column: &str| {
        let leaf = leaf_of(footer, column)?;
        let sizes = footer.row_groups().iter().filter_map(|group| group.columns().get(leaf));
        usize::try_from(sizes.map(ColumnChunkMetaData::uncompressed_size).sum::<i64>()).ok()
    };
    let columns = schema.fields().iter().map(|field| {
        let size = match field.data_type().primitive_width() {
            Some(width) => Precision::Exact(width * rows),
            None => bytes(field.name()).map_or(Precision::Absent, Precision::Inexact),
        };
        let known = ColumnStatistics::new_unknown().with_byte_size(size);
        match field.data_type() {
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                with_moments(known, footer, field.name(), zone.as_ref())
            }
            _ => known,
        }
    });
    Statistics {
        num_rows: Precision::Exact(rows),
        total_byte_size: Precision::Absent,
        column_statistics: columns.collect(),
    }
}

/// Returns the index of a column in the file.
fn leaf_of(footer: &ParquetMetaData, column: &str) -> Option<usize> {
    let leaves = footer.file_metadata().schema_descr();
    (0..leaves.num_columns()).find(|leaf| leaves.get_column_root(*leaf).name() == column)
}

/// Adds the statistics of a timestamp column, if the footer has all of them.
fn with_moments(
    known: ColumnStatistics,
    footer: &ParquetMetaData,
    column: &str,
    zone: Option<&Arc<str>>,
) -> ColumnStatistics {
    let leaf = leaf_of(footer, column);
    let (mut nulls, mut first, mut last) = (0, None, None);
    for group in footer.row_groups() {
        let chunk = leaf.and_then(|leaf| group.columns().get(leaf)?.statistics());
        let Some(ChunkStatistics::Int64(chunk)) = chunk else { return known };
        let Some(absent) = chunk.null_count_opt() else { return known };
        if absent != group.num_rows().unsigned_abs() && chunk.min_opt().is_none() {
            return known;
        }
        nulls += usize::try_from(absent).unwrap_or(usize::MAX);
        first = first.into_iter().chain(chunk.min_opt().copied()).min();
        last = last.max(chunk.max_opt().copied());
    }
    let known = known.with_null_count(Precision::Exact(nulls));
    let exact = |moment| Precision::Exact(ScalarValue::TimestampMicrosecond(Some(moment), zone.cloned()));
    match first.zip(last) {
        Some((first, last)) => known.with_min_value(exact(first)).with_max_value(exact(last)),
        None => known,
    }
}

#[async_trait]
impl FileFormat for LakeFormat {
    fn get_ext(&self) -> String {
        self.parquet.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.parquet.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.parquet.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        files: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        self.parquet.infer_schema(state, store, files).await
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        file: &ObjectMeta,
    ) -> Result<Statistics> {
        Ok(statistics(&*self.footer(state, store, file).await?, &schema))
    }

    async fn infer_stats_and_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        file: &ObjectMeta,
    ) -> Result<FileMeta> {
        Ok(FileMeta::new(self.infer_stats(state, store, schema, file).await?))
    }

    async fn create_physical_plan(&self, state: &dyn Session, scan: FileScanConfig) -> Result<Arc<dyn ExecutionPlan>> {
        self.parquet.create_physical_plan(state, scan).await
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        self.parquet.file_source(schema)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
    use arrow::datatypes::{Field, Schema};
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::ParquetMetaDataReader;

    use super::*;

    fn footer(schema: &SchemaRef) -> ParquetMetaData {
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, Arc::clone(schema), None).unwrap();
        for numbers in [vec![1, 2], vec![3]] {
            let texts = StringArray::from(vec!["text"; numbers.len()]);
            let columns = vec![Arc::new(Int64Array::from(numbers)) as _, Arc::new(texts) as _];
            writer.write(&RecordBatch::try_new(Arc::clone(schema), columns).unwrap()).unwrap();
            writer.flush().unwrap();
        }
        writer.close().unwrap();
        ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(bytes)).unwrap()
    }

    #[test]
    fn the_planner_is_told_of_rows_and_bytes() {
        let fields = [("number", DataType::Int64), ("text", DataType::Utf8)];
        let schema = Arc::new(Schema::new(fields.map(|(name, kind)| Field::new(name, kind, true)).to_vec()));
        let footer = footer(&schema);
        assert!(footer.file_metadata().key_value_metadata().is_some(), "the writer puts the Arrow schema there");
        let footer = without_schema(footer);
        assert_eq!(footer.file_metadata().key_value_metadata(), None);
        assert_eq!(footer.num_row_groups(), 2);

        let asked = Arc::new(Schema::new(vec![
            schema.field(1).clone(),
            schema.field(0).clone(),
            Field::new("newer", DataType::Utf8, true),
        ]));
        let known = statistics(&footer, &asked);
        assert_eq!(known.num_rows, Precision::Exact(3));
        let text: i64 = footer.row_groups().iter().map(|group| group.column(1).uncompressed_size()).sum();
        let sizes: Vec<_> = known.column_statistics.iter().map(|column| column.byte_size).collect();
        assert_eq!(
            sizes,
            [Precision::Inexact(usize::try_from(text).unwrap()), Precision::Exact(24), Precision::Absent]
        );
    }

    #[test]
    fn of_moments_the_planner_is_told_their_span_and_whether_any_is_missing() {
        let field =
            |name| Field::new(name, DataType::Timestamp(TimeUnit::Microsecond, Some("Asia/Tokyo".into())), true);
        let schema = Arc::new(Schema::new(vec![field("some"), field("none"), field("all")]));
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, Arc::clone(&schema), None).unwrap();
        for (some, all) in [([Some(7), None], [3, 4]), ([None, None], [2, 9])] {
            let column = |moments: [Option<i64>; 2]| {
                Arc::new(TimestampMicrosecondArray::from(moments.to_vec()).with_timezone("Asia/Tokyo")) as ArrayRef
            };
            let columns = vec![column(some), column([None, None]), column(all.map(Some))];
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()).unwrap();
            writer.flush().unwrap();
        }
        writer.close().unwrap();
        let footer = ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(bytes)).unwrap();
        let known = statistics(
            &footer,
            &Arc::new(Schema::new([schema.fields().to_vec(), vec![Arc::new(field("newer"))]].concat())),
        );
        let known: Vec<_> = known
            .column_statistics
            .into_iter()
            .map(|column| (column.null_count, column.min_value, column.max_value))
            .collect();
        let exact =
            |moment| Precision::Exact(ScalarValue::TimestampMicrosecond(Some(moment), Some("Asia/Tokyo".into())));
        assert_eq!(
            known,
            [
                (Precision::Exact(3), exact(7), exact(7)),
                (Precision::Exact(4), Precision::Absent, Precision::Absent),
                (Precision::Exact(0), exact(2), exact(9)),
                (Precision::Absent, Precision::Absent, Precision::Absent),
            ]
        );
    }
}
