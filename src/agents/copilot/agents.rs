//! The conversations of one file: the main one and those of the subagents. Each is a session of its own.

use super::record::Subagent;
use super::thread::Thread;
use super::transcript::{EventHead, Transcript};
use super::{AGENT, child_session};
use crate::agents::kit::facts::keep_earlier;
use crate::extract::{Facts, NoteField, Reject, session_key};
use crate::tables::SessionKind;

impl Transcript<'_, '_> {
    /// Returns the conversation of an event: that of the subagent which its envelope names, or (older) of the call that
    /// started one; else the main one.
    pub(super) fn thread_of(&mut self, agent: Option<&str>, parent_call: Option<&str>) -> usize {
        let Some(name) = agent.or(parent_call) else { return 0 };
        if let Some(thread) = self.thread_names.get(name) {
            return *thread;
        }
        if let Some(thread) = self.unnamed_thread_of(parent_call) {
            self.name_thread(thread, name);
            return thread;
        }
        let (cwd, branch) =
            self.threads.first().map(|main| (main.cwd.clone(), main.branch.clone())).unwrap_or_default();
        let parent = Some(self.session.clone());
        let session = child_session(&self.session, name);
        let agent = agent.map(str::to_owned);
        self.threads.push(Thread { parent, cwd, branch, agent, ..Thread::main(&session) });
        let thread = self.threads.len() - 1;
        self.thread_names.insert(name.to_owned(), thread);
        thread
    }

    /// Returns the subagent that a call started, while its own id is unknown.
    fn unnamed_thread_of(&self, call: Option<&str>) -> Option<usize> {
        let thread = *self.thread_names.get(call?)?;
        self.threads.get(thread).filter(|known| known.agent.is_none()).map(|_| thread)
    }

    fn name_thread(&mut self, thread: usize, agent: &str) {
        self.thread_names.insert(agent.to_owned(), thread);
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.agent = Some(agent.to_owned());
        }
    }

    /// Assigns the rows that follow to a conversation.
    pub(super) fn turn_to(&mut self, thread: usize) {
        let name = self.threads.get(thread).filter(|_| thread > 0).map_or("", |thread| thread.session.as_str());
        self.out.turn_to(name);
    }

    pub(super) fn take_subagent(&mut self, head: &EventHead<'_>, subagent: &Subagent<'_>) {
        let call = subagent.call.get();
        if head.agent.or(call).is_none() {
            return;
        }
        if head.kind != "subagent.started" {
            if let (Some(call), Some(duration)) = (call, subagent.duration.0) {
                self.calls.set_duration(call, duration);
            }
            return;
        }
        let parent = match subagent.parent.get().and_then(|parent| self.thread_names.get(parent)) {
            Some(parent) => Some(*parent),
            None => call.and_then(|call| self.calls.thread_of(call)),
        };
        let parent = parent.and_then(|parent| self.threads.get(parent)).map(|parent| parent.session.clone());
        let number = self.thread_of(head.agent, call);
        if let Some(call) = call {
            self.thread_names.entry(call.to_owned()).or_insert(number);
        }
        let Some(thread) = self.threads.get_mut(number) else { return };
        if thread.parent.is_none() {
            return;
        }
        thread.parent = parent.filter(|parent| *parent != thread.session).or(thread.parent.take());
        thread.title = subagent.title.owned().or(thread.title.take());
        thread.agent_type = subagent.name.owned().or(thread.agent_type.take());
        thread.call = call.map(str::to_owned).or(thread.call.take());
        keep_earlier(&mut thread.first_moment, head.timestamp);
    }

    /// Ends the subagents' sessions, and updates the calls that started them.
    pub(super) fn end_subagents(&mut self) -> Result<(), Reject> {
        let threads = std::mem::take(&mut self.threads);
        for thread in threads.iter().skip(1).filter(|thread| thread.has_rows) {
            self.out.turn_to(&thread.session);
            if let Some(call) = &thread.call {
                self.out.note(NoteField::ChildSession, self.calls.row_key(call), 0, &thread.session);
            }
            self.out.claim(session_key(AGENT, &thread.session), false);
            self.out.end_session(Facts {
                session_id: thread.session.clone(),
                kind: SessionKind::Subagent,
                agent_version: self.facts.agent_version.clone(),
                project_path: self.facts.project_path.clone(),
                git_branch: self.facts.git_branch.clone(),
                git_commit: self.facts.git_commit.clone(),
                git_repo: self.facts.git_repo.clone(),
                title: thread.title.clone(),
                parent_session_id: thread.parent.clone(),
                is_subagent: true,
                subagent_type: thread.agent_type.clone(),
                first_moment: thread.first_moment.or(self.facts.first_moment),
                ..Facts::default()
            })?;
        }
        self.threads = threads;
        Ok(())
    }
}
