//! The machine's manifest during an upload: read once, then written before and after the changes, each time replacing
//! the last version.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};

use super::written::Written;
use crate::lake::fs;
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::Manifest;
use crate::remote::manifest::{FileKey, MachineManifest, RemoteFile};
use crate::remote::{Remote, persistently};
use crate::tables::LAKE_TABLES;
use crate::{Error, Result};

/// Interval at which it is written during an upload.
const INTERVAL: Duration = Duration::from_secs(15);
/// Most attempts of a conditional write whose response was lost.
const TRIES: u32 = 5;

/// The machine's manifest in the store.
pub(super) struct Ledger<'r> {
    remote: &'r Remote,
    machine: String,
    pub(super) state: MachineManifest,
    /// Version that the next write replaces; `None` if there is no manifest.
    version: Option<UpdateVersion>,
    /// True if the store has the current state.
    is_saved: bool,
    saved_at: Instant,
    /// Files uploaded since it was last saved.
    touched: BTreeSet<FileKey>,
    /// Earlier writes of this lake to this store.
    written: Written,
}

impl<'r> Ledger<'r> {
    /// Reads it.
    ///
    /// # Errors
    /// Fails with [`Error::OtherLake`] if it belongs to another lake, and with [`Error::LakeCopy`] if it belongs to a
    /// copy of this one, unless it is to be replaced.
    pub(super) async fn load(remote: &'r Remote, layout: &Layout, lake: &Manifest, replace: bool) -> Result<Self> {
        let key = MachineManifest::key(&lake.machine);
        let id = lake.id();
        let mut ledger = Self {
            remote,
            machine: lake.machine.clone(),
            state: MachineManifest { lake: id, ..MachineManifest::default() },
            version: None,
            is_saved: false,
            saved_at: Instant::now(),
            touched: BTreeSet::new(),
            written: Written::load(layout, &remote.place.url)?,
        };
        let Some((bytes, version)) = remote.read(&key).await? else { return Ok(ledger) };
        ledger.state = MachineManifest::decode(&bytes, &remote.place.shown(&key))?;
        ledger.version = Some(version);
        ledger.is_saved = true;
        let is_of_lake = ledger.state.lake == id;
        if is_of_lake && ledger.written.has(&ledger.state) {
            ledger.written.found(&ledger.state);
            return Ok(ledger);
        }
        if !replace {
            let uploaded_at = crate::time::day_of(Some(ledger.state.written_at));
            let (url, machine) = (remote.place.url.clone(), lake.machine.clone());
            return Err(if is_of_lake {
                Error::LakeCopy { url, machine, uploaded_at }
            } else {
                Error::OtherLake { url, machine, uploaded_at }
            });
        }
        // None of its files is this lake's, whatever its name.
        ledger.state.lake = id;
        let files = ledger.state.files();
        ledger.state.unsure.extend(files);
        Ok(ledger)
    }

    /// True if the machine has never uploaded there.
    pub(super) fn is_new(&self) -> bool {
        self.version.is_none()
    }

    /// Adds the machine's files that are not in the manifest, because a manifest was lost or files were copied by hand.
    pub(super) async fn adopt(&mut self) -> Result<()> {
        let known = self.state.files();
        for (place, table) in LAKE_TABLES.iter().enumerate() {
            for object in self.remote.list(&format!("{}/machine={}", table.name, self.machine)).await? {
                let Some(key) = self.remote.key(&object.location) else { continue };
                let Some(name) = PartName::of_file(table, &self.machine, &key) else { continue };
                if !known.contains(&(name.clone(), place)) {
                    self.state.parts.entry(name.clone()).or_default().has_others = true;
                    self.state.unsure.insert((name, place));
                }
            }
        }
        Ok(())
    }

    /// Records that a file was uploaded.
    pub(super) fn placed(&mut self, key: FileKey, file: RemoteFile) {
        let part = self.state.parts.entry(key.0.clone()).or_default();
        if let Some(slot) = part.files.get_mut(key.1) {
            *slot = Some(file);
        }
        self.state.unsure.remove(&key);
        self.touched.insert(key);
    }

    /// Records that a file was deleted.
    pub(super) fn removed(&mut self, key: &FileKey) {
        if let Some(slot) = self.state.parts.get_mut(&key.0).and_then(|part| part.files.get_mut(key.1)) {
            *slot = None;
        }
        self.state.unsure.remove(key);
    }

    /// Saves the manifest if that is due.
    pub(super) async fn save_sometimes(&mut self, lake: &Manifest) -> Result<()> {
        if self.saved_at.elapsed() < INTERVAL { Ok(()) } else { self.save(lake).await }
    }

    /// Saves the manifest, replacing the version that was read.
    ///
    /// # Errors
    /// Fails with [`Error::UploadConflict`] if the store has another version.
    pub(super) async fn save(&mut self, lake: &Manifest) -> Result<()> {
        super::plan::settle(lake, &mut self.state);
        self.sync_touched()?;
        self.state.nonce = crate::random::bytes()?;
        self.written.note(self.state.nonce)?;
        match self.put().await {
            Err(error @ Error::UploadConflict { .. }) => {
                self.confess().await;
                Err(error)
            }
            outcome => {
                outcome?;
                self.touched.clear();
                Ok(())
            }
        }
    }

