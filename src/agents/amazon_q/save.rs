//! Reads files that `/save` writes: one conversation each, at a path that the person chose.

use super::conversation::Conversation;
use crate::agents::document::{self, Torn};
use crate::extract::{Reject, Sink};
use crate::source::Source;
use crate::source::records::Text;

/// Reads a saved conversation. Any other file gives no rows.
pub(in crate::agents) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(json) = document::text(source, "a saved conversation", out)? else { return Ok(()) };
    let document = Torn::read(&json, "history");
    let id: Text<'_> = document.field("conversation_id");
    let is_conversation = !document.items.is_empty() || document.names().any(|name| name == "transcript");
    let Some(id) = id.get().filter(|_| is_conversation) else { return Ok(()) };
    let mut conversation = Conversation::new(id.to_owned(), None, None, out);
    conversation.read(&document)?;
    conversation.finish()
}
