//! The canned queries of llrem: every file below `sql/`.

/// Path below `sql/`, and text.
pub(super) static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/canned_queries.rs"));