    async fn put(&mut self) -> Result<()> {
        self.state.written_at = crate::time::now();
        env!("CARGO_PKG_VERSION").clone_into(&mut self.state.llrem_version);
        let bytes = self.state.encode()?;
        self.version = Some(self.put_in_place(bytes).await?);
        self.is_saved = true;
        self.saved_at = Instant::now();
        Ok(())
    }

    /// If the response of a write is lost, checks whether it succeeded before trying again.
    async fn put_in_place(&self, bytes: Vec<u8>) -> Result<UpdateVersion> {
        let key = MachineManifest::key(&self.machine);
        let mut pause = Duration::from_millis(100);
        let mut last = None;
        for _ in 0..TRIES {
            match self.put_once(&key, bytes.clone()).await {
                Ok(version) => return Ok(version),
                Err(error) => {
                    let is_lost = matches!(
                        error,
                        object_store::Error::Precondition { .. } | object_store::Error::AlreadyExists { .. }
                    );
                    if let Some((found, version)) = self.remote.read(&key).await?
                        && found == bytes
                    {
                        return Ok(version);
                    }
                    if is_lost {
                        let (url, machine) = (self.remote.place.url.clone(), self.machine.clone());
                        return Err(Error::UploadConflict { url, machine });
                    }
                    let failure = self.remote.failed("write", &key, &error);
                    if matches!(
                        failure,
                        Error::Remote {
                            trouble: crate::remote::Trouble::Other | crate::remote::Trouble::Unreachable,
                            ..
                        }
                    ) {
                        last = Some(failure);
                    } else {
                        return Err(failure);
                    }
                }
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Err(last.unwrap_or(Error::Interrupted))
    }

    async fn put_once(&self, key: &str, bytes: Vec<u8>) -> object_store::Result<UpdateVersion> {
        let path = self.remote.path(key);
        let mode = self.version.clone().map_or(PutMode::Create, PutMode::Update);
        let result = match (&self.remote.place.folder, mode) {
            // A folder has no conditional writes. All writers of this file take its lock.
            (Some(folder), PutMode::Update(version)) => {
                let lock = folder.join(format!("{key}-lock"));
                let generic = |source: Box<dyn std::error::Error + Send + Sync>| object_store::Error::Generic {
                    store: "LocalFileSystem",
                    source,
                };
                let file = fs::open_lock(&lock).map_err(|error| generic(error.into()))?;
                file.lock().map_err(|error| generic(error.into()))?;
                let found = self.remote.store.head(&path).await?;
                if found.e_tag != version.e_tag {
                    let source = "another one is there".into();
                    return Err(object_store::Error::Precondition { path: key.to_owned(), source });
                }
                self.remote.store.put(&path, bytes.into()).await?
            }
            (_, mode) => self.remote.store.put_opts(&path, bytes.into(), PutOptions::from(mode)).await?,
        };
        Ok(UpdateVersion { e_tag: result.e_tag, version: result.version })
    }

    /// Records files in the winner's manifest that the loser of two uploads may have overwritten.
    async fn confess(&mut self) {
        if self.touched.is_empty() {
            return;
        }
        let key = MachineManifest::key(&self.machine);
        let Ok(Some((bytes, version))) = self.remote.read(&key).await else { return };
        let Ok(mut state) = MachineManifest::decode(&bytes, &key) else { return };
        for file in std::mem::take(&mut self.touched) {
            if state.file(&file) != self.state.file(&file) {
                state.parts.entry(file.0.clone()).or_default().has_others = true;
                state.unsure.insert(file);
            }
        }
        self.state = state;
        self.version = Some(version);
        // If another writer comes first again, repeats the same.
        let _ = self.put().await;
    }

    /// In a folder, syncs the files that the manifest names before it is written.
    fn sync_touched(&self) -> Result<()> {
        let Some(folder) = &self.remote.place.folder else { return Ok(()) };
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        for key in &self.touched {
            let path = folder.join(crate::remote::manifest::file_key(&self.machine, key));
            // A file that another upload deleted meanwhile need not be synced.
            let Ok(file) = File::open(&path) else { continue };
            fs::sync(&file, &path)?;
            folders.extend(path.parent().map(Path::to_owned));
        }
        folders.iter().try_for_each(|folder| fs::sync_folder(folder))
    }

    /// True if there are changes to save.
    pub(super) fn is_saved(&self) -> bool {
        self.is_saved
    }
}

/// The store's mark of an object, and its size.
pub(super) async fn look(remote: &Remote, key: &str) -> Result<(u64, Option<String>)> {
    let path = remote.path(key);
    let found = persistently(|| remote.store.head(&path)).await;
    let found = found.map_err(|error| remote.failed("look at", key, &error))?;
    Ok((found.size, found.e_tag))
}
