//! How much a source says of a record: what decides whether its row replaces the one in the lake.
//!
//! Texts and tokens count first, then how many of the columns have a value that agents drop with other lines or files.

use crate::identity::{COLUMN_BITS, ResponseCopy};
use crate::tables::{MessageRow, Status, ToolCallRow, UsageGrain, UsageRow};

/// Returns how much a source says of a message.
pub(super) fn of_message(row: &MessageRow<'_>) -> u64 {
    let columns = [
        row.timestamp.is_some(),
        row.model.is_some(),
        row.response_id.is_some(),
        row.stop_reason.is_some(),
        row.cwd.is_some(),
        row.git_branch.is_some(),
    ];
    with_columns(size([row.text, row.thinking]), row.turn, &columns)
}

/// Returns how much a source says of a call: whether both the call and its result are there, then their size before anything
/// is left out or replaced.
pub(super) fn of_call(row: &ToolCallRow<'_>) -> u64 {
    let parts = u64::from(row.input.is_some()) + u64::from(row.status != Status::Pending);
    let columns = [
        row.message_id.is_some(),
        row.command.is_some(),
        row.file_path.is_some(),
        row.exit_code.is_some(),
        row.started_at.is_some(),
        row.ended_at.is_some(),
        row.duration_ms.is_some(),
        row.child_session_id.is_some(),
    ];
    with_columns((parts << 42) | size([row.input, row.output]), row.turn, &columns)
}

/// Returns how much a source says of a response. Of a sum over a session all kinds of tokens count; of a single response
/// only the output grows.
pub(super) fn of_response(row: &UsageRow<'_>, copy: &ResponseCopy) -> u64 {
    let tokens = if row.grain == UsageGrain::Session { copy.total() } else { row.output_tokens };
    let tokens = tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
    let columns = [
        row.timestamp.is_some(),
        row.model.is_some(),
        row.provider.is_some(),
        row.request_id.is_some(),
        row.service_tier.is_some(),
        row.duration_ms.is_some(),
    ];
    with_columns(tokens.min(1 << 42) * 2 + u64::from(row.stop_reason.is_some()), row.turn, &columns)
}

/// Adds the known columns to the size of the content. The turn counts more than all others together: a source that dropped
/// the prompt lost the turn, even if a repeated line gives another column.
fn with_columns(content: u64, turn: Option<i64>, columns: &[bool]) -> u64 {
    let known = columns.iter().filter(|is_known| **is_known).count();
    (content << COLUMN_BITS) | (u64::from(turn.is_some()) << (COLUMN_BITS - 1)) | known as u64
}

/// Returns the size of texts, limited to the bits that a fullness has for it. Bytes.
fn size(texts: [Option<&str>; 2]) -> u64 {
    let bytes: usize = texts.into_iter().flatten().map(str::len).sum();
    (bytes as u64).min((1 << 42) - 1)
}
