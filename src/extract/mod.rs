//! Where extractors put their rows: redacted, priced, claimed, and collected into Arrow batches.

mod arguments;
mod fullness;
mod hashing;
mod likeness;
mod notes;
mod repeated;
mod rows;
mod session;
mod sink;

use std::collections::BTreeMap;
use std::io;

use chrono_tz::Tz;

pub(crate) use arguments::Request;
pub(crate) use likeness::{PUBLIC_SEED, text_sketch};
pub use notes::{Note, NoteField};
pub use rows::{Chunk, Rows};
pub use session::{Facts, SessionRows};
pub use sink::{Consumer, Foreseen, Sink};

use crate::error::Error;
pub(crate) use crate::identity::{KeyMap, KeySet};
pub use crate::identity::{Kind, key, session_key};
use crate::pricing::Pricer;
use crate::redact::{Counts, Redactor};

/// Why a source gave nothing.
#[derive(Debug)]
pub enum Reject {
    /// The file system refused.
    Io(io::Error),
    /// The database is damaged, or not what it was taken for.
    Database(rusqlite::Error),
    /// The content cannot be read, by its very nature.
    Encrypted,
    /// The rows take too much memory to be collected.
    TooLarge,
    /// The rows could not be handed on.
    Failed(Error),
}

impl From<rusqlite::Error> for Reject {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Error> for Reject {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What was found in a source, beside its rows.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Lines or records read.
    pub lines: u64,
    /// Lines or records that could not be read.
    pub bad_lines: u64,
    /// The first of them, from 1.
    pub first_bad_line: Option<u64>,
    /// What was wrong, first problem first; at most [`Report::PROBLEMS`] are kept.
    pub problems: Vec<String>,
    /// Record types, fields and blocks that are not known, with their counts.
    pub unknown: BTreeMap<String, u64>,
    /// Secrets replaced, by kind.
    pub redactions: Counts,
}

impl Report {
    pub(crate) const PROBLEMS: usize = 3;
    const UNKNOWN: usize = 64;
}

/// Whether texts, inputs and outputs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// Everything is kept.
    #[default]
    Full,
    /// Texts, thinking, inputs, outputs, titles and summaries are left out.
    None,
}

/// What every sink of a run shares.
pub struct Context<'a> {
    /// The agent's id.
    pub agent: &'static str,
    /// Replaces secrets.
    pub redactor: &'a Redactor,
    /// Knows prices.
    pub pricer: &'a Pricer,
    /// Whether texts are kept.
    pub content: Content,
    /// Zone of moments that agents write without one.
    pub zone: Tz,
}
