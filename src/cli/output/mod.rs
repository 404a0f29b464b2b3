//! All output: results to stdout or a file, everything else to stderr.

mod cells;
mod columnar;
mod escape;
mod fit;
mod format;
mod limit;
mod printer;
mod progress;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod text;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use chrono_tz::Tz;

pub use format::Format;
pub use limit::Limit;
pub use printer::{Printer, Style, help, report};
pub use progress::Bar;

use crate::query::Receiver;
use crate::{Error, Result};
use limit::Limited;
use table::Overlong;
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
}

impl OutputSettings {
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
    overlong: Overlong,
    limit: Option<(Limit, &'static str)>,
    target: Target,
    rows: Option<Box<dyn Rows>>,
}

impl Output {
    /// Creates the output. `piped` is the default format in a pipe.
    pub fn new(settings: &OutputSettings, piped: Format) -> Result<Self> {
        let path = settings.path.as_deref().filter(|path| path.as_os_str() != "-");
        let terminal = path.is_none() && std::io::stdout().is_terminal();
        let format = match (settings.format, path) {
            (Some(format), _) => format,
            (None, Some(path)) => Format::of_suffix(path)?,
            (None, None) if terminal => Format::Table,
            (None, None) => piped,
        };
        if terminal && format.is_binary() {
            return Err(Error::Usage(format!("{} is not text; write it into a file with -o FILE", format.name())));
        }
        let target = path.map_or_else(|| Ok(Target::stdout(terminal, format.is_json())), Target::file)?;
        let (zone, safe_csv) = (settings.zone, settings.safe_csv);
        Ok(Self { format, zone, safe_csv, overlong: Overlong::Cut, limit: None, target, rows: None })
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
    pub fn wrapping(self) -> Self {
        Self { overlong: Overlong::Wrap, ..self }
    }

    /// Limits the rows of a table on a terminal. `remedy` says how to get all.
    #[must_use]
    pub fn limited(self, limit: Limit, remedy: &'static str) -> Self {
        let limit = (self.format == Format::Table && self.target.is_terminal()).then_some((limit, remedy));
        Self { limit, ..self }
    }

    /// Writes a whole result.
    pub fn print(mut self, batch: &RecordBatch) -> Result<()> {
        self.schema(&batch.schema())?;
        self.batch(batch)?;
        self.finish()
    }

    /// Completes the result. Only now the file gets its name.
    pub fn finish(mut self) -> Result<()> {
        if let Some(mut rows) = self.rows.take() {
            rows.finish().map_err(|error| self.target.blame(error))?;
        }
        self.target.finish()
    }

    /// Completes the result, or discards it after a failure, except for what a terminal shows already.
    pub fn end(mut self, outcome: Result<()>) -> Result<()> {
        if outcome.is_ok() {
            return self.finish();
        }
        if let Some(rows) = &mut self.rows {
            rows.abandon().map_err(|error| self.target.blame(error))?;
            self.target.flush().map_err(|error| self.target.blame(error))?;
        }
        outcome
    }

    fn rows(&self, schema: &SchemaRef) -> Result<Box<dyn Rows>, ArrowError> {
        let target = self.target.clone();
        Ok(match self.format {
            Format::Table => Box::new(table::Table::new(target, schema, self.overlong)),
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
            Some((limit, remedy)) => Box::new(Limited::new(rows, self.target.clone(), limit, remedy)),
            None => rows,
        });
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(rows) = &mut self.rows else { return Ok(()) };
        let shown = cells::shown(batch, self.zone);
        let shown = if self.format.is_binary() { shown } else { shown.and_then(|batch| cells::printable(&batch)) };
        shown.and_then(|batch| rows.write(&batch)).map_err(|error| self.target.blame(error))
    }
}

/// Writes a text unchanged: a completion script, a manual page, a query.
pub fn raw(settings: &OutputSettings, text: &[u8]) -> Result<()> {
    let path = settings.path.as_deref().filter(|path| path.as_os_str() != "-");
    let terminal = path.is_none() && std::io::stdout().is_terminal();
    let mut target = path.map_or_else(|| Ok(Target::stdout(terminal, false)), Target::file)?;
    target.write_all(text).map_err(|error| target.blame(error))?;
    target.finish()
}
