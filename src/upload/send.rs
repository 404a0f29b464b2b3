//! Uploads one file, unchanged or rewritten, in one request or in parts.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use object_store::path::Path as StorePath;
use object_store::{ObjectMeta, ObjectStoreExt, PutPayload};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::profile::Rewriter;
use crate::lake::fs;
use crate::lake::layout::Layout;
use crate::lake::manifest::{FileEntry, Manifest};
use crate::redact::Counts;
use crate::remote::manifest::{FileKey, RemoteFile, file_key};
use crate::remote::{Remote, persistently};
use crate::tables::LAKE_TABLES;
use crate::{Error, Result};

/// Size above which files are uploaded in parts. Bytes.
const LARGE: u64 = 8 << 20;
/// Size of a part; larger if the file would otherwise need more than 10,000 parts, the limit of stores. Bytes.
const PART: u64 = 8 << 20;
/// Parts of one file that are uploaded at a time.
const PARTS_AT_A_TIME: usize = 4;
/// Most files that are rewritten at a time, but no more than cores; each takes some 40 MB.
const REWRITTEN_AT_A_TIME: usize = 4;
/// Memory for parts that are being uploaded. KiB.
const BUDGET_KIB: usize = 64 << 10;

/// State that all files of an upload share.
pub(super) struct Sender {
    pub(super) remote: Remote,
    pub(super) layout: Layout,
    pub(super) lake: Manifest,
    pub(super) profile: Rewriter,
    /// Folder for rewritten files.
    outgoing: PathBuf,
    /// Free memory.
    budget: Arc<Semaphore>,
    /// Free cores for rewriting.
    cores: Arc<Semaphore>,
    /// Bytes of the lake's files that were uploaded since the last call.
    arrived: Arc<AtomicU64>,
}

/// Result of uploading a file.
pub(super) enum Sent {
    /// It was uploaded.
    Put(Box<RemoteFile>, Counts),
    /// The lake has replaced it.
    Changed,
}

/// A file that is ready to upload.
struct Ready {
    path: PathBuf,
    entry: FileEntry,
    replaced: Counts,
    /// True if it was written for the upload, and has to be deleted.
    is_rewritten: bool,
}

impl Drop for Ready {
    fn drop(&mut self) {
        if self.is_rewritten {
            let _ = fs::remove(&self.path);
        }
    }
}

