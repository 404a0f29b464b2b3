//! Rebuilds lost claims from the rows of a part, as far as these hold them. Sources that still exist are read again
//! anyway; this keeps sessions that only the lake has as they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;

use crate::error::Result;
use crate::identity::{Fact, Kind, Record, Replica, ResponseCopy, key, session_key};
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::{Manifest, PartEntry, SessionEntry};
use crate::lake::part;
use crate::tables::{CostSource, LAKE_TABLES, MessageColumns, SessionColumns, ToolCallColumns, UsageColumns};

/// Returns the claims of a part's sessions from its data files. The first source of a session gets all its records,
/// because the others that had them are not known any more.
pub(super) fn of_rows(layout: &Layout, manifest: &Manifest, name: &PartName, part: &PartEntry) -> Result<Vec<Replica>> {
    let mut replicas: Replicas<'_> =
        part.sessions.iter().map(|entry| (&*entry.id, (without_records(name, entry), Vec::new()))).collect();
    let mut others = Vec::new();
    for entry in &part.sessions {
        let other = |source: &Arc<str>| Replica { source: Arc::clone(source), ..without_records(name, entry) };
        others.extend(entry.sources.iter().skip(1).map(other));
    }
    let files = LAKE_TABLES.into_iter().enumerate().zip(&part.files).filter(|(_, file)| file.is_some());
    for ((place, table), _) in files {
        let path = layout.root().join(Layout::part(table, &manifest.machine, name));
        for batch in part::read(&path, table)? {
            take(&name.agent, place, &batch?, &mut replicas);
        }
    }
    let replicas = replicas.into_values().map(|(replica, copies)| Replica { responses: copies.into(), ..replica });
    Ok(replicas.chain(others).collect())
}

/// The replica of each session, and its copies of responses.
type Replicas<'p> = BTreeMap<&'p str, (Replica, Vec<ResponseCopy>)>;

fn without_records(name: &PartName, entry: &SessionEntry) -> Replica {
    Replica {
        session: Arc::clone(&entry.id),
        source: entry.sources.first().cloned().unwrap_or_default(),
        first_moment: entry.started_at,
        facts: vec![Fact { key: session_key(&name.agent, &entry.id), since: 0, is_copy: false, is_gone: false }],
        ..Replica::default()
    }
}

/// Adds the claims of a batch. `place` is the index of its table.
fn take(agent: &str, place: usize, batch: &RecordBatch, replicas: &mut Replicas<'_>) {
    let rows = 0..batch.num_rows();
    match place {
        0 => {
            let sessions = SessionColumns::of(batch);
            for row in rows {
                if let Some((replica, _)) = replicas.get_mut(sessions.session_id(row)) {
                    replica.is_side = sessions.is_subagent(row);
                }
            }
        }
        1 => {
            let messages = MessageColumns::of(batch);
            for row in rows {
                let moment = messages.timestamp(row).unwrap_or(i64::MAX);
                let id = key(agent, Kind::Message, messages.message_id(row));
                let record = Record { moment, ..Record::new(Kind::Message, id, messages.seq(row)) };
                own(replicas, messages.session_id(row), record);
            }
        }
        2 => {
            let calls = ToolCallColumns::of(batch);
            for row in rows {
                let id = key(agent, Kind::ToolCall, calls.call_id(row));
                own(replicas, calls.session_id(row), Record::new(Kind::ToolCall, id, calls.seq(row)));
            }
        }
        _ => {
            let usage = UsageColumns::of(batch);
            for row in rows.map(|row| usage.row(row)) {
                let id = key(agent, Kind::Response, row.response_id);
                if let Some(copies) = own(replicas, row.session_id, Record::new(Kind::Response, id, 0)) {
                    let recorded_cost = row.cost_usd.filter(|_| row.cost_source == Some(CostSource::Recorded));
                    copies.push(ResponseCopy { recorded_cost, ..ResponseCopy::of(id, &row) });
                }
            }
        }
    }
}

fn own<'r>(replicas: &'r mut Replicas<'_>, session: &str, record: Record) -> Option<&'r mut Vec<ResponseCopy>> {
    let (replica, copies) = replicas.get_mut(session)?;
    replica.records.push(Record { is_owned: true, ..record });
    Some(copies)
}
