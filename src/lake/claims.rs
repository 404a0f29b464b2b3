//! The lake's memory of each replica, in one file per part: `_llrem/claims/…/NAME.claims`.
//!
//! A file is a hash and a list of replicas. Keys have columns of their own, so that a run can find who shares a record
//! without decompressing the rest.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
use zstd::bulk::Compressor;

use super::fs;
use crate::error::{Error, Result};
use crate::identity::{Fact, KeySet, Kind, Record, Replica, ResponseCopies, State, Yield};

mod version1;

/// Bytes of the hash at the beginning of a file.
const HASH: usize = 8;
/// Seed of the hash. It distinguishes this version of the file from the first, whose seed is 0.
const SEED: u64 = 2;
/// Fast, and good enough for columns of small numbers.
const ZSTD_LEVEL: i32 = -1;

#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    session: &'a str,
    source: &'a str,
    is_side: bool,
    first_moment: Option<i64>,
    /// Eight bytes for each record.
    #[serde(serialize_with = "in_one_piece")]
    records: &'a [u8],
    /// Eight bytes for each fact.
    #[serde(serialize_with = "in_one_piece")]
    facts: &'a [u8],
    /// Eight bytes for each yield: its fact.
    #[serde(serialize_with = "in_one_piece")]
    yields: &'a [u8],
    /// [`Details`], compressed.
    #[serde(serialize_with = "in_one_piece")]
    details: &'a [u8],
}

/// The content of records, facts and yields except their keys, column by column, and the responses.
#[derive(Default, Serialize, Deserialize)]
struct Details {
    flags: Vec<u8>,
    moments: Vec<i64>,
    fullness: Vec<u64>,
    places: Vec<i32>,
    /// Since when each fact is present, and its flags.
    facts: Vec<(i64, u8)>,
    /// The record of each yield, and its latest moment.
    yields: Vec<(u64, i64)>,
    responses: ResponseCopies,
}

/// Bytes that serde writes in one go. They read the same as bytes that are written one by one.
fn in_one_piece<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// A replica as stored. A run looks at all keys, and at the rest of few replicas.
#[derive(Clone)]
pub(crate) struct StoredReplica {
    /// The session.
    pub(crate) session: Arc<str>,
    /// Name of the source.
    pub(crate) source: Arc<str>,
    is_side: bool,
    first_moment: Option<i64>,
    content: Content,
}

#[derive(Clone)]
enum Content {
    Packed(Packed),
    /// From a source, or from a file of the first version.
    Whole(Box<Replica>),
}

/// The columns of [`Stored`], one after another. A run holds those of all replicas of the lake.
#[derive(Clone)]
struct Packed {
    /// The columns of all replicas of a file.
    columns: Arc<[u8]>,
    /// Offset of the first column, then the end of each column. Bytes.
    bounds: [u32; 5],
}

impl Packed {
    fn of(replica: &Replica, compressor: &mut Compressor<'_>) -> Result<Self> {
        let details = postcard::to_stdvec(&Details::of(replica)).map_err(|error| unwritten(&error))?;
        let details = compressor.compress(&details).map_err(|error| unwritten(&error))?;
        let mut columns = Vec::new();
        let bounds = add_columns(
            &mut columns,
            [
                &bytes_of(replica.records.iter().map(|record| record.key)),
                &bytes_of(replica.facts.iter().map(|fact| fact.key)),
                &bytes_of(replica.yields.iter().map(|it| it.fact)),
                &details,
            ],
        );
        Ok(Self { columns: columns.into(), bounds })
    }

    /// Returns keys of records, facts and yields, and the details.
    fn columns(&self) -> [&[u8]; 4] {
        let [start, records, facts, yields, details] = self.bounds.map(|bound| bound as usize);
        let column = |start, end| self.columns.get(start..end).unwrap_or_default();
        [column(start, records), column(records, facts), column(facts, yields), column(yields, details)]
    }
}

/// Appends the columns of a replica. Returns their bounds.
fn add_columns(all: &mut Vec<u8>, columns: [&[u8]; 4]) -> [u32; 5] {
    let mut bounds = [u32::try_from(all.len()).unwrap_or(u32::MAX); 5];
    for (column, end) in columns.into_iter().zip(bounds.iter_mut().skip(1)) {
        all.extend_from_slice(column);
        *end = u32::try_from(all.len()).unwrap_or(u32::MAX);
    }
    bounds
}

/// Keys of replicas, for finding others that share or supersede their records.
#[derive(Default)]
pub(crate) struct Keys {
    /// Records and facts: both may supersede another session's.
    records: KeySet,
    facts: KeySet,
    yields: KeySet,
}

impl Keys {
    /// Collects the keys of replicas.
    pub(crate) fn of<'r>(replicas: impl Iterator<Item = &'r Replica>) -> Self {
        let mut keys = Self::default();
        for replica in replicas {
            keys.records.extend(replica.records.iter().map(|record| record.key));
            keys.facts.extend(replica.facts.iter().map(|fact| fact.key));
            keys.yields.extend(replica.yields.iter().map(|it| it.fact));
        }
        keys
    }

    /// Returns these keys as keys of both records and facts.
    pub(crate) fn named(keys: KeySet) -> Self {
        Self { facts: keys.clone(), records: keys.clone(), yields: keys }
    }

    /// True if there are no keys.
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.facts.is_empty() && self.yields.is_empty()
    }
}

