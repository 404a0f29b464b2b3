//! Message contents: a text or a list of blocks.

use std::borrow::Cow;

use crate::agents::kit::texts::{Blocks, join, text_or_mark};
use crate::source::records::{Flag, Raw, Text, record};

record! {
    /// One block of a content.
    Block<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        redacted: Flag = "redacted",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        arguments: Raw<'a> = "arguments" | "input",
    }
}

/// The blocks of a message.
pub(crate) type Content<'a> = Blocks<Block<'a>>;

impl Content<'_> {
    /// The texts, with a line end between them.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        let texts = self.0.iter().filter(|block| block.kind.is("text")).filter_map(|block| block.text.0.as_deref());
        join(texts.map(Cow::Borrowed))
    }

    /// The visible thinking; what the provider encrypted is empty or says only that, and counts as none.
    pub(super) fn thinking(&self) -> Option<Cow<'_, str>> {
        let thoughts = self.0.iter().filter(|block| block.kind.is("thinking") && !block.redacted.0);
        join(thoughts.filter_map(|block| block.thinking.get()).map(Cow::Borrowed))
    }

    /// The text of a tool's result as the model saw it; what is not text leaves a mark.
    pub(super) fn output(&self) -> Option<Cow<'_, str>> {
        join(self.0.iter().map(|block| text_or_mark(block.text.0.as_deref().map(Cow::Borrowed), &block.kind)))
    }

    /// Images and files. Count.
    pub(super) fn attachments(&self) -> i64 {
        let is_attached =
            |block: &&Block<'_>| matches!(block.kind.get(), Some("image" | "file" | "document" | "audio"));
        i64::try_from(self.0.iter().filter(is_attached).count()).unwrap_or(i64::MAX)
    }
}

impl Block<'_> {
    /// Returns true if the model calls a tool here.
    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind.get(), Some("toolCall" | "toolUse" | "tool_use" | "functionCall"))
    }
}
