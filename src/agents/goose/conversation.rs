//! A session's messages, whichever store they come from.

use std::collections::{BTreeMap, VecDeque};

use super::ledger::Entry;
use super::record::{Block, Visibility};
use super::tools;
use crate::agents::ids::qualified;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::{add_line, join};
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::source::records::Object;
use crate::tables::{Category, MessageKind, MessageRow, Role, Status, UsageRow};

/// A message as stored.
pub(super) struct StoredMessage<'m> {
    pub(super) id: &'m str,
    pub(super) role: &'m str,
    /// Microseconds since 1970.
    pub(super) moment: Option<i64>,
    pub(super) blocks: &'m [Object<Block<'m>>],
    pub(super) visibility: Visibility<'m>,
    pub(super) line: Option<i64>,
}

/// Writes the rows of one session.
pub(super) struct Conversation<'o, 's> {
    pub(super) out: &'o mut Sink<'s>,
    pub(super) thread: Thread,
    /// When the session was created: what is older was copied. Microseconds since 1970.
    pub(super) created: Option<i64>,
    /// The fact that another source has the session.
    pub(super) yields_to: Option<u64>,
    /// Sessions of subagents and when they began, in order. Microseconds since 1970.
    pub(super) children: VecDeque<(i64, String)>,
    /// True if a compaction has put the last message aside.
    was_put_aside: bool,
    last_message: i64,
    has_copies: bool,
    /// The turns that have a time, by their beginning. Microseconds since 1970.
    turns: BTreeMap<i64, i64>,
}

impl<'o, 's> Conversation<'o, 's> {
    pub(super) fn new(facts: Facts, out: &'o mut Sink<'s>) -> Self {
        Self {
            out,
            thread: Thread::new(facts),
            created: None,
            yields_to: None,
            children: VecDeque::new(),
            was_put_aside: false,
            last_message: 0,
            has_copies: false,
            turns: BTreeMap::new(),
        }
    }

    /// True if the session begins with messages that are older than it.
    pub(super) fn is_copy(&self) -> bool {
        self.has_copies
    }

    /// Returns the turn that a moment is in.
    pub(super) fn turn_at(&self, moment: i64) -> Option<i64> {
        self.turns.range(..=moment).next_back().map(|(_, turn)| *turn)
    }

