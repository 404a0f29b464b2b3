//! Records of subagents in progress lines, 2.0.76 to 2.1.49. If the subagents' files are gone, nothing else is left of
//! them.

use std::collections::BTreeMap;

use super::super::record::{Line, ProgressData};
use super::super::responses::Responses;
use super::calls::child_session;
use super::facts::is_side_agent;
use super::{Transcript, message_key};
use crate::agents::kit::facts::keep_earlier;
use crate::extract::{Facts, Kind, NoteField, Reject, key};
use crate::tables::{SessionKind, UsageRow};

/// The subagents that progress lines mention, by their sessions.
#[derive(Default)]
pub(super) struct Progress(BTreeMap<String, Subagent>);

/// A subagent, as progress lines record it.
#[derive(Default)]
struct Subagent {
    main: String,
    is_side_agent: bool,
    responses: Responses,
    facts: Facts,
}

impl Transcript<'_, '_> {
    pub(super) fn take_progress(&mut self, line: &Line<'_>, number: u64) {
        if let Some(data) = line.data.0.as_ref().filter(|data| data.kind.is("agent_progress"))
            && let Some(agent) = data.agent.get()
        {
            self.link_child(line, agent);
            self.bill_progress(line, data, agent, number);
        }
        if let Some(uuid) = line.uuid.get() {
            let key = |uuid| message_key(self.out.agent(), uuid);
            let (key, parent) = (key(uuid), line.parent.get().map(key));
            self.tree.add(key, parent, false, line.is_sidechain.0);
        }
    }

    /// Adds to a call the subagent that it started.
    fn link_child(&mut self, line: &Line<'_>, agent: &str) {
        let Some(call) = line.parent_tool.get() else { return };
        let child = child_session(self.main_of(line), agent);
        if let Some(call) = self.calls.link(super::super::call_key(call), child) {
            self.note_child(&call);
            let child = call.child.as_deref().unwrap_or_default();
            self.out.note(NoteField::ChildSession, key(self.out.agent(), Kind::ToolCall, &call.call_id), 0, child);
        }
    }

    /// Notes the response that a progress line repeats.
    fn bill_progress(&mut self, line: &Line<'_>, data: &ProgressData<'_>, agent: &str, number: u64) {
        let inner = data.line.json().and_then(|json| serde_json::from_str::<Line<'_>>(json).ok());
        let Some(inner) = inner.filter(|inner| inner.kind.is("assistant")) else { return };
        let Some(message) = inner.message.0.as_ref().filter(|message| !message.model.is("<synthetic>")) else { return };
        let Some(response) = message.id.get().filter(|_| !inner.is_api_error.0) else { return };
        let main = self.main_of(line).to_owned();
        let subagent = self.progress.0.entry(child_session(&main, agent)).or_default();
        (subagent.main, subagent.is_side_agent) = (main, is_side_agent(agent));
        subagent.responses.add(response, "", &inner, message, number, 0, None, true);
        let facts = &mut subagent.facts;
        let own = |text: Option<&str>| text.map(str::to_owned);
        keep_earlier(&mut facts.first_moment, inner.timestamp.0);
        facts.project_path = facts.project_path.take().or_else(|| own(line.cwd.get()));
        facts.git_branch = facts.git_branch.take().or_else(|| own(line.branch.get().filter(|it| *it != "HEAD")));
        facts.agent_version = own(line.version.get()).or(facts.agent_version.take());
    }

    /// Emits the sessions of these subagents. Their own files, if they exist, record more.
    pub(super) fn end_progress(&mut self) -> Result<(), Reject> {
        for (session_id, subagent) in std::mem::take(&mut self.progress.0) {
            self.out.turn_to(&session_id);
            for (response, row) in subagent.responses.rows(&session_id) {
                self.out.usage(UsageRow { message_id: None, is_sidechain: true, ..row }, response.seq, true)?;
            }
            self.out.end_session(Facts {
                session_id,
                kind: if subagent.is_side_agent { SessionKind::SideAgent } else { SessionKind::Subagent },
                parent_session_id: Some(subagent.main.clone()),
                root_session_id: Some(subagent.main),
                is_subagent: true,
                ..subagent.facts
            })?;
        }
        Ok(())
    }
}
