//! Who has a record: agents copy history between files, and each record is one session's only.
//!
//! The owner of a key is, among those who claim it: one whose record does not say that it is a copy; a main session
//! before a subagent; the one that began first; of two that began at the same moment, the first in dictionary order: a
//! session is a word, its messages in order of time are the letters, and messages that its file has dropped still count.
//! A session that dropped a record before the lake had a row of it from there cannot be its owner. A record that gives way
//! to what is told elsewhere in finer grain is nobody's. The order of two sessions depends on these two alone.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::extract::{Claim, KeyMap, Kind, ResponseCopy};
use crate::lake::claims::Replica;

/// A replica that takes part in this run.
#[derive(Clone)]
struct Member {
    replica: Arc<Replica>,
    /// Whether its source was read in this run, so that its rows are at hand.
    is_read: bool,
    /// Whether its source can be read, so that it can be given rows that it did not have.
    can_gain: bool,
}

/// All claims that matter in this run.
#[derive(Default)]
pub(super) struct Owners {
    members: Vec<Member>,
    first: KeyMap<u32>,
    /// Keys with two claimants or more, and of responses that one repeats.
    contested: KeyMap<Vec<u32>>,
    keys: HashMap<u32, KeyMap<u32>>,
    /// Messages of each replica, as moment and key, in order.
    words: HashMap<u32, Arc<[(i64, u64)]>>,
    /// Decisions so far, by key.
    decided: KeyMap<Decision>,
    /// Which of two replicas of different sessions goes first.
    compared: HashMap<(u32, u32), Ordering>,
    /// Since when something is known to be present, by its key.
    since: KeyMap<Option<i64>>,
}

/// Who has a contested record.
#[derive(Clone, Copy)]
struct Decision {
    owner: Option<u32>,
    /// Hash of all who claim the record.
    claimants: u64,
}

/// What the owners say of one replica's claims.
pub(super) struct Verdict {
    /// Whether it has each of its claims' records, in order.
    pub(super) owned: Vec<bool>,
    /// Session that it copied its history from.
    pub(super) forked_from: Option<String>,
    /// Changes whenever the rows would.
    pub(super) hash: u64,
}

impl Owners {
    /// Adds a replica; gives its number.
    pub(super) fn add(&mut self, replica: Arc<Replica>, is_read: bool, can_gain: bool) -> u32 {
        let number = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        self.forget_decisions();
        self.index(number, &replica, true);
        self.members.push(Member { replica, is_read, can_gain });
        number
    }

    /// Puts what was read in the place of what was known of a replica.
    pub(super) fn update(&mut self, number: u32, replica: Arc<Replica>) {
        self.forget_decisions();
        self.index(number, &replica, false);
        self.keys.remove(&number);
        self.words.remove(&number);
        self.compared.retain(|(a, b), _| *a != number && *b != number);
        if let Some(member) = self.members.get_mut(number as usize) {
            *member = Member { replica, is_read: true, can_gain: true };
        }
    }

    fn forget_decisions(&mut self) {
        self.decided.clear();
        self.since.clear();
    }

    /// Notes who claims what. Of a new replica, only its own claim can have named it before.
    fn index(&mut self, number: u32, replica: &Replica, is_new: bool) {
        for claim in &replica.claims {
            match self.first.entry(claim.key) {
                hashbrown::hash_map::Entry::Vacant(entry) => {
                    entry.insert(number);
                }
                hashbrown::hash_map::Entry::Occupied(entry) if *entry.get() != number => {
                    let claimants = self.contested.entry(claim.key).or_insert_with(|| vec![*entry.get()]);
                    let is_known = claimants.last() == Some(&number) || (!is_new && claimants.contains(&number));
                    if !is_known {
                        claimants.push(number);
                    }
                }
                hashbrown::hash_map::Entry::Occupied(_) => {}
            }
        }
        for repeat in replica.repeats() {
            self.contested.entry(repeat.key).or_insert_with(|| vec![number]);
        }
    }

    /// Whether the source of a replica was read in this run.
    pub(super) fn is_read(&self, number: u32) -> bool {
        self.members.get(number as usize).is_some_and(|member| member.is_read)
    }

    /// The session that has the record of a key; none where nobody claims it.
    pub(super) fn session_of(&mut self, key: u64) -> Option<u32> {
        match self.decide(key) {
            Some(decision) => decision.owner,
            None => self.first.get(&key).copied(),
        }
    }

    /// The replica of that number.
    pub(super) fn replica(&self, number: u32) -> Option<&Arc<Replica>> {
        self.members.get(number as usize).map(|member| &member.replica)
    }

