use super::columns::{Bool, F64, I64, Opt, Str, Ts, lake_table};
use super::vocabulary::{CostSource, UsageGrain};

lake_table! {
    /// One row for each billed API response, or the finest grain that the agent stores.
    USAGE = "usage", row UsageRow, builder Usage, columns UsageColumns {
        /// Session that first produced the response.
        session_id: Str [Id, Words],
        /// Message that the response became.
        message_id: Opt<Str> [Id, Distinct],
        /// The provider's id of the response.
        response_id: Str [Id, Distinct],
        /// The provider's id of the request.
        request_id: Opt<Str> [Id, Rare],
        /// Turn of the session, from 1; null before the first prompt.
        turn: Opt<I64> [Fact, Plain],
        /// When the response began.
        timestamp: Opt<Ts> [Fact, Deltas],
        /// Model as stored.
        model: Opt<Str> [Name, Words],
        /// Model as priced; null when no price is known.
        model_key: Opt<Str> [Name, Words],
        /// Provider of the model, where known.
        provider: Opt<Str> [Name, Words],
        /// Input that was neither read from nor written to a cache. Tokens.
        input_tokens: Opt<I64> [Fact, Deltas],
        /// Input read from a cache. Tokens.
        cache_read_tokens: Opt<I64> [Fact, Deltas],
        /// Input written to a cache that lives 5 minutes. Tokens.
        cache_write_5m_tokens: Opt<I64> [Fact, Deltas],
        /// Input written to a cache that lives 1 hour. Tokens.
        cache_write_1h_tokens: Opt<I64> [Fact, Deltas],
        /// All billed output, reasoning within. Tokens.
        output_tokens: Opt<I64> [Fact, Deltas],
        /// The part of the output that was reasoning, where told apart. Tokens.
        reasoning_tokens: Opt<I64> [Fact, Plain],
        /// Input + cache read + both cache writes + output; null when none of them is said. Tokens.
        total_tokens: Opt<I64> [Fact, Deltas],
        /// Web searches billed by the request. Count.
        web_searches: Opt<I64> [Fact, Plain],
        /// Cost: as the agent recorded it, else tokens times the price of that day; null when the model is unknown. USD.
        cost_usd: Opt<F64> [Fact, Plain],
        /// Where the cost comes from; null with a null cost.
        cost_source: Opt<CostSource> [Name, Words],
        /// What the tokens cost by the prices of that day, whatever the agent recorded; null when the model is unknown. USD.
        list_cost_usd: Opt<F64> [Fact, Plain],
        /// Time that the response took, where recorded. Milliseconds.
        duration_ms: Opt<I64> [Fact, Deltas],
        /// Why the model stopped.
        stop_reason: Opt<Str> [Name, Words],
        /// Tier that the request was served in: standard, priority, batch, fast, …
        service_tier: Opt<Str> [Name, Words],
        /// Where the inference ran, where the agent says so: `us` costs more.
        inference_geo: Opt<Str> [Name, Words],
        /// What the row stands for; never two grains for the same tokens.
        grain: UsageGrain [Name, Words],
        /// Whether the counts are not exact: only a running count was recorded, so that the true output is larger, or the
        /// agent rounded or estimated them.
        is_partial: Bool [Fact, Plain],
        /// Lines that repeated it beyond the first, over all files.
        copies: I64 [Fact, Plain],
        /// Whether it belongs to a side conversation within the session.
        is_sidechain: Bool [Fact, Plain],
        /// Line of the source that it begins on, from 1.
        source_line: Opt<I64> [Fact, Deltas],
        /// When a run first found that the agent had dropped the record; null while it is there.
        gone_at: Opt<Ts> [Fact, Plain],
    }
}
