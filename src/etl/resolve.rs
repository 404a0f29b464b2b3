//! Checks the decisions after all sources were read: early ones may have changed, and the lake's own sessions may have
//! lost or gained records.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::Shared;
use super::group::{Group, Outcome};
use super::plan::{Groups, leads_to_others, real_home};
use super::read::Planned;
use super::sessions::AllNotes;
use crate::extract::NoteField;
use crate::identity::{KeyMap, KeySet, Kind, Owners, Record, Replica, ResponseCopy, State};
use crate::lake::claims::Keys;
use crate::lake::layout::PartName;
use crate::lake::manifest::{PartEntry, SessionEntry};
use crate::source::{Fingerprint, path_of};

/// Removes the outcomes that no longer hold from the list, and returns the groups to process again.
pub(super) fn stale(
    shared: &Shared<'_>,
    outcomes: &mut Vec<Outcome>,
    known: &HashMap<Arc<str>, Arc<Planned>>,
) -> Vec<Group> {
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
    let mut changed = changed_old_sessions(shared);
    changed.extend(sessions_with_new_children(shared, outcomes));
    let rebuilt =
        || outcomes.iter().flat_map(|outcome| new_sessions(outcome).map(|session| (outcome.group.agent, &*session.id)));
    let rebuilt: HashSet<(&str, &str)> = if changed.is_empty() { HashSet::new() } else { rebuilt().collect() };
    changed.retain(|(_, session, agent)| !rebuilt.contains(&(*agent, &**session)));
    for (part, session, agent) in changed {
        let sources = shared
            .manifest
            .parts
            .get(&part)
            .into_iter()
            .flat_map(|part| &part.sessions)
            .filter(|entry| *entry.id == session);
        let sources = sources.flat_map(|entry| &entry.sources).filter_map(|source| known.get(&**source).cloned());
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
        let mut outcome = outcomes.swap_remove(place);
        discard(&outcome);
        outcome.group.absorb(group);
        groups.merge(outcome.group);
    }
    for group in loose {
        groups.merge(group);
    }
    groups.finish()
}

fn widen(wider: &mut BTreeMap<usize, Group>, place: usize, outcomes: &[Outcome], group: Group) {
    let agent = outcomes.get(place).map_or(group.agent, |outcome| outcome.group.agent);
    wider.entry(place).or_insert_with(|| Group { agent, ..Group::default() }).absorb(group);
}

/// Deletes staged files that are not needed. The staging folder would be deleted anyway, but the space is needed now.
fn discard(outcome: &Outcome) {
    for part in &outcome.parts {
        for file in part.files.iter().flatten() {
            let _ = crate::lake::fs::remove(&file.path);
        }
        let _ = crate::lake::fs::remove(&part.claims);
    }
}

fn add_changed_verdicts(shared: &Shared<'_>, outcomes: &[Outcome], wider: &mut BTreeMap<usize, Group>) {
    let mut owners = shared.owners();
    for (place, outcome) in outcomes.iter().enumerate() {
        if outcome.verdicts.iter().any(|(number, hash)| owners.judge(*number).hash != *hash) {
            widen(wider, place, outcomes, Group::default());
        }
    }
}

