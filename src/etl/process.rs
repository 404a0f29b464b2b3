//! Processes a group: reads its sources, decides what they own, and writes the changed parts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::balance::Balance;
use super::carry::{self, Carry};
use super::children::known_children;
use super::gathered::Gathered;
use super::group::{Group, NewPart, Outcome, PART_WEIGHT, SessionOut, SessionSums};
use super::old_rows::{OldRows, Place};
use super::read::{Planned, Read, ReadSession, read};
use super::rebuild::{Carried, Readings, Rebuilt, with_news};
use super::renamed::find_renamed;
use super::sessions::{Known, KnownSessions};
use super::{Shared, check_interrupt, sessions, turns};
use crate::error::Result;
use crate::extract::Facts;
use crate::identity::{KeySet, Reading, Replica};
use crate::lake::claims::{self, Keys, StoredReplica};
use crate::lake::layout::PartName;
use crate::lake::manifest::{Marks, PartEntry, SessionEntry, SourceEntry};
use crate::lake::part::PartWriter;
use crate::source::name_of;
use crate::tables::{Sessions, SourceState};

/// Division of a group's work among the threads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// One thread does all: the other threads have groups of their own.
    InTurn,
    /// All threads share the work: none has, or soon has, anything else to do.
    SideBySide,
}

/// Reads a group's sources, decides which records they own, and writes the changed parts to the staging folder.
pub(super) fn process(shared: &Shared<'_>, group: Group, work: Work) -> Result<Outcome> {
    let mut reads = Vec::new();
    let mut sessions: BTreeMap<Arc<str>, Vec<ReadSession>> = BTreeMap::new();
    let mut childless = KeySet::default();
    let read_one = |planned: &Arc<Planned>| {
        check_interrupt()?;
        read(shared, planned)
    };
    let sources: Vec<&Arc<Planned>> = group.sources.values().collect();
    let found: Vec<(Read, Vec<ReadSession>)> = match work {
        Work::InTurn => sources.into_iter().map(read_one).collect::<Result<_>>()?,
        Work::SideBySide => sources.into_par_iter().map(read_one).collect::<Result<_>>()?,
    };
    for (read, found) in found {
        shared.notes().add(&read.notes, read.planned.print.modified_ns);
        reads.push(read);
        for session in found {
            childless.extend(session.childless.iter().copied());
            sessions.entry(Arc::clone(&session.replica.session)).or_default().push(session);
        }
    }
    let readings = readings(shared, &group, &reads);
    let (mut rebuilt, same) = rebuild(shared, &group, sessions, &readings)?;
    judge(shared, group.agent, &mut rebuilt, &same, &readings);
    let verdicts = rebuilt.iter().flat_map(Rebuilt::members).map(|member| (member.number, member.verdict)).collect();
    // Taken before the rows are written: what another thread learns meanwhile may come too late for them.
    let children = known_children(shared, &childless);
    let parts = write_parts(shared, &group, rebuilt, work)?;
    group.parts.iter().for_each(|part| shared.old.free(part));
    Ok(Outcome { group, parts, reads, verdicts, children })
}

/// Returns how the sources that were read to their end relate to the lake. Sections that a whole file no longer has count as
/// read.
fn readings(shared: &Shared<'_>, group: &Group, reads: &[Read]) -> Readings {
    let complete = || reads.iter().filter(|read| read.is_complete);
    let mut readings: Readings = complete().map(|read| (Arc::clone(&read.planned.name), read.reading)).collect();
    let whole = complete().filter(|read| read.state == SourceState::Ok);
    let whole: HashSet<&Arc<str>> = whole.map(|read| &read.planned.name).collect();
    let parts = group.parts.iter().filter_map(|name| shared.manifest.parts.get(name));
    let known = parts.flat_map(|part| &part.sessions).flat_map(|session| &session.sources);
    let dropped = known.filter(|source| shared.dropped.get(*source).is_some_and(|file| whole.contains(file)));
    readings.extend(dropped.map(|section| (Arc::clone(section), Reading::Changed)));
    readings
}

fn old_sessions<'m>(shared: &'m Shared<'_>, group: &Group) -> HashMap<&'m str, (PartName, &'m SessionEntry)> {
    let parts = group.parts.iter().filter_map(|name| shared.manifest.parts.get(name).map(|part| (name, part)));
    let sessions = parts.flat_map(|(name, part)| part.sessions.iter().map(move |session| (name, session)));
    sessions.map(|(name, session)| (&*session.id, (name.clone(), session))).collect()
}

