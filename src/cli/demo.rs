//! `llrem demo`: makes a lake of invented sessions, so that everything can be tried.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};

use super::output::{self, Format, Output};
use super::settings::Settings;
use crate::Result;
use crate::demo;
use crate::shown::{in_home, one_line};

/// Runs the command.
pub(super) fn run(settings: &Settings) -> Result<()> {
    let folder = settings.demo_folder()?;
    let lake = std::path::absolute(&folder).map_err(crate::Error::io("read", &folder))?;
    let is_new = demo::make(&lake, settings.clock.today(), settings.clock.zone)?;
    let output = Output::new(&settings.output, Format::Csv)?;
    if settings.asks_for_rows {
        let place: ArrayRef = Arc::new(StringArray::from(vec![lake.to_string_lossy().into_owned()]));
        return output.print(&RecordBatch::try_from_iter([("lake", place)])?);
    }
    if !output.is_on_terminal() {
        return output::raw(&settings.output, format!("{}\n", lake.display()).as_bytes());
    }
    output::drawn(&settings.output, &text(settings, &lake, is_new))
}

/// Says what there is now, and how to look at it.
fn text(settings: &Settings, lake: &Path, is_new: bool) -> String {
    let look = output::look_of_stdout(settings.printer);
    let what = "invented sessions of three agents, over two months until today";
    let made = if is_new { format!("Made a lake of {what}.") } else { format!("The lake of {what} is there already.") };
    let place = lake.to_string_lossy();
    let place = quoted(&one_line(&in_home(&place)), &one_line(&place));
    let set = if cfg!(windows) { format!("$env:LLREM_LAKE = {place}") } else { format!("export LLREM_LAKE={place}") };
    let shell = [(set.as_str(), "in this shell, every command reads it")];
    let next = [
        ("llrem", "what was spent"),
        ("llrem detect", "what of it was wasted"),
        ("llrem show 53ea1606", "a session as a conversation"),
        ("llrem report --all -o demo.html", "a page with plots"),
    ];
    [
        look.prose(&made),
        look.commands(&shell),
        format!("Then:\n{}", look.commands(&next)),
        look.prose("It never mixes with your own lake: llrem etl does not write to it."),
    ]
    .join("\n")
}

/// Returns a path as a shell takes it. `~` must not be quoted, so a path that has to be is written in full.
fn quoted(short: &str, whole: &str) -> String {
    let is_plain = short.chars().all(|letter| letter.is_alphanumeric() || "~/._-\\:".contains(letter));
    if is_plain { short.to_owned() } else { format!("'{}'", whole.replace('\'', "'\\''")) }
}
