//! A table for people, fitted to the terminal.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table as Grid};
use unicode_width::UnicodeWidthStr;

use super::Rows;
use super::cells::{self, Cells};
use super::fit::{cut, folded, widest_line, wrapped};
use super::target::Target;
use crate::environment::{self, COLUMNS};
use crate::shown::visible;

/// Collects the rows, because their widths decide the layout.
pub(super) struct Table {
    target: Target,
    width: Option<usize>,
    overlong: Overlong,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// Treatment of a text that is wider than its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlong {
    /// Cuts it.
    Cut,
    /// Wraps it.
    Wrap,
}

struct Column {
    name: String,
    number: bool,
    /// True if its cells may be shortened. Numbers, times and similar are whole or not shown at all.
    flexible: bool,
}

/// Characters of the grid, in comfy-table's order: borders, header, inner lines, crossings, corners.
const LINES: &str = "││──├─┼┤│    ┬┴┌┐└┘";

/// Default width of a terminal.
const USUAL_WIDTH: usize = 80;

/// Shortest width to which a text is cut.
const NARROWEST: usize = 12;

impl Table {
    pub(super) fn new(target: Target, schema: &SchemaRef, overlong: Overlong) -> Self {
        let width = target.is_terminal().then(|| terminal_width(Grid::new().width(), environment::value(COLUMNS)));
        Self::with_width(target, schema, overlong, width)
    }

    pub(super) fn with_width(target: Target, schema: &SchemaRef, overlong: Overlong, width: Option<usize>) -> Self {
        let columns = schema.fields().iter().map(|field| Column {
            name: field.name().clone(),
            number: cells::is_number(field),
            flexible: cells::is_text(field),
        });
        Self { target, width, overlong, columns: columns.collect(), rows: Vec::new() }
    }

    /// Returns the width of each column. Columns after the last one do not fit.
    fn widths(&self) -> Vec<usize> {
        let contents = (0..self.columns.len()).map(|at| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| widest_line(cell)).max().unwrap_or(0)
        });
        let contents: Vec<usize> = contents.collect();
        let columns = || self.columns.iter().zip(&contents);
        let mut widths: Vec<usize> = columns().map(|(column, content)| column.name.width().max(*content)).collect();
        let Some(available) = self.width else { return widths };
        let floors: Vec<usize> = columns().map(|(column, content)| column.floor(*content)).collect();
        widths.truncate(columns_that_fit(&floors, available));
        shrink(&mut widths, &floors, available);
        widths
    }

    fn render(&self) -> String {
        let widths = self.widths();
        let columns = || self.columns.iter().zip(&widths);
        let mut grid = Grid::new();
        grid.load_preset(LINES).set_content_arrangement(ContentArrangement::Disabled);
        grid.set_header(columns().map(|(column, width)| column.cell(folded(&column.name, *width))));
        for row in &self.rows {
            let cells = row.iter().zip(columns());
            grid.add_row(cells.map(|(text, (column, width))| column.cell(self.fitted(text, *width))));
        }
        let mut text = grid.trim_fmt() + "\n";
        let hidden = self.columns.iter().skip(widths.len()).map(|column| column.name.as_str()).collect::<Vec<_>>();
        if !hidden.is_empty() {
            let count = hidden.len().to_string();
            text.extend([&count, " more columns do not fit (-f csv and -f json show all): ", &hidden.join(", "), "\n"]);
        }
        text
    }

    fn fitted(&self, text: &str, width: usize) -> String {
        match self.overlong {
            _ if widest_line(text) <= width => text.to_owned(),
            Overlong::Cut => cut(text, width),
            Overlong::Wrap => wrapped(text, width),
        }
    }
}

impl Column {
    /// Returns the smallest width, with a wrapped name.
    fn floor(&self, content: usize) -> usize {
        let word = self.name.split_inclusive('_').map(UnicodeWidthStr::width).max().unwrap_or(0);
        word.max(if self.flexible { content.min(NARROWEST) } else { content })
    }

    fn cell(&self, text: String) -> Cell {
        Cell::new(text).set_alignment(if self.number { CellAlignment::Right } else { CellAlignment::Left })
    }
}

impl Rows for Table {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let terminal = self.target.is_terminal();
        let cells = Cells::of(batch)?;
        for row in 0..batch.num_rows() {
            let row = cells.row(row).map(|cell| Ok(if terminal { visible(&cell?).into_owned() } else { cell? }));
            self.rows.push(row.collect::<Result<_, ArrowError>>()?);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        let text = self.render();
        Ok(self.target.write_all(text.as_bytes())?)
    }
}

/// Returns the width of the terminal. 0 means unknown.
fn terminal_width(reported: Option<u16>, variable: Option<String>) -> usize {
    let reported = reported.map(usize::from).filter(|columns| *columns > 0);
    let variable = || variable?.parse::<usize>().ok().filter(|columns| *columns > 0);
    reported.or_else(variable).unwrap_or(USUAL_WIDTH)
}

/// Returns the width of a table: a border at the left, and for each column its text, two spaces and a border.
fn columns_that_fit(widths: &[usize], available: usize) -> usize {
    let mut used = 1;
    let fitting = widths.iter().take_while(|width| {
        used += *width + 3;
        used <= available
    });
    fitting.count().max(1).min(widths.len())
}

/// Narrows the widest columns until all fit.
fn shrink(widths: &mut [usize], floors: &[usize], available: usize) {
    let room = available.saturating_sub(1 + 3 * widths.len());
    while widths.iter().sum::<usize>() > room {
        let reducible = widths.iter_mut().zip(floors).filter(|(width, floor)| **width > **floor);
        let Some((widest, _)) = reducible.max_by_key(|(width, _)| **width) else { return };
        *widest -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_of_no_size_is_as_wide_as_its_variable_says_or_as_usual() {
        let width = |reported, variable: Option<&str>| terminal_width(reported, variable.map(str::to_owned));
        assert_eq!(width(Some(120), Some("60")), 120);
        assert_eq!(width(Some(0), Some("60")), 60);
        assert_eq!(width(None, Some("60")), 60);
        for wrong in [None, Some("0"), Some("wide"), Some("-1")] {
            assert_eq!(width(Some(0), wrong), 80, "{wrong:?}");
        }
    }
}
