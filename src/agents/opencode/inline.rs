//! Parts as the messages of the first versions held them, with facts about their tools apart.

use std::collections::BTreeMap;

use super::record::{Part, Times};
use crate::source::records::{List, Object, Raw, record};

record! {
    /// The times of a tool call.
    ToolTimes<'a> { time: Object<Times<'a>> = "time" }
}

/// Parts within a message.
#[derive(Default)]
pub(super) struct Inline<'j> {
    parts: &'j str,
    tools: BTreeMap<String, Object<ToolTimes<'j>>>,
}

impl<'j> Inline<'j> {
    pub(super) fn new(parts: &'j str, tools: Raw<'j>) -> Self {
        let tools = tools.json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        Self { parts, tools }
    }

    /// The parts in order.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'j>> + use<'j> {
        let List(parts) = serde_json::from_str::<List<Object<Part<'j>>>>(self.parts).unwrap_or_default();
        parts.into_iter().filter_map(|part| part.0)
    }

    /// When a call began and ended. Microseconds since 1970.
    pub(super) fn moments(&self, call: &str) -> (Option<i64>, Option<i64>) {
        let times = self.tools.get(call).and_then(|tool| tool.0.as_ref()?.time.0.as_ref());
        (times.and_then(|times| times.start.0), times.and_then(|times| times.end.0))
    }
}
