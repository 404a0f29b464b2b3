//! Joins the readings of a session's sources with the lake's memory of them.
//!
//! The memory only grows. If a source no longer has a record, the record is gone, and its row stays. If a source has
//! less of a record than the lake's row, the record is kept: that row stays. Two readings replace what an earlier one
//! found in a source: a newer parser's reading of the same bytes, and a reading of a source that has only grown.

use std::collections::{HashMap, HashSet};

use super::{Fact, KeyMap, KeySet, Kind, Record, Replica, State};

/// Relation of a reading of a source to the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The content of the source may have changed; the parser is the same.
    Changed,
    /// The content may have changed, and another parser read it before, which may have given records other ids.
    ChangedAndReparsed,
    /// The source is the same, but the parser is another one. Records that it no longer finds were wrong.
    Reparsed,
    /// The source has only grown. Rows that it no longer gives came from an incomplete file, and were wrong.
    Grown,
    /// Source and parser are the same.
    Same,
}

impl Reading {
    /// True if missing records were dropped by the agent, and so stay in the lake.
    pub(crate) fn keeps_dropped(self) -> bool {
        !matches!(self, Self::Reparsed | Self::Grown)
    }

    /// True if another parser read the source before.
    pub(crate) fn is_by_other_parser(self) -> bool {
        matches!(self, Self::Reparsed | Self::ChangedAndReparsed)
    }
}

/// One source's reading of a session.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Content of the source.
    pub(crate) replica: Replica,
    /// Relation to the previous reading.
    pub(crate) reading: Reading,
    /// Records of the lake that the source now holds under other ids.
    pub(crate) renamed: KeySet,
}

/// A session's memory after its sources were read.
#[derive(Debug, Default)]
pub(crate) struct Absorbed {
    /// The memory of each source that was read, in the order of the readings.
    pub(crate) read: Vec<Replica>,
    /// For each of them, the records whose row comes from elsewhere: from the lake, or from a fuller source of the
    /// session.
    pub(crate) left_out: Vec<Vec<Record>>,
    /// The memory of the sources that were not read.
    pub(crate) unread: Vec<Replica>,
    /// Records that the session's own sources supersede.
    pub(crate) superseded: KeySet,
}

/// Joins the readings of a session's sources with the memory of them. `keeps_texts` is false if another policy stored the
/// texts of the lake. Then fuller rows stay only if they have no texts: those of responses.
pub(crate) fn absorb(mut seen: Vec<Seen>, before: &[&Replica], keeps_texts: bool) -> Absorbed {
    let mut left_out = vec![Vec::new(); seen.len()];
    if !before.is_empty() {
        for it in &mut seen {
            if let Some(old) = before.iter().find(|old| old.source == it.replica.source) {
                forget_newly_superseded(&mut it.replica, old);
                if it.reading != Reading::Reparsed {
                    demote_rest_of_reply(&mut it.replica, old);
                    remember(&mut it.replica, old);
                    if it.reading.keeps_dropped() {
                        keep_fuller_copies(&mut it.replica, old);
                    }
                }
            }
        }
    }
    let mut superseded = superseded(seen.iter().map(|it| &it.replica).chain(before.iter().copied()));
    let may_stay = |record: &Record| {
        (keeps_texts || record.kind == Kind::Response) && record.is_owned && !superseded.contains(&record.key)
    };
    leave_out_poorer(&mut seen, before, may_stay, &mut left_out);
    let mut unread = Vec::new();
    let kept: KeySet = left_out.iter().flatten().map(|record: &Record| record.key).collect();
    let held = seen.iter().flat_map(|it| &it.replica.records).map(|record| record.key);
    let mut held: KeyMap<usize> = held.filter(|key| !superseded.contains(key)).map(|key| (key, 0)).collect();
    for copy in seen.iter().flat_map(|it| it.replica.responses.iter()) {
        held.entry(copy.key).and_modify(|known| *known = copy.known_counts().max(*known));
    }
    superseded.retain(|key| !kept.contains(key));
    for old in before {
        match seen.iter_mut().find(|it| it.replica.source == old.source) {
            Some(it) => {
                carry_over(it, old, &held, &kept);
                // A source that has only grown still gives all its yields.
                if it.reading != Reading::Grown {
                    keep_superseded(&mut it.replica, old, &superseded);
                }
            }
            None => unread.push((*old).clone()),
        }
    }
    let read = seen.into_iter().map(|it| it.replica).collect();
    Absorbed { read, left_out, unread, superseded }
}