/// Rebuilds the changed sessions, and lists those that were read and are unchanged.
fn rebuild(
    shared: &Shared<'_>,
    group: &Group,
    mut sessions: BTreeMap<Arc<str>, Vec<ReadSession>>,
    readings: &Readings,
) -> Result<(Vec<Rebuilt>, Vec<Arc<str>>)> {
    let old = old_sessions(shared, group);
    for id in &group.forced {
        sessions.entry(id.as_str().into()).or_default();
    }
    // If a source no longer gives a session, its rows stay as gone, unless the source has only grown.
    for (_, entry) in old.values() {
        let is_read = entry.sources.iter().any(|it| group.sources.contains_key(it) || readings.contains_key(it));
        if is_read && !sessions.contains_key(&entry.id) {
            sessions.insert(Arc::clone(&entry.id), Vec::new());
        }
    }
    find_renamed(shared, group.agent, &mut sessions, |id| old.get(id).map(|(part, _)| part))?;
    let (mut rebuilt, mut same) = (Vec::new(), Vec::new());
    for (id, reads) in sessions {
        let known = old.get(&*id);
        // The lake's copy of the id is in memory already.
        let id = known.map_or(id, |(_, entry)| Arc::clone(&entry.id));
        let old_part = known.map(|(part, _)| part.clone());
        let session = Rebuilt::new(group.agent, id, reads, &shared.old, old_part, shared.keeps_texts, readings);
        let is_same = known.is_some_and(|(_, entry)| is_same(shared, group.agent, &session, entry));
        if !is_same
            || shared.run.options.full
            || group.is_outdated
            || group.forced.contains(&*session.id)
            || session.may_carry()
        {
            rebuilt.push(session);
        } else {
            same.push(session.id);
        }
    }
    Ok((rebuilt, same))
}

/// True if a session is as the lake has it, and no copy may have taken its records while a source was away.
fn is_same(shared: &Shared<'_>, agent: &str, session: &Rebuilt, entry: &SessionEntry) -> bool {
    // A file with the same content as another of the session is one more copy of it.
    let is_known = |source: &str| entry.sources.iter().any(|known| **known == *source);
    let was_away = |known: &SourceEntry| known.state == SourceState::Gone;
    let may_regain = |source: &str| {
        let mut old = shared.old.of_session(agent, &session.id);
        shared.manifest.sources.get(source).is_some_and(was_away)
            && old.any(|old| old.stored.unpack().records.iter().any(|record| !record.is_owned))
    };
    let mut sources = session.sources.iter().map(|source| &source.member.replica.source);
    entry.digest == session.digest
        && !session.sources.is_empty()
        && sources.all(|source| is_known(source) && !may_regain(source))
}

/// Registers the sessions' replicas, and marks the records that they own. Unchanged sessions that were read still
/// compete with others.
fn judge(shared: &Shared<'_>, agent: &str, rebuilt: &mut [Rebuilt], same: &[Arc<str>], readings: &Readings) {
    let members = rebuilt.iter().flat_map(Rebuilt::members).filter(|_| !shared.old.is_empty());
    let keys = Keys::of(members.map(|member| &member.replica));
    let sharers = shared.old.sharers(&keys);
    let mut owners = shared.owners();
    let same = same.iter().flat_map(|session| shared.old.of_session(agent, session));
    for old in sharers.into_iter().chain(same) {
        let can_gain = shared.is_there(&old.stored.source);
        owners.add(&old.part.agent, old.replica(), false, can_gain);
    }
    for session in rebuilt.iter_mut() {
        for source in &mut session.sources {
            source.member.number = owners.add(agent, Arc::new(source.member.replica.clone()), true, true);
        }
        for kept in &mut session.kept {
            let replica = Arc::new(kept.replica.clone());
            kept.number = match readings.contains_key(&replica.source) {
                true => owners.add_dropped(agent, &replica),
                false => owners.add(agent, replica, false, false),
            };
        }
    }
    for session in rebuilt.iter_mut() {
        let mut held = KeySet::default();
        for member in session.members_mut() {
            let verdict = owners.judge(member.number);
            for (record, owned) in member.replica.records.iter_mut().zip(verdict.owned) {
                record.is_owned = owned;
            }
            held.extend(verdict.held);
            member.verdict = verdict.hash;
            member.forked_from = verdict.forked_from;
        }
        session.held = held;
        session.place();
        for member in session.sources.iter().map(|source| &source.member) {
            if let Some(in_lake) = shared.old.number_of(agent, &member.replica) {
                owners.leave_in_lake(member.number, in_lake);
            }
        }
    }
}

