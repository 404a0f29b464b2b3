//! Links subagents to the calls that started them, if only the subagents' own sources name these calls.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};

use super::Shared;
use crate::error::Result;
use crate::extract::Chunk;
use crate::identity::{KeyMap, KeySet};
use crate::tables::TOOL_CALLS;

/// The column with the subagent's session.
pub(super) const CHILD: &str = "child_session_id";

/// Fills in the subagents of calls whose own source does not name them.
pub(super) fn with_children(shared: &Shared<'_>, calls: Chunk) -> Result<RecordBatch> {
    let notes = shared.notes();
    let known: Vec<Option<&str>> = calls.keys.iter().map(|key| notes.child_of(*key)).collect();
    if known.iter().all(Option::is_none) {
        return Ok(calls.batch);
    }
    let mut columns: Vec<ArrayRef> = calls.batch.columns().to_vec();
    if let Some(column) = TOOL_CALLS.index_of(CHILD).and_then(|place| columns.get_mut(place)) {
        let own = column.as_string_opt::<i32>().into_iter().flatten();
        *column = Arc::new(own.zip(known).map(|(own, known)| own.or(known)).collect::<StringArray>());
    }
    Ok(RecordBatch::try_new(calls.batch.schema(), columns)?)
}

/// Returns the known subagent of each call, before the call's row is written.
pub(super) fn known_children(shared: &Shared<'_>, calls: &KeySet) -> KeyMap<Option<String>> {
    let notes = shared.notes();
    calls.iter().map(|call| (*call, notes.child_of(*call).map(str::to_owned))).collect()
}
