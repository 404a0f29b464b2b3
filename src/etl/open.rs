//! Opens a lake for a run.

use std::path::Path;

use walkdir::WalkDir;

use super::Options;
use crate::error::{Error, Result};
use crate::lake::layout::{Layout, machine_name};
use crate::lake::manifest::Manifest;
use crate::lake::{RemoteLake, commit};
use crate::tables::LAKE_TABLES;

/// Refuses a folder with rows that a run did not write: it would add its own, and rows would count twice.
pub(super) fn refuse_others(layout: &Layout) -> Result<()> {
    let refusal = |reason| Err(Error::OthersLake { path: layout.root().to_owned(), reason });
    if RemoteLake::in_folder(layout.root()).is_some() {
        return refusal("machines upload their lakes to it");
    }
    let is_known = layout.manifest().exists() || layout.journal().exists();
    if !is_known && LAKE_TABLES.iter().any(|table| has_data(&layout.table(table))) {
        return refusal("it has tables, but no manifest that describes them");
    }
    Ok(())
}

fn has_data(table: &Path) -> bool {
    let mut entries = WalkDir::new(table).into_iter().filter_map(Result::ok);
    entries.any(|entry| entry.path().extension().is_some_and(|suffix| suffix == "parquet"))
}

/// Completes or undoes a commit that was interrupted, and reads the manifest. A new lake gets its machine's name and
/// its key.
pub(super) fn open_manifest(options: &Options, layout: &Layout) -> Result<Manifest> {
    commit::recover(layout)?;
    if let Some(mut manifest) = Manifest::load(layout)? {
        manifest.share_texts();
        return Ok(manifest);
    }
    let machine = options.machine.clone().unwrap_or_else(|| gethostname::gethostname().to_string_lossy().into_owned());
    let redaction_key = crate::random::bytes()?;
    Ok(Manifest { machine: machine_name(&machine), redaction_key, ..Manifest::default() })
}
