use super::columns::{Bool, I64, Opt, Str, Ts, table};

table! {
    /// One row for each tool call, with its result.
    TOOL_CALLS = "tool_calls", row ToolCallRow, builder ToolCalls, columns ToolCallColumns {
        /// Session that first held the call.
        session_id: Str,
        /// Position in the session, counted over messages and tool calls together.
        seq: I64,
        /// The agent's own id of the call.
        call_id: Str,
        /// Message that made the call.
        message_id: Opt<Str>,
        /// API response that made the call; joins to `usage`.
        response_id: Opt<Str>,
        /// Turn of the session, from 1; null before the first prompt.
        turn: Opt<I64>,
        /// Tool, as the agent names it.
        name: Str,
        /// What kind of tool: shell, read, write, edit, search, web, browser, task, todo, mcp or other.
        category: Str,
        /// MCP server that provides the tool.
        mcp_server: Opt<Str>,
        /// Arguments as JSON text.
        input: Opt<Str>,
        /// Hash of tool and normalised arguments, as they are stored: equal keys, same request.
        input_key: Opt<Str>,
        /// Hash of tool and the letters of the arguments; equal shapes, nearly the same request.
        input_shape: Opt<Str>,
        /// Command line of a shell call.
        command: Opt<Str>,
        /// File that the call reads or changes.
        file_path: Opt<Str>,
        /// How it ended: ok, error, rejected, interrupted, or pending when no result is known.
        status: Str,
        /// Whether the agent itself refused the call: by a rule, a mode, a hook, or because nobody could be asked. Its status
        /// is error, or rejected where nobody could be asked for an approval. Null where the agent does not tell.
        is_denied: Opt<Bool>,
        /// Exit code of a shell call, where recorded.
        exit_code: Opt<I64>,
        /// Result text as the model saw it.
        output: Opt<Str>,
        /// Length of the result text as recorded. Bytes.
        output_bytes: Opt<I64>,
        /// Hash of the result text; equal keys, same result.
        output_key: Opt<Str>,
        /// Hash of an error's words without paths, numbers and ids; equal keys, same error. Null unless the call failed.
        error_key: Opt<Str>,
        /// When the call was made.
        started_at: Opt<Ts>,
        /// When the result was recorded.
        ended_at: Opt<Ts>,
        /// Duration that the agent recorded; null where it records none. Milliseconds.
        duration_ms: Opt<I64>,
        /// Session of the subagent that the call started.
        child_session_id: Opt<Str>,
        /// Whether it belongs to a side conversation within the session.
        is_sidechain: Bool,
        /// Line of the source that the call stands on, from 1.
        source_line: Opt<I64>,
        /// When a run first found that the agent had dropped the record; null while it is there.
        gone_at: Opt<Ts>,
    }
}
