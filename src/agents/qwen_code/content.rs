//! What the parts of a message say.

use std::borrow::Cow;

use super::record::{Message, Part};
use crate::source::{repair, unescape};

/// The texts and attachments of a message.
#[derive(Default)]
pub(super) struct Content<'l> {
    pub(super) text: Option<Cow<'l, str>>,
    pub(super) thinking: Option<Cow<'l, str>>,
    /// Images, documents and files. Count.
    pub(super) attachments: i64,
}

impl<'l> Content<'l> {
    pub(super) fn of(message: Option<&'l Message<'_>>) -> Self {
        let mut content = Self::default();
        for part in message.into_iter().flat_map(parts) {
            content.attachments += i64::from(part.inline.json().is_some()) + i64::from(part.file.json().is_some());
            let Some(text) = part.text.get() else { continue };
            append(if part.thought.0 { &mut content.thinking } else { &mut content.text }, text);
        }
        content
    }
}

/// The parts of a message.
pub(super) fn parts<'l, 'a>(message: &'l Message<'a>) -> impl Iterator<Item = &'l Part<'a>> {
    message.parts.0.iter().filter_map(|part| part.0.as_ref())
}

fn append<'l>(joined: &mut Option<Cow<'l, str>>, text: &'l str) {
    match joined {
        None => *joined = Some(Cow::Borrowed(text)),
        Some(joined) => {
            let joined = joined.to_mut();
            joined.push('\n');
            joined.push_str(text);
        }
    }
}

/// The text that a JSON string stands for; none for anything else.
pub(super) fn text_of(json: &str) -> Option<Cow<'_, str>> {
    if !json.starts_with('"') {
        return None;
    }
    unescape(json).or_else(|| serde_json::from_str(&repair(json.as_bytes())).ok().map(Cow::Owned))
}
