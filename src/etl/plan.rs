//! Finds the sources, those that have changed, and the parts of the lake that they touch.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use walkdir::WalkDir;

use super::damaged::Damaged;
use super::group::{Group, PART_SOURCES, PART_WEIGHT};
use super::options::Options;
use super::policy::Policy;
use super::read::{Planned, UNLISTED};
use super::{Run, check_interrupt, projects};
use crate::agents::{self, AGENTS, Agent, Found, Places};
use crate::error::{Error, Result};
use crate::interrupt::interrupted;
use crate::lake::layout::PartName;
use crate::lake::manifest::{Manifest, SourceEntry};
use crate::source::{Fingerprint, RunCache, Scope, Source, head, name_of, path_of};
use crate::tables::SourceState;

/// Bytes of a source to search for its first timestamp; the second limit applies if the first finds none.
const HEADS: [u64; 2] = [8 << 10, 512 << 10];
/// Bytes of sources up to which those with the same first timestamp are read together.
const COPIES_WEIGHT: u64 = 2 * PART_WEIGHT;
/// Depth to which a given folder is searched.
const SOURCE_DEPTH: usize = 16;

/// All sources of the run.
pub(super) struct Plan {
    /// All sources found, including unchanged ones.
    pub(super) found: Vec<Arc<Planned>>,
    /// Names of the sources to read.
    pub(super) changed: HashSet<Arc<str>>,
    /// Names of the sources that have a pass of their own.
    pub(super) apart: HashSet<Arc<str>>,
    /// Names of sources that have vanished since they were last read.
    pub(super) vanished: Vec<String>,
    /// Sections that files no longer have.
    pub(super) dropped: Dropped,
}

/// Sections that are no longer in their file, with the name of the file. The run reads the file.
pub(super) type Dropped = HashMap<Arc<str>, Arc<str>>;

/// Finds the sources, and compares them with the manifest.
pub(super) fn plan(run: Run<'_>, manifest: &Manifest) -> Result<Plan> {
    let options = run.options;
    let (found, mut changed) = compare(run, manifest, discover(options, manifest)?);
    check_interrupt()?;
    let apart = changed.extract_if(|name| run.pass.leaves(name)).collect();
    let (mut vanished, mut dropped) = (Vec::new(), Dropped::new());
    if options.sources.is_empty() {
        let here: HashSet<&str> = found.iter().map(|planned| &*planned.name).collect();
        vanished = sources_not_there(options, manifest, &here);
        let read = found.iter().filter(|planned| changed.contains(&planned.name));
        dropped.extend(read.flat_map(|whole| dropped_of(whole, options, manifest, &here)));
    }
    Ok(Plan { found, changed, apart, vanished, dropped })
}

/// Returns the sections that a file no longer has. With `--full`, and if the file itself was away, these are also the ones
/// that earlier runs missed.
fn dropped_of(whole: &Planned, options: &Options, manifest: &Manifest, here: &HashSet<&str>) -> Dropped {
    if whole.section.is_some() || !whole.has_sections() || whole.is_emptied() {
        return Dropped::new();
    }
    let is_back = manifest.sources.get(&whole.name).is_some_and(|entry| entry.state == SourceState::Gone);
    let takes_missed = options.full || is_back;
    let known = manifest.sections_of(&whole.name);
    let dropped =
        known.filter(|(name, entry)| !here.contains(name) && (takes_missed || entry.state != SourceState::Gone));
    dropped.map(|(name, _)| (name.into(), Arc::clone(&whole.name))).collect()
}

/// Adds files in projects that no session had named when the plan was made. Returns the groups for them, which touch no
/// part of the lake.
pub(super) fn look_into(projects: &[PathBuf], run: Run<'_>, manifest: &Manifest, plan: &mut Plan) -> Vec<Group> {
    let known: HashSet<&str> = plan.found.iter().map(|planned| &*planned.name).collect();
    let is_new = |(_, path, _): &Located| {
        let name = name_of(path);
        !known.contains(&*name) && !manifest.sources.contains_key(&*name)
    };
    let located = in_projects(&chosen_agents(run.options), projects).into_iter().filter(is_new).collect();
    let (found, mut changed) = compare(run, manifest, located);
    plan.apart.extend(changed.extract_if(|name| run.pass.leaves(name)));
    let mut groups = Groups::default();
    let new = found.iter().filter(|planned| changed.contains(&planned.name)).collect();
    add_chunks(new, run.now, |_, _| None, &mut groups);
    plan.found.extend(found);
    plan.changed.extend(changed);
    groups.finish()
}