    /// Decides every claim of a replica.
    pub(super) fn judge(&mut self, number: u32) -> Verdict {
        let Some(replica) = self.replica(number).cloned() else {
            return Verdict { owned: Vec::new(), forked_from: None, hash: 0 };
        };
        let mut verdict = Verdict { owned: Vec::with_capacity(replica.claims.len()), forked_from: None, hash: 0 };
        let mut last_copied = None;
        let yielded = self.yielded(&replica);
        for claim in &replica.claims {
            if claim.kind() != Kind::Presence
                && let Some(presence) = yielded.get(&claim.key)
            {
                verdict.owned.push(false);
                verdict.hash ^= claim.key.rotate_left(1);
                // What says itself that it is a copy; other records give way to finer ones.
                if claim.kind() == Kind::Message && claim.is_weak() {
                    let teller = self.session_of(*presence);
                    self.note_origin(&replica, claim, teller, &mut verdict, &mut last_copied);
                    verdict.hash ^= outcome_hash(claim, teller, 0);
                }
                continue;
            }
            if claim.kind() == Kind::Presence {
                verdict.owned.push(true);
                continue;
            }
            let Some(Decision { owner, claimants }) = self.decide(claim.key) else {
                verdict.owned.push(true);
                continue;
            };
            verdict.owned.push(owner == Some(number));
            if owner != Some(number) && claim.kind() == Kind::Message {
                self.note_origin(&replica, claim, owner, &mut verdict, &mut last_copied);
            }
            // Only the row of the owner has the numbers of all copies.
            let copies = if owner == Some(number) && claim.kind() == Kind::Response { claimants } else { 0 };
            verdict.hash ^= outcome_hash(claim, owner, copies);
        }
        verdict
    }

    /// Notes who has a message that a replica copied; of several, the latest message's.
    fn note_origin(
        &self,
        replica: &Replica,
        claim: &Claim,
        owner: Option<u32>,
        verdict: &mut Verdict,
        last_copied: &mut Option<i64>,
    ) {
        let origin = owner.and_then(|owner| self.replica(owner)).map(|replica| replica.session.clone());
        if *last_copied < Some(claim.value) && origin.as_ref() != Some(&replica.session) {
            verdict.forked_from = origin;
            *last_copied = Some(claim.value);
        }
    }

    /// The records of a replica that give way to what is present under another key, with that key.
    fn yielded(&mut self, replica: &Replica) -> KeyMap<u64> {
        let yielding = replica.claims.iter().filter(|claim| claim.yielding_record().is_some());
        let mut yielded = KeyMap::default();
        let yielding: Vec<Claim> = yielding.copied().collect();
        for claim in yielding {
            if self.present_since(claim.key).is_some_and(|since| claim.yields_to_since(since)) {
                yielded.insert(claim.record(), claim.key);
            }
        }
        yielded
    }

    /// The earliest moment since when anybody claims a presence; none where nobody does.
    fn present_since(&mut self, key: u64) -> Option<i64> {
        if let Some(since) = self.since.get(&key) {
            return *since;
        }
        let claimants = match self.contested.get(&key) {
            Some(claimants) => claimants.clone(),
            None => self.first.get(&key).copied().into_iter().collect(),
        };
        let claims = claimants.into_iter().filter_map(|number| self.claim(number, key));
        let since = claims.filter(|claim| claim.kind() == Kind::Presence).map(|claim| claim.value).min();
        self.since.insert(key, since);
        since
    }

    /// Decides who has a record; none where not more than one claims it.
    fn decide(&mut self, key: u64) -> Option<Decision> {
        if let Some(decided) = self.decided.get(&key) {
            return Some(*decided);
        }
        let claimants = self.contested.get(&key)?.clone();
        let mut best: Option<((bool, bool, bool), u32)> = None;
        for number in &claimants {
            let Some(class) = self.class(*number, key) else { continue };
            let is_better = match best {
                Some((other, _)) if other != class => class < other,
                Some((_, other)) => self.compare(*number, other) == Ordering::Less,
                None => true,
            };
            if is_better {
                best = Some((class, *number));
            }
        }
        let hash = claimants.iter().fold(0, |hash, number| hash ^ xxh3_64(&number.to_le_bytes()));
        let decision = Decision { owner: best.map(|(_, number)| number), claimants: hash };
        self.decided.insert(key, decision);
        Some(decision)
    }

