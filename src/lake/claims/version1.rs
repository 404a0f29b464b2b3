//! Claims files of the first version: 21 bytes for each claim of any kind.

use serde::Deserialize;

use super::StoredReplica;
use crate::identity::{Fact, Kind, Record, Replica, State, Yield};

#[derive(Deserialize)]
struct Stored<'a> {
    session: &'a str,
    source: &'a str,
    is_side: bool,
    first_moment: Option<i64>,
    claims: &'a [u8],
    responses: &'a [u8],
}

const PACKED: usize = 8 + 8 + 4 + 1;

const IS_COPY: u8 = 0b100;
const IS_OWNED: u8 = 0b1000;
const IS_GONE: u8 = 0b1_0000;
const YIELDS: u8 = 0b10_0000;
const IS_KEPT: u8 = 0b100_0000;

pub(super) fn parse(content: &[u8]) -> Result<Vec<StoredReplica>, String> {
    let stored: Vec<Stored<'_>> = postcard::from_bytes(content).map_err(|error| error.to_string())?;
    Ok(stored.iter().map(|stored| StoredReplica::whole(replica(stored))).collect())
}

fn replica(stored: &Stored<'_>) -> Replica {
    let mut replica = Replica {
        session: stored.session.into(),
        source: stored.source.into(),
        is_side: stored.is_side,
        first_moment: stored.first_moment,
        responses: postcard::from_bytes(stored.responses).unwrap_or_default(),
        ..Replica::default()
    };
    stored.claims.as_chunks::<PACKED>().0.iter().for_each(|packed| {
        let _ = add(packed, &mut replica);
    });
    replica
}

fn add(packed: &[u8; PACKED], replica: &mut Replica) -> Option<()> {
    let (key, rest) = packed.split_first_chunk()?;
    let (value, rest) = rest.split_first_chunk()?;
    let (seq, flags) = rest.split_first_chunk()?;
    let (key, value, seq) = (u64::from_le_bytes(*key), i64::from_le_bytes(*value), i32::from_le_bytes(*seq));
    let flags = *flags.first()?;
    let is_copy = flags & IS_COPY != 0;
    let kind = match flags & 0b11 {
        0 => Kind::Message,
        1 => Kind::ToolCall,
        2 => Kind::Response,
        _ if flags & YIELDS != 0 => {
            let until = i64::from(seq.cast_unsigned()) * 1_000_000;
            // Contributions of a companion file are now part of a record's fullness.
            if !is_copy {
                replica.yields.push(Yield { record: value.cast_unsigned(), fact: key, until });
            }
            return Some(());
        }
        _ => {
            replica.facts.push(Fact { key, since: value, is_copy, is_gone: flags & IS_GONE != 0 });
            return Some(());
        }
    };
    let state = match (flags & IS_KEPT != 0, flags & IS_GONE != 0) {
        (true, _) => State::Kept,
        (false, true) => State::Gone,
        (false, false) => State::Held,
    };
    let moment = if kind == Kind::Message { value } else { i64::MAX };
    // The fullness of messages was not recorded. A row that was kept was fuller than its source.
    let fullness = match (state, kind) {
        (State::Kept, _) => u64::MAX,
        (_, Kind::Message) => 0,
        _ => u64::try_from(value).unwrap_or(0),
    };
    replica.records.push(Record { key, kind, moment, fullness, seq, is_copy, is_owned: flags & IS_OWNED != 0, state });
    Some(())
}
