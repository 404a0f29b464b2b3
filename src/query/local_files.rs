//! Files of this machine, read by the calling thread. `object_store` passes each small read to another thread. That takes
//! longer than the read itself.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    Attributes, Error, GetOptions, GetResult, GetResultPayload, ListResult, ObjectMeta, Result, coalesce_ranges,
};
use futures::future::ready;
use futures::{StreamExt, stream};
use walkdir::WalkDir;

use crate::lake::fs;

/// Ranges with a smaller gap are read at once: copying the gap takes as long as another call. Bytes.
const GAP: u64 = 8 << 10;

/// Lists and reads files.
#[derive(Debug)]
pub(super) struct LocalFiles {
    /// Maps locations to paths.
    paths: LocalFileSystem,
    /// Files to list; `None` for all.
    only: Option<HashSet<Path>>,
}

impl LocalFiles {
    /// Opens these files, or all.
    pub(super) fn new(only: Option<HashSet<Path>>) -> Self {
        Self { paths: LocalFileSystem::new(), only }
    }

    /// Reads a file, or a range of it, if it is the version that the options ask for.
    pub(super) fn read(&self, location: &Path, options: &GetOptions) -> Result<GetResult> {
        let (path, mut file, meta) = self.open(location, options)?;
        let range = options.range.as_ref().map_or(Ok(0..meta.size), |range| range.as_range(meta.size));
        let range = range.map_err(|error| failed(&path)(io::Error::other(error)))?;
        let bytes =
            if options.head { Bytes::new() } else { read(&mut file, range.start, range.end).map_err(failed(&path))? };
        let payload = GetResultPayload::Stream(stream::once(ready(Ok(bytes))).boxed());
        Ok(GetResult { payload, meta, range, attributes: Attributes::new() })
    }

    /// Reads ranges of a file, if it is the version that the options ask for.
    pub(super) async fn read_ranges(
        &self,
        location: &Path,
        options: &GetOptions,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        let (path, mut file, _) = self.open(location, options)?;
        coalesce_ranges(ranges, |range| ready(read(&mut file, range.start, range.end).map_err(failed(&path))), GAP)
            .await
    }

    fn open(&self, location: &Path, options: &GetOptions) -> Result<(PathBuf, File, ObjectMeta)> {
        let path = self.paths.path_to_filesystem(location)?;
        let file = File::open(&path).map_err(failed(&path))?;
        let metadata = file.metadata().map_err(failed(&path))?;
        let meta = described(location.clone(), &metadata).map_err(failed(&path))?;
        options.check_preconditions(&meta)?;
        Ok((path, file, meta))
    }

    /// Lists the files and folders in a folder down to some depth. If the folder does not exist, the list is empty.
    pub(super) fn list(&self, folder: Option<&Path>, depth: usize) -> Result<ListResult> {
        let root = self.paths.path_to_filesystem(folder.unwrap_or(&Path::default()))?;
        let mut found = ListResult { common_prefixes: Vec::new(), objects: Vec::new() };
        for entry in WalkDir::new(&root).min_depth(1).max_depth(depth).follow_links(true) {
            match entry.map_err(io::Error::from).and_then(|entry| Ok((entry.metadata()?, entry))) {
                Ok((metadata, entry)) => {
                    let location = Path::from_absolute_path(entry.path())?;
                    if metadata.is_dir() {
                        found.common_prefixes.push(location);
                    } else if self.only.as_ref().is_none_or(|only| only.contains(&location)) {
                        found.objects.push(described(location, &metadata).map_err(failed(entry.path()))?);
                    }
                }
                // A folder that disappeared after its parent was read, or that never existed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(&root)(error)),
            }
        }
        Ok(found)
    }
}

fn read(file: &mut File, start: u64, end: u64) -> io::Result<Bytes> {
    let length = usize::try_from(end - start).map_err(io::Error::other)?;
    let mut bytes = Vec::with_capacity(length);
    file.seek(SeekFrom::Start(start))?;
    file.take(end - start).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.into())
}

/// Describes a file, with a tag that changes with the version: a run replaces a file by a new one.
fn described(location: Path, metadata: &Metadata) -> io::Result<ObjectMeta> {
    let modified = DateTime::<Utc>::from(metadata.modified()?);
    let (size, nanoseconds) = (metadata.len(), modified.timestamp_nanos_opt().unwrap_or_default());
    let tag = format!("{:x}-{nanoseconds:x}-{size:x}", fs::number(metadata));
    Ok(ObjectMeta { location, last_modified: modified, size, e_tag: Some(tag), version: None })
}

fn failed(path: &std::path::Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.display().to_string();
    move |error| match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound { path, source: error.into() },
        _ => Error::Generic { store: "LocalFiles", source: format!("`{path}`: {error}").into() },
    }
}

#[cfg(test)]
mod tests {
    use datafusion::object_store::GetRange;

    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
    async fn files_are_listed_and_read_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a b%")).unwrap();
        std::fs::write(folder.path().join("a b%/c#.parquet"), "0123456789").unwrap();
        let root = Path::from_absolute_path(folder.path()).unwrap();
        let files = LocalFiles::new(None);

        let top = files.list(Some(&root), 1).unwrap();
        assert_eq!((top.objects.len(), top.common_prefixes.len()), (0, 1));
        let all = files.list(Some(&root), usize::MAX).unwrap();
        let file = &all.objects[0];
        let text = async |range| {
            let options = GetOptions { range, if_match: file.e_tag.clone(), ..GetOptions::default() };
            let found = files.read(&file.location, &options)?;
            Ok::<_, Error>(String::from_utf8(found.bytes().await?.to_vec()).unwrap())
        };
        assert_eq!(text(None).await.unwrap(), "0123456789");
        assert_eq!(text(Some(GetRange::Bounded(2..4))).await.unwrap(), "23");
        assert_eq!(text(Some(GetRange::Suffix(3))).await.unwrap(), "789");
        assert!(text(Some(GetRange::Offset(11))).await.is_err());
        let none = root.clone().join("none");
        assert!(files.list(Some(&none), usize::MAX).unwrap().objects.is_empty());
        let gone = files.read(&none, &GetOptions::default());
        assert!(matches!(gone, Err(Error::NotFound { .. })));

        std::fs::write(folder.path().join("other.parquet"), "").unwrap();
        let listed = |files: &LocalFiles| files.list(Some(&root), usize::MAX).unwrap().objects.len();
        let one = LocalFiles::new(Some(HashSet::from([file.location.clone()])));
        assert_eq!((listed(&files), listed(&one)), (2, 1));
    }
}
