//! Reads the records of a chat in each of its forms: lines, a document, lists of messages within either.

use super::kinds::is_message;
use super::record::Record;
use super::survey::Place;
use crate::agents::document::{self, Ending, Found};
use crate::extract::{Reject, Sink};
use crate::source::records::Raw;
use crate::source::{Source, repair};

/// Gives each message its place.
#[derive(Default)]
pub(super) struct Counter {
    line: u64,
    next: u32,
}

impl Counter {
    fn place(&mut self, line: u64) -> Place {
        if line != self.line {
            *self = Self { line, next: 0 };
        }
        let item = self.next;
        self.next = self.next.saturating_add(1);
        Place { line, item }
    }
}

/// Looks at what a chat holds, from the first record to the last.
pub(super) trait Look<'s> {
    /// Returns the sink that counts lines and problems.
    fn out(&mut self) -> &mut Sink<'s>;
    /// Places of the messages.
    fn counter(&mut self) -> &mut Counter;
    /// Returns true if the version of a message is looked at.
    fn wants(&self, place: Place) -> bool;
    /// Takes a version of a message; in a snapshot when it stands in a copy of the history.
    fn message(&mut self, record: &Record<'_>, place: Place, in_snapshot: bool) -> Result<(), Reject>;
    /// Takes facts of the session.
    fn facts(&mut self, _record: &Record<'_>) {}
    /// Takes what goes back to a message.
    fn rewind(&mut self, _id: &str) {}
    /// A copy of the history begins.
    fn begin_snapshot(&mut self) {}
    /// A copy of the history has ended.
    fn end_snapshot(&mut self) {}
    /// Takes a record that is none of these.
    fn other(&mut self, _record: &Record<'_>) {}
}

/// Takes a line's record.
pub(super) fn take_record<'s>(look: &mut impl Look<'s>, record: &Record<'_>, line: u64) -> Result<(), Reject> {
    let kind = record.kind.get();
    if let Some(id) = record.rewind_to.get() {
        look.rewind(id);
    } else if record.id.get().is_some() || is_message(kind) {
        let place = look.counter().place(line);
        look.message(record, place, false)?;
    } else if let Some(set) = &record.set.0 {
        look.facts(set);
        if let Some(messages) = set.messages.messages() {
            look.begin_snapshot();
            take_list(look, messages, line, true)?;
            look.end_snapshot();
        }
    } else if record.session.get().is_some() {
        look.facts(record);
        take_list(look, record.messages.messages().unwrap_or_default(), line, false)?;
    } else {
        look.other(record);
    }
    Ok(())
}

fn take_list<'s>(look: &mut impl Look<'s>, list: &[Raw<'_>], line: u64, in_snapshot: bool) -> Result<(), Reject> {
    for raw in list {
        let place = look.counter().place(line);
        take_item(look, raw.json().unwrap_or_default(), place, in_snapshot)?;
    }
    Ok(())
}

pub(super) fn take_item<'s>(
    look: &mut impl Look<'s>,
    json: &str,
    place: Place,
    in_snapshot: bool,
) -> Result<(), Reject> {
    if !look.wants(place) {
        return Ok(());
    }
    if let Ok(record) = serde_json::from_str::<Record<'_>>(json) {
        return look.message(&record, place, in_snapshot);
    }
    let repaired = repair(json.as_bytes());
    match serde_json::from_str::<Record<'_>>(&repaired) {
        Ok(record) => look.message(&record, place, in_snapshot),
        Err(error) => {
            look.out().problem(place.line, &format!("a message that cannot be read: {error}"));
            Ok(())
        }
    }
}

/// Looks at a chat that is one document and is held; its messages stand on line 1 for all that counts lines. Gives
/// whether it was read to its end, and the messages.
pub(super) fn take_document<'s, 't>(look: &mut impl Look<'s>, text: &'t str) -> Result<(bool, Vec<&'t str>), Reject> {
    let mut messages = Vec::new();
    let ending = document::read_text(text, "messages", &mut |found| {
        match found {
            Found::Field(json) => take_field(look, json),
            Found::Item(json) => {
                messages.push(json);
                take_message(look, json)?;
            }
        }
        Ok(())
    })?;
    Ok((end_document(look, &ending), messages))
}

/// As [`take_document`], of one that is too large to be held.
pub(super) fn stream_document<'s>(look: &mut impl Look<'s>, source: &mut Source<'_>) -> Result<bool, Reject> {
    let ending = document::stream(source, "messages", &mut |found| {
        match found {
            Found::Field(json) => take_field(look, json),
            Found::Item(json) => take_message(look, json)?,
        }
        Ok(())
    })?;
    Ok(end_document(look, &ending))
}

fn take_field<'s>(look: &mut impl Look<'s>, json: &str) {
    if let Ok(record) = serde_json::from_str::<Record<'_>>(json) {
        look.facts(&record);
    }
}

fn take_message<'s>(look: &mut impl Look<'s>, json: &str) -> Result<(), Reject> {
    look.out().line();
    let place = look.counter().place(1);
    take_item(look, json, place, false)
}

fn end_document<'s>(look: &mut impl Look<'s>, ending: &Ending) -> bool {
    if !matches!(ending, Ending::Empty) {
        look.out().line();
    }
    if let Ending::Torn(line, error) = ending {
        look.out().problem(*line, &format!("a torn document; the messages before the tear were read: {error}"));
    }
    matches!(ending, Ending::Whole)
}
