//! A cache of remote files' footers in a local folder, so that the next query does not fetch them again.

use std::path::Path;

use datafusion::object_store::ObjectMeta;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};

use super::cache_folder::{self, CacheFolder};

/// A folder of cached footers.
#[derive(Debug)]
pub(super) struct FooterFolder {
    entries: CacheFolder,
    /// Distinguishes this lake's files from others.
    url: String,
}

impl FooterFolder {
    /// Opens the cache of the lake at a URL.
    pub(super) fn new(cache: &Path, url: &str) -> Self {
        Self { entries: CacheFolder::new(cache, "footers"), url: url.to_owned() }
    }

    /// Returns the footer of a file, with its page index, or `None` if it is not cached.
    pub(super) fn read(&self, file: &ObjectMeta) -> Option<ParquetMetaData> {
        let content = self.entries.read(&self.name(file)?)?;
        let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
        reader.parse_and_finish(&content).ok()
    }

    /// Caches a footer.
    pub(super) fn write(&self, file: &ObjectMeta, metadata: &ParquetMetaData) {
        let Some(name) = self.name(file).filter(|_| is_complete(metadata)) else { return };
        let mut content = Vec::new();
        if ParquetMetaDataWriter::new(&mut content, metadata).finish().is_ok() {
            self.entries.write(&name, &content);
        }
    }

    /// Returns the name of the entry for exactly that version, or `None` if the store does not identify versions.
    fn name(&self, file: &ObjectMeta) -> Option<String> {
        let tag = file.e_tag.as_deref()?;
        Some(cache_folder::name([self.url.as_str(), file.location.as_ref(), tag, &file.size.to_string()]))
    }
}

/// True if it has the page index that it refers to. Its offset in the file means nothing here.
fn is_complete(metadata: &ParquetMetaData) -> bool {
    let mut columns = metadata.row_groups().iter().flat_map(parquet::file::metadata::RowGroupMetaData::columns);
    metadata.offset_index().is_some()
        || columns.all(|column| column.offset_index_offset().is_none() && column.column_index_offset().is_none())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, RecordBatch};
    use datafusion::object_store::path::Path as Location;
    use parquet::arrow::ArrowWriter;

    use super::*;

    fn file(tag: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            location: Location::from("usage/a.parquet"),
            last_modified: chrono::DateTime::UNIX_EPOCH,
            size: 7,
            e_tag: tag.map(str::to_owned),
            version: None,
        }
    }

    fn metadata() -> ParquetMetaData {
        let numbers = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 5])) as _)]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, numbers.schema(), None).unwrap();
        writer.write(&numbers).unwrap();
        writer.close().unwrap();
        let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
        reader.parse_and_finish(&bytes::Bytes::from(bytes)).unwrap()
    }

    fn count(folder: &Path) -> usize {
        let entries = walkdir::WalkDir::new(folder).into_iter().map(std::result::Result::unwrap);
        entries.filter(|entry| entry.file_type().is_file()).count()
    }

    #[test]
    fn a_footer_comes_back_for_that_version_only() {
        let folder = tempfile::tempdir().unwrap();
        let footers = FooterFolder::new(folder.path(), "s3://b/x");
        let metadata = metadata();
        footers.write(&file(Some("one")), &metadata);
        let found = footers.read(&file(Some("one"))).unwrap();
        let statistics = |metadata: &ParquetMetaData| metadata.row_group(0).column(0).statistics().cloned();
        assert_eq!(statistics(&found), statistics(&metadata));
        assert_eq!(found.row_group(0).column(0).byte_range(), metadata.row_group(0).column(0).byte_range());
        assert_eq!(found.column_index(), metadata.column_index());
        assert!(found.offset_index().is_some());
        assert!(footers.read(&file(Some("two"))).is_none());
        assert!(footers.read(&ObjectMeta { size: 8, ..file(Some("one")) }).is_none());
        assert!(FooterFolder::new(folder.path(), "s3://c/x").read(&file(Some("one"))).is_none());
        footers.write(&file(None), &metadata);
        assert_eq!(count(folder.path()), 1, "what has no version is not kept");
    }
}
