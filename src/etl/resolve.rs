//! Looks back when all is read: what was decided early may have to be decided anew, and the lake's own sessions may have
//! lost or gained records.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::group::{Draft, Group, Outcome, SessionOut};
use super::old::OldReplica;
use super::plan::Groups;
use super::read::Planned;
use super::sessions::AllNotes;
use super::{Registry, Shared};
use crate::extract::{Claim, Kind, NoteField, ResponseCopy};
use crate::extract::{KeyMap, KeySet};
use crate::lake::layout::PartName;
use crate::lake::manifest::PartEntry;
use crate::source::{Fingerprint, path_of};

/// Takes the outcomes that no longer hold out of the list; gives the groups that are to be done anew.
pub(super) fn stale(shared: &Shared<'_>, outcomes: &mut Vec<Outcome>, known: &HashMap<String, Planned>) -> Vec<Group> {
    let mut wider: BTreeMap<usize, Group> = BTreeMap::new();
    let mut loose: Vec<Group> = Vec::new();
    add_changed_verdicts(shared, outcomes, &mut wider);
    add_split_sessions(shared, outcomes, &mut wider);
    add_other_sources(shared, outcomes, known, &mut wider);
    let holders: HashMap<PartName, usize> = outcomes
        .iter()
        .enumerate()
        .flat_map(|(place, outcome)| outcome.group.parts.iter().map(move |part| (part.clone(), place)))
        .collect();
    let rebuilt: HashSet<(&str, String)> = outcomes
        .iter()
        .flat_map(|outcome| new_sessions(outcome).map(|session| (outcome.group.agent, session)))
        .collect();
    let mut changed = changed_old_sessions(shared);
    changed.extend(sessions_with_new_children(shared, outcomes));
    changed.retain(|(_, session, agent)| !rebuilt.contains(&(*agent, session.clone())));
    for (part, session, agent) in changed {
        let sources = shared
            .manifest
            .parts
            .get(&part)
            .into_iter()
            .flat_map(|part| &part.sessions)
            .filter(|entry| entry.id == session);
        let sources = sources.flat_map(|entry| &entry.sources).filter_map(|source| known.get(source).cloned());
        let group = Group {
            agent,
            parts: BTreeSet::from([part.clone()]),
            sources: sources.map(|planned| (planned.name.clone(), planned)).collect(),
            forced: BTreeSet::from([session]),
            ..Group::default()
        };
        match holders.get(&part) {
            Some(place) => widen(&mut wider, *place, outcomes, group),
            None => loose.push(group),
        }
    }
    let mut groups = Groups::default();
    for (place, group) in wider.into_iter().rev() {
        let outcome = outcomes.swap_remove(place);
        discard(&outcome);
        groups.merge(merged(outcome.group, group));
    }
    for group in loose {
        groups.merge(group);
    }
    groups.finish()
}

fn merged(mut group: Group, other: Group) -> Group {
    group.parts.extend(other.parts);
    group.sources.extend(other.sources);
    group.forced.extend(other.forced);
    group
}

fn widen(wider: &mut BTreeMap<usize, Group>, place: usize, outcomes: &[Outcome], group: Group) {
    let agent = outcomes.get(place).map_or(group.agent, |outcome| outcome.group.agent);
    let entry = wider.remove(&place).unwrap_or(Group { agent, ..Group::default() });
    wider.insert(place, merged(entry, group));
}

/// What was staged for nothing goes away with the staging folder; the space is wanted back now.
fn discard(outcome: &Outcome) {
    for part in &outcome.parts {
        for file in part.files.iter().flatten() {
            let _ = crate::lake::fs::remove(&file.path);
        }
        let _ = crate::lake::fs::remove(&part.claims);
    }
}

fn add_changed_verdicts(shared: &Shared<'_>, outcomes: &[Outcome], wider: &mut BTreeMap<usize, Group>) {
    let mut registry = shared.registry();
    for (place, outcome) in outcomes.iter().enumerate() {
        if outcome.verdicts.iter().any(|(number, hash)| registry.owners.judge(*number).hash != *hash) {
            widen(wider, place, outcomes, Group::default());
        }
    }
}

