//! Content of a bubble.

use std::borrow::Cow;

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::AGENT;
use super::record::{Bubble, Summary, Thought};
use super::value;
use crate::agents::ids::Prints;
use crate::agents::kit::texts::{join, string_of};
use crate::extract::{Kind, key};
use crate::source::records::{Fraction, Raw, Text};

/// Lowest milliseconds since 1970. Lower values are from a clock that started with the program.
const FIRST_MOMENT_MS: f64 = 1e12;

impl Bubble<'_> {
    /// Returns true if the bubble is the person's; `None` if it does not record it.
    pub(super) fn is_users(&self) -> Option<bool> {
        is_users(self.kind.get().or(self.role.get())?)
    }

    /// Returns the shown text: the text, else that of a delegate, else the content of the input box.
    pub(super) fn shown(&self) -> Option<Cow<'_, str>> {
        let plain = [&self.text, &self.raw_text].into_iter().find_map(Text::get).map(Cow::Borrowed);
        let delegated = || self.delegate.json().and_then(|_| thought(self.delegate));
        plain
            .or_else(delegated)
            .or_else(|| plain_of_rich(self.rich_text).map(Cow::Owned))
            .filter(|text| !text.trim().is_empty())
    }

    /// Returns the model's thinking.
    pub(super) fn thought(&self) -> Option<Cow<'_, str>> {
        let all = || join(self.thoughts.0.iter().filter_map(|raw| thought(*raw)));
        thought(self.thinking).or_else(all)
    }

    /// Returns its creation time, else the time of its request or response. Microseconds since 1970.
    pub(super) fn moment(&self) -> Option<i64> {
        let of_request = || {
            let timing = self.timing.0.as_ref()?;
            [timing.sent, timing.settled, timing.ended]
                .into_iter()
                .find_map(milliseconds)
                .and_then(crate::time::from_epoch)
        };
        self.created.0.or_else(of_request)
    }

    /// Returns the duration of its request. Milliseconds.
    pub(super) fn duration_ms(&self) -> Option<i64> {
        let timing = self.timing.0.as_ref()?;
        let begun = crate::time::from_epoch(milliseconds(timing.sent)?)?;
        let ended = crate::time::from_epoch(milliseconds(timing.ended).or_else(|| milliseconds(timing.settled))?)?;
        Some((ended - begun) / 1000).filter(|duration| *duration >= 0)
    }

    /// Returns input and output tokens; `None` if nothing was recorded, which Cursor writes as zeros.
    pub(super) fn tokens(&self) -> Option<(i64, i64)> {
        let counted = [&self.tokens, &self.usage]
            .into_iter()
            .filter_map(|counts| counts.0.as_ref())
            .map(|counts| (counts.input.0.unwrap_or(0), counts.output.0.unwrap_or(0)));
        counted.into_iter().find(|(input, output)| input.saturating_add(*output) > 0)
    }

    /// Returns the name of a bubble without an id, which may be written again with more text.
    pub(super) fn print(&self, prints: &mut Prints) -> String {
        let (shown, thought) = (self.shown(), self.thought());
        let tool = self.tool.0.as_ref().and_then(|tool| tool.id.get());
        let texts = [shown.as_deref(), thought.as_deref(), tool].into_iter().flatten();
        prints.name_growing(self.kind.get().unwrap_or_default(), self.moment(), texts)
    }

    /// Returns the model that it names.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.0.as_ref().and_then(|model| model.name.get()).or(self.model_type.get())
    }

    /// Returns the number of images, files and documents given with it.
    pub(super) fn attachments(&self) -> i64 {
        let own = [self.images.0.len().max(self.selected_images.0.len()), self.files.0.len(), self.documents.0.len()];
        let context = self.context.0.as_ref();
        let within = context.map_or([0; 3], |it| [it.images.0.len(), it.files.0.len(), it.documents.0.len()]);
        own.into_iter().zip(within).map(|(own, within)| own.max(within)).sum::<usize>().try_into().unwrap_or(0)
    }

    /// Returns the summary of a conversation that was compacted here.
    pub(super) fn summary(&self) -> Option<String> {
        summary_of(self.summary)
    }

    /// Returns the key that it shares with its copy in a duplicated conversation, made of the server's id, else of time
    /// and text.
    pub(super) fn twin_key(&self, is_users: bool) -> Option<u64> {
        let who = if is_users { "user" } else { "assistant" };
        let name = match (self.server_id.get(), self.created.0) {
            (Some(id), _) => format!("bubble:{who}:{id}"),
            (None, Some(moment)) => {
                let text = self.shown().unwrap_or_default();
                let tool = self.tool.0.as_ref().and_then(|tool| tool.id.get()).unwrap_or_default();
                format!("bubble:{who}:{moment}:{:016x}:{tool}", xxh3_64(text.as_bytes()))
            }
            (None, None) => return None,
        };
        Some(key(AGENT, Kind::Presence, &name))
    }
}

/// Returns true if a kind of bubble, or a role, is the person's.
pub(super) fn is_users(kind: &str) -> Option<bool> {
    match kind {
        "1" | "user" => Some(true),
        "2" | "ai" | "assistant" => Some(false),
        _ => None,
    }
}

fn milliseconds(number: Fraction) -> Option<f64> {
    number.0.filter(|number| *number > FIRST_MOMENT_MS)
}

fn thought(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    let json = raw.json()?;
    let text = if json.starts_with('"') {
        string_of(json)
    } else {
        value::read::<Thought<'static>, _>(json, |thought| thought.text.owned()).ok()?.map(Cow::Owned)
    };
    text.filter(|text| !text.trim().is_empty())
}

/// Returns the text of a summary: one within another, as text or as an object.
pub(super) fn summary_of(raw: Raw<'_>) -> Option<String> {
    let mut text = value::within(raw)?.into_owned();
    for _ in 0..3 {
        if !text.trim_start().starts_with('{') {
            return Some(text);
        }
        let inner = value::read::<Summary<'static>, _>(&text, |it| value::within(it.summary).map(Cow::into_owned));
        text = inner.ok()??;
    }
    None
}

/// Longest rich text to read. Parsed, it takes many times as much memory. Bytes.
const LONGEST_RICH: usize = 4 << 20;

/// Returns the plain text of the editor's input box: one line for each paragraph.
fn plain_of_rich(raw: Raw<'_>) -> Option<String> {
    let json = value::within(raw).filter(|json| json.len() <= LONGEST_RICH)?;
    let root: Value = serde_json::from_str(&json).ok()?;
    let mut text = String::new();
    collect(&root, &mut text);
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn collect(node: &Value, text: &mut String) {
    if let Some(piece) = node.get("text").and_then(Value::as_str) {
        text.push_str(piece);
    }
    let kind = node.get("type").and_then(Value::as_str);
    if matches!(kind, Some("paragraph" | "linebreak")) && !text.is_empty() {
        text.push('\n');
    }
    let children = node.get("root").or_else(|| node.get("children"));
    match children {
        Some(Value::Array(children)) => children.iter().for_each(|child| collect(child, text)),
        Some(child) => collect(child, text),
        None => {}
    }
}
