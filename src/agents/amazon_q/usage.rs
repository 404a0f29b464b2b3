//! Billed requests. Neither program stores tokens; Kiro has fields for them, which were null in every file seen.

use super::record::{Request, Span};
use crate::tables::{UsageGrain, UsageRow};

/// Returns the row of a request, without session, message and turn.
pub(super) fn usage_row<'r>(request: &'r Request<'_>, response: &'r str) -> UsageRow<'r> {
    let duration = request.end.0.zip(request.start.0).map(|(end, start)| (end - start) / 1000);
    UsageRow {
        timestamp: request.start.0.or(request.end.0),
        model: request.model.get(),
        input_tokens: request.input.0,
        cache_read_tokens: request.cache_read.0,
        cache_write_5m_tokens: request.cache_write.0,
        output_tokens: request.output.0,
        request_id: request.id.get(),
        duration_ms: duration.filter(|ms| *ms >= 0),
        time_to_first_token_ms: request.first_chunk.0.as_ref().and_then(Span::milliseconds),
        ..blank(response, UsageGrain::Response)
    }
}

/// Returns a row with nothing but its id.
pub(in crate::agents) fn blank(response: &str, grain: UsageGrain) -> UsageRow<'_> {
    UsageRow { response_id: response, grain, ..UsageRow::default() }
}
