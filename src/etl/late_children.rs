//! Links subagents that became known only after the rows of their calls were written.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use rayon::prelude::*;

use super::children::CHILD;
use super::group::{NewPart, Outcome};
use super::notes::Notes;
use super::{Shared, check_interrupt};
use crate::error::Result;
use crate::identity::{KeyMap, Kind, key};
use crate::lake::changed::{Change, write_changed};
use crate::tables::{LAKE_TABLES, TOOL_CALLS};

/// Rewrites the calls of staged parts whose subagents became known only later, so that nothing has to be extracted
/// again.
pub(super) fn name_late_ones(shared: &Shared<'_>, outcomes: &mut [Outcome]) -> Result<()> {
    outcomes.par_iter_mut().try_for_each(|outcome| {
        let late = late_ones(&shared.notes(), &outcome.children);
        if late.is_empty() {
            return Ok(());
        }
        let agent = outcome.group.agent;
        outcome.parts.par_iter_mut().try_for_each(|part| name_again(shared, agent, part, &late))
    })
}

fn late_ones(notes: &Notes, known: &KeyMap<Option<String>>) -> HashMap<u64, String> {
    let named = known.iter().filter_map(|(call, known)| Some((*call, known, notes.child_of(*call)?)));
    let late = named.filter(|(_, known, name)| known.as_deref() != Some(*name));
    late.map(|(call, _, name)| (call, name.to_owned())).collect()
}

fn name_again(shared: &Shared<'_>, agent: &str, part: &mut NewPart, late: &HashMap<u64, String>) -> Result<()> {
    check_interrupt()?;
    let place = LAKE_TABLES.iter().position(|table| table.name == TOOL_CALLS.name);
    let Some(Some(staged)) = place.and_then(|place| part.files.get_mut(place)) else { return Ok(()) };
    let late_name = |call: &str| late.get(&key(agent, Kind::ToolCall, call)).map(String::as_str);
    let values = |rows: &RecordBatch| {
        let texts = |name| rows.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
        let (calls, own) = (texts("call_id").into_iter().flatten(), texts(CHILD).into_iter().flatten());
        let names = calls.zip(own).map(|(call, own)| call.and_then(late_name).or(own));
        Ok(Arc::new(names.collect::<StringArray>()) as ArrayRef)
    };
    let change = Change { column: CHILD, of: &["call_id", CHILD], values };
    let path = shared.run.layout.staging().join(format!("{}.{}", shared.stage_name(), TOOL_CALLS.name));
    let named = write_changed(&staged.path, &path, &TOOL_CALLS, &change, &shared.syncer)?;
    crate::lake::fs::remove(&staged.path)?;
    *staged = named;
    Ok(())
}
