//! Decides who owns a record. Agents copy history between files, and the lake has each record once.
//!
//! Of the sessions that hold a record, the owner comes first in this order:
//! 1. whether it can show the record: a session that dropped it before the lake had its row cannot;
//! 2. provenance: a session with an original comes before sessions that only have copies;
//! 3. kind: a main session comes before a subagent;
//! 4. content of messages and tool calls: a session with all of the record comes before one that lost a part of it. For
//!    a response, the owner's row has the counts of the fullest copy anyway;
//! 5. the first moment that was ever in the session, including copies;
//! 6. lexicographic order of its messages by time, including dropped ones. The first difference decides, so an origin
//!    comes before its forks;
//! 7. its id.
//!
//! The order of two sessions depends only on these two. Of the owner's replicas, the fullest one has the row. A
//! superseded record has no owner.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

use super::index::Index;
use super::replica::content_of;
use super::{KeyMap, KeySet, Kind, Record, Replica, ResponseCopy, State, session_key};

/// All replicas that matter in a run, and the decisions about their records.
#[derive(Default)]
pub(crate) struct Owners {
    members: Vec<Member>,
    /// Number of each replica, by a hash of its session's number and its source.
    numbers: KeyMap<u32>,
    sessions: Vec<Session>,
    /// Number of each session, by its key.
    session_numbers: KeyMap<u32>,
    /// Rank of each session, by its number. `None` after a replica was added.
    ranks: Option<Vec<u32>>,
    /// Session numbers by rank. New sessions are at the end, unsorted.
    order: Vec<u32>,
    /// First replica with a key.
    first: Index,
    /// All replicas with a key, for keys with two or more, and for responses that one replica repeats.
    contested: KeyMap<Vec<u32>>,
    decided: KeyMap<Decision>,
    /// Since when each fact is present.
    since: KeyMap<Option<i64>>,
    /// Decodes replicas of the lake.
    of_lake: Option<OfLake>,
}

/// Decodes the replica of the lake with a number.
type OfLake = Box<dyn Fn(u32) -> Replica + Send>;

struct Member {
    replica: Body,
    session: u32,
    is_side: bool,
    first_moment: Option<i64>,
    /// True if its source was read in this run, so that its rows are available.
    is_read: bool,
    /// True if its source was read in this run and no longer has the session.
    is_dropped: bool,
    /// True if its source can be read, so that it can provide rows that it did not have.
    can_gain: bool,
    /// Place of each key among its records and facts. Filled on first use.
    keys: Option<Box<KeyMap<Place>>>,
}

/// The content of a replica. A run over an unchanged lake reads millions of records that the lake has too.
enum Body {
    Decoded(Arc<Replica>),
    /// Only the lake has it, packed, as its replica with this number.
    OfLake(u32),
}

#[derive(Clone, Copy)]
enum Place {
    Record(u32),
    Fact(u32),
}

struct Session {
    agent: Arc<str>,
    id: Arc<str>,
    members: Vec<u32>,
    /// Moment and key of each message, in order. Filled on first use.
    word: Option<Vec<(i64, u64)>>,
}

/// The owner of a contested key.
#[derive(Clone, Copy)]
struct Decision {
    owner: Option<u32>,
    /// Hash of all replicas with the key.
    holders: u64,
}

/// One replica's claim to a key.
struct Claim {
    is_fact: bool,
    is_copy: bool,
    is_gone: bool,
    is_owned: bool,
    is_of_lake: bool,
    is_response: bool,
    fullness: u64,
}

/// The decisions about one replica.
pub(crate) struct Verdict {
    /// For each of its records, in order: true if the replica owns it.
    pub(crate) owned: Vec<bool>,
    /// Session whose history it copied.
    pub(crate) forked_from: Option<Arc<str>>,
    /// Its own records that it dropped, and that another replica holds.
    pub(crate) held: KeySet,
    /// Changes whenever its rows would change.
    pub(crate) hash: u64,
}

impl Owners {
    /// Creates owners that need not hold replicas that the lake has too.
    pub(crate) fn over(of_lake: OfLake) -> Self {
        Self { of_lake: Some(of_lake), ..Self::default() }
    }