    /// What goes before the order of sessions: whether it cannot show the record, calls it a copy, is a subagent.
    fn class(&mut self, number: u32, key: u64) -> Option<(bool, bool, bool)> {
        let claim = self.claim(number, key);
        let member = self.members.get(number as usize)?;
        let holds = claim.is_none_or(|claim| !claim.is_gone()) && (member.is_read || member.can_gain);
        let can_show = holds || claim.is_some_and(|claim| claim.is_owned());
        Some((!can_show, claim.is_none_or(|claim| claim.is_weak()), member.replica.is_side))
    }

    /// Which of two replicas goes first. Of one session's, the one that holds more.
    fn compare(&mut self, a: u32, b: u32) -> Ordering {
        let (Some(first), Some(second)) =
            (self.members.get(a as usize).cloned(), self.members.get(b as usize).cloned())
        else {
            return Ordering::Equal;
        };
        if first.replica.session == second.replica.session {
            let rank =
                |member: &Member| (std::cmp::Reverse(member.replica.claims.len()), member.replica.source.clone());
            return rank(&first).cmp(&rank(&second));
        }
        if let Some(known) = self.compared.get(&(a, b)) {
            return *known;
        }
        let begun = |member: &Member| member.replica.first_moment.unwrap_or(i64::MAX);
        let order = begun(&first).cmp(&begun(&second)).then_with(|| self.word(a).cmp(&self.word(b)));
        let order = order.then_with(|| first.replica.session.cmp(&second.replica.session));
        self.compared.insert((a, b), order);
        self.compared.insert((b, a), order.reverse());
        order
    }

    fn word(&mut self, number: u32) -> Arc<[(i64, u64)]> {
        if let Some(word) = self.words.get(&number) {
            return Arc::clone(word);
        }
        let claims = self.replica(number).map_or(&[][..], |replica| &replica.claims);
        let messages = claims.iter().filter(|claim| claim.kind() == Kind::Message);
        let mut word: Vec<(i64, u64)> = messages.map(|claim| (claim.value, claim.key)).collect();
        word.sort_unstable();
        let word: Arc<[(i64, u64)]> = word.into();
        self.words.insert(number, Arc::clone(&word));
        word
    }

    fn claim(&mut self, number: u32, key: u64) -> Option<Claim> {
        let place = *self.keys_of(number).get(&key)?;
        self.replica(number)?.claims.get(place as usize).copied()
    }

    fn keys_of(&mut self, number: u32) -> &KeyMap<u32> {
        let replica = self.replica(number).cloned();
        self.keys.entry(number).or_insert_with(|| {
            let claims = replica.iter().flat_map(|replica| &replica.claims).zip(0..);
            let claims = claims.filter(|(claim, _)| claim.yielding_record().is_none());
            claims.map(|(claim, place)| (claim.key, place)).collect()
        })
    }

    /// Every copy of a response that more than one replica has, or one repeatedly; none when only one has it, once.
    pub(super) fn copies(&self, key: u64) -> Option<Vec<ResponseCopy>> {
        let claimants = self.contested.get(&key)?.iter();
        let mut replicas: Vec<&Arc<Replica>> = claimants.filter_map(|number| self.replica(*number)).collect();
        // The order in which they were read differs from run to run.
        replicas.sort_unstable_by_key(|replica| (&replica.session, &replica.source));
        let copies = replicas.into_iter().flat_map(|replica| {
            let first = replica.responses.partition_point(|copy| copy.key < key);
            replica.responses.iter().skip(first).take_while(|copy| copy.key == key).cloned()
        });
        Some(copies.collect())
    }
}

