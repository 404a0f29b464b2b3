//! Contents of messages and structured results of tools: a text, a list of blocks or an object.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::agents::kit::texts::{self, join, string_of, text_or_mark};
use crate::extract::RecordedHunks;
use crate::source::records::{Flag, Fraction, Number, Raw, Text, lenient, record};
use crate::source::{repair, without_lone_surrogates};

record! {
    /// One block of a message's content.
    Block<'a> {
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        thinking: Text<'a> = "thinking",
        id: Text<'a> = "id",
        name: Text<'a> = "name",
        input: Raw<'a> = "input",
        server: Text<'a> = "server_name",
        call: Text<'a> = "tool_use_id",
        content: Raw<'a> = "content",
        is_error: Flag = "is_error",
    }

    /// The fields of a tool's structured result that have columns of their own.
    ToolResult<'a> {
        agent: Text<'a> = "agentId",
        duration_ms: Fraction = "durationMs",
        duration_seconds: Fraction = "durationSeconds",
        total_duration_ms: Fraction = "totalDurationMs",
        interrupted: Flag = "interrupted",
        background: Text<'a> = "backgroundTaskId",
        interpretation: Text<'a> = "returnCodeInterpretation",
        exit_code: Number = "exitCode",
        status: Text<'a> = "status",
        kind: Text<'a> = "type",
        hunks: RecordedHunks = "structuredPatch",
        content: Raw<'a> = "content",
    }
}

/// The blocks of a message. A text is one text block; anything else has no blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct Content<'a> {
    pub(super) blocks: Vec<Block<'a>>,
    /// True if there is any content, readable or not.
    pub(super) is_there: bool,
}

/// The structured result of a tool: an object, a text, or anything else.
#[derive(Debug, Clone, Default)]
pub(super) enum Structured<'a> {
    #[default]
    Other,
    Object(Box<ToolResult<'a>>),
    Text(Cow<'a, str>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let blocks = texts::blocks(deserializer)?;
        Ok(Self { is_there: blocks.is_some(), blocks: blocks.unwrap_or_default() })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Structured<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StructuredVisitor;
        impl<'de> Visitor<'de> for StructuredVisitor {
            type Value = Structured<'de>;
            lenient!(@expecting "a tool's result");
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Structured<'de>, E> {
                Ok(Structured::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Structured<'de>, E> {
                Ok(Structured::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Structured<'de>, A::Error> {
                let result = ToolResult::deserialize(MapAccessDeserializer::new(entries))?;
                Ok(Structured::Object(Box::new(result)))
            }
            lenient!(@otherwise Structured::Other; visit_bool(bool) visit_f64(f64) visit_i64(i64) visit_u64(u64));
            lenient!(@null Structured::Other);
            lenient!(@seq Structured::Other);
        }
        deserializer.deserialize_any(StructuredVisitor)
    }
}

/// Reads the blocks of a content; a text is one text block. `None` if it cannot be read even after repair.
pub(super) fn with_blocks<R>(json: Option<&str>, read: impl FnOnce(Vec<Block<'_>>) -> R) -> Option<R> {
    let json = json.unwrap_or("[]");
    if let Some(blocks) = blocks_of(json) {
        return Some(read(blocks));
    }
    let repaired = repair(json.as_bytes());
    blocks_of(&repaired).map(read)
}

fn blocks_of(json: &str) -> Option<Vec<Block<'_>>> {
    serde_json::from_str::<Content<'_>>(json).ok().map(|content| content.blocks)
}

/// Returns the text of a tool's result as the model saw it. Blocks other than text leave a mark.
pub(super) fn output_text(json: Option<&str>) -> Option<Cow<'_, str>> {
    let json = json?;
    if json.starts_with('"') {
        return string_of(json);
    }
    with_blocks(Some(json), |blocks| {
        join(blocks.into_iter().map(|block| Cow::Owned(text_or_mark(block.text.0, &block.kind).into_owned())))
    })?
}

/// Returns the plain text of a value that is a text or contains one.
pub(super) fn plain_text(json: Option<&str>) -> Option<String> {
    let json = json?;
    match json.as_bytes().first() {
        Some(b'"' | b'[') => output_text(Some(json)).map(Cow::into_owned),
        _ => Some(without_lone_surrogates(json).into_owned()),
    }
}
