//! The lake: hive-partitioned Parquet, and the state that describes it.

mod any;
pub(crate) mod changed;
pub(crate) mod claims;
pub(crate) mod commit;
mod encoding;
pub(crate) mod fs;
pub(crate) mod layout;
pub(crate) mod ledger;
pub(crate) mod lock;
pub(crate) mod manifest;
pub(crate) mod part;
mod remote;
mod reported;
mod spent;
mod state;
pub(crate) mod stored;
pub(crate) mod suspects;
pub(crate) mod syncer;
pub(crate) mod table_writer;
mod verify;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;

use crate::error::{Error, Result};
use crate::tables::TableDef;
use layout::Layout;
use manifest::Manifest;

pub use any::AnyLake;
#[doc(hidden)]
pub use part::PartWriter;
pub use remote::RemoteLake;
pub use reported::Reported;
pub use spent::Spent;
pub use state::RunRecord;
pub(crate) use state::{append_run, last_run};
pub use syncer::Syncer;
pub(crate) use verify::is_whole;

/// A lake, open for reading. Takes no lock, and sees the result of the last complete run.
pub struct Lake {
    layout: Layout,
    cache: Option<PathBuf>,
}

impl Lake {
    /// Opens the lake in a folder.
    ///
    /// # Errors
    /// Fails with [`Error::NoLake`] if there is none, and with [`Error::NewerLake`] if a newer llrem wrote it.
    pub fn open(root: &Path) -> Result<Self> {
        let layout = Layout::new(root);
        if Manifest::is_there(&layout)? {
            Ok(Self { layout, cache: None })
        } else {
            Err(Error::NoLake { path: root.to_owned() })
        }
    }

    /// Like `open`, with a folder as cache for later queries.
    #[must_use]
    pub fn with_cache(self, folder: Option<PathBuf>) -> Self {
        Self { cache: folder, ..self }
    }

    pub(crate) fn cache(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// Returns a text that changes with every change of the lake's rows: each commit writes a new manifest. `None` during a
    /// commit.
    pub(crate) fn version(&self) -> Option<String> {
        if self.layout.journal().exists() {
            return None;
        }
        let metadata = self.layout.manifest().metadata().ok()?;
        let modified = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(format!("{}-{}-{}", fs::number(&metadata), modified.as_nanos(), metadata.len()))
    }

    fn manifest(&self) -> Result<Manifest> {
        Manifest::load(&self.layout)?.ok_or_else(|| Error::NoLake { path: self.root().to_owned() })
    }

    /// Returns the lake's folder.
    pub fn root(&self) -> &Path {
        self.layout.root()
    }

    /// Returns the folder of a table. Its files are below `machine=…/agent=…/month=…`.
    pub fn table_dir(&self, table: &TableDef) -> PathBuf {
        self.layout.table(table)
    }

    /// Returns every source that was ever read, in the schema of `tables::SOURCES`, in its current state.
    pub fn sources(&self) -> Result<RecordBatch> {
        state::sources(&self.manifest()?)
    }

    /// Returns every run, in the schema of `tables::RUNS`.
    pub fn runs(&self) -> Result<RecordBatch> {
        state::runs(&self.layout)
    }

    /// Returns the last runs, in the schema of `tables::RUNS`: fewer than [`Self::runs`], and sooner.
    pub fn recent_runs(&self) -> Result<RecordBatch> {
        state::recent_runs(&self.layout)
    }

    /// Returns what the responses of a time cost, by agent. Microseconds since 1970.
    pub fn spent(&self, time: Range<i64>) -> Result<BTreeMap<String, Spent>> {
        spent::spent(&self.layout, time)
    }

    /// Returns the findings that `llrem detect --new` has reported, and keeps others from reporting meanwhile.
    pub fn reported(&self) -> Result<Reported> {
        Reported::open(&self.layout)
    }

    /// Returns the number and size of the data files. Bytes.
    pub fn size(&self) -> Result<(u64, u64)> {
        let manifest = self.manifest()?;
        Ok((manifest.files().count() as u64, manifest.files().map(|file| file.bytes).sum()))
    }

    /// Checks the lake against its manifest and its own rules, with `read_data` every byte of it. Returns the problems.
    pub fn verify(&self, read_data: bool) -> Result<Vec<String>> {
        verify::verify(&self.layout, self.manifest()?, read_data)
    }

    /// Returns a lazy frame over a table, for programs that use Polars.
    ///
    /// # Errors
    /// Fails if the table's folder cannot be scanned.
    #[cfg(feature = "polars")]
    pub fn scan(&self, table: &TableDef) -> polars::prelude::PolarsResult<polars::prelude::LazyFrame> {
        use polars::prelude::{DataType, Field, HiveOptions, LazyFrame, PlRefPath, ScanArgsParquet, Schema};
        let pattern = self.table_dir(table).join("**/*.parquet");
        // Declared, because otherwise a month is taken for a date, and a machine named by digits for a number.
        let columns = crate::tables::PARTITION_COLUMNS.map(|(name, _)| Field::new(name.into(), DataType::String));
        let hive_options = HiveOptions {
            enabled: Some(true),
            schema: Some(std::sync::Arc::new(Schema::from_iter(columns))),
            ..HiveOptions::default()
        };
        let arguments = ScanArgsParquet { hive_options, ..ScanArgsParquet::default() };
        LazyFrame::scan_parquet(PlRefPath::new(pattern.to_string_lossy()), arguments)
    }
}
