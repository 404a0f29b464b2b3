//! `llrem sources`: lists every known source, with its state, bad lines and number of rows.

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::filter_record_batch;

use super::args::Sources;
use super::output::{Format, Output};
use super::settings::Settings;
use crate::Result;

/// States of sources that could not be read in full.
const BAD_STATES: [&str; 3] = ["partial", "unreadable", "encrypted"];

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Sources) -> Result<()> {
    let mut rows = settings.open_lake()?.sources()?;
    if typed.bad {
        let states = rows.column_by_name("state").and_then(|column| column.as_string_opt::<i32>());
        let bad: Option<BooleanArray> = states.map(|states| {
            states.iter().map(|state| Some(state.is_some_and(|state| BAD_STATES.contains(&state)))).collect()
        });
        if let Some(bad) = bad {
            rows = filter_record_batch(&rows, &bad)?;
        }
    }
    Output::new(&settings.output, Format::Csv)?.print(&rows)
}
