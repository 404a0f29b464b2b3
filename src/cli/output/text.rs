//! CSV, JSON, lines of JSON, and Markdown, written as rows arrive.

use std::io::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::json::writer::{LineDelimited, WriterBuilder};

use super::Rows;
use super::cells::{self, Cells};
use super::target::Target;

/// Comma-separated values with a header line; nested values as JSON text.
pub(super) struct Csv {
    writer: arrow::csv::Writer<Target>,
    schema: SchemaRef,
    is_safe: bool,
}

impl Csv {
    pub(super) fn new(target: Target, schema: &SchemaRef, is_safe: bool) -> Result<Self, ArrowError> {
        let fields: Vec<FieldRef> = schema.fields().iter().map(cells::flat_field).collect();
        let schema = Arc::new(Schema::new(fields));
        let mut writer = arrow::csv::WriterBuilder::new().with_header(true).build(target);
        writer.write(&RecordBatch::new_empty(Arc::clone(&schema)))?;
        Ok(Self { writer, schema, is_safe })
    }
}

impl Rows for Csv {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let columns = batch.columns().iter().zip(batch.schema_ref().fields());
        let mut columns = columns.map(|(column, field)| cells::flat(column, field)).collect::<Result<Vec<_>, _>>()?;
        if self.is_safe {
            columns = columns.iter().map(cells::without_formulas).collect();
        }
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        Ok(())
    }
}

/// JSON objects: one array of them, or one per line.
pub(super) struct Json {
    target: Target,
    array: bool,
    rows: u64,
}

impl Json {
    pub(super) fn array(target: Target) -> Self {
        Self { target, array: true, rows: 0 }
    }

    pub(super) fn lines(target: Target) -> Self {
        Self { target, array: false, rows: 0 }
    }

    /// Splits at line breaks, which JSON never contains.
    fn write_as_array(&mut self, lines: &[u8]) -> Result<(), ArrowError> {
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.target.write_all(if self.rows == 0 { b"[\n" } else { b",\n" })?;
            self.target.write_all(line)?;
            self.rows += 1;
        }
        Ok(())
    }
}

impl Rows for Json {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let mut lines = Vec::new();
        let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut lines);
        writer.write(batch)?;
        writer.finish()?;
        drop(writer);
        if self.array {
            self.write_as_array(&lines)?;
        } else {
            self.target.write_all(&lines)?;
        }
        Ok(self.target.flush()?)
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        let end: &[u8] = match (self.array, self.rows) {
            (false, _) => b"",
            (true, 0) => b"[]\n",
            (true, _) => b"\n]\n",
        };
        Ok(self.target.write_all(end)?)
    }
}

/// A Markdown table with unpadded columns.
pub(super) struct Markdown {
    target: Target,
    head: String,
}

impl Markdown {
    pub(super) fn new(target: Target, schema: &SchemaRef) -> Self {
        let names = schema.fields().iter().map(|field| escaped(field.name()));
        let rules = schema.fields().iter().map(|field| if cells::is_number(field) { "---:" } else { "---" }.to_owned());
        Self { target, head: line(names) + &line(rules) }
    }
}

impl Rows for Markdown {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let mut text = std::mem::take(&mut self.head);
        let cells = Cells::of(batch)?;
        for row in 0..batch.num_rows() {
            let row = cells.row(row).collect::<Result<Vec<_>, _>>()?;
            text.push_str(&line(row.iter().map(|cell| escaped(cell))));
        }
        self.target.write_all(text.as_bytes())?;
        Ok(self.target.flush()?)
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        Ok(self.target.write_all(std::mem::take(&mut self.head).as_bytes())?)
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn escaped(cell: &str) -> String {
    cell.replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}
