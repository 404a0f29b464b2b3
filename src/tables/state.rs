//! Tables made from the lake's state, from the price table and by the detectors; they are not stored as Parquet.

use super::columns::{F64, I64, Opt, Str, StrList, Ts, state_table};
use super::vocabulary::{Basis, PriceKind, PriceTier, Severity, SourceState};

state_table! {
    /// One row for each file or database that was ever read.
    SOURCES = "sources", row SourceRow, builder Sources, columns SourceColumns {
        /// Coding agent that wrote it.
        agent: Str,
        /// Path.
        path: Str,
        /// What it is, as the agent's page names it: transcript, subagent, database, prompts.
        kind: Str,
        /// Size when it was last read. Bytes.
        bytes: I64,
        /// Modification time when it was last read.
        modified_at: Opt<Ts>,
        /// How much of it could be read; `partial` if some lines were bad.
        state: SourceState,
        /// Lines or records read.
        lines: I64,
        /// Lines or records that could not be read.
        bad_lines: I64,
        /// First line that could not be read, from 1.
        first_bad_line: Opt<I64>,
        /// What was wrong, first problem first.
        problem: Opt<Str>,
        /// Record types and fields that are not known, with their counts.
        unknown: Opt<Str>,
        /// Secrets replaced, by kind, with their counts.
        redactions: Opt<Str>,
        /// Rows in `sessions` made of it.
        sessions: I64,
        /// Rows in `messages` made of it.
        messages: I64,
        /// Rows in `tool_calls` made of it.
        tool_calls: I64,
        /// Rows in `usage` made of it.
        usage: I64,
        /// When it was last read.
        extracted_at: Ts,
        /// Version of llrem that read it.
        llrem_version: Str,
    }
}

state_table! {
    /// One row for each run of `llrem etl`.
    RUNS = "runs", row RunRow, builder Runs, columns RunColumns {
        /// When it began.
        started_at: Ts,
        /// When it ended.
        ended_at: Ts,
        /// Sources found.
        sources_seen: I64,
        /// Sources that were new.
        sources_new: I64,
        /// Sources that had changed.
        sources_changed: I64,
        /// Sources found with bad lines, or that cannot be read; also those that were not read again.
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
        /// Why it failed.
        error: Opt<Str>,
        /// Version of llrem.
        llrem_version: Str,
    }
}

state_table! {
    /// One row for each price: a model, a kind of token, a tier, and the days on which it holds.
    PRICES = "prices", row PriceTableRow, builder Prices, columns PriceTableColumns {
        /// Model as priced; joins to `usage.model_key`.
        model: Str,
        /// Provider of the model.
        provider: Opt<Str>,
        /// First day on which it holds; null when it always did. YYYY-MM-DD.
        valid_from: Opt<Str>,
        /// Day from which it holds no more; null while it holds. YYYY-MM-DD.
        valid_until: Opt<Str>,
        /// What is priced.
        kind: PriceKind,
        /// Which requests it is for.
        tier: PriceTier,
        /// Input tokens above which the long-context price holds for the whole request.
        threshold: Opt<I64>,
        /// Price. USD for a million tokens (for a million searches, where kind is web_search).
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
        /// Session that it was found in.
        session_id: Str,
        /// Short name of the session's project.
        project: Opt<Str>,
        /// When the session started.
        started_at: Opt<Ts>,
        /// How bad it is.
        severity: Severity,
        /// How often it happened within the finding. Count.
        occurrences: I64,
        /// What was wasted, without responses that another finding counts; null when unknown. Tokens.
        wasted_tokens: Opt<I64>,
        /// What was wasted, without responses that another finding counts; null when unknown. USD.
        wasted_cost_usd: Opt<F64>,
        /// Where it begins in the session: `seq` of a message or tool call; null when it is about the whole session.
        first_seq: Opt<I64>,
        /// Where it ends in the session.
        last_seq: Opt<I64>,
        /// What to look at.
        evidence: Str,
        /// What happened, in a sentence.
        explanation: Str,
        /// How the waste is known: `measured` is what responses cost.
        basis: Basis,
        /// Machine that the session ran on.
        machine: Str,
        /// What the finding wastes when it is looked at alone. USD.
        alone_cost_usd: Opt<F64>,
        /// Responses that the finding counts as wasted, in whole or in part, by `usage.response_id`; null if the detector does
        /// not name them: then the finding stands for all from `first_seq` to `last_seq`.
        responses: Opt<StrList>,
    }
}