/// Merges groups so that each session is in one group: a session that two groups read, or one of a part whose session
/// another group read.
fn add_split_sessions(shared: &Shared<'_>, outcomes: &[Outcome], wider: &mut BTreeMap<usize, Group>) {
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    for (place, outcome) in outcomes.iter().enumerate() {
        for session in new_sessions(outcome).map(|session| &*session.id) {
            if let Some(other) = seen.insert((outcome.group.agent, session), place).filter(|other| *other != place) {
                let group = outcomes.get(other).map(|other| other.group.clone()).unwrap_or_default();
                widen(wider, place, outcomes, group);
                widen(wider, other, outcomes, Group::default());
            }
            let stray = shared
                .old
                .of_session(outcome.group.agent, session)
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

/// Adds all sources of a session that has a new source, so that its records get the places that they would have if all
/// sources had been read at once.
fn add_other_sources(
    shared: &Shared<'_>,
    outcomes: &[Outcome],
    known: &HashMap<Arc<str>, Arc<Planned>>,
    wider: &mut BTreeMap<usize, Group>,
) {
    for (place, outcome) in outcomes.iter().enumerate() {
        let sources: BTreeSet<&Arc<str>> = new_sessions(outcome).flat_map(|session| &session.sources).collect();
        for source in sources.into_iter().filter(|source| !outcome.group.sources.contains_key(*source)) {
            let Some(planned) = known.get(&**source).cloned().or_else(|| planned_again(shared, source)) else {
                continue;
            };
            let holds = |part: &PartEntry| part.sessions.iter().any(|session| session.sources.contains(source));
            let parts = shared.manifest.parts.iter().filter(|(_, part)| holds(part));
            let parts: BTreeSet<PartName> = parts.map(|(name, _)| name.clone()).collect();
            for (holder, other) in outcomes.iter().enumerate() {
                if other.group.parts.iter().any(|part| parts.contains(part)) {
                    widen(wider, holder, outcomes, Group::default());
                }
            }
            let sources = BTreeMap::from([(Arc::clone(&planned.name), planned)]);
            widen(wider, place, outcomes, Group { agent: outcome.group.agent, parts, sources, ..Group::default() });
        }
    }
}

/// Returns a source that the lake knows and that this run did not look for.
fn planned_again(shared: &Shared<'_>, name: &str) -> Option<Arc<Planned>> {
    let is_left = shared.run.pass.leaves(name) || shared.dropped.contains_key(name);
    let entry = shared.manifest.sources.get(name).filter(|_| !is_left)?;
    let (agent, path) = (crate::agents::by_id(&entry.agent)?, path_of(entry.file(name)).into_owned());
    let kind = agent.takes(Path::new(entry.file(name))).filter(|kind| *kind == &*entry.kind)?;
    let of_file = Fingerprint::of(&path, &agent.companions(&path)).ok()?;
    let print = if entry.section.is_some() { entry.print } else { of_file };
    let section = entry.section.as_deref().map(Into::into);
    let is_foreign = leads_to_others(&path, real_home(shared.run.options).as_deref());
    let other_path = (path.to_str() != Some(name)).then(|| path.into());
    let name = name.into();
    Some(Arc::new(Planned { agent, name, other_path, section, kind, print, is_new: false, is_foreign, hint: None }))
}

/// Returns the sessions that were rebuilt.
fn new_sessions(outcome: &Outcome) -> impl Iterator<Item = &SessionEntry> {
    let sessions = outcome.parts.iter().flat_map(|part| &part.sessions);
    sessions.filter(|session| session.is_new).map(|session| &session.entry)
}

/// Returns the sessions of the lake that were not read and whose rows have to change.
fn changed_old_sessions(shared: &Shared<'_>) -> Vec<(PartName, String, &'static str)> {
    let mut owners = shared.owners();
    if owners.members().all(|(.., is_read)| is_read) {
        return Vec::new();
    }
    let members = owners.members().map(|(number, agent, is_read)| (number, Arc::clone(agent), is_read));
    let (read, unread): (Vec<_>, Vec<_>) = members.partition(|(.., is_read)| *is_read);
    let mut news = News::default();
    for (number, agent, _) in read {
        if let Some(replica) = owners.replica(number) {
            news.add(shared, &mut owners, &agent, number, &replica);
        }
    }
    let mut changed = BTreeSet::new();
    for (number, agent, _) in unread {
        let Some(replica) = owners.replica(number) else { continue };
        if !news.concerns(&mut owners, number, &replica) {
            continue;
        }
        let agent_id = crate::agents::by_id(&agent).map(|agent| agent.about().id);
        let part = shared.old.of_session(&agent, &replica.session).next().map(|old| PartName::clone(&old.part));
        if let (Some(part), Some(id)) = (part, agent_id) {
            changed.insert((part, replica.session.to_string(), id));
        }
    }
    changed.into_iter().collect()
}

/// Returns the sessions of the lake with a call whose subagent a source now names.
fn sessions_with_new_children(shared: &Shared<'_>, outcomes: &[Outcome]) -> Vec<(PartName, String, &'static str)> {
    let mut calls = KeySet::default();
    for read in outcomes.iter().flat_map(|outcome| &outcome.reads) {
        let before = shared.manifest.sources.get(&*read.planned.name).map(|entry| &*entry.notes).unwrap_or_default();
        let new = read.notes.iter().filter(|note| note.field == NoteField::ChildSession && !before.contains(note));
        calls.extend(new.map(|note| note.key));
    }
    let holders = shared.old.all_sharers(&Keys::named(calls)).into_iter();
    holders
        .filter_map(|old| {
            let agent = crate::agents::by_id(&old.part.agent)?.about().id;
            Some((PartName::clone(&old.part), old.stored.session.to_string(), agent))
        })
        .collect()
}

/// Claims of the sources that were read to records that other sessions may have too.
#[derive(Default)]
struct News {
    /// All their records and facts. Every replica with one of these records is known; of other records, some may be
    /// unknown.
    named: KeySet,
    /// Responses with a copy that is new, was dropped or has other counts.
    copied: KeySet,
    /// Messages that a session has come to own, which makes it the origin of others.
    gained: KeySet,
    /// Records of other sessions that a source dropped, or has again.
    turned: KeySet,
}

impl News {
    fn add(&mut self, shared: &Shared<'_>, owners: &mut Owners, agent: &str, number: u32, replica: &Replica) {
        let before = shared.old.of_session(agent, &replica.session).find(|old| old.stored.source == replica.source);
        let before = before.map(|before| before.stored.unpack()).unwrap_or_default();
        for (one, other) in [(replica, &before), (&before, replica)] {
            let is_only_there = |copy: &ResponseCopy| !other.responses.of(copy.key).any(|known| known == *copy);
            self.copied.extend(one.responses.iter().filter(is_only_there).map(|copy| copy.key));
        }
        let had = before.records.iter().filter(|record| record.is_owned);
        let had: KeySet = had.map(|record| record.key).collect();
        let held = |replica: &Replica| -> KeySet {
            let copies = replica.records.iter().filter(|it| it.state != State::Gone && !it.is_owned);
            copies.map(|record| record.key).collect()
        };
        self.turned.extend(held(&before).symmetric_difference(&held(replica)));
        let verdict = owners.judge(number);
        let has = replica.records.iter().zip(verdict.owned).filter(|(_, owned)| *owned).map(|(record, _)| record.key);
        self.gained.extend(has.filter(|key| !had.contains(key)));
        self.named.extend(replica.records.iter().map(|record| record.key));
        self.named.extend(replica.facts.iter().map(|fact| fact.key));
    }

    /// True if rows of a session that was not read change.
    fn concerns(&self, owners: &mut Owners, number: u32, replica: &Replica) -> bool {
        let is_named = |key: u64| self.named.contains(&key);
        let may_yield = replica.yields.iter().filter(|it| is_named(it.fact) || is_named(it.record));
        let may_yield: KeySet = may_yield.map(|it| it.record).collect();
        if may_yield.is_empty() && !replica.records.iter().any(|record| is_named(record.key)) {
            return false;
        }
        // A fact is never withdrawn, and not all its holders are known, so superseded records stay superseded.
        let yields: KeySet = replica.yields.iter().map(|it| it.record).collect();
        let flips = |record: &Record, owned: bool| {
            (is_named(record.key) || may_yield.contains(&record.key))
                && record.is_owned != owned
                && (record.is_owned || !yields.contains(&record.key))
        };
        let verdict = owners.judge(number);
        replica.records.iter().zip(&verdict.owned).any(|(record, owned)| match record.kind {
            _ if flips(record, *owned) => true,
            _ if record.is_owned && record.state == State::Gone && self.turned.contains(&record.key) => true,
            Kind::Message => !record.is_owned && self.gained.contains(&record.key),
            Kind::Response => record.is_owned && self.copied.contains(&record.key),
            Kind::ToolCall | Kind::Presence => false,
        })
    }
}

/// Notes of all sources on each session, by agent and session.
pub(super) fn session_notes(shared: &Shared<'_>) -> AllNotes {
    let keys = shared.notes().session_keys();
    let mut sessions: KeyMap<(String, String)> = KeyMap::default();
    let is_wanted = |key: &u64| keys.contains(key);
    let mut owners = shared.owners();
    for old in shared.old.sharers(&Keys::named(keys.clone())) {
        let replica = old.replica();
        let owned = replica.records.iter().filter(|record| record.is_owned).map(|record| record.key);
        let facts = replica.facts.iter().map(|fact| fact.key);
        for key in owned.chain(facts).filter(is_wanted) {
            sessions.insert(key, (old.part.agent.clone(), old.stored.session.to_string()));
        }
        // The owners include a session that was read and is unchanged, but not the sessions that share its records.
        if replica.records.iter().any(|record| is_wanted(&record.key) && owners.knows(record.key)) {
            owners.add(&old.part.agent, replica, false, shared.is_there(&old.stored.source));
        }
    }
    for key in keys {
        sessions.extend(owners.session_of(key).map(|session| (key, session)));
    }
    drop(owners);
    shared.notes().by_session(&sessions)
}
