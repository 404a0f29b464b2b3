//! Presentation of a result's columns in a table.

use arrow::array::{Array, ArrayRef, AsArray, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, Field, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType};
use arrow::error::ArrowError;
use chrono::{NaiveDate, Weekday};
use chrono_tz::Tz;

use super::cell::Cell;
use super::cells::{is_number, plain_texts};
use super::grid::{Column, Role};
use crate::shown::{joined, value, visible};

/// The unit of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// US dollars.
    Usd,
    /// Tokens.
    Tokens,
    /// Tokens of one kind, of which a table has several columns.
    TokensOfKind,
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
    /// Bytes.
    Bytes,
    /// A part of 1.
    Share,
    /// A part of 100.
    Percent,
    /// A number whose digits are not grouped: a place, a year, an exit code.
    Ordinal,
    /// A day of the week, from 1 for Monday.
    Weekday,
    /// Anything else.
    Plain,
}

/// Ends of a column's description that name its unit.
const SENTENCES: [(&str, Unit); 9] = [
    (" Seconds.", Unit::Seconds),
    (" Minutes.", Unit::Minutes),
    (" Hours.", Unit::Hours),
    (" USD.", Unit::Usd),
    (" Tokens.", Unit::Tokens),
    (" Milliseconds.", Unit::Millis),
    (" Bytes.", Unit::Bytes),
    (" 0 to 1.", Unit::Share),
    (" 0 to 100.", Unit::Percent),
];

/// Ends of a column's name that name its unit, for queries that describe no columns.
const SUFFIXES: [(&str, Unit); 7] = [
    ("_usd", Unit::Usd),
    ("tokens", Unit::Tokens),
    ("_ms", Unit::Millis),
    ("bytes", Unit::Bytes),
    ("_share", Unit::Share),
    ("_rate", Unit::Share),
    ("_percent", Unit::Percent),
];

/// Columns of the kinds of tokens.
pub(super) const KINDS: [&str; 4] = ["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"];

const ORDINALS: [&str; 9] =
    ["seq", "first_seq", "last_seq", "turn", "year", "hour", "exit_code", "source_line", "first_bad_line"];

impl Unit {
    /// Returns the unit that the last sentence of a description names, or else the one that a name ends with.
    pub fn of(name: &str, description: Option<&str>) -> Self {
        if name == "weekday" {
            return Self::Weekday;
        }
        if ORDINALS.contains(&name) {
            return Self::Ordinal;
        }
        let known = match description {
            Some(text) => SENTENCES.iter().find(|(end, _)| text.ends_with(end)),
            None => SUFFIXES.iter().find(|(end, _)| name.ends_with(end)),
        };
        match known.map_or(Self::Plain, |(_, unit)| *unit) {
            Self::Tokens if KINDS.contains(&name) => Self::TokensOfKind,
            unit => unit,
        }
    }
}

/// A column to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its name in the result.
    pub name: String,
    /// Its name in the table.
    pub label: String,
    /// Its unit.
    pub unit: Unit,
    /// True if it is a part of the column before it.
    pub is_part: bool,
}

/// Presentation of a result in a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// The columns, the most important ones first; all columns of the result if empty.
    pub columns: Vec<Shown>,
    /// Columns whose rows add up to the last row.
    pub sums: Vec<String>,
}

impl Shown {
    /// Shows a column under its own name.
    pub(super) fn plain(field: &Field) -> Self {
        let name = field.name().clone();
        Self { label: name.clone(), unit: Unit::of(&name, None), name, is_part: false }
    }

    /// Returns the column of the table.
    pub(super) fn column(&self, field: &Field) -> Column {
        let kind = field.data_type();
        let role = match self.unit {
            Unit::Weekday => Role::Whole,
            _ if !is_number(field) && (kind.is_string() || kind.is_binary() || kind.is_nested()) => Role::Text,
            _ if !is_number(field) => Role::Whole,
            Unit::Usd => Role::Money,
            Unit::Tokens => Role::Tokens,
            Unit::TokensOfKind => Role::TokensOfKind,
            _ => Role::Number,
        };
        Column::new(self.label.clone(), role)
    }
}

/// Format of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DayStyle {
    /// As the key of a row: `Fri 2026-07-17`.
    Key,
    /// As the month that it begins.
    Month,
    /// `2026-07-17`.
    Plain,
}

/// Values of a column, from which cells are made.
pub(super) enum Values {
    Whole(ArrayRef, Unit),
    Real(ArrayRef, Unit),
    Time(ArrayRef, Tz),
    Day(ArrayRef, DayStyle),
    Truth(ArrayRef),
    Texts { texts: ArrayRef, is_escaped: bool },
}

