//! `llrem etl`: extract what changed into the lake.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};

use super::args::Etl;
use super::output::{Format, Output};
use super::settings::Settings;
use super::summary;
use crate::etl::{self, Progress, Silent, Summary};
use crate::source::name_of;
use crate::{Error, Result};

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: Etl) -> Result<()> {
    let options = settings.etl_options(typed)?;
    if !options.dry_run {
        settings.refuse_output("etl")?;
    }
    let bar = settings.printer.bar();
    let progress: &dyn Progress = bar.as_ref().map_or(&Silent, |bar| bar);
    let outcome = etl::run(&options, progress);
    progress.finish();
    let summary = outcome?;
    if options.dry_run {
        print_plan(settings, &summary)?;
    }
    if let (Some(kept), Some(wanted)) = (&summary.kept_machine, &options.machine) {
        settings.printer.warn(&format!(
            "the lake keeps the machine's name `{kept}` that it was made with; `{wanted}` needs a lake of its own (--lake)"
        ));
    }
    for line in summary::lines(&summary, &options) {
        settings.printer.say(&line);
    }
    let bad = summary.agents.iter().map(|agent| agent.bad).sum();
    if options.strict && bad > 0 { Err(Error::BadInput { count: bad }) } else { Ok(()) }
}

fn print_plan(settings: &Settings, summary: &Summary) -> Result<()> {
    let reasons: ArrayRef =
        Arc::new(summary.would_read.iter().map(|(_, reason)| Some(*reason)).collect::<StringArray>());
    let paths = summary.would_read.iter().map(|(path, _)| Some(name_of(path)));
    let paths: ArrayRef = Arc::new(paths.collect::<StringArray>());
    Output::new(&settings.output, Format::Csv)?
        .print(&RecordBatch::try_from_iter([("reason", reasons), ("path", paths)])?)
}
