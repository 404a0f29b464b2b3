//! The claims of a part's sessions, kept beside the data so that a later copy can be told from its original.

use std::path::Path;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

use super::fs;
use crate::error::{Error, Result};
use crate::extract::{Claim, KeySet, Kind, ResponseCopy};

/// What one source claims for one session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Replica {
    /// The session.
    pub(crate) session: String,
    /// Path of the source.
    pub(crate) source: String,
    /// Whether it is a subagent's: of a main session and a subagent with the same record, the main session has it.
    pub(crate) is_side: bool,
    /// First moment in the source, copies included.
    pub(crate) first_moment: Option<i64>,
    /// Its claims, in the order of the records.
    pub(crate) claims: Vec<Claim>,
    /// What it says of each response that it claims, ordered by key.
    pub(crate) responses: Vec<ResponseCopy>,
}

#[derive(Serialize, Deserialize)]
struct Stored<'a> {
    session: &'a str,
    source: &'a str,
    is_side: bool,
    first_moment: Option<i64>,
    /// [`PACKED`] bytes for each claim.
    #[serde(serialize_with = "in_one_piece")]
    claims: &'a [u8],
    /// The responses' own encoding, so that it can be passed over.
    #[serde(serialize_with = "in_one_piece")]
    responses: &'a [u8],
}

