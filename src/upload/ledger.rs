//! The machine's manifest while an upload goes on: read once, put before and after, each time in place of the last.

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

/// How often it is put while files are.
const INTERVAL: Duration = Duration::from_secs(15);
/// Conditional writes whose outcome nobody heard are tried so often.
const TRIES: u32 = 5;

/// The machine's manifest in the store.
pub(super) struct Ledger<'r> {
    remote: &'r Remote,
    machine: String,
    pub(super) state: MachineManifest,
    /// What the next put replaces; none where there is nothing.
    version: Option<UpdateVersion>,
    /// Whether the store has what `state` says.
    is_saved: bool,
    saved_at: Instant,
    /// Files put since it was last saved.
    touched: BTreeSet<FileKey>,
    /// What the lake has written there before.
    written: Written,
}

impl<'r> Ledger<'r> {
    /// Reads it.
    ///
    /// # Errors
    /// [`Error::OtherLake`] when it is another lake's, [`Error::LakeCopy`] when it is that of a copy of this one, and that
    /// is not to be replaced.
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
        // None of its files is one of ours, whatever its name.
        ledger.state.lake = id;
        let files = ledger.state.files();
        ledger.state.unsure.extend(files);
        Ok(ledger)
    }

    /// Whether the machine has never uploaded there.
    pub(super) fn is_new(&self) -> bool {
        self.version.is_none()
    }

    /// Takes in the machine's files that the manifest does not know: of a manifest that was lost, or copied by hand.
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

    /// A file is in its place.
    pub(super) fn placed(&mut self, key: FileKey, file: RemoteFile) {
        let part = self.state.parts.entry(key.0.clone()).or_default();
        if let Some(slot) = part.files.get_mut(key.1) {
            *slot = Some(file);
        }
        self.state.unsure.remove(&key);
        self.touched.insert(key);
    }

    /// A file is gone.
    pub(super) fn removed(&mut self, key: &FileKey) {
        if let Some(slot) = self.state.parts.get_mut(&key.0).and_then(|part| part.files.get_mut(key.1)) {
            *slot = None;
        }
        self.state.unsure.remove(key);
    }

    /// Puts it when it was not for a while.
    pub(super) async fn save_sometimes(&mut self, lake: &Manifest) -> Result<()> {
        if self.saved_at.elapsed() < INTERVAL { Ok(()) } else { self.save(lake).await }
    }

    /// Puts it in place of the one that it was, and nothing else.
    ///
    /// # Errors
    /// [`Error::UploadConflict`] when another one is there.
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

    /// A put whose answer was lost is looked for before it is tried again.
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
                    let told = self.remote.failed("write", &key, &error);
                    if matches!(
                        told,
                        Error::Remote {
                            trouble: crate::remote::Trouble::Other | crate::remote::Trouble::Unreachable,
                            ..
                        }
                    ) {
                        last = Some(told);
                    } else {
                        return Err(told);
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
            // A folder knows no conditional put; all that write this file take its lock.
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

    /// The loser of two uploads leaves word of the files that it may have put over the winner's.
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
        // Whoever comes first again does the same.
        let _ = self.put().await;
    }

    /// In a folder, what the manifest names is on the disk before it is.
    fn sync_touched(&self) -> Result<()> {
        let Some(folder) = &self.remote.place.folder else { return Ok(()) };
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        for key in &self.touched {
            let path = folder.join(crate::remote::manifest::file_key(&self.machine, key));
            // What another upload took away meanwhile is not ours to sync.
            let Ok(file) = File::open(&path) else { continue };
            fs::sync(&file, &path)?;
            folders.extend(path.parent().map(Path::to_owned));
        }
        folders.iter().try_for_each(|folder| fs::sync_folder(folder))
    }

    /// Whether anything is there to be said.
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
