//! Shapes of what the IDE writes.

use crate::source::records::{List, Moment, Number, Object, Raw, Text, record};

record! {
    /// A message of a chat.
    Message<'a> {
        role: Text<'a> = "role",
        content: Raw<'a> = "content",
        id: Text<'a> = "id",
    }

    /// The metadata of a chat.
    Metadata<'a> {
        model: Text<'a> = "modelId",
        workflow: Text<'a> = "workflowId",
        start: Moment = "startTime",
        end: Moment = "endTime",
    }

    /// An entry of a session.
    Entry<'a> {
        message: Object<Message<'a>> = "message",
        prompts: List<Object<PromptLog<'a>>> = "promptLogs",
        execution: Text<'a> = "executionId",
    }

    /// A request to a model, and its answer.
    PromptLog<'a> { completion: Text<'a> = "completion" }

    /// A part of a content.
    Part<'a> { kind: Text<'a> = "type", text: Text<'a> = "text" }

    /// The input of a log.
    Input<'a> { data: Object<InputData<'a>> = "data" }

    /// The prompts so far, the new one last.
    InputData<'a> {
        messages: List<Object<Message<'a>>> = "messages",
        prompt: Raw<'a> = "userPrompt",
    }

    /// The folder of the work.
    Context<'a> { cwd: Text<'a> = "cwd" }

    /// One thing that was done.
    Action<'a> {
        id: Text<'a> = "actionId",
        kind: Text<'a> = "actionType",
        state: Text<'a> = "actionState",
        input: Raw<'a> = "input",
        output: Raw<'a> = "output",
        emitted: Moment = "emittedAt",
        ended: Moment = "endTime",
    }

    /// A tool and its server.
    Tool<'a> { server: Text<'a> = "serverName" | "mcpServer", name: Text<'a> = "toolName" }

    /// The result of a call.
    Output<'a> {
        text: Text<'a> = "message" | "response" | "output",
        exit_code: Number = "exitCode",
    }
}
