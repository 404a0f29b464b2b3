//! The end of a run: writes the sessions' files and the new manifest, and lists the steps of the commit.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::balance::Balance;
use super::group::{NewPart, Outcome, SessionOut, SessionSums};
use super::plan::Plan;
use super::read::Read;
use super::{Run, Shared, ledger, projects, report, resolve, sessions};
use crate::error::{Error, Result};
use crate::lake::claims;
use crate::lake::commit::Step;
use crate::lake::layout::{Layout, PartName};
use crate::lake::ledger::Ledger;
use crate::lake::manifest::{Manifest, PartEntry, SessionEntry, SourceEntry};
use crate::lake::part::PartWriter;
use crate::lake::syncer::Syncer;
use crate::tables::{LAKE_TABLES, PerTable, SourceState};

/// Results of a pass, for the new manifest.
pub(super) struct Staged {
    parts: Vec<(NewPart, Vec<SessionEntry>)>,
    ledger: Ledger,
    project_paths: BTreeSet<String>,
    reads: Vec<Vec<Read>>,
    written: report::Written,
}

/// Everything that a commit needs.
pub(super) struct Finished {
    pub(super) steps: Vec<Step>,
    pub(super) manifest: Manifest,
    pub(super) reads: report::ReadTotals,
    pub(super) written: report::Written,
}

/// Writes the sessions' files.
pub(super) fn write_sessions(shared: &mut Shared<'_>, outcomes: Vec<Outcome>) -> Result<Staged> {
    let mut notes = resolve::session_notes(shared);
    let mut parts: Vec<NewPart> = Vec::new();
    let mut reads: Vec<Vec<Read>> = Vec::new();
    for outcome in outcomes {
        parts.extend(outcome.parts);
        reads.push(outcome.reads);
    }
    let streamed = std::mem::take(&mut *shared.redactions());
    for read in reads.iter_mut().flatten() {
        if let Some(counts) = streamed.get(&*read.planned.name) {
            read.report.redactions.merge(counts);
        }
    }
    let ledger = ledger::settled(shared, &parts)?;
    let project_paths = projects::tell(shared.manifest, &parts, &mut notes);
    let touched: HashSet<PartName> = parts.iter().map(|part| part.name.clone()).collect();
    parts.extend(parts_with_new_notes(shared, &notes, &touched));
    parts.sort_by(|a, b| a.name.cmp(&b.name));
    let mut written = report::Written::default();
    for part in &parts {
        written.add_new_sessions(part);
    }
    // Freed first: the sessions' rows and the manifest are built in the memory of millions of claims.
    let spent = (std::mem::take(&mut shared.owners), std::mem::take(&mut shared.old));
    let shared: &Shared<'_> = shared;
    let write = || parts.into_par_iter().map(|part| sessions::write(shared, part, &notes)).collect::<Result<Vec<_>>>();
    let (parts, ()) = rayon::join(write, || drop(spent));
    Ok(Staged { parts: parts?, ledger, project_paths, reads, written })
}

