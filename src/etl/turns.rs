//! Turns of a session that several sources tell of: each counts its own from 1, and the session goes on.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;

use crate::error::Result;
use crate::extract::Chunk;
use crate::tables::{LAKE_TABLES, MESSAGES, MessageColumns, TOOL_CALLS, TableDef};

/// Stands for the rows that only the lake has, among the sources.
pub(super) const LAKE: usize = usize::MAX;

/// The turns of one session.
#[derive(Default)]
pub(super) struct Turns {
    /// Which turn a source's own turn is, by its place in `turns`.
    told: HashMap<(usize, i64), usize>,
    /// Turn of the record at each place in the session.
    at_place: HashMap<i64, usize>,
    turns: Vec<Turn>,
}

struct Turn {
    /// Its number for the source that told of it first.
    own: i64,
    /// Place of its first row; none has one yet.
    first: Option<i64>,
    /// Whether that row began it; of what the lake has of a turn, the beginning may be a source's.
    begins: bool,
}

impl Turns {
    /// Takes what a source tells of turns, copies included; the first source first. `places` are the new places of its
    /// records; one that has none gave way. A turn that has a record of an earlier source's turn is the same.
    pub(super) fn take(&mut self, source: usize, [messages, calls, _]: &[Chunk; 3], places: &HashMap<i64, i64>) {
        let told = turns_of(&messages.batch, &MESSAGES).chain(turns_of(&calls.batch, &TOOL_CALLS));
        let told = told.filter_map(|(own, turn)| Some((turn?, *places.get(&own)?)));
        self.recognise(source, &told.collect::<Vec<_>>());
    }

    /// Takes the rows of a source that the session has, each in its place; those of the lake after all others.
    pub(super) fn keep(&mut self, source: usize, [messages, calls, _]: &[RecordBatch; 3]) {
        if source == LAKE {
            let told = turns_of(messages, &MESSAGES).chain(turns_of(calls, &TOOL_CALLS));
            self.recognise(source, &told.filter_map(|(place, turn)| Some((turn?, place))).collect::<Vec<_>>());
        }
        let columns = MessageColumns::of(messages);
        for row in 0..messages.num_rows() {
            let begins = source != LAKE || matches!(columns.kind(row), "prompt" | "command");
            self.put(source, columns.turn(row), columns.seq(row), begins);
        }
        for (place, turn) in turns_of(calls, &TOOL_CALLS) {
            self.put(source, turn, place, source != LAKE);
        }
    }

    fn recognise(&mut self, source: usize, told: &[(i64, i64)]) {
        for (turn, place) in told {
            if let Some(at) = self.at_place.get(place) {
                self.told.entry((source, *turn)).or_insert(*at);
            }
        }
        for (turn, place) in told {
            let turns = &mut self.turns;
            let at = *self.told.entry((source, *turn)).or_insert_with(|| {
                turns.push(Turn { own: *turn, first: None, begins: false });
                turns.len() - 1
            });
            self.at_place.entry(*place).or_insert(at);
        }
    }

    fn put(&mut self, source: usize, turn: Option<i64>, place: i64, begins: bool) {
        let at = turn.and_then(|turn| self.told.get(&(source, turn)));
        if let Some(turn) = at.and_then(|at| self.turns.get_mut(*at))
            && turn.first.is_none_or(|first| place < first)
        {
            (turn.first, turn.begins) = (Some(place), begins);
        }
    }

    /// The number of each turn, in the order of the session's rows: its own, unless that is taken.
    pub(super) fn numbered(self) -> Numbers {
        let mut order: Vec<(usize, &Turn)> = self.turns.iter().enumerate().collect();
        order.retain(|(_, turn)| turn.first.is_some());
        order.sort_by_key(|(_, turn)| turn.first);
        let mut numbers: HashMap<usize, i64> = HashMap::new();
        let mut last = 0;
        for (at, turn) in order {
            if turn.begins || last == 0 {
                last = turn.own.max(last + 1);
            }
            numbers.insert(at, last);
        }
        Numbers(self.told.into_iter().filter_map(|(told, at)| Some((told, *numbers.get(&at)?))).collect())
    }
}

