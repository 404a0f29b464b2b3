//! `llrem schedule status`: when the job runs, how it went, and the end of its log.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};

use super::super::args::System;
use super::super::holdings::moment_in_words;
use super::super::output::{self, Format, Look, Output};
use super::super::settings::{Settings, system_clock};
use super::installed::Installed;
use super::log::Entry;
use super::system::installed;
use super::{log, shown};
use crate::shown::one_line;
use crate::shown::value;
use crate::{Error, Result};

/// Runs that are shown by their outcome, and lines of the log that are shown.
const RUNS: usize = 7;
const LINES: usize = 3;
/// Columns of a label.
const LABEL: usize = 11;

/// Prints the schedule.
pub(super) fn print(settings: &Settings, by: Option<System>) -> Result<()> {
    let found = installed(by)?.into_iter().next();
    let output = Output::new(&settings.output, Format::Table)?;
    let log = log()?;
    let Some(installed) = found else { return Err(Error::NoSchedule) };
    let entries = log.entries()?;
    if output.is_table() {
        let screen = Screen { settings, installed: &installed, entries: &entries };
        output::drawn(&settings.output, &screen.text(&shown(log.path())))?;
    } else {
        output.print(&row(&installed, &entries)?)?;
    }
    if installed.is_active { Ok(()) } else { Err(Error::NoSchedule) }
}

fn row(installed: &Installed, entries: &[Entry]) -> Result<RecordBatch> {
    let text = |text: Option<String>| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let time = |micros: Option<i64>| -> ArrayRef {
        Arc::new(TimestampMicrosecondArray::from(vec![micros]).with_timezone("UTC"))
    };
    let last = entries.last();
    let next = installed.at.and_then(|at| at.next(&system_clock()));
    let columns: [(&str, ArrayRef); 7] = [
        ("scheduler", text(Some(installed.system.title().to_owned()))),
        ("at", text(installed.at.map(|at| at.to_string()))),
        ("is_active", Arc::new(BooleanArray::from(vec![installed.is_active]))),
        ("last_run_at", time(last.map(|entry| entry.ended_at))),
        ("last_exit_code", Arc::new(Int64Array::from(vec![last.map(|entry| i64::from(entry.code))]))),
        ("last_said", text(last.map(|entry| entry.text.clone()))),
        ("next_run_at", time(next.filter(|_| installed.is_active))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}

struct Screen<'a> {
    settings: &'a Settings,
    installed: &'a Installed,
    entries: &'a [Entry],
}

impl Screen<'_> {
    fn text(&self, log: &str) -> String {
        let look = output::look_of_stdout(self.settings.printer);
        let at = self.installed.at.map_or_else(|| "at a time that you set".to_owned(), |at| format!("daily at {at}"));
        let mut lines = vec![
            ("Schedule", format!("{at}, by {}", self.installed.system.title())),
            ("Runs", one_line(&self.installed.command)),
            ("Last run", self.last()),
            ("Next run", self.next()),
        ];
        lines.extend(self.nights(look).map(|nights| ("Last runs", nights)));
        let head = |name: &str| look.paint.dim(&format!("{name:LABEL$}"));
        let labelled = |(name, text): &(&str, String)| look.next_to(&head(name), LABEL, text);
        let lines: String = lines.iter().map(labelled).collect();
        let newest = self.entries.iter().rev().take(LINES).rev();
        let newest = newest.map(|entry| {
            let moment = format!("  {}  ", self.moment(entry));
            look.next_to(&moment, moment.len(), &one_line(&entry.text))
        });
        let newest = look.paint.dim_lines(&newest.collect::<String>());
        if newest.is_empty() { lines } else { format!("{lines}\nLog ({log})\n{newest}") }
    }

    fn in_words(&self, moment: i64) -> String {
        moment_in_words(moment, &self.settings.clock)
    }

    fn moment(&self, entry: &Entry) -> String {
        value::time(entry.ended_at, self.settings.clock.zone).unwrap_or_default()
    }

    fn last(&self) -> String {
        self.entries.last().map_or_else(
            || "none yet".to_owned(),
            |entry| {
                let how = if entry.is_good() { "" } else { "failed: " };
                format!("{}: {how}{}", self.in_words(entry.ended_at), one_line(&entry.text))
            },
        )
    }

    fn next(&self) -> String {
        if !self.installed.is_active {
            return "never: the scheduler does not run it; llrem schedule install starts it".to_owned();
        }
        let made_up = format!("a missed night is made up for {}", self.installed.system.made_up());
        let next = self.installed.at.and_then(|at| at.next(&system_clock()));
        next.map_or_else(|| made_up.clone(), |next| format!("{}; {made_up}", self.in_words(next)))
    }

    /// Returns how the last runs went, the newest last, and why the last failure of them was one.
    fn nights(&self, look: Look) -> Option<String> {
        let last = self.entries.get(self.entries.len().saturating_sub(RUNS)..)?;
        if last.len() < 2 {
            return None;
        }
        let sign = |entry: &Entry| match entry.is_good() {
            true => look.paint.green(look.signs.good),
            false => look.paint.red(look.signs.bad),
        };
        let signs = last.iter().map(sign).collect::<Vec<_>>().join(" ");
        let failed = last.iter().rev().find(|entry| !entry.is_good());
        let why =
            failed.map(|entry| format!("   ({} failed: {})", self.in_words(entry.ended_at), one_line(&entry.text)));
        Some(signs + &why.unwrap_or_default())
    }
}