/// Brings the manifest up to date with what was written, and lists the steps of the commit. It takes the old manifest,
/// because two of them would need much memory.
pub(super) fn finish(
    run: Run<'_>,
    plan: &Plan,
    mut manifest: Manifest,
    staged: Staged,
    syncer: &Syncer,
) -> Result<Finished> {
    let Staged { parts, ledger, project_paths, reads, mut written } = staged;
    manifest.generation += 1;
    // A run that reads only a part of the sources leaves the others for a later run with the new policy.
    if manifest.policy.is_empty() || run.options.looks_at_everything() {
        manifest.policy = run.policy.stored();
    }
    (manifest.ledger, manifest.project_paths) = (ledger, project_paths);
    let mut steps = Vec::new();
    for (part, entries) in parts {
        place_part(run.layout, part, entries, &mut manifest, &mut steps, &mut written)?;
    }
    place_empty_files(run.layout, &mut manifest, &mut steps, syncer)?;
    let bad = reads.iter().flatten().filter(|read| read.state.is_bad());
    let bad: HashSet<&str> = bad.map(|read| &*read.planned.name).collect();
    for name in &plan.vanished {
        // A damaged database may still have a section that it did not list.
        if let Some(entry) = manifest.sources.get_mut(name.as_str())
            && !plan.dropped.get(&**name).is_some_and(|file| bad.contains(&**file))
        {
            entry.state = SourceState::Gone;
        }
    }
    let mut totals = report::ReadTotals::default();
    let mut new = Vec::with_capacity(reads.iter().map(Vec::len).sum());
    let mut texts: HashMap<&'static str, Arc<str>> = HashMap::new();
    let mut text = |text: &'static str| Arc::clone(texts.entry(text).or_insert_with(|| text.into()));
    let mut seen = HashSet::new();
    // Two groups may have read a source.
    for read in reads.into_iter().flatten().filter(|read| seen.insert(Arc::clone(&read.planned.name))) {
        let entry = source_entry(run.now, &read, &mut text);
        match manifest.sources.get_mut(&read.planned.name) {
            Some(known) => *known = entry,
            None => new.push((Arc::clone(&read.planned.name), entry)),
        }
        totals.add(run, &read);
    }
    // Not one by one: the map's nodes would stay half empty.
    manifest.sources.append(&mut new.into_iter().collect());
    count_rows(&mut manifest);
    Ok(Finished { steps, manifest, reads: totals, written })
}

/// Returns parts whose sessions have new notes but unchanged rows.
fn parts_with_new_notes(shared: &Shared<'_>, notes: &sessions::AllNotes, touched: &HashSet<PartName>) -> Vec<NewPart> {
    let said = |part: &PartName, session: &str| {
        notes.get(&(part.agent.clone(), session.to_owned())).map_or(0, super::notes::SessionNotes::hash)
    };
    let untouched = shared.manifest.parts.iter().filter(|(name, _)| !touched.contains(*name));
    let renoted = untouched.filter(|(name, part)| {
        part.sessions.iter().any(|session| {
            let hash = said(name, &session.id);
            hash != 0 && hash != session.notes
        })
    });
    let parts = renoted.map(|(name, part)| NewPart {
        name: name.clone(),
        files: [const { None }; 4],
        claims: PathBuf::new(),
        claims_bytes: 0,
        sessions: part.sessions.iter().cloned().map(|entry| SessionOut { entry, is_new: false }).collect(),
        sums: SessionSums::default(),
        projects: BTreeSet::new(),
        unpriced: BTreeMap::new(),
        balance: Balance::default(),
    });
    parts.collect()
}

fn place_part(
    layout: &Layout,
    part: NewPart,
    sessions: Vec<SessionEntry>,
    manifest: &mut Manifest,
    steps: &mut Vec<Step>,
    written: &mut report::Written,
) -> Result<()> {
    let relative = |path: &Path| relative_to(layout, path);
    let keeps_rows = part.claims.as_os_str().is_empty();
    let mut entry = manifest.parts.remove(&part.name).unwrap_or_default();
    for ((place, table), staged) in LAKE_TABLES.iter().enumerate().zip(part.files) {
        let Some(slot) = entry.files.get_mut(place) else { continue };
        let to = Layout::part(table, &manifest.machine, &part.name);
        match staged {
            Some(staged) => {
                written.add_file(staged.entry.bytes);
                steps.push(Step::Place { from: relative(&staged.path)?, to });
                *slot = Some(staged.entry);
            }
            None if keeps_rows && place > 0 => {}
            None => {
                if slot.take().is_some() {
                    steps.push(Step::Remove { path: to });
                }
            }
        }
    }
    let claims = Layout::claims(&part.name);
    if sessions.is_empty() {
        steps.push(Step::Remove { path: claims });
        return Ok(());
    }
    if !keeps_rows {
        written.add_file(part.claims_bytes);
        steps.push(Step::Place { from: relative(&part.claims)?, to: claims });
    }
    manifest.parts.insert(part.name, PartEntry { sessions, ..entry });
    Ok(())
}

