//! Shapes of what the second and third engine write.

use crate::source::records::{Fraction, List, Moment, Object, Raw, Text, record};

record! {
    /// A line of the second engine: what happened.
    Event<'a> {
        kind: Text<'a> = "kind",
        data: Object<Message<'a>> = "data",
        timestamp: Moment = "timestamp",
    }
    ignores ["version"]

    /// A message.
    Message<'a> {
        id: Text<'a> = "message_id",
        content: List<Object<Block<'a>>> = "content",
        meta: Object<Meta<'a>> = "meta",
        summary: Text<'a> = "summary",
    }

    /// The metadata of a message.
    Meta<'a> { timestamp: Moment = "timestamp" }

    /// A part of a message or result.
    Block<'a> { kind: Text<'a> = "kind" | "type", data: Raw<'a> = "data" | "text" }

    /// A call of a tool.
    ToolUse<'a> {
        id: Text<'a> = "toolUseId",
        name: Text<'a> = "name",
        input: Raw<'a> = "input",
    }

    /// The result of a tool.
    ToolResult<'a> {
        id: Text<'a> = "toolUseId",
        content: List<Object<Block<'a>>> = "content",
        status: Text<'a> = "status",
    }

    /// A line of the third engine.
    Line<'a> {
        id: Text<'a> = "id",
        timestamp: Moment = "timestamp",
        payload: Object<Payload<'a>> = "payload",
    }

    /// The payload of a line of the third engine.
    Payload<'a> {
        kind: Text<'a> = "type",
        operation: Text<'a> = "operationType",
        content: Raw<'a> = "content",
        model: Text<'a> = "reasoningModelId" | "modelId",
        call: Text<'a> = "toolCallId",
        tool: Text<'a> = "toolName",
        arguments: Raw<'a> = "args",
        success: Raw<'a> = "success",
        reason: Text<'a> = "reason" | "stopReason",
        turn: Text<'a> = "turnId" | "promptTurnId",
        option: Raw<'a> = "selectedOption",
        subagent: Text<'a> = "subExecutionId" | "executionId",
        charged: List<Object<Charged<'a>>> = "promptTurnSummaries",
    }

    /// The credits charged for a turn.
    Charged<'a> { usage: Fraction = "usage", unit: Text<'a> = "unit" }

    /// The description of a session of the third engine.
    Description<'a> {
        id: Text<'a> = "id",
        title: Text<'a> = "title",
        model: Text<'a> = "modelId",
        effort: Text<'a> = "effortLevel",
        folders: List<Raw<'a>> = "workspaceFolders" | "workspacePaths",
        created: Moment = "createdAt",
    }

    /// A folder that is not named by its path alone.
    Folder<'a> { path: Text<'a> = "path" | "uri" | "fsPath" }
}