/// Place among the source's records, and turn, of each row.
fn turns_of(batch: &RecordBatch, table: &TableDef) -> impl Iterator<Item = (i64, Option<i64>)> {
    let column =
        |name| table.index_of(name).and_then(|index| batch.columns().get(index)?.as_primitive_opt::<Int64Type>());
    let (places, turns) = (column("seq"), column("turn"));
    places.into_iter().flat_map(Int64Array::values).copied().zip(turns.into_iter().flatten())
}

/// Numbers of the session's turns, by source and the source's own number.
pub(super) struct Numbers(HashMap<(usize, i64), i64>);

impl Numbers {
    /// Gives rows of a source the session's turns. `table`: place in `LAKE_TABLES`.
    pub(super) fn apply(&self, source: usize, table: usize, batch: RecordBatch) -> Result<RecordBatch> {
        let Some(index) = LAKE_TABLES.get(table).and_then(|table| table.index_of("turn")) else { return Ok(batch) };
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        if let Some(column) = columns.get_mut(index)
            && let Some(turns) = column.as_primitive_opt::<Int64Type>()
        {
            let number = |turn: i64| self.0.get(&(source, turn)).copied().unwrap_or(turn);
            *column = Arc::new(turns.iter().map(|turn| turn.map(number)).collect::<Int64Array>());
        }
        Ok(RecordBatch::try_new(batch.schema(), columns)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a source tells of a record: its turn, its place, whether the session has a row of it there.
    type Told = (i64, i64, bool);

    fn numbers(sources: &[(usize, &[Told])]) -> HashMap<(usize, i64), i64> {
        let mut turns = Turns::default();
        for (source, records) in sources {
            turns.recognise(*source, &records.iter().map(|(turn, place, _)| (*turn, *place)).collect::<Vec<_>>());
            for (turn, place, _) in records.iter().filter(|(.., is_kept)| *is_kept) {
                turns.put(*source, Some(*turn), *place, *source != LAKE);
            }
        }
        turns.numbered().0
    }

    #[test]
    fn turns_go_on_in_the_next_source() {
        let first: &[Told] = &[(1, 0, true), (1, 1, true), (2, 2, true)];
        let second: &[Told] = &[(1, 3, true), (2, 4, true)];
        let expected = HashMap::from([((0, 1), 1), ((0, 2), 2), ((1, 1), 3), ((1, 2), 4)]);
        assert_eq!(numbers(&[(0, first), (1, second)]), expected);
    }

    #[test]
    fn a_copy_of_a_turn_is_that_turn_and_what_has_no_row_is_none() {
        let first: &[Told] = &[(1, 0, true), (2, 2, true)];
        let copy: &[Told] = &[(1, 2, false), (2, 3, true), (3, 9, false)];
        let expected = HashMap::from([((0, 1), 1), ((0, 2), 2), ((1, 1), 2), ((1, 2), 3)]);
        assert_eq!(numbers(&[(0, first), (1, copy)]), expected);
    }

    #[test]
    fn what_only_the_lake_has_keeps_its_number_or_belongs_to_the_turn_before() {
        let source: &[Told] = &[(1, 0, true), (2, 5, true)];
        let lake: &[Told] = &[(1, 1, true), (4, 0, true)];
        let expected = HashMap::from([((0, 1), 1), ((0, 2), 2), ((LAKE, 1), 1), ((LAKE, 4), 1)]);
        assert_eq!(numbers(&[(0, source), (LAKE, lake)]), expected);
        let after_all: &[Told] = &[(4, 7, true)];
        assert_eq!(numbers(&[(LAKE, after_all)]), HashMap::from([((LAKE, 4), 4)]));
    }
}
