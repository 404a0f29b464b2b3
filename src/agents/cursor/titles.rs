//! Titles that Cursor made to track code that the model wrote: `ai-tracking/ai-code-tracking.db`.

use super::{AGENT, transcript_key};
use crate::agents::kit::store::each_row;
use crate::extract::{NoteField, Reject, Sink, session_key};
use crate::source::{Source, value_text};

/// Reads the titles of conversations. Most are empty. No other tracked data describe conversations.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let database = source.database()?;
    let columns = ["conversationId", "title", "updatedAt"];
    each_row(&database, "conversation_summaries", &columns, "", |row| {
        out.line();
        let text = |column| row.get_ref(column).ok().and_then(value_text).filter(|text| !text.trim().is_empty());
        let (Some(id), Some(title)) = (text(0), text(1)) else { return Ok(()) };
        let rank = row.get(2).unwrap_or_default();
        for key in [session_key(AGENT, &id), transcript_key(&id)] {
            out.note(NoteField::Title, key, rank, title.trim());
        }
        Ok(())
    })
}
