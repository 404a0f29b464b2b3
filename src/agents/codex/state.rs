//! `state_<n>.sqlite`: an index made from the rollouts. Only names and spawns may be recorded nowhere else.

use std::collections::BTreeMap;

use crate::agents::kit::store::each_row;
use crate::extract::{NoteField, Reject, Sink, session_key};
use crate::source::{Database, Source};

/// Most spawned threads to follow up to the root; a cycle has no root.
const DEEPEST: usize = 64;

/// Reads the database's facts of threads.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    note_titles(&database, out)?;
    note_spawns(&database, out)
}

/// Reads names and titles. Ignores a title that only repeats the first prompt.
fn note_titles(database: &Database, out: &mut Sink<'_>) -> Result<(), Reject> {
    let columns = ["id", "name", "title", "first_user_message", "preview"];
    each_row(database, "threads", &columns, "ORDER BY rowid", |row| {
        out.line();
        let text = |place: usize| text_at(row, place);
        let Some(id) = text(0) else { return Ok(()) };
        let made = [text(3), text(4)];
        let title = text(2).filter(|title| !made.contains(&Some(title.clone())));
        if let Some(title) = text(1).or(title) {
            out.note(NoteField::Title, session_key(out.agent(), &id), 0, &title);
        }
        Ok(())
    })
}

/// Reads which thread spawned which, and the root of each.
fn note_spawns(database: &Database, out: &mut Sink<'_>) -> Result<(), Reject> {
    let columns = ["child_thread_id", "parent_thread_id"];
    let mut parents: BTreeMap<String, String> = BTreeMap::new();
    each_row(database, "thread_spawn_edges", &columns, "ORDER BY 1, 2", |row| {
        out.line();
        if let (Some(child), Some(parent)) = (text_at(row, 0), text_at(row, 1)) {
            parents.entry(child).or_insert(parent);
        }
        Ok(())
    })?;
    for (child, parent) in &parents {
        let Some(root) = root_of(&parents, child) else { continue };
        let key = session_key(out.agent(), child);
        out.note(NoteField::Parent, key, 0, parent);
        out.note(NoteField::Root, key, 0, root);
    }
    Ok(())
}

fn root_of<'p>(parents: &'p BTreeMap<String, String>, child: &str) -> Option<&'p str> {
    let mut above = std::iter::successors(parents.get(child), |thread| parents.get(*thread)).take(DEEPEST);
    above.find(|thread| !parents.contains_key(*thread)).map(String::as_str)
}

fn text_at(row: &rusqlite::Row<'_>, place: usize) -> Option<String> {
    row.get::<_, Option<String>>(place).ok().flatten().filter(|text| !text.trim().is_empty())
}
