//! Rows of a session that its sources no longer give: the lake keeps them.

use std::collections::HashMap;

use arrow::array::RecordBatch;

use crate::error::Result;
use crate::identity::{KeyMap, Kind, Record, State, key};
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::FileEntry;
use crate::lake::part;
use crate::tables::{
    LAKE_TABLES, MessageColumns, MessageRow, Messages, ToolCallColumns, ToolCallRow, ToolCalls, Usage, UsageColumns,
    UsageRow,
};

/// Which old rows of a session stay, and whether the agent has just been found to have dropped them.
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

/// What the lake has of a session that is put together anew.
pub(super) struct Carried {
    /// The rows that stay: messages, tool calls, usage.
    pub(super) rows: [RecordBatch; 3],
    /// The turns of all its records, those that sources still give included: their prompt may be gone.
    pub(super) turns: KeyMap<i64>,
}

/// Reads the rows that stay, by session.
pub(super) fn rows(
    layout: &Layout,
    machine: &str,
    name: &PartName,
    files: &[Option<FileEntry>; 4],
    carries: &HashMap<String, Carry>,
    now: i64,
) -> Result<HashMap<String, Carried>> {
    let mut kept: HashMap<String, Kept> = HashMap::new();
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
                    rows.for_each(|row| keep_message(&columns.row(row), &name.agent, carries, &mut kept, now));
                }
                2 => {
                    let columns = ToolCallColumns::of(&batch);
                    rows.for_each(|row| keep_tool_call(&columns.row(row), &name.agent, carries, &mut kept, now));
                }
                _ => {
                    let columns = UsageColumns::of(&batch);
                    rows.for_each(|row| keep_usage(&columns.row(row), &name.agent, carries, &mut kept, now));
                }
            }
        }
    }
    let finish = |(session, mut kept): (String, Kept)| {
        let rows = [kept.messages.finish()?, kept.tool_calls.finish()?, kept.usage.finish()?];
        Ok((session, Carried { rows, turns: kept.turns }))
    };
    kept.into_iter().map(finish).collect()
}

#[derive(Default)]
struct Kept {
    messages: Messages,
    tool_calls: ToolCalls,
    usage: Usage,
    turns: KeyMap<i64>,
}

fn keep_message(
    row: &MessageRow<'_>,
    agent: &str,
    carries: &HashMap<String, Carry>,
    kept: &mut HashMap<String, Kept>,
    now: i64,
) {
    let Some(carry) = carries.get(row.session_id) else { return };
    let kept = kept.entry(row.session_id.to_owned()).or_default();
    kept.turns.extend(row.turn.map(|turn| (key(agent, Kind::Message, row.message_id), turn)));
    if let Some(is_gone) = carry.messages.get(&row.seq) {
        kept.messages.push(MessageRow { gone_at: row.gone_at.or(is_gone.then_some(now)), ..row.clone() });
    }
}

fn keep_tool_call(
    row: &ToolCallRow<'_>,
    agent: &str,
    carries: &HashMap<String, Carry>,
    kept: &mut HashMap<String, Kept>,
    now: i64,
) {
    let Some(carry) = carries.get(row.session_id) else { return };
    let kept = kept.entry(row.session_id.to_owned()).or_default();
    kept.turns.extend(row.turn.map(|turn| (key(agent, Kind::ToolCall, row.call_id), turn)));
    if let Some(is_gone) = carry.tool_calls.get(&row.seq) {
        kept.tool_calls.push(ToolCallRow { gone_at: row.gone_at.or(is_gone.then_some(now)), ..row.clone() });
    }
}

fn keep_usage(
    row: &UsageRow<'_>,
    agent: &str,
    carries: &HashMap<String, Carry>,
    kept: &mut HashMap<String, Kept>,
    now: i64,
) {
    let Some(carry) = carries.get(row.session_id) else { return };
    let kept = kept.entry(row.session_id.to_owned()).or_default();
    let response = key(agent, Kind::Response, row.response_id);
    kept.turns.extend(row.turn.map(|turn| (response, turn)));
    if let Some(is_gone) = carry.usage.get(&response) {
        kept.usage.push(UsageRow { gone_at: row.gone_at.or(is_gone.then_some(now)), ..row.clone() });
    }
}
