//! Contents of the command-line program's messages and of transcripts: a text, or a list of blocks.

use std::borrow::Cow;

use super::record::Block;
use crate::agents::kit::texts::{join, string_of};
use crate::source::records::{List, Object, Raw, Text};

/// Returns the blocks of a content; a text is one block.
pub(super) fn blocks(content: Raw<'_>) -> Vec<Block<'_>> {
    let Some(json) = content.json() else { return Vec::new() };
    if json.starts_with('"') {
        let text = Text(string_of(json));
        return vec![Block { kind: Text(Some(Cow::Borrowed("text"))), text, ..Block::default() }];
    }
    let blocks: List<Object<Block<'_>>> = serde_json::from_str(json).unwrap_or_default();
    blocks.0.into_iter().filter_map(|block| block.0).collect()
}

/// Returns the joined texts of the blocks of a kind.
pub(super) fn texts<'b>(blocks: &'b [Block<'_>], kind: &str) -> Option<Cow<'b, str>> {
    let of_kind = blocks.iter().filter(|block| block.kind.is(kind));
    join(of_kind.filter_map(|block| block.text.get().map(Cow::Borrowed)))
}

/// Returns the number of images and files among the blocks.
pub(super) fn attachments(blocks: &[Block<'_>]) -> i64 {
    let is_attached = |block: &&Block<'_>| ["image", "image_url", "file"].iter().any(|kind| block.kind.is(kind));
    i64::try_from(blocks.iter().filter(is_attached).count()).unwrap_or(0)
}
