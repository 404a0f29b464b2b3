//! A result as a table for people, fitted to the terminal.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Schema, SchemaRef};
use arrow::error::ArrowError;

use super::Rows;
use super::cell::Cell;
use super::grid::{Grid, Role};
use super::limit::Limit;
use super::look::Look;
use super::target::Target;
use super::view::{KINDS, Shown, Unit, Values, View};
use crate::environment::{self, COLUMNS};
use crate::shown::value;

/// Collects the rows, because their widths decide the layout.
pub(super) struct Table {
    target: Target,
    look: Look,
    options: TableOptions,
    schema: SchemaRef,
    columns: Vec<Shown>,
    grid: Grid,
    /// Sums of the columns that have a total, over all rows.
    sums: BTreeMap<String, Sum>,
    /// Responses of all rows that have no price.
    unpriced: i64,
    /// The total, if it is the result of another query.
    total: Option<Vec<Cell>>,
    rows: usize,
    is_drawn: bool,
    notes: Vec<String>,
}

/// A sum over all rows.
#[derive(Default)]
struct Sum {
    amount: f64,
    /// True if a row has no value.
    is_at_least: bool,
}

/// Options of a table.
#[derive(Clone, Default)]
pub(super) struct TableOptions {
    /// True if texts that are wider than their column are wrapped instead of cut.
    pub(super) wraps: bool,
    /// The columns to show, if they are described.
    pub(super) view: Option<View>,
    /// The most rows, and how to get all.
    pub(super) limit: Option<(Limit, &'static str)>,
}

/// Default width of a terminal.
const USUAL_WIDTH: usize = 80;

/// One row of so many columns is drawn vertically.
const MANY: usize = 7;

/// The column that counts the responses which the cost leaves out.
const UNPRICED: &str = "unpriced_responses";
/// End of the names of columns that hold ids of sessions.
const SESSION: &str = "session_id";
/// Columns with the cost of the priced responses.
const COSTS: [&str; 2] = ["cost_usd", "list_price_usd"];

impl Table {
    pub(super) fn new(target: Target, schema: &SchemaRef, options: TableOptions, look: Look) -> Self {
        let described = options.view.as_ref().map(|view| view.columns.as_slice()).unwrap_or_default();
        let known = described.iter().filter(|shown| schema.column_with_name(&shown.name).is_some());
        let mut columns: Vec<Shown> = known.cloned().collect();
        if columns.is_empty() {
            columns = schema.fields().iter().map(|field| Shown::plain(field)).collect();
        }
        // Kinds of tokens are one column in a narrow table, if they are all there.
        let has_all_kinds = columns.iter().filter(|shown| shown.unit == Unit::TokensOfKind).count() == KINDS.len();
        for shown in columns.iter_mut().filter(|shown| !has_all_kinds && shown.unit == Unit::TokensOfKind) {
            shown.unit = Unit::Tokens;
        }
        let names = columns.iter().filter_map(|shown| Some(shown.column(field(schema, &shown.name)?)));
        let mut grid = Grid::new(names.collect());
        if options.wraps {
            grid.set_wrapping();
        }
        let schema = Arc::clone(schema);
        let (sums, notes) = (BTreeMap::new(), Vec::new());
        Self {
            target,
            look,
            options,
            schema,
            columns,
            grid,
            sums,
            unpriced: 0,
            total: None,
            rows: 0,
            is_drawn: false,
            notes,
        }
    }

    fn cells(&self, batch: &RecordBatch) -> Result<Vec<Vec<Cell>>, ArrowError> {
        let is_escaped = self.look.width.is_some();
        let values = self.columns.iter().enumerate().map(|(at, shown)| {
            let found = batch.column_by_name(&shown.name).zip(field(batch.schema_ref(), &shown.name));
            let Some((array, field)) = found else { return Ok(None) };
            Values::of(array, field, shown.unit, at == 0, is_escaped).map(Some)
        });
        let values: Vec<Option<Values>> = values.collect::<Result<_, ArrowError>>()?;
        let unpriced = numbers(batch, UNPRICED)?;
        let row = |row: usize| {
            let is_partial =
                unpriced.as_ref().and_then(|all| all.get(row).copied().flatten()).is_some_and(|it| it > 0.0);
            let cells = self.columns.iter().zip(&values).map(|(shown, values)| {
                let cell = values.as_ref().map_or_else(Cell::empty, |values| values.cell(row));
                if is_partial && is_cost(shown) { cell.at_least() } else { cell }
            });
            let mut cells: Vec<Cell> = cells.collect();
            let key = cells.first_mut().zip(self.columns.first()).filter(|_| self.options.view.is_some());
            if let Some((key, shown)) = key.filter(|(_, shown)| shown.unit == Unit::Plain) {
                key.name_if_unknown(&shown.label);
            }
            cells
        };
        Ok((0..batch.num_rows()).map(row).collect())
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let names = self.options.view.as_ref().map(|view| view.sums.clone()).unwrap_or_default();
        for name in names {
            let Some(all) = numbers(batch, &name)? else { continue };
            let sum = self.sums.entry(name).or_default();
            sum.amount += all.iter().flatten().sum::<f64>();
            sum.is_at_least |= all.contains(&None);
        }
        let unpriced = numbers(batch, UNPRICED)?.unwrap_or_default();
        self.unpriced += unpriced.into_iter().flatten().map(whole).sum::<i64>();
        Ok(())
    }