/// A session that two groups read, or that a part holds which its group does not have, is put together in one group.
fn add_split_sessions(shared: &Shared<'_>, outcomes: &[Outcome], wider: &mut BTreeMap<usize, Group>) {
    let mut seen: HashMap<(&str, String), usize> = HashMap::new();
    for (place, outcome) in outcomes.iter().enumerate() {
        for session in new_sessions(outcome) {
            if let Some(other) =
                seen.insert((outcome.group.agent, session.clone()), place).filter(|other| *other != place)
            {
                let group = outcomes.get(other).map(|other| other.group.clone()).unwrap_or_default();
                widen(wider, place, outcomes, group);
                widen(wider, other, outcomes, Group::default());
            }
            let stray = shared
                .old
                .of_session(outcome.group.agent, &session)
                .find(|old| !outcome.group.parts.contains(&old.part));
            if let Some(old) = stray {
                let group = Group {
                    agent: outcome.group.agent,
                    parts: BTreeSet::from([PartName::clone(&old.part)]),
                    ..Group::default()
                };
                widen(wider, place, outcomes, group);
                let holder = outcomes.iter().position(|outcome| outcome.group.parts.contains(&old.part));
                if let Some(holder) = holder {
                    widen(wider, holder, outcomes, Group::default());
                }
            }
        }
    }
}

/// A session of which a source is new is put together from all its sources, so that its records have the places that they
/// would have, had all been read at once.
fn add_other_sources(
    shared: &Shared<'_>,
    outcomes: &[Outcome],
    known: &HashMap<String, Planned>,
    wider: &mut BTreeMap<usize, Group>,
) {
    for (place, outcome) in outcomes.iter().enumerate() {
        let sources: BTreeSet<&String> = drafts(outcome).flat_map(|draft| &draft.entry.sources).collect();
        for source in sources.into_iter().filter(|source| !outcome.group.sources.contains_key(*source)) {
            let Some(planned) = known.get(source).cloned().or_else(|| planned_again(shared, source)) else { continue };
            let holds = |part: &PartEntry| part.sessions.iter().any(|session| session.sources.contains(source));
            let parts = shared.manifest.parts.iter().filter(|(_, part)| holds(part));
            let parts: BTreeSet<PartName> = parts.map(|(name, _)| name.clone()).collect();
            for (holder, other) in outcomes.iter().enumerate() {
                if other.group.parts.iter().any(|part| parts.contains(part)) {
                    widen(wider, holder, outcomes, Group::default());
                }
            }
            let sources = BTreeMap::from([(source.clone(), planned)]);
            widen(wider, place, outcomes, Group { agent: outcome.group.agent, parts, sources, ..Group::default() });
        }
    }
}

/// A source that the lake knows and the run did not look for.
fn planned_again(shared: &Shared<'_>, name: &str) -> Option<Planned> {
    let entry = shared.manifest.sources.get(name).filter(|_| !shared.pass.leaves(name))?;
    let (agent, path) = (crate::agents::by_id(&entry.agent)?, path_of(entry.file(name)).into_owned());
    let kind = agent.takes(Path::new(entry.file(name))).filter(|kind| *kind == entry.kind)?;
    let of_file = Fingerprint::of(&path, &agent.companions(&path)).ok()?;
    let print = if entry.section.is_some() { entry.print } else { of_file };
    let section = entry.section.as_deref().map(Into::into);
    Some(Planned { agent, path, name: name.to_owned(), section, kind, print, is_new: false, hint: None })
}

fn drafts(outcome: &Outcome) -> impl Iterator<Item = &Draft> {
    outcome.parts.iter().flat_map(|part| &part.sessions).filter_map(|session| match session {
        SessionOut::New(draft) => Some(&**draft),
        SessionOut::Old(_) => None,
    })
}

fn new_sessions(outcome: &Outcome) -> impl Iterator<Item = String> {
    drafts(outcome).map(|draft| draft.entry.id.clone())
}

/// Sessions of the lake that were not read, and whose rows are no longer what they should be.
fn changed_old_sessions(shared: &Shared<'_>) -> Vec<(PartName, String, &'static str)> {
    let mut registry = shared.registry();
    let numbers: Vec<(String, String, u32)> = registry
        .numbers
        .iter()
        .map(|((agent, session, _), number)| (agent.clone(), session.clone(), *number))
        .collect();
    let (read, unread): (Vec<_>, Vec<_>) =
        numbers.into_iter().partition(|(.., number)| registry.owners.is_read(*number));
    let mut news = News::default();
    for (agent, _, number) in read {
        news.add(shared, &mut registry, &agent, number);
    }
    let mut changed = BTreeSet::new();
    for (agent, session, number) in unread {
        if !news.concerns(&mut registry, number) {
            continue;
        }
        let agent_id = crate::agents::by_id(&agent).map(|agent| agent.about().id);
        let part = shared.old.of_session(&agent, &session).next().map(|old| PartName::clone(&old.part));
        if let (Some(part), Some(id)) = (part, agent_id) {
            changed.insert((part, session, id));
        }
    }
    changed.into_iter().collect()
}

