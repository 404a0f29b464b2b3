//! Shapes of OpenCode's records, in all its stores.

use serde::Deserialize;

use crate::extract::{LineCounts, RecordedDiff, error_type};
use crate::source::records::Shape;
use crate::source::records::{Flag, List, Moment, Number, Object, Raw, Text, TokenNumber, Usd, record};
use crate::source::repair;
use crate::tables::ErrorType;

record! {
    /// A session's file.
    SessionFile<'a> {
        version: Text<'a> = "version",
        directory: Text<'a> = "directory",
        parent: Text<'a> = "parentID",
        project: Text<'a> = "projectID",
        title: Text<'a> = "title",
        agent: Text<'a> = "agent",
        time: Object<Times<'a>> = "time",
        revert: Object<Revert<'a>> = "revert",
    }

    /// From where on a session's messages were undone.
    Revert<'a> { message: Text<'a> = "messageID", part: Text<'a> = "partID" }

    /// A project's file.
    ProjectFile<'a> { worktree: Text<'a> = "worktree", vcs: Text<'a> = "vcs" }

    /// Moments of a session, message, part or call.
    Times<'a> {
        created: Moment = "created",
        completed: Moment = "completed",
        start: Moment = "start",
        end: Moment = "end",
        ran: Moment = "ran",
    }

    /// A message, without its parts since 2025-06.
    Message<'a> {
        role: Text<'a> = "role",
        time: Object<Times<'a>> = "time",
        error: Object<Failure<'a>> = "error",
        parent: Text<'a> = "parentID",
        model_id: Text<'a> = "modelID",
        provider_id: Text<'a> = "providerID",
        model: Object<Model<'a>> = "model",
        agent: Text<'a> = "agent",
        mode: Text<'a> = "mode",
        variant: Text<'a> = "variant",
        path: Object<Place<'a>> = "path",
        summary: Raw<'a> = "summary",
        cost: Usd = "cost",
        tokens: Object<Tokens<'a>> = "tokens",
        finish: Text<'a> = "finish",
        metadata: Object<Metadata<'a>> = "metadata",
        parts: Raw<'a> = "parts",
    }
    ignores ["id", "sessionID", "system", "tools", "format", "structured", "title", "fallbackModels"]

    /// The metadata of messages of the first versions.
    Metadata<'a> {
        time: Object<Times<'a>> = "time",
        error: Object<Failure<'a>> = "error",
        tools: Raw<'a> = "tool",
        assistant: Object<Assistant<'a>> = "assistant",
    }

    /// The model and the cost of an answer, in the first versions.
    Assistant<'a> {
        model: Text<'a> = "modelID",
        provider: Text<'a> = "providerID",
        path: Object<Place<'a>> = "path",
        summary: Raw<'a> = "summary",
        cost: Usd = "cost",
        tokens: Object<Tokens<'a>> = "tokens",
    }

    /// A model as the person's messages name it.
    Model<'a> {
        id: Text<'a> = "modelID" | "id",
        provider: Text<'a> = "providerID",
        variant: Text<'a> = "variant",
    }

    /// The folder where a message was written.
    Place<'a> { cwd: Text<'a> = "cwd" }

    /// Why a message or attempt failed.
    Failure<'a> {
        name: Text<'a> = "name" | "type",
        data: Object<FailureData<'a>> = "data",
        message: Text<'a> = "message",
    }
}

impl Failure<'_> {
    /// Returns its text.
    pub(super) fn text(&self) -> Option<&str> {
        let data = self.data.0.as_ref().and_then(|data| data.message.get());
        data.or_else(|| self.message.get()).or_else(|| self.name.get())
    }

    /// Returns why the request failed.
    pub(super) fn kind(&self) -> ErrorType {
        let status = self.data.0.as_ref().and_then(|data| data.status.0);
        error_type(self.name.get(), status, self.text())
    }
}

record! {
    /// The details of a failure.
    FailureData<'a> { message: Text<'a> = "message", status: Number = "statusCode" }

    /// The tokens that an API call was billed for, as the program counts them.
    Tokens<'a> {
        total: TokenNumber = "total",
        input: TokenNumber = "input",
        output: TokenNumber = "output",
        reasoning: TokenNumber = "reasoning",
        cache: Object<Cache<'a>> = "cache",
    }
}

