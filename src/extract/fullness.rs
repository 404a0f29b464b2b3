//! Fullness: how much of a record a source has. It decides whether the source's row replaces the one in the lake.
//!
//! Texts and tokens count first, then the number of columns with a value that agents drop together with other lines or
//! files.

use crate::identity::{COLUMN_BITS, MODEL_BIT, ResponseCopy};
use crate::tables::{MessageRow, Status, ToolCallRow, UsageGrain, UsageRow};

/// Returns the fullness of a message.
pub(super) fn of_message(row: &MessageRow<'_>) -> u64 {
    let columns = [
        row.timestamp.is_some(),
        row.parent_id.is_some(),
        row.response_id.is_some(),
        row.stop_reason.is_some(),
        row.cwd.is_some(),
        row.git_branch.is_some(),
        row.permission_mode.is_some(),
        row.duration_ms.is_some(),
    ];
    with_columns(size([row.text, row.thinking]), row.turn, row.model, &columns)
}

/// Returns the fullness of a call: first whether it has both the call and its result, then their size before redaction.
pub(super) fn of_call(row: &ToolCallRow<'_>) -> u64 {
    let parts = u64::from(row.input.is_some()) + u64::from(row.status != Status::Pending);
    let columns = [
        row.message_id.is_some(),
        row.response_id.is_some(),
        row.command.is_some(),
        row.file_path.is_some(),
        row.exit_code.is_some(),
        row.started_at.is_some(),
        row.ended_at.is_some(),
        row.duration_ms.is_some(),
        row.child_session_id.is_some(),
        row.lines_added.is_some(),
    ];
    with_columns((parts << 42) | size([row.input, row.output]), row.turn, None, &columns)
}

/// Returns the fullness of a response. For a sum over a session, all kinds of tokens count. For a single response, only
/// the output grows.
pub(super) fn of_response(row: &UsageRow<'_>, copy: &ResponseCopy) -> u64 {
    let tokens = if row.grain == UsageGrain::Session { copy.total() } else { row.output_tokens };
    let tokens = tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
    let columns = [
        row.timestamp.is_some(),
        row.message_id.is_some(),
        row.provider.is_some(),
        row.request_id.is_some(),
        row.service_tier.is_some(),
        row.duration_ms.is_some(),
        row.requested_model.is_some(),
        row.reasoning_effort.is_some(),
        row.skill.is_some(),
        row.cache_miss_reason.is_some(),
        row.limit_long_percent.is_some() || row.limit_short_percent.is_some(),
        row.input_tokens.is_some(),
        row.context_window.is_some(),
        row.time_to_first_token_ms.is_some(),
        row.credits.is_some(),
    ];
    let content = tokens.min(1 << 42) * 2 + u64::from(row.stop_reason.is_some());
    with_columns(content, row.turn, row.model, &columns)
}

/// Adds the columns to the size of the content. A known model counts more than the content: a reading that lost the line
/// with the model may join two replies, or make one running total of two. The turn counts more than the other columns
/// together: a source that dropped the prompt lost the turn, even if a repeated line adds another column.
fn with_columns<const N: usize>(content: u64, turn: Option<i64>, model: Option<&str>, columns: &[bool; N]) -> u64 {
    const { assert!(N < 1 << (COLUMN_BITS - 1), "their number takes the bit of the turn") }
    let known = columns.iter().filter(|is_known| **is_known).count();
    let model = if model.is_some() { MODEL_BIT } else { 0 };
    model | (content << COLUMN_BITS) | (u64::from(turn.is_some()) << (COLUMN_BITS - 1)) | known as u64
}

/// Returns the size of texts, limited to the bits for it in a fullness. Bytes.
fn size(texts: [Option<&str>; 2]) -> u64 {
    let bytes: usize = texts.into_iter().flatten().map(str::len).sum();
    (bytes as u64).min((1 << 42) - 1)
}
