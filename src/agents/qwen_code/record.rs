//! The shapes of Qwen Code's records.

use crate::source::records::{Flag, List, Moment, Number, Object, Raw, Text, TokenNumber, record};

record! {
    /// One line of a session.
    Line<'a> {
        uuid: Text<'a> = "uuid",
        parent: Raw<'a> = "parentUuid",
        timestamp: Moment = "timestamp",
        kind: Text<'a> = "type",
        subtype: Text<'a> = "subtype",
        cwd: Text<'a> = "cwd",
        version: Text<'a> = "version",
        git_branch: Text<'a> = "gitBranch",
        message: Object<Message<'a>> = "message",
        usage: Object<Usage<'a>> = "usageMetadata",
        model: Text<'a> = "model",
        context_window: TokenNumber = "contextWindowSize",
        result: Object<ToolResult<'a>> = "toolCallResult",
        payload: Raw<'a> = "systemPayload",
        agent_name: Text<'a> = "agentName",
        forked_from: Object<Origin<'a>> = "forkedFrom",
    }
    ignores [
        "sessionId", "agentId", "agentColor", "isSidechain", "externalInputKind", "provenance",
    ]

    /// The line that a fork copied.
    Origin<'a> { session: Text<'a> = "sessionId" }

    /// A message to the model or from it.
    Message<'a> { parts: List<Object<Part<'a>>> = "parts" }

    /// One part of a message.
    Part<'a> {
        text: Text<'a> = "text",
        thought: Flag = "thought",
        call: Object<Call<'a>> = "functionCall",
        response: Object<Response<'a>> = "functionResponse",
        inline: Raw<'a> = "inlineData",
        file: Raw<'a> = "fileData",
    }

    /// A tool call of the model.
    Call<'a> {
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        arguments: Raw<'a> = "args",
    }

    /// The output that the model gets.
    Response<'a> {
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        response: Raw<'a> = "response",
    }

    /// The program's facts about a tool call.
    ToolResult<'a> {
        status: Text<'a> = "status",
        duration_ms: Number = "durationMs",
        shown: Raw<'a> = "resultDisplay",
    }

    /// The arguments of calls that the tables know.
    Arguments<'a> {
        command: Text<'a> = "command",
        file: Text<'a> = "file_path" | "absolute_path" | "notebook_path",
        path: Text<'a> = "path",
    }

    /// Tokens of one response.
    Usage<'a> {
        prompt: TokenNumber = "promptTokenCount",
        candidates: TokenNumber = "candidatesTokenCount",
        cached: TokenNumber = "cachedContentTokenCount",
        thoughts: TokenNumber = "thoughtsTokenCount",
        tool_use: TokenNumber = "toolUsePromptTokenCount",
        total: TokenNumber = "totalTokenCount",
    }

    /// The content of a line apart from its message.
    Payload<'a> {
        display: Text<'a> = "displayText",
        command: Text<'a> = "rawCommand",
        phase: Text<'a> = "phase",
        title: Text<'a> = "customTitle",
        parent_session: Text<'a> = "parentSessionId",
        history: List<Object<Message<'a>>> = "compressedHistory",
        event: Object<Event<'a>> = "uiEvent",
    }

    /// A measurement of the program.
    Event<'a> {
        name: Text<'a> = "event.name",
        input: TokenNumber = "input_token_count",
        output: TokenNumber = "output_token_count",
        duration_ms: Number = "duration_ms",
        error: Text<'a> = "error_message" | "error",
        error_name: Text<'a> = "error_type",
        status: Number = "status_code",
        call: Text<'a> = "call_id",
        decision: Text<'a> = "decision",
    }

    /// `agent-<id>.meta.json`.
    Meta<'a> {
        agent_type: Text<'a> = "agentType",
        description: Text<'a> = "description",
        parent_agent: Text<'a> = "parentAgentId",
    }
}
