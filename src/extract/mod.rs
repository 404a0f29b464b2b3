//! Receives rows from extractors: redacts, prices and claims them, and collects them into Arrow batches.

mod arguments;
mod closing;
mod edited_lines;
mod evidence;
mod failure;
mod fullness;
mod hashing;
pub(crate) mod jsonl;
mod likeness;
mod notes;
mod repeated;
mod repository;
mod rows;
mod session;
mod shell;
mod sink;
mod test_runs;

use std::collections::BTreeMap;

use chrono_tz::Tz;

pub(crate) use arguments::Request;
pub(crate) use edited_lines::{EditedLines, LineCounts, RecordedDiff, RecordedHunks, blocks};
pub(crate) use failure::error_type;
pub(crate) use likeness::{PUBLIC_SEED, text_sketch};
pub use notes::{Note, NoteField};
pub use rows::{Chunk, Rows};
pub use session::{Facts, SessionRows};
pub use sink::{Consumer, Sink};

pub(crate) use crate::identity::{KeyMap, KeySet};
pub use crate::identity::{Kind, key, session_key};
use crate::pricing::Pricer;
use crate::redact::{Counts, Redactor};
pub use crate::source::Reject;

/// Counts and problems of a source.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Lines or records read.
    pub lines: u64,
    /// Lines or records that could not be read.
    pub bad_lines: u64,
    /// The first of them, numbered from 1.
    pub first_bad_line: Option<u64>,
    /// Problems, in the order of the file; at most [`Report::PROBLEMS`] are kept.
    pub problems: Vec<String>,
    /// Unknown record types, fields and blocks, with their counts.
    pub unknown: BTreeMap<String, u64>,
    /// Secrets replaced, by kind.
    pub redactions: Counts,
}

impl Report {
    pub(crate) const PROBLEMS: usize = 10;
    const UNKNOWN: usize = 64;
}

/// Texts, inputs and outputs to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// Everything is kept.
    #[default]
    Full,
    /// Texts, thinking, inputs, outputs, titles and summaries are left out.
    None,
}

/// The state that every sink of a run shares.
pub struct Context<'a> {
    /// The agent's id.
    pub agent: &'static str,
    /// Replaces secrets.
    pub redactor: &'a Redactor,
    /// Computes costs.
    pub pricer: &'a Pricer,
    /// The texts to keep.
    pub content: Content,
    /// Time zone of times that agents write without one.
    pub zone: Tz,
}