impl Tokens<'_> {
    /// All numbers as they are.
    pub(super) fn numbers(&self) -> [Option<i64>; 6] {
        let cache = self.cache.0.as_ref();
        let (read, write) = (cache.and_then(|cache| cache.read.0), cache.and_then(|cache| cache.write.0));
        [self.total.0, self.input.0, self.output.0, self.reasoning.0, read, write]
    }
}

record! {
    /// Cached input.
    Cache<'a> { read: TokenNumber = "read", write: TokenNumber = "write" }

    /// A part of a message.
    Part<'a> {
        id: Text<'a> = "id",
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        synthetic: Flag = "synthetic",
        ignored: Flag = "ignored",
        time: Object<Times<'a>> = "time",
        call: Text<'a> = "callID",
        tool: Text<'a> = "tool",
        name: Text<'a> = "name",
        state: Object<State<'a>> = "state",
        reason: Text<'a> = "reason",
        cost: Usd = "cost",
        tokens: Object<Tokens<'a>> = "tokens",
        overflow: Flag = "overflow",
        prompt: Text<'a> = "prompt",
        command: Text<'a> = "command",
        error: Object<Failure<'a>> = "error",
        invocation: Object<Invocation<'a>> = "toolInvocation",
    }
    ignores [
        "sessionID", "messageID", "snapshot", "hash", "files", "metadata", "source", "url", "mime", "filename", "auto",
        "tail_start_id", "attempt", "model", "agent", "description", "mediaType", "providerMetadata", "sourceId", "title",
        "provider", "path",
    ]

    /// The state of a tool call.
    State<'a> {
        status: Text<'a> = "status",
        input: Raw<'a> = "input",
        output: Text<'a> = "output",
        error: Raw<'a> = "error",
        metadata: Object<ToolMetadata<'a>> = "metadata" | "structured",
        time: Object<Times<'a>> = "time",
        content: List<Object<Content<'a>>> = "content",
        result: Raw<'a> = "result",
    }

    /// The facts that a tool reports apart from its output.
    ToolMetadata<'a> {
        exit: Number = "exit" | "exitCode",
        child: Text<'a> = "sessionId" | "sessionID",
        interrupted: Flag = "interrupted",
        file: Object<LineCounts<'a>> = "filediff",
        files: List<Object<LineCounts<'a>>> = "files",
        diff: RecordedDiff = "diff",
    }

    /// A piece of a result.
    Content<'a> { text: Text<'a> = "text" }

    /// A tool call as the first versions wrote it.
    Invocation<'a> {
        state: Text<'a> = "state",
        call: Text<'a> = "toolCallId",
        name: Text<'a> = "toolName",
        input: Raw<'a> = "args",
        result: Text<'a> = "result",
    }

    /// The arguments of a tool.
    Arguments<'a> {
        command: Text<'a> = "command",
        file: Text<'a> = "filePath" | "file_path",
        path: Text<'a> = "path",
        patch: Text<'a> = "patchText",
    }

    /// A row of the message table of 2.x.
    Event<'a> {
        time: Object<Times<'a>> = "time",
        text: Text<'a> = "text",
        files: List<Raw<'a>> = "files",
        agent: Text<'a> = "agent",
        model: Object<Model<'a>> = "model",
        content: Raw<'a> = "content",
        finish: Text<'a> = "finish",
        cost: Usd = "cost",
        tokens: Object<Tokens<'a>> = "tokens",
        error: Object<Failure<'a>> = "error",
        call: Text<'a> = "callID",
        command: Text<'a> = "command",
        output: Text<'a> = "output",
        summary: Text<'a> = "summary",
    }
    ignores [
        "id", "type", "sessionID", "agents", "references", "metadata", "snapshot", "reason", "recent", "location", "previous",
        "exit", "status",
    ]
}

/// Emits what stands in some bytes as a record, repaired where that is needed; what is wrong where it cannot be.
pub(super) fn read<S: Shape, R>(bytes: &[u8], take: impl FnOnce(Result<S::Of<'_>, String>) -> R) -> R {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes)
        && let Ok(record) = serde_json::from_str(text)
    {
        return take(Ok(record));
    }
    let repaired = repair(bytes);
    if repaired.trim().is_empty() {
        return take(Err("an empty record".to_owned()));
    }
    take(of_text::<S::Of<'_>>(&repaired))
}

fn of_text<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("no JSON object: {error}"))
}

/// A moment from a count of milliseconds, or, in some builds, seconds. Microseconds since 1970.
pub(super) fn moment(count: i64) -> Option<i64> {
    crate::time::from_epoch(count as f64)
}
