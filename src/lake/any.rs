//! A lake wherever it lies.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use arrow::array::RecordBatch;

use super::{Lake, RemoteLake};
use crate::error::Result;

/// A lake on a disk of this machine, or one in object storage, to which machines upload theirs.
pub enum AnyLake {
    /// In a folder.
    Local(Lake),
    /// In object storage.
    Remote(RemoteLake),
}

impl Display for AnyLake {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(lake) => lake.root().display().fmt(formatter),
            Self::Remote(lake) => formatter.write_str(lake.url()),
        }
    }
}

impl AnyLake {
    /// Every source that was ever read, in the schema of `tables::SOURCES`, as it is now.
    ///
    /// # Errors
    /// [`crate::Error::Query`] in object storage: uploads leave it out.
    pub fn sources(&self) -> Result<RecordBatch> {
        match self {
            Self::Local(lake) => lake.sources(),
            Self::Remote(lake) => Err(lake.stays_behind("sources")),
        }
    }

    /// Every run, in the schema of `tables::RUNS`.
    ///
    /// # Errors
    /// [`crate::Error::Query`] in object storage: uploads leave it out.
    pub fn runs(&self) -> Result<RecordBatch> {
        match self {
            Self::Local(lake) => lake.runs(),
            Self::Remote(lake) => Err(lake.stays_behind("runs")),
        }
    }

    /// Compares the lake with what it should be; with `read_data`, every byte of it. Gives what is wrong.
    pub fn verify(&self, read_data: bool) -> Result<Vec<String>> {
        match self {
            Self::Local(lake) => lake.verify(read_data),
            Self::Remote(lake) => lake.verify(read_data),
        }
    }

    /// Where it lies, as errors have it.
    pub fn place(&self) -> PathBuf {
        match self {
            Self::Local(lake) => lake.root().to_owned(),
            Self::Remote(lake) => lake.url().into(),
        }
    }
}
