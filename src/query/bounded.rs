//! Functions that make large values from small ones, such as `repeat`. The size of the result is computed first: an
//! allocation that fails would end the process.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use datafusion::prelude::SessionContext;

/// Largest result of one call for the rows of a batch. Bytes.
const LIMIT: u128 = 256 << 20;

/// Longest replacement that is short. Bytes.
const SHORT: u128 = 64;
/// Size of an item of a list. Bytes.
const ITEM: u128 = 8;

/// Computes the size of a call's result for one row. Bytes.
type Size = fn(&Row<'_>) -> u128;

/// The functions, and the size of their results.
const FUNCTIONS: [(&str, Size); 10] = [
    ("repeat", |row| row.bytes(0) * row.number(1)),
    ("lpad", |row| row.bytes(0) + row.number(1) * row.bytes(2).clamp(1, 4)),
    ("rpad", |row| row.bytes(0) + row.number(1) * row.bytes(2).clamp(1, 4)),
    ("replace", |row| row.bytes(0) + row.matches(0, 1) * row.bytes(2)),
    ("regexp_replace", |row| row.bytes(0) + row.replacements() * row.bytes(2)),
    ("concat", |row| row.all_bytes()),
    ("concat_ws", |row| row.all_bytes() + row.bytes(0) * row.count()),
    ("array_repeat", |row| row.number(1) * row.bytes(0).max(ITEM)),
    ("range", |row| row.steps()),
    ("generate_series", |row| row.steps()),
];

/// Replaces the engine's functions by bounded ones.
pub(super) fn register(session: &SessionContext) {
    for (place, (name, _)) in FUNCTIONS.iter().enumerate() {
        let known = session.state().scalar_functions().get(*name).cloned();
        if let Some(inner) = known {
            session.register_udf(ScalarUDF::new_from_impl(Bounded { inner, place }));
        }
    }
}

/// A function that refuses to make more than [`LIMIT`].
#[derive(Debug, PartialEq, Eq, Hash)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    /// Its index in [`FUNCTIONS`].
    place: usize,
}

/// `simplify` keeps its default: its result would be the function without a bound.
impl ScalarUDFImpl for Bounded {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arguments)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(arguments)
    }

    fn coerce_types(&self, arguments: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arguments)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let size = self.size(&arguments)?;
        if size > LIMIT {
            return exec_err!(
                "`{}` would make {} MiB of one batch of rows; the most is {} MiB",
                self.name(),
                size >> 20,
                LIMIT >> 20
            );
        }
        self.inner.invoke_with_args(arguments)
    }
}

impl Bounded {
    /// Returns the size of the result of a call. Bytes.
    fn size(&self, arguments: &ScalarFunctionArgs) -> Result<u128> {
        let Some((_, size)) = FUNCTIONS.get(self.place) else { return Ok(0) };
        let columns = arguments.args.iter().map(Values::of).collect::<Result<Vec<_>>>()?;
        let is_constant = columns.iter().all(|column| column.is_constant);
        let rows = if is_constant { 1 } else { arguments.number_rows };
        Ok((0..rows).map(|row| size(&Row { columns: &columns, row })).fold(0, u128::saturating_add))
    }
}

/// The values of one argument.
struct Values {
    texts: Option<ArrayRef>,
    numbers: Option<ArrayRef>,
    /// True if it is the same for all rows.
    is_constant: bool,
}

impl Values {
    fn of(argument: &ColumnarValue) -> Result<Self> {
        let (array, is_constant) = match argument {
            ColumnarValue::Array(array) => (Arc::clone(array), false),
            ColumnarValue::Scalar(value) => (value.to_array()?, true),
        };
        let is_text = array.data_type().is_string();
        let texts = is_text.then(|| cast(&array, &DataType::Utf8View)).transpose()?;
        let is_number = array.data_type().is_integer();
        let numbers = is_number.then(|| cast(&array, &DataType::Int64)).transpose()?;
        Ok(Self { texts, numbers, is_constant })
    }

    fn text(&self, row: usize) -> Option<&str> {
        let texts = self.texts.as_ref()?.as_string_view_opt()?;
        let row = self.row(row);
        (row < texts.len() && texts.is_valid(row)).then(|| texts.value(row))
    }

    fn number(&self, row: usize) -> Option<i64> {
        let numbers = self.numbers.as_ref()?.as_primitive_opt::<Int64Type>()?;
        let row = self.row(row);
        (row < numbers.len() && numbers.is_valid(row)).then(|| numbers.value(row))
    }

