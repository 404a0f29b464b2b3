//! Keeps findings until the lake changes, and the rows of detectors that look at each session alone until the files of the
//! session change. All detectors together take a second even for a small lake, several commands need the findings, and most runs
//! change few files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Cursor;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch, StringArray};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::reader::FileReader;
use arrow::ipc::writer::FileWriter;
use chrono_tz::Tz;
use datafusion::object_store::ObjectMeta;
use datafusion::object_store::path::Path;

use super::builtin;
use super::cache_folder::{self, CacheFolder};
use super::findings::{self, Detector};
use super::local_files::LocalFiles;
use super::short_id::KnownSession;
use crate::lake::{AnyLake, Lake};
use crate::tables::{FINDINGS, LAKE_TABLES};

/// A place for the findings of some detectors over a lake as it is now.
pub(super) struct KeptFindings<'a> {
    entries: CacheFolder,
    lake: &'a Lake,
    version: String,
    /// Name of the entry of this version of the lake; `None` with detectors of the user, which may depend on more than the lake.
    name: Option<String>,
    /// Name of the entry with the rows of llrem's own detectors by file; `None` if only some sessions are asked for.
    name_by_file: Option<String>,
}

/// Rows of the detectors that look at each session alone, with the data files over which they ran.
pub(super) struct FoundInFiles {
    /// The files, each with its version.
    files: HashSet<String>,
    rows: RecordBatch,
}

/// The data files of a lake.
pub(super) struct DataFiles(Vec<DataFile>);

struct DataFile {
    location: Path,
    /// Location and version.
    id: String,
    /// Path below the table's folder. In each table, a session's rows are in a file of the same path.
    part: String,
}

/// Key of an entry's metadata that lists the files.
const FILES: &str = "files";

/// True if the findings of these detectors in a lake are kept, so that nothing has to run for them.
pub fn are_findings_kept(lake: &AnyLake, zone: Tz, detectors: &[Detector]) -> bool {
    KeptFindings::of(lake, zone, detectors, &[]).is_some_and(|kept| kept.read().is_some())
}

/// True if what a detector finds in a session depends on the session's files alone.
pub(super) fn depends_on_files_alone(detector: &Detector) -> bool {
    detector.is_within_session && is_own(detector)
}

fn is_own(detector: &Detector) -> bool {
    builtin::FILES.iter().any(|(_, text)| *text == detector.statement.sql)
}

impl<'a> KeptFindings<'a> {
    /// Returns the place, or `None` if nothing may be kept: other machines change an uploaded lake.
    pub(super) fn of(lake: &'a AnyLake, zone: Tz, detectors: &[Detector], sessions: &[KnownSession]) -> Option<Self> {
        let AnyLake::Local(lake) = lake else { return None };
        let (entries, version) = (CacheFolder::new(lake.cache()?, "findings"), lake.version()?);
        let mut texts = vec![env!("CARGO_PKG_VERSION").to_owned(), zone.name().to_owned()];
        texts.push(std::path::absolute(lake.root()).ok()?.to_str()?.to_owned());
        // Another build of the same version may have other columns, or settle overlaps in another way.
        texts.push(findings::SQL.to_owned());
        texts.extend(FINDINGS.columns.iter().map(|column| column.name.to_owned()));
        for detector in detectors.iter().filter(|detector| is_own(detector)) {
            texts.push(detector.name.clone());
            texts.push(detector.statement.sql.clone());
            texts.push(format!("{:?}", detector.statement.parameters));
        }
        let name_by_file = sessions.is_empty().then(|| cache_folder::name(texts.iter().map(String::as_str)));
        texts.extend([version.clone(), format!("{sessions:?}")]);
        let name = detectors.iter().all(is_own).then(|| cache_folder::name(texts.iter().map(String::as_str)));
        Some(Self { entries, lake, version, name, name_by_file })
    }

    /// Returns the findings, if they were kept.
    pub(super) fn read(&self) -> Option<Vec<RecordBatch>> {
        let bytes = self.entries.read(self.name.as_ref()?)?;
        FileReader::try_new(Cursor::new(bytes), None).ok()?.collect::<Result<_, _>>().ok()
    }

    /// Keeps findings, unless the lake has changed since the place was made.
    pub(super) fn write(&self, schema: &SchemaRef, findings: &[RecordBatch]) {
        let schema = findings.first().map_or_else(|| Arc::clone(schema), RecordBatch::schema);
        if let Some(name) = &self.name {
            self.keep(name, &schema, findings);
        }
    }

