//! Reads the blocks of messages and results.

use std::borrow::Cow;

use super::record::Block;
use crate::agents::kit::texts::join;
use crate::source::records::{List, Object, Raw, Text};

/// The blocks of a kind.
pub(super) fn of_kind<'b, 'a>(
    blocks: &'b List<Object<Block<'a>>>,
    kind: &'static str,
) -> impl Iterator<Item = &'b Block<'a>> {
    blocks.0.iter().filter_map(|block| block.0.as_ref()).filter(move |block| block.kind.is(kind))
}

/// Returns a text as it is, and anything else as JSON.
pub(super) fn plain(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = raw.json()?;
    let text: Text<'_> = serde_json::from_str(json).unwrap_or_default();
    Some(text.0.filter(|_| json.starts_with('"')).unwrap_or(Cow::Borrowed(json)))
}

/// The texts of blocks, with line ends between them.
pub(super) fn text<'a>(blocks: &List<Object<Block<'a>>>) -> Option<Cow<'a, str>> {
    join(of_kind(blocks, "text").filter_map(|block| plain(block.data))).filter(|text| !text.is_empty())
}

/// A content that is a text or a list of blocks, and how many of those are no texts.
pub(super) fn text_or_blocks(content: Raw<'_>) -> (Option<Cow<'_, str>>, i64) {
    let Some(json) = content.json() else { return (None, 0) };
    if !json.starts_with('[') {
        return (plain(content), 0);
    }
    let blocks: List<Object<Block<'_>>> = serde_json::from_str(json).unwrap_or_default();
    let texts = of_kind(&blocks, "text").count();
    (text(&blocks), i64::try_from(blocks.0.len() - texts).unwrap_or(0))
}
