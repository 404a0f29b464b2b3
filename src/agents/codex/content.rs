//! Contents of messages and results: a text, or a list of parts.

use std::borrow::Cow;

use serde::Deserialize;

use super::record::Part;
use crate::agents::kit::texts::{self, string_of};
use crate::source::records::{List, Object};
use crate::source::{repair, without_lone_surrogates};

/// Reads a value of the given shape. If the text cannot be read as it is, reads the repaired text in `spare`.
pub(super) fn parse<'s, T: Deserialize<'s>>(json: &'s str, spare: &'s mut String) -> Option<T> {
    if let Ok(value) = serde_json::from_str(json) {
        return Some(value);
    }
    *spare = repair(json.as_bytes()).into_owned();
    serde_json::from_str(spare).ok()
}

/// Text of a content, and the number of its other parts.
#[derive(Debug, Default)]
pub(super) struct Content<'a> {
    pub(super) text: Option<Cow<'a, str>>,
    /// Images and other parts without text. Count.
    pub(super) attachments: i64,
}

impl<'a> Content<'a> {
    /// Reads a text or a list of parts. Counts parts without text, which leave a mark if `marks` is set.
    pub(super) fn of(json: Option<&'a str>, marks: bool) -> Self {
        let Some(json) = json else { return Self::default() };
        if json.starts_with('"') {
            return Self { text: string_of(json), attachments: 0 };
        }
        match serde_json::from_str::<List<Object<Part<'a>>>>(json) {
            Ok(List(parts)) => Self::of_parts(parts, marks),
            Err(_) => {
                let repaired = repair(json.as_bytes());
                let parts = serde_json::from_str::<List<Object<Part<'_>>>>(&repaired).unwrap_or_default();
                let content = Content::of_parts(parts.0, marks);
                Self { text: content.text.map(|text| Cow::Owned(text.into_owned())), attachments: content.attachments }
            }
        }
    }

    fn of_parts(parts: Vec<Object<Part<'a>>>, marks: bool) -> Self {
        let mut content = Self::default();
        for part in parts.into_iter().filter_map(|part| part.0) {
            let kind = part.kind.owned();
            match part.text.0 {
                Some(text) => append(&mut content.text, text),
                None => {
                    content.attachments += 1;
                    if marks {
                        append(&mut content.text, Cow::Owned(format!("[{}]", kind.as_deref().unwrap_or("part"))));
                    }
                }
            }
        }
        content
    }
}

/// Returns the plain text of a value that is a text, else the value's JSON.
pub(super) fn plain_text(json: Option<&str>) -> Option<String> {
    let json = json?;
    if json.starts_with('"') {
        return string_of(json).map(Cow::into_owned).filter(|text| !text.is_empty());
    }
    Some(without_lone_surrogates(json).into_owned())
}

/// Adds a text on a new line; an empty text has no line.
pub(super) fn append<'a>(text: &mut Option<Cow<'a, str>>, more: Cow<'a, str>) {
    *text = text.take().filter(|text| !text.is_empty());
    texts::append(text, more, "\n");
}
