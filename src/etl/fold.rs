//! Folds the parts of a finished month into few files, because each scan has a cost per file, however small. Readers
//! that glob see the old files or the new one, never both: each partition's folder is exchanged for a staged one in a
//! single step.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use arrow::array::RecordBatch;
use rayon::prelude::*;

use super::check_interrupt;
use super::group::{PART_SOURCES, PART_WEIGHT};
use super::old_rows::{OldRows, Place};
use crate::error::{Error, Result};
use crate::lake::claims;
use crate::lake::commit::{self, MARK, Step};
use crate::lake::fs;
use crate::lake::layout::{Layout, PartName};
use crate::lake::lock::Lock;
use crate::lake::manifest::{FileEntry, Manifest, PartEntry, SessionEntry};
use crate::lake::part::{self, PartWriter};
use crate::lake::syncer::Syncer;
use crate::lake::table_writer::StagedFile;
use crate::tables::{LAKE_TABLES, PerTable, SESSIONS, SessionColumns, SessionRow, Sessions};

/// Limits of a folded part.
pub(super) struct FoldLimits {
    /// Bytes of sources. A run that reads all of them again holds their rows in memory.
    weight: u64,
    sessions: usize,
}

impl FoldLimits {
    /// The limits in the run that creates a lake: it does not copy parts that are large enough, while somebody waits
    /// for the rows.
    pub(super) const AT_FIRST: Self = Self { weight: PART_WEIGHT, sessions: PART_SOURCES };
    /// The limits in all other runs.
    pub(super) const LATER: Self = Self { weight: 4 * PART_WEIGHT, sessions: 4 * PART_SOURCES };
}

/// Folds all months of a lake, also the current one. Later runs would have to write large files anew; a lake that
/// nothing is added to has only fewer files to open.
pub(crate) fn fold_all(lake: &Path) -> Result<()> {
    let layout = Layout::new(lake);
    let _lock = Lock::take(&layout, Duration::ZERO)?;
    let Some(mut manifest) = Manifest::load(&layout)? else { return Ok(()) };
    fs::make_folder(&layout.staging())?;
    // No session is of the month of this moment.
    fold(&layout, &mut manifest, 0, &FoldLimits::LATER)?;
    fs::remove_folder(&layout.staging())
}

/// Folds what can be folded, and commits it.
pub(super) fn fold(layout: &Layout, manifest: &mut Manifest, now: i64, limits: &FoldLimits) -> Result<()> {
    let bins = bins(manifest, &crate::time::month_of(Some(now)), limits);
    if bins.is_empty() || !can_exchange(layout)? {
        return Ok(());
    }
    let syncer = Syncer::start();
    let writing = Writing { layout, syncer: &syncer, manifest };
    let written: Vec<Folded> = bins
        .par_iter()
        .enumerate()
        .filter_map(|(number, bin)| folded_name(bin).map(|name| writing.write(number, name, bin)))
        .collect::<Result<_>>()?;
    let mut folding = Folding { layout, manifest, exchanged: Exchanged::new(), steps: Vec::new() };
    for folded in written {
        folding.place(folded);
    }
    folding.stage_folders()?;
    let steps = folding.steps;
    manifest.generation += 1;
    commit::commit(layout, syncer, steps, manifest)?;
    fs::remove_folder(&layout.staging())
}

