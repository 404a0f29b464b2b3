use super::columns::{Bool, F64, I64, Opt, Str, Ts, table};

table! {
    /// One row for each billed API response, or the finest grain that the agent stores.
    USAGE = "usage", row UsageRow, builder Usage, columns UsageColumns {
        /// Session that first produced the response.
        session_id: Str,
        /// Message that the response became.
        message_id: Opt<Str>,
        /// The provider's id of the response.
        response_id: Str,
        /// The provider's id of the request.
        request_id: Opt<Str>,
        /// Turn of the session, from 1; null before the first prompt.
        turn: Opt<I64>,
        /// When the response began.
        timestamp: Opt<Ts>,
        /// Model as stored.
        model: Opt<Str>,
        /// Model as priced; null when no price is known.
        model_key: Opt<Str>,
        /// Provider of the model, where known.
        provider: Opt<Str>,
        /// Input that was neither read from nor written to a cache. Tokens.
        input_tokens: Opt<I64>,
        /// Input read from a cache. Tokens.
        cache_read_tokens: Opt<I64>,
        /// Input written to a cache that lives 5 minutes. Tokens.
        cache_write_5m_tokens: Opt<I64>,
        /// Input written to a cache that lives 1 hour. Tokens.
        cache_write_1h_tokens: Opt<I64>,
        /// All billed output, reasoning within. Tokens.
        output_tokens: Opt<I64>,
        /// The part of the output that was reasoning, where told apart. Tokens.
        reasoning_tokens: Opt<I64>,
        /// Input + cache read + both cache writes + output; null when none of them is said. Tokens.
        total_tokens: Opt<I64>,
        /// Web searches billed by the request. Count.
        web_searches: Opt<I64>,
        /// Cost: as the agent recorded it, else tokens times the price of that day; null when the model is unknown. USD.
        cost_usd: Opt<F64>,
        /// Where the cost comes from: recorded or computed; null with a null cost.
        cost_source: Opt<Str>,
        /// What the tokens cost by the prices of that day, whatever the agent recorded; null when the model is unknown. USD.
        list_cost_usd: Opt<F64>,
        /// Time that the response took, where recorded. Milliseconds.
        duration_ms: Opt<I64>,
        /// Why the model stopped.
        stop_reason: Opt<Str>,
        /// Tier that the request was served in: standard, priority, batch, fast, …
        service_tier: Opt<Str>,
        /// Where the inference ran, where the agent says so: `us` costs more.
        inference_geo: Opt<Str>,
        /// What the row stands for: response, turn or session; never two grains for the same tokens.
        grain: Str,
        /// Whether the counts are not exact: only a running count was recorded, so that the true output is larger, or the
        /// agent rounded or estimated them.
        is_partial: Bool,
        /// Lines that repeated it beyond the first, over all files.
        copies: I64,
        /// Whether it belongs to a side conversation within the session.
        is_sidechain: Bool,
        /// Line of the source that it begins on, from 1.
        source_line: Opt<I64>,
        /// When a run first found that the agent had dropped the record; null while it is there.
        gone_at: Opt<Ts>,
    }
}