impl StoredReplica {
    /// Wraps a replica that is not stored.
    pub(crate) fn whole(replica: Replica) -> Self {
        let (session, source) = (replica.session.clone(), replica.source.clone());
        let (is_side, first_moment) = (replica.is_side, replica.first_moment);
        Self { session, source, is_side, first_moment, content: Content::Whole(Box::new(replica)) }
    }

    /// True if it shares a record, or if records and facts of one may supersede those of the other.
    pub(crate) fn shares(&self, keys: &Keys) -> bool {
        match &self.content {
            Content::Packed(packed) => {
                let [records, facts, yields, _] = packed.columns();
                any_of(records, |key| keys.records.contains(&key) || keys.facts.contains(&key))
                    || any_of(facts, |key| keys.yields.contains(&key) || keys.records.contains(&key))
                    || any_of(yields, |key| keys.facts.contains(&key))
            }
            Content::Whole(replica) => {
                let records = replica.records.iter().map(|record| record.key);
                let facts = replica.facts.iter().map(|fact| fact.key);
                let mut yields = replica.yields.iter().map(|it| it.fact);
                records.into_iter().any(|key| keys.records.contains(&key) || keys.facts.contains(&key))
                    || facts.into_iter().any(|key| keys.yields.contains(&key) || keys.records.contains(&key))
                    || yields.any(|key| keys.facts.contains(&key))
            }
        }
    }

    fn packed(&self, compressor: &mut Compressor<'_>) -> Result<Packed> {
        match &self.content {
            Content::Packed(packed) => Ok(packed.clone()),
            Content::Whole(replica) => Packed::of(replica, compressor),
        }
    }

    /// Decodes the whole replica.
    pub(crate) fn unpack(&self) -> Replica {
        let Self { session, source, is_side, first_moment, content } = self;
        match content {
            Content::Whole(replica) => Replica::clone(replica),
            Content::Packed(packed) => {
                let [records, facts, yields, details] = packed.columns();
                // The file's hash was right, so the content is as written.
                let details = unpack_details(details).unwrap_or_default();
                let replica = Replica {
                    session: session.clone(),
                    source: source.clone(),
                    is_side: *is_side,
                    first_moment: *first_moment,
                    ..Replica::default()
                };
                details.fill(replica, records, facts, yields)
            }
        }
    }
}

fn bytes_of(keys: impl Iterator<Item = u64>) -> Vec<u8> {
    keys.flat_map(u64::to_le_bytes).collect()
}

fn keys_in(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|key| u64::from_le_bytes(*key))
}

fn any_of(bytes: &[u8], is_wanted: impl Fn(u64) -> bool) -> bool {
    keys_in(bytes).any(is_wanted)
}

const IS_COPY: u8 = 0b100;
const IS_OWNED: u8 = 0b1000;
const IS_GONE: u8 = 0b1_0000;
const IS_KEPT: u8 = 0b10_0000;

impl Details {
    fn of(replica: &Replica) -> Self {
        Self {
            flags: replica.records.iter().map(flags).collect(),
            moments: replica.records.iter().map(|record| record.moment).collect(),
            fullness: replica.records.iter().map(|record| record.fullness).collect(),
            places: replica.records.iter().map(|record| record.seq).collect(),
            facts: replica
                .facts
                .iter()
                .map(|fact| (fact.since, flag(fact.is_copy, IS_COPY) | flag(fact.is_gone, IS_GONE)))
                .collect(),
            yields: replica.yields.iter().map(|it| (it.record, it.until)).collect(),
            responses: replica.responses.clone(),
        }
    }

    fn fill(self, mut replica: Replica, records: &[u8], facts: &[u8], yields: &[u8]) -> Replica {
        let columns = self.flags.into_iter().zip(self.moments).zip(self.fullness).zip(self.places);
        let record = |(key, (((flags, moment), fullness), seq))| Record {
            key,
            kind: kind(flags),
            moment,
            fullness,
            seq,
            is_copy: flags & IS_COPY != 0,
            is_owned: flags & IS_OWNED != 0,
            state: state(flags),
        };
        replica.records = keys_in(records).zip(columns).map(record).collect();
        let fact =
            |(key, (since, flags))| Fact { key, since, is_copy: flags & IS_COPY != 0, is_gone: flags & IS_GONE != 0 };
        replica.facts = keys_in(facts).zip(self.facts).map(fact).collect();
        let yields = keys_in(yields).zip(self.yields);
        replica.yields = yields.map(|(fact, (record, until))| Yield { record, fact, until }).collect();
        replica.responses = self.responses;
        replica
    }
}

fn flag(is_set: bool, flag: u8) -> u8 {
    if is_set { flag } else { 0 }
}

