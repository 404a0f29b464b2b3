//! Why a source cannot be read.

use std::io;

use crate::error::Error;

/// The reason why a source gave no rows.
#[derive(Debug)]
pub enum Reject {
    /// An error of the file system.
    Io(io::Error),
    /// The database is damaged, or no database of the expected kind.
    Database(rusqlite::Error),
    /// The content cannot be read by design, for example because it is encrypted.
    Encrypted,
    /// The rows take too much memory to be collected.
    TooLarge,
    /// The rows could not be passed on.
    Failed(Error),
}

impl From<rusqlite::Error> for Reject {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Error> for Reject {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
