//! Turns of a session with several sources. Each source counts its turns from 1, and the session continues the count. A
//! prompt that only the lake still has begins its turn nevertheless, and later records belong to it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;

use super::carry::LakeRow;
use crate::error::Result;
use crate::extract::Chunk;
use crate::identity::{KeyMap, Kind, key};
use crate::tables::{MESSAGES, MessageColumns, PerRecordTable, TOOL_CALLS, TableDef, USAGE, UsageColumns};

/// Number of the lake among the sources, for rows that only the lake has.
pub(super) const LAKE: usize = usize::MAX;

/// The turns of one session.
#[derive(Default)]
pub(super) struct Turns {
    /// Index in `turns` of each source's own turn.
    by_source: HashMap<(usize, i64), usize>,
    /// Turn of the record at each place in the session.
    at_place: HashMap<i64, usize>,
    turns: Vec<Turn>,
    /// Prompts that only the lake has, by their places.
    lost: BTreeMap<i64, LostPrompt>,
}

struct Turn {
    /// Its number in the first source that has it.
    own: i64,
    /// Place of its first row; `None` if it has no row yet.
    first: Option<i64>,
    /// True if that row began it. For a turn in the lake, the beginning may belong to a source.
    begins: bool,
}

struct LostPrompt {
    turn: i64,
    /// A side chain's prompt may belong to the turn of the main chain.
    is_sidechain: bool,
}

impl Turns {
    /// Adds the turns of a source, including those of copies; the most important source comes first. `places` are the
    /// new places of its records; a superseded record has none. A turn that shares a record with a turn of an earlier
    /// source is the same turn.
    pub(super) fn take(
        &mut self,
        source: usize,
        [messages, calls, _]: &PerRecordTable<Chunk>,
        places: &HashMap<i64, i64>,
    ) {
        let records = turns_of(&messages.batch, &MESSAGES).chain(turns_of(&calls.batch, &TOOL_CALLS));
        let records = records.filter_map(|(own, turn)| Some((turn?, *places.get(&own)?)));
        self.recognise(source, &records.collect::<Vec<_>>());
    }

    /// Adds the rows of a source that the session has, with their places.
    pub(super) fn keep(&mut self, source: usize, [messages, calls, _]: &PerRecordTable<RecordBatch>) {
        for (place, turn) in turns_of(messages, &MESSAGES).chain(turns_of(calls, &TOOL_CALLS)) {
            self.put(source, turn, place, true);
        }
    }

    /// Adds the rows that only the lake has, after those of all sources.
    pub(super) fn keep_of_lake(&mut self, rows: &[LakeRow]) {
        for row in rows.iter().filter(|row| row.is_prompt) {
            self.lose(row.place, row.turn, row.is_sidechain);
        }
        self.recognise(LAKE, &rows.iter().filter_map(|row| Some((row.turn?, row.place))).collect::<Vec<_>>());
        for row in rows {
            let begins = row.is_prompt && !self.lost.contains_key(&row.place);
            self.put(LAKE, row.turn, row.place, begins);
        }
    }

    /// Records a prompt that only the lake has. Does nothing if a source has it too.
    fn lose(&mut self, place: i64, turn: Option<i64>, is_sidechain: bool) {
        if let Some(turn) = turn.filter(|_| !self.at_place.contains_key(&place)) {
            self.lost.insert(place, LostPrompt { turn, is_sidechain });
        }
    }

    fn recognise(&mut self, source: usize, records: &[(i64, i64)]) {
        for (turn, place) in records {
            if let Some(at) = self.at_place.get(place) {
                self.by_source.entry((source, *turn)).or_insert(*at);
            }
        }
        for (turn, place) in records {
            let turns = &mut self.turns;
            let at = *self.by_source.entry((source, *turn)).or_insert_with(|| {
                turns.push(Turn { own: *turn, first: None, begins: false });
                turns.len() - 1
            });
            self.at_place.entry(*place).or_insert(at);
        }
    }

    fn put(&mut self, source: usize, turn: Option<i64>, place: i64, begins: bool) {
        let at = turn.and_then(|turn| self.by_source.get(&(source, turn)));
        if let Some(turn) = at.and_then(|at| self.turns.get_mut(*at))
            && turn.first.is_none_or(|first| place < first)
        {
            (turn.first, turn.begins) = (Some(place), begins);
        }
    }

