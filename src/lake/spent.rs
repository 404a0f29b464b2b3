//! Adds up the cost of the responses of a short time. It reads the data files itself, because a status line cannot wait for
//! the query engine.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, TimestampMicrosecondType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use walkdir::WalkDir;

use super::layout::Layout;
use crate::error::{Error, Result};
use crate::tables::{SESSIONS, USAGE};

/// Most readings of the files if a run replaces one meanwhile.
const ATTEMPTS: usize = 3;

/// The cost of some responses. Billionths of a dollar are whole, so that they add up to the same sum in any order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Cost of the priced responses, if any has a price. Billionths of a dollar.
    pub nanos: Option<i64>,
    /// Responses without a price.
    pub unpriced: i64,
}

impl Spent {
    /// Adds the cost of a response.
    fn add(&mut self, usd: Option<f64>) {
        #[expect(clippy::cast_possible_truncation, reason = "no response costs billions")]
        match usd.map(|usd| (usd * 1e9).round() as i64) {
            Some(nanos) => self.nanos = Some(self.nanos.unwrap_or(0).saturating_add(nanos)),
            None => self.unpriced += 1,
        }
    }
}

/// Returns the cost by agent of the responses in a time. A response without a time counts at the start of its session.
pub(super) fn spent(layout: &Layout, time: Range<i64>) -> Result<BTreeMap<String, Spent>> {
    for _ in 1..ATTEMPTS {
        match read(layout, &time) {
            Err(error) if error.io_source().is_some_and(|source| source.kind() == ErrorKind::NotFound) => {}
            read => return read,
        }
    }
    read(layout, &time)
}

fn read(layout: &Layout, time: &Range<i64>) -> Result<BTreeMap<String, Spent>> {
    let mut sums = BTreeMap::new();
    for path in files_since(&layout.table(&USAGE), time.start)? {
        let Some(agent) = agent_of(&path) else { continue };
        let sum: &mut Spent = sums.entry(agent.to_owned()).or_default();
        add_file(layout, &path, time, sum)?;
    }
    sums.retain(|_, sum| *sum != Spent::default());
    Ok(sums)
}

/// Returns the data files of a table that were written since a moment. Older ones cannot have its rows.
fn files_since(table: &Path, start: i64) -> Result<Vec<PathBuf>> {
    let start = UNIX_EPOCH + Duration::from_micros(u64::try_from(start).unwrap_or(0));
    // If the clock is set for a test, the files may be older than the day.
    let is_past = start <= SystemTime::now();
    let mut paths = Vec::new();
    for entry in WalkDir::new(table).min_depth(4).max_depth(4) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let path = error.path().unwrap_or(table).to_owned();
                return Err(Error::io("read", &path)(error.into()));
            }
        };
        let is_data = entry.path().extension().is_some_and(|suffix| suffix == "parquet");
        let modified = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
        if is_data && !(is_past && modified.is_some_and(|modified| modified < start)) {
            paths.push(entry.into_path());
        }
    }
    Ok(paths)
}

fn agent_of(path: &Path) -> Option<&str> {
    path.iter().filter_map(OsStr::to_str).find_map(|part| part.strip_prefix("agent="))
}

fn add_file(layout: &Layout, path: &Path, time: &Range<i64>, sum: &mut Spent) -> Result<()> {
    let mut starts = None;
    for batch in rows(path, &["session_id", "timestamp", "cost_usd"], |group| may_have(group, time.start))? {
        let (sessions, times, costs) = (batch.column(0), batch.column(1), batch.column(2));
        let times = times.as_primitive::<TimestampMicrosecondType>();
        let costs = costs.as_primitive::<Float64Type>();
        for row in 0..batch.num_rows() {
            let moment = if times.is_valid(row) {
                Some(times.value(row))
            } else {
                let starts = match &starts {
                    Some(starts) => starts,
                    None => starts.insert(starts_of_sessions(layout, path)?),
                };
                sessions.as_string_opt::<i32>().and_then(|ids| starts.get(ids.value(row)).copied())
            };
            if moment.is_some_and(|moment| time.contains(&moment)) {
                sum.add(costs.is_valid(row).then(|| costs.value(row)));
            }
        }
    }
    Ok(())
}

/// Returns when the sessions of a part started: they have a file of the same name.
fn starts_of_sessions(layout: &Layout, usage: &Path) -> Result<HashMap<String, i64>> {
    let inner = usage.strip_prefix(layout.table(&USAGE)).unwrap_or(usage);
    let mut starts = HashMap::new();
    for batch in rows(&layout.table(&SESSIONS).join(inner), &["session_id", "started_at"], |_| true)? {
        let Some(ids) = batch.column(0).as_string_opt::<i32>() else { continue };
        let times = batch.column(1).as_primitive::<TimestampMicrosecondType>();
        starts.extend(
            (0..batch.num_rows())
                .filter(|row| times.is_valid(*row))
                .map(|row| (ids.value(row).to_owned(), times.value(row))),
        );
    }
    Ok(starts)
}

/// Reads columns of some row groups, in the order of the names.
fn rows(path: &Path, names: &[&str], is_wanted: impl Fn(&RowGroupMetaData) -> bool) -> Result<Vec<RecordBatch>> {
    let file = File::open(path).map_err(Error::io("read", path))?;
    let stored = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::parquet(path))?;
    let groups = stored.metadata().row_groups().iter().enumerate();
    let groups = groups.filter(|(_, group)| is_wanted(group)).map(|(at, _)| at).collect();
    let mask = ProjectionMask::columns(stored.parquet_schema(), names.iter().copied());
    let reader = stored.with_row_groups(groups).with_projection(mask).build().map_err(Error::parquet(path))?;
    let batches = reader.map(|batch| {
        let batch = batch?;
        // The reader gives columns in the order of the file.
        let places = names.iter().map(|name| batch.schema().index_of(name)).collect::<Result<Vec<_>, _>>()?;
        batch.project(&places)
    });
    batches.collect::<Result<_, arrow::error::ArrowError>>().map_err(Error::from)
}

/// False if no row of the group is of this time or later.
fn may_have(group: &RowGroupMetaData, start: i64) -> bool {
    let column = group.columns().iter().find(|column| column.column_path().string() == "timestamp");
    let Some(Statistics::Int64(times)) = column.and_then(ColumnChunkMetaData::statistics) else { return true };
    times.null_count_opt() != Some(0) || times.max_opt().is_none_or(|max| *max >= start)
}
