//! Replicas: the records, facts and yields that one source holds of one session, without their content.

use std::sync::Arc;

use super::{Kind, ResponseCopies};

/// State of a record of the lake in its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum State {
    /// The latest reading has it.
    #[default]
    Held = 0,
    /// The latest reading has less of it than the lake's row, so that row stays.
    Kept = 1,
    /// The source dropped it. The lake's row stays.
    Gone = 2,
}

/// Number of the lowest bits of a record's fullness. They say which columns are known; the higher bits measure its
/// content.
pub(crate) const COLUMN_BITS: u32 = 5;

/// Bit of a fullness that says that the model is known. Among the readings of a session, it counts more than the content.
pub(crate) const MODEL_BIT: u64 = 1 << (44 + COLUMN_BITS);

/// Returns the size of the content that a fullness measures, whichever columns are known.
pub(crate) fn content_of(fullness: u64) -> u64 {
    (fullness & !MODEL_BIT) >> COLUMN_BITS
}

/// A record that a replica holds, or once held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Its key. All copies have the same one.
    pub key: u64,
    /// Kind: message, tool call or response.
    pub kind: Kind,
    /// When the message was written; `i64::MAX` if unknown, and for other records. Microseconds since 1970.
    pub moment: i64,
    /// Amount of the record that the replica has. A part of a record never replaces all of it.
    pub fullness: u64,
    /// Its place in the session.
    pub seq: i32,
    /// True if the source says that the record was copied.
    pub is_copy: bool,
    /// True if the lake has this replica's row of the record.
    pub is_owned: bool,
    /// State of the record in the source.
    pub state: State,
}

impl Record {
    /// Creates a record that a reading found.
    pub fn new(kind: Kind, key: u64, seq: i64) -> Self {
        Self {
            key,
            kind,
            moment: i64::MAX,
            fullness: 0,
            seq: i32::try_from(seq).unwrap_or(i32::MAX),
            is_copy: false,
            is_owned: false,
            state: State::Held,
        }
    }

    /// True if its row comes from the lake, not from the source.
    pub fn is_of_lake(&self) -> bool {
        self.state != State::Held
    }

    /// True for messages and tool calls, which have a place in the session.
    pub fn is_placed(&self) -> bool {
        matches!(self.kind, Kind::Message | Kind::ToolCall)
    }
}

/// A fact that a replica states, such as that a session has a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// Its key.
    pub key: u64,
    /// Since when it is present; 0 means always. Microseconds since 1970.
    pub since: i64,
    /// True if the source says that it was copied.
    pub is_copy: bool,
    /// True if the source dropped it.
    pub is_gone: bool,
}

/// A record that is superseded if a fact is present since a certain moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Yield {
    /// The record.
    pub record: u64,
    /// The fact.
    pub fact: u64,
    /// Latest moment since which the fact may be present to supersede the record. Microseconds since 1970.
    pub until: i64,
}

impl Yield {
    /// True if a fact that is present since `since` supersedes the record. Microseconds since 1970.
    pub fn yields_to_since(&self, since: i64) -> bool {
        since <= self.until
    }
}

/// The content, past or present, of one session in one source.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Replica {
    /// The session.
    pub(crate) session: Arc<str>,
    /// Name of the source.
    pub(crate) source: Arc<str>,
    /// True if it belongs to a subagent. Main sessions come before subagents.
    pub(crate) is_side: bool,
    /// First moment that was ever in the source, including copies. Microseconds since 1970.
    pub(crate) first_moment: Option<i64>,
    /// The records, those of the latest reading first and in its order.
    pub(crate) records: Vec<Record>,
    /// The facts.
    pub(crate) facts: Vec<Fact>,
    /// The yields.
    pub(crate) yields: Vec<Yield>,
    /// Copies of responses. A response that the source repeats has one for each time.
    pub(crate) responses: ResponseCopies,
}

impl Replica {
    /// Returns the moment of the first message that it owns.
    pub(crate) fn started_at(&self) -> Option<i64> {
        let own = self.records.iter().filter(|record| record.kind == Kind::Message && record.is_owned);
        own.map(|record| record.moment).filter(|moment| *moment != i64::MAX).min()
    }

    /// Returns the moment of the last message that was ever in it.
    pub(crate) fn last_moment(&self) -> Option<i64> {
        self.records.iter().map(|record| record.moment).filter(|moment| *moment != i64::MAX).max()
    }

    /// Returns whether a fact is present, and whether the original states it.
    pub(crate) fn is_present(&self, fact: u64) -> [bool; 2] {
        let mut present = self.facts.iter().filter(|known| known.key == fact).peekable();
        [present.peek().is_some(), present.any(|known| !known.is_copy)]
    }

    /// True if the lake has any row of it.
    pub(crate) fn owns_rows(&self) -> bool {
        self.records.iter().any(|record| record.is_owned)
    }
}
