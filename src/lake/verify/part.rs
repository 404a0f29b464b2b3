//! Checks the tables of a part together: every row has its session, and every session has the counts and sums of its
//! rows.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use arrow::array::{AsArray, ListArray, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::identities::Identities;
use super::tally::{ROW_COLUMNS, Rows, SESSION_COLUMNS, Tally};
use crate::error::{Error, Result};
use crate::identity::{Kind, key};
use crate::lake::claims;
use crate::lake::layout::{Layout, PartName};
use crate::lake::ledger::{Ledger, Sums};
use crate::lake::manifest::{Manifest, PartEntry, SessionEntry};
use crate::tables::{LAKE_TABLES, PerRecordTable, SESSIONS, TableDef};

/// Most rows that are read at a time.
const BATCH_ROWS: usize = 8192;
/// Columns with unique values: messages, tool calls, usage.
const IDENTITIES: [&str; 3] = ["message_id", "call_id", "response_id"];

pub(super) fn problems(
    layout: &Layout,
    manifest: &Manifest,
    name: &PartName,
    part: &PartEntry,
    identities: &Identities,
    ledger: &Mutex<Ledger>,
) -> Vec<String> {
    let sessions = part.sessions.iter().enumerate().map(|(place, entry)| (&*entry.id, (place, entry))).collect();
    let (sums, problems) = (Sums::default(), Vec::new());
    let mut check = Check { layout, manifest, name, part, identities, sessions, sums, problems };
    if let Err(error) = check.run() {
        check.problems.push(error.to_string());
    }
    ledger.lock().unwrap_or_else(PoisonError::into_inner).month(name).add(&check.sums);
    check.problems
}

struct Check<'c> {
    layout: &'c Layout,
    manifest: &'c Manifest,
    name: &'c PartName,
    part: &'c PartEntry,
    identities: &'c Identities,
    sessions: HashMap<&'c str, (usize, &'c SessionEntry)>,
    /// Sums of the records of the rows.
    sums: Sums,
    problems: Vec<String>,
}

impl<'c> Check<'c> {
    fn run(&mut self) -> Result<()> {
        self.check_entries();
        self.check_claims();
        let tallies = self.tallies()?;
        self.check_sessions(tallies)
    }

    fn say(&mut self, session: &str, problem: &str) {
        let PartName { agent, month, name } = self.name;
        self.problems.push(format!("session `{session}` ({agent}, {month}/{name}): {problem}"));
    }

    fn check_entries(&mut self) {
        let ids = self.part.sessions.iter().map(|entry| &*entry.id);
        for session in self.identities.repeated(&self.name.agent, "session_id", ids) {
            self.say(session, "the manifest has it more than once");
        }
        for entry in &self.part.sessions {
            let month = crate::time::month_of(entry.started_at);
            if month != self.name.month {
                self.say(&entry.id, &format!("began in {month}"));
            }
            for source in entry.sources.iter().filter(|source| !self.manifest.sources.contains_key(&***source)) {
                self.say(&entry.id, &format!("the manifest does not know its source `{source}`"));
            }
        }
    }

    fn check_claims(&mut self) {
        let path = Layout::claims(self.name);
        let replicas = match claims::load(&self.layout.root().join(&path)) {
            Ok(replicas) => replicas,
            Err(error) => return self.problems.push(error.to_string()),
        };
        let claimed: BTreeSet<(&str, &str)> =
            replicas.iter().map(|replica| (&*replica.session, &*replica.source)).collect();
        let entries = self.part.sessions.iter();
        let known: BTreeSet<(&str, &str)> =
            entries.flat_map(|entry| entry.sources.iter().map(|source| (&*entry.id, &**source))).collect();
        for (session, source) in claimed.difference(&known) {
            self.say(session, &format!("`{path}` has claims of `{source}` for it, the manifest has not"));
        }
        for (session, source) in known.difference(&claimed) {
            self.say(session, &format!("`{path}` lacks the claims of `{source}`"));
        }
    }

