//! Reads the rows of a query by column name.

use std::collections::BTreeMap;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use chrono::NaiveDate;

use crate::Result;

/// The rows of a query.
#[derive(Debug, Default)]
pub(super) struct Figures {
    rows: usize,
    columns: BTreeMap<String, Column>,
}

#[derive(Debug)]
enum Column {
    Texts(Vec<Option<String>>),
    /// Days count from 1970, times are microseconds since 1970, true is 1.
    Numbers(Vec<Option<f64>>),
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'f> {
    figures: &'f Figures,
    at: usize,
}

impl Figures {
    pub(super) fn of(batch: &RecordBatch) -> Result<Self> {
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, column)| {
            let values = match column.data_type() {
                DataType::Date32 => numbers(&cast(column, &DataType::Int32)?)?,
                DataType::Timestamp(..) => numbers(&cast(column, &DataType::Int64)?)?,
                DataType::Boolean => numbers(column)?,
                data if data.is_numeric() => numbers(column)?,
                _ => {
                    let texts = cast(column, &DataType::Utf8)?;
                    Column::Texts(texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect())
                }
            };
            Ok((field.name().clone(), values))
        });
        Ok(Self { rows: batch.num_rows(), columns: columns.collect::<Result<_>>()? })
    }

    pub(super) fn len(&self) -> usize {
        self.rows
    }

    pub(super) fn rows(&self) -> impl DoubleEndedIterator<Item = Row<'_>> + ExactSizeIterator {
        (0..self.rows).map(|at| Row { figures: self, at })
    }

    /// Returns the first row.
    pub(super) fn only(&self) -> Option<Row<'_>> {
        self.rows().next()
    }

    /// Adds up a column; `None` if it has no number.
    pub(super) fn known_sum(&self, name: &str) -> Option<f64> {
        self.rows().filter_map(|row| row.number(name)).reduce(|sum, number| sum + number)
    }

    /// Adds up a column.
    pub(super) fn sum(&self, name: &str) -> f64 {
        self.known_sum(name).unwrap_or(0.0)
    }

    /// Returns the largest number of a column.
    pub(super) fn largest(&self, name: &str) -> f64 {
        self.rows().filter_map(|row| row.number(name)).fold(0.0, f64::max)
    }
}

fn numbers(column: &dyn Array) -> Result<Column> {
    let numbers = cast(column, &DataType::Float64)?;
    let numbers = numbers.as_primitive::<Float64Type>().iter();
    Ok(Column::Numbers(numbers.map(|number| number.filter(|number| number.is_finite())).collect()))
}

impl<'f> Row<'f> {
    pub(super) fn text(self, name: &str) -> Option<&'f str> {
        match self.figures.columns.get(name)? {
            Column::Texts(texts) => texts.get(self.at)?.as_deref(),
            Column::Numbers(_) => None,
        }
    }

    pub(super) fn number(self, name: &str) -> Option<f64> {
        match self.figures.columns.get(name)? {
            Column::Numbers(numbers) => numbers.get(self.at).copied().flatten(),
            Column::Texts(_) => None,
        }
    }

    /// Returns a number, or 0 if there is none.
    pub(super) fn amount(self, name: &str) -> f64 {
        self.number(name).unwrap_or(0.0)
    }

    pub(super) fn is_true(self, name: &str) -> bool {
        self.amount(name) > 0.0
    }

    pub(super) fn day(self, name: &str) -> Option<NaiveDate> {
        NaiveDate::from_epoch_days(whole(self.number(name)?)?)
    }

    /// Returns a time. Microseconds since 1970.
    pub(super) fn moment(self, name: &str) -> Option<i64> {
        let number = self.number(name)?;
        #[expect(clippy::cast_possible_truncation, reason = "times are far below 2^53 microseconds")]
        Some(number as i64)
    }
}

/// Converts a whole number. Returns `None` if it is too large.
pub(super) fn whole(number: f64) -> Option<i32> {
    let is_whole = number.fract() == 0.0 && number.abs() < f64::from(i32::MAX);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
    is_whole.then_some(number as i32)
}
