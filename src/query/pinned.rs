//! Local files, read as they were listed. A run of `llrem etl` renames new files over old ones; a query that then read
//! the new bytes by the old footer could give wrong rows. Here it gives an error, and the query begins anew.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use futures::future::{BoxFuture, ready};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};

/// Reads local files as long as they are the listed ones; writes nothing.
#[derive(Debug, Default)]
pub(super) struct PinnedFiles {
    files: LocalFileSystem,
    listed: Arc<Mutex<HashMap<Path, Option<String>>>>,
}

impl Display for PinnedFiles {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("PinnedFiles")
    }
}

impl PinnedFiles {
    fn pin(&self, mut options: GetOptions, location: &Path) -> GetOptions {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tag) = listed.get(location) {
            options.if_match.clone_from(tag);
        }
        options
    }
}

fn remember(listed: &Mutex<HashMap<Path, Option<String>>>, file: &ObjectMeta) {
    let mut listed = listed.lock().unwrap_or_else(PoisonError::into_inner);
    listed.insert(file.location.clone(), file.e_tag.clone());
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
        self.files.get_opts(location, self.pin(options, location))
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let listed = Arc::clone(&self.listed);
        let files = self.files.list(prefix);
        files.inspect(move |file| file.iter().for_each(|file| remember(&listed, file))).boxed()
    }

    fn list_with_delimiter<'me, 'path, 'call>(
        &'me self,
        prefix: Option<&'path Path>,
    ) -> BoxFuture<'call, Result<ListResult>>
    where
        'me: 'call,
        'path: 'call,
    {
        let files = self.files.list_with_delimiter(prefix);
        files
            .inspect(|found| {
                found.iter().flat_map(|found| &found.objects).for_each(|file| remember(&self.listed, file));
            })
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
        futures::stream::once(ready(Err(refusal("delete")))).boxed()
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
    use datafusion::object_store::ObjectStoreExt;

    use super::*;

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "files of the test's own")]
    async fn a_file_replaced_after_it_was_listed_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.parquet");
        std::fs::write(&file, "old").unwrap();
        let store = PinnedFiles::default();
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
        let _: Vec<_> = store.list(Some(&prefix)).collect().await;
        assert_eq!(store.get(&location).await.unwrap().bytes().await.unwrap(), "new".as_bytes());
    }

    #[tokio::test]
    async fn nothing_is_written() {
        let store = PinnedFiles::default();
        assert!(store.put(&Path::from("tmp/x"), "x".into()).await.is_err());
        assert!(store.delete(&Path::from("tmp/x")).await.is_err());
        assert!(store.copy(&Path::from("tmp/x"), &Path::from("tmp/y")).await.is_err());
    }
}
