//! The treatment of each column by an upload profile.

use super::{Choice, Profile};
use crate::tables::Privacy;

/// Treatment of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Treatment {
    /// Unchanged.
    Keep,
    /// Without secrets and personal data.
    Clean,
    /// Replaced by markers.
    Mark,
    /// Replaced by keyed hashes.
    Hash,
    /// Replaced by keyed hashes unless drawn at random: others may be derived from content, or be the name of a file.
    Id,
    /// Replaced by keyed hashes unless they are plain names, which are cleaned.
    Name,
    /// Computed again from the uploaded text.
    Sketch,
    /// Removed.
    Drop,
}

/// Returns the treatment of a privacy class.
pub(super) fn treatment(privacy: Privacy, choice: Choice) -> Treatment {
    let is_metrics = choice.profile == Profile::Metrics;
    match privacy {
        Privacy::Fact => Treatment::Keep,
        Privacy::Id => Treatment::Id,
        Privacy::Hash => Treatment::Hash,
        Privacy::Text | Privacy::Sketch if is_metrics => Treatment::Drop,
        Privacy::Text => Treatment::Clean,
        Privacy::Sketch => Treatment::Sketch,
        Privacy::Name if is_metrics => Treatment::Name,
        Privacy::Project if choice.keep_projects => Treatment::Clean,
        Privacy::Place | Privacy::Project | Privacy::Person if is_metrics => Treatment::Hash,
        Privacy::Name | Privacy::Place | Privacy::Project => Treatment::Clean,
        Privacy::Person => Treatment::Mark,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{ColumnDef, LAKE_TABLES};
    use arrow::datatypes::DataType;

    const METRICS: Choice = Choice { profile: Profile::Metrics, keep_projects: false };

    fn columns() -> impl Iterator<Item = &'static ColumnDef> {
        LAKE_TABLES.iter().flat_map(|table| table.columns)
    }

    #[test]
    fn no_text_is_a_fact() {
        for column in columns() {
            let is_text = matches!((column.data_type)(), DataType::Utf8 | DataType::List(_));
            assert_eq!(is_text, column.privacy != Privacy::Fact, "{}", column.name);
        }
    }

    #[test]
    fn what_is_dropped_may_be_null() {
        for column in columns().filter(|column| treatment(column.privacy, METRICS) == Treatment::Drop) {
            assert!(column.nullable, "{}", column.name);
        }
    }

    #[test]
    fn metrics_have_no_place_and_no_person_in_clear() {
        let is_hashed = |column: &&ColumnDef| treatment(column.privacy, METRICS) == Treatment::Hash;
        let mut hashed: Vec<_> = columns().filter(is_hashed).map(|column| column.name).collect();
        hashed.sort_unstable();
        hashed.dedup();
        let expected = [
            "commit_sha",
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
            "pull_request",
            "pull_requests",
            "source_path",
            "user_name",
        ];
        assert_eq!(hashed, expected);
    }
}
