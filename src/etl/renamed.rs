//! Records that another parser knew under other ids. Their new rows replace the old ones. They are recognised by their
//! content.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::RecordBatch;
use xxhash_rust::xxh3::xxh3_64;

use super::Shared;
use super::carry::{self, Carry};
use super::old::OldReplica;
use super::read::ReadSession;
use crate::error::Result;
use crate::identity::{KeyMap, KeySet, Kind, Reading, Record, Replica, key};
use crate::lake::layout::PartName;
use crate::tables::{MessageColumns, PerRecordTable, ToolCallColumns, UsageColumns};

/// Marks, for each session that was read, the records of the lake that its sources now hold under other ids. Equal
/// records are renamed as often as the sources hold them. Sources that are too large for memory are not compared.
pub(super) fn find_renamed<'p>(
    shared: &Shared<'_>,
    agent: &str,
    sessions: &mut BTreeMap<Arc<str>, Vec<ReadSession>>,
    part_of: impl Fn(&str) -> Option<&'p PartName>,
) -> Result<()> {
    let mut missing: BTreeMap<&PartName, HashMap<String, Carry>> = BTreeMap::new();
    for (session, reads) in &*sessions {
        let Some(part) = part_of(session) else { continue };
        let carry = missing_records(shared, agent, session, reads);
        if !carry.is_empty() {
            missing.entry(part).or_default().insert(session.to_string(), carry);
        }
    }
    for (part, missing) in missing {
        let Some(entry) = shared.manifest.parts.get(part) else { continue };
        let machine = &shared.manifest.machine;
        let mut new: HashMap<String, KeyMap<u32>> = HashMap::new();
        carry::each(shared.run.layout, machine, part, &entry.files, &missing, shared.run.now, |session, rows| {
            let Some(reads) = sessions.get_mut(session) else { return Ok(()) };
            let new = match new.get_mut(session) {
                Some(new) => new,
                None => new.entry(session.to_owned()).or_insert(new_records(shared, agent, session, reads)),
            };
            let held = records(agent, &rows).filter(|(_, print)| {
                let left = new.get_mut(print).filter(|left| **left > 0);
                left.map(|left| *left -= 1).is_some()
            });
            if let Some(read) = reads.first_mut() {
                read.renamed.extend(held.map(|(key, _)| key));
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns the rows of records that changed sources no longer hold under the ids of another parser.
fn missing_records(shared: &Shared<'_>, agent: &str, session: &str, reads: &[ReadSession]) -> Carry {
    let mut carry = Carry::default();
    let is_compared = |read: &&ReadSession| read.rows.is_some() && read.reading == Reading::ChangedAndReparsed;
    let compared: Vec<&ReadSession> = reads.iter().filter(is_compared).collect();
    if compared.is_empty() {
        return carry;
    }
    let held: KeySet = reads.iter().flat_map(|read| &read.replica.records).map(|record| record.key).collect();
    for old in shared.old.of_session(agent, session) {
        if compared.iter().any(|read| read.replica.source == old.stored.source) {
            let is_missing = |record: &&Record| record.is_owned && !record.is_of_lake() && !held.contains(&record.key);
            old.replica().records.iter().filter(is_missing).for_each(|record| carry.keep(record, false));
        }
    }
    carry
}

/// Counts how often the sources hold each record whose id is not in the lake.
fn new_records(shared: &Shared<'_>, agent: &str, session: &str, reads: &[ReadSession]) -> KeyMap<u32> {
    let old: Vec<Arc<Replica>> = shared.old.of_session(agent, session).map(OldReplica::replica).collect();
    let known: KeySet = old.iter().flat_map(|old| &old.records).map(|record| record.key).collect();
    let mut new = KeyMap::default();
    for chunks in reads.iter().filter_map(|read| read.rows.as_ref()) {
        let batches = chunks.each_ref().map(|chunk| chunk.batch.clone());
        for (_, print) in records(agent, &batches).filter(|(key, _)| !known.contains(key)) {
            *new.entry(print).or_default() += 1;
        }
    }
    new
}

/// Returns the key of each record and a hash of its content. The hash excludes what may be added later and what depends
/// on other records.
fn records(
    agent: &str,
    [messages, tool_calls, usage]: &PerRecordTable<RecordBatch>,
) -> impl Iterator<Item = (u64, u64)> {
    let columns = MessageColumns::of(messages);
    let messages = (0..messages.num_rows()).map(move |row| {
        let said = (columns.role(row), columns.timestamp(row), columns.text(row), columns.thinking(row));
        (key(agent, Kind::Message, columns.message_id(row)), print(&said))
    });
    let columns = ToolCallColumns::of(tool_calls);
    let tool_calls = (0..tool_calls.num_rows()).map(move |row| {
        let said = (columns.name(row), columns.started_at(row), columns.input(row));
        (key(agent, Kind::ToolCall, columns.call_id(row)), print(&said))
    });
    let columns = UsageColumns::of(usage);
    let usage = (0..usage.num_rows()).map(move |row| {
        let row = columns.row(row);
        let read = (row.input_tokens, row.cache_read_tokens, row.cache_write_5m_tokens, row.cache_write_1h_tokens);
        let said = (row.timestamp, read, row.output_tokens, row.grain);
        (key(agent, Kind::Response, row.response_id), print(&said))
    });
    messages.chain(tool_calls).chain(usage)
}

fn print(said: &impl std::fmt::Debug) -> u64 {
    xxh3_64(format!("{said:?}").as_bytes())
}
