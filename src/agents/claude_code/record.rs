//! The shapes of Claude Code's records, 0.2 to 2.1.

use super::content::{Content, Structured};
use crate::source::records::{Flag, List, Moment, Number, Object, Raw, Text, TokenNumber, Usd, record};

record! {
    /// One line of a transcript.
    Line<'a> {
        kind: Text<'a> = "type",
        subtype: Text<'a> = "subtype",
        uuid: Text<'a> = "uuid",
        parent: Text<'a> = "parentUuid",
        logical_parent: Text<'a> = "logicalParentUuid",
        timestamp: Moment = "timestamp",
        session: Text<'a> = "sessionId",
        request_session: Text<'a> = "requestSessionId",
        session_kind: Text<'a> = "sessionKind",
        agent: Text<'a> = "agentId",
        cwd: Text<'a> = "cwd",
        version: Text<'a> = "version",
        branch: Text<'a> = "gitBranch",
        is_sidechain: Flag = "isSidechain",
        is_meta: Flag = "isMeta",
        is_compact_summary: Flag = "isCompactSummary",
        is_visible_only: Flag = "isVisibleInTranscriptOnly",
        is_api_error: Flag = "isApiErrorMessage",
        message: Object<Message<'a>> = "message",
        result: Structured<'a> = "toolUseResult",
        denial: Text<'a> = "toolDenialKind",
        request: Text<'a> = "requestId",
        cost: Usd = "costUSD",
        duration: Number = "durationMs",
        advisor: Text<'a> = "advisorModel",
        effort: Text<'a> = "effort",
        requested_model: Text<'a> = "requestedModel",
        skill: Text<'a> = "attributionSkill",
        entrypoint: Text<'a> = "entrypoint",
        origin: Object<Origin<'a>> = "origin",
        forked_from: Object<ForkedFrom<'a>> = "forkedFrom",
        content: Raw<'a> = "content",
        level: Text<'a> = "level",
        error: Raw<'a> = "error",
        error_status: Number = "apiErrorStatus",
        permission_mode: Text<'a> = "permissionMode",
        compaction: Object<Timed<'a>> = "compactMetadata",
        hooks: List<Object<Timed<'a>>> = "hookInfos",
        attachment: Object<Attachment<'a>> = "attachment",
        data: Object<ProgressData<'a>> = "data",
        parent_tool: Text<'a> = "parentToolUseID",
        summary: Text<'a> = "summary",
        leaf: Text<'a> = "leafUuid",
        custom_title: Text<'a> = "customTitle",
        ai_title: Text<'a> = "aiTitle",
        repository: Text<'a> = "prRepository",
        relocated: Text<'a> = "relocatedCwd",
    }
    ignores [
        "userType", "slug", "teamName", "agentName", "promptId", "promptSource", "isVirtual", "ephemeral",
        "sourceToolAssistantUUID", "sourceToolUseID", "interruptedByShutdown", "thinkingMetadata",
        "todos", "imagePasteIds", "toolDenialEndsTurn", "apiError", "apiBlockIndex",
        "supersedesUuids", "session_id", "toolUseID", "microcompactMetadata", "retryInMs",
        "retryAttempt", "maxRetries", "cause", "source", "messageCount", "pendingBackgroundAgentCount", "hookCount",
        "hookErrors", "preventedContinuation", "stopReason", "hasOutput", "originalModel", "fallbackModel",
        "retractedMessageUuids", "lastPrompt", "tag", "agentColor", "agentSetting", "mode", "prNumber", "prUrl",
        "operation", "reason", "messageId", "snapshot", "isSnapshotUpdate", "snapshotMessageId", "trackingPath", "backup",
        "replacements", "worktreeSession", "continuedInSessionId", "v", "sessions", "totalCostUSD", "totalAPIDuration",
        "totalAPIDurationWithoutRetries", "totalToolDuration", "totalLinesAdded", "totalLinesRemoved", "totalDuration",
        "startTime", "modelUsage", "hasUnknownModelCost", "attributionMcpServer",
        "attributionMcpTool", "classifierMetaLines", "permissionDecision", "trigger", "direction", "color", "setting",
        "planContent", "hookAdditionalContext", "apiRefusalCategory", "apiRefusalExplanation", "atis",
        "attributionPlugin", "attributionAgent", "errorDetails", "interruptedMessageId", "isAbortedMidStream", "mcpMeta",
        "refusedUserMessageUuid", "toolEndsTurn", "turnCompanion",
    ]

    /// Failure of a request. Newer versions keep `message` and `formatted`, older ones the provider's error.
    Failure<'a> {
        status: Number = "status",
        kind: Text<'a> = "type",
        message: Text<'a> = "message",
        formatted: Text<'a> = "formatted",
        answer: Object<FailureAnswer<'a>> = "error",
    }

    /// The provider's answer to a failed request.
    FailureAnswer<'a> { error: Object<FailureReason<'a>> = "error" }

    /// The provider's reason.
    FailureReason<'a> { kind: Text<'a> = "type", message: Text<'a> = "message" }

    /// An event with a duration.
    Timed<'a> { duration: Number = "durationMs" }

    /// An API message.
    Message<'a> {
        id: Text<'a> = "id",
        role: Text<'a> = "role",
        model: Text<'a> = "model",
        content: Content<'a> = "content",
        stop_reason: Text<'a> = "stop_reason",
        usage: Object<Usage<'a>> = "usage",
        diagnostics: Object<Diagnostics<'a>> = "diagnostics",
    }
    ignores ["type", "stop_sequence", "container", "context_management", "stop_details"]

    /// The provider's diagnostics of a response.
    Diagnostics<'a> { cache_miss: Object<CacheMiss<'a>> = "cache_miss_reason" }

    /// Reason why cached input was not used.
    CacheMiss<'a> { kind: Text<'a> = "type", tokens: TokenNumber = "cache_missed_input_tokens" }

    /// Tokens and services that a response was billed for.
    Usage<'a> {
        input: TokenNumber = "input_tokens",
        cache_write: TokenNumber = "cache_creation_input_tokens",
        cache_read: TokenNumber = "cache_read_input_tokens",
        output: TokenNumber = "output_tokens",
        cache_creation: Object<CacheCreation<'a>> = "cache_creation",
        output_details: Object<OutputDetails<'a>> = "output_tokens_details",
        server_tools: Object<ServerTools<'a>> = "server_tool_use",
        service_tier: Text<'a> = "service_tier",
        speed: Text<'a> = "speed",
        inference_geo: Text<'a> = "inference_geo",
        iterations: List<Iteration<'a>> = "iterations",
    }
    ignores []

    /// Cache writes by the life of the cache.
    CacheCreation<'a> {
        five_minutes: TokenNumber = "ephemeral_5m_input_tokens",
        one_hour: TokenNumber = "ephemeral_1h_input_tokens",
    }

    /// Parts of the output.
    OutputDetails<'a> { thinking: TokenNumber = "thinking_tokens" }

    /// Tools that the provider ran.
    ServerTools<'a> { web_searches: TokenNumber = "web_search_requests" }

    /// One attempt within a response.
    Iteration<'a> {
        kind: Text<'a> = "type",
        model: Text<'a> = "model",
        input: TokenNumber = "input_tokens",
        cache_write: TokenNumber = "cache_creation_input_tokens",
        cache_read: TokenNumber = "cache_read_input_tokens",
        output: TokenNumber = "output_tokens",
        cache_creation: Object<CacheCreation<'a>> = "cache_creation",
    }

    /// Producer of a user line.
    Origin<'a> { kind: Text<'a> = "kind" }

    /// Session that a copied line comes from.
    ForkedFrom<'a> { session: Text<'a> = "sessionId" }

    /// Something that the program added to the conversation.
    Attachment<'a> {
        kind: Text<'a> = "type",
        prompt: Raw<'a> = "prompt",
        mode: Text<'a> = "commandMode",
        origin: Object<Origin<'a>> = "origin",
        is_meta: Flag = "isMeta",
        content: Raw<'a> = "content",
        error: Raw<'a> = "blockingError",
        stderr: Text<'a> = "stderr",
        hook: Text<'a> = "hookName",
        decision: Text<'a> = "decision",
    }

    /// Content of a progress line.
    ProgressData<'a> {
        kind: Text<'a> = "type",
        agent: Text<'a> = "agentId",
        line: Raw<'a> = "message",
    }

    /// The fields of a tool call's arguments that have columns of their own.
    Input<'a> {
        command: Text<'a> = "command",
        file: Text<'a> = "file_path" | "notebook_path",
        path: Text<'a> = "path",
        description: Text<'a> = "description",
        subagent: Text<'a> = "subagent_type",
    }

    /// The description next to a subagent's transcript.
    Description<'a> {
        agent_type: Text<'a> = "agentType",
        description: Text<'a> = "description",
        call: Text<'a> = "toolUseId",
        parent: Text<'a> = "parentAgentId",
    }

    /// One typed prompt of `history.jsonl`.
    Prompt<'a> {
        display: Text<'a> = "display",
        timestamp: Moment = "timestamp",
        project: Text<'a> = "project",
        session: Text<'a> = "sessionId",
        pasted: Raw<'a> = "pastedContents",
    }
}
