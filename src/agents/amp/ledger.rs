//! Billed responses: the usage of messages, and events of older threads that record the same or more.

use std::collections::HashMap;

use super::record::{Event, Usage};
use crate::tables::UsageRow;

/// Beginnings of the names of models for which Amp counts all uncached input as cache writes.
const OPENAI: [&str; 5] = ["gpt-", "o1", "o2", "o3", "o4"];

/// Events, and which of them belong to a message.
pub(super) struct Events<'e, 'j> {
    events: &'e [Event<'j>],
    of_messages: HashMap<i64, usize>,
    is_taken: Vec<bool>,
}

impl<'e, 'j> Events<'e, 'j> {
    pub(super) fn new(events: &'e [Event<'j>]) -> Self {
        let of_messages = events.iter().enumerate().filter_map(|(place, event)| Some((event.message.0?, place)));
        Self { of_messages: of_messages.collect(), is_taken: vec![false; events.len()], events }
    }

    /// Takes the events that name a message with usage.
    pub(super) fn take_named(&mut self, messages: impl Iterator<Item = i64>) {
        for message in messages {
            let place = self.of_messages.get(&message).copied();
            if let Some(taken) = place.and_then(|place| self.is_taken.get_mut(place)) {
                *taken = true;
            }
        }
    }

    /// Returns the event of a message: the one that names it, or else the first one of its model and output.
    pub(super) fn of(&mut self, message: Option<i64>, usage: &Usage<'_>) -> Option<&'e Event<'j>> {
        let named = message.and_then(|message| self.of_messages.get(&message).copied());
        let is_same = |event: &Event<'_>| {
            let output = event.tokens.0.as_ref().and_then(|tokens| tokens.output.0);
            event.model.get() == usage.model.get() && output == usage.output.0
        };
        let place = named.or_else(|| {
            let mut free = self.events.iter().zip(&self.is_taken).take(MOST_SEARCHED);
            free.position(|(event, is_taken)| !is_taken && is_same(event))
        })?;
        *self.is_taken.get_mut(place)? = true;
        self.events.get(place)
    }

    /// Returns the events that belong to no message: titles, subagents and other helpers.
    pub(super) fn rest(&self) -> impl Iterator<Item = &'e Event<'j>> {
        let free = self.events.iter().zip(&self.is_taken);
        free.filter(|(_, is_taken)| !**is_taken).map(|(event, _)| event)
    }
}

/// Most events to search for one of a model and output.
const MOST_SEARCHED: usize = 1000;

/// Returns the row of a message's usage. The three kinds of input are disjoint.
pub(super) fn row<'r>(usage: &'r Usage<'_>) -> UsageRow<'r> {
    let model = usage.model.get();
    let is_openai = model.is_some_and(|model| OPENAI.iter().any(|family| model.starts_with(family)));
    let (input, written) = (usage.input.0, usage.cache_write.0);
    UsageRow {
        model,
        input_tokens: if is_openai { Some(input.unwrap_or(0).saturating_add(written.unwrap_or(0))) } else { input },
        cache_read_tokens: usage.cache_read.0,
        cache_write_5m_tokens: if is_openai { Some(0) } else { written },
        output_tokens: usage.output.0,
        context_window: usage.context_window.0,
        ..UsageRow::default()
    }
}

/// Returns the row of an event without a message.
pub(super) fn row_of_event<'r>(event: &'r Event<'_>) -> UsageRow<'r> {
    let tokens = event.tokens.0.as_ref();
    UsageRow {
        model: event.model.get(),
        timestamp: event.timestamp.0,
        input_tokens: tokens.and_then(|tokens| tokens.input.0),
        output_tokens: tokens.and_then(|tokens| tokens.output.0),
        ..UsageRow::default()
    }
}
