//! The first look at a chat: which messages it has, which version of each counts, and which of them the conversation
//! left.

use std::rc::Rc;

use super::AGENT;
use super::kinds::{is_reply, kind_of};
use super::record::Record;
use super::tokens::Numbers;
use crate::extract::{KeyMap, Kind, key};
use crate::tables::MessageKind;

/// The position of a version of a message: its line, from 1, and its index among the line's messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) item: u32,
}

/// The facts about a message from all its versions.
#[derive(Default)]
pub(super) struct Entry {
    pub(super) id: Box<str>,
    /// True if a message of the other side has the same id, which snapshots of the history give to a reply and the
    /// results of its calls.
    pub(super) is_second: bool,
    pub(super) is_reply: bool,
    pub(super) kind: MessageKind,
    pub(super) timestamp: Option<i64>,
    /// Version that counts.
    pub(super) version: Place,
    rank: u32,
    /// Calls of that version. Count.
    calls: u32,
    pub(super) first_line: u64,
    /// Place in the current history.
    live_at: Option<usize>,
    /// True if the conversation went on without it.
    pub(super) is_left: bool,
    pub(super) numbers: Option<Numbers>,
    pub(super) model: Option<Rc<str>>,
    /// Versions with tokens. Count.
    pub(super) billed: i64,
    pub(super) seq: i64,
    pub(super) turn: Option<i64>,
    /// Place of the message before it.
    pub(super) parent: Option<u32>,
}

/// The facts about a chat that the first reading collects.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) entries: Vec<Entry>,
    places: KeyMap<u32>,
    /// The current history, in order.
    live: Vec<u32>,
    model: Option<Rc<str>>,
}

impl Survey {
    /// Takes a version of a message. `in_snapshot`: it stands in a copy of the history, whose texts may be cut.
    pub(super) fn take(&mut self, record: &Record<'_>, id: &str, place: Place, in_snapshot: bool) {
        let is_reply = is_reply(record.kind.get());
        let at = self.entry(record, id, is_reply, place);
        if record.kind.is("message_update") {
            self.take_tokens(at, record);
            return;
        }
        let (rank, calls) = rank_of(record, in_snapshot);
        self.take_tokens(at, record);
        let Some(entry) = self.entries.get_mut(at as usize) else { return };
        if rank >= entry.rank {
            entry.kind = kind_of(record);
            (entry.rank, entry.calls, entry.version) = (rank, calls, place);
        }
        entry.timestamp = entry.timestamp.or(record.timestamp.0);
        entry.is_left = false;
        if entry.live_at.is_none() {
            entry.live_at = Some(self.live.len());
            self.live.push(at);
        }
    }

    fn entry(&mut self, record: &Record<'_>, id: &str, is_reply: bool, place: Place) -> u32 {
        // An update names no side: it is the reply's.
        let is_reply = is_reply || record.kind.is("message_update");
        let next = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        let at = *self.places.entry(place_key(id, is_reply)).or_insert(next);
        if at == next {
            self.entries.push(Entry {
                id: id.into(),
                is_second: self.places.contains_key(&place_key(id, !is_reply)),
                is_reply,
                kind: MessageKind::ToolResult,
                version: place,
                first_line: place.line,
                ..Entry::default()
            });
        }
        at
    }

    fn take_tokens(&mut self, at: u32, record: &Record<'_>) {
        let model = record.model.get().map(|model| match &self.model {
            Some(known) if &**known == model => known.clone(),
            _ => self.model.insert(model.into()).clone(),
        });
        let Some(entry) = self.entries.get_mut(at as usize) else { return };
        entry.model = model.or(entry.model.take());
        if let Some((numbers, _)) = record.tokens.0.as_ref().and_then(Numbers::of).filter(|_| entry.is_reply) {
            entry.numbers = Some(numbers);
            entry.billed += 1;
        }
    }

