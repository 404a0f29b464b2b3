use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;

use super::super::{COLUMN_BITS, Fact, Kind, MODEL_BIT, Record, Replica, Yield};
use super::Owners;

fn message(key: u64, moment: i64) -> Record {
    Record { moment, ..Record::new(Kind::Message, key, 0) }
}

fn replica(session: &str, records: Vec<Record>) -> Arc<Replica> {
    Arc::new(Replica {
        session: session.into(),
        source: format!("/{session}").into(),
        first_moment: records.iter().map(|record| record.moment).min(),
        records,
        ..Replica::default()
    })
}

fn messages(session: &str, keys: &[(u64, i64)]) -> Arc<Replica> {
    replica(session, keys.iter().map(|(key, moment)| message(*key, *moment)).collect())
}

fn add_all(replicas: &[Arc<Replica>]) -> (Owners, Vec<u32>) {
    let mut owners = Owners::default();
    let numbers = replicas.iter().map(|replica| owners.add("a", Arc::clone(replica), true, true)).collect();
    (owners, numbers)
}

/// Keys that each session owns.
fn owned(replicas: &[Arc<Replica>]) -> BTreeMap<String, Vec<u64>> {
    let (mut owners, numbers) = add_all(replicas);
    let mut owned: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (replica, number) in replicas.iter().zip(numbers) {
        let verdict = owners.judge(number);
        let keys = replica.records.iter().zip(verdict.owned).filter(|(_, owned)| *owned).map(|(record, _)| record.key);
        owned.entry(replica.session.to_string()).or_default().extend(keys);
    }
    owned
}

#[test]
fn a_chain_of_resumed_sessions_gives_each_its_own_records() {
    let first = messages("z", &[(1, 10), (2, 20)]);
    let second = messages("y", &[(1, 10), (2, 20), (3, 30)]);
    let third = messages("x", &[(1, 10), (2, 20), (3, 30), (4, 40)]);
    let owned = owned(&[third, first, second]);
    assert_eq!((&owned["z"][..], &owned["y"][..], &owned["x"][..]), (&[1, 2][..], &[3][..], &[4][..]));
}

#[test]
fn the_one_that_went_on_first_is_the_original() {
    let origin = messages("z", &[(1, 10), (2, 20), (3, 100)]);
    let fork = messages("a", &[(1, 10), (4, 50)]);
    let owned = owned(&[fork, origin]);
    assert_eq!((&owned["z"][..], &owned["a"][..]), (&[1, 2, 3][..], &[4][..]));
}

#[test]
fn a_session_is_as_old_as_its_oldest_source() {
    let of = |session: &str, source: &str, keys: &[(u64, i64)]| {
        Arc::new(Replica { source: source.into(), ..Replica::clone(&messages(session, keys)) })
    };
    let replicas = [of("a", "/late", &[(2, 20), (3, 30)]), of("a", "/early", &[(1, 5)]), of("b", "/b", &[(2, 10)])];
    let owned = owned(&replicas);
    assert_eq!((&owned["a"][..], &owned["b"][..]), (&[2, 3, 1][..], &[][..]));
}

#[test]
fn a_total_is_superseded_by_its_parts_if_they_are_present_since_it_ended_or_before() {
    let response = |key| Record::new(Kind::Response, key, 0);
    let of = |source: &str, records, facts, yields| {
        let (session, source) = ("s".into(), source.into());
        Arc::new(Replica { session, source, records, facts, yields, ..Replica::default() })
    };
    let total = |until| of("/total", vec![response(1)], vec![], vec![Yield { record: 1, fact: 9, until }]);
    let parts =
        |since| of("/parts", vec![response(2)], vec![Fact { key: 9, since, is_copy: false, is_gone: false }], vec![]);
    for (until, since, is_kept) in [(i64::MAX, 5, false), (1, 5, true), (6, 5, false)] {
        for replicas in [[total(until), parts(since)], [parts(since), total(until)]] {
            let (mut owners, numbers) = add_all(&replicas);
            let place = replicas.iter().position(|replica| &*replica.source == "/total").unwrap();
            assert_eq!(owners.judge(numbers[place]).owned, [is_kept], "{until} {since}");
            assert_eq!(owners.judge(numbers[1 - place]).owned, [true]);
        }
    }
}

#[test]
fn a_message_that_is_superseded_was_copied_from_the_session_that_has_the_fact() {
    let copied = Record { is_copy: true, ..message(1, 10) };
    let fork = Replica {
        yields: vec![Yield { record: 1, fact: 9, until: i64::MAX }],
        ..Replica::clone(&replica("fork", vec![copied]))
    };
    let fact = Fact { key: 9, since: 0, is_copy: false, is_gone: false };
    let origin = Replica { facts: vec![fact], ..Replica::clone(&messages("origin", &[(2, 10)])) };
    for replicas in [[fork.clone(), origin.clone()], [origin, fork]].map(|both| both.map(Arc::new)) {
        let (mut owners, numbers) = add_all(&replicas);
        let place = replicas.iter().position(|replica| &*replica.session == "fork").unwrap();
        assert_eq!(owners.judge(numbers[place]).forked_from.as_deref(), Some("origin"));
        assert_eq!(owners.judge(numbers[1 - place]).forked_from, None);
    }
}

