//! `llrem upload`: uploads the lake to object storage.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use indicatif::BinaryBytes;

use super::args::Upload;
use super::output::{Format, Output};
use super::settings::Settings;
use crate::Result;
use crate::progress::Progress;
use crate::upload::{self, Options, PlannedFile, Summary};

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Upload) -> Result<()> {
    let options = settings.upload_options(typed)?;
    if !options.dry_run {
        settings.refuse_output("upload")?;
    }
    let outcome = upload::run(&options, &settings.progress);
    settings.progress.finish();
    let summary = outcome?;
    if options.dry_run {
        print_plan(settings, &summary.planned)?;
    }
    for line in lines(&summary, &options) {
        settings.printer.say(&line);
    }
    Ok(())
}

fn print_plan(settings: &Settings, planned: &[PlannedFile]) -> Result<()> {
    let actions = planned.iter().map(|file| Some(if file.is_removed { "delete" } else { "put" }));
    let actions: ArrayRef = Arc::new(actions.collect::<StringArray>());
    let bytes = planned.iter().map(|file| i64::try_from(file.bytes?).ok());
    let bytes: ArrayRef = Arc::new(bytes.collect::<Int64Array>());
    let paths: ArrayRef = Arc::new(planned.iter().map(|file| Some(file.path.as_str())).collect::<StringArray>());
    let rows = RecordBatch::try_from_iter([("action", actions), ("bytes", bytes), ("path", paths)])?;
    Output::new(&settings.output, Format::Csv)?.print(&rows)
}

fn lines(summary: &Summary, options: &Options) -> Vec<String> {
    let mut lines = Vec::new();
    if !summary.replaced.is_empty() {
        let replaced = summary.replaced.iter().map(|(kind, count)| format!("{kind} ({count} times)"));
        lines.push(format!("replaced on the way: {}", replaced.collect::<Vec<_>>().join(", ")));
    }
    let url = options.url.trim_end_matches('/');
    let files = |count: u64| if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
    let (put, removed) = (files(summary.files_put), files(summary.files_removed));
    let bytes = BinaryBytes(summary.bytes_put);
    let rate = summary.bytes_put as f64 / 1e6 / summary.seconds;
    let rate = if rate >= 1.0 && rate.is_finite() { format!(" ({rate:.0} MB/s)") } else { String::new() };
    lines.push(match (summary.files_put, summary.files_removed, options.dry_run) {
        (0, 0, _) => format!("`{url}` has what the lake has"),
        (_, _, true) => format!("{put} ({bytes}) would be put and {removed} removed; nothing was changed"),
        (_, 0, false) => format!("put {put}, {bytes}, in {:.2} s{rate}, to `{url}`", summary.seconds),
        (_, _, false) => {
            format!("put {put}, {bytes}, in {:.2} s{rate}, and removed {removed}, at `{url}`", summary.seconds)
        }
    });
    lines
}