    /// Returns true if a message of that id is known.
    pub(super) fn knows(&self, id: &str) -> bool {
        self.places.contains_key(&place_key(id, false)) || self.places.contains_key(&place_key(id, true))
    }

    /// Goes back to before a message; to the very beginning when it is not there.
    pub(super) fn rewind(&mut self, id: &str) {
        let places = [false, true].into_iter().filter_map(|is_reply| self.places.get(&place_key(id, is_reply)));
        let from = places.filter_map(|at| self.entries.get(*at as usize)?.live_at).min().unwrap_or(0);
        for at in self.live.split_off(from) {
            if let Some(entry) = self.entries.get_mut(at as usize) {
                entry.live_at = None;
                entry.is_left = true;
            }
        }
    }

    /// Begins a copy of the history, which takes the place of all before it. Gives what it takes the place of.
    pub(super) fn begin_snapshot(&mut self) -> Vec<u32> {
        let before = std::mem::take(&mut self.live);
        for at in &before {
            if let Some(entry) = self.entries.get_mut(*at as usize) {
                entry.live_at = None;
            }
        }
        before
    }

    /// Ends a copy of the history. What it lacks was left, unless it was summed up; notices never are in a copy.
    pub(super) fn end_snapshot(&mut self, before: &[u32], sums_up: bool) {
        for at in before {
            if let Some(entry) = self.entries.get_mut(*at as usize).filter(|entry| entry.live_at.is_none() && !sums_up)
            {
                entry.is_left = matches!(
                    entry.kind,
                    MessageKind::Prompt | MessageKind::Reply | MessageKind::Meta | MessageKind::Compaction
                );
            }
        }
    }

    /// Returns true if a person or a model said anything.
    pub(super) fn has_conversation(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| matches!(entry.kind, MessageKind::Prompt | MessageKind::Reply | MessageKind::Compaction))
    }

    /// Gives each message its place in the session, and says where its version stands, in the order of the source.
    pub(super) fn settle(&mut self) -> Vec<(Place, u32)> {
        let (mut seq, mut turn) = (0, None);
        let (mut last, mut last_live) = (None, None);
        let mut versions = Vec::with_capacity(self.entries.len());
        for (at, entry) in (0_u32..).zip(&mut self.entries) {
            if entry.kind == MessageKind::ToolResult {
                continue;
            }
            if matches!(entry.kind, MessageKind::Prompt | MessageKind::Command) {
                turn = Some(turn.unwrap_or(0) + 1);
            }
            entry.parent = if entry.is_left { last } else { last_live };
            (entry.seq, entry.turn) = (seq, turn);
            seq += 1 + i64::from(entry.calls);
            last = Some(at);
            if !entry.is_left {
                last_live = last;
            }
            versions.push((entry.version, at));
        }
        versions.sort_unstable();
        (self.places, self.live) = (KeyMap::default(), Vec::new());
        versions
    }
}

fn place_key(id: &str, is_reply: bool) -> u64 {
    key(AGENT, if is_reply { Kind::Response } else { Kind::Message }, id)
}

/// Returns how much of a message a version holds, and how many calls it has. Snapshots lack what they do not need, and
/// their results may be cut.
fn rank_of(record: &Record<'_>, in_snapshot: bool) -> (u32, u32) {
    let calls = || record.calls.0.iter().filter_map(|call| call.0.as_ref());
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let answered = count(calls().filter(|call| call.result.json().is_some()).count()).min(0xFFF);
    let called = count(calls().count());
    let has_thoughts = record.thoughts.json().is_some_and(|json| json.len() > 2);
    let has_text = match record.content.json() {
        Some(json) if json.starts_with('"') => json.len() > 2,
        Some(json) => memchr::memmem::find(json.as_bytes(), b"\"text\"").is_some(),
        None => false,
    };
    let parts = [has_thoughts, has_text, !in_snapshot];
    let parts = parts.into_iter().fold(0, |rank, part| rank << 1 | u32::from(part));
    (answered << 16 | called.min(0xFFF) << 4 | parts, called)
}
