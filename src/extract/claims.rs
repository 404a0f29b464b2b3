//! Claims: which session says that a record is its own. Agents copy history between files; each record is kept once, by
//! the session that first produced it.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64_with_seed};

use crate::tables::UsageRow;

/// What a claimed key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A message.
    Message = 0,
    /// A tool call.
    ToolCall = 1,
    /// A billed response.
    Response = 2,
    /// That something exists, so that weaker records of it are not needed.
    Presence = 3,
}

/// The key of a record: a hash of agent, kind and the agent's own id.
pub fn key(agent: &str, kind: Kind, id: &str) -> u64 {
    // One call over one short slice: a hasher that takes pieces has a state of its own to set up.
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

/// The key of the fact that a session has a transcript. Transcripts claim it; what is only said of a session, or typed
/// into it, goes by it.
pub fn session_key(agent: &str, session: &str) -> u64 {
    key(agent, Kind::Presence, &format!("session:{session}"))
}

/// One session's word that a record is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The record.
    pub key: u64,
    /// Message: its timestamp, so that copies can be told from originals. Response: twice the output tokens, plus one
    /// when it had ended, so that the fullest copy can be found. Tool call: how much the source says of it, of which
    /// claims of older lakes say nothing (0). Presence: the moment since when.
    pub value: i64,
    /// Place of the record in the session.
    pub seq: i32,
    flags: u8,
}

impl Claim {
    const KIND: u8 = 0b11;
    const WEAK: u8 = 0b100;
    const OWNED: u8 = 0b1000;
    const GONE: u8 = 0b1_0000;
    const YIELDS: u8 = 0b10_0000;
    const KEPT: u8 = 0b100_0000;

    /// That a record gives way to whoever is present under another key, and has been since a moment or before: what it
    /// tells is told there in finer grain. Microseconds since 1970.
    pub fn yielding(record: u64, to: u64, at: Option<i64>) -> Self {
        let seconds = at.and_then(|at| u32::try_from(at.div_euclid(1_000_000) + 1).ok()).unwrap_or(u32::MAX);
        let flags = Kind::Presence as u8 | Self::YIELDS;
        Self { key: to, value: record.cast_signed(), seq: seconds.cast_signed(), flags }
    }

    /// The record that gives way, where the claim says that one does.
    pub fn yielding_record(&self) -> Option<u64> {
        (self.flags & Self::YIELDS != 0).then_some(self.value.cast_unsigned())
    }

    /// Whether a record that gives way does so to this claim of presence.
    pub fn is_yielded_to_by(&self, yielding: &Self) -> bool {
        self.kind() == Kind::Presence && self.yielding_record().is_none() && yielding.yields_to_since(self.value)
    }

    /// Whether a record that gives way does so to what has been present since a moment. Microseconds since 1970.
    pub fn yields_to_since(&self, since: i64) -> bool {
        since <= i64::from(self.seq.cast_unsigned()).saturating_mul(1_000_000)
    }

    /// The record that the claim is about: its key, or the record that gives way to the key.
    pub fn record(&self) -> u64 {
        self.yielding_record().unwrap_or(self.key)
    }

    /// A claim. A weak one is for a record that says itself that it is a copy.
    pub fn new(kind: Kind, key: u64, weak: bool, value: i64, seq: i64) -> Self {
        let seq = i32::try_from(seq).unwrap_or(i32::MAX);
        Self { key, value, seq, flags: kind as u8 | if weak { Self::WEAK } else { 0 } }
    }

    /// A claim as stored.
    pub fn from_parts(key: u64, value: i64, seq: i32, flags: u8) -> Self {
        Self { key, value, seq, flags }
    }

    /// Kind, strength and outcome as stored.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// What the key stands for.
    pub fn kind(&self) -> Kind {
        match self.flags & Self::KIND {
            0 => Kind::Message,
            1 => Kind::ToolCall,
            2 => Kind::Response,
            _ => Kind::Presence,
        }
    }

    /// Whether the record says itself that it is a copy.
    pub fn is_weak(&self) -> bool {
        self.flags & Self::WEAK != 0
    }

    /// Sets that the record is a copy.
    pub fn set_weak(&mut self) {
        self.flags |= Self::WEAK;
    }

    /// Whether the session has the record.
    pub fn is_owned(&self) -> bool {
        self.flags & Self::OWNED != 0
    }

    /// Whether the row is the lake's: the agent has dropped the record from its file, or says less of it than it did.
    pub fn is_gone(&self) -> bool {
        self.flags & Self::GONE != 0
    }

