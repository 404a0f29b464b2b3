//! Reads the parts of messages.

use std::borrow::Cow;

use super::record::{Message, Part};
use crate::agents::kit::texts::append;

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
            let joined = if part.thought.0 { &mut content.thinking } else { &mut content.text };
            append(joined, Cow::Borrowed(text), "\n");
        }
        content
    }
}

/// The parts of a message.
pub(super) fn parts<'l, 'a>(message: &'l Message<'a>) -> impl Iterator<Item = &'l Part<'a>> {
    message.parts.0.iter().filter_map(|part| part.0.as_ref())
}