    /// Returns the lake's data files, or `None` if only some sessions are asked for.
    pub(super) fn files(&self) -> Option<DataFiles> {
        self.name_by_file.as_ref()?;
        let store = LocalFiles::new(None);
        let mut files = Vec::new();
        for table in LAKE_TABLES {
            let folder = Path::from_absolute_path(std::path::absolute(self.lake.table_dir(table)).ok()?).ok()?;
            let listed = store.list(Some(&folder), usize::MAX).ok()?.objects;
            files.extend(listed.into_iter().filter_map(|file| DataFile::of(file, &folder)));
        }
        Some(DataFiles(files))
    }

    /// Returns the rows that were kept last, and their files. The lake may have changed since.
    pub(super) fn found_in_files(&self) -> Option<FoundInFiles> {
        let bytes = self.entries.read(self.name_by_file.as_ref()?)?;
        let reader = FileReader::try_new(Cursor::new(bytes), None).ok()?;
        let files = reader.schema().metadata().get(FILES)?.lines().map(str::to_owned).collect();
        let schema = Arc::new(Schema::new(reader.schema().fields().clone()));
        let rows = reader.collect::<Result<Vec<_>, _>>().ok()?;
        Some(FoundInFiles { files, rows: concat_batches(&schema, &rows).ok()? })
    }

    /// Keeps rows of detectors and the files over which they ran, unless the lake has changed since the place was made.
    pub(super) fn write_found(&self, schema: &SchemaRef, found: &[RecordBatch], files: &DataFiles) {
        let Some(name) = &self.name_by_file else { return };
        let ids: Vec<&str> = files.0.iter().map(|file| file.id.as_str()).collect();
        let metadata = HashMap::from([(FILES.to_owned(), ids.join("\n"))]);
        self.keep(name, &Arc::new(Schema::new_with_metadata(schema.fields().clone(), metadata)), found);
    }

    /// True if the lake has not changed since the place was made.
    pub(super) fn is_current(&self) -> bool {
        self.lake.version().as_ref() == Some(&self.version)
    }

    fn keep(&self, name: &str, schema: &SchemaRef, rows: &[RecordBatch]) {
        if self.is_current()
            && let Some(bytes) = encoded(schema, rows)
        {
            self.entries.write(name, &bytes);
        }
    }
}

impl DataFile {
    fn of(file: ObjectMeta, folder: &Path) -> Option<Self> {
        let parts = file.location.prefix_match(folder)?;
        let part = parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/");
        let id = format!("{} {}", file.location, file.e_tag?);
        part.ends_with(".parquet").then_some(Self { location: file.location, id, part })
    }
}

impl DataFiles {
    /// Returns the files that have changed since the rows were found, and the files of other tables with the same sessions.
    pub(super) fn changed_since(&self, found: &FoundInFiles) -> HashSet<Path> {
        let changed = self.0.iter().filter(|file| !found.files.contains(&file.id));
        let parts: BTreeSet<&str> = changed.map(|file| file.part.as_str()).collect();
        let of_parts = self.0.iter().filter(|file| parts.contains(file.part.as_str()));
        of_parts.map(|file| file.location.clone()).collect()
    }
}

impl FoundInFiles {
    /// Returns the rows of other sessions than these, which have the columns `machine`, `agent` and `session_id`.
    pub(super) fn without(&self, sessions: &[RecordBatch]) -> Option<RecordBatch> {
        let left_out: HashSet<[&str; 3]> = sessions.iter().filter_map(keys).flatten().collect();
        let keep: BooleanArray = keys(&self.rows)?.map(|key| Some(!left_out.contains(&key))).collect();
        filter_record_batch(&self.rows, &keep).ok()
    }
}

/// Returns machine, agent and session of each row.
fn keys(rows: &RecordBatch) -> Option<impl Iterator<Item = [&str; 3]>> {
    let texts = |name: &str| rows.column_by_name(name)?.as_string_opt::<i32>();
    let columns: [&StringArray; 3] = [texts("machine")?, texts("agent")?, texts("session_id")?];
    Some((0..rows.num_rows()).map(move |row| columns.map(|column| column.value(row))))
}

fn encoded(schema: &SchemaRef, rows: &[RecordBatch]) -> Option<Vec<u8>> {
    let all = concat_batches(schema, rows).ok()?;
    let mut writer = FileWriter::try_new(Vec::new(), schema).ok()?;
    writer.write(&all).ok()?;
    writer.into_inner().ok()
}