/// Finds all sources. Returns them and the names of those to read.
fn compare(run: Run<'_>, manifest: &Manifest, located: Vec<Located>) -> (Vec<Arc<Planned>>, HashSet<Arc<str>>) {
    let Run { options, policy, pass, .. } = run;
    let is_other_policy = Policy::of_lake(manifest) != *policy;
    let home = real_home(options);
    let mut found: Vec<Planned> = located
        .into_par_iter()
        .map(|(agent, path, kind)| {
            let print = Fingerprint::of(&path, &agent.companions(&path));
            let print = print.ok().filter(|_| !interrupted()).unwrap_or_default();
            let name = name_of(&path);
            let known = manifest.sources.get_key_value(&*name).map(|(known, _)| Arc::clone(known));
            let is_new = known.is_none();
            let name = known.unwrap_or_else(|| name.into());
            let other_path = path.to_str().is_none().then(|| Arc::from(&*path));
            let is_foreign = leads_to_others(&path, home.as_deref());
            Planned { agent, name, other_path, section: None, kind, print, is_new, is_foreign, hint: None }
        })
        .collect();
    drop_seen_twice(&mut found);
    let is_due = |planned: &&Planned| {
        if interrupted() {
            return false;
        }
        if pass.is_alone() {
            let is_changed = || options.full || has_changed(planned, manifest, is_other_policy);
            return pass.is_for(planned) || (pass.is_for_file_of(planned) && is_changed());
        }
        let recent = options.since.is_none_or(|since| planned.print.modified_us() >= since);
        recent && (options.full || has_changed(planned, manifest, is_other_policy))
    };
    let is_looked_into =
        |planned: &Planned| is_due(&planned) && !pass.leaves(&planned.name) && !pass.refuses(&planned.name);
    let with_sections = found.par_iter().filter(|planned| planned.has_sections());
    let sections = with_sections.flat_map_iter(|whole| {
        let listed = is_looked_into(whole).then(|| listed_sections(whole, run, manifest)).flatten();
        listed.unwrap_or_else(|| known_sections(whole, manifest))
    });
    found.extend(sections.collect::<Vec<Planned>>());
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found.dedup_by(|a, b| a.name == b.name);
    let changed: HashSet<Arc<str>> = found.iter().filter(is_due).map(|planned| planned.name.clone()).collect();
    let wants_hint = |planned: &&mut Planned| planned.is_new && planned.section.is_none() && is_looked_into(planned);
    found.par_iter_mut().filter(wants_hint).for_each(|planned| {
        run.breadcrumbs.note(&planned.name);
        planned.hint = started_hint(planned);
    });
    let mut found: Vec<Arc<Planned>> = found.into_iter().map(Arc::new).collect();
    // `collect` keeps the allocation of the larger elements.
    found.shrink_to_fit();
    (found, changed)
}

/// Returns the given home, with links resolved.
pub(super) fn real_home(options: &Options) -> Option<PathBuf> {
    options.home.as_ref()?.canonicalize().ok()
}

/// True if a path leads out of a home to a file of another user than the home's owner. Links out of a home are common,
/// such as a `.claude` on another disk. But a link in somebody else's home may lead to files that only the user of
/// llrem can read.
#[cfg(unix)]
pub(super) fn leads_to_others(path: &Path, home: Option<&Path>) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.uid()).ok();
    let leads_out = |home: &Path| {
        let real = path.canonicalize().ok().filter(|real| !real.starts_with(home));
        real.and_then(|real| owner(&real)).is_some_and(|of_file| Some(of_file) != owner(home))
    };
    home.is_some_and(leads_out)
}

#[cfg(not(unix))]
pub(super) fn leads_to_others(_path: &Path, _home: Option<&Path>) -> bool {
    false
}