impl Values {
    /// Reads a column. `is_escaped` makes untrusted text safe for a terminal.
    pub(super) fn of(
        array: &ArrayRef,
        field: &Field,
        unit: Unit,
        is_key: bool,
        is_escaped: bool,
    ) -> Result<Self, ArrowError> {
        Ok(match array.data_type() {
            kind if kind.is_integer() => Self::Whole(cast(array, &DataType::Int64)?, unit),
            kind if kind.is_numeric() => Self::Real(cast(array, &DataType::Float64)?, unit),
            DataType::Timestamp(_, zone) => {
                let zone = zone.as_deref().and_then(|zone| zone.parse().ok()).unwrap_or(Tz::UTC);
                Self::Time(micros_of(array)?, zone)
            }
            DataType::Date32 => {
                let style = if is_key { DayStyle::Key } else { DayStyle::Plain };
                Self::Day(array.clone(), if field.name() == "month" { DayStyle::Month } else { style })
            }
            DataType::Boolean => Self::Truth(array.clone()),
            DataType::Null => Self::Texts { texts: new_null_array(&DataType::Utf8, array.len()), is_escaped },
            _ => Self::Texts { texts: plain_texts(array, field)?, is_escaped },
        })
    }

    /// Returns the cell of a row.
    pub(super) fn cell(&self, row: usize) -> Cell {
        match self {
            Self::Whole(array, _)
            | Self::Real(array, _)
            | Self::Time(array, _)
            | Self::Day(array, _)
            | Self::Truth(array)
                if array.is_null(row) =>
            {
                Cell::unknown()
            }
            Self::Whole(array, unit) => whole(array.as_primitive::<Int64Type>().value(row), *unit),
            Self::Real(array, unit) => real(array.as_primitive::<Float64Type>().value(row), *unit),
            Self::Time(array, zone) => {
                let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
                Cell::or_unknown(value::time(micros, *zone), Cell::text)
            }
            Self::Day(array, style) => {
                let day = array.as_primitive::<Date32Type>().value_as_date(row);
                let text = |day: NaiveDate| match style {
                    DayStyle::Key => value::weekday_and_day(day),
                    DayStyle::Month => day.format("%Y-%m").to_string(),
                    DayStyle::Plain => day.to_string(),
                };
                Cell::or_unknown(day.map(text), Cell::text)
            }
            Self::Truth(array) => Cell::yes_or_no(array.as_boolean().value(row)),
            Self::Texts { texts, .. } if texts.is_null(row) => Cell::unknown(),
            Self::Texts { texts, is_escaped } => {
                let text = joined(texts.as_string::<i32>().value(row));
                Cell::text(if *is_escaped { visible(&text).into_owned() } else { text })
            }
        }
    }
}

/// Returns a column of times in microseconds, without a zone.
fn micros_of(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let DataType::Timestamp(unit, _) = array.data_type() else { return Ok(array.clone()) };
    // A cast between zones would shift the times; the number is the same in all zones.
    let numbers = cast(array, &DataType::Int64)?;
    cast(&cast(&numbers, &DataType::Timestamp(*unit, None))?, &DataType::Timestamp(TimeUnit::Microsecond, None))
}

fn whole(number: i64, unit: Unit) -> Cell {
    match unit {
        Unit::Tokens | Unit::TokensOfKind => Cell::tokens(number),
        Unit::Millis => Cell::millis(number),
        Unit::Bytes => Cell::bytes(number),
        Unit::Ordinal => Cell::text(number.to_string()),
        Unit::Weekday => {
            let day = u8::try_from(number - 1).ok().and_then(|number| Weekday::try_from(number).ok());
            Cell::or_unknown(day, |day| Cell::text(day.to_string()))
        }
        Unit::Usd | Unit::Share | Unit::Percent | Unit::Seconds | Unit::Minutes | Unit::Hours => {
            real(number as f64, unit)
        }
        Unit::Plain => Cell::count(number),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "rounded, and a cast of a float saturates")]
fn real(number: f64, unit: Unit) -> Cell {
    match unit {
        _ if !number.is_finite() => Cell::text(number.to_string()),
        Unit::Usd => Cell::usd(number),
        Unit::Share => Cell::share(number),
        Unit::Percent => Cell::share(number / 100.0),
        Unit::Seconds => whole((number * 1e3).round() as i64, Unit::Millis),
        Unit::Minutes => whole((number * 6e4).round() as i64, Unit::Millis),
        Unit::Hours => whole((number * 3.6e6).round() as i64, Unit::Millis),
        Unit::Tokens | Unit::TokensOfKind | Unit::Millis | Unit::Bytes => whole(number.round() as i64, unit),
        Unit::Ordinal | Unit::Weekday | Unit::Plain => Cell::number(value::number(number), number == 0.0),
    }
}
