//! Tables that llrem computes from the lake's state, the price table and the detectors. They are not stored as Parquet.

use super::columns::{F64, I64, Opt, Str, StrList, Ts, state_table};
use super::vocabulary::{Basis, PriceKind, PriceTier, Severity, SourceState};

state_table! {
    /// One row for each file or database that was ever read.
    SOURCES = "sources", row SourceRow, builder Sources, columns SourceColumns {
        /// Coding agent that wrote it.
        agent: Str,
        /// Path.
        path: Str,
        /// Kind of source, as the agent's page names it: transcript, subagent, database, prompts.
        kind: Str,
        /// Size when it was last read. Bytes.
        bytes: I64,
        /// Modification time when it was last read.
        modified_at: Opt<Ts>,
        /// State; `partial` if some lines were bad.
        state: SourceState,
        /// Lines or records read.
        lines: I64,
        /// Lines or records that could not be read.
        bad_lines: I64,
        /// First line that could not be read, from 1.
        first_bad_line: Opt<I64>,
        /// Problems, in the order of the file.
        problem: Opt<Str>,
        /// Unknown record types and fields, with their counts.
        unknown: Opt<Str>,
        /// Secrets replaced, by kind, with their counts.
        redactions: Opt<Str>,
        /// Rows in `sessions` from this source.
        sessions: I64,
        /// Rows in `messages` from this source.
        messages: I64,
        /// Rows in `tool_calls` from this source.
        tool_calls: I64,
        /// Rows in `usage` from this source.
        usage: I64,
        /// When the source was last read.
        extracted_at: Ts,
        /// Version of llrem that last read it.
        llrem_version: Str,
    }
}

state_table! {
    /// One row for each run of `llrem etl`.
    RUNS = "runs", row RunRow, builder Runs, columns RunColumns {
        /// When the run began.
        started_at: Ts,
        /// When the run ended.
        ended_at: Ts,
        /// Sources found.
        sources_seen: I64,
        /// Sources that were new.
        sources_new: I64,
        /// Sources that had changed.
        sources_changed: I64,
        /// Sources with bad lines, and sources that cannot be read; including unchanged ones that this run did not read.
        sources_bad: I64,
        /// Bytes read.
        bytes_read: I64,
        /// Bytes written into the lake.
        bytes_written: I64,
        /// Rows of `sessions` written.
        sessions: I64,
        /// Rows of `messages` written.
        messages: I64,
        /// Rows of `tool_calls` written.
        tool_calls: I64,
        /// Rows of `usage` written.
        usage: I64,
        /// Problems found in the sources.
        problems: I64,
        /// Exit code: 0 done, 1 failed, 3 done with bad input under `--strict`, 130 interrupted.
        exit_code: I64,
        /// Error message; null if the run did not fail.
        error: Opt<Str>,
        /// Version of llrem.
        llrem_version: Str,
        /// Size of the lake's data files after the run; null if an earlier version ran, or if the run failed and left the lake as it was. Bytes.
        lake_bytes: Opt<I64>,
    }
}

state_table! {
    /// One row for each price of a model, kind of token and tier, with the days on which it is valid.
    PRICES = "prices", row PriceTableRow, builder Prices, columns PriceTableColumns {
        /// Model as priced; joins to `usage.model_key`.
        model: Str,
        /// Provider of the model.
        provider: Opt<Str>,
        /// First day of the price; null if it has none. YYYY-MM-DD.
        valid_from: Opt<Str>,
        /// Day after the last one of the price; null if it is still valid. YYYY-MM-DD.
        valid_until: Opt<Str>,
        /// Kind of price.
        kind: PriceKind,
        /// Tier of the requests.
        tier: PriceTier,
        /// Input tokens above which the long-context price applies to the whole request.
        threshold: Opt<I64>,
        /// Price. USD for a million tokens (for a million searches if kind is web_search).
        usd_per_million: F64,
    }
}

state_table! {
    /// One row for each finding of a detector; each dollar and token of a session counts in one finding at most.
    FINDINGS = "findings", row FindingRow, builder Findings, columns FindingColumns {
        /// Detector that found it; `llrem detect --explain NAME` says how.
        detector: Str,
        /// Coding agent.
        agent: Str,
        /// Session of the finding.
        session_id: Str,
        /// Short name of the session's project.
        project: Opt<Str>,
        /// When the session started.
        started_at: Opt<Ts>,
        /// Severity.
        severity: Severity,
        /// Occurrences within the finding. Count.
        occurrences: I64,
        /// Wasted tokens, without responses that another finding counts; null if unknown. Tokens.
        wasted_tokens: Opt<I64>,
        /// Wasted cost, without responses that another finding counts; null if unknown. USD.
        wasted_cost_usd: Opt<F64>,
        /// First position in the session: `seq` of a message or tool call; null if the finding is about the whole session.
        first_seq: Opt<I64>,
        /// Last position in the session.
        last_seq: Opt<I64>,
        /// Time of the first evidence: of the message or tool call at `first_seq`, or else the start of the session. The
        /// `--since` and `--until` of `llrem detect` and `llrem report` select findings by it.
        first_at: Opt<Ts>,
        /// Summary of the evidence, such as files, tools, commands or counts.
        evidence: Str,
        /// Description of the problem, with advice.
        explanation: Str,
        /// Origin of the waste; `measured` is the cost of responses.
        basis: Basis,
        /// Machine that the session ran on.
        machine: Str,
        /// Wasted cost of the finding when looked at alone. USD.
        alone_cost_usd: Opt<F64>,
        /// Responses that the finding counts as wasted, in whole or in part, by `usage.response_id`. If the detector does not
        /// give them, it is null and the finding counts all responses from `first_seq` to `last_seq`.
        responses: Opt<StrList>,
    }
}