fn write_parts(shared: &Shared<'_>, group: &Group, rebuilt: Vec<Rebuilt>, work: Work) -> Result<Vec<NewPart>> {
    let mut targets: BTreeMap<PartName, Vec<Rebuilt>> = BTreeMap::new();
    let ids: BTreeSet<Arc<str>> = rebuilt.iter().map(|session| session.id.clone()).collect();
    let mut dirty: BTreeSet<PartName> = rebuilt.iter().filter_map(|session| session.old_part.clone()).collect();
    if group.is_outdated {
        dirty.extend(group.parts.iter().cloned());
    }
    let mut new: BTreeMap<String, Vec<Rebuilt>> = BTreeMap::new();
    for session in rebuilt {
        let month = crate::time::month_of(session.begun());
        let stays = session.old_part.clone().filter(|part| part.month == month);
        match stays.or_else(|| roomiest(shared, group, &month)) {
            Some(part) => {
                dirty.insert(part.clone());
                targets.entry(part).or_default().push(session);
            }
            None => new.entry(month).or_default().push(session),
        }
    }
    let carried = carried_rows(shared, &dirty, targets.values().chain(new.values()).flatten())?;
    let mut carried = carried;
    let mut parts = Vec::new();
    for name in dirty {
        let sessions = targets.remove(&name).unwrap_or_default();
        parts.push(write_part(shared, &ids, name, sessions, &mut carried, work)?);
    }
    for (month, mut sessions) in new {
        sessions.sort_by_cached_key(|session| (session.begun(), session.id.clone()));
        let first = sessions
            .first()
            .map(|session| (crate::time::day_of(session.begun()), session.id.clone()))
            .unwrap_or_default();
        let name = PartName {
            agent: group.agent.to_owned(),
            month,
            name: format!(
                "{}-{:08x}",
                first.0,
                crate::identity::key(group.agent, crate::identity::Kind::Presence, &first.1) >> 32
            ),
        };
        parts.push(write_part(shared, &ids, name, sessions, &mut carried, work)?);
    }
    Ok(parts)
}

/// Returns the group's part with most room in a month, or `None` if all are full.
fn roomiest(shared: &Shared<'_>, group: &Group, month: &str) -> Option<PartName> {
    let parts = group.parts.iter().filter(|part| part.month == month);
    let weights = parts.filter_map(|name| shared.manifest.parts.get(name).map(|part| (part.weight(), name)));
    weights.filter(|(weight, _)| *weight < PART_WEIGHT).min().map(|(_, name)| name.clone())
}

type CarriedBySession = HashMap<String, Carried>;

fn carried_rows<'r>(
    shared: &Shared<'_>,
    parts: &BTreeSet<PartName>,
    rebuilt: impl Iterator<Item = &'r Rebuilt>,
) -> Result<CarriedBySession> {
    let mut by_part: BTreeMap<&PartName, HashMap<String, Carry>> = BTreeMap::new();
    for session in rebuilt {
        // Records of another file of the session may also have their row from a file that is gone.
        let carry = session.carry();
        if let Some(part) = session.old_part.as_ref().and_then(|part| parts.get(part)).filter(|_| !carry.is_empty()) {
            by_part.entry(part).or_default().insert(session.id.to_string(), carry);
        }
    }
    let mut rows = HashMap::new();
    for (name, carries) in by_part {
        if let Some(part) = shared.manifest.parts.get(name) {
            let (machine, now) = (&shared.manifest.machine, shared.run.now);
            let mut gathered: HashMap<String, Gathered> = HashMap::new();
            let known = carry::each(shared.run.layout, machine, name, &part.files, &carries, now, |session, rows| {
                let rows = with_news(shared, &name.agent, rows)?;
                let session = gathered.entry(session.to_owned()).or_insert_with(|| shared.gather());
                session.add(turns::LAKE, rows)
            })?;
            rows.extend(known.into_iter().map(|(session, known)| {
                let rows = gathered.remove(&session).unwrap_or_else(|| shared.gather());
                (session, Carried { rows, known })
            }));
        }
    }
    Ok(rows)
}

