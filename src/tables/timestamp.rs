//! The type of timestamps.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};

/// Returns the type of every timestamp in the lake.
pub fn timestamp_type() -> DataType {
    static UTC: std::sync::LazyLock<Arc<str>> = std::sync::LazyLock::new(|| "UTC".into());
    DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::clone(&UTC)))
}
