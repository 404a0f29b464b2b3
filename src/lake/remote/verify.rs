//! `llrem verify` in object storage: checks the objects against each machine's manifest.

use std::collections::BTreeMap;
use std::path::Path;

use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectMeta, ObjectStoreExt};

use super::{AT_A_TIME, RemoteLake};
use crate::error::{Error, Result};
use crate::lake::layout::PartName;
use crate::remote::manifest::{BARRIER, FileKey, MACHINES, MachineManifest, RemoteFile, file_key};
use crate::remote::{Remote, leftovers, persistently};
use crate::tables::LAKE_TABLES;

/// Most checks if uploads change the lake meanwhile.
const ATTEMPTS: usize = 5;

/// The machines' manifests by name, with the store's version of each.
type Manifests = BTreeMap<String, (MachineManifest, Option<String>)>;

impl RemoteLake {
    /// Checks the objects against each machine's manifest, with `read_data` every byte of them. Returns the problems.
    pub fn verify(&self, read_data: bool) -> Result<Vec<String>> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|error| Error::Query(format!("cannot start threads: {error}")))?;
        let outcome = runtime.block_on(async {
            tokio::select! {
                biased;
                () = interrupted() => Err(Error::Interrupted),
                outcome = self.compare(read_data) => outcome,
            }
        });
        runtime.shutdown_background();
        outcome
    }

    async fn compare(&self, read_data: bool) -> Result<Vec<String>> {
        let remote = self.connect()?;
        self.look(&remote).await?;
        let mut manifests = manifests(&remote).await?;
        for _ in 1..ATTEMPTS {
            let problems = problems(&remote, &manifests, read_data).await?;
            let now = self::manifests(&remote).await?;
            if problems.is_empty() || now == manifests {
                return Ok(problems);
            }
            manifests = now;
        }
        problems(&remote, &manifests, read_data).await
    }
}

async fn interrupted() {
    while !crate::interrupt::interrupted() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

async fn manifests(remote: &Remote) -> Result<Manifests> {
    let objects = remote.list(MACHINES).await?;
    let machines = objects.iter().filter_map(|object| {
        let key = remote.key(&object.location)?;
        let machine = key.strip_prefix(MACHINES)?.strip_prefix('/')?.strip_suffix("/manifest")?;
        Some(machine.to_owned()).filter(|machine| !machine.contains('/'))
    });
    let read = machines.map(|machine| async move {
        let key = MachineManifest::key(&machine);
        let Some((bytes, version)) = remote.read(&key).await? else { return Ok(None) };
        let manifest = MachineManifest::decode(&bytes, &remote.place.shown(&key))?;
        Ok::<_, Error>(Some((machine, (manifest, version.e_tag))))
    });
    let read: Vec<_> = futures::stream::iter(read).buffered(AT_A_TIME).try_collect().await?;
    Ok(read.into_iter().flatten().collect())
}

async fn problems(remote: &Remote, manifests: &Manifests, read_data: bool) -> Result<Vec<String>> {
    let mut found = BTreeMap::new();
    for table in LAKE_TABLES {
        for object in remote.list(table.name).await? {
            let key = remote.key(&object.location).filter(|key| key.ends_with(".parquet"));
            found.extend(key.map(|key| (key, object)));
        }
    }
    let mut problems = Vec::new();
    let mut whole = Vec::new();
    for (machine, (manifest, _)) in manifests {
        for key in manifest.files() {
            let path = file_key(machine, &key);
            let object = found.remove(&path);
            // An object of a running upload may be old, new, or gone.
            let expected = manifest.file(&key).filter(|_| !manifest.unsure.contains(&key));
            match (expected, object) {
                (None, _) => {}
                (Some(_), None) => problems.push(format!("`{path}` is missing")),
                (Some(file), Some(object)) => match difference(file, &object) {
                    Some(difference) => problems.push(format!("`{path}` {difference}")),
                    None => whole.push((path, file.hash)),
                },
            }
        }
        problems.extend(unfinished(machine, manifest));
    }
    problems.extend(found.keys().map(|path| unknown(path, manifests)));
    problems.extend(remote.place.folder.iter().flat_map(|folder| left_in(folder)));
    if read_data {
        let read = whole.into_iter().map(|(path, hash)| content_problem(remote, path, hash));
        let read: Vec<Option<String>> = futures::stream::iter(read).buffered(AT_A_TIME).try_collect().await?;
        problems.extend(read.into_iter().flatten());
    }
    problems.sort();
    Ok(problems)
}

fn difference(file: &RemoteFile, object: &ObjectMeta) -> Option<String> {
    if object.size != file.bytes {
        return Some(format!("has {} bytes, the manifest says {}", object.size, file.bytes));
    }
    let bare = |tag: &Option<String>| tag.as_ref().map(|tag| tag.trim_matches('"').to_owned());
    match (bare(&file.etag), bare(&object.e_tag)) {
        (Some(put), Some(found)) if put != found => {
            Some(format!("was replaced: its etag is {found}, the manifest says {put}"))
        }
        _ => None,
    }
}

/// Returns the leftovers of an upload that is running or was cut off.
fn unfinished(machine: &str, manifest: &MachineManifest) -> Option<String> {
    let is_known = |key: &&FileKey| manifest.file(key).is_some();
    let (known, all) = (manifest.unsure.iter().filter(is_known).count(), manifest.unsure.len());
    (all > 0).then(|| {
        format!(
            "an upload of the machine `{machine}` is running, or was cut off: {known} files may be replaced already, and {} are on their way",
            all - known
        )
    })
}

/// Returns the problem of a file that is in no manifest.
fn unknown(path: &str, manifests: &Manifests) -> String {
    if path.ends_with(BARRIER) {
        return format!("`{path}` keeps readers away until the upload is over");
    }
    let machine = path.split('/').find_map(|part| part.strip_prefix("machine=")).unwrap_or_default();
    let is_part = LAKE_TABLES.iter().any(|table| PartName::of_file(table, machine, path).is_some());
    if is_part && !manifests.contains_key(machine) {
        return format!("`{path}` is of the machine `{machine}`, which has no manifest there");
    }
    format!("`{path}` is in no manifest, but every reader takes it for data")
}

/// Returns the leftovers of killed uploads in a folder.
fn left_in(folder: &Path) -> Vec<String> {
    let left = LAKE_TABLES.iter().flat_map(|table| leftovers(&folder.join(table.name)));
    let problems = left.map(|path| {
        let path = path.strip_prefix(folder).unwrap_or(&path).display();
        format!("`{path}` was left by an upload that was cut off: the next one of its machine removes it")
    });
    problems.collect()
}

async fn content_problem(remote: &Remote, path: String, hash: [u8; 32]) -> Result<Option<String>> {
    let location = remote.path(&path);
    let read = persistently(|| async {
        let mut hasher = blake3::Hasher::new();
        let mut content = remote.store.get(&location).await?.into_stream();
        while let Some(bytes) = content.try_next().await? {
            hasher.update(&bytes);
        }
        Ok(*hasher.finalize().as_bytes())
    });
    Ok(match read.await {
        Ok(found) if found == hash => None,
        Ok(_) => Some(format!("`{path}` does not have the content that was put: its BLAKE3 hash differs")),
        Err(object_store::Error::NotFound { .. }) => Some(format!("`{path}` is missing")),
        Err(error) => return Err(remote.failed("read", &path, &error)),
    })
}
