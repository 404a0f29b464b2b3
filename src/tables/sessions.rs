use super::columns::{Bool, F64, I64, Opt, Str, StrList, Ts, lake_table};
use super::vocabulary::SessionKind;

lake_table! {
    /// One row for each session; a subagent's run is a session of its own.
    SESSIONS = "sessions", row SessionRow, builder Sessions, columns SessionColumns {
        /// Identity of the session, together with machine and agent.
        session_id: Str [Id, Words],
        /// Kind of session; `side_agent` is a helper call of the agent itself, `prompts` are typed prompts whose transcript is gone.
        kind: SessionKind [Name, Words],
        /// Version of the agent that wrote the last record.
        agent_version: Opt<Str> [Name, Words],
        /// What started the agent, as stored: cli, sdk-cli, vscode, exec, …
        entrypoint: Opt<Str> [Name, Words],
        /// User that the agent ran as, where known.
        user_name: Opt<Str> [Person, Words],
        /// Short name of the project: its repository's or folder's.
        project: Opt<Str> [Project, Words],
        /// Folder that the session started in.
        project_path: Opt<Str> [Place, Words],
        /// Last git branch recorded.
        git_branch: Opt<Str> [Place, Words],
        /// Git commit at the session's start, where recorded.
        git_commit: Opt<Str> [Place, Words],
        /// Git repository, where recorded.
        git_repo: Opt<Str> [Place, Words],
        /// Title: set by the person, else generated, else the summary, else the first prompt that is not only a command.
        title: Opt<Str> [Text, Text],
        /// The agent's summary of the session.
        summary: Opt<Str> [Text, Text],
        /// Session that started this one (subagents).
        parent_session_id: Opt<Str> [Id, Words],
        /// Outermost session of the chain of parents; the session itself if no other started it.
        root_session_id: Str [Id, Words],
        /// Session whose history this one copied at its start.
        forked_from_session_id: Opt<Str> [Id, Words],
        /// True if another session started it.
        is_subagent: Bool [Fact, Plain],
        /// Kind of subagent, as the agent names it.
        subagent_type: Opt<Str> [Name, Words],
        /// Time of the first record that is the session's own.
        started_at: Opt<Ts> [Fact, Deltas],
        /// Time of the last record that is the session's own.
        ended_at: Opt<Ts> [Fact, Deltas],
        /// Active time: the session's duration without pauses of 5 minutes or more. Milliseconds.
        active_ms: I64 [Fact, Deltas],
        /// Models used, the one with most tokens first; those of replies if no tokens are recorded by model.
        models: StrList [Name, Plain],
        /// Turns. A turn is a prompt or command of the person with everything up to the next one.
        turns: I64 [Fact, Plain],
        /// Messages of kind `prompt`.
        prompts: I64 [Fact, Plain],
        /// Rows in `messages`.
        messages: I64 [Fact, Plain],
        /// Rows in `usage` of grain `response`.
        responses: I64 [Fact, Plain],
        /// Rows in `tool_calls`.
        tool_calls: I64 [Fact, Plain],
        /// Tool calls with status `error`.
        tool_errors: I64 [Fact, Plain],
        /// Tool calls with status `rejected`.
        tool_rejections: I64 [Fact, Plain],
        /// Commits that its tool calls made: different values of `commit_sha`. Null in rows of earlier versions. Count.
        commits: Opt<I64> [Fact, Plain],
        /// Pull and merge requests that its tool calls opened, in order. Null in rows of earlier versions.
        pull_requests: Opt<StrList> [Place, Plain],
        /// Lines that its tool calls added; null if no call has a count. Count.
        lines_added: Opt<I64> [Fact, Plain],
        /// Lines that its tool calls removed; null if no call has a count. Count.
        lines_removed: Opt<I64> [Fact, Plain],
        /// Messages of kind `api_error`.
        api_errors: I64 [Fact, Plain],
        /// Messages of kind `compaction`.
        compactions: I64 [Fact, Plain],
        /// Messages of kind `abort`.
        aborts: I64 [Fact, Plain],
        /// Sum over the session's usage; null if the agent does not record it. Tokens.
        input_tokens: Opt<I64> [Fact, Deltas],
        /// Sum over the session's usage; null if the agent does not record it. Tokens.
        cache_read_tokens: Opt<I64> [Fact, Deltas],
        /// Sum over the session's usage, both cache durations; null if the agent does not record it. Tokens.
        cache_write_tokens: Opt<I64> [Fact, Plain],
        /// Sum over the session's usage; null if the agent does not record it. Tokens.
        output_tokens: Opt<I64> [Fact, Deltas],
        /// Sum over the session's usage; null if the agent does not record it separately. Tokens.
        reasoning_tokens: Opt<I64> [Fact, Plain],
        /// Sum over the session's usage; null if the agent does not record it. Tokens.
        total_tokens: Opt<I64> [Fact, Deltas],
        /// Sum over the session's usage rows that have a cost; null if none has. USD.
        cost_usd: Opt<F64> [Fact, Plain],
        /// File or database that the session was read from.
        source_path: Str [Place, Text],
    }
}
