//! What becomes of each text column.

use super::{Choice, Profile};

/// What becomes of the texts of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// What is secret or personal in them is replaced.
    Clean,
    /// A marker stands for each.
    Mark,
    /// A keyed hash stands for each.
    Hash,
    /// None leaves.
    Drop,
}

/// What people, models and tools wrote. A sketch tells whether a text is one that somebody already has.
const TEXTS: [&str; 8] = ["text", "text_sketch", "thinking", "input", "output", "command", "title", "summary"];
/// Hashes without a key: who guesses what was hashed can see that he is right.
const KEYS: [&str; 4] = ["input_key", "input_shape", "output_key", "error_key"];
/// Ids, names of models and tools, and words of a fixed set.
const NAMES: [&str; 29] = [
    "session_id",
    "kind",
    "agent_version",
    "parent_session_id",
    "root_session_id",
    "forked_from_session_id",
    "subagent_type",
    "models",
    "message_id",
    "parent_id",
    "role",
    "model",
    "response_id",
    "stop_reason",
    "call_id",
    "name",
    "category",
    "mcp_server",
    "status",
    "child_session_id",
    "request_id",
    "model_key",
    "provider",
    "cost_source",
    "service_tier",
    "grain",
    "machine",
    "agent",
    "month",
];

/// What becomes of a text column. One that nobody has thought of leaves as a hash where only names do.
pub(super) fn treatment(column: &str, choice: Choice) -> Treatment {
    let is_metrics = choice.profile == Profile::Metrics;
    match column {
        _ if KEYS.contains(&column) => Treatment::Hash,
        _ if TEXTS.contains(&column) && is_metrics => Treatment::Drop,
        "project" if choice.keep_projects => Treatment::Clean,
        _ if is_metrics && !NAMES.contains(&column) => Treatment::Hash,
        "user_name" => Treatment::Mark,
        _ => Treatment::Clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::LAKE_TABLES;
    use arrow::datatypes::DataType;

    /// A column that is added has to be put among those that leave, or it does not.
    #[test]
    fn each_text_column_is_decided_on() {
        let metrics = Choice { profile: Profile::Metrics, keep_projects: false };
        let mut hashed = Vec::new();
        for column in LAKE_TABLES.iter().flat_map(|table| table.columns) {
            let is_text = matches!((column.data_type)(), DataType::Utf8 | DataType::List(_));
            if is_text && treatment(column.name, metrics) == Treatment::Hash {
                hashed.push(column.name);
            }
            if treatment(column.name, metrics) == Treatment::Drop {
                assert!(column.nullable, "{}", column.name);
            }
        }
        hashed.sort_unstable();
        hashed.dedup();
        let expected = [
            "cwd",
            "error_key",
            "file_path",
            "git_branch",
            "git_commit",
            "git_repo",
            "input_key",
            "input_shape",
            "output_key",
            "project",
            "project_path",
            "source_path",
            "user_name",
        ];
        assert_eq!(hashed, expected);
    }
}