    /// Adds a replica, or replaces it by what was read. Returns its number.
    pub(crate) fn add(&mut self, agent: &str, replica: Arc<Replica>, is_read: bool, can_gain: bool) -> u32 {
        let session = self.session_number(agent, &replica);
        let name = xxh3_64_with_seed(replica.source.as_bytes(), session.into());
        match self.numbers.get(&name).copied() {
            Some(number) => {
                if is_read {
                    self.replace(number, &replica, true, true);
                }
                number
            }
            None => {
                let number = self.insert(session, replica, is_read, can_gain);
                self.numbers.insert(name, number);
                number
            }
        }
    }

    fn insert(&mut self, session: u32, replica: Arc<Replica>, is_read: bool, can_gain: bool) -> u32 {
        let number = number(self.members.len());
        self.index(number, &replica, None);
        let (is_side, first_moment) = (replica.is_side, replica.first_moment);
        let (replica, is_dropped) = (Body::Decoded(replica), false);
        self.members.push(Member {
            replica,
            session,
            is_side,
            first_moment,
            is_read,
            is_dropped,
            can_gain,
            keys: None,
        });
        if let Some(session) = self.sessions.get_mut(session as usize) {
            session.members.push(number);
            session.word = None;
        }
        self.forget_decisions();
        number
    }

    fn session_number(&mut self, agent: &str, replica: &Replica) -> u32 {
        let next = number(self.sessions.len());
        let session = *self.session_numbers.entry(session_key(agent, &replica.session)).or_insert(next);
        if session == next {
            let known = self.sessions.last().map(|last| &last.agent).filter(|known| &***known == agent);
            let (agent, id) = (known.cloned().unwrap_or_else(|| agent.into()), Arc::clone(&replica.session));
            self.sessions.push(Session { agent, id, members: Vec::new(), word: None });
            self.order.push(session);
        }
        session
    }

    /// Adds a replica whose source was read and no longer has its session, or replaces it. Returns its number.
    pub(crate) fn add_dropped(&mut self, agent: &str, replica: &Arc<Replica>) -> u32 {
        let number = self.add(agent, Arc::clone(replica), false, false);
        if self.replica(number).as_ref() != Some(replica) {
            self.replace(number, replica, false, false);
        }
        if let Some(member) = self.members.get_mut(number as usize) {
            member.is_dropped = true;
        }
        number
    }

    fn replace(&mut self, number: u32, replica: &Arc<Replica>, is_read: bool, can_gain: bool) {
        let before = self.replica(number);
        if let Some(member) = self.members.get_mut(number as usize) {
            let session = member.session;
            member.replica = Body::Decoded(Arc::clone(replica));
            (member.is_side, member.first_moment) = (replica.is_side, replica.first_moment);
            (member.is_read, member.can_gain, member.keys) = (is_read, can_gain, None);
            self.index(number, replica, before.as_deref());
            if let Some(session) = self.sessions.get_mut(session as usize) {
                session.word = None;
            }
        }
        self.forget_decisions();
    }

    fn forget_decisions(&mut self) {
        self.ranks = None;
        self.decided.clear();
        self.since.clear();
    }

    /// Indexes the keys of a replica. `before` is its previous version.
    fn index(&mut self, number: u32, replica: &Replica, before: Option<&Replica>) {
        let is_known: super::KeySet = before.into_iter().flat_map(keys).collect();
        for key in keys(replica).filter(|key| !is_known.contains(key)) {
            let first = self.first.get_or_insert(key, number);
            if first != number {
                let holders = self.contested.entry(key).or_insert_with(|| vec![first]);
                if holders.last() != Some(&number) {
                    holders.push(number);
                }
            }
        }
        for repeat in replica.responses.repeats() {
            self.contested.entry(repeat.key).or_insert_with(|| vec![number]);
        }
    }

