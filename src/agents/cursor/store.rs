//! `store.db`: one chat of the command-line program, as blobs in the order of a tree.

use std::collections::BTreeSet;

use rusqlite::OptionalExtension;
use rusqlite::types::ValueRef;

use super::chat::Chat;
use super::listing::Listing;
use super::record::{ChatMessage, ChatMeta, StoreMeta};
use super::{AGENT, value};
use crate::agents::kit;
use crate::agents::protobuf::next_field;
use crate::extract::{Kind, NoteField, Reject, Sink, key};
use crate::source::{Database, Source, repair};

/// Levels of trees within trees to follow.
const DEPTH: usize = 32;
/// Length of the hash that names a blob. Bytes.
const HASH: usize = 32;

/// Returns true if a database is a chat's.
pub(super) fn is_store(database: &Database) -> Result<bool, Reject> {
    Ok(["blobs", "meta"]
        .iter()
        .map(|table| database.columns(table))
        .collect::<Result<Vec<_>, _>>()?
        .iter()
        .all(|columns| !columns.is_empty()))
}

/// Reads the messages that the chat's newest tree reaches. Other blobs are older trees and withdrawn messages.
pub(super) fn extract(source: &Source<'_>, database: &Database, out: &mut Sink<'_>) -> Result<(), Reject> {
    let beside = source.sidecar(&source.path.with_file_name("meta.json")).unwrap_or_default();
    let beside = repair(&beside);
    let json = stored_meta(database)?;
    out.line();
    let number = out.report.lines;
    let meta: ChatMeta<'_> = serde_json::from_str(&beside).unwrap_or_default();
    let stored = json.as_deref().and_then(|json| serde_json::from_str::<StoreMeta<'_>>(json).ok());
    let Some(stored) = stored else {
        out.problem(number, "the chat's record cannot be read");
        return Ok(());
    };
    let folder = source.path.parent().and_then(|folder| folder.file_name()).and_then(|name| name.to_str());
    let id = stored.id.get().or(folder).unwrap_or_default();
    let created = meta.created.0.or(stored.created.0);
    let mut tree = Tree { database, messages: Vec::new(), visited: BTreeSet::new() };
    let walked = tree.walk(stored.root.get().unwrap_or_default(), 0);
    if let Ok(false) = walked {
        out.problem(number, "the chat's newest tree cannot be read");
    }
    let Tree { messages, .. } = tree;
    let listing = Listing {
        created,
        title: meta.title.get().or(stored.name.get()).map(str::to_owned),
        project: meta.cwd.owned(),
        is_subagent: meta.is_subagent.0,
        ..Listing::default()
    }
    .started_by(&stored.started_by);
    if let Some(call) = &listing.call {
        out.note(NoteField::ChildSession, key(AGENT, Kind::ToolCall, call), 0, id);
    }
    let mut chat = Chat::new(out, id, created, stored.model.get());
    let mut damaged = walked.err();
    let count = messages.len();
    for (place, hash) in messages.iter().enumerate() {
        let moment = meta.updated.0.filter(|_| place > 0 && place + 1 == count);
        match read_message(database, hash, place + 1 == count, moment, &mut chat) {
            Ok(taken) => taken?,
            Err(Reject::Database(error)) => drop(damaged.get_or_insert(Reject::Database(error))),
            Err(error) => return Err(error),
        }
    }
    chat.end(listing.facts(None))?;
    match damaged {
        Some(Reject::Database(error)) => {
            out.problem(out.report.lines, &kit::store::damaged(&error));
            Ok(())
        }
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn read_message(
    database: &Database,
    hash: &str,
    is_last: bool,
    moment: Option<i64>,
    chat: &mut Chat<'_, '_>,
) -> Result<Result<(), Reject>, Reject> {
    let taken = with_blob(database, hash, |blob| {
        chat.sink().line();
        let number = chat.sink().report.lines;
        let json = repair(blob);
        let read = value::read::<ChatMessage<'static>, _>(&json, |message| chat.take(message, hash, is_last, moment));
        read.unwrap_or_else(|error| {
            chat.sink().problem(number, &format!("a message is no JSON object: {error}"));
            Ok(())
        })
    })?;
    if taken.is_none() {
        chat.sink().unknown("message that is listed and not stored");
    }
    Ok(taken.unwrap_or(Ok(())))
}

/// Returns row `0` of `meta`: JSON as hexadecimal digits.
fn stored_meta(database: &Database) -> Result<Option<String>, Reject> {
    let mut statement = database.prepare("SELECT value FROM meta WHERE CAST(key AS TEXT) = '0'")?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(0)? else { return Ok(None) };
    let text = repair(bytes);
    let text = text.trim();
    if text.starts_with('{') {
        return Ok(Some(text.to_owned()));
    }
    let pairs =
        text.as_bytes().chunks_exact(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    Ok(pairs.collect::<Option<Vec<u8>>>().map(|bytes| repair(&bytes).into_owned()))
}

fn with_blob<R>(database: &Database, hash: &str, take: impl FnOnce(&[u8]) -> R) -> Result<Option<R>, Reject> {
    let mut take = Some(take);
    let mut statement = database.prepare("SELECT data FROM blobs WHERE id = ?1")?;
    let taken = statement.query_row([hash], |row| {
        let (ValueRef::Text(bytes) | ValueRef::Blob(bytes)) = row.get_ref(0)? else { return Ok(None) };
        Ok(take.take().map(|take| take(bytes)))
    });
    Ok(taken.optional()?.flatten())
}

struct Tree<'d> {
    database: &'d Database,
    /// Hashes of the messages, in order.
    messages: Vec<String>,
    visited: BTreeSet<String>,
}

impl Tree<'_> {
    /// Adds the messages below a blob. Returns true if the blob exists and is sound.
    fn walk(&mut self, hash: &str, depth: usize) -> Result<bool, Reject> {
        if depth > DEPTH || !self.visited.insert(hash.to_owned()) {
            return Ok(true);
        }
        let Some(links) = with_blob(self.database, hash, links)? else { return Ok(false) };
        let mut is_sound = links.is_sound;
        for (is_tree, hash) in links.found {
            if is_tree {
                is_sound &= self.walk(&hash, depth + 1)?;
            } else {
                self.messages.push(hash);
            }
        }
        Ok(is_sound)
    }
}

struct Links {
    /// Hash of each link, with true if it is a tree.
    found: Vec<(bool, String)>,
    is_sound: bool,
}

/// Returns the hashes in a protobuf record: of messages in field 1, of trees in field 2.
fn links(mut bytes: &[u8]) -> Links {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let Some((field, content)) = next_field(&mut bytes) else { return Links { found, is_sound: false } };
        if let (1 | 2, Some(content)) = (field, content)
            && content.len() == HASH
        {
            found.push((field == 2, hexadecimal(content)));
        }
    }
    Links { found, is_sound: true }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |four: u8| char::from_digit(u32::from(four), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_between_other_fields() {
        let mut bytes = vec![0x18, 0x96, 0x01, 0x0a, 32];
        bytes.extend([0xab; 32]);
        bytes.extend([0x25, 0, 0, 0, 0, 0x12, 32]);
        bytes.extend([0x01; 32]);
        bytes.extend([0x4a, 2, b'/', b'w', 0x0a, 1, 7]);
        let links_of = links(&bytes);
        assert!(links_of.is_sound);
        assert_eq!(links_of.found, [(false, "ab".repeat(32)), (true, "01".repeat(32))]);
        assert!(!links(bytes.get(..bytes.len() - 1).unwrap()).is_sound);
        assert!(!links(b"{\"role\":\"user\"}").is_sound);
        assert!(!links(&[0xff; 20]).is_sound);
    }
}
