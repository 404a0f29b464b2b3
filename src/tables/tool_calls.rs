use super::columns::{Bool, I64, ListOf, Opt, Str, Ts, lake_table};
use super::vocabulary::{Category, GitOperation, Status, TestOutcome};

lake_table! {
    /// One row for each tool call, with its result.
    TOOL_CALLS = "tool_calls", row ToolCallRow, builder ToolCalls, columns ToolCallColumns {
        /// Session that first held the call.
        session_id: Str [Id, Words],
        /// Position in the session, counted over messages and tool calls together.
        seq: I64 [Fact, Deltas],
        /// The agent's own id of the call.
        call_id: Str [Id, Text],
        /// Message that made the call.
        message_id: Opt<Str> [Id, Text],
        /// API response that made the call; joins to `usage`.
        response_id: Opt<Str> [Id, Text],
        /// Turn of the session, from 1; null before the first prompt.
        turn: Opt<I64> [Fact, Plain],
        /// Tool, as the agent names it.
        name: Str [Name, Words],
        /// Kind of tool.
        category: Category [Name, Words],
        /// MCP server that provides the tool.
        mcp_server: Opt<Str> [Name, Words],
        /// Arguments as JSON text.
        input: Opt<Str> [Text, Text],
        /// Hash of the tool and the normalised arguments as stored. Equal keys mean the same request.
        input_key: Opt<Str> [Hash, Text],
        /// Hash of the tool and the letters of the arguments. Equal shapes mean nearly the same request.
        input_shape: Opt<Str> [Hash, Text],
        /// Command line of a shell call.
        command: Opt<Str> [Text, Text],
        /// File that the call reads or changes.
        file_path: Opt<Str> [Place, Words],
        /// How the call ended; `pending` if no result is known.
        status: Status [Name, Words],
        /// True if the agent itself refused the call: by a rule, a mode, a hook, or because nobody could be asked. Its status
        /// is error, or rejected if nobody could be asked for an approval. Null if the agent does not record it.
        is_denied: Opt<Bool> [Fact, Plain],
        /// Exit code of a shell call, where recorded.
        exit_code: Opt<I64> [Fact, Plain],
        /// Result text as the model saw it.
        output: Opt<Str> [Text, Text],
        /// Length of the result text as recorded. Bytes.
        output_bytes: Opt<I64> [Fact, Deltas],
        /// Hash of the result text. Equal keys mean the same result.
        output_key: Opt<Str> [Hash, Text],
        /// Hash of an error's words without paths, numbers and ids. Equal keys mean the same error. Null unless the call failed.
        error_key: Opt<Str> [Hash, Rare],
        /// Operations of the call on a repository, in order. Empty if there were none. Null in rows of earlier versions.
        git_operations: Opt<ListOf<GitOperation>> [Name, Plain],
        /// Hash of the last commit that the call made, as git printed it (7 to 40 digits); null if git printed none.
        commit_sha: Opt<Str> [Place, Rare],
        /// Branch of that commit, or else of the push or rebase, as git printed it.
        git_branch: Opt<Str> [Place, Words],
        /// URL of the pull or merge request that the call opened, changed, merged, closed or commented on.
        pull_request: Opt<Str> [Place, Rare],
        /// Lines that the call added to files, as the agent recorded, else counted in the patch or texts of its arguments. Null
        /// if neither gives a count, or if the call did not succeed. Count.
        lines_added: Opt<I64> [Fact, Plain],
        /// Lines that the call removed from files, counted in the same way. Count.
        lines_removed: Opt<I64> [Fact, Plain],
        /// How the tests ended that the call ran: as the runner says, else by the exit code. Null if it ran none.
        test_outcome: Opt<TestOutcome> [Name, Words],
        /// Tests that passed, if the runner says how many. Count.
        tests_passed: Opt<I64> [Fact, Plain],
        /// Tests that failed or broke, if the runner says how many. Count.
        tests_failed: Opt<I64> [Fact, Plain],
        /// When the call was made.
        started_at: Opt<Ts> [Fact, Deltas],
        /// When the result was recorded.
        ended_at: Opt<Ts> [Fact, Deltas],
        /// Duration that the agent recorded; null if it records none. Milliseconds.
        duration_ms: Opt<I64> [Fact, Deltas],
        /// Session of the subagent that the call started.
        child_session_id: Opt<Str> [Id, Rare],
        /// True if it belongs to a side conversation within the session.
        is_sidechain: Bool [Fact, Plain],
        /// Line of the call in the source, from 1.
        source_line: Opt<I64> [Fact, Deltas],
        /// When a run first found that the agent had dropped the record; null while the agent still has it.
        gone_at: Opt<Ts> [Fact, Plain],
    }
}