    /// Returns the replica with a number.
    pub(crate) fn replica(&self, number: u32) -> Option<Arc<Replica>> {
        let member = self.members.get(number as usize)?;
        match &member.replica {
            Body::Decoded(replica) => Some(Arc::clone(replica)),
            Body::OfLake(number) => {
                let mut replica = (self.of_lake.as_ref()?)(*number);
                // A reading does not know which records it owns.
                let held = replica.records.iter_mut().filter(|record| !record.is_of_lake());
                held.for_each(|record| record.is_owned = false);
                Some(Arc::new(replica))
            }
        }
    }

    /// Frees a replica that was read and judged, because the lake has the same one. A replica with a contested key stays
    /// in memory.
    pub(crate) fn leave_in_lake(&mut self, number: u32, in_lake: u32) {
        if let Some(member) = self.members.get_mut(number as usize).filter(|member| member.keys.is_none()) {
            member.replica = Body::OfLake(in_lake);
        }
    }

    /// Returns the number of each replica with its agent, and whether a reading of this run decided what it has.
    pub(crate) fn members(&self) -> impl Iterator<Item = (u32, &Arc<str>, bool)> {
        let agent = |member: &Member| self.sessions.get(member.session as usize).map(|session| &session.agent);
        let members = self.members.iter().zip(0..);
        members.filter_map(move |(member, number)| Some((number, agent(member)?, member.is_read || member.is_dropped)))
    }

    /// True if any replica has a key.
    pub(crate) fn knows(&self, key: u64) -> bool {
        self.first.get(key).is_some()
    }

    /// Returns agent and id of the session that has a key.
    pub(crate) fn session_of(&mut self, key: u64) -> Option<(String, String)> {
        let holder = self.holder_of(key)?;
        let session = self.sessions.get(self.session(holder)? as usize)?;
        Some((session.agent.to_string(), session.id.to_string()))
    }

    fn holder_of(&mut self, key: u64) -> Option<u32> {
        match self.decide(key) {
            Some(decision) => decision.owner,
            None => self.first.get(key),
        }
    }

    /// Decides every record of a replica.
    pub(crate) fn judge(&mut self, number: u32) -> Verdict {
        let mut verdict = Verdict { owned: Vec::new(), forked_from: None, held: KeySet::default(), hash: 0 };
        let Some(replica) = self.replica(number) else { return verdict };
        verdict.owned.reserve(replica.records.len());
        let mut last_copied = None;
        let superseded = self.superseded(&replica);
        for record in &replica.records {
            if let Some(fact) = superseded.get(&record.key) {
                verdict.owned.push(false);
                verdict.hash ^= record.key.rotate_left(1);
                if record.kind == Kind::Message && record.is_copy {
                    let holder = self.holder_of(*fact);
                    self.note_origin(&replica, record, holder, &mut verdict, &mut last_copied);
                    verdict.hash ^= outcome_hash(record, holder, 0);
                }
                continue;
            }
            let Some(Decision { owner, holders }) = self.decide(record.key) else {
                verdict.owned.push(true);
                continue;
            };
            verdict.owned.push(owner == Some(number));
            // A later session with more of a message copied it nevertheless.
            let is_copied = record.is_copy || owner.and_then(|owner| self.rank_of(owner)) < self.rank_of(number);
            if owner != Some(number) && record.kind == Kind::Message && is_copied {
                self.note_origin(&replica, record, owner, &mut verdict, &mut last_copied);
            }
            // Only the owner's row has the counts of all copies.
            let copies = if owner == Some(number) && record.kind == Kind::Response { holders } else { 0 };
            verdict.hash ^= outcome_hash(record, owner, copies);
            if owner == Some(number) && record.state == State::Gone && self.is_held(record.key) {
                verdict.held.insert(record.key);
                verdict.hash ^= record.key.rotate_left(2);
            }
        }
        verdict
    }

    /// True if a replica holds a record. A deleted file still counts, unless its session is also in another file.
    fn is_held(&mut self, key: u64) -> bool {
        let holders = self.contested.get(&key).cloned().unwrap_or_default();
        holders.into_iter().any(|number| self.holds(number, key) && self.may_hold(number))
    }

