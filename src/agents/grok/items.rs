//! The history that the model sees: names, arguments and outputs of calls, which the log does not have.

use std::borrow::Cow;
use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::record::{Item, ToolUse};
use crate::agents::kit::texts::{join, string_of};
use crate::source::{Lines, repair};

/// Bytes of arguments and outputs that are held.
const MOST_BYTES: usize = 32 << 20;

/// A call as the history has it.
#[derive(Default)]
pub(super) struct Known {
    pub(super) name: Option<String>,
    /// JSON.
    pub(super) arguments: Option<String>,
    pub(super) output: Option<String>,
}

/// The calls of a history, by their ids.
#[derive(Default)]
pub(super) struct Items {
    calls: HashMap<String, Known>,
    /// Writers of replies, by the hashes of the texts.
    writers: HashMap<u64, Writer>,
    bytes: usize,
}

/// The model that wrote a reply, and its reasoning effort.
#[derive(Default)]
pub(super) struct Writer {
    pub(super) model: Option<String>,
    pub(super) effort: Option<String>,
}

impl Items {
    /// Reads the calls. What is damaged is no problem of the log.
    pub(super) fn read(lines: &mut Lines<'_>) -> Self {
        let mut items = Self::default();
        while let Some(line) = lines.next_line() {
            let text = repair(line.bytes);
            if let Ok(item) = serde_json::from_str::<Item<'_>>(&text) {
                items.take(&item);
            }
        }
        items
    }

    /// Returns the writer of a reply.
    pub(super) fn writer(&self, reply: &str) -> Option<&Writer> {
        self.writers.get(&xxh3_64(reply.trim().as_bytes()))
    }

    pub(super) fn remove(&mut self, call: &str) -> Known {
        self.calls.remove(call).unwrap_or_default()
    }

    fn take(&mut self, item: &Item<'_>) {
        for used in item.calls.0.iter().filter_map(|used| used.0.as_ref()) {
            let (name, arguments) = (name_of(used).map(str::to_owned), arguments_of(used).map(Cow::into_owned));
            let Some(known) = self.known(used.id.get(), arguments.as_deref()) else { continue };
            (known.name, known.arguments) = (name, arguments);
        }
        if let Some(text) = text_of(item).filter(|_| item.kind.is("assistant")) {
            let writer = Writer { model: item.model.owned(), effort: item.effort.owned() };
            self.bytes += size_of::<Writer>();
            if self.bytes <= MOST_BYTES && (writer.model.is_some() || writer.effort.is_some()) {
                self.writers.insert(xxh3_64(text.trim().as_bytes()), writer);
            }
        }
        if matches!(item.kind.get(), Some("tool_result" | "tool")) {
            let output = text_of(item).map(Cow::into_owned);
            if let Some(known) = self.known(item.call.get(), output.as_deref()) {
                known.output = output;
            }
        }
    }

    fn known(&mut self, call: Option<&str>, more: Option<&str>) -> Option<&mut Known> {
        let call = call?;
        self.bytes += call.len() + more.map_or(0, str::len);
        (self.bytes <= MOST_BYTES).then(|| self.calls.entry(call.to_owned()).or_default())
    }
}

/// The text of an item.
pub(super) fn text_of<'l>(item: &'l Item<'_>) -> Option<Cow<'l, str>> {
    join(item.content.0.iter().filter_map(|block| block.text.get()).map(Cow::Borrowed))
}

pub(super) fn name_of<'l>(used: &'l ToolUse<'_>) -> Option<&'l str> {
    used.name.get().or_else(|| used.function.0.as_ref()?.name.get())
}

/// The arguments of a call, which are JSON within a text.
pub(super) fn arguments_of<'l>(used: &'l ToolUse<'_>) -> Option<Cow<'l, str>> {
    let function = used.function.0.as_ref().and_then(|function| function.arguments.json());
    let json = used.arguments.json().or(function)?;
    Some(string_of(json).unwrap_or(Cow::Borrowed(json)))
}
