//! The shapes of pi's lines, header versions 1 to 4, and of what its forks and OpenClaw add to them.

use super::content::Content;
use crate::extract::RecordedDiff;
use crate::source::records::{Flag, Fraction, Moment, Number, Object, Raw, Text, TokenNumber, Usd, record};

record! {
    /// One line: the header, or an entry of the session's tree.
    Entry<'a> {
        kind: Text<'a> = "type",
        id: Text<'a> = "id",
        parent: Raw<'a> = "parentId",
        timestamp: Moment = "timestamp",
        cwd: Text<'a> = "cwd",
        parent_session: Text<'a> = "parentSession" | "branchedFrom",
        provider: Text<'a> = "provider",
        model: Text<'a> = "model",
        model_id: Text<'a> = "modelId",
        custom_type: Text<'a> = "customType",
        data: Raw<'a> = "data",
        message: Object<Message<'a>> = "message",
        summary: Text<'a> = "summary",
        usage: Object<Usage<'a>> = "usage",
        content: Content<'a> = "content",
        name: Text<'a> = "name",
        title: Text<'a> = "title",
        target: Raw<'a> = "targetId",
        append_mode: Text<'a> = "appendMode",
        thinking_level: Text<'a> = "thinkingLevel",
    }
    ignores [
        "version", "firstKeptEntryId", "firstKeptEntryIndex", "tokensBefore", "retainedTail",
        "systemMessage", "details", "fromHook", "fromExtension", "fromId", "display", "appendParentId",
        "label", "replacement", "note", "kind", "role", "serviceTier", "configured", "shortSummary", "preserveData",
        "titleSource", "additionalDirectories", "previousSessionFiles", "providerPromptCacheKey", "source", "updatedAt",
        "pad", "mode", "systemPrompt", "task", "tools", "outputSchema", "trigger", "firstKeptMessageId", "excludeFromContext",
    ]

    /// OpenClaw's `model-snapshot`: the model of the following messages.
    Snapshot<'a> { provider: Text<'a> = "provider", model: Text<'a> = "modelId" }

    /// The content of an entry of type `message`.
    Message<'a> {
        role: Text<'a> = "role",
        content: Content<'a> = "content",
        timestamp: Moment = "timestamp",
        api: Text<'a> = "api",
        provider: Text<'a> = "provider",
        model: Text<'a> = "model",
        response_model: Text<'a> = "responseModel",
        response: Text<'a> = "responseId",
        usage: Object<Usage<'a>> = "usage",
        stop_reason: Text<'a> = "stopReason",
        error: Text<'a> = "errorMessage",
        call: Text<'a> = "toolCallId",
        tool: Text<'a> = "toolName",
        details: Object<Details<'a>> = "details",
        is_error: Flag = "isError",
        command: Text<'a> = "command",
        code: Text<'a> = "code",
        output: Text<'a> = "output",
        exit_code: Number = "exitCode",
        cancelled: Flag = "cancelled",
        is_excluded: Flag = "excludeFromContext",
        summary: Text<'a> = "summary",
        idempotency_key: Text<'a> = "idempotencyKey",
        duration: Fraction = "duration",
        first_token: Fraction = "ttft",
    }
    ignores [
        "truncated", "fullOutputPath", "customType", "display", "fromId", "tokensBefore", "attribution", "providerPayload",
        "sections", "toolsAdded", "tools", "errorStatus", "errorId", "errorCode", "meta", "files", "synthetic",
        "openclawMessageMeta", "openclawDeliveryMirror", "__openclaw", "senderIsOwner", "provenance", "steering", "attachments",
        "diagnostics", "stopSequence", "disabledFeatures", "addedToolNames", "useless", "prunedAt", "rawStopReason",
    ]

    /// The tokens that a model call was billed for.
    Usage<'a> {
        input: TokenNumber = "input",
        output: TokenNumber = "output",
        cache_read: TokenNumber = "cacheRead",
        cache_write: TokenNumber = "cacheWrite",
        cache_write_1h: TokenNumber = "cacheWrite1h",
        reasoning: TokenNumber = "reasoning" | "reasoningTokens",
        total: TokenNumber = "totalTokens" | "total",
        cost: Object<Cost<'a>> = "cost",
    }
    ignores ["premiumRequests", "server", "cttl", "orchestrationInput", "orchestrationOutput", "contextUsage"]

    /// The cost by the agent's own table. USD.
    Cost<'a> { total: Usd = "total" }

    /// The fields of a tool's details that have columns of their own.
    Details<'a> {
        exit_code: Number = "exitCode",
        duration_ms: Fraction = "durationMs",
        child_key: Text<'a> = "childSessionKey",
        diff: RecordedDiff = "diff",
    }

    /// The fields of a tool call's arguments that have columns of their own.
    Arguments<'a> {
        command: Text<'a> = "command" | "cmd",
        path: Text<'a> = "path" | "file_path" | "filePath",
    }
}