    /// Returns the number of each turn, in the order of the session's rows: its own number, unless that is taken.
    /// `known` has the turns of the lake's records, by the keys of `agent`.
    pub(super) fn numbered(self, agent: &str, known: KeyMap<i64>) -> Numbers<'_> {
        let turns = self.turns.iter().enumerate().filter_map(|(at, turn)| Some((turn.first?, Some(at))));
        let mut order: Vec<(i64, Option<usize>)> = turns.chain(self.lost.keys().map(|place| (*place, None))).collect();
        order.sort_unstable();
        let mut numbers: HashMap<usize, i64> = HashMap::new();
        let mut begun = BTreeMap::new();
        let mut last = 0;
        for (place, at) in order {
            if let Some((at, turn)) = at.and_then(|at| Some((at, self.turns.get(at)?))) {
                if turn.begins || last == 0 {
                    last = turn.own.max(last + 1);
                    begun.insert(place, None);
                }
                numbers.insert(at, last);
            } else if let Some(prompt) = self.lost.get(&place)
                && (!prompt.is_sidechain || prompt.turn > last)
            {
                last = prompt.turn.max(last + 1);
                begun.insert(place, Some(last));
            }
        }
        let number = |at: &usize| Some((self.turns.get(*at)?.first?, *numbers.get(at)?));
        Numbers {
            turns: self.by_source.iter().filter_map(|(records, at)| Some((*records, number(at)?))).collect(),
            has_lost: !self.lost.is_empty(),
            begun,
            agent,
            known,
            of_messages: HashMap::new(),
        }
    }
}

/// Returns the place and the turn of each row in the source.
fn turns_of(batch: &RecordBatch, table: &TableDef) -> impl Iterator<Item = (i64, Option<i64>)> {
    let column =
        |name| table.index_of(name).and_then(|index| batch.columns().get(index)?.as_primitive_opt::<Int64Type>());
    let (places, turns) = (column("seq"), column("turn"));
    places.into_iter().flat_map(Int64Array::values).copied().zip(turns.into_iter().flatten())
}

/// Numbers of a session's turns.
pub(super) struct Numbers<'a> {
    /// Place of the first row, and number, of each turn, by source and the source's own number.
    turns: HashMap<(usize, i64), (i64, i64)>,
    /// Places where turns begin. If only the lake has the prompt, with the turn's number.
    begun: BTreeMap<i64, Option<i64>>,
    has_lost: bool,
    agent: &'a str,
    /// The turn that a record has in the lake. It keeps it if its source no longer has the prompt.
    known: KeyMap<i64>,
    /// Turns of messages, if prompts were lost. A response has no place of its own: it takes the place of its message.
    of_messages: HashMap<String, Option<i64>>,
}

impl Numbers<'_> {
    /// Returns the turn of a row of a source, given the source's own number of it.
    fn at(&self, source: usize, place: i64, own: i64) -> i64 {
        let (first, number) = self.turns.get(&(source, own)).copied().unwrap_or((place, own));
        match self.begun.range(..=place).next_back() {
            Some((begin, Some(lost))) if first < *begin => *lost,
            _ => number,
        }
    }

    fn known(&self, kind: Kind, id: &str) -> Option<i64> {
        self.known.get(&key(self.agent, kind, id)).copied()
    }

    /// Writes the session's turns into messages of a source.
    pub(super) fn in_messages(&mut self, source: usize, batch: &RecordBatch) -> Result<RecordBatch> {
        let batch = self.in_rows(source, batch, (&MESSAGES, Kind::Message, "message_id"))?;
        if self.has_lost {
            let columns = MessageColumns::of(&batch);
            let rows = 0..batch.num_rows();
            self.of_messages.extend(rows.map(|row| (columns.message_id(row).to_owned(), columns.turn(row))));
        }
        Ok(batch)
    }

    /// Writes the session's turns into tool calls of a source.
    pub(super) fn in_tool_calls(&self, source: usize, batch: &RecordBatch) -> Result<RecordBatch> {
        self.in_rows(source, batch, (&TOOL_CALLS, Kind::ToolCall, "call_id"))
    }

    /// Writes the session's turns into usage of a source, after all messages.
    pub(super) fn in_usage(&self, source: usize, usage: &RecordBatch) -> Result<RecordBatch> {
        let columns = UsageColumns::of(usage);
        let number = |own| self.turns.get(&(source, own)).map_or(own, |(_, number)| *number);
        let turn = |row| {
            let of_message = columns.message_id(row).and_then(|id| self.of_messages.get(id).copied().flatten());
            let own = || columns.turn(row).map(number);
            of_message.or_else(own).or_else(|| self.known(Kind::Response, columns.response_id(row)))
        };
        with_turns(usage, &USAGE, (0..usage.num_rows()).map(turn).collect())
    }

    fn in_rows(
        &self,
        source: usize,
        batch: &RecordBatch,
        (table, kind, id): (&TableDef, Kind, &str),
    ) -> Result<RecordBatch> {
        let ids = batch.column_by_name(id).and_then(|column| column.as_string_opt::<i32>());
        let rows = turns_of(batch, table).zip(ids.into_iter().flatten());
        let turn = |((place, own), id): ((i64, Option<i64>), Option<&str>)| match own {
            Some(own) => Some(self.at(source, place, own)),
            None => self.known(kind, id?),
        };
        with_turns(batch, table, rows.map(turn).collect())
    }
}

