//! The shapes of Antigravity's lines.

use crate::source::records::{List, Moment, Number, Object, Raw, Text, record};

record! {
    /// A step of a conversation.
    Step<'a> {
        number: Number = "step_index",
        kind: Text<'a> = "type",
        source: Text<'a> = "source",
        created: Moment = "created_at",
        content: Text<'a> = "content",
        thinking: Text<'a> = "thinking",
        calls: List<Object<ToolUse<'a>>> = "tool_calls",
    }
    ignores ["status", "truncated_fields"]

    /// A tool call of the model. The arguments are JSON within texts.
    ToolUse<'a> {
        name: Text<'a> = "name",
        arguments: Raw<'a> = "args",
    }

    /// Decoded arguments that have columns.
    Arguments<'a> {
        command: Text<'a> = "CommandLine",
        cwd: Text<'a> = "Cwd",
        file: Text<'a> = "AbsolutePath" | "TargetFile" | "FilePath",
    }

    /// A typed prompt.
    Prompt<'a> {
        conversation: Text<'a> = "conversationId",
        workspace: Text<'a> = "workspace",
    }
}