    /// Whether the record is still in the file, which says less of it than the lake's row.
    pub fn is_kept(&self) -> bool {
        self.flags & Self::KEPT != 0
    }

    /// Sets that the lake's row says more of the record than the file still does.
    pub fn set_kept(&mut self) {
        self.flags |= Self::GONE | Self::KEPT;
    }

    /// Sets whether the session has the record.
    pub fn set_owned(&mut self, owned: bool) {
        self.flags = self.flags & !Self::OWNED | if owned { Self::OWNED } else { 0 };
    }

    /// Sets that the agent has dropped the record from its file.
    pub fn set_gone(&mut self) {
        self.flags = self.flags & !Self::KEPT | Self::GONE;
    }
}

/// A count that may be absent, in eight bytes: there is one set of them for each response that a run looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Count(i64);

impl Count {
    /// The count, where there is one.
    pub fn get(self) -> Option<i64> {
        (self.0 >= 0).then_some(self.0)
    }
}

impl Default for Count {
    fn default() -> Self {
        Self(-1)
    }
}

impl From<Option<i64>> for Count {
    fn from(count: Option<i64>) -> Self {
        count.filter(|count| *count >= 0).map_or(Self::default(), Self)
    }
}

/// One session's copy of a billed response, so that the fullest copy can be found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResponseCopy {
    /// The response.
    pub key: u64,
    /// Tokens.
    pub input: Count,
    /// Tokens.
    pub cache_read: Count,
    /// Tokens.
    pub cache_write_5m: Count,
    /// Tokens.
    pub cache_write_1h: Count,
    /// Tokens.
    pub output: Count,
    /// Tokens.
    pub reasoning: Count,
    /// Count.
    pub web_searches: Count,
    /// Cost as the agent recorded it. USD.
    pub recorded_cost: Option<f64>,
    /// Milliseconds.
    pub duration_ms: Count,
    /// Why the model stopped.
    pub stop_reason: Option<Box<str>>,
    /// Hash of the request's id.
    pub request: Option<u64>,
    /// Whether only a running count was recorded.
    pub is_partial: bool,
    /// Whether it belongs to a side conversation.
    pub is_sidechain: bool,
    /// Lines that repeated it in this source, beyond the first.
    pub copies: i64,
}

impl ResponseCopy {
    /// What a row says of the response of that key; a cost that it has is one that the agent recorded.
    pub fn of(key: u64, row: &UsageRow<'_>) -> Self {
        Self {
            key,
            input: row.input_tokens.into(),
            cache_read: row.cache_read_tokens.into(),
            cache_write_5m: row.cache_write_5m_tokens.into(),
            cache_write_1h: row.cache_write_1h_tokens.into(),
            output: row.output_tokens.into(),
            reasoning: row.reasoning_tokens.into(),
            web_searches: row.web_searches.into(),
            recorded_cost: row.cost_usd,
            duration_ms: row.duration_ms.into(),
            stop_reason: row.stop_reason.map(Into::into),
            request: None,
            is_partial: row.is_partial,
            is_sidechain: row.is_sidechain,
            copies: row.copies,
        }
    }

    /// Tokens of all kinds; none when none of them is said.
    pub fn total(&self) -> Option<i64> {
        self.counts().into_iter().filter_map(Count::get).reduce(i64::saturating_add)
    }

    /// How many kinds of tokens it counts.
    pub fn known_counts(&self) -> usize {
        self.counts().into_iter().filter_map(Count::get).count()
    }

    fn counts(&self) -> [Count; 5] {
        [self.input, self.cache_read, self.cache_write_5m, self.cache_write_1h, self.output]
    }
}

/// What a note tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NoteField {
    /// Summary of the session that has the message of that key.
    Summary,
    /// Title of the session of that presence key.
    Title,
    /// Kind of subagent of the session of that presence key.
    SubagentType,
    /// Session that the tool call of that key started.
    ChildSession,
    /// Folder of the session of that presence key, where its own source names none.
    ProjectPath,
    /// Session that started the one of that presence key, where its own source names none.
    Parent,
    /// Outermost session above the one of that presence key; likewise.
    Root,
}

/// Something that one source tells about a row of another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Note {
    /// What it is about.
    pub key: u64,
    /// What it tells.
    pub field: NoteField,
    /// The highest wins; then the later text.
    pub rank: i64,
    /// What it says.
    pub text: String,
}
