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
    /// A keyed hash stands for each that nobody drew at random: it may be made of what was said, or be the name of a file.
    Id,
    /// A keyed hash stands for each that is no plain name; the others are cleaned.
    Name,
    /// It is made anew, of the text as it leaves.
    Sketch,
    /// None leaves.
    Drop,
}

/// What people, models and tools wrote. A sketch tells whether a text is one that somebody already has.
const TEXTS: [&str; 8] = ["text", "text_sketch", "thinking", "input", "output", "command", "title", "summary"];
/// Ids of records and sessions; equal ones stay equal.
const IDS: [&str; 10] = [
    "session_id",
    "parent_session_id",
    "root_session_id",
    "forked_from_session_id",
    "child_session_id",
    "message_id",
    "parent_id",
    "response_id",
    "request_id",
    "call_id",
];
/// Hashes without a key: who guesses what was hashed can see that he is right.
const KEYS: [&str; 4] = ["input_key", "input_shape", "output_key", "error_key"];
/// Names of models, tools and subagents, and words of a fixed set.
const NAMES: [&str; 20] = [
    "kind",
    "agent_version",
    "subagent_type",
    "models",
    "role",
    "model",
    "stop_reason",
    "name",
    "category",
    "mcp_server",
    "status",
    "model_key",
    "provider",
    "cost_source",
    "service_tier",
    "inference_geo",
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
        "text_sketch" => Treatment::Sketch,
        "project" if choice.keep_projects => Treatment::Clean,
        _ if IDS.contains(&column) => Treatment::Id,
        _ if is_metrics && NAMES.contains(&column) => Treatment::Name,
        _ if is_metrics => Treatment::Hash,
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