/// Keeps one of several paths to the same file: the one without links, or else the first.
fn drop_seen_twice(found: &mut Vec<Planned>) {
    let mut first: HashMap<(&str, u64), &Planned> = HashMap::new();
    let mut alike: Vec<&Planned> = Vec::new();
    for planned in found.iter().filter(|planned| planned.print.inode != 0) {
        if let Some(other) = first.insert((planned.agent_id(), planned.print.inode), planned) {
            alike.extend([other, planned]);
        }
    }
    let mut kept: HashMap<PathBuf, &Planned> = HashMap::new();
    let mut dropped: HashSet<Arc<str>> = HashSet::new();
    for planned in alike {
        let Ok(real) = planned.path().canonicalize() else { continue };
        let rank = |planned: &Planned| (planned.path() != real, planned.path().to_owned());
        match kept.get(&real).copied() {
            Some(other) if other.path() == planned.path() => {}
            Some(other) if rank(other) < rank(planned) => drop(dropped.insert(planned.name.clone())),
            other => {
                dropped.extend(other.map(|other| other.name.clone()));
                kept.insert(real, planned);
            }
        }
    }
    found.retain(|planned| !dropped.contains(&planned.name));
}

/// Returns the current sections of a source. If they cannot be listed, there are none, and reading the source reports
/// it.
fn listed_sections(whole: &Planned, run: Run<'_>, manifest: &Manifest) -> Option<Vec<Planned>> {
    if whole.is_emptied() {
        return None;
    }
    run.breadcrumbs.note(&whole.name);
    let list = || {
        let source = Source::new(whole.path(), whole.kind, whole.print.bytes, &|_| ());
        let mut source = source.within(run.cache).scoped(Scope::Common);
        catch_unwind(AssertUnwindSafe(|| whole.agent.sections(&mut source)))
    };
    RunCache::watch();
    let listed = list();
    let listed = if run.cache.have_changed(false) { list() } else { listed };
    let sections = listed.ok()?.ok()?;
    let path: Arc<Path> = whole.path().into();
    let planned = sections.into_iter().map(|section| {
        let name: Arc<str> = format!("{}#{}", whole.name, section.id).into();
        let modified_ns = section.modified.map_or(whole.print.modified_ns, |moment| moment.saturating_mul(1000));
        Planned {
            is_new: !manifest.sources.contains_key(&*name),
            name,
            other_path: Some(Arc::clone(&path)),
            section: Some(section.id.into()),
            // Only its stamp says whether it has changed.
            print: Fingerprint { bytes: section.bytes, modified_ns, inode: section.stamp },
            hint: section.began,
            ..whole.clone()
        }
    });
    Some(planned.collect())
}

/// Returns the sections of a source in the lake.
fn known_sections(whole: &Planned, manifest: &Manifest) -> Vec<Planned> {
    let known = manifest.sections_of(&whole.name).filter(|(_, entry)| entry.state != SourceState::Gone);
    let path: Arc<Path> = whole.path().into();
    let planned = known.map(|(name, entry)| Planned {
        is_new: false,
        name: name.into(),
        other_path: Some(Arc::clone(&path)),
        section: entry.section.as_deref().map(Into::into),
        print: entry.print,
        hint: None,
        ..whole.clone()
    });
    planned.collect()
}

fn has_changed(planned: &Planned, manifest: &Manifest, is_other_policy: bool) -> bool {
    manifest.sources.get(&*planned.name).is_none_or(|entry| {
        let is_other = match planned.section {
            Some(_) => entry.print.inode != planned.print.inode,
            None => entry.print != planned.print,
        };
        is_other
            || entry.parser_version != planned.agent.about().parser_version
            || entry.state == SourceState::Gone
            // Only its permissions, or those of a folder above it, may have prevented reading it.
            || (entry.state == SourceState::Unreadable && !entry.is_fatal() && head(planned.path(), 1).is_ok())
            || is_other_policy
    })
}

fn sources_not_there(options: &Options, manifest: &Manifest, here: &HashSet<&str>) -> Vec<String> {
    let candidates = manifest.sources.iter().filter(|(name, entry)| {
        entry.state != SourceState::Gone
            && !here.contains(&***name)
            && (options.agents.is_empty() || options.agents.iter().any(|agent| **agent == *entry.agent))
    });
    let is_gone = |name: &str, entry: &SourceEntry| {
        let file = entry.file(name);
        let path = path_of(file);
        // A file in a folder that cannot be listed may still exist. A folder that can be listed is no source.
        let is_there = path.try_exists().unwrap_or(true) && !(entry.state == SourceState::Unreadable && path.is_dir());
        !is_there || (entry.section.is_some() && here.contains(file))
    };
    candidates.filter(|(name, entry)| is_gone(name, entry)).map(|(name, _)| name.to_string()).collect()
}

