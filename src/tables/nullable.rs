//! Columns of nulls. In most sessions, most nullable columns hold only nulls.

use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::DataType;

use super::timestamp::timestamp_type;

/// A builder of a nullable column. It only counts until the first value arrives.
pub struct Nullable<B> {
    nulls: usize,
    values: Option<B>,
}

impl<B> Default for Nullable<B> {
    fn default() -> Self {
        Self { nulls: 0, values: None }
    }
}

impl<B> Nullable<B> {
    /// Returns the builder for the next value, after adding the nulls that were only counted.
    pub(super) fn values(&mut self, new: impl FnOnce() -> B, append_nulls: impl FnOnce(&mut B, usize)) -> &mut B {
        let nulls = std::mem::take(&mut self.nulls);
        self.values.get_or_insert_with(|| {
            let mut values = new();
            append_nulls(&mut values, nulls);
            values
        })
    }

    pub(super) fn push_null(&mut self, append_null: impl FnOnce(&mut B)) {
        match &mut self.values {
            Some(values) => append_null(values),
            None => self.nulls += 1,
        }
    }

    /// Returns the column so far, and starts a new one.
    pub(super) fn finish(&mut self, data_type: &DataType, finish: impl FnOnce(B) -> ArrayRef) -> ArrayRef {
        match self.values.take() {
            Some(values) => finish(values),
            None => nulls(data_type, std::mem::take(&mut self.nulls)),
        }
    }
}

/// Returns a column of nulls. Short columns share their memory.
pub(crate) fn nulls(data_type: &DataType, rows: usize) -> ArrayRef {
    const SHARED_ROWS: usize = 4096;
    macro_rules! shared {
        ($type:expr) => {{
            static SHARED: std::sync::LazyLock<ArrayRef> =
                std::sync::LazyLock::new(|| new_null_array(&$type, SHARED_ROWS));
            SHARED.slice(0, rows)
        }};
    }
    match data_type {
        _ if rows > SHARED_ROWS => new_null_array(data_type, rows),
        DataType::Utf8 => shared!(DataType::Utf8),
        DataType::Int64 => shared!(DataType::Int64),
        DataType::Float64 => shared!(DataType::Float64),
        DataType::Boolean => shared!(DataType::Boolean),
        other if *other == timestamp_type() => shared!(timestamp_type()),
        _ => new_null_array(data_type, rows),
    }
}