/// Sessions of the lake with a call of which a source now says which subagent it started.
fn sessions_with_new_children(shared: &Shared<'_>, outcomes: &[Outcome]) -> Vec<(PartName, String, &'static str)> {
    let mut calls = KeySet::default();
    for read in outcomes.iter().flat_map(|outcome| &outcome.reads) {
        let before =
            shared.manifest.sources.get(&read.planned.name).map(|entry| entry.notes.as_slice()).unwrap_or_default();
        let new = read.notes.iter().filter(|note| note.field == NoteField::ChildSession && !before.contains(note));
        calls.extend(new.map(|note| note.key));
    }
    let holders = shared.old.sharers(&calls, &HashSet::new()).into_iter();
    holders
        .filter_map(|old| {
            let agent = crate::agents::by_id(&old.part.agent)?.about().id;
            Some((PartName::clone(&old.part), old.stored.session.clone(), agent))
        })
        .collect()
}

/// What the sources that were read say of records that other sessions may have too.
#[derive(Default)]
struct News {
    /// All records that they claim. Every claimant of these is known; of other records, some may not be.
    claimed: KeySet,
    /// Responses of which a copy is new or has other numbers.
    copied: KeySet,
    /// Messages that a session has become the owner of, and so others' origin.
    gained: KeySet,
}

impl News {
    fn add(&mut self, shared: &Shared<'_>, registry: &mut Registry, agent: &str, number: u32) {
        let Some(replica) = registry.owners.replica(number).cloned() else { return };
        let before = shared.old.of_session(agent, &replica.session).find(|old| old.stored.source == replica.source);
        let before = before.map(OldReplica::replica);
        let responses = before.map_or(&[][..], |before| &before.responses);
        let is_new = |copy: &&ResponseCopy| {
            let first = responses.partition_point(|known| known.key < copy.key);
            !responses.iter().skip(first).take_while(|known| known.key == copy.key).any(|known| known == *copy)
        };
        self.copied.extend(replica.responses.iter().filter(is_new).map(|copy| copy.key));
        let had = before.into_iter().flat_map(|before| &before.claims).filter(|claim| claim.is_owned());
        let had: KeySet = had.map(|claim| claim.key).collect();
        let verdict = registry.owners.judge(number);
        let has = replica.claims.iter().zip(verdict.owned).filter(|(_, owned)| *owned).map(|(claim, _)| claim.key);
        self.gained.extend(has.filter(|key| !had.contains(key)));
        self.claimed.extend(replica.claims.iter().map(|claim| claim.key));
    }

    /// Whether rows of a session that was not read change.
    fn concerns(&self, registry: &mut Registry, number: u32) -> bool {
        let Some(replica) = registry.owners.replica(number).cloned() else { return false };
        let is_shared = |claim: &Claim| self.claimed.contains(&claim.key) || self.claimed.contains(&claim.record());
        if !replica.claims.iter().any(is_shared) {
            return false;
        }
        let verdict = registry.owners.judge(number);
        let yielded = replica.claims.iter().filter(|claim| claim.yielding_record().is_some() && is_shared(claim));
        let yielded: KeySet = yielded.map(Claim::record).collect();
        replica.claims.iter().zip(&verdict.owned).any(|(claim, owned)| {
            let may_flip = is_shared(claim) || yielded.contains(&claim.key);
            match claim.kind() {
                Kind::Presence => false,
                _ if may_flip && claim.is_owned() != *owned => true,
                Kind::Message => !claim.is_owned() && self.gained.contains(&claim.key),
                Kind::Response => claim.is_owned() && self.copied.contains(&claim.key),
                Kind::ToolCall => false,
            }
        })
    }
}

/// What all sources say of each session, by agent and session.
pub(super) fn session_notes(shared: &Shared<'_>) -> AllNotes {
    let keys = shared.notes().session_keys();
    let mut sessions: KeyMap<(String, String)> = KeyMap::default();
    for old in shared.old.sharers(&keys, &shared.read_again) {
        for claim in old.replica().claims.iter().filter(|claim| claim.is_owned() && keys.contains(&claim.key)) {
            sessions.insert(claim.key, (old.part.agent.clone(), old.stored.session.clone()));
        }
    }
    let mut registry = shared.registry();
    for key in keys {
        if let Some(number) = registry.owners.session_of(key)
            && let (Some(replica), Some(agent)) =
                (registry.owners.replica(number), registry.agents.get(number as usize))
        {
            sessions.insert(key, (agent.clone(), replica.session.clone()));
        }
    }
    drop(registry);
    shared.notes().by_session(&sessions)
}