type Located = (&'static dyn Agent, PathBuf, &'static str);

/// Returns the agents to read in this run.
pub(super) fn chosen_agents(options: &Options) -> Vec<&'static dyn Agent> {
    let is_chosen =
        |agent: &&dyn Agent| options.agents.is_empty() || options.agents.iter().any(|id| id == agent.about().id);
    AGENTS.iter().copied().filter(is_chosen).collect()
}

fn discover(options: &Options, manifest: &Manifest) -> Result<Vec<Located>> {
    let agents = chosen_agents(options);
    if !options.sources.is_empty() {
        return options
            .sources
            .iter()
            .map(|(id, path)| named(&agents, id.as_deref(), path))
            .collect::<Result<Vec<_>>>()
            .map(|all| all.concat());
    }
    let places = places(options)?;
    let mut located = Vec::new();
    for agent in &agents {
        check_interrupt()?;
        let mut found = Found::default();
        agent.discover(&places, &mut found);
        located.extend(located_by(*agent, found));
    }
    if options.looks_into_projects() {
        located.extend(in_projects(&agents, &projects::folders(&manifest.project_paths)));
    }
    Ok(located)
}

fn in_projects(agents: &[&'static dyn Agent], projects: &[PathBuf]) -> Vec<Located> {
    let mut located = Vec::new();
    for agent in agents {
        let mut found = Found::default();
        agent.discover_in_projects(projects, &mut found);
        located.extend(located_by(*agent, found));
    }
    located
}

fn located_by(agent: &'static dyn Agent, found: Found) -> impl Iterator<Item = Located> {
    let unlisted = found.problems.into_iter().map(move |(folder, _)| (agent, folder, UNLISTED));
    found.sources.into_iter().map(move |source| (agent, source.path, source.kind)).chain(unlisted)
}

fn places(options: &Options) -> Result<Places> {
    if let Some(home) = &options.home {
        let home = home.canonicalize().map_err(Error::io("read", home))?;
        return Ok(Places::below(home));
    }
    let home = etcetera::home_dir().map_err(|error| Error::Usage(format!("the home folder is not known: {error}")))?;
    Ok(Places::of_user(home, options.project_roots.clone()))
}

/// Returns the sources at a path that the user named.
fn named(chosen: &[&'static dyn Agent], id: Option<&str>, path: &Path) -> Result<Vec<Located>> {
    let absolute = std::path::absolute(path).map_err(Error::io("read", path))?;
    std::fs::metadata(&absolute).map_err(Error::io("read", path))?;
    let matching: Vec<&'static dyn Agent> =
        chosen.iter().copied().filter(|agent| id.is_none_or(|id| id == agent.about().id)).collect();
    let only = matching.first().filter(|_| id.is_some());
    let claim = |path: PathBuf| {
        let (agent, kind) =
            agents::claimed(&path, &matching).or_else(|| only.and_then(|agent| agents::taken(&path, *agent)))?;
        Some((agent, path, kind))
    };
    let walk = WalkDir::new(&absolute).max_depth(SOURCE_DEPTH).follow_links(true).sort_by_file_name();
    let located: Vec<Located> =
        walk.into_iter().take_while(|_| !interrupted()).filter_map(|entry| claim(file_of(entry)?)).collect();
    check_interrupt()?;
    if located.is_empty() {
        return Err(Error::Usage(format!(
            "no agent that llrem knows keeps its sessions in files like `{}`",
            path.display()
        )));
    }
    Ok(located)
}

/// Returns the path unless it is a folder. A broken link counts as a file that cannot be read.
fn file_of(entry: walkdir::Result<walkdir::DirEntry>) -> Option<PathBuf> {
    match entry {
        Ok(entry) => (!entry.file_type().is_dir()).then(|| entry.into_path()),
        Err(error) if error.loop_ancestor().is_some() => None,
        Err(error) => error.path().filter(|path| !path.is_dir()).map(Path::to_owned),
    }
}

fn started_hint(planned: &Planned) -> Option<i64> {
    if planned.is_foreign {
        return None;
    }
    let mut heads = HEADS.iter().take_while(|_| !interrupted());
    heads.find_map(|bytes| planned.agent.started_hint(planned.kind, &head(planned.path(), *bytes).ok()?))
}

/// Sorts the sources to read into groups that touch different parts, the earliest first.
pub(super) fn groups(plan: &Plan, run: Run<'_>, manifest: &Manifest, damaged: &Damaged) -> Vec<Group> {
    let found = plan.found.iter().filter(|planned| !run.pass.leaves(&planned.name));
    let by_name: HashMap<&str, &Arc<Planned>> = found.map(|planned| (&*planned.name, planned)).collect();
    let mut groups = Groups::default();
    if !manifest.parts.is_empty() {
        add_known(plan, manifest, &by_name, &mut groups);
    }
    add_unread(plan, run, manifest, damaged, &mut groups);
    if is_outdated(manifest) {
        add_all(manifest, &mut groups);
    }
    add_new(plan, manifest, run.now, &mut groups);
    groups.finish()
}

/// Groups sources whose sessions are in the lake with their parts and the other sources of these sessions.
fn add_known(plan: &Plan, manifest: &Manifest, by_name: &HashMap<&str, &Arc<Planned>>, groups: &mut Groups) {
    for (name, part) in &manifest.parts {
        for session in &part.sessions {
            let is_due = |source: &Arc<str>| plan.changed.contains(source) || plan.dropped.contains_key(source);
            if !session.sources.iter().any(is_due) {
                continue;
            }
            let sources = session.sources.iter().map(|source| plan.dropped.get(source).unwrap_or(source));
            let sources = sources.filter_map(|source| by_name.get(&**source).copied().cloned());
            groups.add(Some(name), sources.collect());
        }
    }
}

/// True if the run brings a lake with another policy up to date.
pub(super) fn settles_policy(run: Run<'_>, manifest: &Manifest) -> bool {
    Policy::of_lake(manifest) != *run.policy && run.options.looks_at_everything()
}

/// True if an llrem with other columns wrote the lake's files. All files of a table must have the same columns.
pub(super) fn is_outdated(manifest: &Manifest) -> bool {
    !manifest.parts.is_empty() && !Policy::of_lake(manifest).has_all_columns()
}

/// Adds the sessions to rebuild although none of their sources has changed: those of damaged parts and, if the policy
/// has changed, those that only the lake still has. The policy cannot be applied to their texts, but their prices and
/// sums can be computed again.
fn add_unread(plan: &Plan, run: Run<'_>, manifest: &Manifest, damaged: &Damaged, groups: &mut Groups) {
    let takes_archived = settles_policy(run, manifest);
    let vanished: HashSet<&str> = plan.vanished.iter().map(String::as_str).collect();
    let is_gone = |source: &Arc<str>| {
        vanished.contains(&**source)
            || (!plan.changed.contains(source)
                && manifest.sources.get(&**source).is_some_and(|entry| entry.state == SourceState::Gone))
    };
    for (name, part) in &manifest.parts {
        let Some(agent) = agents::by_id(&name.agent) else { continue };
        let is_damaged = damaged.parts.contains(name);
        let sessions = part.sessions.iter();
        let sessions = sessions.filter(|session| is_damaged || (takes_archived && session.sources.iter().all(is_gone)));
        let forced: BTreeSet<String> = sessions.map(|session| session.id.to_string()).collect();
        if !forced.is_empty() {
            let parts = BTreeSet::from([name.clone()]);
            groups.merge(Group { agent: agent.about().id, parts, forced, ..Group::default() });
        }
    }
}

fn add_all(manifest: &Manifest, groups: &mut Groups) {
    for name in manifest.parts.keys() {
        let Some(agent) = agents::by_id(&name.agent) else { continue };
        groups.merge(Group {
            agent: agent.about().id,
            parts: BTreeSet::from([name.clone()]),
            is_outdated: true,
            ..Group::default()
        });
    }
}

fn add_new(plan: &Plan, manifest: &Manifest, now: i64, groups: &mut Groups) {
    let mut new: Vec<&Arc<Planned>> =
        plan.found.iter().filter(|planned| plan.changed.contains(&planned.name)).collect();
    new.retain(|planned| !groups.has_source(&planned.name));
    add_chunks(new, now, |first, weight| part_with_room(manifest, first, weight), groups);
}

/// Adds sources that are not in the lake. Sources that begin at about the same time share a group. `room` returns the
/// part that can take in sources of a given weight, given the first of them.
fn add_chunks<'m>(
    mut new: Vec<&Arc<Planned>>,
    now: i64,
    room: impl Fn(&Planned, u64) -> Option<&'m PartName>,
    groups: &mut Groups,
) {
    let this_month = crate::time::month_of(Some(now));
    new.sort_by_key(|planned| (planned.agent_id(), planned.hint, &planned.name));
    // The current month has one file a day, so that a later run rewrites little.
    let span = |planned: &Planned| {
        let month = crate::time::month_of(planned.hint);
        let span = if month == this_month { crate::time::day_of(planned.hint) } else { month };
        (planned.agent_id(), span)
    };
    for sources in new.chunk_by(|a, b| span(a) == span(b)) {
        let mut chunk: Vec<Arc<Planned>> = Vec::new();
        let mut weight = 0;
        for planned in sources {
            // A copy of a session begins at the same moment. In another group, it would cause this one to be read
            // twice.
            let may_be_copy = chunk.last().is_some_and(|last| last.hint == planned.hint && planned.hint.is_some());
            let limit = if may_be_copy { COPIES_WEIGHT } else { PART_WEIGHT };
            let is_full = weight + planned.print.bytes > limit || chunk.len() >= PART_SOURCES;
            if is_full && !chunk.is_empty() {
                groups.add(None, std::mem::take(&mut chunk));
                weight = 0;
            }
            weight += planned.print.bytes;
            chunk.push(Arc::clone(planned));
        }
        let part = chunk.first().and_then(|first| room(first, weight));
        groups.add(part, chunk);
    }
}

/// Returns a part with room for sources, of the day on which they begin.
fn part_with_room<'m>(manifest: &'m Manifest, first: &Planned, weight: u64) -> Option<&'m PartName> {
    let (day, month) = (crate::time::day_of(first.hint), crate::time::month_of(first.hint));
    let parts = manifest.parts.iter().filter(|(name, part)| {
        name.agent == first.agent_id()
            && name.month == month
            && name.name.starts_with(&day)
            && part.weight() + weight <= PART_WEIGHT
    });
    parts.map(|(name, _)| name).next()
}

