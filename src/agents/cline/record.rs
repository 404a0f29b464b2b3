//! The shapes of the files that Cline, Roo Code and Kilo Code write, and of Cline's SDK.

use crate::agents::kit::texts::Blocks;
use crate::source::records::{Flag, List, Moment, Number, Object, Raw, Text, TokenNumber, Usd, record};

record! {
    /// One entry of `ui_messages.json`, which the person saw.
    Shown<'a> {
        at: Number = "ts",
        say: Text<'a> = "say",
        ask: Text<'a> = "ask",
        text: Raw<'a> = "text",
        images: List<Raw<'a>> = "images",
        files: List<Raw<'a>> = "files",
        model: Object<ModelInfo<'a>> = "modelInfo",
        index: Number = "conversationHistoryIndex",
        removed: List<Number> = "conversationHistoryDeletedRange",
        condense: Object<Condense<'a>> = "contextCondense",
    }
    ignores [
        "type", "partial", "reasoning", "commandCompleted", "lastCheckpointHash", "isCheckpointCheckedOut",
        "isOperationOutsideWorkspace", "contextTruncation", "apiProtocol", "isAnswered", "isProtected", "progressStatus",
        "checkpoint", "metadata", "multiCommandState",
    ]

    /// The model that was asked.
    ModelInfo<'a> {
        model: Text<'a> = "modelId" | "id",
        provider: Text<'a> = "providerId" | "provider",
    }

    /// Cost and summary of a compaction of Roo Code or Kilo Code.
    Condense<'a> { cost: Usd = "cost", summary: Text<'a> = "summary" }

    /// The JSON text of an `api_req_started` row, and of those that sum up requests.
    RequestInfo<'a> {
        request: Raw<'a> = "request",
        input: TokenNumber = "tokensIn",
        output: TokenNumber = "tokensOut",
        cache_write: TokenNumber = "cacheWrites",
        cache_read: TokenNumber = "cacheReads",
        cost: Usd = "cost",
        cancelled: Text<'a> = "cancelReason",
        failure: Text<'a> = "streamingFailedMessage",
        protocol: Text<'a> = "apiProtocol",
    }

    /// JSON texts of other rows: a tool that was shown, a question, a retry, a compaction.
    Details<'a> {
        tool: Text<'a> = "tool",
        path: Text<'a> = "path",
        server: Text<'a> = "serverName",
        tool_name: Text<'a> = "toolName",
        question: Text<'a> = "question",
        response: Text<'a> = "response",
        status: Text<'a> = "status",
        error: Text<'a> = "errorMessage",
    }

    /// One message of `api_conversation_history.json`, or of an SDK session.
    Message<'a> {
        id: Text<'a> = "id",
        kind: Text<'a> = "type",
        role: Text<'a> = "role",
        content: Content<'a> = "content",
        text: Text<'a> = "text",
        summary: Raw<'a> = "summary",
        reasoning: Text<'a> = "reasoning_content",
        at: Number = "ts",
        model: Object<ModelInfo<'a>> = "modelInfo",
        metrics: Object<Metrics<'a>> = "metrics",
        metadata: Object<Metadata<'a>> = "metadata",
        is_summary: Flag = "isSummary",
        is_truncation: Flag = "isTruncationMarker",
    }
    ignores [
        "encrypted_content", "condenseId", "condenseParent", "truncationId", "truncationParent", "reasoning_details",
        "call_id", "signature",
    ]

    /// Usage of a message: the first four fields are an SDK session's, `tokens` is the extension's.
    Metrics<'a> {
        input: TokenNumber = "inputTokens",
        output: TokenNumber = "outputTokens",
        cache_read: TokenNumber = "cacheReadTokens",
        cache_write: TokenNumber = "cacheWriteTokens",
        cost: Usd = "cost",
        tokens: Object<PromptTokens<'a>> = "tokens",
    }

    /// Tokens of a request as the extension keeps them with the reply; `cached` is within `prompt`.
    PromptTokens<'a> {
        prompt: TokenNumber = "prompt",
        completion: TokenNumber = "completion",
        cached: TokenNumber = "cached",
    }

    /// Metadata of a message in an SDK session.
    Metadata<'a> {
        kind: Text<'a> = "kind",
        is_display_only: Flag = "displayOnly",
        role: Text<'a> = "displayRole",
    }

    /// One block of a content.
    Block<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        summary: Raw<'a> = "summary",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        input: Raw<'a> = "input",
        call: Text<'a> = "tool_use_id",
        content: Raw<'a> = "content",
        is_error: Flag = "is_error",
    }
}

