//! The shapes of Junie's records.

use crate::source::records::{List, Moment, Number, Object, Raw, Text, TokenNumber, Usd, record};

record! {
    /// One line of a log.
    Line<'a> {
        kind: Text<'a> = "kind",
        time: Moment = "timestampMs",
        request: Text<'a> = "requestId",
        prompt: Text<'a> = "prompt",
        shown: Text<'a> = "presentablePrompt",
        launch: List<Object<Launch<'a>>> = "customAttachments",
        attachments: List<Raw<'a>> = "extraAttachments",
        entries: List<Object<Answer<'a>>> = "entries",
        text: Text<'a> = "text",
        details: Text<'a> = "details",
        name: Text<'a> = "name",
        event: Object<Update<'a>> = "event",
    }

    /// The person's settings for the task.
    Launch<'a> { effort: Text<'a> = "effort" }

    /// The answer to a question of the agent.
    Answer<'a> { answer: Text<'a> = "answer" }

    /// A message of an agent to the screen.
    Update<'a> { event: Object<Event<'a>> = "agentEvent" }

    /// The fields of all kinds of events.
    Event<'a> {
        kind: Text<'a> = "kind",
        step: Text<'a> = "stepId",
        status: Text<'a> = "status",
        text: Text<'a> = "text",
        result: Text<'a> = "result",
        title: Text<'a> = "title",
        name: Text<'a> = "name",
        tool: Text<'a> = "toolName",
        tool_type: Text<'a> = "toolType",
        details: Text<'a> = "details",
        input: Raw<'a> = "input",
        command: Text<'a> = "command",
        output: Text<'a> = "output",
        shown: Text<'a> = "presentableOutput",
        exit_code: Number = "exitCode",
        changes: List<Object<Change<'a>>> = "changes",
        files: List<Raw<'a>> = "files",
        message: Text<'a> = "message",
        error: Text<'a> = "errorCode",
        folder: Text<'a> = "currentDirectory",
        usages: List<Object<Usage<'a>>> = "modelUsage",
    }

    /// One file before and after a change.
    Change<'a> {
        before_path: Text<'a> = "beforeRelativePath",
        after_path: Text<'a> = "afterRelativePath",
        before: Text<'a> = "beforeContent",
        after: Text<'a> = "afterContent",
    }

    /// A file that was looked at, if it is no text.
    File<'a> { path: Text<'a> = "relativePath" | "path" }

    /// One response.
    Usage<'a> {
        model: Text<'a> = "model",
        cost: Usd = "cost",
        input: TokenNumber = "inputTokens",
        cache_read: TokenNumber = "cacheInputTokens",
        cache_write: TokenNumber = "cacheCreateTokens",
        output: TokenNumber = "outputTokens",
        duration_ms: Number = "time",
    }

    /// One line of the index.
    Indexed<'a> {
        id: Text<'a> = "sessionId",
        folder: Text<'a> = "projectDir",
        name: Text<'a> = "taskName",
    }
}
