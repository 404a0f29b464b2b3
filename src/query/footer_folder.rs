//! A cache of remote files' footers in a local folder, so that the next query does not fetch them again. Any process
//! may write and remove entries at any time: each is written to a temporary file and renamed, and is ignored if it is
//! damaged.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use datafusion::object_store::ObjectMeta;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter};

use crate::Result;
use crate::lake::fs;

/// Magic bytes before a footer. They change with the format.
const MAGIC: &[u8; 8] = b"LLREMFT1";
/// Size to which the folder is reduced. Bytes.
const LIMIT: u64 = 256 << 20;
/// Bytes that a process writes before it checks the size of the folder again.
const BETWEEN_LOOKS: u64 = LIMIT / 8;

/// Number of files written by this process, for names of temporary files.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A folder of cached footers.
#[derive(Debug)]
pub(super) struct FooterFolder {
    folder: PathBuf,
    /// Distinguishes this lake's files from others.
    url: String,
    /// Bytes written since the size was checked. Starts high, so that it is checked early.
    written: AtomicU64,
}

impl FooterFolder {
    /// Opens the cache of the lake at a URL.
    pub(super) fn new(folder: &Path, url: &str) -> Self {
        Self { folder: folder.join("footers"), url: url.to_owned(), written: AtomicU64::new(BETWEEN_LOOKS) }
    }

    /// Returns the footer of a file, with its page index, or `None` if it is not cached or damaged.
    pub(super) fn read(&self, file: &ObjectMeta) -> Option<ParquetMetaData> {
        let bytes = std::fs::read(self.path(file)?).ok()?;
        let (hash, content) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
        if blake3::hash(content).as_bytes() != hash {
            return None;
        }
        let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
        reader.parse_and_finish(&bytes::Bytes::copy_from_slice(content)).ok()
    }

    /// Caches a footer. Errors are ignored, so that they do not fail the query.
    pub(super) fn write(&self, file: &ObjectMeta, metadata: &ParquetMetaData) {
        let Some(path) = self.path(file).filter(|_| is_complete(metadata)) else { return };
        let mut content = Vec::new();
        if ParquetMetaDataWriter::new(&mut content, metadata).finish().is_ok() {
            let _ = self.keep(&path, &content);
        }
    }

    fn keep(&self, path: &Path, content: &[u8]) -> Result<()> {
        let folder = path.parent().unwrap_or(&self.folder);
        fs::make_folder(folder)?;
        if self.written.fetch_add(content.len() as u64, Ordering::Relaxed) >= BETWEEN_LOOKS {
            self.written.store(0, Ordering::Relaxed);
            bring_below(&self.folder, LIMIT)?;
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(blake3::hash(content).as_bytes());
        bytes.extend_from_slice(content);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!(".new-{}-{number}", std::process::id()));
        fs::write_unsynced(&temporary, &bytes).and_then(|_| fs::rename(&temporary, path)).inspect_err(|_| {
            let _ = fs::remove(&temporary);
        })
    }

    /// Returns the path of the entry for exactly that version, or `None` if the store does not identify versions.
    fn path(&self, file: &ObjectMeta) -> Option<PathBuf> {
        let tag = file.e_tag.as_deref()?;
        let mut hasher = blake3::Hasher::new();
        for part in [self.url.as_str(), file.location.as_ref(), tag, &file.size.to_string()] {
            hasher.update(part.as_bytes()).update(&[0]);
        }
        let name = hasher.finalize().to_hex();
        let (start, rest) = name.split_at_checked(2)?;
        Some(self.folder.join(start).join(rest))
    }
}

/// True if it has the page index that it refers to. Its offset in the file means nothing here.
fn is_complete(metadata: &ParquetMetaData) -> bool {
    let mut columns = metadata.row_groups().iter().flat_map(parquet::file::metadata::RowGroupMetaData::columns);
    metadata.offset_index().is_some()
        || columns.all(|column| column.offset_index_offset().is_none() && column.column_index_offset().is_none())
}

/// Removes the oldest entries until the rest fits.
fn bring_below(folder: &Path, limit: u64) -> Result<()> {
    let entries = walkdir::WalkDir::new(folder).into_iter().filter_map(std::result::Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_file()).filter_map(|entry| {
        let metadata = entry.metadata().ok()?;
        Some((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), metadata.len(), entry.into_path()))
    });
    let mut files: Vec<_> = files.collect();
    let mut size: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    files.sort();
    for (_, bytes, path) in files {
        if size <= limit {
            break;
        }
        fs::remove(&path)?;
        size -= bytes;
    }
    Ok(())
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

    fn all(folder: &Path) -> Vec<PathBuf> {
        let entries = walkdir::WalkDir::new(folder).into_iter().map(std::result::Result::unwrap);
        entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
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
        assert_eq!(all(folder.path()).len(), 1, "what has no version is not kept");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
    fn a_damaged_footer_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let footers = FooterFolder::new(folder.path(), "s3://b/x");
        footers.write(&file(Some("one")), &metadata());
        let path = all(folder.path()).remove(0);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, &damaged).unwrap();
            assert!(footers.read(&file(Some("one"))).is_none(), "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert!(footers.read(&file(Some("one"))).is_none(), "cut off at {at}");
        }
        footers.write(&file(Some("one")), &metadata());
        assert!(footers.read(&file(Some("one"))).is_some(), "written again");
    }

    #[test]
    #[cfg(unix)]
    fn nobody_else_may_read_them() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        FooterFolder::new(&folder.path().join("llrem"), "s3://b/x").write(&file(Some("one")), &metadata());
        let modes: Vec<u32> = walkdir::WalkDir::new(folder.path().join("llrem"))
            .into_iter()
            .map(|entry| entry.unwrap().metadata().unwrap().permissions().mode() & 0o777)
            .collect();
        assert_eq!(modes, [0o700, 0o700, 0o700, 0o600]);
    }

    #[test]
    fn the_folder_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let footers = FooterFolder::new(folder.path(), "s3://b/x");
        for tag in 0..20 {
            footers.write(&file(Some(&tag.to_string())), &metadata());
        }
        let sizes: u64 = all(folder.path()).iter().map(|path| path.metadata().unwrap().len()).sum();
        let one = sizes / 20;
        bring_below(folder.path(), one * 5).unwrap();
        assert_eq!(all(folder.path()).len(), 5);
        bring_below(folder.path(), one * 5).unwrap();
        assert_eq!(all(folder.path()).len(), 5);
    }
}