    /// Returns the row of sums, if any column has one.
    fn sum_row(&self) -> Result<Option<Vec<Cell>>, ArrowError> {
        if self.sums.is_empty() {
            return Ok(None);
        }
        let fields: Vec<Field> = self.sums.keys().map(|name| Field::new(name, DataType::Float64, true)).collect();
        let whole = |name: &str| field(&self.schema, name).is_some_and(|field| field.data_type().is_integer());
        let columns = self.sums.iter().map(|(name, sum)| {
            let amount = arrow::array::Float64Array::from(vec![sum.amount]);
            if whole(name) { cast(&amount, &DataType::Int64) } else { Ok(Arc::new(amount) as _) }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let fields =
            fields.into_iter().zip(&columns).map(|(field, column)| field.with_data_type(column.data_type().clone()));
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), columns)?;
        let row = self.cells(&batch)?.into_iter().next().unwrap_or_default();
        let cells = row.into_iter().zip(&self.columns).map(|(cell, shown)| {
            let is_at_least = self.lacks_amounts(shown) || self.unpriced > 0 && is_cost(shown);
            if is_at_least { cell.at_least() } else { cell }
        });
        Ok(Some(cells.collect()))
    }

    /// True if a row has no amount for the sum of a column.
    fn lacks_amounts(&self, shown: &Shown) -> bool {
        shown.unit == Unit::Usd && self.sums.get(&shown.name).is_some_and(|sum| sum.is_at_least)
    }

    fn write_drawn(&mut self) -> Result<(), ArrowError> {
        if !std::mem::replace(&mut self.is_drawn, true) {
            let text = self.draw()?;
            self.target.write_drawn(&text)?;
        }
        Ok(())
    }

    fn draw(&mut self) -> Result<String, ArrowError> {
        let on_terminal = self.look.width.is_some();
        if on_terminal && self.rows == 1 && self.columns.len() >= MANY {
            self.add_indents();
            return Ok(self.grid.draw_vertically(self.look));
        }
        let total = match self.total.take() {
            Some(total) => Some(total),
            None => self.sum_row()?,
        };
        if let Some(mut total) = total.filter(|_| self.rows > 1) {
            if let Some(key) = total.first_mut() {
                *key = Cell::text("total");
            }
            self.grid.set_total(total);
            self.grid.set_bars(self.columns.iter().position(is_cost).unwrap_or(0));
        }
        if on_terminal && self.options.view.is_some() {
            self.notes = self.grid.leave_out_empty();
        }
        let drawn = self.grid.draw(self.look);
        self.notes.extend(drawn.notes);
        Ok(drawn.text)
    }

    /// Indents the names of parts below what they are parts of.
    fn add_indents(&mut self) {
        for (column, _) in self.grid.columns.iter_mut().zip(&self.columns).filter(|(_, shown)| shown.is_part) {
            column.name.insert_str(0, "  ");
        }
    }

    fn note_the_unpriced(&mut self) {
        if self.unpriced > 0 && self.columns.iter().any(is_cost) {
            let (responses, verb) = match self.unpriced {
                1 => ("1 response".to_owned(), "has"),
                many => (format!("{} responses", value::count(many)), "have"),
            };
            let (sign, remedy) = (self.look.signs.unknown, "llrem query data_quality");
            self.notes.push(format!("+ at least, {sign} unknown: {responses} {verb} no price ({remedy})"));
        } else if self.rows > 1 && self.columns.iter().any(|shown| self.lacks_amounts(shown)) {
            self.notes.push("+ at least: a row has no value".to_owned());
        }
    }

