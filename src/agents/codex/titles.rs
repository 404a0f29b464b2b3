//! Titles of threads, in a separate file: `session_index.jsonl`.

use super::record::Named;
use crate::extract::jsonl::each_record;
use crate::extract::{NoteField, Reject, Sink, session_key};
use crate::source::Source;

/// Reads `session_index.jsonl`. The last of several names of a thread counts.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    each_record::<Named<'static>>(source, out, |named, number, out| {
        out.unknown_fields("session_index field ", &named.unknown);
        if let (Some(id), Some(name)) = (named.id.get(), named.name.get()) {
            let rank = i64::try_from(number).unwrap_or(i64::MAX);
            let session = session_key(out.agent(), id);
            out.note(NoteField::Title, session, rank, name);
        }
    })
}
