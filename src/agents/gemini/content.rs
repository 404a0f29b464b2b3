//! Contents of messages: a text, a part, or a list of both.

use std::borrow::Cow;

use super::record::{Part, Thought};
use crate::agents::kit::texts::{append, string_of};
use crate::source::records::{List, Object, Raw};

/// The parts of a content.
#[derive(Default)]
pub(super) struct Content<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    /// Texts of parts that are thoughts.
    pub(super) thinking: Option<Cow<'a, str>>,
    /// Images, documents and files. Count.
    pub(super) attachments: i64,
    /// True if it gives a tool's result.
    pub(super) has_result: bool,
}

impl<'a> Content<'a> {
    /// Reads a content as it stands in the record.
    pub(super) fn of(raw: Raw<'a>) -> Self {
        let mut content = Self::default();
        each_part(raw, &mut |part| content.add(part));
        content
    }

    fn add(&mut self, piece: Piece<'a>) {
        match piece {
            Piece::Text(text) => append(&mut self.text, text, ""),
            Piece::Part(part) => {
                self.attachments += i64::from(part.inline.json().is_some()) + i64::from(part.file.json().is_some());
                self.has_result |= part.response.0.is_some();
                let Some(text) = text_of(part.text) else { return };
                match part.thought.json() {
                    Some("true") => append(&mut self.thinking, text, "\n"),
                    _ => append(&mut self.text, text, ""),
                }
            }
        }
    }

    /// Returns true if it holds nothing but results of tools.
    pub(super) fn is_result(&self) -> bool {
        self.has_result && self.text.is_none() && self.attachments == 0
    }
}

/// An item of a content.
pub(super) enum Piece<'a> {
    Text(Cow<'a, str>),
    Part(Part<'a>),
}

/// Gives each piece of a content.
pub(super) fn each_part<'a>(raw: Raw<'a>, take: &mut impl FnMut(Piece<'a>)) {
    let Some(json) = raw.json() else { return };
    match json.as_bytes().first() {
        Some(b'"') => text_of(raw).map(Piece::Text).into_iter().for_each(take),
        Some(b'{') => serde_json::from_str(json).ok().map(Piece::Part).into_iter().for_each(take),
        Some(b'[') => {
            let items: List<Raw<'a>> = serde_json::from_str(json).unwrap_or_default();
            for item in items.0 {
                if !item.json().is_some_and(|json| json.starts_with('[')) {
                    each_part(item, take);
                }
            }
        }
        _ => {}
    }
}

/// The decoded text of a JSON string; none for an empty one, and for anything else. Half a surrogate pair becomes
/// U+FFFD.
pub(super) fn text_of(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    string_of(raw.json()?).filter(|text| !text.is_empty())
}

/// The thoughts of a reply, `subject: description`, a line each.
pub(super) fn thinking_of(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = raw.json().filter(|json| json.len() > 2)?;
    let thoughts: List<Object<Thought<'_>>> = serde_json::from_str(json).ok()?;
    let mut joined = None;
    for thought in thoughts.0.into_iter().filter_map(|thought| thought.0) {
        let text = match (text_of(thought.subject), text_of(thought.description)) {
            (Some(subject), Some(description)) => Cow::Owned(format!("{subject}: {description}")),
            (Some(text), None) | (None, Some(text)) => text,
            (None, None) => continue,
        };
        append(&mut joined, text, "\n");
    }
    joined
}
