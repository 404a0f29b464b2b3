//! OpenClaw's facts about its sessions apart from their lines: names, parents, forks.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::agents::pi::Known;

/// Most sessions between one and its root; more is a ring.
const DEPTH: usize = 32;

/// One session as an index or a database lists it.
#[derive(Debug, Clone, Default)]
pub(super) struct Member {
    /// OpenClaw's key of the conversation; its sessions follow each other under it.
    pub(super) key: String,
    pub(super) session_id: String,
    /// When it began. Microseconds since 1970.
    pub(super) began: Option<i64>,
    pub(super) title: Option<String>,
    pub(super) role: Option<String>,
    /// Key of the session that started it.
    pub(super) spawned_by: Option<String>,
    pub(super) parent_key: Option<String>,
    /// True if its parent is where its history was copied from.
    pub(super) is_fork_of_parent: bool,
    /// Session whose history was copied.
    pub(super) forked_from: Option<String>,
    /// Sessions that other agents' programs have for it, by the programs.
    pub(super) programs: BTreeMap<&'static str, String>,
}

/// All sessions that are listed together.
#[derive(Debug, Default)]
pub(super) struct Family {
    members: BTreeMap<String, Member>,
    /// Sessions by key, with when each began, in order.
    by_key: BTreeMap<String, Vec<(Option<i64>, String)>>,
    current: Arc<BTreeMap<String, String>>,
}

impl Family {
    /// Puts the members together; the last one of a key is its current session.
    pub(super) fn of(members: Vec<Member>) -> Self {
        let mut family = Self::default();
        let mut current = BTreeMap::new();
        for member in members {
            current.insert(member.key.clone(), member.session_id.clone());
            let of_key = family.by_key.entry(member.key.clone()).or_default();
            of_key.push((member.began, member.session_id.clone()));
            family.members.insert(member.session_id.clone(), member);
        }
        family.by_key.values_mut().for_each(|sessions| sessions.sort());
        family.current = Arc::new(current);
        family
    }

    /// When a session began. Microseconds since 1970.
    pub(super) fn began(&self, session_id: &str) -> Option<i64> {
        self.members.get(session_id)?.began
    }

    /// A text that changes when what is known of a session does.
    pub(super) fn described(&self, session_id: &str) -> String {
        let known = self.known(session_id);
        let Known {
            title,
            is_subagent,
            subagent_type,
            parent_session_id,
            root_session_id,
            forked_at,
            forked_from,
            programs,
            ..
        } = known;
        let lineage = (parent_session_id, root_session_id, forked_at, forked_from);
        let described = format!("{:?}", (title, is_subagent, subagent_type, lineage));
        if programs.is_empty() { described } else { format!("{described} {programs:?}") }
    }

    /// Returns the facts about a session.
    pub(super) fn known(&self, session_id: &str) -> Known {
        let by_key = Arc::clone(&self.current);
        let Some(member) = self.members.get(session_id) else { return Known { by_key, ..Known::default() } };
        let parent = self.parent_of(member);
        let is_spawned = member.spawned_by.is_some() || member.key.contains(":subagent:");
        let is_subagent = is_spawned || (member.parent_key.is_some() && !member.is_fork_of_parent);
        let copied = parent.filter(|_| member.is_fork_of_parent && !is_subagent).map(str::to_owned);
        Known {
            key: (is_subagent && parent.is_none()).then(|| member.key.clone()),
            title: member.title.clone(),
            is_subagent,
            subagent_type: member.role.clone().filter(|_| is_subagent),
            parent_session_id: parent.filter(|_| is_subagent).map(str::to_owned),
            root_session_id: is_subagent.then(|| self.root_of(member)).flatten(),
            forked_at: member.forked_from.as_ref().or(copied.as_ref()).and(member.began),
            forked_from: member.forked_from.clone().or(copied),
            by_key,
            programs: member.programs.clone(),
            ..Known::default()
        }
    }

    /// The session that its parent's key stood for when it began.
    fn parent_of(&self, member: &Member) -> Option<&str> {
        let sessions = self.by_key.get(member.spawned_by.as_ref().or(member.parent_key.as_ref())?)?;
        let before = match member.began {
            Some(_) => sessions.partition_point(|(began, _)| *began <= member.began),
            None => sessions.len(),
        };
        let before = before.checked_sub(1).and_then(|place| sessions.get(place));
        before.or(sessions.first()).map(|(_, session)| session.as_str()).filter(|session| *session != member.session_id)
    }

    fn root_of(&self, member: &Member) -> Option<String> {
        let mut root = self.parent_of(member)?;
        for _ in 0..DEPTH {
            match self.members.get(root).and_then(|member| self.parent_of(member)) {
                Some(parent) => root = parent,
                None => break,
            }
        }
        Some(root.to_owned())
    }
}