fn outcome_hash(claim: &Claim, owner: Option<u32>, copies: u64) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(&claim.key.to_le_bytes());
    hasher.update(&owner.unwrap_or(u32::MAX).to_le_bytes());
    hasher.update(&copies.to_le_bytes());
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn replica(session: &str, keys: &[(u64, i64)]) -> Arc<Replica> {
        Arc::new(Replica {
            session: session.to_owned(),
            source: format!("/{session}"),
            first_moment: keys.iter().map(|(_, moment)| *moment).min(),
            claims: keys.iter().map(|(key, moment)| Claim::new(Kind::Message, *key, false, *moment, 0)).collect(),
            ..Replica::default()
        })
    }

    fn owned(replicas: &[Arc<Replica>]) -> HashMap<String, Vec<u64>> {
        let mut owners = Owners::default();
        let numbers: Vec<u32> = replicas.iter().map(|replica| owners.add(replica.clone(), true, true)).collect();
        let judged = replicas.iter().zip(numbers).map(|(replica, number)| {
            let verdict = owners.judge(number);
            let keys = replica.claims.iter().zip(verdict.owned).filter(|(_, owned)| *owned).map(|(claim, _)| claim.key);
            (replica.session.clone(), keys.collect())
        });
        judged.collect()
    }

    #[test]
    fn a_chain_of_resumed_sessions_gives_each_its_own_records() {
        let first = replica("z", &[(1, 10), (2, 20)]);
        let second = replica("y", &[(1, 10), (2, 20), (3, 30)]);
        let third = replica("x", &[(1, 10), (2, 20), (3, 30), (4, 40)]);
        let owned = owned(&[third, first, second]);
        assert_eq!(
            (owned["z"].as_slice(), owned["y"].as_slice(), owned["x"].as_slice()),
            (&[1, 2][..], &[3][..], &[4][..])
        );
    }

    #[test]
    fn the_one_that_went_on_first_is_the_original() {
        let origin = replica("z", &[(1, 10), (2, 20), (3, 100)]);
        let fork = replica("a", &[(1, 10), (4, 50)]);
        let owned = owned(&[fork, origin]);
        assert_eq!((owned["z"].as_slice(), owned["a"].as_slice()), (&[1, 2, 3][..], &[4][..]));
    }

    #[test]
    fn a_total_gives_way_to_its_parts_told_since_it_ended_or_before() {
        let total = |at| {
            let claims = vec![Claim::new(Kind::Response, 1, false, 0, 0), Claim::yielding(1, 9, at)];
            Arc::new(Replica { session: "s".to_owned(), source: "/total".to_owned(), claims, ..Replica::default() })
        };
        let parts = |since| {
            let claims =
                vec![Claim::new(Kind::Presence, 9, false, since, 0), Claim::new(Kind::Response, 2, false, 0, 0)];
            Arc::new(Replica { session: "s".to_owned(), source: "/parts".to_owned(), claims, ..Replica::default() })
        };
        for (at, since, is_kept) in
            [(None, 5_000_000, false), (Some(1_000_000), 5_000_000, true), (Some(5_100_000), 5_000_000, false)]
        {
            for both in [[total(at), parts(since)], [parts(since), total(at)]] {
                let mut owners = Owners::default();
                let numbers: Vec<u32> = both.iter().map(|replica| owners.add(replica.clone(), true, true)).collect();
                let place = both.iter().position(|replica| replica.source == "/total").unwrap();
                assert_eq!(owners.judge(numbers[place]).owned, [is_kept, true], "{at:?} {since}");
                assert_eq!(owners.judge(numbers[1 - place]).owned, [true, true]);
            }
        }
    }

    #[test]
    fn a_message_that_gives_way_was_copied_from_who_tells_it() {
        let message = |key| Claim::new(Kind::Message, key, key == 1, 10, 0);
        let session = |session: &str, claims: Vec<Claim>| {
            let (session, source) = (session.to_owned(), format!("/{session}"));
            Arc::new(Replica { session, source, claims, ..Replica::default() })
        };
        let copy = session("fork", vec![message(1), Claim::yielding(1, 9, None)]);
        let original = session("origin", vec![message(2), Claim::new(Kind::Presence, 9, false, 0, 0)]);
        for both in [[copy.clone(), original.clone()], [original, copy]] {
            let mut owners = Owners::default();
            let numbers: Vec<u32> = both.iter().map(|replica| owners.add(replica.clone(), true, true)).collect();
            let place = both.iter().position(|replica| replica.session == "fork").unwrap();
            assert_eq!(owners.judge(numbers[place]).forked_from.as_deref(), Some("origin"));
            assert_eq!(owners.judge(numbers[1 - place]).forked_from, None);
        }
    }

    proptest! {
        #[test]
        fn every_key_has_one_owner_whatever_the_order(
            sets in prop::collection::vec(prop::collection::btree_map(0_u64..12, 0_i64..6, 1..8), 1..6),
            order in any::<prop::sample::Index>(),
        ) {
            let mut replicas: Vec<Arc<Replica>> = sets
                .iter()
                .enumerate()
                .map(|(number, keys)| replica(&format!("s{number}"), &keys.iter().map(|(key, moment)| (*key, *moment)).collect::<Vec<_>>()))
                .collect();
            let before = owned(&replicas);
            let all: Vec<u64> = before.values().flatten().copied().collect();
            let distinct: std::collections::BTreeSet<u64> = sets.iter().flat_map(|keys| keys.keys().copied()).collect();
            prop_assert_eq!(all.len(), distinct.len());
            let middle = order.index(replicas.len());
            replicas.rotate_left(middle);
            replicas.reverse();
            prop_assert_eq!(before, owned(&replicas));
        }
    }
}
