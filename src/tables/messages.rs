use super::columns::{Bool, I64, Opt, Str, Ts, lake_table};
use super::vocabulary::{ErrorType, MessageKind, Role};

lake_table! {
    /// One row for each message of a session; the lines of one API response are one message.
    MESSAGES = "messages", row MessageRow, builder Messages, columns MessageColumns {
        /// Session that first held the message.
        session_id: Str [Id, Words],
        /// Position in the session, counted over messages and tool calls together.
        seq: I64 [Fact, Deltas],
        /// The agent's own id of the message.
        message_id: Str [Id, Text],
        /// Message that this one answers or continues.
        parent_id: Opt<Str> [Id, Text],
        /// Turn of the session, from 1; null before the first prompt.
        turn: Opt<I64> [Fact, Plain],
        /// When it was written.
        timestamp: Opt<Ts> [Fact, Deltas],
        /// Author.
        role: Role [Name, Words],
        /// Kind of message.
        kind: MessageKind [Name, Words],
        /// Text; null for tool results, whose text is in `tool_calls.output`.
        text: Opt<Str> [Text, Text],
        /// Sketch of a prompt's words: 32 places of two hex digits. The share of equal places of two sketches estimates how
        /// similar the texts are. Null for other messages.
        text_sketch: Opt<Str> [Sketch, Text],
        /// The model's visible thinking.
        thinking: Opt<Str> [Text, Text],
        /// Model that wrote it, as stored.
        model: Opt<Str> [Name, Words],
        /// API response that the message belongs to; joins to `usage`.
        response_id: Opt<Str> [Id, Text],
        /// Why the model stopped.
        stop_reason: Opt<Str> [Name, Words],
        /// True if it belongs to a side conversation within the session.
        is_sidechain: Bool [Fact, Plain],
        /// True if it is on a branch that the conversation left.
        is_abandoned: Bool [Fact, Plain],
        /// True if it reports an error.
        is_error: Bool [Fact, Plain],
        /// Why the request failed, by what the agent and the provider say. Null unless the kind is `api_error`.
        error_type: Opt<ErrorType> [Name, Words],
        /// What the agent may do without asking, as stored with a prompt: default, acceptEdits, plan, bypassPermissions, …;
        /// for Codex, approval policy and sandbox: `never/danger-full-access`. Null for other messages.
        permission_mode: Opt<Str> [Name, Words],
        /// Duration of the turn that the message ends, of the compaction, or of the slowest hook, where recorded. Milliseconds.
        duration_ms: Opt<I64> [Fact, Plain],
        /// Working directory at that moment.
        cwd: Opt<Str> [Place, Words],
        /// Git branch at that moment.
        git_branch: Opt<Str> [Place, Words],
        /// Images, documents and files attached, without those in results of tools. Count.
        attachments: I64 [Fact, Plain],
        /// First line of the message in the source, from 1.
        source_line: Opt<I64> [Fact, Deltas],
        /// When a run first found that the agent had dropped the record; null while the agent still has it.
        gone_at: Opt<Ts> [Fact, Plain],
    }
}
