//! Reads contents, and separates the parts that no person wrote.

use std::borrow::Cow;

use super::record::Part;
use crate::agents::kit::texts::join;
use crate::source::records::{List, Object, Raw, Text};

/// The first words of texts that the program sends in the person's name.
const META: [&str; 5] =
    ["# System Prompt", "# Identity", "<identity>", "## Included Rules", "You are operating in a workspace"];
/// The program's answer to those texts, in the model's name.
const ACKNOWLEDGED: &str = "I will follow these instructions.";
/// The tags around a prompt.
const WRAPPER: [&str; 2] = ["<kiro-ide-message>", "</kiro-ide-message>"];

/// The text of a content, a text or a list of parts; and how many parts are no text.
pub(super) fn text_of(content: Raw<'_>) -> (Option<Cow<'_, str>>, i64) {
    let Some(json) = content.json() else { return (None, 0) };
    if !json.starts_with('[') {
        let text: Text<'_> = serde_json::from_str(json).unwrap_or_default();
        return (text.0.filter(|text| !text.trim().is_empty()), 0);
    }
    let parts: List<Object<Part<'_>>> = serde_json::from_str(json).unwrap_or_default();
    let count = parts.0.len();
    let texts: Vec<Cow<'_, str>> =
        parts.0.into_iter().filter_map(|part| part.0.filter(|part| part.kind.is("text"))?.text.0).collect();
    let others = i64::try_from(count - texts.len()).unwrap_or(0);
    (join(texts).filter(|text| !text.trim().is_empty()), others)
}

/// Returns true if the program wrote what stands in the person's or the model's name.
pub(super) fn is_meta(text: &str) -> bool {
    let text = text.trim();
    text == ACKNOWLEDGED || META.iter().any(|opening| text.starts_with(opening))
}

/// A prompt without its wrapper.
pub(super) fn unwrapped(text: &str) -> &str {
    let [opening, closing] = WRAPPER;
    match text.trim().strip_prefix(opening) {
        Some(inner) => inner.strip_suffix(closing).unwrap_or(inner).trim(),
        None => text,
    }
}