/// Changes the memory of a session that its source no longer gives. If the source has only grown, the
/// records that it held were wrong. If the agent dropped the session, its records are gone.
pub(crate) fn no_longer_given(replica: &mut Replica, reading: Reading) {
    match reading {
        Reading::Grown => forget_held(replica),
        Reading::Reparsed => {}
        Reading::Changed | Reading::ChangedAndReparsed | Reading::Same => {
            replica.records.iter_mut().for_each(|record| record.state = State::Gone);
            replica.facts.iter_mut().for_each(|fact| fact.is_gone = true);
        }
    }
}

/// Forgets what a source held. Records that it had dropped before stay.
fn forget_held(replica: &mut Replica) {
    replica.records.retain(Record::is_of_lake);
    replica.facts.retain(|fact| fact.is_gone);
    let keys: KeySet = replica.records.iter().map(|record| record.key).collect();
    replica.yields.retain(|it| keys.contains(&it.record));
    replica.responses.retain(|key| keys.contains(&key));
}

/// Adds dropped records of a source to its memory, apart from those that a source of the session still holds: `held`, with
/// the number of known counts. A response that had more counts still gives them to the row.
fn carry_over(seen: &mut Seen, old: &Replica, held: &KeyMap<usize>, kept: &KeySet) {
    let reading = seen.reading;
    let moments = renamed_at(&seen.replica, old, reading);
    let Seen { replica, renamed, .. } = seen;
    let own: KeySet = replica.records.iter().map(|record| record.key).collect();
    let has_all = |key: u64, known: usize| old.responses.of(key).all(|copy| copy.known_counts() <= known);
    let is_held = |key: u64| {
        own.contains(&key) || renamed.contains(&key) || held.get(&key).is_some_and(|known| has_all(key, *known))
    };
    let dropped = old.records.iter().filter(|record| !is_held(record.key));
    let dropped = dropped.filter(|record| !(record.kind == Kind::Message && moments.contains(&record.moment)));
    let stays = |record: &&Record| record.is_of_lake() || kept.contains(&record.key) || reading.keeps_dropped();
    let carried: Vec<Record> = dropped
        .filter(stays)
        .map(|record| Record { state: if kept.contains(&record.key) { State::Kept } else { State::Gone }, ..*record })
        .collect();
    let keys: KeySet = carried.iter().map(|record| record.key).collect();
    replica.responses.add(old.responses.iter().filter(|copy| keys.contains(&copy.key)));
    replica.yields.retain(|it| !keys.contains(&it.record));
    replica.yields.extend(old.yields.iter().filter(|it| keys.contains(&it.record)));
    replica.records.extend(carried);
    let facts: KeySet = replica.facts.iter().map(|fact| fact.key).collect();
    let dropped = old.facts.iter().filter(|fact| !facts.contains(&fact.key));
    let dropped = dropped.filter(|fact| fact.is_gone || reading.keeps_dropped());
    replica.facts.extend(dropped.map(|fact| Fact { is_gone: true, ..*fact }));
}

/// Keeps the yields that supersede a record which the source still has: it may have dropped what they were read from.
fn keep_superseded(read: &mut Replica, old: &Replica, superseded: &KeySet) {
    let held: KeySet = read.records.iter().map(|record| record.key).filter(|key| superseded.contains(key)).collect();
    let known: HashSet<(u64, u64)> = read.yields.iter().map(|it| (it.record, it.fact)).collect();
    let dropped = old.yields.iter().filter(|it| held.contains(&it.record) && !known.contains(&(it.record, it.fact)));
    read.yields.extend(dropped);
}