fn flags(record: &Record) -> u8 {
    let state = match record.state {
        State::Held => 0,
        State::Kept => IS_KEPT,
        State::Gone => IS_GONE,
    };
    record.kind as u8 | flag(record.is_copy, IS_COPY) | flag(record.is_owned, IS_OWNED) | state
}

fn kind(flags: u8) -> Kind {
    match flags & 0b11 {
        0 => Kind::Message,
        1 => Kind::ToolCall,
        2 => Kind::Response,
        _ => Kind::Presence,
    }
}

fn state(flags: u8) -> State {
    match (flags & IS_KEPT != 0, flags & IS_GONE != 0) {
        (true, _) => State::Kept,
        (false, true) => State::Gone,
        (false, false) => State::Held,
    }
}

fn unpack_details(packed: &[u8]) -> Option<Details> {
    postcard::from_bytes(&zstd::stream::decode_all(packed).ok()?).ok()
}

/// Encodes a claims file. Replicas that are stored already are copied without decoding.
pub(crate) fn encode(replicas: &[StoredReplica]) -> Result<Vec<u8>> {
    let mut compressor = Compressor::new(ZSTD_LEVEL).map_err(|error| unwritten(&error))?;
    let contents: Vec<Packed> = replicas.iter().map(|it| it.packed(&mut compressor)).collect::<Result<_>>()?;
    let stored = replicas.iter().zip(&contents).map(|(replica, packed)| {
        let [records, facts, yields, details] = packed.columns();
        let StoredReplica { session, source, is_side, first_moment, .. } = replica;
        Stored { session, source, is_side: *is_side, first_moment: *first_moment, records, facts, yields, details }
    });
    let mut file =
        postcard::to_extend(&stored.collect::<Vec<_>>(), vec![0; HASH]).map_err(|error| unwritten(&error))?;
    if let Some((hash, content)) = file.split_first_chunk_mut::<HASH>() {
        *hash = xxh3_64_with_seed(content, SEED).to_le_bytes();
    }
    Ok(file)
}

fn unwritten(error: &dyn std::fmt::Display) -> Error {
    Error::Query(format!("cannot write claims: {error}"))
}

/// Reads a claims file.
pub(crate) fn open(path: &Path) -> Result<Vec<StoredReplica>> {
    let file = fs::read(path)?.ok_or_else(|| Error::damaged(path)("it is not there"))?;
    parse(&file).map_err(Error::damaged(path))
}

/// Decodes the replicas of a claims file.
fn parse(file: &[u8]) -> Result<Vec<StoredReplica>, String> {
    let (hash, content) = file.split_first_chunk::<HASH>().ok_or("it is cut off")?;
    let hash = u64::from_le_bytes(*hash);
    if hash == xxh3_64(content) {
        return version1::parse(content);
    }
    if hash != xxh3_64_with_seed(content, SEED) {
        return Err("its hash is wrong".to_owned());
    }
    let stored: Vec<Stored<'_>> = postcard::from_bytes(content).map_err(|error| error.to_string())?;
    let mut columns = Vec::with_capacity(content.len());
    let add = |it: &Stored<'_>| add_columns(&mut columns, [it.records, it.facts, it.yields, it.details]);
    let bounds: Vec<[u32; 5]> = stored.iter().map(add).collect();
    let columns: Arc<[u8]> = columns.into();
    let replicas = stored.into_iter().zip(bounds).map(|(stored, bounds)| StoredReplica {
        session: stored.session.into(),
        source: stored.source.into(),
        is_side: stored.is_side,
        first_moment: stored.first_moment,
        content: Content::Packed(Packed { columns: Arc::clone(&columns), bounds }),
    });
    Ok(replicas.collect())
}

/// Reads and decodes a whole claims file.
pub(crate) fn load(path: &Path) -> Result<Vec<Replica>> {
    Ok(open(path)?.iter().map(StoredReplica::unpack).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::ResponseCopy;

    #[test]
    fn replicas_come_back_as_they_were() {
        let record = Record {
            moment: i64::MIN,
            fullness: u64::MAX,
            is_copy: true,
            is_owned: true,
            state: State::Kept,
            ..Record::new(Kind::Response, u64::MAX, 7)
        };
        let response = ResponseCopy {
            key: 1,
            output: Some(5).into(),
            stop_reason: Some("end_turn".into()),
            ..ResponseCopy::default()
        };
        let replica = Replica {
            session: "s".into(),
            source: "/p".into(),
            is_side: true,
            first_moment: Some(3),
            records: vec![record, Record { state: State::Gone, ..Record::new(Kind::Message, 0, 0) }],
            facts: vec![Fact { key: 3, since: 4, is_copy: true, is_gone: false }],
            yields: vec![Yield { record: 5, fact: 6, until: i64::MAX }],
            responses: vec![response].into(),
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.claims");
        let file = encode(&[StoredReplica::whole(replica.clone())]).expect("encodes");
        fs::write(&path, &file).expect("writes");
        assert_eq!(load(&path).expect("loads"), [replica]);
        assert_eq!(encode(&open(&path).expect("opens")).expect("encodes"), file);
    }
}
