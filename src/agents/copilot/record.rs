//! The shapes of Copilot CLI's events, 0.0.3xx to 1.0.9x.

use crate::extract::LineCounts;
use crate::source::records::{Flag, Fraction, List, Moment, Number, Object, Raw, Text, TokenNumber, record};

record! {
    /// One line of an events file: the envelope. The content of `data` depends on the type.
    Event<'a> {
        kind: Text<'a> = "type",
        id: Text<'a> = "id",
        timestamp: Moment = "timestamp",
        agent: Text<'a> = "agentId",
        data: Raw<'a> = "data",
    }
    ignores ["parentId", "ephemeral"]

    /// `session.start` and `session.resume`: a process begins or resumes.
    Start<'a> {
        session: Text<'a> = "sessionId",
        version: Text<'a> = "copilotVersion",
        model: Text<'a> = "selectedModel",
        effort: Text<'a> = "reasoningEffort",
        context: Object<Context<'a>> = "context",
        spawned_by: Text<'a> = "detachedFromSpawningParentSessionId",
    }
    ignores [
        "version", "producer", "startTime", "resumeTime", "eventCount", "eventsFileSizeBytes",
        "reasoningSummary", "verbosity", "contextTier", "autoTier", "alreadyInUse", "remoteSteerable", "sessionLimits",
        "sessionWasActive", "continuePendingWork", "githubMcpToolConfig",
    ]

    /// Folder and repository of a process.
    Context<'a> {
        cwd: Text<'a> = "cwd",
        branch: Text<'a> = "branch",
        commit: Text<'a> = "headCommit",
        repository: Text<'a> = "repository",
    }

    /// `session.model_change` and `session.auto_mode_resolved`.
    Model<'a> {
        selected: Text<'a> = "newModel",
        chosen: Text<'a> = "chosenModel",
        effort: Text<'a> = "reasoningEffort",
    }

    /// `user.message`.
    UserMessage<'a> {
        content: Text<'a> = "content",
        source: Text<'a> = "source",
        is_continuation: Flag = "isAutopilotContinuation",
        attachments: List<serde::de::IgnoredAny> = "attachments",
        parent_call: Text<'a> = "parentToolCallId",
    }
    ignores [
        "transformedContent", "agentMode", "delivery", "interactionId", "turnId", "messageId", "parentAgentTaskId",
        "supportedNativeDocumentMimeTypes", "nativeDocumentPathFallbackPaths",
    ]

    /// `assistant.message`.
    AssistantMessage<'a> {
        message: Text<'a> = "messageId",
        content: Text<'a> = "content",
        thinking: Text<'a> = "reasoningText",
        model: Text<'a> = "model",
        output: TokenNumber = "outputTokens",
        requests: List<Object<ToolRequest<'a>>> = "toolRequests",
        api_call: Text<'a> = "apiCallId",
        request: Text<'a> = "requestId",
        parent_call: Text<'a> = "parentToolCallId",
    }
    ignores [
        "reasoningOpaque", "encryptedContent", "phase", "serviceRequestId", "clientRequestId", "chunkIndex", "chunkCount",
        "interactionId", "turnId", "citations", "fusion", "originatingMessageId", "reasoningBlocks",
        "reasoningWireField", "rte", "serverTools",
    ]

    /// A call that a message asks for.
    ToolRequest<'a> {
        call: Text<'a> = "toolCallId",
        name: Text<'a> = "name",
        arguments: Raw<'a> = "arguments",
        server: Text<'a> = "mcpServerName",
    }

    /// `tool.execution_start` and `tool.user_requested`.
    ToolStart<'a> {
        call: Text<'a> = "toolCallId",
        name: Text<'a> = "toolName",
        arguments: Raw<'a> = "arguments",
        server: Text<'a> = "mcpServerName",
        parent_call: Text<'a> = "parentToolCallId",
    }
    ignores [
        "mcpToolName", "mcpConfigServerName", "mcpConfigSource", "mcpTransport", "model", "turnId", "displayVerbatim",
        "fusion", "rte", "shellToolInfo", "toolDescription",
    ]

    /// `tool.execution_complete`.
    ToolComplete<'a> {
        call: Text<'a> = "toolCallId",
        success: Flag = "success",
        result: Object<ToolResult<'a>> = "result",
        error: Object<ToolError<'a>> = "error",
        model: Text<'a> = "model",
        interaction: Text<'a> = "interactionId",
        shell: Object<Exit<'a>> = "shellExecution",
        telemetry: Object<Telemetry<'a>> = "toolTelemetry",
        parent_call: Text<'a> = "parentToolCallId",
    }
    ignores [
        "isUserRequested", "sandboxed", "turnId", "fusion", "mcpMeta", "rte", "toolDescription",
        "fileEdits",
    ]

    /// Measurements of a call.
    Telemetry<'a> { metrics: Object<LineCounts<'a>> = "metrics" }

    /// Result of a call.
    ToolResult<'a> {
        content: Text<'a> = "content",
        detailed: Text<'a> = "detailedContent",
        contents: List<Object<Exit<'a>>> = "contents",
    }

    /// Exit code of a command; also a block of type `terminal` or `shell_exit`.
    Exit<'a> { code: Number = "exitCode" }

    /// Error of a call.
    ToolError<'a> { message: Text<'a> = "message", code: Text<'a> = "code" }

    /// `subagent.started`, `.completed` and `.failed`.
    Subagent<'a> {
        call: Text<'a> = "toolCallId",
        name: Text<'a> = "agentName",
        title: Text<'a> = "agentDisplayName",
        parent: Text<'a> = "parentId",
        duration: Number = "durationMs",
    }

    /// `permission.requested` and `permission.completed`.
    Permission<'a> {
        request: Text<'a> = "requestId",
        asked: Object<PermissionRequest<'a>> = "permissionRequest",
        call: Text<'a> = "toolCallId",
        result: Object<PermissionResult<'a>> = "result",
    }
    ignores ["agentMode", "promptRequest", "resolvedByHook", "riskAssessment", "decisionSource"]

    /// Request for permission.
    PermissionRequest<'a> { kind: Text<'a> = "kind", call: Text<'a> = "toolCallId" }

    /// Answer to a request for permission.
    PermissionResult<'a> { kind: Text<'a> = "kind", feedback: Text<'a> = "feedback" }

    /// Message of the program: `session.error`, `.info`, `.warning`, `.handoff`, `system.message`,
    /// `system.notification`, `abort`.
    Notice<'a> {
        content: Text<'a> = "content" | "message" | "summary" | "reason",
        error_type: Text<'a> = "errorType",
        status: Number = "statusCode",
    }

    /// `session.compaction_complete`.
    Compaction<'a> {
        success: Flag = "success",
        error: Text<'a> = "error",
        summary: Text<'a> = "summaryContent",
        request: Text<'a> = "requestId",
        tokens: Object<CompactionTokens<'a>> = "compactionTokensUsed",
    }

    /// Tokens of a compaction's own call. The short names are of 0.0.x.
    CompactionTokens<'a> {
        input: TokenNumber = "inputTokens" | "input",
        output: TokenNumber = "outputTokens" | "output",
        cache_read: TokenNumber = "cacheReadTokens" | "cachedInput",
        cache_write: TokenNumber = "cacheWriteTokens",
        model: Text<'a> = "model",
        duration: Number = "duration",
        billed: Object<Billed<'a>> = "copilotUsage",
    }

    /// Billed amount. 10^11 units are a US dollar.
    Billed<'a> { nano: Fraction = "totalNanoAiu" }

    /// `session.usage_record`: one model call.
    UsageRecord<'a> { usage: Object<CallUsage<'a>> = "usage" }
    ignores ["agentId"]

    /// Usage of one model call. The input includes cache reads and writes.
    CallUsage<'a> {
        model: Text<'a> = "model",
        input: TokenNumber = "inputTokens",
        output: TokenNumber = "outputTokens",
        cache_read: TokenNumber = "cacheReadTokens",
        cache_write: TokenNumber = "cacheWriteTokens",
        reasoning: TokenNumber = "reasoningTokens",
        cache_seconds: Number = "cacheTtlSeconds",
        duration: Number = "duration",
        finish: Text<'a> = "finishReason",
        api_call: Text<'a> = "apiCallId",
        request: Text<'a> = "providerCallId" | "requestId",
        initiator: Text<'a> = "initiator",
        interaction: Text<'a> = "interactionType",
        parent_call: Text<'a> = "parentToolCallId",
        agent: Text<'a> = "agentId",
        billed: Object<Billed<'a>> = "copilotUsage",
        accounting: Object<Accounting<'a>> = "accounting",
    }

    /// Session and call of a usage record, also if the record was copied.
    Accounting<'a> { session: Text<'a> = "sourceSessionId", id: Text<'a> = "usageId" }

    /// `session.usage_checkpoint`: amount billed for the session so far, over all its processes.
    Checkpoint<'a> { nano: Fraction = "totalNanoAiu" }

    /// `session.shutdown`.
    Shutdown<'a> {
        metrics: Raw<'a> = "modelMetrics",
        nano: Fraction = "totalNanoAiu",
        snapshot: Object<Snapshot<'a>> = "accountingSnapshot",
    }

    /// Sums over all processes of a session.
    Snapshot<'a> { metrics: Raw<'a> = "modelMetrics" }

    /// Usage of one model. The input includes cache reads and writes.
    Metric<'a> { usage: Object<MetricUsage<'a>> = "usage", nano: Fraction = "totalNanoAiu" }

    /// Its tokens.
    MetricUsage<'a> {
        input: TokenNumber = "inputTokens",
        output: TokenNumber = "outputTokens",
        cache_read: TokenNumber = "cacheReadTokens",
        cache_write: TokenNumber = "cacheWriteTokens",
        reasoning: TokenNumber = "reasoningTokens",
    }

    /// The arguments of a call that have columns of their own.
    Arguments<'a> {
        command: Text<'a> = "command",
        path: Text<'a> = "path" | "file_path" | "filePath",
        agent_type: Text<'a> = "agent_type",
        description: Text<'a> = "description",
    }

    /// `vscode.metadata.json`.
    EditorMetadata<'a> {
        title: Text<'a> = "customTitle",
        folder: Text<'a> = "workspaceFolder" | "cwd",
    }

    /// A chat of the oldest versions.
    LegacyChat<'a> {
        session: Text<'a> = "sessionId",
        started: Moment = "startTime",
        model: Text<'a> = "selectedModel",
        messages: List<Object<LegacyMessage<'a>>> = "chatMessages",
        timeline: List<Object<LegacyEntry<'a>>> = "timeline",
    }
    ignores ["version"]

    /// One message of such a chat, as the model's interface has it.
    LegacyMessage<'a> {
        role: Text<'a> = "role",
        content: Text<'a> = "content",
        calls: List<Object<LegacyCall<'a>>> = "tool_calls",
        call: Text<'a> = "tool_call_id",
    }

    /// A call that a message asks for.
    LegacyCall<'a> { id: Text<'a> = "id", function: Object<LegacyFunction<'a>> = "function" }

    /// Function that it calls.
    LegacyFunction<'a> { name: Text<'a> = "name", arguments: Raw<'a> = "arguments" }

    /// Entry of the chat's timeline, which the person saw.
    LegacyEntry<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        timestamp: Moment = "timestamp",
        call: Text<'a> = "callId",
        result: Object<LegacyResult<'a>> = "result",
    }

    /// Outcome of a call.
    LegacyResult<'a> { kind: Text<'a> = "type" | "resultType" }
}
