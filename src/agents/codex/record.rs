//! The shapes of Codex's records: the TypeScript program, 0.2 to 0.31 (bare items), 0.32 to 0.169 (envelopes).

use crate::source::records::{Flag, Fraction, List, Moment, Number, Object, Raw, Text, TokenNumber, record};

record! {
    /// One line of a rollout: an envelope, a bare item, or a line of the simplified form.
    Line<'a> {
        kind: Text<'a> = "type",
        timestamp: Moment = "timestamp",
        payload: Raw<'a> = "payload",
        ordinal: Number = "ordinal",
        record_type: Text<'a> = "record_type",
        id: Text<'a> = "id",
        session: Text<'a> = "session_id",
        role: Text<'a> = "role",
        content: Raw<'a> = "content",
        text: Text<'a> = "text" | "message",
        summary: Raw<'a> = "summary",
        encrypted: Raw<'a> = "encrypted_content",
        name: Text<'a> = "name" | "tool_name",
        arguments: Raw<'a> = "arguments",
        input: Raw<'a> = "input",
        call: Text<'a> = "call_id" | "tool_call_id",
        output: Raw<'a> = "output",
        status: Text<'a> = "status",
        action: Raw<'a> = "action",
        git: Object<Git<'a>> = "git",
        cwd: Text<'a> = "cwd",
        model: Text<'a> = "model",
        version: Text<'a> = "cli_version" | "version",
    }
    ignores ["instructions", "metadata", "phase", "end_turn", "originator", "source", "model_provider"]

    /// Facts of a thread; the first record of a file is the file's own.
    Meta<'a> {
        id: Text<'a> = "id",
        root: Text<'a> = "session_id",
        forked_from: Text<'a> = "forked_from_id",
        parent: Text<'a> = "parent_thread_id",
        timestamp: Moment = "timestamp",
        cwd: Text<'a> = "cwd",
        version: Text<'a> = "cli_version",
        source: Raw<'a> = "source",
        originator: Text<'a> = "originator",
        thread_source: Text<'a> = "thread_source",
        nickname: Text<'a> = "agent_nickname",
        role: Text<'a> = "agent_role" | "agent_type",
        provider: Text<'a> = "model_provider",
        history_base: Raw<'a> = "history_base",
        own_from: Number = "subagent_history_start_ordinal",
        git: Object<Git<'a>> = "git",
    }
    ignores [
        "instructions", "base_instructions", "dynamic_tools", "memory_mode", "multi_agent_version",
        "context_window", "history_mode", "agent_path", "model", "forked_from_ordinal_exclusive", "selected_capability_roots",
    ]

    /// Source of a thread, if it is not a plain word.
    ThreadSource<'a> {
        subagent: Raw<'a> = "subagent",
        internal: Raw<'a> = "internal",
        custom: Raw<'a> = "custom",
    }

    /// Kind of a subagent.
    Subagent<'a> { spawn: Object<Spawn<'a>> = "thread_spawn", other: Text<'a> = "other" }

    /// Spawner of a thread.
    Spawn<'a> {
        parent: Text<'a> = "parent_thread_id",
        depth: Number = "depth",
        nickname: Text<'a> = "agent_nickname",
        role: Text<'a> = "agent_role" | "agent_type",
    }

    /// The repository that a thread began in.
    Git<'a> {
        commit: Text<'a> = "commit_hash",
        branch: Text<'a> = "branch",
        repository: Text<'a> = "repository_url",
    }

    /// Settings of a turn.
    TurnContext<'a> {
        turn: Text<'a> = "turn_id",
        cwd: Text<'a> = "cwd",
        model: Text<'a> = "model",
        effort: Text<'a> = "effort",
        service_tier: Text<'a> = "service_tier",
        approval: Text<'a> = "approval_policy",
        sandbox: Object<Sandbox<'a>> = "sandbox_policy",
    }

    /// Permissions of commands.
    Sandbox<'a> { kind: Text<'a> = "type" | "mode" }

    /// A message to the model or from it.
    Item<'a> {
        kind: Text<'a> = "type",
        id: Text<'a> = "id",
        role: Text<'a> = "role",
        content: Raw<'a> = "content",
        summary: Raw<'a> = "summary",
        encrypted: Raw<'a> = "encrypted_content",
        name: Text<'a> = "name",
        namespace: Text<'a> = "namespace",
        arguments: Raw<'a> = "arguments",
        input: Raw<'a> = "input",
        call: Text<'a> = "call_id",
        output: Raw<'a> = "output",
        tools: Raw<'a> = "tools",
        status: Text<'a> = "status",
        action: Raw<'a> = "action",
        author: Text<'a> = "author",
    }
    ignores [
        "phase", "end_turn", "metadata", "execution", "recipient", "result", "revised_prompt", "ghost_commit", "query",
        "internal_chat_message_metadata_passthrough", "success", "duration_ms",
    ]

    /// A part of a message's content.
    Part<'a> { kind: Text<'a> = "type", text: Text<'a> = "text" }

    /// An event.
    Event<'a> {
        kind: Text<'a> = "type",
        message: Text<'a> = "message",
        turn: Text<'a> = "turn_id",
        info: Object<TokenInfo<'a>> = "info",
        limits: Object<RateLimits<'a>> = "rate_limits",
        reason: Text<'a> = "reason",
        call: Text<'a> = "call_id",
        event: Text<'a> = "event_id",
        command: Raw<'a> = "command",
        exit_code: Number = "exit_code",
        duration: Raw<'a> = "duration",
        duration_ms: Number = "duration_ms",
        first_token: Number = "time_to_first_token_ms",
        status: Text<'a> = "status",
        success: Raw<'a> = "success",
        changes: Raw<'a> = "changes",
        result: Raw<'a> = "result",
        invocation: Object<Invocation<'a>> = "invocation",
        new_thread: Text<'a> = "new_thread_id" | "agent_thread_id",
        item: Raw<'a> = "item",
        started: Moment = "started_at_ms",
        turns: Number = "num_turns",
        thread_name: Text<'a> = "thread_name",
        settings: Object<Settings<'a>> = "thread_settings",
        thread: Text<'a> = "thread_id",
        error: Raw<'a> = "error",
        error_info: Raw<'a> = "codex_error_info",
        hint: Text<'a> = "user_facing_hint",
        review: Raw<'a> = "review_output",
    }

    /// A request to an MCP server.
    Invocation<'a> { server: Text<'a> = "server", tool: Text<'a> = "tool" }

    /// Settings of a thread.
    Settings<'a> {
        model: Text<'a> = "model",
        cwd: Text<'a> = "cwd",
        service_tier: Text<'a> = "service_tier",
    }

    /// Running totals, and the tokens of the last response.
    TokenInfo<'a> {
        total: Object<Tokens<'a>> = "total_token_usage",
        last: Object<Tokens<'a>> = "last_token_usage",
        context_window: TokenNumber = "model_context_window",
    }

    /// Used parts of the account's limits. Until about 0.40, the two windows had no objects of their own.
    RateLimits<'a> {
        plan: Text<'a> = "plan_type",
        primary: Object<LimitWindow<'a>> = "primary",
        secondary: Object<LimitWindow<'a>> = "secondary",
        primary_percent: Fraction = "primary_used_percent",
        primary_minutes: Number = "primary_window_minutes",
        secondary_percent: Fraction = "secondary_used_percent",
        secondary_minutes: Number = "secondary_window_minutes",
    }

    /// One limit: its used part, its length, and its end in seconds since 1970, or in seconds from now.
    LimitWindow<'a> {
        percent: Fraction = "used_percent",
        minutes: Number = "window_minutes",
        resets_at: Number = "resets_at",
        resets_in: Number = "resets_in_seconds",
    }

    /// Tokens: input with both caches, output with reasoning.
    Tokens<'a> {
        input: TokenNumber = "input_tokens",
        cache_read: TokenNumber = "cached_input_tokens",
        cache_write: TokenNumber = "cache_write_input_tokens",
        output: TokenNumber = "output_tokens",
        reasoning: TokenNumber = "reasoning_output_tokens",
        total: TokenNumber = "total_tokens",
    }
    ignores []

    /// Billed tokens of one response, from 0.153 on.
    UsageRecord<'a> {
        thread: Text<'a> = "thread_id",
        response: Text<'a> = "response_id",
        turn: Text<'a> = "turn_id",
        usage: Object<Tokens<'a>> = "usage",
        thread_total: Object<Tokens<'a>> = "thread_token_usage",
    }
    ignores ["session_id", "root_turn_id", "turn_token_usage", "model"]

    /// A compaction.
    Compacted<'a> {
        message: Text<'a> = "message",
        latest: Object<UsageRecord<'a>> = "latest_token_usage_record",
    }

    /// An item of a paginated thread's history.
    Completed<'a> {
        kind: Text<'a> = "type",
        id: Text<'a> = "id",
        content: Raw<'a> = "content",
        command: Raw<'a> = "command",
        exit_code: Number = "exit_code",
        duration: Raw<'a> = "duration",
        status: Text<'a> = "status",
        output: Text<'a> = "aggregated_output",
        changes: Raw<'a> = "changes",
        server: Text<'a> = "server",
        tool: Text<'a> = "tool",
        arguments: Raw<'a> = "arguments",
        result: Raw<'a> = "result",
        error: Raw<'a> = "error",
        review: Text<'a> = "review",
        source: Text<'a> = "source",
        thread: Text<'a> = "agent_thread_id" | "new_thread_id",
        receivers: List<Text<'a>> = "receiver_thread_ids",
    }

    /// A duration.
    Duration<'a> { seconds: Fraction = "secs", nanoseconds: Fraction = "nanos" }

    /// The result of an MCP call.
    McpResult<'a> {
        good: Object<McpContent<'a>> = "Ok",
        bad: Raw<'a> = "Err",
        is_error: Flag = "is_error" | "isError",
        content: Raw<'a> = "content",
    }

    /// Answer of an MCP server.
    McpContent<'a> { is_error: Flag = "is_error" | "isError", content: Raw<'a> = "content" }

    /// The fields of a call's arguments that have columns of their own.
    Arguments<'a> {
        command: Raw<'a> = "command" | "cmd",
        path: Text<'a> = "path" | "file_path",
        patch: Text<'a> = "patch" | "input",
        session: Number = "session_id",
    }

    /// Action of a hosted web call.
    Action<'a> { kind: Text<'a> = "type" }

    /// The structured output of a shell call, until about 2025-10, and of a spawned agent.
    Structured<'a> {
        output: Raw<'a> = "output" | "content",
        success: Raw<'a> = "success",
        metadata: Object<OutputMetadata<'a>> = "metadata",
        agent: Text<'a> = "agent_id" | "new_thread_id" | "agent_thread_id" | "thread_id",
    }

    /// Outcome of a structured shell call.
    OutputMetadata<'a> { exit_code: Number = "exit_code", seconds: Fraction = "duration_seconds" }

    /// One line of `history.jsonl`, or one entry of the TypeScript program's `history.json`.
    Prompt<'a> {
        session: Text<'a> = "session_id",
        moment: Moment = "ts" | "timestamp",
        text: Text<'a> = "text" | "command",
    }

    /// One line of `session_index.jsonl`.
    Named<'a> { id: Text<'a> = "id", name: Text<'a> = "thread_name" }
    ignores ["updated_at"]

    /// A session of the TypeScript program: one document.
    Document<'a> { session: Object<DocumentMeta<'a>> = "session", items: List<Raw<'a>> = "items" }
    ignores []

    /// Facts of a session of the TypeScript program.
    DocumentMeta<'a> { id: Text<'a> = "id", timestamp: Moment = "timestamp" }
    ignores ["user", "version", "instructions", "model"]
}
