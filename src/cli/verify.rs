//! `llrem verify`: checks the lake against its own manifest and invariants.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};

use super::args::Verify;
use super::freshness;
use super::output::{Format, Output};
use super::settings::Settings;
use crate::{Error, Result};

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Verify) -> Result<()> {
    let lake = settings.open_lake()?;
    freshness::warn(settings, &lake);
    let problems = lake.verify(typed.read_data)?;
    if problems.is_empty() && settings.output.is_plain() {
        settings.printer.say(&format!("The lake `{lake}` is complete and consistent."));
        return Ok(());
    }
    let count = problems.len();
    let rows: ArrayRef = Arc::new(StringArray::from(problems));
    Output::new(&settings.output, Format::Table)?
        .wrapping()
        .print(&RecordBatch::try_from_iter([("problem", rows)])?)?;
    if count > 0 { Err(Error::NotVerified { path: lake.place(), count }) } else { Ok(()) }
}
