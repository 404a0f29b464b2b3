//! Titles of threads, told by files of their own: `session_index.jsonl`, and the index database.

use super::AGENT;
use super::record::Named;
use crate::extract::{NoteField, Reject, Sink, session_key};
use crate::source::{Source, repair};

/// Reads `session_index.jsonl`: of several names of a thread the last counts.
pub(super) fn of_index(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut lines = source.lines()?;
    while let Some(line) = lines.next_line() {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        out.line();
        let text = repair(line.bytes);
        let Ok(named) = serde_json::from_str::<Named<'_>>(&text) else {
            out.problem(line.number, if line.ended { "no JSON object" } else { "the last line is torn" });
            continue;
        };
        for field in &named.unknown {
            out.unknown(&format!("session_index field {field}"));
        }
        if let (Some(id), Some(name)) = (named.id.get(), named.name.get()) {
            let rank = i64::try_from(line.number).unwrap_or(i64::MAX);
            out.note(NoteField::Title, session_key(AGENT, id), rank, name);
        }
    }
    Ok(())
}

/// Reads the names and titles in `state_<n>.sqlite`; a title that only repeats the first prompt is none. All else in it
/// is made from the rollouts.
pub(super) fn of_database(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    let columns = database.columns("threads")?;
    if !columns.iter().any(|column| column == "id") {
        return Ok(());
    }
    let column =
        |name: &str| if columns.iter().any(|column| column == name) { name.to_owned() } else { "NULL".to_owned() };
    let query = format!(
        "SELECT id, {}, {}, {}, {} FROM threads ORDER BY rowid",
        column("name"),
        column("title"),
        column("first_user_message"),
        column("preview"),
    );
    let mut statement = database.prepare(&query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        out.line();
        let text = |place: usize| -> Option<String> {
            row.get::<_, Option<String>>(place).ok().flatten().filter(|text| !text.trim().is_empty())
        };
        let Some(id) = text(0) else { continue };
        let made = [text(3), text(4)];
        let title = text(2).filter(|title| !made.contains(&Some(title.clone())));
        if let Some(title) = text(1).or(title) {
            out.note(NoteField::Title, session_key(AGENT, &id), 0, &title);
        }
    }
    Ok(())
}