fn with_turns(batch: &RecordBatch, table: &TableDef, turns: Int64Array) -> Result<RecordBatch> {
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    if let Some(column) = table.index_of("turn").and_then(|index| columns.get_mut(index)) {
        *column = Arc::new(turns);
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of a source: its turn, its place, and whether the session has a row of it there.
    type SourceTurn = (i64, i64, bool);

    fn turns(sources: &[(usize, &[SourceTurn])], prompts: &[(i64, i64, bool)]) -> Numbers<'static> {
        let mut turns = Turns::default();
        for (source, records) in sources {
            if *source == LAKE {
                for (turn, place, is_sidechain) in prompts {
                    turns.lose(*place, Some(*turn), *is_sidechain);
                }
            }
            turns.recognise(*source, &records.iter().map(|(turn, place, _)| (*turn, *place)).collect::<Vec<_>>());
            for (turn, place, _) in records.iter().filter(|(.., is_kept)| *is_kept) {
                turns.put(*source, Some(*turn), *place, *source != LAKE);
            }
        }
        turns.numbered("", KeyMap::default())
    }

    fn numbers(sources: &[(usize, &[SourceTurn])]) -> HashMap<(usize, i64), i64> {
        turns(sources, &[]).turns.into_iter().map(|(records, (_, number))| (records, number)).collect()
    }

    #[test]
    fn turns_go_on_in_the_next_source() {
        let first: &[SourceTurn] = &[(1, 0, true), (1, 1, true), (2, 2, true)];
        let second: &[SourceTurn] = &[(1, 3, true), (2, 4, true)];
        let expected = HashMap::from([((0, 1), 1), ((0, 2), 2), ((1, 1), 3), ((1, 2), 4)]);
        assert_eq!(numbers(&[(0, first), (1, second)]), expected);
    }

    #[test]
    fn a_copy_of_a_turn_is_that_turn_and_what_has_no_row_is_none() {
        let first: &[SourceTurn] = &[(1, 0, true), (2, 2, true)];
        let copy: &[SourceTurn] = &[(1, 2, false), (2, 3, true), (3, 9, false)];
        let expected = HashMap::from([((0, 1), 1), ((0, 2), 2), ((1, 1), 2), ((1, 2), 3)]);
        assert_eq!(numbers(&[(0, first), (1, copy)]), expected);
    }

    #[test]
    fn what_only_the_lake_has_belongs_to_the_turn_before() {
        let source: &[SourceTurn] = &[(1, 0, true), (2, 5, true)];
        let lake: &[SourceTurn] = &[(1, 1, true), (4, 0, true)];
        let expected = HashMap::from([((0, 1), 1), ((0, 2), 2), ((LAKE, 1), 1), ((LAKE, 4), 1)]);
        assert_eq!(numbers(&[(0, source), (LAKE, lake)]), expected);
        let after_all: &[SourceTurn] = &[(4, 7, true)];
        assert_eq!(numbers(&[(LAKE, after_all)]), HashMap::from([((LAKE, 4), 4)]));
    }

    #[test]
    fn what_follows_a_prompt_that_only_the_lake_has_is_of_its_turn() {
        let source: &[SourceTurn] = &[(1, 0, true), (1, 3, true), (2, 5, true)];
        let lake: &[SourceTurn] = &[(2, 1, true), (2, 2, true)];
        let turns = turns(&[(0, source), (LAKE, lake)], &[(2, 1, false)]);
        let of_source = [(0, 1), (3, 1), (5, 2)].map(|(place, own)| turns.at(0, place, own));
        assert_eq!(of_source, [1, 2, 3]);
        assert_eq!([1, 2].map(|place| turns.at(LAKE, place, 2)), [2, 2]);
    }

    #[test]
    fn a_prompt_of_a_side_chain_begins_no_turn_within_one() {
        let source: &[SourceTurn] = &[(1, 0, true), (1, 3, true), (2, 5, true)];
        let lake: &[SourceTurn] = &[(1, 1, true)];
        let turns = turns(&[(0, source), (LAKE, lake)], &[(1, 1, true)]);
        assert_eq!([(3, 1), (5, 2)].map(|(place, own)| turns.at(0, place, own)), [1, 2]);
        assert_eq!(turns.at(LAKE, 1, 1), 1);
    }
}
