//! Rows of a session that its sources no longer give. The lake keeps them.

use std::collections::HashMap;

use arrow::array::RecordBatch;

use crate::error::Result;
use crate::identity::{KeyMap, KeySet, Kind, Record, key};
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::FileEntry;
use crate::lake::part;
use crate::tables::{
    LAKE_TABLES, MessageColumns, MessageKind, MessageRow, Messages, PerRecordTable, PerTable, ToolCallColumns,
    ToolCallRow, ToolCalls, Usage, UsageColumns, UsageRow,
};

/// The old rows of a session that stay. The flag is true if no source holds them any more.
#[derive(Default)]
pub(super) struct Carry {
    messages: HashMap<i64, bool>,
    tool_calls: HashMap<i64, bool>,
    usage: KeyMap<bool>,
}

impl Carry {
    /// Keeps the row of a record.
    pub(super) fn keep(&mut self, record: &Record, is_gone: bool) {
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

/// Records of a session, as far as the lake knows them.
#[derive(Default)]
pub(super) struct Known {
    /// The turn of every record that had one. A source may still have a record and no longer have its prompt.
    pub(super) turns: KeyMap<i64>,
    /// The messages and tool calls that stay.
    pub(super) placed: Vec<LakeRow>,
    /// The responses that stay.
    pub(super) responses: KeySet,
}

/// A message or tool call that stays.
pub(super) struct LakeRow {
    pub(super) place: i64,
    pub(super) turn: Option<i64>,
    pub(super) is_message: bool,
    /// True if a turn begins with it.
    pub(super) is_prompt: bool,
    pub(super) is_sidechain: bool,
}

/// Reads the rows that stay, and passes them to `take` in batches of one session. Returns what the lake knows of each
/// session.
pub(super) fn each(
    layout: &Layout,
    machine: &str,
    name: &PartName,
    files: &PerTable<Option<FileEntry>>,
    carries: &HashMap<String, Carry>,
    now: i64,
    take: impl FnMut(&str, PerRecordTable<RecordBatch>) -> Result<()>,
) -> Result<HashMap<String, Known>> {
    let mut kept = KeptRows { agent: &name.agent, carries, now, take, known: HashMap::new(), rows: Rows::default() };
    for ((place, table), file) in LAKE_TABLES.iter().enumerate().zip(files).skip(1) {
        if file.is_none() {
            continue;
        }
        for batch in part::read(&layout.root().join(Layout::part(table, machine, name)), table)? {
            let batch = batch?;
            let mut rows = 0..batch.num_rows();
            match place {
                1 => {
                    let columns = MessageColumns::of(&batch);
                    rows.try_for_each(|row| kept.add_message(&columns.row(row)))?;
                }
                2 => {
                    let columns = ToolCallColumns::of(&batch);
                    rows.try_for_each(|row| kept.add_tool_call(&columns.row(row)))?;
                }
                _ => {
                    let columns = UsageColumns::of(&batch);
                    rows.try_for_each(|row| kept.add_usage(&columns.row(row)))?;
                }
            }
            kept.pass_on()?;
        }
    }
    Ok(kept.known)
}

/// Collects the rows that stay while the files of a part are read.
struct KeptRows<'c, F> {
    agent: &'c str,
    carries: &'c HashMap<String, Carry>,
    now: i64,
    take: F,
    known: HashMap<String, Known>,
    rows: Rows,
}

/// Rows of one session that were not passed on yet.
#[derive(Default)]
struct Rows {
    session: String,
    messages: Messages,
    tool_calls: ToolCalls,
    usage: Usage,
}

impl<F: FnMut(&str, PerRecordTable<RecordBatch>) -> Result<()>> KeptRows<'_, F> {
    fn pass_on(&mut self) -> Result<()> {
        let Rows { session, messages, tool_calls, usage } = &mut self.rows;
        let rows = [messages.finish()?, tool_calls.finish()?, usage.finish()?];
        if rows.iter().all(|rows| rows.num_rows() == 0) { Ok(()) } else { (self.take)(session, rows) }
    }

    /// Records the turn of a row. Returns the list of rows that its session keeps, the session's known records, its
    /// rows so far, and the row's key; `None` if the session keeps no row.
    fn note_turn(
        &mut self,
        session: &str,
        kind: Kind,
        id: &str,
        turn: Option<i64>,
    ) -> Result<Option<(&Carry, &mut Known, &mut Rows, u64)>> {
        let Some(carry) = self.carries.get(session) else { return Ok(None) };
        if self.rows.session != session {
            self.pass_on()?;
            session.clone_into(&mut self.rows.session);
        }
        let known = self.known.entry(session.to_owned()).or_default();
        let key = key(self.agent, kind, id);
        known.turns.extend(turn.map(|turn| (key, turn)));
        Ok(Some((carry, known, &mut self.rows, key)))
    }

    fn add_message(&mut self, row: &MessageRow<'_>) -> Result<()> {
        let now = self.now;
        let noted = self.note_turn(row.session_id, Kind::Message, row.message_id, row.turn)?;
        if let Some((carry, known, rows, _)) = noted
            && let Some(is_gone) = carry.messages.get(&row.seq)
        {
            let is_prompt = matches!(row.kind, MessageKind::Prompt | MessageKind::Command);
            let (place, turn, is_sidechain) = (row.seq, row.turn, row.is_sidechain);
            known.placed.push(LakeRow { place, turn, is_message: true, is_prompt, is_sidechain });
            rows.messages.push(MessageRow { gone_at: is_gone.then(|| row.gone_at.unwrap_or(now)), ..row.clone() });
        }
        Ok(())
    }

    fn add_tool_call(&mut self, row: &ToolCallRow<'_>) -> Result<()> {
        let now = self.now;
        let noted = self.note_turn(row.session_id, Kind::ToolCall, row.call_id, row.turn)?;
        if let Some((carry, known, rows, _)) = noted
            && let Some(is_gone) = carry.tool_calls.get(&row.seq)
        {
            let (place, turn, is_sidechain) = (row.seq, row.turn, row.is_sidechain);
            known.placed.push(LakeRow { place, turn, is_message: false, is_prompt: false, is_sidechain });
            rows.tool_calls.push(ToolCallRow { gone_at: is_gone.then(|| row.gone_at.unwrap_or(now)), ..row.clone() });
        }
        Ok(())
    }

    fn add_usage(&mut self, row: &UsageRow<'_>) -> Result<()> {
        let now = self.now;
        let noted = self.note_turn(row.session_id, Kind::Response, row.response_id, row.turn)?;
        if let Some((carry, known, rows, key)) = noted
            && let Some(is_gone) = carry.usage.get(&key)
        {
            known.responses.insert(key);
            rows.usage.push(UsageRow { gone_at: is_gone.then(|| row.gone_at.unwrap_or(now)), ..row.clone() });
        }
        Ok(())
    }
}