    /// Adds a message, and the billed response that a reply is of.
    pub(super) fn take(
        &mut self,
        stored: &StoredMessage<'_>,
        billing: Option<&mut Entry>,
        provider: Option<&str>,
    ) -> Result<(), Reject> {
        let is_copy = stored.moment.zip(self.created).is_some_and(|(moment, created)| moment < created);
        self.has_copies |= is_copy;
        let at = Position { id: stored.id, moment: stored.moment, line: stored.line, is_copy };
        let was_put_aside = std::mem::replace(&mut self.was_put_aside, !stored.visibility.is_for_agent());
        if self.thread.has(Kind::Message, stored.id) {
            return Ok(());
        }
        let content = Content::of(stored.blocks);
        let (role, kind) = kind_of(stored, &content, was_put_aside);
        if kind == MessageKind::Prompt {
            self.thread.begin_turn();
            self.turns.extend(stored.moment.zip(self.thread.turn));
        }
        let mut billing = billing.filter(|entry| kind == MessageKind::Reply && !entry.counts.is_zero());
        if let Some(entry) = &mut billing {
            entry.is_billed = true;
            let row = UsageRow { message_id: Some(stored.id), turn: self.thread.turn, ..entry.row(provider) };
            self.bill(&at, row, self.thread.seq)?;
        }
        let billing = billing.as_deref();
        let row = MessageRow {
            text: content.text.as_deref().filter(|_| kind != MessageKind::ToolResult),
            thinking: content.thinking.as_deref(),
            attachments: content.attachments,
            model: billing.and_then(|entry| entry.model.as_deref()),
            response_id: billing.map(|entry| entry.response.as_str()),
            is_error: content.has_failed_result,
            ..blank(role, kind)
        };
        self.thread.message(&at, row, self.out)?;
        self.mark_superseded(Kind::Message, stored.id);
        self.last_message = self.thread.last_seq();
        for block in stored.blocks.iter().filter_map(|block| block.0.as_ref()) {
            match block.kind.get() {
                Some("toolRequest" | "frontendToolRequest") => self.open(block, &at, billing)?,
                Some("toolResponse") => self.close(block, &at)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, block: &Block<'_>, at: &Position<'_>, billing: Option<&Entry>) -> Result<(), Reject> {
        let requested = block.call.0.clone().unwrap_or_default();
        let used = requested.value.0.unwrap_or_default();
        let id = block.id.get().unwrap_or_default();
        let call = Call {
            id: qualified(at.id, id).into_owned(),
            message_id: Some(at.id.to_owned()),
            response_id: billing.map(|entry| entry.response.clone()),
            ..tools::call(used.name.get().unwrap_or("unknown"), used.arguments.json())
        };
        if !self.thread.is_new(Kind::ToolCall, &call.id) {
            return Ok(());
        }
        self.mark_superseded(Kind::ToolCall, &call.id);
        if !requested.status.is("error") {
            return self.thread.open_named_call(at, Some(id), call, self.out);
        }
        // The model wrote a call that could not be read.
        let call = Call { started_at: at.moment, ..self.thread.number_call(at, call) };
        let output = requested.error.get().map(Into::into);
        self.thread.close_call(&call, &Outcome { status: Status::Error, output, ..Outcome::default() }, self.out)
    }

    fn close(&mut self, block: &Block<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let id = block.id.get().unwrap_or_default();
        let answer = block.result.0.clone().unwrap_or_default();
        let own_id = qualified(at.id, id).into_owned();
        let call = self.thread.take_call(at, id, |_| Call { id: own_id, ..tools::call("unknown", None) });
        let Some(mut call) = call else { return Ok(()) };
        if call.category == Category::Task {
            call.child = self.child_of(&call, at.moment);
        }
        self.mark_superseded(Kind::ToolCall, &call.id);
        self.thread.close_call(&call, &tools::outcome(&answer, at.moment), self.out)
    }

    /// The next subagent that began while a call ran.
    fn child_of(&mut self, call: &Call, ended: Option<i64>) -> Option<String> {
        let (began, ended) = (call.started_at?, ended?);
        // Sessions count in seconds.
        self.children.retain(|(at, _)| *at >= began - 1_000_000);
        self.children.pop_front_if(|(at, _)| *at <= ended + 1_000_000).map(|(_, child)| child)
    }

    /// Adds a billed response, or a total.
    pub(super) fn bill(&mut self, at: &Position<'_>, row: UsageRow<'_>, seq: i64) -> Result<(), Reject> {
        self.mark_superseded(Kind::Response, row.response_id);
        self.thread.bill(at, row, seq, self.out)
    }

    fn mark_superseded(&mut self, kind: Kind, id: &str) {
        if let Some(fact) = self.yields_to {
            self.out.yields_to(kind, id, fact, None);
        }
    }

    pub(super) fn finish(mut self) -> Result<(), Reject> {
        self.thread.calls.interrupt_before(self.last_message);
        self.thread.finish(self.out)
    }
}

/// Returns the role and the kind of a message.
fn kind_of(stored: &StoredMessage<'_>, content: &Content, was_put_aside: bool) -> (Role, MessageKind) {
    let is_hidden = !stored.visibility.is_for_user();
    match stored.role {
        _ if is_hidden && was_put_aside && stored.visibility.is_for_agent() && content.text.is_some() => {
            (Role::System, MessageKind::Compaction)
        }
        _ if content.has_results => (Role::Tool, MessageKind::ToolResult),
        _ if content.is_notice => (Role::System, MessageKind::Notice),
        "assistant" => (Role::Assistant, MessageKind::Reply),
        _ if is_hidden || content.text.is_none() && content.attachments == 0 => (Role::User, MessageKind::Meta),
        _ => (Role::User, MessageKind::Prompt),
    }
}

/// The blocks of a message.
#[derive(Default)]
struct Content {
    text: Option<String>,
    thinking: Option<String>,
    attachments: i64,
    has_results: bool,
    has_failed_result: bool,
    /// True if only the program speaks.
    is_notice: bool,
}

impl Content {
    fn of(blocks: &[Object<Block<'_>>]) -> Self {
        let blocks = || blocks.iter().filter_map(|block| block.0.as_ref());
        let of_kind = |kind: &'static str| blocks().filter(move |block| block.kind.is(kind));
        let mut text = String::new();
        of_kind("text").filter_map(|block| block.text.get()).for_each(|more| add_line(&mut text, more));
        let notice = join(of_kind("systemNotification").filter_map(|block| block.notice.get()).map(Into::into));
        let thinking = join(of_kind("thinking").filter_map(|block| block.thinking.get()).map(Into::into));
        let results = || of_kind("toolResponse").filter_map(|block| block.result.0.as_ref());
        Self {
            is_notice: text.is_empty() && notice.is_some(),
            text: Some(text).filter(|text| !text.is_empty()).or(notice.map(Into::into)),
            thinking: thinking.map(Into::into),
            attachments: i64::try_from(of_kind("image").count()).unwrap_or(0),
            has_results: of_kind("toolResponse").next().is_some(),
            has_failed_result: results().any(|answer| tools::outcome(answer, None).status != Status::Ok),
        }
    }
}