    fn holds(&mut self, number: u32, key: u64) -> bool {
        matches!(self.place(number, key), Some((replica, Place::Record(at)))
            if replica.records.get(at as usize).is_some_and(|record| record.state != State::Gone))
    }

    fn may_hold(&self, number: u32) -> bool {
        let is_there = |number: u32| self.members.get(number as usize).is_some_and(|it| it.is_read || it.can_gain);
        let session = self.session(number).and_then(|session| self.sessions.get(session as usize));
        is_there(number) || session.is_some_and(|session| !session.members.iter().any(|other| is_there(*other)))
    }

    /// Records who owns a message that a replica copied. The latest message decides.
    fn note_origin(
        &self,
        replica: &Replica,
        record: &Record,
        owner: Option<u32>,
        verdict: &mut Verdict,
        last_copied: &mut Option<i64>,
    ) {
        let session = owner.and_then(|owner| self.sessions.get(self.session(owner)? as usize));
        let origin = session.map(|session| Arc::clone(&session.id));
        if *last_copied < Some(record.moment) && origin.as_ref() != Some(&replica.session) {
            verdict.forked_from = origin;
            *last_copied = Some(record.moment);
        }
    }

    /// Returns the superseded records of a replica, each with the fact that supersedes it.
    fn superseded(&mut self, replica: &Replica) -> KeyMap<u64> {
        let mut superseded = KeyMap::default();
        for it in &replica.yields {
            if self.present_since(it.fact).is_some_and(|since| it.yields_to_since(since)) {
                superseded.insert(it.record, it.fact);
            }
        }
        superseded
    }

    /// Returns the earliest moment since which a fact is present, or `None` if it is absent.
    fn present_since(&mut self, fact: u64) -> Option<i64> {
        if let Some(since) = self.since.get(&fact) {
            return *since;
        }
        let holders = match self.contested.get(&fact) {
            Some(holders) => holders.clone(),
            None => self.first.get(fact).into_iter().collect(),
        };
        let since = holders.into_iter().filter_map(|number| match self.place(number, fact)? {
            (replica, Place::Fact(at)) => replica.facts.get(at as usize).map(|fact| fact.since),
            (_, Place::Record(_)) => None,
        });
        let since = since.min();
        self.since.insert(fact, since);
        since
    }

    /// Decides who owns a key. Returns `None` if at most one replica has it.
    fn decide(&mut self, key: u64) -> Option<Decision> {
        if let Some(decided) = self.decided.get(&key) {
            return Some(*decided);
        }
        if !self.contested.contains_key(&key) {
            return None;
        }
        self.rank_sessions();
        let holders = self.contested.get(&key)?.clone();
        let mut claims: Vec<(u32, Claim)> = Vec::with_capacity(holders.len());
        for number in &holders {
            claims.extend(self.claim(*number, key).map(|claim| (*number, claim)));
        }
        let can_show = |(number, claim): &&(u32, Claim)| self.can_show(*number, claim);
        let originals = claims.iter().filter(can_show).filter(|(_, claim)| !claim.is_copy);
        let mut originals: Vec<u32> = originals.filter_map(|(number, _)| self.session(*number)).collect();
        originals.sort_unstable();
        // Of each session, the last is the largest.
        let size = |(number, claim): &(u32, Claim)| Some((self.session(*number)?, content_of(claim.fullness)));
        let mut sizes: Vec<(u32, u64)> = claims.iter().filter(can_show).filter_map(size).collect();
        sizes.sort_unstable();
        let best = claims
            .iter()
            .filter_map(|(number, claim)| Some((self.standing(*number, claim, &originals, &sizes)?, *number, claim)));
        let best = best.min_by(|(a, ..), (b, ..)| a.cmp(b));
        let owner = best.map(|(_, number, claim)| self.fuller_row(number, claim, &claims).unwrap_or(number));
        let hash = holders.iter().fold(0, |hash, number| hash ^ xxh3_64(&number.to_le_bytes()));
        let decision = Decision { owner, holders: hash };
        self.decided.insert(key, decision);
        Some(decision)
    }

    /// Returns the rank of a replica's session, if sessions are ranked.
    fn rank_of(&self, number: u32) -> Option<u32> {
        let session = self.members.get(number as usize)?.session;
        self.ranks.as_ref()?.get(session as usize).copied()
    }