#[test]
fn a_copy_that_knows_the_model_does_not_take_the_record() {
    let with_model = Record { fullness: MODEL_BIT, ..message(1, 10) };
    let (origin, fork) = (messages("z", &[(1, 10), (2, 20)]), replica("a", vec![with_model, message(3, 50)]));
    let owned = owned(&[fork, origin]);
    assert_eq!((&owned["z"][..], &owned["a"][..]), (&[1, 2][..], &[3][..]));
}

/// A record: key, moment, is it a copy, and how much is said of it.
type DrawnRecord = (u64, i64, bool, u64);
/// A replica of a random home: session, source within the session, is it a subagent's, and its records.
type Drawn = (usize, usize, bool, Vec<DrawnRecord>);

fn drawn() -> impl Strategy<Value = Vec<Drawn>> {
    let records = prop::collection::vec((0_u64..12, any::<bool>(), 0_u64..2), 0..9);
    // Copies of a message have one moment.
    let timed = |(key, copy, fullness)| (key, (key / 3) as i64, copy, fullness);
    let records = records.prop_map(move |records| records.into_iter().map(timed).collect());
    prop::collection::vec((0_usize..5, 0_usize..2, any::<bool>(), records), 1..9)
}

fn replicas(drawn: &[Drawn]) -> Vec<Arc<Replica>> {
    let mut all: BTreeMap<(usize, usize), Replica> = BTreeMap::new();
    for (session, source, is_side, records) in drawn {
        let mut seen = BTreeSet::new();
        let records = records.iter().filter(|(key, ..)| seen.insert(*key));
        let records = records.map(|(key, moment, is_copy, fullness)| Record {
            is_copy: *is_copy,
            fullness: *fullness << COLUMN_BITS,
            ..message(*key, *moment)
        });
        let records: Vec<Record> = records.collect();
        let replica = Replica::clone(&replica(&format!("s{session}"), records));
        let replica = Replica { source: format!("/{session}/{source}").into(), is_side: *is_side, ..replica };
        all.insert((*session, *source), replica);
    }
    all.into_values().map(Arc::new).collect()
}

/// The rule as it is written: the owner of a key is the first session in the order of the module's documentation.
fn naive(replicas: &[Arc<Replica>]) -> BTreeMap<u64, String> {
    let of = |session: &str| -> Vec<&Arc<Replica>> {
        replicas.iter().filter(|replica| &*replica.session == session).collect()
    };
    let all =
        |session: &str| -> Vec<Record> { of(session).iter().flat_map(|replica| replica.records.clone()).collect() };
    let mut owners = BTreeMap::new();
    let keys: BTreeSet<u64> = replicas.iter().flat_map(|replica| &replica.records).map(|record| record.key).collect();
    for key in keys {
        let holders = replicas.iter().filter(|replica| replica.records.iter().any(|record| record.key == key));
        let standing = |replica: &&Arc<Replica>| {
            let session = &*replica.session;
            let records: Vec<Record> = all(session).into_iter().filter(|record| record.key == key).collect();
            let is_copy = records.iter().all(|record| record.is_copy);
            let fullness = records.iter().map(|record| record.fullness).max();
            let is_side = of(session).iter().all(|replica| replica.is_side);
            let begun = all(session).iter().map(|record| record.moment).min();
            let word: BTreeSet<(i64, u64)> = all(session).iter().map(|record| (record.moment, record.key)).collect();
            let word: Vec<_> = word.into_iter().collect();
            (is_copy, is_side, Reverse(fullness), begun, word, session.to_owned())
        };
        owners.extend(holders.min_by_key(standing).map(|replica| (key, replica.session.to_string())));
    }
    owners
}

proptest! {
    #[test]
    fn owners_are_as_the_rule_says_whatever_the_order(drawn in drawn(), turn in any::<prop::sample::Index>()) {
        let mut replicas = replicas(&drawn);
        let expected = naive(&replicas);
        for _ in 0..2 {
            let owned = owned(&replicas);
            let found: Vec<(u64, String)> =
                owned.into_iter().flat_map(|(session, keys)| keys.into_iter().map(move |key| (key, session.clone()))).collect();
            prop_assert_eq!(found.len(), expected.len(), "each key once");
            prop_assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), expected.clone());
            let at = turn.index(replicas.len());
            replicas.rotate_left(at);
            replicas.reverse();
        }
    }

    /// Early decisions equal those with full knowledge, once everything is known.
    #[test]
    fn what_is_learned_later_changes_what_was_decided(drawn in drawn(), known in any::<prop::sample::Index>()) {
        let replicas = replicas(&drawn);
        let expected = owned(&replicas);
        let early: Vec<Arc<Replica>> = replicas.iter().map(|replica| {
            let count = known.index(replica.records.len() + 1);
            Arc::new(Replica { records: replica.records[..count].to_vec(), ..Replica::clone(replica) })
        }).collect();
        let lake = early.clone();
        let mut owners = Owners::over(Box::new(move |number| Replica::clone(&lake[number as usize])));
        for (replica, in_lake) in early.iter().zip(0..) {
            let number = owners.add("a", Arc::clone(replica), true, true);
            owners.judge(number);
            owners.leave_in_lake(number, in_lake);
        }
        let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let numbers: Vec<u32> = replicas.iter().map(|replica| owners.add("a", Arc::clone(replica), true, true)).collect();
        for (replica, number) in replicas.iter().zip(numbers) {
            let verdict = owners.judge(number);
            let keys = replica.records.iter().zip(verdict.owned).filter(|(_, owned)| *owned).map(|(record, _)| record.key);
            found.entry(replica.session.to_string()).or_default().extend(keys);
        }
        prop_assert_eq!(found, expected);
    }
}
