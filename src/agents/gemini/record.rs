//! The shapes of Gemini CLI's records, 0.0.77 to 0.61.

use serde::de::{Deserialize, Deserializer};

use crate::source::records::{List, Moment, Object, Raw, Text, TokenNumber, record};

record! {
    /// A line of a chat: facts of the session, a message, or a change of either. The document that a chat was until
    /// 0.38 has the facts and a list of messages.
    Record<'a> {
        rewind_to: Text<'a> = "$rewindTo",
        set: Object<Box<Record<'a>>> = "$set",
        session: Text<'a> = "sessionId",
        project_hash: Text<'a> = "projectHash",
        begun: Moment = "startTime",
        updated: Moment = "lastUpdated",
        summary: Text<'a> = "summary",
        chat_kind: Text<'a> = "kind",
        messages: History<'a> = "messages",
        id: Text<'a> = "id",
        timestamp: Moment = "timestamp",
        kind: Text<'a> = "type",
        content: Raw<'a> = "content",
        display: Raw<'a> = "displayContent",
        model: Text<'a> = "model",
        thoughts: Raw<'a> = "thoughts",
        tokens: Object<Tokens<'a>> = "tokens",
        calls: List<Object<Call<'a>>> = "toolCalls",
    }
    ignores ["directories", "memoryScratchpad"]
}

/// A list of messages; an empty one is a history in which nothing stays.
#[derive(Debug, Clone, Default)]
pub(super) struct History<'a>(Option<List<Raw<'a>>>);

impl<'de: 'a, 'a> Deserialize<'de> for History<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self)
    }
}

impl<'a> History<'a> {
    /// Its messages; none where there is no list.
    pub(super) fn messages(&self) -> Option<&[Raw<'a>]> {
        self.0.as_ref().map(|list| list.0.as_slice())
    }
}

record! {
    /// The tokens that a request was billed for.
    Tokens<'a> {
        input: TokenNumber = "input",
        output: TokenNumber = "output",
        cached: TokenNumber = "cached",
        thoughts: TokenNumber = "thoughts",
        tool: TokenNumber = "tool",
        total: TokenNumber = "total",
    }

    /// A tool call, with its result once it has one.
    Call<'a> {
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        args: Raw<'a> = "args",
        result: Raw<'a> = "result",
        status: Text<'a> = "status",
        timestamp: Moment = "timestamp",
        agent: Text<'a> = "agentId",
        display_name: Text<'a> = "displayName",
        display: Raw<'a> = "resultDisplay",
        error_type: Text<'a> = "errorType",
    }
    ignores ["description", "renderOutputAsMarkdown"]

    /// The arguments that have columns of their own.
    Arguments<'a> {
        command: Raw<'a> = "command",
        file: Raw<'a> = "file_path",
        absolute: Raw<'a> = "absolute_path",
        path: Raw<'a> = "path",
        agent: Raw<'a> = "agent_name" | "agentName",
    }

    /// A piece of a content.
    Part<'a> {
        text: Raw<'a> = "text",
        thought: Raw<'a> = "thought",
        inline: Raw<'a> = "inlineData",
        file: Raw<'a> = "fileData",
        call: Raw<'a> = "functionCall",
        response: Object<FunctionResponse<'a>> = "functionResponse",
    }

    /// The result of a tool.
    FunctionResponse<'a> { id: Text<'a> = "id", response: Raw<'a> = "response" }

    /// Text of a result, or of what went wrong.
    Response<'a> { output: Raw<'a> = "output", error: Raw<'a> = "error" }

    /// A visible thought.
    Thought<'a> { subject: Raw<'a> = "subject", description: Raw<'a> = "description" }

    /// A typed prompt of `logs.json`.
    Prompt<'a> {
        session: Text<'a> = "sessionId",
        kind: Text<'a> = "type",
        timestamp: Moment = "timestamp",
        message: Text<'a> = "message",
    }
    ignores ["messageId"]

    /// The registry of projects.
    Projects<'a> { slugs: Raw<'a> = "projects" }
}
