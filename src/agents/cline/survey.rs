//! First pass over the messages of an SDK session: finds copies from a task, and what the token counts cover.

use std::collections::HashSet;

use super::record::Message;
use crate::tables::UsageGrain;

/// Facts of a session that are known before its messages become rows.
pub(super) struct Session<'f> {
    pub(super) survey: &'f Survey,
    /// True if the session continued a task, and is torn before the message that marks the end of the copy.
    pub(super) is_torn_copy: bool,
    pub(super) model: Option<String>,
    pub(super) provider: Option<String>,
}

/// Result of a first pass over the messages.
#[derive(Default)]
pub(super) struct Survey {
    /// Message that marks those before it as a task's.
    replayed_to: Option<i64>,
    /// Replies whose numbers cover their whole run.
    runs: HashSet<i64>,
    pub(super) has_numbers: bool,
    pub(super) has_messages: bool,
    next: i64,
    run: Run,
}

/// Replies that follow a prompt.
#[derive(Default)]
struct Run {
    replies: u32,
    billed: u32,
    /// The last reply, if it has numbers.
    last: Option<i64>,
}

impl Session<'_> {
    /// Returns true if a message is a copy from a task that the session continued.
    pub(super) fn replays(&self, index: i64) -> bool {
        self.survey.replayed_to.map_or(self.is_torn_copy, |end| index < end)
    }

    /// Returns the grain of a reply's token counts. In a copied history, the last reply has the counts of the whole
    /// task.
    pub(super) fn grain_of(&self, index: i64) -> UsageGrain {
        if self.replays(index) {
            UsageGrain::Session
        } else if self.survey.runs.contains(&index) {
            UsageGrain::Turn
        } else {
            UsageGrain::Response
        }
    }
}

impl Survey {
    pub(super) fn take(&mut self, message: &Message<'_>) {
        let index = self.next;
        self.next += 1;
        self.has_messages = true;
        let has_results = message.content.0.iter().any(|block| block.kind.is("tool_result"));
        if message.role.is("user") && !has_results {
            self.end_run();
            if message.content.has_resumption_notice() {
                self.replayed_to = Some(index);
            }
        }
        if message.role.is("assistant") {
            let has_numbers = message.metrics.0.is_some();
            self.has_numbers |= has_numbers;
            self.run.replies += 1;
            self.run.billed += u32::from(has_numbers);
            self.run.last = has_numbers.then_some(index);
        }
    }

    pub(super) fn end_run(&mut self) {
        let Run { replies, billed, last } = std::mem::take(&mut self.run);
        if replies > 1 && billed == 1 {
            self.runs.extend(last);
        }
    }
}