/// Returns the sets of parts to merge into one each, by agent and month. The current month stays as it is.
fn bins(manifest: &Manifest, this_month: &str, limits: &FoldLimits) -> Vec<Vec<PartName>> {
    let mut bins: Vec<(u64, usize, Vec<PartName>)> = Vec::new();
    let mut parts: Vec<(&PartName, &PartEntry)> =
        manifest.parts.iter().filter(|(name, _)| name.month != this_month).collect();
    // Sorted by time, as a run fills them: sorted by name, the small last one of a day would be folded into another
    // part as soon as it is written.
    parts.sort_by_cached_key(|(name, part)| {
        let begun = part.sessions.iter().filter_map(|session| session.started_at).min();
        (name.agent.clone(), name.month.clone(), begun, name.name.clone())
    });
    for (name, part) in parts {
        let (weight, sessions) = (part.weight(), part.sessions.len());
        match bins.last_mut() {
            Some((sum, count, bin))
                if *sum + weight <= limits.weight
                    && *count + sessions <= limits.sessions
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

/// Returns a name that none of the parts has. So a reader that has listed the folder and opens its files one by one
/// finds all of the old ones or fails. It never reads an old file and then the same rows under a reused name.
fn folded_name(bin: &[PartName]) -> Option<PartName> {
    let PartName { agent, month, name } = bin.first()?;
    let day = name.rsplit_once('-').map_or(month.as_str(), |(day, _)| day);
    let names: Vec<&str> = bin.iter().map(|part| part.name.as_str()).collect();
    let hash = crate::identity::key(agent, crate::identity::Kind::Presence, &names.join("\n")) >> 32;
    Some(PartName { agent: agent.clone(), month: month.clone(), name: format!("{day}-{hash:08x}") })
}

/// True if the file system can exchange folders.
fn can_exchange(layout: &Layout) -> Result<bool> {
    let folders = ["a", "b"].map(|name| layout.staging().join("probe").join(name));
    for folder in &folders {
        fs::make_folder(folder)?;
    }
    let [a, b] = &folders;
    fs::exchange(a, b)
}

/// New files of each partition's folder, by table and partition.
type Exchanged = BTreeMap<(usize, String, String), (Vec<(PartName, StagedFile)>, BTreeSet<PartName>)>;

/// Parts that are merged into one.
struct Writing<'f> {
    layout: &'f Layout,
    syncer: &'f Syncer,
    manifest: &'f Manifest,
}

/// A part in the staging folder, and the parts that it replaces.
struct Folded {
    name: PartName,
    bin: Vec<PartName>,
    sessions: Vec<SessionEntry>,
    files: PerTable<Option<StagedFile>>,
    /// Its claims, relative to the lake.
    claims: String,
}

impl Writing<'_> {
    /// Writes the parts of a bin as one part.
    fn write(&self, number: usize, name: PartName, bin: &[PartName]) -> Result<Folded> {
        let Self { layout, syncer, manifest } = self;
        let parts: Vec<(&PartName, &PartEntry)> =
            bin.iter().filter_map(|name| manifest.parts.get_key_value(name)).collect();
        let stem = format!("fold-{number}");
        let mut writer = PartWriter::new(&layout.staging(), &stem, syncer);
        writer.write(0, &sessions(layout, &manifest.machine, &parts)?)?;
        let sessions = parts.iter().enumerate().flat_map(|(part, (_, entry))| {
            entry.sessions.iter().enumerate().map(move |(session, entry)| (Place { part, session }, entry))
        });
        let mut sessions: Vec<(Place, &SessionEntry)> = sessions.collect();
        sessions.sort_by(|(_, a), (_, b)| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
        let order: Vec<Option<Place>> = sessions.iter().map(|(place, _)| Some(*place)).collect();
        let mut rows = OldRows::open(layout, &manifest.machine, &parts, &order)?;
        for place in 0..LAKE_TABLES.len() {
            // A table that has no rows in the whole lake keeps its file.
            if parts.iter().any(|(_, part)| part.files.get(place).is_some_and(Option::is_some)) {
                writer.write_file(place)?;
            }
        }
        for (place, _) in &sessions {
            check_interrupt()?;
            rows.copy(*place, &mut writer)?;
        }
        let mut replicas = Vec::new();
        for (name, _) in &parts {
            replicas.extend(claims::open(&layout.root().join(Layout::claims(name)))?);
        }
        let staged_claims = layout.staging().join(format!("{stem}.claims"));
        syncer.write(&staged_claims, &claims::encode(&replicas)?)?;
        Ok(Folded {
            name,
            bin: bin.to_vec(),
            sessions: sessions.into_iter().map(|(_, entry)| entry.clone()).collect(),
            files: writer.finish()?,
            claims: relative(layout, &staged_claims)?,
        })
    }
}

/// Folded parts, and the steps that commit them.
struct Folding<'f> {
    layout: &'f Layout,
    manifest: &'f mut Manifest,
    exchanged: Exchanged,
    steps: Vec<Step>,
}

impl Folding<'_> {
    /// Replaces parts by the one that they were merged into.
    fn place(&mut self, folded: Folded) {
        let Folded { name, bin, sessions, files, claims } = folded;
        for old in &bin {
            self.manifest.parts.remove(old);
            self.steps.push(Step::Remove { path: Layout::claims(old) });
        }
        self.steps.push(Step::Place { from: claims, to: Layout::claims(&name) });
        let mut entries: PerTable<Option<FileEntry>> = [const { None }; 4];
        for ((place, staged), entry) in files.into_iter().enumerate().zip(&mut entries) {
            let folder = self.exchanged.entry((place, name.agent.clone(), name.month.clone())).or_default();
            folder.1.extend(bin.iter().chain([&name]).cloned());
            if let Some(staged) = staged {
                *entry = Some(staged.entry.clone());
                folder.0.push((name.clone(), staged));
            }
        }
        self.manifest.parts.insert(name, PartEntry { sessions, files: entries });
    }

    /// Stages each partition's folder: hard links to the files that stay, and the new files.
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

/// Returns the rows of all the parts' sessions, in the order of the sessions. A session without timed messages has a
/// start as well.
fn sessions(layout: &Layout, machine: &str, parts: &[(&PartName, &PartEntry)]) -> Result<RecordBatch> {
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
    let begun: HashMap<&str, Option<i64>> = entries.map(|entry| (&*entry.id, entry.started_at)).collect();
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
    fn parts_stay_that_are_too_large_together() {
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
        assert_eq!(names(bins(&manifest, "2026-11", &FoldLimits::AT_FIRST)), [["2026-10-01-aa", "2026-10-01-22"]]);
        let later = [vec!["2026-09-19-aa", "2026-09-21-ff", "2026-09-21-11"], vec!["2026-10-01-aa", "2026-10-01-22"]];
        assert_eq!(names(bins(&manifest, "2026-11", &FoldLimits::LATER)), later);
    }
}
