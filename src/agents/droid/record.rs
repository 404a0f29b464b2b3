//! The shapes of Droid's records: session files of 2025-10 and later, and the settings next to them.

use super::content::Content;
use crate::source::records::{Fraction, List, Moment, Number, Object, Raw, Text, TokenNumber, record};

record! {
    /// One line of a session.
    Line<'a> {
        kind: Text<'a> = "type",
        id: Text<'a> = "id",
        parent: Text<'a> = "parentId",
        timestamp: Moment = "timestamp",
        message: Object<Message<'a>> = "message",
        title: Text<'a> = "title",
        session_title: Text<'a> = "sessionTitle",
        version: Text<'a> = "version",
        cwd: Text<'a> = "cwd",
        parent_session: Text<'a> = "parent",
        forked_at: Text<'a> = "forkedAtMessageId",
        calling_session: Text<'a> = "callingSessionId",
        calling_call: Text<'a> = "callingToolUseId",
        summary: Text<'a> = "summaryText",
        turn: Text<'a> = "turnId",
        reason: Text<'a> = "reason",
        result: Raw<'a> = "result",
        model: Text<'a> = "model",
        effort: Text<'a> = "reasoningEffort",
        autonomy: Text<'a> = "autonomyLevel",
    }
    ignores [
        "owner", "hostId", "lastCwd", "isSessionTitleManuallySet", "sessionTitleAutoStage", "decompSessionType",
        "decompMissionId", "todos", "messageIndex", "summaryTokens", "summaryKind", "anchorMessage", "removedCount",
        "systemInfo", "resultKind", "durationMs", "toolCount", "finalText", "interactionMode",
    ]

    /// A message of the person, the model or the program.
    Message<'a> {
        id: Text<'a> = "id",
        role: Text<'a> = "role",
        content: Content<'a> = "content",
        visibility: Text<'a> = "visibility",
        model: Text<'a> = "modelId" | "model",
        effort: Text<'a> = "reasoningEffort",
        hook: Text<'a> = "hookEventName",
        hook_status: Text<'a> = "hookStatus",
        reasoning: Text<'a> = "chatCompletionReasoningContent",
        reasoning_summary: Raw<'a> = "openaiReasoningSummary",
    }
    ignores [
        "apiProvider", "routerId", "openaiMessageId", "openaiReasoningId", "openaiEncryptedContent", "hookResults",
        "userMessageSource", "createdAt", "updatedAt",
    ]

    /// `<session>.settings.json`.
    Settings<'a> {
        model: Text<'a> = "model",
        routed_to: Object<Routed<'a>> = "effectiveFactoryRouterModel",
        provider: Text<'a> = "providerLock",
        api_provider: Text<'a> = "apiProviderLock",
        active_ms: Number = "assistantActiveTimeMs",
        usage: Object<TokenUsage<'a>> = "tokenUsage",
        tags: List<Object<Tag<'a>>> = "tags",
        effort: Text<'a> = "reasoningEffort",
    }

    /// The model that the router chose.
    Routed<'a> { model: Text<'a> = "modelId" }

    /// Running total of a session.
    TokenUsage<'a> {
        input: TokenNumber = "inputTokens",
        output: TokenNumber = "outputTokens",
        cache_write: TokenNumber = "cacheCreationTokens",
        cache_read: TokenNumber = "cacheReadTokens",
        thinking: TokenNumber = "thinkingTokens",
        credits: Fraction = "factoryCredits",
    }

    /// A tag of a session.
    Tag<'a> { metadata: Object<TagMetadata<'a>> = "metadata" }

    /// The part of a tag that shows who started the session.
    TagMetadata<'a> {
        calling_session: Text<'a> = "callingSessionId",
        calling_call: Text<'a> = "callingToolUseId",
    }

    /// One line of `droid exec --output-format stream-json`.
    CaptureLine<'a> {
        kind: Text<'a> = "type",
        session: Text<'a> = "session_id" | "sessionId",
        timestamp: Moment = "timestamp",
        id: Text<'a> = "id",
        cwd: Text<'a> = "cwd",
        model: Text<'a> = "model",
        effort: Text<'a> = "reasoning_effort" | "reasoningEffort",
        role: Text<'a> = "role",
        text: Text<'a> = "text",
        call: Text<'a> = "toolCallId" | "tool_call_id",
        tool: Text<'a> = "toolName" | "tool_name",
        tool_id: Text<'a> = "toolId" | "tool_id",
        message_id: Text<'a> = "messageId" | "message_id",
        parameters: Raw<'a> = "parameters",
        value: Raw<'a> = "value",
        is_error: Raw<'a> = "isError" | "is_error",
        final_text: Text<'a> = "finalText" | "final_text",
        usage: Object<CaptureUsage<'a>> = "usage",
        duration: Number = "durationMs" | "duration_ms",
        message: Text<'a> = "message",
    }
    ignores ["subtype", "tools", "numTurns", "num_turns", "source"]

    /// The tokens billed since the last completion.
    CaptureUsage<'a> {
        input: TokenNumber = "input_tokens",
        output: TokenNumber = "output_tokens",
        cache_read: TokenNumber = "cache_read_input_tokens",
        cache_write: TokenNumber = "cache_creation_input_tokens",
    }

    /// The fields of a tool call's arguments that have columns of their own.
    Input<'a> {
        command: Text<'a> = "command",
        file: Text<'a> = "file_path" | "filePath",
        path: Text<'a> = "path",
        patch: Text<'a> = "patch" | "input",
    }

    /// The structured result of a command.
    CommandResult<'a> {
        stdout: Text<'a> = "stdout",
        stderr: Text<'a> = "stderr",
        exit_code: Number = "exitCode" | "exit_code",
    }
}