impl Sender {
    pub(super) fn new(remote: Remote, layout: Layout, lake: Manifest, profile: Rewriter, outgoing: PathBuf) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(REWRITTEN_AT_A_TIME);
        let (budget, cores) = (Arc::new(Semaphore::new(BUDGET_KIB)), Arc::new(Semaphore::new(cores)));
        Self { remote, layout, lake, profile, outgoing, budget, cores, arrived: Arc::default() }
    }

    /// Returns the bytes of the lake's files that were uploaded since the last call.
    pub(super) fn take_arrived(&self) -> u64 {
        self.arrived.swap(0, Ordering::Relaxed)
    }

    /// Returns the uploaded size of a file, and what was replaced in it, or `None` if the lake has replaced the file.
    pub(super) async fn measure(self: Arc<Self>, key: FileKey, entry: FileEntry) -> Result<Option<(u64, Counts)>> {
        Ok(self.ready(key, entry).await?.map(|ready| (ready.entry.bytes, ready.replaced.clone())))
    }

    /// Uploads a file under a key of the store.
    pub(super) async fn send(self: Arc<Self>, key: FileKey, entry: FileEntry, to: String) -> Result<Sent> {
        let (source, size) = (entry.hash, entry.bytes);
        let Some(ready) = Arc::clone(&self).ready(key, entry).await? else { return Ok(Sent::Changed) };
        let path = self.remote.path(&to);
        let is_large = ready.entry.bytes > LARGE;
        let put = if is_large {
            self.put_in_parts(&ready, size, &path, &to).await?
        } else {
            self.put_whole(&ready, &path, &to).await?
        };
        let Some(etag) = put else { return Ok(Sent::Changed) };
        if !is_large {
            self.arrived.fetch_add(size, Ordering::Relaxed);
        }
        let FileEntry { rows, bytes, hash } = ready.entry.clone();
        let profile = self.profile.id().to_owned();
        Ok(Sent::Put(Box::new(RemoteFile { rows, bytes, hash, source, profile, etag }), ready.replaced.clone()))
    }

    /// Returns the file to upload, or `None` if the lake has replaced it.
    async fn ready(self: Arc<Self>, key: FileKey, entry: FileEntry) -> Result<Option<Ready>> {
        let path = self.layout.root().join(file_key(&self.lake.machine, &key));
        if !self.profile.rewrites() {
            return Ok(Some(Ready { path, entry, replaced: Counts::default(), is_rewritten: false }));
        }
        let Ok(_core) = Arc::clone(&self.cores).acquire_owned().await else { return Ok(None) };
        let sender = Arc::clone(&self);
        blocking(move || sender.rewrite(&key, &entry, &path)).await?
    }

    fn rewrite(&self, key: &FileKey, entry: &FileEntry, path: &Path) -> Result<Option<Ready>> {
        let Some(table) = LAKE_TABLES.get(key.1) else { return Ok(None) };
        let Some(file) = unchanged(path, entry)? else { return Ok(None) };
        let name = file_key(&self.lake.machine, key).replace('/', "+");
        let outgoing = self.outgoing.join(name.trim_end_matches(".parquet"));
        let users = self.profile.users(&self.layout, &self.lake, &key.0)?;
        let rewritten = self.profile.rewrite(file, path, table, &users, &outgoing);
        let mut ready = Ready { path: outgoing, entry: entry.clone(), replaced: Counts::default(), is_rewritten: true };
        (ready.entry, ready.replaced) = rewritten?;
        Ok(Some(ready))
    }

    async fn memory(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let kib = usize::try_from(bytes / 1024 + 1).unwrap_or(BUDGET_KIB).min(BUDGET_KIB);
        Arc::clone(&self.budget).acquire_many_owned(u32::try_from(kib).unwrap_or(1)).await.ok()
    }

    async fn put_whole(&self, ready: &Ready, path: &StorePath, to: &str) -> Result<Option<Option<String>>> {
        let _memory = self.memory(ready.entry.bytes).await;
        let (from, hash) = (ready.path.clone(), ready.entry.hash);
        let Some(bytes) = blocking(move || read_whole(&from, &hash)).await?? else { return Ok(None) };
        let put = persistently(|| self.remote.store.put(path, PutPayload::from_bytes(bytes.clone()))).await;
        Ok(Some(put.map_err(|error| self.remote.failed("write", to, &error))?.e_tag))
    }

    async fn put_in_parts(
        &self,
        ready: &Ready,
        size: u64,
        path: &StorePath,
        to: &str,
    ) -> Result<Option<Option<String>>> {
        let failed = |error: &object_store::Error| self.remote.failed("write", to, error);
        let before = self.found(path, to).await?;
        let mut upload =
            persistently(|| self.remote.store.put_multipart(path)).await.map_err(|error| failed(&error))?;
        let outcome = self.put_parts(ready, size, upload.as_mut(), to).await;
        match outcome {
            Ok(true) => match upload.complete().await {
                Ok(put) => Ok(Some(put.e_tag)),
                // If the response was lost, the client's retry finds the complete object instead of parts.
                Err(error) => match self.found(path, to).await? {
                    Some(found) if found.size == ready.entry.bytes && Some(&found) != before.as_ref() => {
                        Ok(Some(found.e_tag))
                    }
                    _ => Err(failed(&error)),
                },
            },
            other => {
                // Parts that are left cost money until the bucket's own rule deletes them.
                let _ = upload.abort().await;
                other.map(|_| None)
            }
        }
    }

    /// Returns the object of a key, if there is one.
    async fn found(&self, path: &StorePath, key: &str) -> Result<Option<ObjectMeta>> {
        match persistently(|| self.remote.store.head(path)).await {
            Ok(found) => Ok(Some(found)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.remote.failed("look at", key, &error)),
        }
    }

    /// Uploads all parts. Returns true if their content was as expected.
    async fn put_parts(
        &self,
        ready: &Ready,
        of_lake: u64,
        upload: &mut dyn object_store::MultipartUpload,
        to: &str,
    ) -> Result<bool> {
        let Some(mut file) = open(&ready.path)? else { return Ok(false) };
        let size = PART.max((ready.entry.bytes / 9_000).next_multiple_of(1 << 20));
        let mut hasher = blake3::Hasher::new();
        let mut parts = JoinSet::new();
        loop {
            let memory = self.memory(size).await;
            let from = ready.path.clone();
            let (rest, chunk) = blocking(move || {
                let mut chunk = Vec::new();
                let read = (&mut file).take(size).read_to_end(&mut chunk);
                read.map_err(Error::io("read", &from)).map(|_| (file, chunk))
            })
            .await??;
            file = rest;
            if chunk.is_empty() {
                break;
            }
            hasher.update(&chunk);
            // Scales progress from the rewritten file to the lake's file.
            let share = chunk.len() as u64 * of_lake / ready.entry.bytes.max(1);
            let arrived = Arc::clone(&self.arrived);
            let part = upload.put_part(PutPayload::from(chunk));
            parts.spawn(async move {
                let outcome = part.await;
                drop(memory);
                arrived.fetch_add(share, Ordering::Relaxed);
                outcome
            });
            while parts.len() >= PARTS_AT_A_TIME {
                self.joined(parts.join_next().await, to)?;
            }
        }
        while let Some(part) = parts.join_next().await {
            self.joined(Some(part), to)?;
        }
        Ok(*hasher.finalize().as_bytes() == ready.entry.hash)
    }

    fn joined(&self, part: Option<Result<object_store::Result<()>, tokio::task::JoinError>>, to: &str) -> Result<()> {
        match part {
            Some(Ok(Err(error))) => Err(self.remote.failed("write", to, &error)),
            Some(Err(error)) => Err(self.remote.failed("write", to, &object_store::Error::JoinError { source: error })),
            _ => Ok(()),
        }
    }
}

/// Runs blocking work outside of the threads for requests.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Query(format!("a thread ended early: {error}")))
}

fn open(path: &Path) -> Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Reads a small file, if it has the expected content.
fn read_whole(path: &Path, hash: &[u8; 32]) -> Result<Option<Bytes>> {
    let bytes = fs::read(path)?.filter(|bytes| blake3::hash(bytes).as_bytes() == hash);
    Ok(bytes.map(Bytes::from))
}

/// Opens a file that has the expected content. A run that replaces the file does not change the open one.
fn unchanged(path: &Path, entry: &FileEntry) -> Result<Option<File>> {
    let Some(mut file) = open(path)? else { return Ok(None) };
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(&mut file).map_err(Error::io("read", path))?;
    std::io::Seek::rewind(&mut file).map_err(Error::io("read", path))?;
    Ok((*hasher.finalize().as_bytes() == entry.hash).then_some(file))
}
