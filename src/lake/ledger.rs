//! The ledger: number and checksum of all records that ever were in the lake, by agent, month and table.
//!
//! A run derives it from its decisions, never from the rows that it wrote. So the next `llrem verify` and the next run
//! notice a row that was lost by any error.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::identity::{Kind, Record};
use crate::lake::layout::PartName;
use crate::tables::{LAKE_TABLES, PerRecordTable};

/// Number of records, and the sum of their keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) records: u64,
    pub(crate) keys: u64,
}

/// Sums of messages, tool calls and usage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sums(PerRecordTable<Sum>);

impl Sums {
    /// Counts the owned records.
    pub(crate) fn of<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut sums = Self::default();
        records.into_iter().filter(|record| record.is_owned).for_each(|record| sums.add_key(record.kind, record.key));
        sums
    }

    pub(crate) fn add_key(&mut self, kind: Kind, key: u64) {
        if let Some(sum) = self.0.get_mut(kind as usize) {
            sum.records = sum.records.wrapping_add(1);
            sum.keys = sum.keys.wrapping_add(key);
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            sum.records = sum.records.wrapping_add(other.records);
            sum.keys = sum.keys.wrapping_add(other.keys);
        }
    }

    pub(crate) fn subtract(&mut self, other: &Self) {
        for (sum, other) in self.0.iter_mut().zip(other.0) {
            sum.records = sum.records.wrapping_sub(other.records);
            sum.keys = sum.keys.wrapping_sub(other.keys);
        }
    }
}

/// The sums of a lake, by agent and month.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ledger(BTreeMap<(String, String), Sums>);

impl Ledger {
    /// Returns the sums of a part's month.
    pub(crate) fn month(&mut self, part: &PartName) -> &mut Sums {
        self.0.entry((part.agent.clone(), part.month.clone())).or_default()
    }

    /// True if nothing was ever counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lists the months and tables of which the sessions have fewer or more rows than expected.
    pub(crate) fn differences_of_rows<'p>(
        &self,
        sessions: impl Iterator<Item = (&'p PartName, PerRecordTable<u64>)>,
    ) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut found = Self::default();
        for (part, rows) in sessions {
            for (sum, rows) in found.month(part).0.iter_mut().zip(rows) {
                sum.records += rows;
            }
        }
        self.differences(&found, |sum| Sum { keys: 0, ..sum })
    }

    /// Lists the months and tables with other records than expected.
    pub(crate) fn differences_of_records(&self, found: &Self) -> Vec<String> {
        self.differences(found, |sum| sum)
    }

    fn differences(&self, found: &Self, compared: impl Fn(Sum) -> Sum) -> Vec<String> {
        let none = Sums::default();
        let months: std::collections::BTreeSet<_> = self.0.keys().chain(found.0.keys()).collect();
        let mut problems = Vec::new();
        for month in months {
            let (expected, found) = (self.0.get(month).unwrap_or(&none), found.0.get(month).unwrap_or(&none));
            let tables = LAKE_TABLES.iter().skip(1).zip(expected.0.iter().zip(found.0));
            for (table, (expected, found)) in tables.filter(|(_, (a, b))| compared(**a) != compared(*b)) {
                problems.push(difference(month, table.name, *expected, found));
            }
        }
        problems
    }
}

fn difference((agent, month): &(String, String), table: &str, expected: Sum, found: Sum) -> String {
    let place = format!("{table} of {agent}, {month}");
    match expected.records.cast_signed().wrapping_sub(found.records.cast_signed()) {
        0 => format!("{place}: {} rows are there, but not all of those that should be", found.records),
        1.. => format!("{place}: {} of {} rows are missing", expected.records - found.records, expected.records),
        _ => format!("{place}: {} rows are there, {} should be", found.records, expected.records),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(month: &str) -> PartName {
        PartName { agent: "a".into(), month: month.into(), name: "x".into() }
    }

    fn owned(kind: Kind, key: u64) -> Record {
        Record { is_owned: true, ..Record::new(kind, key, 0) }
    }

    #[test]
    fn a_lost_record_and_one_in_the_place_of_another_are_named() {
        let mut ledger = Ledger::default();
        let records = [owned(Kind::Message, 7), owned(Kind::Message, 9), owned(Kind::Response, u64::MAX)];
        ledger.month(&part("2026-01")).add(&Sums::of(&records));
        let found = |records: &[Record]| {
            let mut found = Ledger::default();
            found.month(&part("2026-01")).add(&Sums::of(records));
            ledger.differences_of_records(&found)
        };
        assert_eq!(found(&records), Vec::<String>::new());
        assert_eq!(found(&records[1..]), ["messages of a, 2026-01: 1 of 2 rows are missing"]);
        let other = [owned(Kind::Message, 8), records[1], records[2]];
        assert_eq!(found(&other), ["messages of a, 2026-01: 2 rows are there, but not all of those that should be"]);
    }

    #[test]
    fn a_record_that_changes_its_month_is_lost_in_neither() {
        let mut ledger = Ledger::default();
        let moved = Sums::of(&[owned(Kind::ToolCall, 3)]);
        ledger.month(&part("2026-01")).add(&moved);
        ledger.month(&part("2026-01")).subtract(&moved);
        ledger.month(&part("2026-02")).add(&moved);
        let mut found = Ledger::default();
        found.month(&part("2026-02")).add_key(Kind::ToolCall, 3);
        assert_eq!(ledger.differences_of_records(&found), Vec::<String>::new());
    }
}
