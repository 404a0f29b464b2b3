//! Files, read as they were listed. `llrem etl` and `llrem upload` replace files. A query that read the new bytes with
//! the old footer could give wrong rows; here it fails, and starts again.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, coalesce_ranges,
};
use futures::future::{BoxFuture, ready};
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};

use super::local_files::LocalFiles;
use super::seen::{self, Seen};
use crate::remote::{Remote, Scheme, persistently};

/// Ranges with a smaller gap are read in one request to a remote store: the gap costs less than another request, but is
/// smaller than a text column. Bytes.
const GAP: u64 = 64 << 10;

/// Reads files while they are the listed ones. Writes nothing.
#[derive(Debug)]
pub(super) struct PinnedFiles {
    files: Files,
    seen: Arc<Seen>,
}

#[derive(Debug)]
enum Files {
    Local(LocalFiles),
    Remote(Remote),
}

impl Display for PinnedFiles {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("PinnedFiles")
    }
}

impl PinnedFiles {
    /// Opens files of this machine.
    pub(super) fn local(files: LocalFiles, seen: Arc<Seen>) -> Self {
        Self { files: Files::Local(files), seen }
    }

    /// Opens files of a remote store.
    pub(super) fn remote(remote: Remote, seen: Arc<Seen>) -> Self {
        Self { files: Files::Remote(remote), seen }
    }

    fn pin(&self, mut options: GetOptions, location: &Path) -> GetOptions {
        if let Some(tag) = self.seen.tag(location) {
            options.if_match = Some(self.quoted(tag));
        }
        options
    }

    /// Some stores list tags without their quotes, but accept them only with quotes.
    fn quoted(&self, tag: String) -> String {
        let is_bare = matches!(&self.files, Files::Remote(remote) if remote.place.scheme != Scheme::File)
            && !tag.starts_with(['"', 'W']);
        if is_bare { format!("\"{tag}\"") } else { tag }
    }

    /// Reads the whole body at once, so that a broken connection can be retried.
    async fn fetch(&self, remote: &Remote, location: &Path, options: GetOptions) -> Result<GetResult> {
        let found = remote.store.get_opts(location, options.clone()).await?;
        // Not every server supports `If-Match`.
        self.seen.check(location, &found.meta)?;
        if options.head {
            return Ok(found);
        }
        let (meta, range, attributes) = (found.meta.clone(), found.range.clone(), found.attributes.clone());
        let bytes = found.bytes().await?;
        if bytes.len() as u64 != range.end - range.start {
            return Err(seen::replaced(location));
        }
        let payload = GetResultPayload::Stream(stream::once(ready(Ok(bytes))).boxed());
        Ok(GetResult { payload, meta, range, attributes })
    }

    fn noted(&self, found: ListResult) -> Result<ListResult> {
        found.objects.iter().try_for_each(|file| self.seen.note(file))?;
        Ok(found)
    }

    fn explained(&self, remote: &Remote, action: &'static str, location: &Path, error: Error) -> Error {
        self.seen.stopped(remote, action, location, &error);
        error
    }
}

fn refused<'a, T: Send + 'a>(operation: &str) -> BoxFuture<'a, Result<T>> {
    ready(Err(refusal(operation))).boxed()
}

fn refusal(operation: &str) -> Error {
    Error::NotImplemented { operation: operation.to_owned(), implementer: "PinnedFiles".to_owned() }
}

