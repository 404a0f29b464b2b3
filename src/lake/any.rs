//! A lake on disk or in object storage.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use arrow::array::RecordBatch;

use super::{Lake, RemoteLake};
use crate::error::Result;

/// A lake on a disk of this machine, or one in object storage, to which machines upload.
pub enum AnyLake {
    /// A lake in a folder.
    Local(Lake),
    /// A lake in object storage.
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
    /// Returns every source that was ever read, in the schema of `tables::SOURCES`, in its current state.
    ///
    /// # Errors
    /// Fails with [`crate::Error::Query`] in object storage: the table is not uploaded.
    pub fn sources(&self) -> Result<RecordBatch> {
        match self {
            Self::Local(lake) => lake.sources(),
            Self::Remote(lake) => Err(lake.not_uploaded("sources")),
        }
    }

    /// Returns every run, in the schema of `tables::RUNS`.
    ///
    /// # Errors
    /// Fails with [`crate::Error::Query`] in object storage: the table is not uploaded.
    pub fn runs(&self) -> Result<RecordBatch> {
        match self {
            Self::Local(lake) => lake.runs(),
            Self::Remote(lake) => Err(lake.not_uploaded("runs")),
        }
    }

    /// Checks the lake, with `read_data` every byte of it. Returns the problems.
    pub fn verify(&self, read_data: bool) -> Result<Vec<String>> {
        match self {
            Self::Local(lake) => lake.verify(read_data),
            Self::Remote(lake) => lake.verify(read_data),
        }
    }

    /// Returns its location, as errors show it.
    pub fn place(&self) -> PathBuf {
        match self {
            Self::Local(lake) => lake.root().to_owned(),
            Self::Remote(lake) => lake.url().into(),
        }
    }
}