/// The blocks of a message.
pub(crate) type Content<'a> = Blocks<Block<'a>>;

record! {
    /// Arguments of a tool call that have columns.
    Arguments<'a> {
        command: Text<'a> = "command",
        commands: List<Raw<'a>> = "commands",
        path: Text<'a> = "path" | "file_path" | "absolutePath",
        server: Text<'a> = "server_name" | "serverName",
        tool: Text<'a> = "tool_name",
    }

    /// A command of an SDK session's list.
    Command<'a> { command: Text<'a> = "command" }

    /// An object that Roo Code writes in place of a tool's result, or before it.
    RooResult<'a> {
        status: Text<'a> = "status",
        message: Text<'a> = "message",
        feedback: Text<'a> = "feedback",
    }

    /// The result of one of the SDK's tools.
    SdkResult<'a> {
        query: Text<'a> = "query",
        success: Raw<'a> = "success",
        error: Text<'a> = "error",
    }

    /// `task_metadata.json`: the form of the extensions, and an older description's with totals.
    TaskMetadata<'a> {
        models: List<Object<ModelUse<'a>>> = "model_usage",
        environments: List<Object<Environment<'a>>> = "environment_history",
        task: Text<'a> = "taskId",
        started: Moment = "startTime",
        ended: Moment = "endTime",
        model: Text<'a> = "model",
        input: TokenNumber = "totalTokensIn",
        output: TokenNumber = "totalTokensOut",
        cost: Usd = "totalCost",
    }

    /// A model and the time of its first use.
    ModelUse<'a> {
        at: Number = "ts",
        model: Text<'a> = "model_id",
        provider: Text<'a> = "model_provider_id",
    }

    /// A version and the time of its first use.
    Environment<'a> { at: Number = "ts", version: Text<'a> = "cline_version" }

    /// One task of `taskHistory.json` or `_index.json`, or that of `history_item.json`.
    HistoryItem<'a> {
        id: Text<'a> = "id",
        at: Moment = "ts",
        task: Text<'a> = "task",
        input: TokenNumber = "tokensIn",
        output: TokenNumber = "tokensOut",
        cache_write: TokenNumber = "cacheWrites",
        cache_read: TokenNumber = "cacheReads",
        cost: Usd = "totalCost",
        cwd: Text<'a> = "cwdOnTaskInitialization",
        workspace: Text<'a> = "workspace",
        model: Text<'a> = "modelId",
        root: Text<'a> = "rootTaskId",
        parent: Text<'a> = "parentTaskId",
        children: List<Text<'a>> = "childIds",
        summary: Text<'a> = "completionResultSummary",
        mode: Text<'a> = "mode",
    }

    /// `<session>.json` next to the messages of an SDK session.
    Manifest<'a> {
        version: Text<'a> = "agent_version" | "cli_version" | "app_version",
        provider: Text<'a> = "provider",
        model: Text<'a> = "model",
        cwd: Text<'a> = "cwd",
        workspace: Text<'a> = "workspace_root",
        parent: Text<'a> = "parent_session_id",
        started: Moment = "started_at",
        metadata: Object<ManifestMetadata<'a>> = "metadata",
    }

    /// Metadata of a manifest.
    ManifestMetadata<'a> {
        title: Text<'a> = "title",
        went_on: Raw<'a> = "legacyTask" | "migratedFromLegacyTask",
    }
}
