//! Rows of a session that its sources no longer give. The lake keeps them.

use std::collections::HashMap;

use arrow::array::RecordBatch;

use crate::error::Result;
use crate::identity::{KeyMap, Kind, Record, State, key};
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::FileEntry;
use crate::lake::part;
use crate::tables::{
    LAKE_TABLES, MessageColumns, MessageRow, Messages, PerRecordTable, PerTable, ToolCallColumns, ToolCallRow,
    ToolCalls, Usage, UsageColumns, UsageRow,
};

/// The old rows of a session that stay. The flag is true if the agent was just found to have dropped them.
#[derive(Default)]
pub(super) struct Carry {
    messages: HashMap<i64, bool>,
    tool_calls: HashMap<i64, bool>,
    usage: KeyMap<bool>,
}

impl Carry {
    /// Keeps the row of a record.
    pub(super) fn keep(&mut self, record: &Record) {
        let is_gone = record.state == State::Gone;
        match record.kind {
            Kind::Message => drop(self.messages.insert(i64::from(record.seq), is_gone)),
            Kind::ToolCall => drop(self.tool_calls.insert(i64::from(record.seq), is_gone)),
            Kind::Response => drop(self.usage.insert(record.key, is_gone)),
            Kind::Presence => {}
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.tool_calls.is_empty() && self.usage.is_empty()
    }
}

/// The part of the lake that a rebuilt session keeps.
pub(super) struct Carried {
    /// The rows that stay: messages, tool calls, usage.
    pub(super) rows: PerRecordTable<RecordBatch>,
    /// The turn of every record that had one. A source may still have a record and no longer have its prompt.
    pub(super) turns: KeyMap<i64>,
}

/// Reads the rows that stay, by session.
pub(super) fn rows(
    layout: &Layout,
    machine: &str,
    name: &PartName,
    files: &PerTable<Option<FileEntry>>,
    carries: &HashMap<String, Carry>,
    now: i64,
) -> Result<HashMap<String, Carried>> {
    let mut kept = KeptRows { agent: &name.agent, carries, now, sessions: HashMap::new() };
    for ((place, table), file) in LAKE_TABLES.iter().enumerate().zip(files).skip(1) {
        if file.is_none() {
            continue;
        }
        for batch in part::read(&layout.root().join(Layout::part(table, machine, name)), table)? {
            let batch = batch?;
            let rows = 0..batch.num_rows();
            match place {
                1 => {
                    let columns = MessageColumns::of(&batch);
                    rows.for_each(|row| kept.add_message(&columns.row(row)));
                }
                2 => {
                    let columns = ToolCallColumns::of(&batch);
                    rows.for_each(|row| kept.add_tool_call(&columns.row(row)));
                }
                _ => {
                    let columns = UsageColumns::of(&batch);
                    rows.for_each(|row| kept.add_usage(&columns.row(row)));
                }
            }
        }
    }
    let finish = |(session, mut kept): (String, Kept)| {
        let rows = [kept.messages.finish()?, kept.tool_calls.finish()?, kept.usage.finish()?];
        Ok((session, Carried { rows, turns: kept.turns }))
    };
    kept.sessions.into_iter().map(finish).collect()
}

/// Collects the rows that stay while the files of a part are read.
struct KeptRows<'c> {
    agent: &'c str,
    carries: &'c HashMap<String, Carry>,
    now: i64,
    sessions: HashMap<String, Kept>,
}

#[derive(Default)]
struct Kept {
    messages: Messages,
    tool_calls: ToolCalls,
    usage: Usage,
    turns: KeyMap<i64>,
}

impl KeptRows<'_> {
    /// Records the turn of a row. Returns the rows of its session that stay, the session's rows so far, and the row's
    /// key; `None` if the session keeps no row.
    fn note_turn(
        &mut self,
        session: &str,
        kind: Kind,
        id: &str,
        turn: Option<i64>,
    ) -> Option<(&Carry, &mut Kept, u64)> {
        let carry = self.carries.get(session)?;
        let kept = self.sessions.entry(session.to_owned()).or_default();
        let key = key(self.agent, kind, id);
        kept.turns.extend(turn.map(|turn| (key, turn)));
        Some((carry, kept, key))
    }

    fn add_message(&mut self, row: &MessageRow<'_>) {
        let now = self.now;
        let Some((carry, kept, _)) = self.note_turn(row.session_id, Kind::Message, row.message_id, row.turn) else {
            return;
        };
        if let Some(is_gone) = carry.messages.get(&row.seq) {
            kept.messages.push(MessageRow { gone_at: row.gone_at.or(is_gone.then_some(now)), ..row.clone() });
        }
    }

    fn add_tool_call(&mut self, row: &ToolCallRow<'_>) {
        let now = self.now;
        let Some((carry, kept, _)) = self.note_turn(row.session_id, Kind::ToolCall, row.call_id, row.turn) else {
            return;
        };
        if let Some(is_gone) = carry.tool_calls.get(&row.seq) {
            kept.tool_calls.push(ToolCallRow { gone_at: row.gone_at.or(is_gone.then_some(now)), ..row.clone() });
        }
    }

    fn add_usage(&mut self, row: &UsageRow<'_>) {
        let now = self.now;
        let Some((carry, kept, key)) = self.note_turn(row.session_id, Kind::Response, row.response_id, row.turn) else {
            return;
        };
        if let Some(is_gone) = carry.usage.get(&key) {
            kept.usage.push(UsageRow { gone_at: row.gone_at.or(is_gone.then_some(now)), ..row.clone() });
        }
    }
}