fn write_part(
    shared: &Shared<'_>,
    rebuilt_ids: &BTreeSet<Arc<str>>,
    name: PartName,
    sessions: Vec<Rebuilt>,
    carried: &mut CarriedBySession,
    work: Work,
) -> Result<NewPart> {
    let empty = PartEntry::default();
    let old = shared.manifest.parts.get(&name).unwrap_or(&empty);
    let stem = shared.stage_name();
    let mut writer =
        PartWriter::new(&shared.run.layout.staging(), &stem, &shared.syncer).side_by_side(work == Work::SideBySide);
    let agent = name.agent.clone();
    let mut output = PartOutput {
        shared,
        agent: &agent,
        writer: &mut writer,
        sessions: Vec::new(),
        rows: Sessions::default(),
        projects: BTreeSet::new(),
        unpriced: BTreeMap::new(),
        replicas: Vec::new(),
        balance: Balance::default(),
        known: KnownSessions::new(shared),
    };
    let pieces = in_order(&old.sessions, rebuilt_ids, sessions);
    let order: Vec<Option<Place>> = pieces.iter().map(Piece::place).collect();
    let mut tables = OldRows::open(shared.run.layout, &shared.manifest.machine, &[(&name, old)], &order)?;
    for piece in pieces {
        match piece {
            Piece::Old(session, entry) => output.add_old(&name, entry, Place { part: 0, session }, &mut tables)?,
            Piece::New(session) => output.add_rebuilt(*session, carried)?,
        }
    }
    let PartOutput { sessions, mut rows, projects, unpriced, replicas, mut balance, .. } = output;
    let stays: HashSet<&str> = sessions.iter().filter(|it| !it.is_new).map(|it| &*it.entry.id).collect();
    balance.close(shared.old.of_part(&name).iter().filter(|old| !stays.contains(&*old.stored.session)));
    let claims = shared.run.layout.staging().join(format!("{stem}.claims"));
    let bytes = claims::encode(&replicas)?;
    shared.syncer.write(&claims, &bytes)?;
    // Not kept in memory until the end of the run: many small sessions would take much of it.
    let rows = rows.finish()?;
    writer.write(0, &rows)?;
    let (files, claims_bytes, sums) = (writer.finish()?, bytes.len() as u64, SessionSums::of(&rows));
    Ok(NewPart { name, files, claims, claims_bytes, sessions, sums, projects, unpriced, balance })
}

/// A session of a part that is being written.
enum Piece<'m> {
    /// An unchanged session, with its place among the part's previous sessions.
    Old(usize, &'m SessionEntry),
    /// A rebuilt session.
    New(Box<Rebuilt>),
}

impl Piece<'_> {
    fn place(&self) -> Option<Place> {
        match self {
            Self::Old(session, _) => Some(Place { part: 0, session: *session }),
            Self::New(_) => None,
        }
    }
}

/// The sessions of a part, unchanged and rebuilt, in the order of their rows.
fn in_order<'m>(
    old: &'m [SessionEntry],
    rebuilt_ids: &BTreeSet<Arc<str>>,
    mut rebuilt: Vec<Rebuilt>,
) -> Vec<Piece<'m>> {
    rebuilt.sort_by_cached_key(|session| (session.begun(), session.id.clone()));
    let mut rebuilt = rebuilt.into_iter().peekable();
    let mut pieces = Vec::new();
    for (place, entry) in old.iter().enumerate().filter(|(_, entry)| !rebuilt_ids.contains(&entry.id)) {
        while let Some(session) =
            rebuilt.next_if(|session| (session.begun(), &session.id) <= (entry.started_at, &entry.id))
        {
            pieces.push(Piece::New(Box::new(session)));
        }
        pieces.push(Piece::Old(place, entry));
    }
    pieces.extend(rebuilt.map(|session| Piece::New(Box::new(session))));
    pieces
}

/// Returns the sources of a session, the one with most of its records first.
fn sources_of(session: &Rebuilt) -> Vec<Arc<str>> {
    let record_count = |replica: &Replica| replica.records.len() + replica.facts.len();
    // Of two equal replicas, the choice does not depend on which source still exists.
    let primary = session.members().map(|member| &member.replica);
    let primary =
        primary.max_by_key(|replica| (replica.owns_rows(), record_count(replica), std::cmp::Reverse(&replica.source)));
    let source = primary.map(|replica| replica.source.clone()).unwrap_or_default();
    let mut sources: Vec<&Arc<str>> = session.members().map(|member| &member.replica.source).collect();
    sources.sort_by_key(|path| (**path != source, *path));
    sources.into_iter().cloned().collect()
}

