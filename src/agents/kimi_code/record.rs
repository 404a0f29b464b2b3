//! The shapes of Kimi Code's records.

use crate::agents::kit::texts::Blocks;
use crate::source::records::{Flag, Moment, Number, Object, Raw, Text, TokenNumber, record};

record! {
    /// One line of a log.
    Line<'a> {
        kind: Text<'a> = "type",
        time: Moment = "time",
        message: Object<Message<'a>> = "message",
        event: Object<Event<'a>> = "event",
        model: Text<'a> = "model",
        alias: Text<'a> = "modelAlias",
        effort: Text<'a> = "thinkingEffort",
        usage: Object<Usage<'a>> = "usage",
        scope: Text<'a> = "usageScope",
        reason: Text<'a> = "reason",
        duration_ms: Number = "durationMs",
        error: Object<Failure<'a>> = "error",
        error_name: Text<'a> = "errorName",
        error_message: Text<'a> = "errorMessage",
        status: Number = "statusCode",
        subagent: Text<'a> = "subagentId",
        parent_call: Text<'a> = "parentToolCallId",
        description: Text<'a> = "description",
        summary: Text<'a> = "summary",
        context_summary: Text<'a> = "contextSummary",
        count: Number = "count",
    }

    /// A message of the model's context.
    Message<'a> {
        id: Text<'a> = "id",
        role: Text<'a> = "role",
        content: Blocks<Part<'a>> = "content",
        origin: Object<Origin<'a>> = "origin",
    }

    /// The author of a message.
    Origin<'a> {
        kind: Text<'a> = "kind",
        name: Text<'a> = "name",
        trigger: Text<'a> = "trigger",
        phase: Text<'a> = "phase",
        in_turn: Flag = "inTurn",
    }

    /// One part of a message.
    Part<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "think",
    }

    /// One event of a step, which is one request to the model with its tool calls.
    Event<'a> {
        kind: Text<'a> = "type",
        id: Text<'a> = "uuid",
        step: Text<'a> = "stepUuid",
        parent: Text<'a> = "parentUuid",
        part: Object<Part<'a>> = "part",
        call: Text<'a> = "toolCallId",
        name: Text<'a> = "name",
        arguments: Raw<'a> = "args",
        result: Object<ToolResult<'a>> = "result",
        finish: Text<'a> = "finishReason",
        message: Text<'a> = "messageId",
        first_token_ms: Number = "llmFirstTokenLatencyMs",
        stream_ms: Number = "llmStreamDurationMs",
    }

    /// The output that the model gets.
    ToolResult<'a> {
        output: Blocks<Part<'a>> = "output",
        is_error: Flag = "isError",
        duration_ms: Number = "durationMs",
    }

    /// The arguments of calls that the tables know.
    Arguments<'a> {
        command: Text<'a> = "command",
        path: Text<'a> = "path",
    }

    /// Tokens of one response.
    Usage<'a> {
        input: TokenNumber = "inputOther",
        cache_read: TokenNumber = "inputCacheRead",
        cache_write: TokenNumber = "inputCacheCreation",
        output: TokenNumber = "output",
    }

    /// Why a turn failed.
    Failure<'a> {
        code: Text<'a> = "code",
        name: Text<'a> = "name",
        message: Text<'a> = "message",
        details: Object<Details<'a>> = "details",
    }

    /// The provider's details of a failed request.
    Details<'a> { status: Number = "statusCode" }

    /// `state.json`.
    State<'a> {
        cwd: Text<'a> = "cwd" | "workDir",
        created: Moment = "createdAt",
        title: Text<'a> = "title",
        forked_from: Text<'a> = "forkedFrom",
        agents: Raw<'a> = "agents",
    }

    /// One agent of a session.
    Member<'a> {
        parent: Text<'a> = "parentAgentId",
        labels: Object<Labels<'a>> = "labels",
    }

    /// The profile of a subagent.
    Labels<'a> { profile: Text<'a> = "profileName" }
}
