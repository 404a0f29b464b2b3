//! The formats of results.

use std::path::Path;

use crate::query::nearest;
use crate::{Error, Result};

/// Format of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Table,
    /// One array of objects.
    Json,
    /// One object per line.
    Ndjson,
    /// Comma-separated values with a header line.
    Csv,
    /// A Markdown table.
    Markdown,
    /// A Parquet file.
    Parquet,
    /// An Arrow IPC stream.
    Arrow,
}

impl Format {
    /// Every format, in the order of help.
    pub const ALL: [Self; 7] =
        [Self::Table, Self::Json, Self::Ndjson, Self::Csv, Self::Markdown, Self::Parquet, Self::Arrow];

    /// Returns the format's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Ndjson => "jsonl",
            Self::Csv => "csv",
            Self::Markdown => "md",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// Returns the format of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "ndjson" => Some(Self::Ndjson),
            "markdown" => Some(Self::Markdown),
            name => Self::ALL.into_iter().find(|format| format.name() == name),
        }
    }

    /// Returns the format of that name, or an error with a suggestion.
    pub fn of_name(name: &str) -> Result<Self> {
        Self::named(name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let near = nearest::several(name, names);
            let hint = nearest::question(&near, &format!("formats: {}", names.join(", ")));
            Error::Unknown { what: format!("`{name}` is not a format"), hint }
        })
    }

    /// Returns the format of a file's suffix.
    pub fn of_suffix(path: &Path) -> Result<Self> {
        let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        match suffix.as_str() {
            "txt" => Ok(Self::Table),
            "arrows" | "ipc" => Ok(Self::Arrow),
            suffix => Self::named(suffix).ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                Error::Usage(format!("`{}` has no suffix of a known format; name one with -f: {names}", path.display()))
            }),
        }
    }

    /// True if each line is JSON, or a part of it.
    pub const fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Ndjson)
    }

    /// True if it is binary.
    pub const fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }
}