/// Bytes, which otherwise are written one by one; they read the same.
fn in_one_piece<S: Serializer>(bytes: &&[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

const PACKED: usize = 8 + 8 + 4 + 1;
/// Bytes of the hash that a file begins with.
const HASH: usize = 8;

/// A replica as stored: a run looks at all their keys, and at the rest of a few.
pub(crate) struct StoredReplica {
    /// The session.
    pub(crate) session: String,
    /// Path of the source.
    pub(crate) source: String,
    is_side: bool,
    first_moment: Option<i64>,
    claims: Bytes,
    responses: Bytes,
}

impl StoredReplica {
    /// As a run finds it that reads what an earlier one wrote.
    pub(crate) fn pack(replica: &Replica) -> Result<Self> {
        let claims = pack(&replica.claims).into();
        let responses = postcard::to_stdvec(&replica.responses).map_err(|error| unwritten(&error))?.into();
        let Replica { session, source, is_side, first_moment, .. } = replica.clone();
        Ok(Self { session, source, is_side, first_moment, claims, responses })
    }

    /// Whether it claims any of the keys.
    pub(crate) fn claims_any(&self, keys: &KeySet) -> bool {
        let claims = self.claims.as_chunks::<PACKED>().0;
        claims.iter().filter_map(|claim| claim.first_chunk()).any(|key| keys.contains(&u64::from_le_bytes(*key)))
    }

    /// All of it.
    pub(crate) fn unpack(&self) -> Replica {
        Replica {
            session: self.session.clone(),
            source: self.source.clone(),
            is_side: self.is_side,
            first_moment: self.first_moment,
            claims: self.claims.as_chunks::<PACKED>().0.iter().filter_map(unpack_one).collect(),
            // The file's hash was right, so this is what was written.
            responses: postcard::from_bytes(&self.responses).unwrap_or_default(),
        }
    }
}

/// The content of a claims file, behind its hash.
pub(crate) fn encode(replicas: &[Replica]) -> Result<Vec<u8>> {
    let packed = replicas.iter().map(|replica| Ok((pack(&replica.claims), postcard::to_stdvec(&replica.responses)?)));
    let packed: Vec<(Vec<u8>, Vec<u8>)> = packed.collect::<Result<_, _>>().map_err(|error| unwritten(&error))?;
    let stored = replicas.iter().zip(&packed).map(|(replica, (claims, responses))| Stored {
        session: &replica.session,
        source: &replica.source,
        is_side: replica.is_side,
        first_moment: replica.first_moment,
        claims,
        responses,
    });
    // In one piece: a large session's claims are a good part of all the memory that a run takes.
    let size: usize = packed.iter().map(|(claims, responses)| claims.len() + responses.len()).sum();
    let mut file = Vec::with_capacity(HASH + size + size / 8);
    file.extend_from_slice(&[0; HASH]);
    let mut file = postcard::to_extend(&stored.collect::<Vec<_>>(), file).map_err(|error| unwritten(&error))?;
    if let Some((hash, content)) = file.split_first_chunk_mut::<HASH>() {
        *hash = xxh3_64(content).to_le_bytes();
    }
    Ok(file)
}

fn unwritten(error: &postcard::Error) -> Error {
    Error::Query(format!("cannot write claims: {error}"))
}

/// Reads a claims file.
pub(crate) fn open(path: &Path) -> Result<Vec<StoredReplica>> {
    let file = fs::read(path)?.ok_or_else(|| Error::damaged(path)("it is not there"))?;
    parse(&Bytes::from(file)).map_err(Error::damaged(path))
}

/// The replicas of a claims file's content.
fn parse(file: &Bytes) -> Result<Vec<StoredReplica>, String> {
    let (hash, content) = file.split_first_chunk::<HASH>().ok_or("it is cut off")?;
    if u64::from_le_bytes(*hash) != xxh3_64(content) {
        return Err("its content does not have the hash it should have".to_owned());
    }
    let stored: Vec<Stored<'_>> = postcard::from_bytes(content).map_err(|error| error.to_string())?;
    let replicas = stored.into_iter().map(|stored| StoredReplica {
        session: stored.session.to_owned(),
        source: stored.source.to_owned(),
        is_side: stored.is_side,
        first_moment: stored.first_moment,
        claims: file.slice_ref(stored.claims),
        responses: file.slice_ref(stored.responses),
    });
    Ok(replicas.collect())
}

/// Reads a claims file, all of it.
pub(crate) fn load(path: &Path) -> Result<Vec<Replica>> {
    Ok(open(path)?.iter().map(StoredReplica::unpack).collect())
}

pub(crate) fn pack(claims: &[Claim]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(claims.len() * PACKED);
    for claim in claims {
        bytes.extend_from_slice(&pack_one(claim));
    }
    bytes
}

/// A claim as it is stored.
fn pack_one(claim: &Claim) -> [u8; PACKED] {
    let mut packed = [0; PACKED];
    let (key, rest) = packed.split_at_mut(8);
    let (value, rest) = rest.split_at_mut(8);
    let (seq, flags) = rest.split_at_mut(4);
    key.copy_from_slice(&claim.key.to_le_bytes());
    value.copy_from_slice(&claim.value.to_le_bytes());
    seq.copy_from_slice(&claim.seq.to_le_bytes());
    flags.copy_from_slice(&[claim.flags()]);
    packed
}

fn unpack_one(packed: &[u8; PACKED]) -> Option<Claim> {
    let (key, rest) = packed.split_first_chunk()?;
    let (value, rest) = rest.split_first_chunk()?;
    let (seq, flags) = rest.split_first_chunk()?;
    let (key, value, seq) = (u64::from_le_bytes(*key), i64::from_le_bytes(*value), i32::from_le_bytes(*seq));
    Some(Claim::from_parts(key, value, seq, *flags.first()?))
}

impl Replica {
    /// First record that is the session's own.
    pub(crate) fn started_at(&self) -> Option<i64> {
        let own = self.claims.iter().filter(|claim| claim.kind() == Kind::Message && claim.is_owned());
        own.map(|claim| claim.value).filter(|moment| *moment != i64::MAX).min()
    }

    /// What it says again of responses.
    pub(crate) fn repeats(&self) -> impl Iterator<Item = &ResponseCopy> {
        let pairs = self.responses.iter().zip(self.responses.iter().skip(1));
        pairs.filter(|(copy, repeat)| copy.key == repeat.key).map(|(_, repeat)| repeat)
    }

    /// Whether it claims presence under a key, and whether it does so as the original.
    pub(crate) fn is_present(&self, key: u64) -> [bool; 2] {
        let presence = |claim: &&Claim| claim.kind() == Kind::Presence && claim.yielding_record().is_none();
        let mut present = self.claims.iter().filter(|claim| claim.key == key).filter(presence).peekable();
        [present.peek().is_some(), present.any(|claim| !claim.is_weak())]
    }

    /// Whether any row is the session's own.
    pub(crate) fn owns_rows(&self) -> bool {
        self.claims.iter().any(|claim| claim.is_owned() && claim.kind() != Kind::Presence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_come_back_as_they_were() {
        let mut claim = Claim::new(Kind::Response, u64::MAX, true, i64::MIN, 7);
        claim.set_owned(true);
        claim.set_gone();
        let response = ResponseCopy {
            key: 1,
            output: Some(5).into(),
            stop_reason: Some("end_turn".into()),
            ..ResponseCopy::default()
        };
        let replica = Replica {
            session: "s".to_owned(),
            source: "/p".to_owned(),
            is_side: true,
            first_moment: Some(3),
            claims: vec![claim, Claim::new(Kind::Message, 0, false, i64::MAX, 0)],
            responses: vec![response],
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.claims");
        fs::write(&path, &encode(std::slice::from_ref(&replica)).expect("encodes")).expect("writes");
        assert_eq!(load(&path).expect("loads"), [replica]);
    }
}
