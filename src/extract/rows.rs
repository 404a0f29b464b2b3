//! Rows of one table with the keys by which they are claimed.

use std::sync::Arc;

use arrow::array::cast::AsArray;
use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray, UInt64Array};
use arrow::compute::{SortOptions, concat_batches, filter_record_batch, sort_to_indices, take, take_record_batch};

use crate::error::Result;

/// Collects rows, and the key of each.
#[derive(Default)]
pub struct Rows<B> {
    builder: B,
    keys: Vec<u64>,
    text_bytes: usize,
}

/// Finished rows of one table, each with its key.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The rows.
    pub batch: RecordBatch,
    /// The key of each.
    pub keys: Vec<u64>,
}

impl<B> Rows<B> {
    /// Notes a row's key and texts, and gives the builder that takes it.
    pub(super) fn push(&mut self, key: u64, texts: &[Option<&str>]) -> &mut B {
        self.keys.push(key);
        self.text_bytes += 256 + texts.iter().flatten().map(|text| text.len()).sum::<usize>();
        &mut self.builder
    }

    /// Approximate size of the rows that are held. Bytes.
    pub fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// The rows that are held; they are held no longer.
    pub fn finish(
        &mut self,
        build: impl FnOnce(&mut B) -> Result<RecordBatch, arrow::error::ArrowError>,
    ) -> Result<Chunk> {
        self.text_bytes = 0;
        Ok(Chunk { batch: build(&mut self.builder)?, keys: std::mem::take(&mut self.keys) })
    }
}

impl Chunk {
    /// Keeps the rows whose key is wanted.
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

    /// Gives all rows to a session: a source may tell only behind the first of them which it is of.
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

    /// Puts other rows behind these.
    pub fn append(&mut self, other: Self) -> Result<()> {
        self.batch = concat_batches(&self.batch.schema(), [&self.batch, &other.batch])?;
        self.keys.extend(other.keys);
        Ok(())
    }

    /// Takes out the rows from the first on whose number in a column is as large as the limit; the rows are in that
    /// column's order.
    #[must_use]
    pub fn split_off(&mut self, column: usize, limit: i64) -> Self {
        let order = self.batch.column(column);
        let numbers = order.as_primitive_opt::<arrow::datatypes::Int64Type>();
        let at = numbers.map_or(self.keys.len(), |numbers| numbers.values().partition_point(|number| *number < limit));
        let rest = Self { batch: self.batch.slice(at, self.keys.len() - at), keys: self.keys.split_off(at) };
        self.batch = self.batch.slice(0, at);
        rest
    }

    /// Orders the rows by a column, unless they are ordered.
    pub fn sort_by(&mut self, column: usize) -> Result<()> {
        let order = self.batch.column(column);
        let numbers = order.as_primitive_opt::<arrow::datatypes::Int64Type>();
        if numbers.is_some_and(|numbers| numbers.values().is_sorted()) {
            return Ok(());
        }
        let indices = sort_to_indices(order, Some(SortOptions::default()), None)?;
        self.keys = take(&UInt64Array::from(std::mem::take(&mut self.keys)), &indices, None)?
            .as_any()
            .downcast_ref::<UInt64Array>()
            .map(|keys| keys.values().to_vec())
            .unwrap_or_default();
        self.batch = take_record_batch(&self.batch, &indices)?;
        Ok(())
    }
}
