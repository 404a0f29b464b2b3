//! The shapes of Crush's records.

use crate::source::records::{Flag, List, Number, Object, Text, record};

record! {
    /// `projects.json`.
    Registry<'a> { projects: List<Object<Project<'a>>> = "projects" }

    /// A project and the folder of its database.
    Project<'a> {
        path: Text<'a> = "path",
        data_dir: Text<'a> = "data_dir",
    }

    /// A part of a message.
    Part<'a> {
        kind: Text<'a> = "type",
        data: Object<Data<'a>> = "data",
    }

    /// Fields of a part of any kind.
    Data<'a> {
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        input: Text<'a> = "input",
        call: Text<'a> = "tool_call_id",
        content: Text<'a> = "content",
        metadata: Text<'a> = "metadata",
        is_error: Flag = "is_error",
        reason: Text<'a> = "reason",
        message: Text<'a> = "message",
        details: Text<'a> = "details",
        command: Text<'a> = "command",
        output: Text<'a> = "output",
        exit_code: Number = "exit_code",
    }

    /// Metadata of a tool's result.
    Metadata<'a> {
        exit_code: Number = "exit_code",
    }

    /// Arguments that have columns.
    Arguments<'a> {
        command: Text<'a> = "command",
        file: Text<'a> = "file_path",
        path: Text<'a> = "path",
    }
}
