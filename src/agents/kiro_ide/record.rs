//! Shapes of what the IDE writes.

use crate::source::records::{List, Moment, Number, Object, Raw, Text, record};

record! {
    /// A message of a chat.
    Message<'a> {
        role: Text<'a> = "role",
        content: Raw<'a> = "content",
        id: Text<'a> = "id",
    }

    /// What is noted of a chat.
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

    /// What a model was asked and answered.
    PromptLog<'a> { completion: Text<'a> = "completion" }

    /// A part of a content.
    Part<'a> { kind: Text<'a> = "type", text: Text<'a> = "text" }

    /// What a log was begun with.
    Input<'a> { data: Object<InputData<'a>> = "data" }

    /// The prompts so far, the new one last.
    InputData<'a> {
        messages: List<Object<Message<'a>>> = "messages",
        prompt: Raw<'a> = "userPrompt",
    }

    /// Where the work was done.
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

    /// Which tool of which server was asked.
    Tool<'a> { server: Text<'a> = "serverName" | "mcpServer", name: Text<'a> = "toolName" }

    /// What came of it.
    Output<'a> {
        text: Text<'a> = "message" | "response" | "output",
        exit_code: Number = "exitCode",
    }
}
