//! Collects the facts of a session from the lines of its transcript.

use super::super::record::{Description, Line};
use super::Transcript;
use crate::agents::kit::facts::{fill, keep_earlier, set};
use crate::extract::Facts;
use crate::source::records::Text;
use crate::tables::SessionKind;

impl Transcript<'_, '_> {
    pub(super) fn note_facts(&mut self, line: &Line<'_>) {
        if self.identity.main.is_none()
            && let Some(session) = line.session.get()
        {
            self.identity.main = Some(session.to_owned());
            self.name_session();
        }
        let facts = &mut self.facts;
        keep_earlier(&mut facts.first_moment, line.timestamp.0);
        fill(&mut facts.project_path, line.cwd.get());
        if let Some(origin) =
            line.forked_from.0.as_ref().and_then(|from| from.session.get()).or(line.request_session.get())
            && facts.forked_from_session_id.is_none()
            && self.identity.agent.is_none()
            && self.identity.main.as_deref() != Some(origin)
        {
            facts.forked_from_session_id = Some(origin.to_owned());
        }
        // All lines of a file that a person renamed name another session.
        let is_renamed = !self.identity.main.as_deref().is_some_and(looks_like_uuid);
        if !self.is_copy(line) || line.session_kind.is("bg") || is_renamed {
            set(&mut self.facts.agent_version, line.version.get());
            fill(&mut self.facts.entrypoint, line.entrypoint.get());
            set(&mut self.facts.git_branch, line.branch.get().filter(|branch| *branch != "HEAD"));
        }
    }

    /// Returns true if a reply says that another session asked for it.
    pub(super) fn names_origin(&self, line: &Line<'_>) -> bool {
        let main = self.identity.main.as_deref();
        self.identity.agent.is_none() && line.request_session.get().is_some_and(|origin| Some(origin) != main)
    }

    /// Returns true if the line says itself that it was copied from another session.
    pub(super) fn is_copy(&self, line: &Line<'_>) -> bool {
        let other = |name: &Text<'_>, own: &str| name.get().is_some_and(|name| name != own);
        if let Some(agent) = &self.identity.agent {
            return other(&line.agent, agent);
        }
        line.forked_from.0.is_some()
            || line.session_kind.is("bg")
            || self.names_origin(line)
            || self.identity.main.as_deref().is_some_and(|main| other(&line.session, main))
    }

    pub(super) fn complete_facts(&mut self, description: &Description<'_>) -> Facts {
        let mut facts = std::mem::take(&mut self.facts);
        let mut title = self.titles.custom.take().or(self.titles.generated.take());
        if let Some(host) = self.identity.host.take() {
            title = host.title.filter(|_| self.identity.agent.is_none()).or(title);
            if facts.project_path.as_ref().is_none_or(|folder| folder.starts_with(host.inner_folders)) {
                facts.project_path = host.folder;
            }
        }
        let Some(agent) = &self.identity.agent else {
            return Facts { session_id: self.session_id.clone(), kind: SessionKind::Session, title, ..facts };
        };
        let main = self.identity.main.clone();
        let parent = match (&main, description.parent.get()) {
            (Some(main), Some(parent)) => Some(format!("{main}/agent-{parent}")),
            _ => main.clone(),
        };
        Facts {
            session_id: self.session_id.clone(),
            kind: if is_side_agent(agent) { SessionKind::SideAgent } else { SessionKind::Subagent },
            title: description.description.owned().or(title),
            parent_session_id: parent,
            root_session_id: main,
            is_subagent: true,
            subagent_type: description.agent_type.owned(),
            ..facts
        }
    }
}

/// Helper agents of the program itself are called `a<label>-<hex>`.
pub(super) fn is_side_agent(agent: &str) -> bool {
    agent.split_once('-').is_some_and(|(label, _)| {
        matches!(label, "acompact" | "aprompt_suggestion" | "aside_question" | "asession_memory" | "aspeculation")
    })
}

fn looks_like_uuid(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