    fn row(&self, row: usize) -> usize {
        if self.is_constant { 0 } else { row }
    }
}

/// The arguments for one row.
struct Row<'a> {
    columns: &'a [Values],
    row: usize,
}

impl Row<'_> {
    fn text(&self, place: usize) -> &str {
        self.columns.get(place).and_then(|column| column.text(self.row)).unwrap_or_default()
    }

    fn bytes(&self, place: usize) -> u128 {
        self.text(place).len() as u128
    }

    fn number(&self, place: usize) -> u128 {
        let number = self.columns.get(place).and_then(|column| column.number(self.row)).unwrap_or_default();
        number.max(0).unsigned_abs().into()
    }

    fn count(&self) -> u128 {
        self.columns.len() as u128
    }

    fn all_bytes(&self) -> u128 {
        (0..self.columns.len()).map(|place| self.bytes(place)).sum()
    }

    /// Returns how often one text occurs in another.
    fn matches(&self, text: usize, part: usize) -> u128 {
        let part = self.text(part);
        let text = self.text(text);
        if part.is_empty() { text.len() as u128 + 1 } else { text.matches(part).count() as u128 }
    }

    /// Returns how often `regexp_replace` may replace something. A short replacement makes about as much as it replaces, so
    /// it does not count.
    fn replacements(&self) -> u128 {
        match (self.text(3).contains('g'), self.bytes(2)) {
            (false, _) => 1,
            (true, ..=SHORT) => 0,
            (true, _) => self.bytes(0) + 1,
        }
    }

    /// Returns the size of the list of numbers from one to another. Bytes.
    fn steps(&self) -> u128 {
        let number = |place: usize| self.columns.get(place).and_then(|column| column.number(self.row)).map(i128::from);
        let (from, to) = match self.columns.len() {
            1 => (Some(0), number(0)),
            _ => (number(0), number(1)),
        };
        let (Some(from), Some(to)) = (from, to) else { return 0 };
        (to - from).unsigned_abs() / number(2).unwrap_or(1).unsigned_abs().max(1) * ITEM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answer(sql: &str) -> Result<String> {
        let session = SessionContext::new();
        register(&session);
        session.sql("create table t as values ('ab', 3), ('c', 1)").await?.collect().await?;
        let rows = session.sql(sql).await?.collect().await?;
        Ok(arrow::util::pretty::pretty_format_batches(&rows)?.to_string())
    }

    #[tokio::test]
    async fn values_without_end_are_refused() {
        for sql in [
            "select repeat('x', 2000000000)",
            "select repeat(column1, 2000000000) from t",
            "select lpad('x', 2000000000, '-')",
            "select rpad('x', 2000000000)",
            "select replace(repeat('x', 100000), 'x', repeat('y', 100000))",
            "select regexp_replace(repeat('x', 100000), 'x', repeat('y', 30000), 'g')",
            "select concat(a, a, a, a) from (select repeat('x', 100000000) as a)",
            "select concat_ws(a, a, a, a) from (select repeat('x', 100000000) as a)",
            "select array_repeat(1, 2000000000)",
            "select list_repeat(1, 2000000000)",
            "select range(0, 2000000000)",
            "select generate_series(1, 2000000000, 2)",
        ] {
            let error = answer(sql).await.expect_err(sql).to_string();
            assert!(error.contains("the most is 256 MiB"), "{sql}: {error}");
        }
    }

    #[tokio::test]
    async fn others_are_as_they_were() {
        let sql = "select repeat(column1, column2) as a, lpad(column1, 4, '-') as b, rpad(column1, 3) as c, \
             replace(column1, 'b', 'xyz') as d, concat(column1, '-', column2) as e, concat_ws('/', column1, 'z') as f, \
             array_repeat(column2, 2) as g, range(0, column2) as h, repeat(null, 3) as i from t";
        insta::assert_snapshot!(answer(sql).await.unwrap(), @r"
        +--------+------+-----+------+------+------+--------+-----------+---+
        | a      | b    | c   | d    | e    | f    | g      | h         | i |
        +--------+------+-----+------+------+------+--------+-----------+---+
        | ababab | --ab | ab  | axyz | ab-3 | ab/z | [3, 3] | [0, 1, 2] |   |
        | c      | ---c | c   | c    | c-1  | c/z  | [1, 1] | [0]       |   |
        +--------+------+-----+------+------+------+--------+-----------+---+
        ");
    }
}
