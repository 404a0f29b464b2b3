//! One session as extracted: what is known of it, its rows, its claims.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::buffer::BooleanBuffer;

use super::{Chunk, Claim, ResponseCopy, Rows};
use crate::error::Result;
use crate::tables::{MESSAGES, Messages, TOOL_CALLS, ToolCalls, Usage};

/// What a source says of a session beside its rows. Texts that sum up the session's own rows are not here.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Identity within the agent.
    pub session_id: String,
    /// `session`, `subagent`, `side_agent` or `prompts`.
    pub kind: &'static str,
    /// Version of the agent that wrote the last record.
    pub agent_version: Option<String>,
    /// Folder that the session started in.
    pub project_path: Option<String>,
    /// Last git branch recorded.
    pub git_branch: Option<String>,
    /// Git commit at the start.
    pub git_commit: Option<String>,
    /// Git repository.
    pub git_repo: Option<String>,
    /// Title that was given.
    pub title: Option<String>,
    /// Summary that the agent wrote.
    pub summary: Option<String>,
    /// Session that started this one.
    pub parent_session_id: Option<String>,
    /// Outermost parent; the session itself when absent.
    pub root_session_id: Option<String>,
    /// Session whose history was copied, where the agent names it.
    pub forked_from_session_id: Option<String>,
    /// Whether another session started it.
    pub is_subagent: bool,
    /// Kind of subagent.
    pub subagent_type: Option<String>,
    /// First moment in the source, copies included. Microseconds since 1970.
    pub first_moment: Option<i64>,
}

/// One session as extracted from one source.
#[derive(Default)]
pub struct SessionRows {
    /// What is known of it; complete once the session has ended.
    pub facts: Facts,
    /// Its messages.
    pub messages: Rows<Messages>,
    /// Its tool calls.
    pub tool_calls: Rows<ToolCalls>,
    /// Its billed responses.
    pub usage: Rows<Usage>,
    /// Its claims, in the order of the records.
    pub claims: Vec<Claim>,
    /// Number of claims, from the first, that are known to be of copies.
    pub(super) weakened: usize,
    /// What it says of each response that it claims.
    pub responses: Vec<ResponseCopy>,
    /// Places of the messages on branches that were left, in order.
    pub abandoned: Vec<usize>,
    /// Messages so far, those that were handed on or only claimed included.
    pub message_count: usize,
}

impl SessionRows {
    /// Approximate size of the rows that are held. Bytes.
    pub fn text_bytes(&self) -> usize {
        self.messages.text_bytes() + self.tool_calls.text_bytes() + self.usage.text_bytes()
    }

    /// The held rows of the three tables, in `seq` order: messages, tool calls, usage.
    pub fn finish(&mut self) -> Result<[Chunk; 3]> {
        let handed_on = self.messages.handed_on();
        let mut messages = self.messages.finish(Messages::finish)?;
        if !self.abandoned.is_empty() {
            messages.batch = with_abandoned(&messages.batch, handed_on, &self.abandoned)?;
        }
        let mut tool_calls = self.tool_calls.finish(ToolCalls::finish)?;
        for (chunk, table) in [(&mut messages, &MESSAGES), (&mut tool_calls, &TOOL_CALLS)] {
            if let Some(seq) = table.index_of("seq") {
                chunk.sort_by(seq)?;
            }
        }
        Ok([messages, tool_calls, self.usage.finish(Usage::finish)?])
    }
}

fn with_abandoned(batch: &RecordBatch, first: usize, places: &[usize]) -> Result<RecordBatch> {
    let mut flags = vec![false; batch.num_rows()];
    for place in places {
        if let Some(flag) = place.checked_sub(first).and_then(|place| flags.get_mut(place)) {
            *flag = true;
        }
    }
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    if let Some(column) = MESSAGES.index_of("is_abandoned").and_then(|index| columns.get_mut(index)) {
        *column = Arc::new(BooleanArray::new(BooleanBuffer::from(flags), None));
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)?)
}