/// Carries over from the memory what a source may have dropped: when the session began, which records are copies, that it
/// is a main session, and since when its facts are present.
fn remember(read: &mut Replica, old: &Replica) {
    read.first_moment = read.first_moment.into_iter().chain(old.first_moment).min();
    read.is_side &= old.is_side;
    let copies: KeySet = old.records.iter().filter(|record| record.is_copy).map(|record| record.key).collect();
    for record in read.records.iter_mut().filter(|record| copies.contains(&record.key)) {
        record.is_copy = true;
    }
    // Dropped lines may move this moment. Then nothing would supersede what other sources say of the time between, or
    // it would be in the lake twice.
    let since: KeyMap<i64> = old.facts.iter().filter(|fact| fact.since != 0).map(|it| (it.key, it.since)).collect();
    for fact in &mut read.facts {
        if let Some(since) = since.get(&fact.key) {
            fact.since = *since;
        }
    }
}

/// Keeps the counts of copied responses of which a source has less than before, if they differ. The fullest copy of a
/// response gives the counts, and a copy of which a companion file is gone may count too much.
fn keep_fuller_copies(read: &mut Replica, old: &Replica) {
    let is_copied = |record: &&Record| record.kind == Kind::Response && record.is_copy && !record.is_owned;
    let known: KeyMap<u64> = old.records.iter().filter(is_copied).map(|it| (it.key, it.fullness)).collect();
    let mut poorer = KeySet::default();
    for record in read.records.iter_mut().filter(|_| !known.is_empty()) {
        let fuller = known.get(&record.key).filter(|fullness| record.fullness < **fullness);
        if let Some(fullness) = fuller.filter(|_| !read.responses.of(record.key).eq(old.responses.of(record.key))) {
            record.fullness = *fullness;
            poorer.insert(record.key);
        }
    }
    if !poorer.is_empty() {
        read.responses.retain(|key| !poorer.contains(&key));
        read.responses.add(old.responses.iter().filter(|copy| poorer.contains(&copy.key)));
    }
}

/// Turns the rest of a reply whose first lines were dropped into a fact: the lake has the whole reply under the id of
/// its first line.
fn demote_rest_of_reply(read: &mut Replica, old: &Replica) {
    let mut facts: KeyMap<Fact> = old.facts.iter().map(|fact| (fact.key, *fact)).collect();
    for record in &old.records {
        facts.remove(&record.key);
    }
    let is_rest = |record: &mut Record| record.kind == Kind::Message && facts.contains_key(&record.key);
    for record in read.records.extract_if(.., is_rest) {
        if let Some(fact) = facts.get(&record.key) {
            read.facts.push(Fact { is_gone: false, ..*fact });
        }
    }
}

/// Removes records from the readings of which the lake's row is fuller and `may_stay`.
fn leave_out_poorer(
    seen: &mut [Seen],
    before: &[&Replica],
    may_stay: impl Fn(&Record) -> bool,
    left_out: &mut [Vec<Record>],
) {
    let held: Vec<KeyMap<u64>> = seen.iter().map(|it| fullness_of(&it.replica)).collect();
    let mut poorer: Vec<KeySet> = vec![KeySet::default(); seen.len()];
    for old in before {
        let Some(own) = seen.iter().position(|it| it.replica.source == old.source) else { continue };
        let is_corrected = seen.get(own).is_some_and(|it| !it.reading.keeps_dropped());
        for record in old.records.iter().filter(|record| may_stay(record)) {
            // This reading corrects what the source held, but not what it had dropped before.
            if is_corrected && record.state == State::Held {
                continue;
            }
            let says = |at: usize| held.get(at).and_then(|held| held.get(&record.key)).copied();
            if says(own).is_some_and(|own| own >= record.fullness) {
                continue;
            }
            // The row of another source is as full, and this one still counts as a copy.
            if (0..held.len()).any(|at| says(at).is_some_and(|says| says >= record.fullness)) {
                continue;
            }
            for (at, poorer) in poorer.iter_mut().enumerate() {
                if says(at).is_some() {
                    poorer.insert(record.key);
                }
            }
        }
    }
    for ((it, poorer), left_out) in seen.iter_mut().zip(poorer).zip(left_out) {
        it.replica.responses.retain(|key| !poorer.contains(&key));
        left_out.extend(it.replica.records.extract_if(.., |record| poorer.contains(&record.key)));
    }
}

