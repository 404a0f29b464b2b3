//! Facts of a thread from its first line.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDateTime, Timelike};

use super::super::lineage::Lineage;
use super::super::record::{Git, Line, Meta};
use super::super::spawn::{source_of, spawn_of, subagent_of};
use super::{LinePosition, Rollout};
use crate::agents::ids::is_uuid;
use crate::extract::{Facts, Reject};
use crate::source::unescape;
use crate::tables::SessionKind;

impl Rollout<'_, '_> {
    pub(super) fn take_meta(&mut self, position: LinePosition, meta: &Meta<'_>) -> Result<(), Reject> {
        self.out.unknown_fields("session_meta field ", &meta.unknown);
        let id = meta.id.get().unwrap_or_default();
        // A fork whose first line is gone begins with a copy of the origin's.
        let is_only_id = id.is_empty() || !is_uuid(&self.session);
        let is_own = id == self.session || !self.has_meta && position.number == 1 && is_only_id;
        if !is_own {
            self.settle()?;
            self.lineage.foreign_meta(id);
            return Ok(());
        }
        // The open reply belongs to the folder and branch known so far.
        self.close_reply()?;
        if !self.has_meta {
            self.has_meta = true;
            if !id.is_empty() {
                id.clone_into(&mut self.session);
            }
            self.lineage = Lineage::of(&self.session, Some(meta));
            self.facts = first_facts(meta, position);
            self.provider = meta.provider.owned();
        }
        self.facts.agent_version = meta.version.owned().or(self.facts.agent_version.take());
        self.set_cwd(meta.cwd.get());
        self.take_git(meta.git.0.as_ref());
        Ok(())
    }

    fn take_git(&mut self, git: Option<&Git<'_>>) {
        let Some(git) = git else { return };
        let facts = &mut self.facts;
        facts.git_branch = git.branch.owned().or(facts.git_branch.take());
        facts.git_commit = facts.git_commit.take().or(git.commit.owned());
        facts.git_repo = facts.git_repo.take().or(git.repository.owned());
    }

    /// Takes the first line of versions until 0.31, which holds the only time in the file.
    pub(super) fn take_bare_meta(&mut self, line: &Line<'_>) {
        if self.has_meta {
            return;
        }
        self.has_meta = true;
        if let Some(id) = line.id.get().or(line.session.get()) {
            id.clone_into(&mut self.session);
        }
        self.lineage = Lineage::of(&self.session, None);
        let local = line.timestamp.0.and_then(|moment| local_time(moment, self.named_time));
        self.moment = local.and_then(|local| self.out.local_moment(local)).or(line.timestamp.0);
        self.facts.first_moment = self.moment;
        self.facts.agent_version = line.version.owned();
        self.facts.project_path = line.cwd.get().map(|cwd| without_prefix(cwd).to_owned());
        self.set_cwd(line.cwd.get());
        self.set_model(line.model.get());
        self.take_git(line.git.0.as_ref());
    }

    pub(super) fn complete_facts(&mut self) -> Facts {
        let facts = std::mem::take(&mut self.facts);
        let copied_from = self.lineage.origin().filter(|_| self.has_copies && !facts.is_subagent);
        let forked_from_session_id = facts.forked_from_session_id.or(copied_from.map(str::to_owned));
        Facts { session_id: self.session.clone(), forked_from_session_id, ..facts }
    }
}

/// Returns a time as local time if it equals the local time in the file's name: until 0.30 the program wrote its local
/// time as if it were UTC.
fn local_time(moment: i64, named: Option<NaiveDateTime>) -> Option<NaiveDateTime> {
    let written = DateTime::from_timestamp_micros(moment)?.naive_utc();
    (Some(written.with_nanosecond(0)?) == named).then_some(written)
}

fn first_facts(meta: &Meta<'_>, position: LinePosition) -> Facts {
    let id = meta.id.get().unwrap_or_default();
    let root = meta.root.get().filter(|root| *root != id);
    let spawn = spawn_of(meta);
    let subagent = subagent_of(meta);
    let is_subagent = subagent.is_some() || meta.thread_source.is("subagent");
    let parent = spawn
        .as_ref()
        .and_then(|spawn| spawn.parent.owned())
        .or(meta.parent.owned())
        .or(is_subagent.then(|| meta.forked_from.owned().or(root.map(str::to_owned))).flatten());
    let is_child_of_root = spawn.as_ref().and_then(|spawn| spawn.depth.0).is_none_or(|depth| depth <= 1);
    let root = root.map(str::to_owned).or(parent.clone().filter(|_| is_child_of_root));
    let role = spawn.as_ref().and_then(|spawn| spawn.role.owned()).or(meta.role.owned());
    let nickname = spawn.as_ref().and_then(|spawn| spawn.nickname.owned()).or(meta.nickname.owned());
    Facts {
        kind: kind_of(meta, subagent.as_deref(), is_subagent),
        project_path: meta.cwd.get().map(|cwd| without_prefix(cwd).to_owned()),
        parent_session_id: parent,
        root_session_id: root,
        forked_from_session_id: meta.forked_from.owned().filter(|_| !is_subagent),
        is_subagent,
        subagent_type: role.or(subagent.filter(|word| word != "thread_spawn")).or(nickname.filter(|_| is_subagent)),
        entrypoint: meta.source.json().and_then(unescape).map(Cow::into_owned).or(meta.originator.owned()),
        first_moment: meta.timestamp.0.into_iter().chain(position.moment).min(),
        ..Facts::default()
    }
}

fn kind_of(meta: &Meta<'_>, subagent: Option<&str>, is_subagent: bool) -> SessionKind {
    let is_internal = source_of(meta).is_some_and(|source| source.internal.json().is_some());
    let of_the_program = ["compact", "memory_consolidation", "guardian"];
    if is_internal
        || subagent.is_some_and(|word| of_the_program.contains(&word))
        || ["memory_consolidation", "guardian_review"].iter().any(|source| meta.thread_source.is(source))
    {
        return SessionKind::SideAgent;
    }
    if is_subagent { SessionKind::Subagent } else { SessionKind::Session }
}

/// Returns a Windows path without the prefix of long paths.
pub(super) fn without_prefix(path: &str) -> &str {
    path.strip_prefix(r"\\?\").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_that_says_what_the_name_says_is_local() {
        let named = NaiveDateTime::parse_from_str("2025-06-10T11-00-05", "%Y-%m-%dT%H-%M-%S").ok();
        let at = |text: &str| crate::time::parse_iso(text).unwrap();
        let local = local_time(at("2025-06-10T11:00:05.123Z"), named).unwrap();
        assert_eq!(local.to_string(), "2025-06-10 11:00:05.123");
        assert_eq!(local_time(at("2025-06-10T09:00:05.123Z"), named), None);
        assert_eq!(local_time(at("2025-06-10T11:00:05.123Z"), None), None);
    }
}
