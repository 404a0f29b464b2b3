//! Random bytes of the operating system.

use std::path::Path;

use crate::{Error, Result};

/// Returns bytes that nobody can guess.
pub(crate) fn bytes<const COUNT: usize>() -> Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    getrandom::fill(&mut bytes).map_err(|error| Error::io("get", Path::new("random bytes"))(error.into()))?;
    Ok(bytes)
}
