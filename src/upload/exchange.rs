//! Exchanges files between which rows move: staged, then, behind barriers, copied into place by the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;

use super::ledger::{Ledger, look};
use super::plan::Plan;
use crate::lake::manifest::Manifest;
use crate::remote::manifest::{FileKey, MachineManifest, RemoteFile, file_key};
use crate::remote::{Remote, persistently};
use crate::{Error, Result};

/// Requests at a time.
const AT_A_TIME: usize = 16;

/// Content of a barrier, for people. It must not be valid Parquet.
const SIGN: &[u8] = b"llrem is replacing files of this folder; until it is done, they cannot be read.\n\
    If this stays for more than a minute, the upload was cut off: `llrem upload` on the machine that this folder is named after ends it.\n";

/// Returns the key of a staged file.
pub(super) fn staged_key(machine: &str, key: &FileKey) -> String {
    let name = file_key(machine, key).replace('/', "+");
    format!("{}/{}", MachineManifest::staging(machine), name.trim_end_matches(".parquet"))
}

/// Copies staged files into place, and deletes the files to remove.
pub(super) async fn exchange(
    ledger: &mut Ledger<'_>,
    lake: &Manifest,
    plan: &Plan,
    staged: BTreeMap<FileKey, RemoteFile>,
    remote: &Arc<Remote>,
) -> Result<()> {
    let machine = &lake.machine;
    let barriers: Vec<String> = plan.barriers.iter().cloned().collect();
    all(&barriers, |key| put_barrier(remote, key)).await?;
    let keys: Vec<FileKey> = staged.keys().cloned().collect();
    let gone: Vec<String> = plan.removals.iter().map(|key| file_key(machine, key)).collect();
    // Behind the barriers, any order will do.
    let copies = all(&keys, |key| copy(remote, staged_key(machine, key), file_key(machine, key)));
    let (copied, ()) = tokio::try_join!(copies, remove(remote, &gone))?;
    for (key, (size, etag)) in keys.into_iter().zip(copied) {
        let Some(file) = staged.get(&key) else { continue };
        if size != file.bytes {
            let reason = format!("a copy has {size} bytes, and should have {}", file.bytes);
            let url = remote.place.shown(&file_key(machine, &key));
            return Err(Error::Remote { action: "copy", url, trouble: crate::remote::Trouble::Other, reason });
        }
        ledger.placed(key, RemoteFile { etag, ..file.clone() });
    }
    for key in &plan.removals {
        ledger.removed(key);
    }
    remove(remote, &barriers).await?;
    ledger.state.barriers.clear();
    // Also deletes what an interrupted upload left there.
    let left =
        if plan.exchanged.is_empty() { Vec::new() } else { remote.list(&MachineManifest::staging(machine)).await? };
    let left: Vec<String> = left.iter().filter_map(|object| remote.key(&object.location)).collect();
    remove(remote, &left).await
}

async fn remove(remote: &Remote, keys: &[String]) -> Result<()> {
    if keys.is_empty() { Ok(()) } else { remote.remove(keys).await }
}

async fn put_barrier(remote: &Remote, key: &str) -> Result<()> {
    let path = remote.path(key);
    let put = persistently(|| remote.store.put(&path, Bytes::from_static(SIGN).into())).await;
    put.map(drop).map_err(|error| remote.failed("write", key, &error))
}

async fn copy(remote: &Remote, from: String, to: String) -> Result<(u64, Option<String>)> {
    let paths = [remote.path(&from), remote.path(&to)];
    let [source, target] = &paths;
    let copied = persistently(|| remote.store.copy(source, target)).await;
    copied.map_err(|error| remote.failed("copy", &to, &error))?;
    look(remote, &to).await
}

/// Runs an operation for each item, several at a time. The results are in the order of the items.
async fn all<'i, I, T, F: Future<Output = Result<T>>>(items: &'i [I], work: impl Fn(&'i I) -> F) -> Result<Vec<T>> {
    futures::stream::iter(items.iter().map(work)).buffered(AT_A_TIME).try_collect().await
}
