//! Folds the small parts of a month that is over into few. Readers that glob see the old files or the new one, never
//! both: each partition's folder is exchanged for a staged one in a single step.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use super::group::{OldTables, PART_SOURCES, PART_WEIGHT};
use crate::error::{Error, Result};
use crate::lake::claims;
use crate::lake::commit::{self, MARK, Step};
use crate::lake::fs;
use crate::lake::layout::{Layout, PartName};
use crate::lake::manifest::{FileEntry, Manifest, PartEntry, SessionEntry};
use crate::lake::part::{self, PartWriter, StagedFile};
use crate::lake::syncer::Syncer;
use crate::tables::{LAKE_TABLES, SESSIONS, SessionColumns, SessionRow, Sessions};

/// Folds whatever can be folded, and commits it.
pub(super) fn fold(layout: &Layout, manifest: &mut Manifest, now: i64) -> Result<()> {
    let bins = bins(manifest, &crate::time::month_of(Some(now)));
    if bins.is_empty() || !can_exchange(layout)? {
        return Ok(());
    }
    let syncer = Syncer::start();
    let mut folding = Folding { layout, syncer: &syncer, manifest, exchanged: Exchanged::new(), steps: Vec::new() };
    for (number, bin) in bins.iter().enumerate() {
        if let Some(name) = folded_name(bin) {
            folding.fold_bin(number, &name, bin)?;
        }
    }
    folding.stage_folders()?;
    let steps = folding.steps;
    manifest.generation += 1;
    commit::commit(layout, syncer, steps, manifest)?;
    fs::remove_folder(&layout.staging())
}

/// Parts that are to become one each, by agent and month. A month that is not over stays as it is.
fn bins(manifest: &Manifest, this_month: &str) -> Vec<Vec<PartName>> {
    let mut bins: Vec<(u64, usize, Vec<PartName>)> = Vec::new();
    let mut parts: Vec<(&PartName, &PartEntry)> =
        manifest.parts.iter().filter(|(name, _)| name.month != this_month).collect();
    // In the order of time, in which a run fills one after the other: names put those of one day anyhow, and the last of
    // them, which is small, would be folded into another as soon as it is written.
    parts.sort_by_cached_key(|(name, part)| {
        let begun = part.sessions.iter().filter_map(|session| session.started_at).min();
        (name.agent.clone(), name.month.clone(), begun, name.name.clone())
    });
    for (name, part) in parts {
        let (weight, sessions) = (part.weight(), part.sessions.len());
        match bins.last_mut() {
            Some((sum, count, bin))
                if *sum + weight <= PART_WEIGHT
                    && *count + sessions <= PART_SOURCES
                    && bin.first().is_some_and(|first| (&first.agent, &first.month) == (&name.agent, &name.month)) =>
            {
                *sum += weight;
                *count += sessions;
                bin.push(name.clone());
            }
            _ => bins.push((weight, sessions, vec![name.clone()])),
        }
    }
    bins.into_iter().map(|(.., bin)| bin).filter(|bin| bin.len() > 1).collect()
}

/// A name that none of the parts has. A reader that has listed the folder and opens its files one by one then finds all
/// of the old ones or fails; it never reads an old file and, under another's name, the same rows again.
fn folded_name(bin: &[PartName]) -> Option<PartName> {
    let PartName { agent, month, name } = bin.first()?;
    let day = name.rsplit_once('-').map_or(month.as_str(), |(day, _)| day);
    let names: Vec<&str> = bin.iter().map(|part| part.name.as_str()).collect();
    let hash = crate::extract::key(agent, crate::extract::Kind::Presence, &names.join("\n")) >> 32;
    Some(PartName { agent: agent.clone(), month: month.clone(), name: format!("{day}-{hash:08x}") })
}

/// Whether the file system can exchange folders.
fn can_exchange(layout: &Layout) -> Result<bool> {
    let folders = ["a", "b"].map(|name| layout.staging().join("probe").join(name));
    for folder in &folders {
        fs::make_folder(folder)?;
    }
    let [a, b] = &folders;
    fs::exchange(a, b)
}

/// Files of each partition's folder that are new, by table and partition.
type Exchanged = BTreeMap<(usize, String, String), (Vec<(PartName, StagedFile)>, BTreeSet<PartName>)>;

/// What is folded, bin by bin, and what a commit has to do with it.
struct Folding<'f> {
    layout: &'f Layout,
    syncer: &'f Syncer,
    manifest: &'f mut Manifest,
    exchanged: Exchanged,
    steps: Vec<Step>,
}

