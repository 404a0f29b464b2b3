//! Message contents: a text or a list of blocks.

use std::borrow::Cow;

use super::record::Block;
use crate::source::records::{List, Object, Text};
use crate::source::repair;

/// The blocks of a content; a text is one text block. None when it cannot be read even after repair.
pub(super) fn with_blocks<R>(json: Option<&str>, read: impl FnOnce(Vec<Block<'_>>) -> R) -> Option<R> {
    let json = json.unwrap_or("[]");
    if let Some(blocks) = blocks_of(json) {
        return Some(read(blocks));
    }
    let repaired = repair(json.as_bytes());
    blocks_of(&repaired).map(read)
}

fn blocks_of(json: &str) -> Option<Vec<Block<'_>>> {
    if json.starts_with('"') {
        let text: Text<'_> = serde_json::from_str(json).ok()?;
        return Some(vec![Block { kind: Text(Some(Cow::Borrowed("text"))), text, ..Block::default() }]);
    }
    let list: List<Object<Block<'_>>> = serde_json::from_str(json).ok()?;
    Some(list.0.into_iter().filter_map(|block| block.0).collect())
}

/// Joins texts with a line end between them; borrowed when there is one.
pub(super) fn join<'a>(texts: impl IntoIterator<Item = Cow<'a, str>>) -> Option<Cow<'a, str>> {
    let mut joined: Option<Cow<'a, str>> = None;
    for text in texts {
        match &mut joined {
            None => joined = Some(text),
            Some(joined) => {
                let joined = joined.to_mut();
                joined.push('\n');
                joined.push_str(&text);
            }
        }
    }
    joined
}

/// The text of a tool's result as the model saw it; what is not text leaves a mark.
pub(super) fn output_text<'a>(json: Option<&'a str>) -> Option<Cow<'a, str>> {
    let json = json?;
    if json.starts_with('"') {
        return match serde_json::from_str::<Text<'a>>(json) {
            Ok(text) => text.0,
            Err(_) => serde_json::from_str::<String>(&repair(json.as_bytes())).ok().map(Cow::Owned),
        };
    }
    with_blocks(Some(json), |blocks| {
        let texts = blocks.into_iter().map(|block| {
            let mark = block.kind.get().unwrap_or("block").to_owned();
            Cow::Owned(block.text.0.map_or_else(|| format!("[{mark}]"), Cow::into_owned))
        });
        join(texts)
    })?
}

/// A plain text out of a value that is a text, or has one inside.
pub(super) fn plain_text(json: Option<&str>) -> Option<String> {
    let json = json?;
    match json.as_bytes().first() {
        Some(b'"' | b'[') => output_text(Some(json)).map(Cow::into_owned),
        _ => Some(repair(json.as_bytes()).into_owned()),
    }
}
