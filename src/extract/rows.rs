//! Rows of one table, with the keys of their claims.

use std::sync::Arc;

use arrow::array::cast::AsArray;
use arrow::array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, StringArray, UInt32Array};
use arrow::compute::{concat, concat_batches, filter_record_batch, take};
use arrow::datatypes::{DataType, Int64Type};
use arrow::error::ArrowError;

use crate::error::Result;

/// Collects rows and their keys.
#[derive(Default)]
pub struct Rows<B> {
    builder: B,
    keys: Vec<u64>,
    text_bytes: usize,
}

/// Rows of one table with their keys.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The rows.
    pub batch: RecordBatch,
    /// The key of each.
    pub keys: Vec<u64>,
}

impl<B> Rows<B> {
    /// Records a row's key and text size, and returns the builder for the row.
    pub(super) fn push(&mut self, key: u64, texts: &[Option<&str>]) -> &mut B {
        self.keys.push(key);
        self.text_bytes += 256 + texts.iter().flatten().map(|text| text.len()).sum::<usize>();
        &mut self.builder
    }

    /// Returns the approximate size of the rows in memory. Bytes.
    pub fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// Returns the rows, and empties the builder.
    pub fn finish(
        &mut self,
        build: impl FnOnce(&mut B) -> Result<RecordBatch, arrow::error::ArrowError>,
    ) -> Result<Chunk> {
        self.text_bytes = 0;
        Ok(Chunk { batch: build(&mut self.builder)?, keys: std::mem::take(&mut self.keys) })
    }
}

impl Chunk {
    /// Keeps the rows with a wanted key.
    pub fn retain(&mut self, wanted: impl Fn(u64) -> bool) -> Result<()> {
        let keep: Vec<bool> = self.keys.iter().map(|key| wanted(*key)).collect();
        if keep.iter().all(|keep| *keep) {
            return Ok(());
        }
        let mut kept = keep.iter();
        self.keys.retain(|_| kept.next().copied().unwrap_or(false));
        self.batch = filter_record_batch(&self.batch, &BooleanArray::from(keep))?;
        Ok(())
    }

    /// Sets the session of all rows: a source may name it only after the first of them.
    pub fn give_to(&mut self, session: &str) -> Result<()> {
        let Ok(place) = self.batch.schema().index_of("session_id") else { return Ok(()) };
        let named = self.batch.column(place).as_string_opt::<i32>();
        if named.is_none_or(|named| named.iter().all(|name| name == Some(session))) {
            return Ok(());
        }
        let names = StringArray::from_iter_values(std::iter::repeat_n(session, self.batch.num_rows()));
        let mut columns: Vec<ArrayRef> = self.batch.columns().to_vec();
        if let Some(column) = columns.get_mut(place) {
            *column = Arc::new(names);
        }
        self.batch = RecordBatch::try_new(self.batch.schema(), columns)?;
        Ok(())
    }

    /// Returns the rows of both.
    pub fn followed_by(mut self, other: Self) -> Result<Self> {
        self.batch = concat_batches(&self.batch.schema(), [&self.batch, &other.batch])?;
        self.keys.extend(other.keys);
        Ok(self)
    }

    /// Removes and returns the rows whose number in a column is at least the limit. The rows are sorted by that column.
    #[must_use]
    pub fn split_off(&mut self, column: usize, limit: i64) -> Self {
        let order = self.batch.column(column);
        let numbers = order.as_primitive_opt::<arrow::datatypes::Int64Type>();
        let at = numbers.map_or(self.keys.len(), |numbers| numbers.values().partition_point(|number| *number < limit));
        let rest = Self { batch: self.batch.slice(at, self.keys.len() - at), keys: self.keys.split_off(at) };
        self.batch = self.batch.slice(0, at);
        rest
    }

    /// Sorts the rows by an integer column, unless they are sorted.
    pub fn sort_by(&mut self, column: usize) -> Result<()> {
        let numbers = self.batch.column(column).as_primitive_opt::<Int64Type>().map(PrimitiveArray::values);
        let Some(numbers) = numbers.filter(|numbers| !numbers.is_sorted()) else { return Ok(()) };
        let mut order: Vec<u32> = (0..).take(numbers.len()).collect();
        order.sort_by_key(|row| numbers.get(*row as usize));
        let keys = std::mem::take(&mut self.keys);
        self.keys = order.iter().filter_map(|row| keys.get(*row as usize).copied()).collect();
        self.batch = in_order(&self.batch, order)?;
        Ok(())
    }
}

/// Mean length of runs of adjacent rows from which on they are moved together.
const RUN_ROWS: usize = 8;

/// Returns the rows of a batch in another order.
fn in_order(batch: &RecordBatch, order: Vec<u32>) -> Result<RecordBatch> {
    let order = UInt32Array::from(order);
    let runs: Vec<&[u32]> = order.values().chunk_by(|row, next| row + 1 == *next).collect();
    let is_in_runs = runs.len() * RUN_ROWS <= order.len();
    let column = |column: &ArrayRef| {
        if column.null_count() == column.len() {
            return Ok(Arc::clone(column));
        }
        if !is_in_runs || *column.data_type() != DataType::Utf8 {
            return take(column, &order, None);
        }
        let texts = runs.iter().filter_map(|run| Some(column.slice(*run.first()? as usize, run.len())));
        concat(&texts.collect::<Vec<_>>().iter().map(AsRef::as_ref).collect::<Vec<_>>())
    };
    let columns = batch.columns().iter().map(column).collect::<Result<Vec<_>, ArrowError>>()?;
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListArray};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Rows and keys are sorted by their numbers, however many of them are sorted before.
        #[test]
        fn rows_are_ordered_with_their_keys(
            mut numbers in prop::collection::vec(0_i64..1000, 0..300), late in prop::collection::vec(0..300_usize, 0..4)
        ) {
            numbers.sort_unstable();
            for from in late {
                let from = from.min(numbers.len());
                let is_there = usize::from(from < numbers.len());
                numbers.get_mut(from..).unwrap().rotate_left(is_there);
            }
            let texts = numbers.iter().enumerate().map(|(row, number)| (row % 3 > 0).then(|| format!("{number}-{row}")));
            let lists = numbers.iter().map(|number| (number % 2 > 0).then(|| vec![Some(*number); 2]));
            let columns: [(_, ArrayRef); 3] = [
                ("seq", Arc::new(Int64Array::from(numbers.clone()))),
                ("text", Arc::new(texts.clone().collect::<StringArray>())),
                ("list", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
            ];
            let keys: Vec<u64> = (0..numbers.len() as u64).collect();
            let mut chunk = Chunk { batch: RecordBatch::try_from_iter(columns).unwrap(), keys };
            let before = chunk.batch.clone();
            chunk.sort_by(0).unwrap();
            let mut expected: Vec<(i64, u64)> = numbers.into_iter().zip(0..).collect();
            expected.sort_unstable();
            let expected: Vec<u64> = expected.into_iter().map(|(_, key)| key).collect();
            prop_assert_eq!(&chunk.keys, &expected);
            for (row, key) in expected.into_iter().enumerate() {
                prop_assert_eq!(chunk.batch.slice(row, 1), before.slice(usize::try_from(key).unwrap(), 1));
            }
        }
    }
}
