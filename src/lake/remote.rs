//! A lake in object storage: the uploads of all machines below one URL. It is queried in place.

mod verify;

use std::path::{Path, PathBuf};

use futures::StreamExt;
use object_store::ObjectStoreExt;

use super::layout::STATE;
use crate::error::{Error, Result};
use crate::remote::manifest::{self, MACHINES, MachineManifest};
use crate::remote::{Options, Place, Remote};
use crate::tables::{LAKE_TABLES, TableDef};

/// Most requests at a time.
const AT_A_TIME: usize = 16;

/// A lake in object storage.
#[derive(Debug, Clone)]
pub struct RemoteLake {
    place: Place,
    options: Options,
    cache: Option<PathBuf>,
}

impl RemoteLake {
    /// Opens the lake at a URL. Makes no request, and so does not know whether there is one.
    ///
    /// # Errors
    /// Fails with [`Error::Usage`] if the URL is invalid.
    pub fn new(url: &str, options: Options) -> Result<Self> {
        Ok(Self { place: Place::parse(url)?, options, cache: None })
    }

    /// Like `new`, with a folder as cache for later queries.
    #[must_use]
    pub fn with_cache(self, folder: Option<PathBuf>) -> Self {
        Self { cache: folder, ..self }
    }

    /// Opens the lake that machines upload to a folder. Returns `None` if none does.
    pub fn in_folder(folder: &Path) -> Option<Self> {
        let folder = std::path::absolute(folder).ok()?;
        if !folder.join(STATE).join("machines").is_dir() {
            return None;
        }
        Self::new(url::Url::from_file_path(folder).ok()?.as_str(), Options::default()).ok()
    }

    /// Returns its URL, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.place.url
    }

    /// Returns the URL of a table. Its files are below `machine=…/agent=…/month=…`.
    pub fn table_url(&self, table: &TableDef) -> String {
        format!("{}/{}/", self.place.url, table.name)
    }

    pub(crate) fn cache(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// Opens the store, for the lifetime of one runtime. Makes no request.
    pub(crate) fn connect(&self) -> Result<Remote> {
        Remote::open(&self.place.url, &self.options)
    }

    /// Checks that there is a lake, and that this llrem knows its layout.
    ///
    /// # Errors
    /// Fails with [`Error::NoLake`] if there is none, [`Error::Remote`] if the check fails, and [`Error::NewerLake`] if
    /// a newer llrem uploaded to it.
    pub(crate) async fn look(&self, remote: &Remote) -> Result<()> {
        let (is_there, newest) = tokio::join!(self.look_for_tables(remote), newest_layout(remote));
        is_there?;
        match newest {
            Some(found) if found > manifest::VERSION => {
                Err(Error::NewerLake { path: self.url().into(), found, known: manifest::VERSION })
            }
            _ => Ok(()),
        }
    }

    async fn look_for_tables(&self, remote: &Remote) -> Result<()> {
        let prefix = Some(&self.place.prefix).filter(|prefix| !prefix.as_ref().is_empty());
        let found = remote.store.list_with_delimiter(prefix).await;
        let found = found.map_err(|error| remote.failed("list", "", &error))?;
        let mut folders = found.common_prefixes.iter().filter_map(|folder| folder.filename());
        let is_ours = |name: &str| name == STATE || LAKE_TABLES.iter().any(|table| table.name == name);
        if folders.any(is_ours) { Ok(()) } else { Err(Error::NoLake { path: self.url().into() }) }
    }

    /// Returns the error for a table that is not uploaded.
    pub(super) fn not_uploaded(&self, table: &str) -> Error {
        Error::Query(format!(
            "`{table}` is not in the lake `{}`, because it names local files; run the command on the machine itself",
            self.url()
        ))
    }
}

/// Returns the newest layout that a machine uploaded, or `None` if that is unknown: the user may have permission to
/// read the tables only.
async fn newest_layout(remote: &Remote) -> Option<u32> {
    let machines = remote.store.list_with_delimiter(Some(&remote.path(MACHINES))).await.ok()?;
    let machines = machines.common_prefixes.iter().filter_map(|folder| folder.filename().map(MachineManifest::key));
    let versions = machines.map(|key| async move {
        let head = remote.store.get_range(&remote.path(&key), 0..manifest::HEAD).await.ok()?;
        MachineManifest::version(&head)
    });
    let versions: Vec<Option<u32>> = futures::stream::iter(versions).buffer_unordered(AT_A_TIME).collect().await;
    versions.into_iter().flatten().max()
}
