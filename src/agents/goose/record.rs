//! The shapes of Goose's records.

use crate::source::records::{Flag, List, Moment, Object, Raw, Text, TokenNumber, record};

record! {
    /// One block of a message.
    Block<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        id: Text<'a> = "id",
        call: Object<Requested<'a>> = "toolCall",
        result: Object<Answer<'a>> = "toolResult",
        notice: Text<'a> = "msg",
    }

    /// A call, or why it could not be read.
    Requested<'a> {
        status: Text<'a> = "status",
        value: Object<ToolUse<'a>> = "value",
        error: Text<'a> = "error",
    }

    /// A tool and its arguments.
    ToolUse<'a> {
        name: Text<'a> = "name",
        arguments: Raw<'a> = "arguments",
    }

    /// The result of a call.
    Answer<'a> {
        status: Text<'a> = "status",
        value: Raw<'a> = "value",
        error: Text<'a> = "error",
    }

    /// The result of a tool.
    Output<'a> {
        content: List<Object<Piece<'a>>> = "content",
        is_error: Flag = "isError",
    }

    /// A piece of it.
    Piece<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        resource: Object<Resource<'a>> = "resource",
    }

    /// A file that a tool gave.
    Resource<'a> { text: Text<'a> = "text" }

    /// The arguments that the tables know.
    Arguments<'a> {
        command: Text<'a> = "command",
        path: Text<'a> = "path" | "file_path",
    }

    /// The audience of a message.
    Visibility<'a> {
        user: Raw<'a> = "userVisible",
        agent: Raw<'a> = "agentVisible",
    }

    /// The model of a session.
    Config<'a> { model: Text<'a> = "model_name" }

    /// A line of the files: the header, or a message.
    Line<'a> {
        folder: Text<'a> = "working_dir",
        description: Text<'a> = "description",
        input: TokenNumber = "input_tokens",
        output: TokenNumber = "output_tokens",
        all_input: TokenNumber = "accumulated_input_tokens",
        all_output: TokenNumber = "accumulated_output_tokens",
        id: Text<'a> = "id",
        role: Text<'a> = "role",
        created: Moment = "created",
        content: List<Object<Block<'a>>> = "content",
    }
}

impl Visibility<'_> {
    /// True unless the person does not see the message.
    pub(super) fn is_for_user(&self) -> bool {
        self.user.json() != Some("false")
    }

    /// True unless a compaction has put the message aside.
    pub(super) fn is_for_agent(&self) -> bool {
        self.agent.json() != Some("false")
    }
}