struct PartOutput<'p, 's> {
    shared: &'p Shared<'s>,
    agent: &'p str,
    writer: &'p mut PartWriter<'s>,
    sessions: Vec<SessionOut>,
    rows: Sessions,
    projects: BTreeSet<String>,
    unpriced: BTreeMap<String, u64>,
    replicas: Vec<StoredReplica>,
    balance: Balance,
    known: KnownSessions<'p>,
}

impl PartOutput<'_, '_> {
    fn add_rebuilt(&mut self, mut session: Rebuilt, carried: &mut CarriedBySession) -> Result<()> {
        check_interrupt()?;
        let carried = carried.remove(&*session.id);
        let is_damaged = session.old_part.as_ref().is_some_and(|part| self.shared.damaged_parts.contains(part));
        if is_damaged {
            session.forget_lost(carried.as_ref().map(|carried| &carried.known));
        }
        let writer = &mut *self.writer;
        let mut totals =
            session.each_batch(self.shared, self.agent, carried, |batches| writer.write_all(1, batches))?;
        let active_ms = totals.finish();
        let mut known = self.facts_of(&session)?;
        let origin = session.members().find_map(|member| member.forked_from.as_deref());
        known.origin = origin.map(str::to_owned).or(known.origin);
        let facts = &known.facts;
        let sources = sources_of(&session);
        let file = sources.first().map(|source| self.file_of(&session, source)).unwrap_or_default();
        let rows = [totals.messages, totals.tool_calls, totals.usage].map(|rows| u64::try_from(rows).unwrap_or(0));
        let entry = SessionEntry {
            id: session.id.clone(),
            sources,
            started_at: session.begun(),
            weight: session.weight(),
            digest: session.digest,
            notes: 0,
            marks: Marks::of(facts),
            project_hash: facts.project_hash.clone().filter(|_| facts.project_path.is_none()),
            rows,
        };
        session.place_kept();
        let before = self.shared.old.of_session(self.agent, &session.id);
        self.balance.add_session(before, &session, self.shared.old.is_empty(), is_damaged);
        let replicas = session.members_mut().map(|member| std::mem::take(&mut member.replica));
        self.replicas.extend(replicas.map(StoredReplica::whole));
        if entry.has_row() {
            self.rows.push(sessions::row(&entry, &known, &totals, active_ms, &file));
        }
        self.projects.extend(known.facts.project_path);
        for (model, responses) in totals.unpriced {
            *self.unpriced.entry(model).or_default() += responses;
        }
        self.sessions.push(SessionOut { entry, is_new: true });
        Ok(())
    }

    /// Merges the facts that were read with those that the lake has.
    fn facts_of(&mut self, session: &Rebuilt) -> Result<Known> {
        let known = self.known.facts(session)?;
        Ok(match session.facts() {
            (Some(facts), true) if session.is_corrected => Known { facts, ..Known::default() },
            (Some(facts), true) => {
                let summary = known.facts.summary.filter(|_| known.is_own_summary);
                let facts = facts.filled_from(Facts { summary, ..known.facts });
                Known { facts, origin: None, ..known }
            }
            (Some(read), false) => Known { facts: known.facts.filled_from(read), ..known },
            (None, _) => known,
        })
    }

    /// Returns the file of one of a session's sources.
    fn file_of(&self, session: &Rebuilt, source: &str) -> String {
        let read = session.sources.iter().map(|source| &source.read.planned);
        let read = read.filter(|planned| &*planned.name == source).map(|planned| name_of(planned.path()));
        let known = self.shared.manifest.sources.get(source).map(|entry| entry.file(source).into());
        read.chain(known).next().map_or_else(|| source.to_owned(), std::borrow::Cow::into_owned)
    }

    fn add_old(&mut self, part: &PartName, entry: &SessionEntry, place: Place, rows: &mut OldRows) -> Result<()> {
        check_interrupt()?;
        rows.copy(place, self.writer)?;
        let replicas = self.shared.old.of_session(&part.agent, &entry.id);
        self.replicas.extend(replicas.map(|old| old.stored.clone()));
        self.sessions.push(SessionOut { entry: entry.clone(), is_new: false });
        Ok(())
    }
}
