//! Edits as Gemini CLI and its fork show them to the person.

use crate::extract::{EditedLines, RecordedDiff};
use crate::source::records::{Number, Object, Raw, record};

record! {
    /// An edit as shown to the person.
    Shown<'a> { counts: Object<Counts<'a>> = "diffStat", diff: RecordedDiff = "fileDiff" }

    /// Lines of the model, and those that the person changed before saving. The first versions say `ai` for the model.
    Counts<'a> {
        added: Number = "model_added_lines" | "ai_added_lines",
        removed: Number = "model_removed_lines" | "ai_removed_lines",
        own_added: Number = "user_added_lines",
        own_removed: Number = "user_removed_lines",
    }
}

/// Returns the lines that an edit added and removed, if the shown result has them.
pub(in crate::agents) fn edited_lines(shown: Raw<'_>) -> EditedLines {
    let json = shown.json().filter(|json| json.starts_with('{'));
    let shown: Shown<'_> = json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let of_counts = |counts: &Counts<'_>| {
        let sum = |lines: Number, own: Number| Some(lines.0?.saturating_add(own.0.unwrap_or(0)).max(0));
        let lines = EditedLines {
            added: sum(counts.added, counts.own_added),
            removed: sum(counts.removed, counts.own_removed),
        };
        Some(lines).filter(|lines| lines.added.is_some())
    };
    shown.counts.0.as_ref().and_then(of_counts).or(shown.diff.0).unwrap_or_default()
}
