use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::{Fact, KeySet, Kind, Record, Replica, State, Yield};
use super::{Reading, Seen, absorb};

const KINDS: [Kind; 3] = [Kind::Message, Kind::ToolCall, Kind::Response];

fn record((key, fullness): (u64, u64)) -> Record {
    let kind = KINDS[(key % 3) as usize];
    Record { moment: key as i64, fullness, ..Record::new(kind, key, key as i64) }
}

fn replica(source: usize, records: &BTreeMap<u64, u64>) -> Replica {
    Replica {
        session: "s".into(),
        source: source.to_string().into(),
        first_moment: records.keys().min().map(|key| *key as i64),
        records: records.iter().map(|(key, fullness)| record((*key, *fullness))).collect(),
        ..Replica::default()
    }
}

/// The content of a source at one time: fullness by key.
type Said = BTreeMap<u64, u64>;

/// A run: what each source that is read says, and whether its bytes are the same and a newer parser reads them.
type Run = Vec<(usize, Said, bool)>;

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let said = prop::collection::btree_map(0_u64..9, 0_u64..4, 0..7);
    prop::collection::vec(prop::collection::vec((0_usize..3, said, prop::bool::weighted(0.15)), 1..3), 1..7)
}

/// The memory after each run, as an engine keeps it: rows by key with their fullness.
#[derive(Default)]
struct Lake {
    memory: BTreeMap<usize, Replica>,
    /// Fullness of each row.
    rows: BTreeMap<u64, u64>,
}

impl Lake {
    /// Reads sources. The owner of a record is the first replica that has a row of it, those of the lake first.
    fn run(&mut self, run: &Run) {
        let read: BTreeMap<usize, (&Said, bool)> =
            run.iter().map(|(source, said, is_reparsed)| (*source, (said, *is_reparsed))).collect();
        let before: Vec<Replica> = self.memory.values().cloned().collect();
        let seen = read.iter().map(|(source, (said, is_reparsed))| Seen {
            replica: replica(*source, said),
            reading: if *is_reparsed && self.memory.contains_key(source) {
                Reading::Reparsed
            } else {
                Reading::Changed
            },
            renamed: KeySet::default(),
        });
        let absorbed = absorb(seen.collect(), &before.iter().collect::<Vec<_>>(), true);
        let mut rows = BTreeMap::new();
        let mut memory: Vec<Replica> = absorbed.read.into_iter().chain(absorbed.unread).collect();
        memory.sort_by_key(|replica| replica.records.iter().all(|record| !record.is_owned));
        for replica in &mut memory {
            let is_read = read.contains_key(&replica.source.parse().unwrap());
            for record in &mut replica.records {
                let is_of_lake = !is_read || record.is_of_lake();
                let is_shown = !is_of_lake || record.is_owned;
                record.is_owned = is_shown && !rows.contains_key(&record.key);
                if record.is_owned {
                    let row = if is_of_lake { self.rows[&record.key] } else { record.fullness };
                    rows.insert(record.key, row);
                }
            }
        }
        self.rows = rows;
        self.memory = memory.into_iter().map(|replica| (replica.source.parse().unwrap(), replica)).collect();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// However often sources are rewritten: no record leaves the lake unless a newer parser reads the same bytes
    /// otherwise, and no row says less than it did while one source has it.
    #[test]
    fn the_memory_only_grows(runs in runs()) {
        let mut lake = Lake::default();
        for run in &runs {
            let before = lake.rows.clone();
            lake.run(run);
            let withdrawn: BTreeSet<u64> = run.iter().filter(|(.., is_reparsed)| *is_reparsed).flat_map(|_| 0..9).collect();
            for (key, fullness) in &before {
                let now = lake.rows.get(key);
                prop_assert!(now.is_some() || withdrawn.contains(key), "lost {key} of {before:?} by {run:?}");
                let sources = lake.memory.values().filter(|replica| replica.records.iter().any(|record| record.key == *key));
                if sources.count() == 1 && !withdrawn.contains(key) {
                    prop_assert!(now >= Some(fullness), "{key} of {before:?} is poorer by {run:?}");
                }
            }
        }
    }

    /// Reading the same again changes nothing.
    #[test]
    fn a_repeated_reading_changes_nothing(runs in runs()) {
        let mut lake = Lake::default();
        for run in &runs {
            lake.run(run);
        }
        let last = runs.last().unwrap().iter().map(|(source, said, _)| (*source, said.clone(), false)).collect();
        lake.run(&last);
        let (memory, rows) = (lake.memory.clone(), lake.rows.clone());
        lake.run(&last);
        prop_assert_eq!(lake.memory, memory);
        prop_assert_eq!(lake.rows, rows);
    }
}

#[test]
fn a_record_of_which_less_is_left_is_kept_and_one_that_is_dropped_is_gone() {
    let mut before = replica(0, &BTreeMap::from([(0, 3), (1, 3), (2, 3)]));
    before.records.iter_mut().for_each(|record| record.is_owned = true);
    let seen = Seen {
        replica: replica(0, &BTreeMap::from([(0, 3), (1, 2)])),
        reading: Reading::Changed,
        renamed: KeySet::default(),
    };
    let absorbed = absorb(vec![seen], &[&before], true);
    let states: Vec<(u64, State)> = absorbed.read[0].records.iter().map(|record| (record.key, record.state)).collect();
    assert_eq!(states, [(0, State::Held), (1, State::Kept), (2, State::Gone)]);
    assert_eq!(absorbed.left_out[0].iter().map(|record| record.key).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_newer_parser_replaces_only_what_the_source_still_has() {
    let mut before = replica(0, &BTreeMap::from([(0, 3), (1, 3), (2, 3)]));
    before.records.iter_mut().for_each(|record| record.is_owned = true);
    before.records[2].state = State::Gone;
    let seen =
        Seen { replica: replica(0, &BTreeMap::from([(0, 1)])), reading: Reading::Reparsed, renamed: KeySet::default() };
    let absorbed = absorb(vec![seen], &[&before], true);
    let found: Vec<(u64, u64, State)> =
        absorbed.read[0].records.iter().map(|record| (record.key, record.fullness, record.state)).collect();
    assert_eq!(found, [(0, 1, State::Held), (2, 3, State::Gone)]);
}

#[test]
fn a_record_that_was_superseded_stays_so_when_its_source_no_longer_says_it() {
    let fact = Fact { key: 9, since: 0, is_copy: false, is_gone: false };
    let of = |yields| Replica { facts: vec![fact], yields, ..replica(0, &BTreeMap::from([(1, 2)])) };
    let old = of(vec![Yield { record: 1, fact: 9, until: i64::MAX }]);
    let seen = Seen { replica: of(Vec::new()), reading: Reading::Changed, renamed: KeySet::default() };
    let absorbed = absorb(vec![seen], &[&old], true);
    assert!(absorbed.superseded.contains(&1));
    assert_eq!(absorbed.read[0].yields, old.yields);
}

/// The bytes are the same, but a file that is read with them is gone.
#[test]
fn what_the_same_bytes_say_less_of_is_kept_unless_a_newer_parser_says_so() {
    let mut old = replica(0, &BTreeMap::from([(1, 2)]));
    old.records[0].is_owned = true;
    for (reading, state) in [(Reading::Same, State::Kept), (Reading::Reparsed, State::Held)] {
        let seen = Seen { replica: replica(0, &BTreeMap::from([(1, 1)])), reading, renamed: KeySet::default() };
        let absorbed = absorb(vec![seen], &[&old], true);
        assert_eq!(absorbed.read[0].records[0].state, state, "{reading:?}");
    }
}
