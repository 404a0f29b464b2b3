//! What one source holds of one session: its records, facts and yields, without their content.

use super::{Kind, ResponseCopy};

/// Whether a source still has a record that the lake has of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum State {
    /// The latest reading has it.
    #[default]
    Held = 0,
    /// The latest reading has less of it than the lake's row, which stays.
    Kept = 1,
    /// The source dropped it; the lake's row stays.
    Gone = 2,
}

/// Number of the lowest bits of a record's fullness: they tell which columns are known, the bits above measure its content.
pub(crate) const COLUMN_BITS: u32 = 5;

/// A record that a replica holds, or once held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Its key; equal for all copies.
    pub key: u64,
    /// Message, tool call or response.
    pub kind: Kind,
    /// When a message was written; `i64::MAX` if that is not known, and for other records. Microseconds since 1970.
    pub moment: i64,
    /// How much the replica says of it, so that what is left of a record never replaces all of it.
    pub fullness: u64,
    /// Its place in the session.
    pub seq: i32,
    /// True if the source says that the record was copied.
    pub is_copy: bool,
    /// True if the lake has the replica's row of it.
    pub is_owned: bool,
    /// Whether the source still has it.
    pub state: State,
}

impl Record {
    /// Creates a record as a reading has it.
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

    /// True if its row comes from the lake and not from the source.
    pub fn is_of_lake(&self) -> bool {
        self.state != State::Held
    }

    /// True if it is a message or a tool call: these have a place in the session.
    pub fn is_placed(&self) -> bool {
        matches!(self.kind, Kind::Message | Kind::ToolCall)
    }
}

/// Something that a replica says to exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact {
    /// Its key.
    pub key: u64,
    /// Since when it is present; 0 for always. Microseconds since 1970.
    pub since: i64,
    /// True if the source says that it was copied.
    pub is_copy: bool,
    /// True if the source dropped it.
    pub is_gone: bool,
}

/// A record that is superseded wherever a fact is present, and has been at a certain moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Yield {
    /// The record.
    pub record: u64,
    /// The fact.
    pub fact: u64,
    /// The fact supersedes the record if it is present since this moment or before. Microseconds since 1970.
    pub until: i64,
}

impl Yield {
    /// True if a fact that is present since a moment supersedes the record. Microseconds since 1970.
    pub fn yields_to_since(&self, since: i64) -> bool {
        since <= self.until
    }
}

/// What one source holds, or once held, of one session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Replica {
    /// The session.
    pub(crate) session: String,
    /// Name of the source.
    pub(crate) source: String,
    /// True if it is a subagent's: main sessions go before subagents.
    pub(crate) is_side: bool,
    /// First moment that was ever in the source, copies included. Microseconds since 1970.
    pub(crate) first_moment: Option<i64>,
    /// The records, those of the latest reading first and in its order.
    pub(crate) records: Vec<Record>,
    /// The facts.
    pub(crate) facts: Vec<Fact>,
    /// The yields.
    pub(crate) yields: Vec<Yield>,
    /// What it says of each response, ordered by key; a response that the source repeats is there each time.
    pub(crate) responses: Vec<ResponseCopy>,
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

    /// Returns what the source says again of responses.
    pub(crate) fn repeats(&self) -> impl Iterator<Item = &ResponseCopy> {
        let pairs = self.responses.iter().zip(self.responses.iter().skip(1));
        pairs.filter(|(copy, repeat)| copy.key == repeat.key).map(|(_, repeat)| repeat)
    }

    /// Returns whether a fact is present, and whether it is so in the original.
    pub(crate) fn is_present(&self, fact: u64) -> [bool; 2] {
        let mut present = self.facts.iter().filter(|known| known.key == fact).peekable();
        [present.peek().is_some(), present.any(|known| !known.is_copy)]
    }

    /// True if the lake has any row of it.
    pub(crate) fn owns_rows(&self) -> bool {
        self.records.iter().any(|record| record.is_owned)
    }
}
