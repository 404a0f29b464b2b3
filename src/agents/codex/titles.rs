//! Titles of threads, told by a file of their own: `session_index.jsonl`.

use super::AGENT;
use super::record::Named;
use crate::extract::{NoteField, Reject, Sink, session_key};
use crate::source::{Source, TORN_END, repair};

/// Reads `session_index.jsonl`: of several names of a thread the last counts.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut lines = source.lines()?;
    while let Some(line) = lines.next_line() {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        out.line();
        let text = repair(line.bytes);
        let Ok(named) = serde_json::from_str::<Named<'_>>(&text) else {
            out.problem(line.number, if line.ended { "no JSON object" } else { TORN_END });
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
