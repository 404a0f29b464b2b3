//! The lake that benches ask or upload.

use std::path::PathBuf;

use llrem::etl::{self, Options, Silent};
use tempfile::TempDir;

use crate::corpus;

/// The lake of `LLREM_BENCH_LAKE`, or one of a generated corpus and the folder that goes with it.
pub(crate) fn lake() -> (PathBuf, Option<TempDir>) {
    if let Some(path) = std::env::var_os("LLREM_BENCH_LAKE") {
        return (path.into(), None);
    }
    let bytes = std::env::var("LLREM_BENCH_BYTES").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(64 << 20);
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    corpus::generate(&home, &corpus::Params { bytes, ..corpus::Params::default() }).unwrap();
    let lake = folder.path().join("lake");
    etl::run(&Options { home: Some(home), ..Options::new(lake.clone()) }, &Silent).unwrap();
    (lake, Some(folder))
}
