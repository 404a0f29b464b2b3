//! Message contents: a text or a list of blocks.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::source::records::{Object, Raw, Text, lenient, record};

record! {
    /// One block of a content.
    Block<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        arguments: Raw<'a> = "arguments" | "input",
    }
    ignores the rest
}

/// The blocks of a message; a text is one text block, anything else is none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content<'a>(pub(crate) Vec<Block<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = Content<'de>;
            lenient!(@expecting "a text or a list of blocks");
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content::of_text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content::of_text(Cow::Owned(text.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content<'de>, A::Error> {
                let mut blocks = Vec::new();
                while let Some(Object(block)) = items.next_element::<Object<Block<'de>>>()? {
                    blocks.extend(block);
                }
                Ok(Content(blocks))
            }
            lenient!(@otherwise Content::default(); visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64));
            lenient!(@null Content::default());
            lenient!(@map Content::default());
        }
        deserializer.deserialize_any(ContentVisitor)
    }
}

impl<'a> Content<'a> {
    fn of_text(text: Cow<'a, str>) -> Self {
        let kind = Text(Some(Cow::Borrowed("text")));
        Self(vec![Block { kind, text: Text(Some(text)), ..Block::default() }])
    }

    /// The texts, with a line end between them.
    pub(super) fn text(&self) -> Option<Cow<'_, str>> {
        join(self.0.iter().filter(|block| block.kind.is("text")).filter_map(|block| block.text.0.as_deref()))
    }

    /// The visible thinking; what the provider encrypted is empty and counts as none.
    pub(super) fn thinking(&self) -> Option<Cow<'_, str>> {
        join(self.0.iter().filter(|block| block.kind.is("thinking")).filter_map(|block| block.thinking.get()))
    }

    /// The text of a tool's result as the model saw it; what is not text leaves a mark.
    pub(super) fn output(&self) -> Option<Cow<'_, str>> {
        if self.0.iter().all(|block| block.text.0.is_some()) {
            return join(self.0.iter().filter_map(|block| block.text.0.as_deref()));
        }
        let texts: Vec<Cow<'_, str>> = self.0.iter().map(Block::as_output).collect();
        join(texts.iter().map(AsRef::as_ref)).map(|text| Cow::Owned(text.into_owned()))
    }

    /// Images and files. Count.
    pub(super) fn attachments(&self) -> i64 {
        let is_attached =
            |block: &&Block<'_>| matches!(block.kind.get(), Some("image" | "file" | "document" | "audio"));
        i64::try_from(self.0.iter().filter(is_attached).count()).unwrap_or(i64::MAX)
    }
}

impl Block<'_> {
    fn as_output(&self) -> Cow<'_, str> {
        match self.text.0.as_deref() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(format!("[{}]", self.kind.get().unwrap_or("block"))),
        }
    }

    /// Whether the model calls a tool here.
    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind.get(), Some("toolCall" | "toolUse" | "tool_use" | "functionCall"))
    }
}

/// Joins texts with a line end between them; borrowed when there is one.
fn join<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Cow<'t, str>> {
    let mut joined: Option<Cow<'t, str>> = None;
    for text in texts {
        match &mut joined {
            None => joined = Some(Cow::Borrowed(text)),
            Some(joined) => {
                let joined = joined.to_mut();
                joined.push('\n');
                joined.push_str(text);
            }
        }
    }
    joined
}