/// Writes a file without rows for each table that has no file, because readers that glob fail without one. In a lake
/// without sessions, these files are a part of their own.
fn place_empty_files(layout: &Layout, manifest: &mut Manifest, steps: &mut Vec<Step>, syncer: &Syncer) -> Result<()> {
    let empty = PartName { agent: "none".to_owned(), month: "unknown".to_owned(), name: "empty".to_owned() };
    let was_empty = manifest.parts.remove(&empty).is_some();
    if manifest.parts.is_empty() {
        let claims = layout.staging().join("empty.claims");
        syncer.write(&claims, &claims::encode(&[])?)?;
        steps.push(Step::Place { from: relative_to(layout, &claims)?, to: Layout::claims(&empty) });
        manifest.parts.insert(empty, PartEntry::default());
    } else if was_empty {
        let files = LAKE_TABLES.map(|table| Layout::part(table, &manifest.machine, &empty));
        steps.extend(files.into_iter().chain([Layout::claims(&empty)]).map(|path| Step::Remove { path }));
    }
    let has_file =
        |place: usize| manifest.parts.values().any(|part| part.files.get(place).is_some_and(Option::is_some));
    let missing: Vec<usize> = (0..LAKE_TABLES.len()).filter(|place| !has_file(*place)).collect();
    let Some((name, part)) = manifest.parts.iter_mut().next_back().filter(|_| !missing.is_empty()) else {
        return Ok(());
    };
    let mut writer = PartWriter::new(&layout.staging(), "empty", syncer);
    for place in missing {
        writer.write_file(place)?;
    }
    for ((staged, slot), table) in writer.finish()?.into_iter().zip(&mut part.files).zip(LAKE_TABLES) {
        let Some(staged) = staged else { continue };
        let to = Layout::part(table, &manifest.machine, name);
        // The part may have lost its rows in this run.
        steps.retain(|step| !matches!(step, Step::Remove { path } if *path == to));
        steps.push(Step::Place { from: relative_to(layout, &staged.path)?, to });
        *slot = Some(staged.entry);
    }
    Ok(())
}

fn relative_to(layout: &Layout, path: &Path) -> Result<String> {
    path.strip_prefix(layout.root())
        .map(|path| path.to_string_lossy().into_owned())
        .map_err(|_| Error::Query("a staged file lies outside the lake".to_owned()))
}

/// Returns the entry of a source that was read. `text` returns a shared copy of a text.
fn source_entry(now: i64, read: &Read, mut text: impl FnMut(&'static str) -> Arc<str>) -> SourceEntry {
    let report = &read.report;
    let list = |pairs: Vec<(String, u64)>| {
        let texts: Vec<String> = pairs.into_iter().map(|(name, count)| format!("{name}: {count}")).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    };
    SourceEntry {
        agent: text(read.planned.agent_id()),
        kind: text(read.planned.kind),
        section: read.planned.section.as_deref().map(Into::into),
        print: read.planned.print,
        parser_version: read.planned.agent.about().parser_version,
        state: read.state,
        lines: report.lines,
        bad_lines: report.bad_lines,
        first_bad_line: report.first_bad_line,
        problem: (!report.problems.is_empty()).then(|| report.problems.join("; ")),
        unknown: list(report.unknown.clone().into_iter().collect()),
        redactions: list(report.redactions.iter().map(|(kind, count)| (kind.to_owned(), count)).collect()),
        rows: [0; 4],
        extracted_at: now,
        llrem_version: text(env!("CARGO_PKG_VERSION")),
        notes: read.notes.clone().into(),
        extent: read.extent.clone(),
    }
}

/// Counts the rows of each source. A session's rows count for the source with most of its records.
fn count_rows(manifest: &mut Manifest) {
    let mut counts: BTreeMap<&str, PerTable<u64>> = BTreeMap::new();
    for session in manifest.parts.values().flat_map(|part| &part.sessions) {
        let Some(source) = session.sources.first() else { continue };
        let [messages, tool_calls, usage] = session.rows;
        let sums = counts.entry(source).or_default();
        for (sum, rows) in sums.iter_mut().zip([u64::from(session.has_row()), messages, tool_calls, usage]) {
            *sum += rows;
        }
    }
    for (name, entry) in &mut manifest.sources {
        entry.rows = counts.get(&**name).copied().unwrap_or_default();
    }
}
