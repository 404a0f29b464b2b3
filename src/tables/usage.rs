use super::columns::{Bool, F64, I64, Opt, Str, Ts, lake_table};
use super::vocabulary::{CostSource, UsageGrain};

lake_table! {
    /// One row for each billed API response, or the finest grain that the agent stores.
    USAGE = "usage", row UsageRow, builder Usage, columns UsageColumns {
        /// Session that first produced the response.
        session_id: Str [Id, Words],
        /// Message that holds the response.
        message_id: Opt<Str> [Id, Text],
        /// The provider's id of the response.
        response_id: Str [Id, Text],
        /// The provider's id of the request.
        request_id: Opt<Str> [Id, Rare],
        /// Turn of the session, from 1; null before the first prompt.
        turn: Opt<I64> [Fact, Plain],
        /// When the response began, or, where the agent does not record that, when it was written.
        timestamp: Opt<Ts> [Fact, Deltas],
        /// Model as stored.
        model: Opt<Str> [Name, Words],
        /// Model that the agent requested, if recorded. It differs from `model` after a fallback or behind a router.
        requested_model: Opt<Str> [Name, Words],
        /// Model as priced; null if no price is known.
        model_key: Opt<Str> [Name, Words],
        /// Provider of the model, where known.
        provider: Opt<Str> [Name, Words],
        /// Reasoning effort of the request, as stored: low, medium, high, …; null if none is recorded. Levels of different
        /// agents cannot be compared.
        reasoning_effort: Opt<Str> [Name, Words],
        /// Input that was neither read from nor written to a cache. Tokens.
        input_tokens: Opt<I64> [Fact, Deltas],
        /// Input read from a cache. Tokens.
        cache_read_tokens: Opt<I64> [Fact, Deltas],
        /// Input written to a cache that lives 5 minutes. Tokens.
        cache_write_5m_tokens: Opt<I64> [Fact, Deltas],
        /// Input written to a cache that lives 1 hour. Tokens.
        cache_write_1h_tokens: Opt<I64> [Fact, Deltas],
        /// All billed output, including reasoning. Tokens.
        output_tokens: Opt<I64> [Fact, Deltas],
        /// Part of the output that was reasoning; null if the agent does not record it separately. Tokens.
        reasoning_tokens: Opt<I64> [Fact, Plain],
        /// Sum of input, cache read, both cache writes and output; null if the agent records no tokens. Tokens.
        total_tokens: Opt<I64> [Fact, Deltas],
        /// Web searches billed by the request. Count.
        web_searches: Opt<I64> [Fact, Plain],
        /// Cost as the agent recorded it, or else computed from the tokens and the price of that day; null if the model has no known price. USD.
        cost_usd: Opt<F64> [Fact, Plain],
        /// Origin of the cost; null if the cost is null.
        cost_source: Opt<CostSource> [Name, Words],
        /// Cost of the tokens by the prices of that day, whatever the agent recorded; null if the model has no known price. USD.
        list_cost_usd: Opt<F64> [Fact, Plain],
        /// What the provider charged in its own unit, where recorded. Provider's credits.
        credits: Opt<F64> [Fact, Plain],
        /// Duration of the response, where recorded. Milliseconds.
        duration_ms: Opt<I64> [Fact, Deltas],
        /// Time from the request to the first token, where recorded. If the agent records one for a turn, the turn's first
        /// response has it. Milliseconds.
        time_to_first_token_ms: Opt<I64> [Fact, Plain],
        /// Why the model stopped.
        stop_reason: Opt<Str> [Name, Words],
        /// Tier that the request was served in: standard, priority, batch, fast, …
        service_tier: Opt<Str> [Name, Words],
        /// Region of the inference, where recorded; `us` costs more.
        inference_geo: Opt<Str> [Name, Words],
        /// Skill that the agent names with the response: the last one loaded in the turn.
        skill: Opt<Str> [Name, Words],
        /// Why cached input was not used, as the provider says; null if it says nothing.
        cache_miss_reason: Opt<Str> [Name, Words],
        /// Input that was not read from the cache for this reason. Tokens.
        cache_missed_tokens: Opt<I64> [Fact, Plain],
        /// Subscription, as stored: free, plus, pro, team, …
        plan: Opt<Str> [Name, Words],
        /// Used share of the account's limit whose window is shorter than a day, as last recorded before the next response.
        /// 0 to 100.
        limit_short_percent: Opt<F64> [Fact, Plain],
        /// When that window ends.
        limit_short_resets_at: Opt<Ts> [Fact, Deltas],
        /// The same for the longest window, if it is a day or longer. 0 to 100.
        limit_long_percent: Opt<F64> [Fact, Plain],
        /// When that window ends.
        limit_long_resets_at: Opt<Ts> [Fact, Deltas],
        /// Length of that window. Minutes.
        limit_long_minutes: Opt<I64> [Fact, Plain],
        /// Largest request that the model takes, as the agent sees it. Tokens.
        context_window: Opt<I64> [Fact, Plain],
        /// Grain of the row. The same tokens never have rows of two grains.
        grain: UsageGrain [Name, Words],
        /// True if the counts are not exact: the agent recorded only a running count, so that the true output is larger, or it
        /// rounded or estimated them.
        is_partial: Bool [Fact, Plain],
        /// Copies of the response after the first, in all files. Count.
        copies: I64 [Fact, Plain],
        /// True if it belongs to a side conversation within the session.
        is_sidechain: Bool [Fact, Plain],
        /// First line of the response in the source, from 1.
        source_line: Opt<I64> [Fact, Deltas],
        /// When a run first found that the agent had dropped the record; null while the agent still has it.
        gone_at: Opt<Ts> [Fact, Plain],
    }
}
