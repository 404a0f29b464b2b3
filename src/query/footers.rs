//! A cache of footers by path, valid for the listed versions of files. Stores give times in whole seconds, so size and
//! time do not identify a version.

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::{HashMap, Result, TableReference};
// Not the type of the same name in this module: this is the one that the engine uses.
use datafusion::datasource::physical_plan::parquet::metadata::CachedParquetMetaData;
use datafusion::execution::cache::cache_manager::CachedFileMetadataEntry;
use datafusion::execution::cache::default_cache::DefaultCache;
use datafusion::execution::cache::{Cache, CacheEntryInfo};
use datafusion::object_store::path::Path;

use super::footer_folder::FooterFolder;
use super::seen::Seen;

/// Memory for footers. Bytes.
pub(super) const MEMORY: usize = 64 << 20;

/// Footers in memory and, of remote files, in a folder.
pub(super) struct Footers {
    memory: DefaultCache<Path, CachedFileMetadataEntry>,
    folder: Option<FooterFolder>,
    seen: Arc<Seen>,
}

impl Footers {
    pub(super) fn new(folder: Option<FooterFolder>, seen: Arc<Seen>) -> Self {
        Self { memory: DefaultCache::new(MEMORY), folder, seen }
    }
}

impl Cache<Path, CachedFileMetadataEntry> for Footers {
    fn get(&self, location: &Path) -> Option<CachedFileMetadataEntry> {
        let file = self.seen.listed(location)?;
        let known = self.memory.get(location);
        if let Some(known) = known.filter(|known| file.e_tag.is_some() && known.meta.e_tag == file.e_tag) {
            return Some(known);
        }
        let metadata = self.folder.as_ref()?.read(&file)?;
        let entry = CachedFileMetadataEntry::new(file, Arc::new(CachedParquetMetaData::new(Arc::new(metadata))));
        self.memory.put(location, entry.clone());
        Some(entry)
    }

    fn put(&self, location: &Path, mut entry: CachedFileMetadataEntry) -> Option<CachedFileMetadataEntry> {
        if let Some(folder) = &self.folder
            && let Some(footer) = entry.file_metadata.as_any().downcast_ref::<CachedParquetMetaData>()
        {
            folder.write(&entry.meta, footer.parquet_metadata());
        }
        // If the store lists no tags, the tag is known from reading.
        entry.meta.e_tag = entry.meta.e_tag.or_else(|| self.seen.tag(location));
        self.memory.put(location, entry)
    }

    fn remove(&self, location: &Path) -> Option<CachedFileMetadataEntry> {
        self.memory.remove(location)
    }

    fn contains_key(&self, location: &Path) -> bool {
        self.get(location).is_some()
    }

    fn len(&self) -> usize {
        self.memory.len()
    }

    fn clear(&self) {
        self.memory.clear();
    }

    fn name(&self) -> String {
        "Footers".to_owned()
    }

    fn cache_limit(&self) -> usize {
        self.memory.cache_limit()
    }

    fn update_cache_limit(&self, limit: usize) {
        self.memory.update_cache_limit(limit);
    }

    fn cache_ttl(&self) -> Option<Duration> {
        self.memory.cache_ttl()
    }

    fn update_cache_ttl(&self, ttl: Option<Duration>) {
        self.memory.update_cache_ttl(ttl);
    }

    fn drop_table_entries(&self, table: &TableReference) -> Result<()> {
        self.memory.drop_table_entries(table)
    }

    fn list_entries(&self) -> HashMap<Path, CacheEntryInfo<CachedFileMetadataEntry>> {
        self.memory.list_entries()
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::Schema;
    use datafusion::object_store::ObjectMeta;
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::ParquetMetaDataReader;

    use super::*;

    /// Versions of one file that differ only in their tags.
    fn file(tag: Option<&str>) -> ObjectMeta {
        ObjectMeta {
            location: Path::from("usage/a.parquet"),
            last_modified: chrono::DateTime::UNIX_EPOCH,
            size: 7,
            e_tag: tag.map(str::to_owned),
            version: None,
        }
    }

    fn entry(file: ObjectMeta) -> CachedFileMetadataEntry {
        let mut bytes = Vec::new();
        ArrowWriter::try_new(&mut bytes, Arc::new(Schema::empty()), None).unwrap().close().unwrap();
        let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes::Bytes::from(bytes)).unwrap();
        CachedFileMetadataEntry::new(file, Arc::new(CachedParquetMetaData::new(Arc::new(metadata))))
    }

    #[test]
    fn another_version_of_the_same_size_and_second_is_read_anew() {
        let seen = Arc::<Seen>::default();
        let footers = Footers::new(None, Arc::clone(&seen));
        let location = file(None).location;
        seen.note(&file(Some("one"))).unwrap();
        footers.put(&location, entry(file(Some("one"))));
        assert!(footers.contains_key(&location));
        seen.begin();
        assert!(!footers.contains_key(&location), "not listed");
        seen.note(&file(Some("one"))).unwrap();
        assert!(footers.contains_key(&location), "still the same");
        seen.begin();
        seen.note(&file(Some("two"))).unwrap();
        assert!(!footers.contains_key(&location));
    }

    #[test]
    fn where_no_tags_are_listed_a_footer_is_good_for_one_query() {
        let seen = Arc::<Seen>::default();
        let footers = Footers::new(None, Arc::clone(&seen));
        let location = file(None).location;
        seen.note(&file(None)).unwrap();
        seen.check(&location, &file(Some("one"))).unwrap();
        assert!(seen.check(&location, &file(Some("two"))).is_err(), "replaced between two readings");
        footers.put(&location, entry(file(None)));
        assert!(footers.contains_key(&location));
        seen.begin();
        seen.note(&file(None)).unwrap();
        assert!(!footers.contains_key(&location));
    }
}
