//! Formats values: times in the session's zone, nested values as text, money with its decimals.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::shown::money;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, StringBuilder};
use arrow::compute::{cast, nullif};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use arrow::json::writer::{EncoderOptions, make_encoder};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use chrono_tz::Tz;

/// Returns the schema of shown rows: times have the session's zone, texts are plain.
pub(super) fn shown_schema(schema: &Schema, zone: Tz) -> SchemaRef {
    let fields: Vec<Field> =
        schema.fields().iter().map(|field| field.as_ref().clone().with_data_type(shown_type(field, zone))).collect();
    Arc::new(Schema::new(fields))
}

/// Converts rows to the schema of [`shown_schema`].
pub(super) fn shown(batch: &RecordBatch, zone: Tz) -> Result<RecordBatch, ArrowError> {
    let schema = shown_schema(&batch.schema(), zone);
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type())).collect::<Result<Vec<_>, _>>()?;
    let rows = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, columns, &rows)
}

/// Replaces times and days outside of the calendar by null, so that they affect no other cell.
pub(super) fn printable(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(|column| match seconds_of(column.data_type()) {
        Some(range) => within(column, &range),
        None => Ok(Arc::clone(column)),
    });
    let nullable = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
    let schema = Schema::new(batch.schema_ref().fields().iter().map(nullable).collect::<Vec<_>>());
    let rows = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns.collect::<Result<_, _>>()?, &rows)
}

/// Years that can be printed in every zone.
const SECONDS: i64 = 200_000 * 31_556_952;

/// Returns the range of printable numbers in a column of times or days, or `None` if all are printable.
fn seconds_of(kind: &DataType) -> Option<RangeInclusive<i64>> {
    let most = match kind {
        DataType::Timestamp(TimeUnit::Second, _) => SECONDS,
        DataType::Timestamp(TimeUnit::Millisecond, _) | DataType::Date64 => SECONDS * 1000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => SECONDS * 1_000_000,
        DataType::Date32 => SECONDS / 86_400,
        _ => return None,
    };
    Some(-most..=most)
}

fn within(column: &ArrayRef, range: &RangeInclusive<i64>) -> Result<ArrayRef, ArrowError> {
    let numbers = match column.data_type() {
        DataType::Date32 => cast(&cast(column, &DataType::Int32)?, &DataType::Int64)?,
        _ => cast(column, &DataType::Int64)?,
    };
    let numbers = numbers.as_primitive::<Int64Type>();
    let is_outside = |number: Option<i64>| number.is_some_and(|number| !range.contains(&number));
    if !numbers.iter().any(is_outside) {
        return Ok(Arc::clone(column));
    }
    nullif(column, &numbers.iter().map(|number| Some(is_outside(number))).collect())
}

/// Characters that make spreadsheets run a cell as a formula, including full-width ones.
const FORMULAS: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

/// Puts `'` before texts that a spreadsheet would run. Other columns stay unchanged.
pub(super) fn without_formulas(column: &ArrayRef) -> ArrayRef {
    let Some(texts) = column.as_string_opt::<i32>() else { return Arc::clone(column) };
    let marked = texts.iter().map(|text| {
        text.map(|text| if text.starts_with(FORMULAS) { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) })
    });
    Arc::new(marked.collect::<StringArray>())
}

fn shown_type(field: &Field, zone: Tz) -> DataType {
    match field.data_type() {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some(zone.name().into())),
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::Dictionary(_, value) if value.is_string() => DataType::Utf8,
        other => other.clone(),
    }
}

/// Converts a column to cells of CSV: nested values become JSON text.
pub(super) fn flat(column: &ArrayRef, field: &FieldRef) -> Result<ArrayRef, ArrowError> {
    if !field.data_type().is_nested() {
        return Ok(Arc::clone(column));
    }
    let options = EncoderOptions::default().with_explicit_nulls(true);
    let mut encoder = make_encoder(field, column.as_ref(), &options)?;
    let mut texts = StringBuilder::new();
    let mut buffer = Vec::new();
    for row in 0..column.len() {
        if column.is_null(row) {
            texts.append_null();
            continue;
        }
        buffer.clear();
        encoder.encode(row, &mut buffer);
        texts.append_value(String::from_utf8_lossy(&buffer));
    }
    Ok(Arc::new(texts.finish()))
}

/// Returns the type of a column after [`flat`].
pub(super) fn flat_field(field: &FieldRef) -> FieldRef {
    let kind = if field.data_type().is_nested() { DataType::Utf8 } else { field.data_type().clone() };
    Arc::new(Field::new(field.name(), kind, true))
}

/// True if the column's values are aligned right.
pub(super) fn is_number(field: &Field) -> bool {
    field.data_type().is_numeric()
}

/// Converts a column that is neither number, time, day nor truth to texts.
pub(super) fn plain_texts(column: &ArrayRef, field: &Field) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == &DataType::Utf8 {
        return Ok(Arc::clone(column));
    }
    let cells = Column::of(column, &Arc::new(field.clone()))?;
    let texts = (0..column.len()).map(|row| if column.is_null(row) { Ok(None) } else { cells.cell(row).map(Some) });
    Ok(Arc::new(texts.collect::<Result<StringArray, ArrowError>>()?))
}

/// Formats a batch for people. A null is empty.
pub(super) struct Cells<'a>(Vec<Column<'a>>);

enum Column<'a> {
    Money(&'a dyn Array),
    Texts(&'a dyn Array),
    Other(ArrayFormatter<'a>),
    Owned(ArrayRef),
}

impl<'a> Cells<'a> {
    pub(super) fn of(batch: &'a RecordBatch) -> Result<Self, ArrowError> {
        let schema = batch.schema_ref();
        let columns = batch.columns().iter().zip(schema.fields());
        columns.map(|(column, field)| Column::of(column, field)).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = Result<String, ArrowError>> {
        self.0.iter().map(move |column| column.cell(row))
    }
}

impl<'a> Column<'a> {
    fn of(column: &'a ArrayRef, field: &FieldRef) -> Result<Self, ArrowError> {
        Ok(match field.data_type() {
            DataType::Float64 if field.name().ends_with("_usd") => Self::Money(column),
            DataType::List(item) if item.data_type() == &DataType::Utf8 => Self::Texts(column),
            nested if nested.is_nested() => Self::Owned(flat(column, field)?),
            _ => Self::Other(ArrayFormatter::try_new(column, &OPTIONS)?),
        })
    }

    fn cell(&self, row: usize) -> Result<String, ArrowError> {
        Ok(match self {
            Self::Money(column) | Self::Texts(column) if column.is_null(row) => String::new(),
            Self::Money(column) => money(column.as_primitive::<Float64Type>().value(row)),
            Self::Texts(column) => {
                let items = column.as_list::<i32>().value(row);
                items.as_string::<i32>().iter().flatten().collect::<Vec<_>>().join(", ")
            }
            Self::Other(formatter) => formatter.value(row).try_to_string()?,
            Self::Owned(texts) if texts.is_null(row) => String::new(),
            Self::Owned(texts) => texts.as_string::<i32>().value(row).to_owned(),
        })
    }
}

const OPTIONS: FormatOptions<'static> = FormatOptions::new()
    .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%:z"));
