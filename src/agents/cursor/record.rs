//! Shapes of Cursor's records.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::source::records::{Flag, Fraction, List, Moment, Number, Object, Raw, Text, TokenNumber, record};

record! {
    /// `composerData:<id>`, or an entry of `allComposers` in any of the lists.
    Composer<'a> {
        id: Text<'a> = "composerId",
        name: Text<'a> = "name",
        created: Moment = "createdAt",
        updated: Moment = "lastUpdatedAt",
        status: Text<'a> = "status",
        headers: List<Object<BubbleHeader<'a>>> = "fullConversationHeadersOnly",
        conversation: List<Raw<'a>> = "conversation",
        by_id: Raw<'a> = "conversationMap",
        model: Object<ModelInfo<'a>> = "modelConfig",
        costs: Raw<'a> = "usageData",
        summary: Raw<'a> = "latestConversationSummary",
        workspace: Object<Workspace<'a>> = "workspaceIdentifier",
        repositories: List<Object<Repository<'a>>> = "trackedGitRepos",
        started_by: Object<StartedBy<'a>> = "subagentInfo",
        is_subagent: Flag = "isSubagent",
        context_window: TokenNumber = "contextTokenLimit",
        subagents: List<Text<'a>> = "subagentComposerIds",
        subordinates: List<Text<'a>> = "subComposerIds",
    }

    /// A bubble as its composer lists it.
    BubbleHeader<'a> {
        id: Text<'a> = "bubbleId",
        kind: Text<'a> = "type",
        created: Moment = "createdAt",
    }

    /// The folder that a composer was opened in.
    Workspace<'a> {
        id: Text<'a> = "id",
        uri: Object<Uri<'a>> = "uri",
        file: Object<Uri<'a>> = "configPath",
    }

    /// A place, in several spellings.
    Uri<'a> {
        fs_path: Text<'a> = "fsPath",
        external: Text<'a> = "external",
        path: Text<'a> = "path",
    }

    /// A git repository that a composer worked in.
    Repository<'a> { path: Text<'a> = "repoPath", branches: List<Object<Branch<'a>>> = "branches" }

    /// A branch, and the time of the last work on it.
    Branch<'a> { name: Text<'a> = "branchName", at: Moment = "lastInteractionAt" }

    /// Starter of a subagent: of a composer, or of a chat of the command-line program.
    StartedBy<'a> {
        parent: Text<'a> = "parentComposerId" | "parentAgentId",
        root: Text<'a> = "rootParentConversationId" | "rootParentAgentId",
        call: Text<'a> = "toolCallId",
        kind: Text<'a> = "subagentTypeName" | "typeName",
    }

    /// The `allComposers` of a list of composers.
    Composers<'a> {
        all: List<Raw<'a>> = "allComposers",
        selected: List<Text<'a>> = "selectedComposerIds",
        shown: Text<'a> = "selectedComposerId",
    }

    /// One bubble: of a composer, or of a tab of the chat before 0.43.
    Bubble<'a> {
        id: Text<'a> = "bubbleId",
        old_id: Text<'a> = "id",
        kind: Text<'a> = "type",
        role: Text<'a> = "role",
        server_id: Text<'a> = "serverBubbleId",
        usage_id: Text<'a> = "usageUuid",
        text: Text<'a> = "text" | "content",
        raw_text: Text<'a> = "rawText",
        rich_text: Raw<'a> = "richText",
        delegate: Raw<'a> = "delegate",
        created: Moment = "createdAt" | "timestamp",
        timing: Object<Timing<'a>> = "timingInfo",
        thinking: Raw<'a> = "thinking",
        thoughts: List<Raw<'a>> = "allThinkingBlocks",
        tool: Object<ToolData<'a>> = "toolFormerData",
        tokens: Object<TokenCount<'a>> = "tokenCount",
        usage: Object<TokenCount<'a>> = "usage",
        model: Object<ModelInfo<'a>> = "modelInfo",
        model_type: Text<'a> = "modelType",
        summary: Raw<'a> = "conversationSummary",
        is_nudge: Flag = "isNudge",
        is_hidden: Flag = "skipRendering",
        error: Raw<'a> = "errorDetails",
        images: List<IgnoredAny> = "images",
        selected_images: List<IgnoredAny> = "selectedImages",
        files: List<IgnoredAny> = "fileSelections",
        documents: List<IgnoredAny> = "selectedDocs",
        context: Object<Context<'a>> = "context",
    }

    /// Attachments of a composer's prompt.
    Context<'a> {
        images: List<IgnoredAny> = "selectedImages",
        files: List<IgnoredAny> = "fileSelections",
        documents: List<IgnoredAny> = "selectedDocs",
    }

    /// Times of a request and its response. Milliseconds since 1970. `clientStartTime` is from another clock, and never
    /// read.
    Timing<'a> {
        sent: Fraction = "clientRpcSendTime",
        settled: Fraction = "clientSettleTime",
        ended: Fraction = "clientEndTime",
    }

    /// Tokens of a bubble; both 0 if nothing was recorded.
    TokenCount<'a> {
        input: TokenNumber = "inputTokens" | "input_tokens",
        output: TokenNumber = "outputTokens" | "output_tokens",
    }

    /// The model's name.
    ModelInfo<'a> { name: Text<'a> = "modelName" }

    /// `toolFormerData`: a tool call with its result.
    ToolData<'a> {
        number: Number = "tool",
        id: Text<'a> = "toolCallId",
        name: Text<'a> = "name",
        status: Text<'a> = "status",
        raw_args: Raw<'a> = "rawArgs",
        params: Raw<'a> = "params",
        result: Raw<'a> = "result",
        error: Raw<'a> = "error",
        decision: Text<'a> = "userDecision",
        more: Object<ToolMore<'a>> = "additionalData",
    }

    /// `additionalData` of a tool call.
    ToolMore<'a> {
        status: Text<'a> = "status",
        decision: Text<'a> = "userDecision",
        child: Text<'a> = "subagentComposerId",
    }

    /// Fields of a result that show the outcome of a call.
    ToolResult<'a> {
        output: Raw<'a> = "output",
        exit_code: Number = "exitCodeV2",
        old_exit_code: Number = "exitCode",
        is_rejected: Flag = "rejected",
        error: Raw<'a> = "error",
        ended: Text<'a> = "endedReason",
        child: Text<'a> = "agentId",
    }

    /// The error of a call.
    ToolError<'a> {
        to_model: Text<'a> = "modelVisibleErrorMessage",
        to_person: Text<'a> = "clientVisibleErrorMessage",
    }

    /// Arguments that have columns of their own.
    Arguments<'a> {
        command: Text<'a> = "command",
        file: Text<'a> = "target_file" | "targetFile" | "file_path" | "filePath" | "relativeWorkspacePath" | "relative_workspace_path" | "path",
        tools: List<Object<McpTool<'a>>> = "tools",
        server: Text<'a> = "server",
    }

    /// The tool of an MCP server that a call names.
    McpTool<'a> { server: Text<'a> = "serverName" }

    /// A conversation summary, also one within another.
    Summary<'a> { summary: Raw<'a> = "summary" }

    /// A thought; also a `delegate`, which holds a text alone.
    Thought<'a> { text: Text<'a> = "text" | "thinking" | "a" }

    /// Cost of a model in a composer.
    Cost<'a> { cents: Fraction = "costInCents" }

    /// The chat before 0.43.
    ChatData<'a> { tabs: List<Object<Tab<'a>>> = "tabs" | "chatSessions" }

    /// A tab of it, which is a conversation.
    Tab<'a> {
        id: Text<'a> = "tabId" | "id" | "sessionId",
        title: Text<'a> = "chatTitle" | "title",
        sent: Moment = "lastSendTime",
        bubbles: List<Raw<'a>> = "bubbles" | "messages",
    }

    /// A prompt of the list that an editor window keeps.
    TypedText<'a> { text: Text<'a> = "text" }

    /// A request of the list that an editor window keeps.
    Generation<'a> { at: Moment = "unixMs", text: Text<'a> = "textDescription" }

    /// `workspace.json`.
    WorkspaceFile<'a> {
        folder: Text<'a> = "folder",
        workspace: Text<'a> = "workspace" | "configuration",
    }

    /// `meta.json` next to a chat of the command-line program.
    ChatMeta<'a> {
        title: Text<'a> = "title",
        cwd: Text<'a> = "cwd",
        created: Moment = "createdAtMs",
        updated: Moment = "updatedAtMs",
        is_subagent: Flag = "isSubagent",
    }

    /// Row `0` of `meta` in a chat of the command-line program.
    StoreMeta<'a> {
        id: Text<'a> = "agentId",
        root: Text<'a> = "latestRootBlobId",
        name: Text<'a> = "name",
        created: Moment = "createdAt",
        model: Text<'a> = "lastUsedModel",
        started_by: Object<StartedBy<'a>> = "subagentInfo",
    }

    /// A message of the command-line program.
    ChatMessage<'a> {
        role: Text<'a> = "role",
        content: Raw<'a> = "content",
        calls: List<Object<OpenAiCall<'a>>> = "tool_calls",
        call: Text<'a> = "tool_call_id",
    }

    /// A call in OpenAI's shape.
    OpenAiCall<'a> { id: Text<'a> = "id", function: Object<OpenAiFunction<'a>> = "function" }

    /// Function of a call.
    OpenAiFunction<'a> { name: Text<'a> = "name", arguments: Raw<'a> = "arguments" }

    /// A block of a content, in a chat or a transcript.
    Block<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        call: Text<'a> = "toolCallId",
        tool: Text<'a> = "toolName" | "name",
        args: Raw<'a> = "args" | "input",
        result: Raw<'a> = "result" | "output",
        is_error: Flag = "isError",
    }

    /// A line of a transcript.
    TranscriptLine<'a> {
        kind: Text<'a> = "type",
        role: Text<'a> = "role",
        message: Object<TranscriptMessage<'a>> = "message",
        status: Text<'a> = "status",
        error: Raw<'a> = "error",
    }
    ignores []

    /// The message of a line.
    TranscriptMessage<'a> { content: Raw<'a> = "content" }
    ignores []
}

/// Unparsed entries of an object, in order.
#[derive(Debug, Default)]
pub(super) struct Entries<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Entries<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> serde::de::Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Text(key), value)) = map.next_entry::<Text<'de>, &'de RawValue>()? {
                    entries.push((key.unwrap_or_default(), value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}