impl ObjectStore for PinnedFiles {
    fn get_opts<'me, 'path, 'call>(
        &'me self,
        location: &'path Path,
        options: GetOptions,
    ) -> BoxFuture<'call, Result<GetResult>>
    where
        'me: 'call,
        'path: 'call,
    {
        let options = self.pin(options, location);
        let remote = match &self.files {
            Files::Local(files) => return ready(files.read(location, &options)).boxed(),
            Files::Remote(remote) => remote,
        };
        async move {
            self.seen.refuse_barrier(remote, location)?;
            let fetched = persistently(|| self.fetch(remote, location, options.clone())).await;
            fetched.map_err(|error| self.explained(remote, "read", location, error))
        }
        .boxed()
    }

    fn get_ranges<'me, 'path, 'ranges, 'call>(
        &'me self,
        location: &'path Path,
        ranges: &'ranges [Range<u64>],
    ) -> BoxFuture<'call, Result<Vec<Bytes>>>
    where
        'me: 'call,
        'path: 'call,
        'ranges: 'call,
    {
        async move {
            let Files::Local(files) = &self.files else {
                return coalesce_ranges(ranges, |range| self.get_range(location, range), GAP).await;
            };
            // Yields: a task that reads at once never waits, and would keep other threads from the task that it woke
            // last. Half of a scan would start only after the other half.
            tokio::task::yield_now().await;
            files.read_ranges(location, &self.pin(GetOptions::default(), location), ranges).await
        }
        .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let remote = match &self.files {
            Files::Local(files) => {
                let found = files.list(prefix, usize::MAX).and_then(|found| self.noted(found));
                let (files, failed) = found.map_or_else(|error| (vec![], Some(error)), |found| (found.objects, None));
                return stream::iter(files.into_iter().map(Ok).chain(failed.map(Err))).boxed();
            }
            Files::Remote(remote) => remote.clone(),
        };
        let (seen, folder) = (Arc::clone(&self.seen), prefix.cloned().unwrap_or_default());
        let files = remote.store.list(prefix).map(move |file| {
            let noted = file.and_then(|file| seen.note(&file).map(|()| file));
            noted.inspect_err(|error| seen.stopped(&remote, "list", &folder, error))
        });
        files.boxed()
    }

    fn list_with_delimiter<'me, 'path, 'call>(
        &'me self,
        prefix: Option<&'path Path>,
    ) -> BoxFuture<'call, Result<ListResult>>
    where
        'me: 'call,
        'path: 'call,
    {
        let remote = match &self.files {
            Files::Local(files) => return ready(files.list(prefix, 1).and_then(|found| self.noted(found))).boxed(),
            Files::Remote(remote) => remote,
        };
        async move {
            let found = remote.store.list_with_delimiter(prefix).await;
            let noted = found.and_then(|found| self.noted(found));
            noted.map_err(|error| self.explained(remote, "list", &prefix.cloned().unwrap_or_default(), error))
        }
        .boxed()
    }

    fn put_opts<'me, 'path, 'call>(
        &'me self,
        _: &'path Path,
        _: PutPayload,
        _: PutOptions,
    ) -> BoxFuture<'call, Result<PutResult>>
    where
        'me: 'call,
        'path: 'call,
    {
        refused("put")
    }

    fn put_multipart_opts<'me, 'path, 'call>(
        &'me self,
        _: &'path Path,
        _: PutMultipartOptions,
    ) -> BoxFuture<'call, Result<Box<dyn MultipartUpload>>>
    where
        'me: 'call,
        'path: 'call,
    {
        refused("put")
    }

    fn delete_stream(&self, _: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        stream::once(ready(Err(refusal("delete")))).boxed()
    }

    fn copy_opts<'me, 'from, 'to, 'call>(
        &'me self,
        _: &'from Path,
        _: &'to Path,
        _: CopyOptions,
    ) -> BoxFuture<'call, Result<()>>
    where
        'me: 'call,
        'from: 'call,
        'to: 'call,
    {
        refused("copy")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
    async fn a_file_replaced_after_it_was_listed_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.parquet");
        std::fs::write(&file, "old").unwrap();
        let store = PinnedFiles::local(LocalFiles::new(None), Arc::default());
        let prefix = Path::from_filesystem_path(folder.path()).unwrap();
        let listed: Vec<_> = store.list(Some(&prefix)).collect().await;
        let location = listed[0].as_ref().unwrap().location.clone();
        assert_eq!(store.get(&location).await.unwrap().bytes().await.unwrap(), "old".as_bytes());
        assert_eq!(store.get_ranges(&location, &[0..1, 1..2]).await.unwrap().len(), 2);

        let new = folder.path().join("new");
        std::fs::write(&new, "new").unwrap();
        std::fs::rename(&new, &file).unwrap();
        assert!(matches!(store.get(&location).await, Err(Error::Precondition { .. })));
        assert!(matches!(store.get_range(&location, 0..1).await, Err(Error::Precondition { .. })));
        assert!(matches!(store.get_ranges(&location, &[0..1, 1..2]).await, Err(Error::Precondition { .. })));
        let again: Vec<_> = store.list(Some(&prefix)).collect().await;
        assert!(matches!(again[0], Err(Error::Precondition { .. })), "two versions in one query");
        store.seen.begin();
        let _: Vec<_> = store.list(Some(&prefix)).collect().await;
        assert_eq!(store.get(&location).await.unwrap().bytes().await.unwrap(), "new".as_bytes());
    }

    #[tokio::test]
    async fn nothing_is_written() {
        let store = PinnedFiles::local(LocalFiles::new(None), Arc::default());
        assert!(store.put(&Path::from("tmp/x"), "x".into()).await.is_err());
        assert!(store.delete(&Path::from("tmp/x")).await.is_err());
        assert!(store.copy(&Path::from("tmp/x"), &Path::from("tmp/y")).await.is_err());
    }
}
