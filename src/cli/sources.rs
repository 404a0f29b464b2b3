//! `llrem sources`: lists every known source, with its state, bad lines and number of rows.

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;

use super::args::Sources;
use super::freshness;
use super::output::{Format, Output};
use super::settings::Settings;
use crate::Result;
use crate::tables::{SourceColumns, SourceState};

/// States of sources that could not be read in full.
const BAD_STATES: [SourceState; 3] = [SourceState::Partial, SourceState::Unreadable, SourceState::Encrypted];

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Sources) -> Result<()> {
    let lake = settings.open_lake()?;
    freshness::warn(settings, &lake);
    let mut rows = lake.sources()?;
    if typed.bad {
        let columns = SourceColumns::of(&rows);
        let is_bad = |row| Some(BAD_STATES.contains(&columns.state(row)));
        let bad: BooleanArray = (0..rows.num_rows()).map(is_bad).collect();
        rows = filter_record_batch(&rows, &bad)?;
    }
    Output::new(&settings.output, Format::Csv)?.print(&rows)
}
