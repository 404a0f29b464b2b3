use super::columns::{Bool, F64, I64, Opt, Str, StrList, Ts, table};

table! {
    /// One row for each session; a subagent's run is a session of its own.
    SESSIONS = "sessions", row SessionRow, builder Sessions, columns SessionColumns {
        /// Identity of the session, together with machine and agent.
        session_id: Str,
        /// What the session is: `session`, `subagent`, `side_agent` (the agent's own helper calls) or `prompts` (typed prompts whose transcript is gone).
        kind: Str,
        /// Version of the agent that wrote the last record.
        agent_version: Opt<Str>,
        /// User that the agent ran as, where known.
        user_name: Opt<Str>,
        /// Short name of the project: its repository's or folder's.
        project: Opt<Str>,
        /// Folder that the session started in.
        project_path: Opt<Str>,
        /// Last git branch recorded.
        git_branch: Opt<Str>,
        /// Git commit at the session's start, where recorded.
        git_commit: Opt<Str>,
        /// Git repository, where recorded.
        git_repo: Opt<Str>,
        /// Title: set by the person, else generated, else the summary, else the first prompt.
        title: Opt<Str>,
        /// Summary that the agent wrote of the session.
        summary: Opt<Str>,
        /// Session that started this one (subagents).
        parent_session_id: Opt<Str>,
        /// Outermost session of the chain of parents; the session itself when nobody started it.
        root_session_id: Str,
        /// Session whose history this one copied at its start.
        forked_from_session_id: Opt<Str>,
        /// Whether another session started it.
        is_subagent: Bool,
        /// Kind of subagent, as the agent names it.
        subagent_type: Opt<Str>,
        /// First record that is the session's own.
        started_at: Opt<Ts>,
        /// Last record that is the session's own.
        ended_at: Opt<Ts>,
        /// Time with less than 5 minutes between records. Milliseconds.
        active_ms: I64,
        /// Models used, the one with most tokens first.
        models: StrList,
        /// Turns: a prompt or command of the person with all that follows it.
        turns: I64,
        /// Messages of kind `prompt`.
        prompts: I64,
        /// Rows in `messages`.
        messages: I64,
        /// Rows in `usage` of grain `response`.
        responses: I64,
        /// Rows in `tool_calls`.
        tool_calls: I64,
        /// Tool calls with status `error`.
        tool_errors: I64,
        /// Tool calls with status `rejected`.
        tool_rejections: I64,
        /// Messages of kind `api_error`.
        api_errors: I64,
        /// Messages of kind `compaction`.
        compactions: I64,
        /// Messages of kind `abort`.
        aborts: I64,
        /// Sum over the session's usage; null when none of it says. Tokens.
        input_tokens: Opt<I64>,
        /// Sum over the session's usage; null when none of it says. Tokens.
        cache_read_tokens: Opt<I64>,
        /// Sum over the session's usage, both cache durations; null when none of it says. Tokens.
        cache_write_tokens: Opt<I64>,
        /// Sum over the session's usage; null when none of it says. Tokens.
        output_tokens: Opt<I64>,
        /// Sum over the session's usage; null when no response tells it apart. Tokens.
        reasoning_tokens: Opt<I64>,
        /// Sum over the session's usage; null when none of it says. Tokens.
        total_tokens: Opt<I64>,
        /// Sum over the session's usage rows that have a cost; null when none has. USD.
        cost_usd: Opt<F64>,
        /// File or database that the session was read from.
        source_path: Str,
    }
}
