//! The shapes of Amp's threads.

use crate::agents::kit::texts::Blocks;
use crate::source::records::{Flag, List, Moment, Number, Object, Raw, Text, TokenNumber, record};

record! {
    /// Environment in which a thread began.
    Environment<'a> { initial: Object<Initial<'a>> = "initial" }

    /// The projects and the program.
    Initial<'a> {
        trees: List<Object<Tree<'a>>> = "trees",
        platform: Object<Platform<'a>> = "platform",
    }

    /// A project.
    Tree<'a> {
        uri: Text<'a> = "uri",
        repository: Object<Repository<'a>> = "repository",
    }

    /// Its repository.
    Repository<'a> {
        url: Text<'a> = "url",
        reference: Text<'a> = "ref",
        commit: Text<'a> = "sha",
    }

    /// The program.
    Platform<'a> { version: Text<'a> = "clientVersion" }

    /// Usage events of older threads.
    Ledger<'a> { events: List<Object<Event<'a>>> = "events" }

    /// A billed inference.
    Event<'a> {
        id: Text<'a> = "id",
        timestamp: Moment = "timestamp",
        model: Text<'a> = "model",
        tokens: Object<Tokens<'a>> = "tokens",
        message: Number = "toMessageId",
    }

    /// Its tokens.
    Tokens<'a> {
        input: TokenNumber = "input",
        output: TokenNumber = "output",
    }

    /// A message.
    Message<'a> {
        id: Number = "messageId",
        role: Text<'a> = "role",
        content: Blocks<Block<'a>> = "content",
        meta: Object<Meta<'a>> = "meta",
        state: Object<State<'a>> = "state",
        usage: Object<Usage<'a>> = "usage",
    }

    /// Time of a message.
    Meta<'a> { sent: Moment = "sentAt" }

    /// End of a reply.
    State<'a> {
        kind: Text<'a> = "type",
        stop_reason: Text<'a> = "stopReason",
        error: Object<Failure<'a>> = "error",
    }

    /// Reason for a failure.
    Failure<'a> { message: Text<'a> = "message" }

    /// Tokens of an inference.
    Usage<'a> {
        model: Text<'a> = "model",
        input: TokenNumber = "inputTokens",
        output: TokenNumber = "outputTokens",
        cache_write: TokenNumber = "cacheCreationInputTokens",
        cache_read: TokenNumber = "cacheReadInputTokens",
        context_window: TokenNumber = "maxInputTokens",
        timestamp: Moment = "timestamp",
    }

    /// A block of a message.
    Block<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        input: Raw<'a> = "input",
        call: Text<'a> = "toolUseID" | "tool_use_id",
        run: Object<Run<'a>> = "run",
        content: Raw<'a> = "content",
        is_error: Flag = "is_error",
    }

    /// Status and result of a call.
    Run<'a> {
        status: Text<'a> = "status",
        result: Raw<'a> = "result",
        error: Raw<'a> = "error",
    }

    /// The result of a call.
    Output<'a> {
        text: Text<'a> = "output" | "content" | "diff" | "message",
        exit_code: Number = "exitCode",
    }

    /// Arguments that have columns.
    Arguments<'a> {
        command: Text<'a> = "cmd" | "command",
        path: Text<'a> = "path" | "file_path",
    }
}
