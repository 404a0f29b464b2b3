//! Sessions of the TypeScript program (April to August 2025): one document each, rewritten at every save.

use super::record::{Document, Item};
use super::rollout::Rollout;
use crate::agents::document;
use crate::extract::{Reject, Sink};
use crate::source::Source;

/// Reads a session. Only its last save has a time.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(text) = document::text(source, "a session", out)? else { return Ok(()) };
    let Ok(document) = serde_json::from_str::<Document<'_>>(&text) else {
        out.line();
        out.problem(1, "a torn JSON document");
        return Ok(());
    };
    out.unknown_fields("document field ", &document.unknown);
    let meta = document.session.0.unwrap_or_default();
    out.unknown_fields("session field ", &meta.unknown);
    let session = meta.id.get().map_or_else(|| super::session_of_name(source.path), str::to_owned);
    let mut rollout = Rollout::of_document(session, meta.timestamp.0, out);
    for (number, item) in (1..).zip(&document.items.0) {
        let item = item.json().and_then(|json| serde_json::from_str::<Item<'_>>(json).ok());
        rollout.take_document_item(number, item.as_ref())?;
    }
    rollout.finish()
}
