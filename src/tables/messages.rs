use super::columns::{Bool, I64, Opt, Str, Ts, table};

table! {
    /// One row for each message of a session; the lines of one API response are one message.
    MESSAGES = "messages", row MessageRow, builder Messages, columns MessageColumns {
        /// Session that first held the message.
        session_id: Str,
        /// Position in the session, counted over messages and tool calls together.
        seq: I64,
        /// The agent's own id of the message.
        message_id: Str,
        /// Message that it answers or continues.
        parent_id: Opt<Str>,
        /// Turn of the session, from 1; null before the first prompt.
        turn: Opt<I64>,
        /// When it was written.
        timestamp: Opt<Ts>,
        /// Who speaks: user, assistant, system or tool.
        role: Str,
        /// What it is: prompt, reply, tool_result, compaction, summary, command, meta, notice, api_error, permission or abort.
        kind: Str,
        /// Text; null for tool results, whose text is in `tool_calls.output`.
        text: Opt<Str>,
        /// Sketch of a prompt's words, 32 places of two hex digits; the share of equal places of two sketches estimates how
        /// alike the texts are. Null for all but prompts.
        text_sketch: Opt<Str>,
        /// The model's visible thinking.
        thinking: Opt<Str>,
        /// Model that wrote it, as stored.
        model: Opt<Str>,
        /// API response that it belongs to; joins to `usage`.
        response_id: Opt<Str>,
        /// Why the model stopped.
        stop_reason: Opt<Str>,
        /// Whether it belongs to a side conversation within the session.
        is_sidechain: Bool,
        /// Whether it lies on a branch that the conversation left.
        is_abandoned: Bool,
        /// Whether it reports an error.
        is_error: Bool,
        /// Working directory at that moment.
        cwd: Opt<Str>,
        /// Git branch at that moment.
        git_branch: Opt<Str>,
        /// Images, documents and files attached. Count.
        attachments: I64,
        /// Line of the source that it begins on, from 1.
        source_line: Opt<I64>,
        /// When a run first found that the agent had dropped the record; null while it is there.
        gone_at: Opt<Ts>,
    }
}