    fn session(&self, number: u32) -> Option<u32> {
        self.members.get(number as usize).map(|member| member.session)
    }

    /// True if a replica has a record, or if the lake has its row.
    fn can_show(&self, number: u32, claim: &Claim) -> bool {
        let holds = |member: &Member| !claim.is_gone && (member.is_read || member.can_gain);
        claim.is_fact || claim.is_owned || self.members.get(number as usize).is_some_and(holds)
    }

    /// Returns the sort key of a replica among all with the same key; the lowest owns it. `originals` are the sessions
    /// with an original of it, in order; `sizes` are the sizes of the content in each session's replicas, in order.
    fn standing(
        &self,
        number: u32,
        claim: &Claim,
        originals: &[u32],
        sizes: &[(u32, u64)],
    ) -> Option<impl Ord + use<'_>> {
        let member = self.members.get(number as usize)?;
        let session = self.sessions.get(member.session as usize)?;
        let is_copy = originals.binary_search(&member.session).is_err();
        let can_show = self.can_show(number, claim);
        let rank = self.rank_of(number)?;
        // Its claim was made from it.
        let Body::Decoded(replica) = &member.replica else { return None };
        let source = (Reverse(replica.records.len()), &*replica.source);
        let within_session = (Reverse(claim.fullness), claim.is_copy, source);
        // The fullness is unknown in memories of earlier versions, and in those rebuilt from the rows.
        let is_unknown = claim.fullness == 0 && claim.is_owned && claim.is_of_lake;
        // Sessions compare the most that any replica has. Within a session, a known model counts more than the content.
        let largest = sizes.partition_point(|(session, _)| *session <= member.session).checked_sub(1);
        let largest = largest.and_then(|place| sizes.get(place)).filter(|(session, _)| *session == member.session);
        let content = match claim.is_response {
            true => 0,
            false if is_unknown => u64::MAX,
            false => largest.map_or(content_of(claim.fullness), |(_, size)| *size),
        };
        Some((!can_show, is_copy, self.is_side(session), Reverse(content), rank, within_session))
    }

    /// Returns the replica whose row in the lake is fuller than the owner's: an unread one of the owner's session, or
    /// any that dropped the record.
    fn fuller_row(&self, owner: u32, claim: &Claim, claims: &[(u32, Claim)]) -> Option<u32> {
        let fuller = claims.iter().filter(|(number, other)| {
            let stays = other.is_gone || (other.is_of_lake && self.session(*number) == self.session(owner));
            other.is_owned && stays && other.fullness > claim.fullness
        });
        fuller.max_by_key(|(_, other)| other.fullness).map(|(number, _)| *number)
    }

    /// True if all replicas of the session are a subagent's.
    fn is_side(&self, session: &Session) -> bool {
        self.members_of(session).all(|member| member.is_side)
    }

    /// Sorts the sessions by first moment, lexicographic order and id.
    fn rank_sessions(&mut self) {
        if self.ranks.is_some() {
            return;
        }
        let begun: Vec<i64> = self.sessions.iter().map(|session| self.begun(session)).collect();
        let moment = |session: u32| begun.get(session as usize).copied().unwrap_or(i64::MAX);
        let mut order = std::mem::take(&mut self.order);
        order.sort_by_key(|session| moment(*session));
        for tied in order.chunk_by_mut(|a, b| moment(*a) == moment(*b)).filter(|tied| tied.len() > 1) {
            for session in &*tied {
                self.make_word(*session);
            }
            tied.sort_by(|a, b| self.compare_words(*a, *b));
        }
        let mut ranks = vec![0; order.len()];
        for (rank, session) in (0..).zip(&order) {
            if let Some(slot) = ranks.get_mut(*session as usize) {
                *slot = rank;
            }
        }
        self.order = order;
        self.ranks = Some(ranks);
    }

    fn begun(&self, session: &Session) -> i64 {
        self.members_of(session).filter_map(|member| member.first_moment).min().unwrap_or(i64::MAX)
    }

    fn members_of(&self, session: &Session) -> impl Iterator<Item = &Member> {
        session.members.iter().filter_map(|number| self.members.get(*number as usize))
    }

    fn make_word(&mut self, session: u32) {
        let Some(known) = self.sessions.get(session as usize).filter(|session| session.word.is_none()) else { return };
        let mut word: Vec<(i64, u64)> = Vec::new();
        for replica in known.members.iter().filter_map(|number| self.replica(*number)) {
            let messages = replica.records.iter().filter(|record| record.kind == Kind::Message);
            word.extend(messages.map(|record| (record.moment, record.key)));
        }
        word.sort_unstable();
        word.dedup();
        if let Some(session) = self.sessions.get_mut(session as usize) {
            session.word = Some(word);
        }
    }

    fn compare_words(&self, a: u32, b: u32) -> Ordering {
        let session = |number: u32| self.sessions.get(number as usize);
        let order = session(a).map(|session| &session.word).cmp(&session(b).map(|session| &session.word));
        order.then_with(|| session(a).map(|session| &session.id).cmp(&session(b).map(|session| &session.id)))
    }

    fn place(&mut self, number: u32, key: u64) -> Option<(&Replica, Place)> {
        if matches!(self.members.get(number as usize)?.replica, Body::OfLake(_)) {
            let replica = self.replica(number)?;
            self.members.get_mut(number as usize)?.replica = Body::Decoded(replica);
        }
        let Member { replica: Body::Decoded(replica), keys, .. } = self.members.get_mut(number as usize)? else {
            return None;
        };
        let keys = keys.get_or_insert_with(|| {
            let facts = replica.facts.iter().zip(0..).map(|(fact, at)| (fact.key, Place::Fact(at)));
            // If a key names both, the record wins.
            let records = replica.records.iter().zip(0..).map(|(record, at)| (record.key, Place::Record(at)));
            Box::new(facts.chain(records).collect())
        });
        keys.get(&key).map(|place| (&**replica, *place))
    }

    fn claim(&mut self, number: u32, key: u64) -> Option<Claim> {
        let is_read = self.members.get(number as usize)?.is_read;
        match self.place(number, key)? {
            (replica, Place::Record(at)) => replica.records.get(at as usize).map(|record| Claim {
                is_fact: false,
                is_copy: record.is_copy,
                is_gone: record.is_of_lake(),
                is_owned: record.is_owned,
                is_of_lake: !is_read || record.is_of_lake(),
                is_response: record.kind == Kind::Response,
                fullness: record.fullness,
            }),
            (replica, Place::Fact(at)) => replica.facts.get(at as usize).map(|fact| Claim {
                is_fact: true,
                is_copy: fact.is_copy,
                is_gone: fact.is_gone,
                is_owned: false,
                is_of_lake: false,
                is_response: false,
                fullness: 0,
            }),
        }
    }

    /// Returns every copy of a response that several replicas have, or that one has repeatedly. Returns `None` if there
    /// is only one.
    pub(crate) fn copies(&self, key: u64) -> Option<Vec<ResponseCopy>> {
        let holders = self.contested.get(&key)?.iter();
        let mut replicas: Vec<Arc<Replica>> = holders.filter_map(|number| self.replica(*number)).collect();
        // The order in which replicas were read differs between runs.
        replicas.sort_unstable_by(|a, b| (&a.session, &a.source).cmp(&(&b.session, &b.source)));
        Some(replicas.iter().flat_map(|replica| replica.responses.of(key)).collect())
    }
}

fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn keys(replica: &Replica) -> impl Iterator<Item = u64> {
    replica.records.iter().map(|record| record.key).chain(replica.facts.iter().map(|fact| fact.key))
}

fn outcome_hash(record: &Record, owner: Option<u32>, copies: u64) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(&record.key.to_le_bytes());
    hasher.update(&owner.unwrap_or(u32::MAX).to_le_bytes());
    hasher.update(&copies.to_le_bytes());
    hasher.digest()
}

#[cfg(test)]
#[path = "tests/owners.rs"]
mod tests;
