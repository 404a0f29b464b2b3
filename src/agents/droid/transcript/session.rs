//! The facts about a session in its file, and the total of its tokens.

use super::super::record::Line;
use super::super::settings::{Companion, Total, written_at};
use super::super::{AGENT, messages_key, total_key};
use super::{Replies, Transcript};
use crate::agents::ids::qualified;
use crate::agents::kit::facts::fill;
use crate::agents::kit::thread::Position;
use crate::extract::{Facts, Kind, NoteField, Reject, key};
use crate::source::Source;
use crate::tables::{SessionKind, UsageRow};

impl Transcript<'_, '_> {
    /// The first header counts; a later one, written at a resume, only fills gaps.
    pub(super) fn take_start(&mut self, line: &Line<'_>) {
        if let Some(id) = line.id.get().filter(|_| !self.has_start && !self.has_message) {
            id.clone_into(&mut self.thread.facts.session_id);
        }
        let is_first = !std::mem::replace(&mut self.has_start, true);
        let facts = &mut self.thread.facts;
        fill(&mut facts.title, line.session_title.get().or(line.title.get()));
        fill(&mut facts.project_path, line.cwd.get());
        fill(&mut facts.agent_version, line.version.get().filter(|version| version.contains('.')));
        fill(&mut facts.parent_session_id, line.calling_session.get());
        if is_first {
            self.origin.session = line.parent_session.owned();
            self.origin.forked_at = line.forked_at.owned().filter(|_| self.origin.session.is_some());
        }
        if let Some(call) = line.calling_call.get() {
            self.companion.calling_call = Some(call.to_owned());
        }
    }

    /// Marks all records so far as another session's if the record of that id is the last copied one. The following
    /// records are the fork's own.
    pub(super) fn leave_origin_at(&mut self, id: Option<&str>) {
        let is_last = id.is_some() && id == self.origin.forked_at.as_deref();
        if is_last && !std::mem::replace(&mut self.origin.is_reached, true) {
            self.out.weaken();
            self.thread.calls.weaken();
            self.replies = Replies::default();
        }
    }

    pub(super) fn finish(mut self, source: &Source<'_>) -> Result<(), Reject> {
        self.thread.has_rows = self.has_start || self.has_message;
        if !self.thread.has_rows {
            return self.thread.finish(self.out);
        }
        match self.companion.total {
            Some(total) if !self.repeats_origin(&total, source) => self.push_total(total, source)?,
            _ => {}
        }
        if self.has_message {
            self.out.claim(messages_key(self.thread.id()), false);
        }
        self.complete_facts();
        self.thread.finish(self.out)
    }

    /// One row for the whole session: no record is about a single response. A fork starts counting anew.
    fn push_total(&mut self, total: Total, source: &Source<'_>) -> Result<(), Reject> {
        let (seq, timestamp) = self.replies.last.unwrap_or((0, self.last_moment));
        let id = format!("{}:total", self.thread.id());
        let row = UsageRow {
            timestamp: timestamp.or_else(|| written_at(source.path)),
            model: self.replies.models.or(self.companion.model.as_deref()),
            provider: self.companion.provider.as_deref(),
            duration_ms: self.companion.active_ms,
            reasoning_effort: self.replies.efforts.or(self.companion.effort.as_deref()),
            requested_model: self.companion.router.as_deref(),
            credits: self.companion.credits,
            ..total.row(&id)
        };
        self.thread.bill(&Position::new(&id, None), row, seq, self.out)?;
        self.out.claim(total_key(self.thread.id()), false);
        Ok(())
    }

    /// Returns true if a fork that no model answered in has its origin's total, copied with the records.
    fn repeats_origin(&self, total: &Total, source: &Source<'_>) -> bool {
        let has_reply = self.replies.last.is_some();
        let has_own_reply = self.origin.is_reached && has_reply;
        let Some(origin) = self.origin.session.as_deref().filter(|_| !has_own_reply) else { return false };
        let Some(copied) = Companion::total_of(source, origin) else { return false };
        // If the last copied record is not named, or did not come, nothing shows whose the replies are.
        if has_reply { *total == copied } else { total.holds(&copied) }
    }

    fn complete_facts(&mut self) {
        let facts = std::mem::take(&mut self.thread.facts);
        let origin = self.origin.session.take();
        let asked_by = origin.clone().filter(|_| self.is_side_question);
        let parent = facts.parent_session_id.or(self.companion.calling_session.take()).or(asked_by);
        if let (Some(parent), Some(call)) = (&parent, &self.companion.calling_call) {
            let call = key(AGENT, Kind::ToolCall, &qualified(parent, call));
            self.out.note(NoteField::ChildSession, call, 0, &facts.session_id);
        }
        let kind = match (self.is_side_question, &parent) {
            (true, _) => SessionKind::SideAgent,
            (false, Some(_)) => SessionKind::Subagent,
            (false, None) => SessionKind::Session,
        };
        self.thread.facts = Facts {
            kind,
            is_one_when_empty: self.has_start,
            is_subagent: parent.is_some(),
            parent_session_id: parent,
            forked_from_session_id: origin,
            ..facts
        };
    }
}
