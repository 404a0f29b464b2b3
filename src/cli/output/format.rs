//! The formats of results.

use std::path::Path;

use crate::query::nearest;
use crate::{Error, Result};

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Table,
    /// One array of objects.
    Json,
    /// One object a line.
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

    /// The format's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Markdown => "markdown",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format of that name, or what is wrong with the name.
    pub fn of_name(name: &str) -> Result<Self> {
        Self::named(name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let guess = nearest::suggestion(name, names);
            Error::Usage(format!("`{name}` is no format{guess} ({})", names.join(", ")))
        })
    }

    /// The format that a file's suffix promises.
    pub fn of_suffix(path: &Path) -> Result<Self> {
        let suffix = path.extension().map(|suffix| suffix.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        match suffix.as_str() {
            "txt" => Ok(Self::Table),
            "jsonl" => Ok(Self::Ndjson),
            "md" => Ok(Self::Markdown),
            "arrows" | "ipc" => Ok(Self::Arrow),
            suffix => Self::named(suffix).ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                Error::Usage(format!("`{}` does not tell its format; name it with -f: {names}", path.display()))
            }),
        }
    }

    /// Whether each line is JSON, or a part of it.
    pub const fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Ndjson)
    }

    /// Whether it is no text.
    pub const fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }
}