/// Groups that are merged if they share a part or a source.
#[derive(Default)]
pub(super) struct Groups {
    groups: Vec<Option<Group>>,
    by_part: HashMap<PartName, usize>,
    by_source: HashMap<Arc<str>, usize>,
}

impl Groups {
    fn has_source(&self, name: &str) -> bool {
        self.by_source.contains_key(name)
    }

    fn add(&mut self, part: Option<&PartName>, sources: Vec<Arc<Planned>>) {
        let Some(agent) = sources.first().map(|planned| planned.agent_id()) else { return };
        let sources = sources.into_iter().map(|planned| (planned.name.clone(), planned)).collect();
        self.merge(Group { agent, parts: part.into_iter().cloned().collect(), sources, ..Group::default() });
    }

    /// Adds a group, and merges those that share a part or a source with it.
    pub(super) fn merge(&mut self, mut group: Group) {
        let parts = group.parts.iter().filter_map(|part| self.by_part.get(part));
        let sources = group.sources.keys().filter_map(|source| self.by_source.get(source));
        let touched: BTreeSet<usize> = parts.chain(sources).copied().collect();
        // The largest group stays in place, so that a sequence of merges does not move it each time.
        let size = |place: &usize| self.groups.get(*place).and_then(Option::as_ref).map_or(0, |it| it.sources.len());
        let place = touched.iter().copied().max_by_key(size).unwrap_or(self.groups.len());
        for other in touched.into_iter().filter(|other| *other != place) {
            if let Some(other) = self.groups.get_mut(other).and_then(Option::take) {
                group.absorb(other);
            }
        }
        self.by_part.extend(group.parts.iter().map(|part| (part.clone(), place)));
        self.by_source.extend(group.sources.keys().map(|source| (source.clone(), place)));
        match self.groups.get_mut(place).and_then(Option::as_mut) {
            Some(largest) => largest.absorb(group),
            None => self.groups.push(Some(group)),
        }
    }

    /// Returns the groups, the earliest first.
    pub(super) fn finish(self) -> Vec<Group> {
        let mut groups: Vec<Group> = self.groups.into_iter().flatten().collect();
        groups.sort_by_cached_key(|group| {
            let hints: BTreeMap<_, _> = group.sources.values().map(|planned| (planned.hint, &planned.name)).collect();
            hints.first_key_value().map(|(hint, name)| (*hint, (*name).clone()))
        });
        groups
    }
}
