//! The shapes of Grok's records.

use crate::agents::kit::texts::Blocks;
use crate::source::records::{Flag, Fraction, List, Moment, Number, Object, Raw, Text, TokenNumber, record};

record! {
    /// `summary.json`.
    Summary<'a> {
        info: Object<Info<'a>> = "info",
        session_summary: Text<'a> = "session_summary",
        title: Text<'a> = "generated_title",
        created: Moment = "created_at",
        model: Text<'a> = "current_model_id",
        parent: Text<'a> = "parent_session_id",
        kind: Text<'a> = "session_kind",
        workspace: Text<'a> = "source_workspace_dir",
        remotes: List<Text<'a>> = "git_remotes",
        commit: Text<'a> = "head_commit",
        branch: Text<'a> = "head_branch",
        agent_name: Text<'a> = "agent_name",
        effort: Text<'a> = "reasoning_effort",
    }

    /// A session's folder.
    Info<'a> { cwd: Text<'a> = "cwd" }

    /// A line of the log.
    Line<'a> {
        timestamp: Moment = "timestamp",
        params: Object<Params<'a>> = "params",
    }

    /// The parameters of a notification to the client.
    Params<'a> {
        update: Object<Update<'a>> = "update",
        meta: Object<Meta<'a>> = "_meta",
    }

    /// The session and the turn that an update belongs to.
    Meta<'a> {
        moment: Moment = "agentTimestampMs",
        prompt: Text<'a> = "promptId",
        index: Number = "promptIndex",
    }

    /// An update of any kind.
    Update<'a> {
        kind: Text<'a> = "sessionUpdate",
        content: Raw<'a> = "content",
        call: Text<'a> = "toolCallId",
        tool_kind: Text<'a> = "kind",
        status: Text<'a> = "status",
        input: Raw<'a> = "rawInput",
        output: Raw<'a> = "rawOutput",
        prompt: Text<'a> = "prompt_id",
        stop_reason: Text<'a> = "stop_reason",
        result: Text<'a> = "agent_result",
        usage: Object<Usage<'a>> = "usage",
        child: Text<'a> = "child_session_id" | "subagent_id",
        parent_prompt: Text<'a> = "parent_prompt_id",
        subagent_type: Text<'a> = "subagent_type",
        description: Text<'a> = "description",
        checkpoint: Text<'a> = "checkpoint_id",
        target: Number = "target_prompt_index",
    }

    /// A content that is a text.
    Content<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
    }

    /// A content of a call.
    Wrapped<'a> { content: Object<Content<'a>> = "content" }

    /// Tokens of a turn, in all and by model.
    Usage<'a> {
        input: TokenNumber = "inputTokens",
        output: TokenNumber = "outputTokens",
        cache_read: TokenNumber = "cachedReadTokens",
        cache_write: TokenNumber = "cacheCreationTokens",
        reasoning: TokenNumber = "reasoningTokens",
        duration_ms: Number = "apiDurationMs",
        ticks: Fraction = "costUsdTicks",
        has_partial_cost: Flag = "costIsPartial",
        is_incomplete: Flag = "usageIsIncomplete",
        models: Raw<'a> = "modelUsage",
    }

    /// An item of the history: the older ones have a role in place of a type.
    Item<'a> {
        kind: Text<'a> = "type" | "role",
        content: Blocks<Content<'a>> = "content",
        synthetic: Text<'a> = "synthetic_reason",
        summary: Blocks<Content<'a>> = "summary",
        calls: List<Object<ToolUse<'a>>> = "tool_calls",
        model: Text<'a> = "model_id",
        effort: Text<'a> = "reasoning_effort",
        call: Text<'a> = "tool_call_id",
    }

    /// A tool call of the model; the older ones hold a function.
    ToolUse<'a> {
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        arguments: Raw<'a> = "arguments",
        function: Object<Function<'a>> = "function",
    }

    /// The function of an older call.
    Function<'a> {
        name: Text<'a> = "name",
        arguments: Raw<'a> = "arguments",
    }

    /// The arguments that the tables know.
    Arguments<'a> {
        command: Text<'a> = "command" | "cmd",
        file: Text<'a> = "path" | "file_path" | "target_file",
    }
}