    fn note_the_hidden(&mut self, least: &str) {
        if self.rows == 0 {
            self.notes.push("no rows".to_owned());
        }
        let Some((limit, remedy)) = self.options.limit else { return };
        let more = self.rows.saturating_sub(limit.rows());
        if more > 0 {
            let rows = if more == 1 { "row" } else { "rows" };
            self.notes.push(format!(
                "{least}{} more {rows} ({remedy})",
                value::count(i64::try_from(more).unwrap_or(i64::MAX))
            ));
        }
    }
}

impl Rows for Table {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let most = self.options.limit.map_or(usize::MAX, |(limit, _)| limit.rows());
        let shown = batch.num_rows().min(most.saturating_sub(self.rows));
        for row in self.cells(&batch.slice(0, shown))? {
            self.grid.push(row);
        }
        self.rows += batch.num_rows();
        self.add(batch)?;
        if self.rows > most && self.options.view.is_none() {
            // Shows the rows at once, because counting the others may take long.
            self.write_drawn()?;
            self.target.flush()?;
        }
        Ok(())
    }

    fn total(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let row = self.cells(batch)?.into_iter().next().unwrap_or_default();
        let cells = row.into_iter().zip(&self.grid.columns);
        self.total =
            Some(cells.map(|(cell, column)| if column.role.is_left() { Cell::empty() } else { cell }).collect());
        self.unpriced = numbers(batch, UNPRICED)?.and_then(|all| all.into_iter().flatten().next()).map_or(0, whole);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        self.write_drawn()?;
        self.note_the_unpriced();
        self.note_the_hidden("");
        Ok(())
    }

    fn abandon(&mut self) -> Result<(), ArrowError> {
        let is_cut = self.options.limit.is_some_and(|(limit, _)| self.rows > limit.rows());
        if is_cut {
            self.write_drawn()?;
            self.note_the_hidden("at least ");
        }
        Ok(())
    }

    fn has_several(&self) -> bool {
        self.rows > 1
    }

    fn has_nothing(&self) -> bool {
        self.rows == 1 && self.grid.rows.iter().flatten().all(Cell::is_nothing)
    }

    fn names_sessions(&self) -> bool {
        self.rows > 0 && self.columns.iter().any(|shown| shown.name.ends_with(SESSION))
    }

    fn shorten(&mut self, short: &dyn Fn(&str) -> String) {
        let places = self.columns.iter().enumerate().filter(|(_, shown)| shown.name.ends_with(SESSION));
        let places: Vec<usize> = places.map(|(at, _)| at).collect();
        for at in places {
            let cells = self.grid.rows.iter_mut().filter_map(|row| row.get_mut(at));
            cells.for_each(|cell| cell.text = short(&cell.text));
            if let Some(column) = self.grid.columns.get_mut(at) {
                column.role = Role::Whole;
            }
        }
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

fn is_cost(shown: &Shown) -> bool {
    COSTS.contains(&shown.name.as_str())
}

fn field<'s>(schema: &'s SchemaRef, name: &str) -> Option<&'s Field> {
    schema.column_with_name(name).map(|(_, field)| field)
}

#[expect(clippy::cast_possible_truncation, reason = "counts are whole")]
fn whole(count: f64) -> i64 {
    count as i64
}

/// Returns the numbers of a column, or `None` if there is no such column.
fn numbers(batch: &RecordBatch, name: &str) -> Result<Option<Vec<Option<f64>>>, ArrowError> {
    let Some(column) = batch.column_by_name(name).filter(|column| column.data_type().is_numeric()) else {
        return Ok(None);
    };
    let column = cast(column, &DataType::Float64)?;
    Ok(Some(column.as_primitive::<Float64Type>().iter().collect()))
}

/// Returns the width of the terminal at stdout, or the usual one.
pub(super) fn width_of_terminal() -> usize {
    let reported = terminal_size::terminal_size().map(|(width, _)| width.0);
    terminal_width(reported, environment::value(COLUMNS))
}

/// Returns the width of the terminal. 0 means unknown.
pub(super) fn terminal_width(reported: Option<u16>, variable: Option<String>) -> usize {
    let reported = reported.map(usize::from).filter(|columns| *columns > 0);
    let variable = || variable?.parse::<usize>().ok().filter(|columns| *columns > 0);
    reported.or_else(variable).unwrap_or(USUAL_WIDTH)
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
