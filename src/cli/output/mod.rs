//! All output: results to stdout or a file, everything else to stderr.

mod cell;
mod cells;
mod columnar;
mod draw;
mod escape;
mod format;
mod grid;
mod layout;
mod limit;
mod look;
mod pager;
mod paint;
mod printer;
mod progress;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod text;
mod view;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use chrono_tz::Tz;

pub use cell::Cell;
pub use format::Format;
pub use grid::{Column, Grid, Role};
pub use limit::Limit;
pub use look::Look;
pub use pager::Reader;
pub use paint::Paint;
pub use printer::{Printer, Style, help, report};
pub use progress::Bar;
pub use view::{Shown, Unit, View};

use crate::query::Receiver;
use crate::shown::Signs;
use crate::{Error, Result};
use limit::Limited;
use table::TableOptions;
use target::Target;

/// Destination and format of results, as far as they were given.
#[derive(Debug, Clone)]
pub struct OutputSettings {
    /// The format, if one was given.
    pub format: Option<Format>,
    /// The file, if one was given.
    pub path: Option<PathBuf>,
    /// Time zone of shown times.
    pub zone: Tz,
    /// True if texts in CSV that a spreadsheet would run as a formula are marked.
    pub safe_csv: bool,
    /// Printer for notes below a table.
    pub printer: Printer,
}

impl OutputSettings {
    /// Returns the file to write to; `-` names stdout.
    pub fn file(&self) -> Option<&Path> {
        self.path.as_deref().filter(|path| path.as_os_str() != "-")
    }

    /// True if the output goes to a terminal.
    pub fn is_on_terminal(&self) -> bool {
        self.file().is_none() && std::io::stdout().is_terminal()
    }

    /// True if neither a format nor a file was given.
    pub fn is_plain(&self) -> bool {
        self.format.is_none() && self.path.is_none()
    }
}

/// Writes rows in one format, batch by batch.
trait Rows {
    /// Writes some rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError>;
    /// Writes the end, after the last row.
    fn finish(&mut self) -> Result<(), ArrowError>;
    /// Receives the last row of a table: the total, as computed over everything.
    fn total(&mut self, _total: &RecordBatch) -> Result<(), ArrowError> {
        Ok(())
    }
    /// True if there is more than one row.
    fn has_several(&self) -> bool {
        false
    }
    /// True if the only row of a table has neither a text nor a number other than 0.
    fn has_nothing(&self) -> bool {
        false
    }
    /// True if a column of a table holds ids of sessions.
    fn names_sessions(&self) -> bool {
        false
    }
    /// Shortens the ids of sessions.
    fn shorten(&mut self, _short: &dyn Fn(&str) -> String) {}
    /// Returns what people should know about the result.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Writes the end of an incomplete result.
    fn abandon(&mut self) -> Result<(), ArrowError> {
        Ok(())
    }
}

/// Receives the rows of one result and writes them.
pub struct Output {
    format: Format,
    zone: Tz,
    safe_csv: bool,
    table: TableOptions,
    /// Notes to print below the result.
    notes: Vec<String>,
    limit: Option<Limit>,
    printer: Printer,
    target: Target,
    rows: Option<Box<dyn Rows>>,
    is_empty: bool,
}

impl Output {
    /// Creates the output. `piped` is the default format in a pipe.
    pub fn new(settings: &OutputSettings, piped: Format) -> Result<Self> {
        let (path, terminal) = (settings.file(), settings.is_on_terminal());
        let format = match (settings.format, path) {
            (Some(format), _) => format,
            (None, Some(path)) => Format::of_suffix(path)?,
            (None, None) if terminal => Format::Table,
            (None, None) => piped,
        };
        if terminal && format.is_binary() {
            return Err(Error::Usage(format!("{} is not text; write it into a file with -o FILE", format.name())));
        }
        let target = Target::open(settings, format.is_json())?;
        let OutputSettings { zone, safe_csv, printer, .. } = *settings;
        let table = TableOptions::default();
        let (notes, limit, rows, is_empty) = (Vec::new(), None, None, true);
        Ok(Self { format, zone, safe_csv, table, notes, limit, printer, target, rows, is_empty })
    }

    /// True if it is a table that people read on a terminal.
    pub fn is_on_terminal(&self) -> bool {
        self.is_table() && self.target.is_terminal()
    }

    /// True if people read it, rather than programs.
    pub fn is_table(&self) -> bool {
        self.format == Format::Table
    }

    /// True if it is a table to read, on a terminal or in a document.
    pub fn is_for_people(&self) -> bool {
        matches!(self.format, Format::Table | Format::Markdown)
    }

    /// Wraps long texts in a table instead of cutting them.
    #[must_use]
    pub fn wrapping(mut self) -> Self {
        self.table.wraps = true;
        self
    }

    /// Adds a note to print below the result.
    pub fn note(&mut self, note: &str) {
        self.notes.extend(Some(note.to_owned()).filter(|note| !note.is_empty()));
    }

    /// Shows the columns of a table as they are described.
    #[must_use]
    pub fn viewed(mut self, view: View) -> Self {
        self.table.view = Some(view);
        self
    }

    /// Limits the rows: to the number that was asked for, or by default on a terminal. `remedy` says how to get all.
    #[must_use]
    pub fn limited(mut self, limit: RowLimit, remedy: &'static str) -> Self {
        if limit.is_typed || self.is_on_terminal() {
            match self.is_table() {
                true => self.table.limit = Some((limit.most, remedy)),
                false => self.limit = Some(limit.most),
            }
        }
        self
    }