fn fullness_of(replica: &Replica) -> KeyMap<u64> {
    replica.records.iter().map(|record| (record.key, record.fullness)).collect()
}

/// Returns the moments at which another parser gave messages other ids: as many messages are new as are missing. They
/// are the same messages.
fn renamed_at(read: &Replica, old: &Replica, reading: Reading) -> HashSet<i64> {
    if reading != Reading::ChangedAndReparsed {
        return HashSet::new();
    }
    let is_timed = |record: &&Record| record.kind == Kind::Message && record.moment != i64::MAX;
    let held = |replica: &Replica| -> Vec<Record> {
        let held = replica.records.iter().filter(is_timed).filter(|record| !record.is_of_lake());
        held.copied().collect()
    };
    let counts = |these: &[Record], others: &[Record]| {
        let others: KeySet = others.iter().map(|record| record.key).collect();
        let mut counts: HashMap<i64, usize> = HashMap::new();
        for record in these.iter().filter(|record| !others.contains(&record.key)) {
            *counts.entry(record.moment).or_default() += 1;
        }
        counts
    };
    let (read, old) = (held(read), held(old));
    let (new, missing) = (counts(&read, &old), counts(&old, &read));
    missing.into_iter().filter(|(moment, count)| new.get(moment) == Some(count)).map(|(moment, _)| moment).collect()
}

/// Removes records that are newly superseded, if the source dropped anything: the finer line is gone with it, and the
/// lake's row of it has more than what is left. Records that an earlier reading removed for this reason stay removed as
/// long as anything is missing. A source that dropped nothing only adds to its records.
fn forget_newly_superseded(read: &mut Replica, old: &Replica) {
    if read.yields.is_empty() {
        return;
    }
    let said: KeySet = read.facts.iter().map(|fact| fact.key).chain(read.records.iter().map(|it| it.key)).collect();
    let missing = || old.records.iter().filter(|record| !said.contains(&record.key));
    let drops = old.facts.iter().any(|fact| !said.contains(&fact.key)) || missing().any(|record| !record.is_of_lake());
    let has_dropped = missing().any(Record::is_of_lake);
    let may_be_hinted = |record: &&Record| record.is_owned && (drops || has_dropped && record.is_of_lake());
    let owned: KeySet = old.records.iter().filter(may_be_hinted).map(|record| record.key).collect();
    if owned.is_empty() {
        return;
    }
    let yielded: HashSet<(u64, u64)> = old.yields.iter().map(|it| (it.record, it.fact)).collect();
    let new = read.yields.iter().filter(|it| owned.contains(&it.record) && !yielded.contains(&(it.record, it.fact)));
    let hints: KeySet = new.map(|it| it.record).collect();
    read.records.retain(|record| !hints.contains(&record.key));
    read.yields.retain(|it| !hints.contains(&it.record));
    read.responses.retain(|key| !hints.contains(&key));
}

/// Returns the records that the session's own sources supersede.
fn superseded<'r>(replicas: impl Iterator<Item = &'r Replica> + Clone) -> KeySet {
    let yields: Vec<_> = replicas.clone().flat_map(|replica| &replica.yields).collect();
    let mut present: KeyMap<i64> = KeyMap::default();
    for fact in replicas.flat_map(|replica| &replica.facts).filter(|_| !yields.is_empty()) {
        let since = present.entry(fact.key).or_insert(fact.since);
        *since = fact.since.min(*since);
    }
    let superseding = yields.iter().filter(|it| present.get(&it.fact).is_some_and(|since| it.yields_to_since(*since)));
    superseding.map(|it| it.record).collect()
}

#[cfg(test)]
#[path = "tests/absorb.rs"]
mod tests;