    fn tallies(&mut self) -> Result<HashMap<&'c str, Tally>> {
        let mut tallies = HashMap::new();
        let mut places: HashSet<(usize, i64)> = HashSet::new();
        let mut counts: HashMap<&'c str, PerRecordTable<u64>> = HashMap::new();
        for (place, table) in LAKE_TABLES.into_iter().skip(1).enumerate() {
            let Some(path) = self.file(table) else { continue };
            let mut order = Order::default();
            let columns = ROW_COLUMNS.get(place).copied().unwrap_or_default();
            for batch in read(&self.layout.root().join(&path), table, columns)? {
                let batch = batch?;
                self.check_values(&path, table, &batch);
                let rows = Rows(&batch);
                self.check_identities(&path, place, &rows);
                for row in 0..batch.num_rows() {
                    let id = rows.text("session_id", row).unwrap_or_default();
                    let seq = rows.number("seq", row);
                    let Some((number, session)) = self.sessions.get(id).map(|(number, entry)| (*number, &*entry.id))
                    else {
                        self.say(id, &format!("`{path}` has rows of it, the manifest does not know it"));
                        continue;
                    };
                    if !order.follows(number, seq) {
                        self.say(session, &format!("its rows in `{path}` are not in order"));
                    }
                    if seq.is_some_and(|seq| !places.insert((number, seq))) {
                        self.say(session, &format!("two of its records have seq {}", seq.unwrap_or_default()));
                    }
                    if let Some(count) = counts.entry(session).or_default().get_mut(place) {
                        *count += 1;
                    }
                    tallies.entry(session).or_insert_with(Tally::default).add_row(place, &rows, row);
                }
            }
        }
        for entry in &self.part.sessions {
            let found = counts.get(&*entry.id).copied().unwrap_or_default();
            if found != entry.rows {
                let shown = |[messages, calls, usage]: PerRecordTable<u64>| {
                    format!("{messages} messages, {calls} tool calls, {usage} usage rows")
                };
                self.say(&entry.id, &format!("has {}, the manifest says {}", shown(found), shown(entry.rows)));
            }
        }
        Ok(tallies)
    }

    fn check_identities(&mut self, path: &str, place: usize, rows: &Rows<'_>) {
        let Some(column) = IDENTITIES.get(place).copied() else { return };
        let ids = || (0..rows.0.num_rows()).filter_map(|row| rows.text(column, row));
        let kind = [Kind::Message, Kind::ToolCall, Kind::Response].get(place).copied().unwrap_or(Kind::Presence);
        ids().for_each(|id| self.sums.add_key(kind, key(&self.name.agent, kind, id)));
        for id in self.identities.repeated(&self.name.agent, column, ids()) {
            self.problems.push(format!("`{path}` has {column} `{id}`, which the lake has already"));
        }
    }

    /// Finds values that are not among those that their column may take.
    fn check_values(&mut self, path: &str, table: &TableDef, batch: &RecordBatch) {
        for column in table.columns.iter().filter(|column| !column.values.is_empty()) {
            let values = batch.column_by_name(column.name);
            let texts = values.map(|values| values.as_list_opt::<i32>().map_or(values, ListArray::values));
            let texts = texts.and_then(|texts| texts.as_string_opt::<i32>()).into_iter().flatten().flatten();
            let unlisted: BTreeSet<&str> = texts.filter(|text| !column.values.contains(text)).collect();
            self.problems.extend(unlisted.into_iter().map(|text| {
                let name = column.name;
                format!("`{path}` has {name} `{text}`, which this llrem does not know; a newer one may have written it")
            }));
        }
    }

    fn check_sessions(&mut self, mut tallies: HashMap<&'c str, Tally>) -> Result<()> {
        let mut found = BTreeSet::new();
        if let Some(path) = self.file(&SESSIONS) {
            for batch in read(&self.layout.root().join(&path), &SESSIONS, SESSION_COLUMNS)? {
                let batch = batch?;
                self.check_values(&path, &SESSIONS, &batch);
                for row in 0..batch.num_rows() {
                    let rows = Rows(&batch);
                    let id = rows.text("session_id", row).unwrap_or_default();
                    if !found.insert(id.to_owned()) {
                        self.say(id, &format!("`{path}` has it more than once"));
                    }
                    let month = rows.moment("started_at", row).map(|moment| crate::time::month_of(Some(moment)));
                    if let Some(month) = month.filter(|month| *month != self.name.month) {
                        self.say(id, &format!("its row says that it began in {month}"));
                    }
                    for difference in tallies.remove(id).unwrap_or_default().differences(&rows, row) {
                        self.say(id, &difference);
                    }
                }
            }
        }
        let empty = self.part.sessions.iter().filter(|entry| entry.rows == [0; 3]);
        for entry in empty.filter(|entry| entry.has_row() != found.contains(&*entry.id)) {
            let said = if entry.has_row() {
                "the manifest says it is a session, `sessions` lacks it"
            } else {
                "`sessions` has it, the manifest says that it has no rows"
            };
            self.say(&entry.id, said);
        }
        let lost: BTreeMap<&str, Tally> = tallies.into_iter().filter(|(id, _)| !found.contains(*id)).collect();
        for session in lost.into_keys() {
            self.say(session, "it has rows in other tables, but none in `sessions`");
        }
        Ok(())
    }

    /// Returns the path of the part's file of a table, relative to the lake.
    fn file(&self, table: &TableDef) -> Option<String> {
        let place = LAKE_TABLES.iter().position(|other| other.name == table.name)?;
        self.part.files.get(place)?.as_ref()?;
        Some(Layout::part(table, &self.manifest.machine, self.name))
    }
}

/// Checks that rows have the order of the manifest's sessions and, within a session, of their positions.
#[derive(Default)]
struct Order {
    last: Option<(usize, Option<i64>)>,
}

impl Order {
    fn follows(&mut self, session: usize, seq: Option<i64>) -> bool {
        let last = self.last.replace((session, seq));
        last.is_none_or(|last| last <= (session, seq))
    }
}

/// Reads some columns of a table's file, and those that take only listed values.
fn read(path: &Path, table: &TableDef, columns: &[&str]) -> Result<ParquetRecordBatchReader> {
    let file = File::open(path).map_err(Error::io("read", path))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::parquet(path))?;
    let listed = table.columns.iter().filter(|column| !column.values.is_empty());
    let names: Vec<&str> = columns.iter().copied().chain(listed.map(|column| column.name)).collect();
    let wanted =
        reader.schema().fields().iter().enumerate().filter(|(_, field)| names.contains(&field.name().as_str()));
    let mask = ProjectionMask::roots(reader.parquet_schema(), wanted.map(|(place, _)| place).collect::<Vec<_>>());
    reader.with_projection(mask).with_batch_size(BATCH_ROWS).build().map_err(Error::parquet(path))
}