impl Folding<'_> {
    /// Writes the parts of a bin as one.
    fn fold_bin(&mut self, number: usize, name: &PartName, bin: &[PartName]) -> Result<()> {
        let machine = self.manifest.machine.clone();
        let parts: Vec<(PartName, PartEntry)> =
            bin.iter().filter_map(|name| self.manifest.parts.remove_entry(name)).collect();
        let stem = format!("fold-{number}");
        let mut writer = PartWriter::new(&self.layout.staging(), &stem, self.syncer);
        writer.write(0, &sessions(self.layout, &machine, &parts)?)?;
        let mut tables: Vec<OldTables> = parts
            .iter()
            .map(|(name, part)| OldTables::open(self.layout, &machine, name, part))
            .collect::<Result<_>>()?;
        let mut entries: Vec<(usize, SessionEntry)> = parts
            .iter()
            .enumerate()
            .flat_map(|(place, (_, part))| part.sessions.iter().cloned().map(move |entry| (place, entry)))
            .collect();
        entries.sort_by(|(_, a), (_, b)| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
        let mut replicas = Vec::new();
        for (place, entry) in &entries {
            if let Some(tables) = tables.get_mut(*place) {
                tables.copy(entry, &mut writer)?;
            }
        }
        for (name, _) in &parts {
            replicas.extend(claims::load(&self.layout.root().join(Layout::claims(name)))?);
            self.steps.push(Step::Remove { path: Layout::claims(name) });
        }
        let staged_claims = self.layout.staging().join(format!("{stem}.claims"));
        self.syncer.write(&staged_claims, &claims::encode(&replicas)?)?;
        self.steps.push(Step::Place { from: relative(self.layout, &staged_claims)?, to: Layout::claims(name) });
        let mut files: [Option<FileEntry>; 4] = [const { None }; 4];
        for ((place, staged), file) in writer.finish()?.into_iter().enumerate().zip(&mut files) {
            let folder = self.exchanged.entry((place, name.agent.clone(), name.month.clone())).or_default();
            folder.1.extend(bin.iter().chain([name]).cloned());
            if let Some(staged) = staged {
                *file = Some(staged.entry.clone());
                folder.0.push((name.clone(), staged));
            }
        }
        let sessions = entries.into_iter().map(|(_, entry)| entry).collect();
        self.manifest.parts.insert(name.clone(), PartEntry { sessions, files });
        Ok(())
    }

    /// Makes each partition's folder as it will be: the files that stay under a second name, and the new ones.
    fn stage_folders(&mut self) -> Result<()> {
        for (number, ((place, agent, month), (new, folded))) in self.exchanged.iter().enumerate() {
            let Some(table) = LAKE_TABLES.get(*place) else { continue };
            let partition = Layout::partition(table, &self.manifest.machine, agent, month);
            let folder = self.layout.root().join(&partition);
            if !folder.is_dir() {
                continue;
            }
            let staged = self.layout.staging().join(format!("folder-{number}"));
            fs::make_folder(&staged)?;
            let stays = self.manifest.parts.iter().filter(|(name, part)| {
                (&name.agent, &name.month) == (agent, month)
                    && !folded.contains(*name)
                    && part.files.get(*place).is_some_and(Option::is_some)
            });
            for (name, _) in stays {
                let file = format!("{}.parquet", name.name);
                fs::link(&folder.join(&file), &staged.join(&file))?;
            }
            for (name, file) in new {
                fs::rename(&file.path, &staged.join(format!("{}.parquet", name.name)))?;
            }
            fs::write(&staged.join(MARK), b"")?;
            fs::sync_folder(&staged)?;
            self.steps.push(Step::Exchange { from: relative(self.layout, &staged)?, to: partition });
        }
        Ok(())
    }
}

/// The rows of all the parts' sessions, in the order of the sessions: one without timed messages has begun as well.
fn sessions(layout: &Layout, machine: &str, parts: &[(PartName, PartEntry)]) -> Result<arrow::array::RecordBatch> {
    let mut batches = Vec::new();
    for (name, _) in parts.iter().filter(|(_, part)| part.files.first().is_some_and(Option::is_some)) {
        for batch in part::read(&layout.root().join(Layout::part(&SESSIONS, machine, name)), &SESSIONS)? {
            batches.push(batch?);
        }
    }
    let columns = batches.iter().map(|batch| (batch.num_rows(), SessionColumns::of(batch)));
    let mut rows: Vec<SessionRow<'_>> =
        columns.flat_map(|(count, columns)| (0..count).map(move |row| columns.row(row))).collect();
    let entries = parts.iter().flat_map(|(_, part)| &part.sessions);
    let begun: HashMap<&str, Option<i64>> = entries.map(|entry| (entry.id.as_str(), entry.started_at)).collect();
    rows.sort_by_key(|row| (begun.get(row.session_id).copied().flatten(), row.session_id));
    let mut sorted = Sessions::default();
    for row in rows {
        sorted.push(row);
    }
    Ok(sorted.finish()?)
}

fn relative(layout: &Layout, path: &Path) -> Result<String> {
    let relative = path.strip_prefix(layout.root()).map(|path| path.to_string_lossy().into_owned());
    relative.map_err(|_| Error::Query("a staged file lies outside the lake".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_one_run_filled_one_after_the_other_stay() {
        let mut manifest = Manifest::default();
        let mut add = |month: &str, name: &str, started_at: i64, weight: u64| {
            let session = SessionEntry { started_at: Some(started_at), weight, ..SessionEntry::default() };
            let part = PartEntry { sessions: vec![session], ..PartEntry::default() };
            manifest.parts.insert(PartName { agent: "a".into(), month: month.into(), name: name.into() }, part);
        };
        let full = PART_WEIGHT - 1;
        add("2026-09", "2026-09-19-aa", 1, full / 2);
        add("2026-09", "2026-09-21-ff", 2, full);
        add("2026-09", "2026-09-21-11", 3, 9);
        add("2026-10", "2026-10-01-aa", 4, full / 2);
        add("2026-10", "2026-10-01-22", 5, 7);
        add("2026-11", "2026-11-01-aa", 6, 7);
        add("2026-11", "2026-11-01-22", 7, 7);
        let names = |bins: Vec<Vec<PartName>>| -> Vec<Vec<String>> {
            bins.into_iter().map(|bin| bin.into_iter().map(|part| part.name).collect()).collect()
        };
        assert_eq!(names(bins(&manifest, "2026-11")), [["2026-10-01-aa", "2026-10-01-22"]]);
    }
}
