//! Contents of messages and of tool results: a text or a list of blocks.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer};

use super::record::Block;
use crate::agents::content::{self, TextBlock, join};
use crate::source::records::{Raw, Text};
use crate::source::{repair, unescape};

/// The blocks of a message; a text is one text block, anything else is none.
#[derive(Debug, Clone, Default)]
pub(super) struct Content<'a>(pub(super) Vec<Block<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        content::blocks(deserializer).map(|blocks| Self(blocks.unwrap_or_default()))
    }
}

impl<'a> TextBlock<'a> for Block<'a> {
    fn of_text(text: Cow<'a, str>) -> Self {
        Self { kind: Text(Some(Cow::Borrowed("text"))), text: Text(Some(text)), ..Self::default() }
    }
}

impl<'a> Content<'a> {
    /// The texts that are not empty.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|block| block.kind.is("text")).filter_map(|block| block.text.get())
    }

    /// The blocks of one type.
    pub(super) fn of_type(&self, kind: &'static str) -> impl Iterator<Item = &Block<'a>> {
        self.0.iter().filter(move |block| block.kind.is(kind))
    }
}

/// The text of a value that is a text or a list of blocks; what is not text leaves a mark, an object stays as it stands.
pub(super) fn plain_text<'a>(value: &Raw<'a>) -> Option<Cow<'a, str>> {
    let json = value.json()?;
    match json.as_bytes().first()? {
        b'"' => {
            let repaired = || serde_json::from_str::<String>(&repair(json.as_bytes())).ok().map(Cow::Owned);
            unescape(json).or_else(repaired)
        }
        b'[' => {
            let texts = |Content(blocks): Content<'_>| {
                join(blocks.into_iter().map(|block| {
                    let mark = block.kind.get().unwrap_or("block").to_owned();
                    Cow::Owned(block.text.0.map_or_else(|| format!("[{mark}]"), Cow::into_owned))
                }))
            };
            serde_json::from_str(json)
                .map(texts)
                .or_else(|_| serde_json::from_str(&repair(json.as_bytes())).map(texts))
                .ok()?
        }
        _ => Some(repair(json.as_bytes())),
    }
}

/// What a field that may be absent says: true, false, or nothing.
pub(super) fn said(flag: &Raw<'_>) -> Option<bool> {
    match flag.json()? {
        "true" | "\"true\"" => Some(true),
        "false" | "\"false\"" => Some(false),
        _ => None,
    }
}
