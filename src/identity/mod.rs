//! Decides which session owns a record, and what the lake remembers of the sources that held it.
//!
//! Agents copy history between files, rewrite them and drop parts of them. Each record is in the lake once, and stays.
//! This module decides how. It has no I/O, no locks and no rows: readings and memories go in, decisions come out.
//!
//! | term | meaning |
//! |---|---|
//! | record | a message, a tool call or a billed response, known by a hash of agent, kind and the agent's id ([`key`]) |
//! | source | a file, or a section of a database |
//! | replica | what one source holds of one session ([`Replica`]); also what the lake remembers of it |
//! | reading | one pass over a source, compared with the one before ([`Reading`]) |
//! | fact | something that a replica says to exist, such as the transcript of a session ([`Fact`]) |
//! | yield | a record is superseded wherever a fact is present ([`Yield`]): a total by its parts, a typed prompt by its transcript |
//! | copy | a record of which its source says that it was copied |
//! | fullness | how much a replica says of a record; the lake keeps the row that says most |
//! | held, kept, gone | whether the source still has the record, has less of it than the lake, or dropped it ([`State`]) |
//! | owner | the one replica whose row of a record is in the lake ([`Owners`]) |
//!
//! Two pure steps:
//! 1. [`absorb`] joins the readings of a session's sources with the memory of them. It forgets a record in two cases: a
//!    newer parser reads the same bytes and no longer finds it, or the source has only grown and no longer gives it. If
//!    a source has less of a record than before, the lake keeps its row.
//! 2. [`Owners`] decides over all replicas who owns each record. Sessions have a total order, and each record belongs to
//!    the first session that holds all of it, so the order in which sources are read makes no difference.

mod absorb;
mod index;
mod keys;
mod owners;
mod replica;
mod response;

use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

pub(crate) use absorb::{Reading, Seen, absorb, no_longer_given};
pub(crate) use keys::{KeyMap, KeySet};
pub(crate) use owners::Owners;
pub(crate) use replica::{COLUMN_BITS, MODEL_BIT, Replica};
pub use replica::{Fact, Record, State, Yield};
pub(crate) use response::ResponseCopies;
pub use response::{Count, ResponseCopy};

/// The kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message.
    Message = 0,
    /// A tool call.
    ToolCall = 1,
    /// A billed response.
    Response = 2,
    /// A fact.
    Presence = 3,
}

/// Returns the key of a record: a hash of agent, kind and the agent's own id.
pub fn key(agent: &str, kind: Kind, id: &str) -> u64 {
    // One call for one short slice: a streaming hasher would have to set up state.
    let mut bytes = [0_u8; 128];
    let length = agent.len() + 1 + id.len();
    if let Some((of_agent, rest)) = bytes.split_at_mut_checked(agent.len())
        && let Some(of_id) = rest.get_mut(1..=id.len())
    {
        of_agent.copy_from_slice(agent.as_bytes());
        of_id.copy_from_slice(id.as_bytes());
        return xxh3_64_with_seed(bytes.get(..length).unwrap_or_default(), kind as u64);
    }
    let mut hasher = Xxh3::with_seed(kind as u64);
    hasher.update(agent.as_bytes());
    hasher.update(&[0]);
    hasher.update(id.as_bytes());
    hasher.digest()
}

/// Returns the key of the fact that a session has a transcript.
pub fn session_key(agent: &str, session: &str) -> u64 {
    key(agent, Kind::Presence, &format!("session:{session}"))
}