    /// Returns the most rows to show.
    pub fn most(&self) -> usize {
        let of_table = self.table.limit.map(|(most, _)| most);
        self.limit.or(of_table).map_or(usize::MAX, Limit::rows)
    }

    /// True if no rows arrived.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// True if the only row has neither a text nor a number other than 0. Only tables know it.
    pub fn has_nothing(&self) -> bool {
        self.rows.as_ref().is_some_and(|rows| rows.has_nothing())
    }

    /// True if more than one row arrived. Only tables count them.
    pub fn has_several(&self) -> bool {
        self.rows.as_ref().is_some_and(|rows| rows.has_several())
    }

    /// True if a column of a table holds ids of sessions.
    pub fn names_sessions(&self) -> bool {
        self.rows.as_ref().is_some_and(|rows| rows.names_sessions())
    }

    /// Shortens the ids of sessions in a table.
    pub fn shorten(&mut self, short: &dyn Fn(&str) -> String) {
        if let Some(rows) = &mut self.rows {
            rows.shorten(short);
        }
    }

    /// Writes nothing of the result.
    pub fn discard(mut self) {
        self.rows = None;
    }

    /// Writes the last row of a table: the total.
    pub fn total(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        rows.total(batch).map_err(|error| self.target.blame(error))
    }

    /// Writes a whole result.
    pub fn print(mut self, batch: &RecordBatch) -> Result<()> {
        self.schema(&batch.schema())?;
        self.batch(batch)?;
        self.finish()
    }

    /// Completes the result. Only now the file gets its name.
    pub fn finish(mut self) -> Result<()> {
        let mut notes = Vec::new();
        if let Some(mut rows) = self.rows.take() {
            rows.finish().map_err(|error| self.target.blame(error))?;
            notes = rows.notes();
        }
        self.target.finish()?;
        notes.extend(self.notes);
        self.printer.notes(&notes);
        Ok(())
    }

    /// Completes the result, or discards it after a failure, except for what a terminal shows already.
    pub fn end(mut self, outcome: Result<()>) -> Result<()> {
        if outcome.is_ok() {
            return self.finish();
        }
        if let Some(rows) = &mut self.rows {
            rows.abandon().map_err(|error| self.target.blame(error))?;
            let notes = rows.notes();
            self.target.flush().map_err(|error| self.target.blame(error))?;
            self.printer.notes(&notes);
        }
        outcome
    }

    fn look(&self) -> Look {
        let on_terminal = self.target.is_terminal();
        look(on_terminal, self.printer)
    }

    fn rows(&self, schema: &SchemaRef) -> Result<Box<dyn Rows>, ArrowError> {
        let target = self.target.clone();
        Ok(match self.format {
            Format::Table => Box::new(table::Table::new(target, schema, self.table.clone(), self.look())),
            Format::Markdown => Box::new(text::Markdown::new(target, schema)),
            Format::Json => Box::new(text::Json::array(target)),
            Format::Ndjson => Box::new(text::Json::lines(target)),
            Format::Csv => Box::new(text::Csv::new(target, schema, self.safe_csv)?),
            Format::Parquet => Box::new(columnar::Parquet::new(target, schema)?),
            Format::Arrow => Box::new(columnar::Arrow::new(target, schema)?),
        })
    }
}

impl Receiver for Output {
    fn schema(&mut self, schema: &SchemaRef) -> Result<()> {
        let shown = cells::shown_schema(schema, self.zone);
        let rows = self.rows(&shown).map_err(|error| self.target.blame(error))?;
        self.rows = Some(match self.limit {
            Some(limit) => Box::new(Limited::new(rows, limit)),
            None => rows,
        });
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        self.is_empty &= batch.num_rows() == 0;
        let shown = cells::shown(batch, self.zone);
        let shown = if self.format.is_binary() { shown } else { shown.and_then(|batch| cells::printable(&batch)) };
        shown.and_then(|batch| rows.write(&batch)).map_err(|error| self.target.blame(error))
    }
}

/// The most rows of a result, and whether somebody asked for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLimit {
    /// The most rows.
    pub most: Limit,
    /// True if it was given on the command line: it then holds for every format.
    pub is_typed: bool,
}

/// Returns the look of what is written to stdout.
pub fn look_of_stdout(printer: Printer) -> Look {
    look(std::io::stdout().is_terminal(), printer)
}

fn look(on_terminal: bool, printer: Printer) -> Look {
    if on_terminal {
        let width = Some(table::width_of_terminal());
        Look { width, paint: printer.results_paint(), signs: Signs::of_environment() }
    } else {
        Look { width: None, paint: Paint(false), signs: Signs::UNICODE }
    }
}

/// Writes text that is drawn for stdout: escaped where it is untrusted, and coloured.
pub fn drawn(settings: &OutputSettings, text: &str) -> Result<()> {
    let mut target = Target::open(settings, false)?;
    target.write_drawn(text).map_err(|error| target.blame(error))?;
    target.finish()
}

/// Writes a text unchanged: a completion script, a manual page, a query.
pub fn raw(settings: &OutputSettings, text: &[u8]) -> Result<()> {
    let mut target = Target::open(settings, false)?;
    target.write_all(text).map_err(|error| target.blame(error))?;
    target.finish()
}
