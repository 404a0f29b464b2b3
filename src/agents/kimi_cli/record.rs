//! The shapes of kimi-cli's records.

use crate::agents::kit::texts::Blocks;
use crate::source::records::{Flag, List, Moment, Number, Object, Raw, Text, TokenNumber, record};

record! {
    /// One line of a log.
    Line<'a> {
        time: Moment = "timestamp",
        message: Object<Message<'a>> = "message",
    }

    /// A message. The log of a session repeats those of its subagents in others.
    Message<'a> {
        kind: Text<'a> = "type",
        payload: Object<Payload<'a>> = "payload",
    }

    /// The fields of all types of messages.
    Payload<'a> {
        input: Blocks<Part<'a>> = "user_input",
        part: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "think",
        id: Text<'a> = "id",
        function: Object<Function<'a>> = "function",
        arguments_part: Text<'a> = "arguments_part",
        call: Text<'a> = "tool_call_id",
        result: Object<ToolResult<'a>> = "return_value",
        usage: Object<Usage<'a>> = "token_usage",
        message: Text<'a> = "message_id",
        context_window: TokenNumber = "max_context_tokens",
        error: Text<'a> = "error_type",
        status: Number = "status_code",
        body: Text<'a> = "body",
        parent_call: Text<'a> = "parent_tool_call_id" | "task_tool_call_id",
        agent: Text<'a> = "agent_id",
        agent_kind: Text<'a> = "subagent_type",
        event: Raw<'a> = "event",
    }

    /// One part of a prompt or an output.
    Part<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
    }

    /// The tool of a call, and its arguments as JSON in a text.
    Function<'a> {
        name: Text<'a> = "name",
        arguments: Text<'a> = "arguments",
    }

    /// The output that the model gets.
    ToolResult<'a> {
        is_error: Flag = "is_error",
        output: Blocks<Part<'a>> = "output",
        message: Text<'a> = "message",
    }

    /// The arguments of calls that the tables know.
    Arguments<'a> {
        command: Text<'a> = "command",
        path: Text<'a> = "path",
    }

    /// One replacement of an edit.
    Edit<'a> {
        old: Text<'a> = "old",
        new: Text<'a> = "new",
        is_repeated: Flag = "replace_all",
    }

    /// Tokens of one response.
    Usage<'a> {
        input: TokenNumber = "input_other",
        cache_read: TokenNumber = "input_cache_read",
        cache_write: TokenNumber = "input_cache_creation",
        output: TokenNumber = "output",
    }

    /// `kimi.json`.
    Folders<'a> { folders: List<Object<Folder<'a>>> = "work_dirs" }

    /// A folder that the program worked in.
    Folder<'a> { path: Text<'a> = "path" }

    /// `state.json`.
    State<'a> { title: Text<'a> = "custom_title" }

    /// `meta.json` of a subagent.
    Meta<'a> {
        kind: Text<'a> = "subagent_type",
        description: Text<'a> = "description",
        launch: Object<Launch<'a>> = "launch_spec",
    }

    /// The start of a subagent.
    Launch<'a> { model: Text<'a> = "effective_model" }
}
