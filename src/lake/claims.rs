//! The claims of a part's sessions, kept beside the data so that a later copy can be told from its original.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::fs;
use crate::error::{Error, Result};
use crate::extract::{Claim, Kind, ResponseCopy};

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
    session: String,
    source: String,
    is_side: bool,
    first_moment: Option<i64>,
    /// [`PACKED`] bytes for each claim.
    #[serde(borrow)]
    claims: &'a [u8],
    responses: Cow<'a, [ResponseCopy]>,
}

const PACKED: usize = 8 + 8 + 4 + 1;

pub(crate) fn encode(replicas: &[Replica]) -> Result<Vec<u8>> {
    let packed: Vec<Vec<u8>> = replicas.iter().map(|replica| pack(&replica.claims)).collect();
    let stored: Vec<Stored<'_>> = replicas
        .iter()
        .zip(&packed)
        .map(|(replica, claims)| Stored {
            session: replica.session.clone(),
            source: replica.source.clone(),
            is_side: replica.is_side,
            first_moment: replica.first_moment,
            claims,
            responses: Cow::Borrowed(&replica.responses),
        })
        .collect();
    postcard::to_stdvec(&stored).map_err(|error| Error::Query(format!("cannot write claims: {error}")))
}

pub(crate) fn load(path: &Path) -> Result<Vec<Replica>> {
    let damaged = |reason: String| Error::DamagedState { path: path.to_owned(), reason };
    let bytes = fs::read(path)?.ok_or_else(|| damaged("it is not there".to_owned()))?;
    let stored: Vec<Stored<'_>> = postcard::from_bytes(&bytes).map_err(|error| damaged(error.to_string()))?;
    Ok(stored
        .into_iter()
        .map(|stored| Replica {
            session: stored.session,
            source: stored.source,
            is_side: stored.is_side,
            first_moment: stored.first_moment,
            claims: unpack(stored.claims),
            responses: stored.responses.into_owned(),
        })
        .collect())
}

fn pack(claims: &[Claim]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(claims.len() * PACKED);
    for claim in claims {
        bytes.extend_from_slice(&claim.key.to_le_bytes());
        bytes.extend_from_slice(&claim.value.to_le_bytes());
        bytes.extend_from_slice(&claim.seq.to_le_bytes());
        bytes.push(claim.flags());
    }
    bytes
}

fn unpack(bytes: &[u8]) -> Vec<Claim> {
    bytes.as_chunks::<PACKED>().0.iter().filter_map(unpack_one).collect()
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
