//! Reads the rows of a query by column name, and formats their values.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::Result;
use crate::shown::{money, visible};

const OPTIONS: FormatOptions<'static> = FormatOptions::new()
    .with_timestamp_format(Some("%Y-%m-%d %H:%M"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M"))
    .with_date_format(Some("%Y-%m-%d"));

/// The kind of a column's values, by its name and type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Money,
    Share,
    Number,
    Moment,
    Text,
}

/// The first rows of a query's result.
pub(super) struct Figures<'b> {
    batch: Cow<'b, RecordBatch>,
}

impl<'b> Figures<'b> {
    pub(super) fn of(batch: &'b RecordBatch) -> Self {
        Self { batch: Cow::Borrowed(batch) }
    }

    /// Returns an empty result.
    pub(super) fn none() -> Self {
        Self { batch: Cow::Owned(RecordBatch::new_empty(Arc::new(Schema::empty()))) }
    }

    pub(super) fn first(batch: &RecordBatch, rows: usize) -> Self {
        Self { batch: Cow::Owned(batch.slice(0, rows.min(batch.num_rows()))) }
    }

    pub(super) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Returns the kind of a column's values, or `None` if there is no such column.
    pub(super) fn kind(&self, name: &str) -> Option<Kind> {
        let data = self.batch.column_by_name(name)?.data_type();
        Some(match data {
            _ if name.ends_with("_usd") || name.starts_with("usd_") => Kind::Money,
            _ if name.ends_with("_rate") || matches!(name, "failed_share" | "failed_low" | "failed_high") => {
                Kind::Share
            }
            data if data.is_numeric() => Kind::Number,
            DataType::Date32 | DataType::Timestamp(..) => Kind::Moment,
            _ => Kind::Text,
        })
    }

    /// Returns the values of a column of numbers or days. Days count from 1970.
    pub(super) fn numbers(&self, name: &str) -> Result<Vec<Option<f64>>> {
        let Some(column) = self.batch.column_by_name(name) else { return Ok(Vec::new()) };
        let days =
            if column.data_type() == &DataType::Date32 { cast(column, &DataType::Int32)? } else { column.clone() };
        let numbers = cast(&days, &DataType::Float64)?;
        Ok(numbers.as_primitive::<Float64Type>().iter().collect())
    }

    /// Returns the formatted values of a column. A null is empty.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>> {
        let (Some(column), Some(kind)) = (self.batch.column_by_name(name), self.kind(name)) else {
            return Ok(Vec::new());
        };
        match kind {
            Kind::Text | Kind::Moment => texts(column),
            kind => Ok(self.numbers(name)?.into_iter().map(|number| shown(kind, number)).collect()),
        }
    }

    /// Returns the sum of a column of counts.
    pub(super) fn sum(&self, name: &str) -> Result<f64> {
        Ok(self.numbers(name)?.into_iter().flatten().sum())
    }
}

fn texts(column: &ArrayRef) -> Result<Vec<String>> {
    let formatter = ArrayFormatter::try_new(column, &OPTIONS)?;
    // A time outside of the calendar counts as none.
    let text = |row| formatter.value(row).try_to_string().unwrap_or_default();
    Ok((0..column.len()).map(|row| visible(&text(row)).into_owned()).collect())
}

/// Formats a number by its kind. Returns an empty text for none.
pub(super) fn shown(kind: Kind, number: Option<f64>) -> String {
    match (kind, number) {
        (_, None) => String::new(),
        (Kind::Money, Some(usd)) => format!("${}", grouped(&money(usd))),
        (Kind::Share, Some(share)) => format!("{:.2} %", share * 100.0),
        (_, Some(number)) => grouped(&number.to_string()),
    }
}

/// Groups the digits before the point by three.
fn grouped(number: &str) -> String {
    let (whole, rest) = number.find('.').map_or((number, ""), |point| number.split_at(point));
    let digits = whole.chars().filter(char::is_ascii_digit).count();
    let mut text = String::new();
    let mut left = digits;
    for letter in whole.chars() {
        text.push(letter);
        if letter.is_ascii_digit() {
            left -= 1;
            if left > 0 && left.is_multiple_of(3) {
                text.push(',');
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_read_them() {
        let counts = [0.0, 999.0, 1000.0, 1_234_567.0, -1000.0].map(|number| shown(Kind::Number, Some(number)));
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567", "-1,000"]);
        let amounts = [0.0004, 1.5, 12345.678].map(|number| shown(Kind::Money, Some(number)));
        assert_eq!(amounts, ["$0.0004", "$1.50", "$12,345.68"]);
        assert_eq!(shown(Kind::Share, Some(0.9731)), "97.31 %");
        assert_eq!(shown(Kind::Money, None), "");
    }
}
