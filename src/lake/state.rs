//! The lake's state as tables: sources and runs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use memchr::memmem;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::fs;
use super::layout::{Layout, STATE};
use super::manifest::{Manifest, SourceEntry};
use crate::error::Result;
use crate::extract::Report;
use crate::tables::{PerTable, RunColumns, RunRow, Runs, SourceRow, SourceState, Sources};

pub(super) fn sources(manifest: &Manifest) -> Result<RecordBatch> {
    let mut rows = Sources::default();
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    for (path, source) in files(manifest) {
        let [sessions, messages, tool_calls, usage] = source.rows.map(count);
        rows.push(SourceRow {
            agent: &source.agent,
            path,
            kind: &source.kind,
            bytes: count(source.print.bytes),
            modified_at: Some(source.print.modified_us()).filter(|moment| *moment != 0),
            state: source.state,
            lines: count(source.lines),
            bad_lines: count(source.bad_lines),
            first_bad_line: source.first_bad_line.map(count),
            problem: source.problem.as_deref(),
            unknown: source.unknown.as_deref(),
            redactions: source.redactions.as_deref(),
            sessions,
            messages,
            tool_calls,
            usage,
            extracted_at: source.extracted_at,
            llrem_version: &source.llrem_version,
        });
    }
    Ok(rows.finish()?)
}

/// Returns each file with its results, whether it was read as a whole or by sections.
fn files(manifest: &Manifest) -> BTreeMap<&str, Cow<'_, SourceEntry>> {
    let is_section = |entry: &SourceEntry| entry.section.is_some();
    let whole = manifest.sources.iter().filter(|(_, entry)| !is_section(entry));
    let mut files: BTreeMap<&str, Cow<'_, SourceEntry>> =
        whole.map(|(name, entry)| (&**name, Cow::Borrowed(entry))).collect();
    for (name, section) in manifest.sources.iter().filter(|(_, entry)| is_section(entry)) {
        if let Some(file) = files.get_mut(section.file(name)) {
            add_section(file.to_mut(), section);
        }
    }
    files
}

fn add_section(file: &mut SourceEntry, section: &SourceEntry) {
    file.lines += section.lines;
    file.bad_lines += section.bad_lines;
    file.first_bad_line = file.first_bad_line.or(section.first_bad_line);
    if file.state == SourceState::Ok && section.state.is_bad() {
        file.state = SourceState::Partial;
    }
    match (&mut file.problem, &section.problem) {
        (Some(problem), Some(more)) if problem.matches("line ").count() < Report::PROBLEMS => {
            problem.push_str("; ");
            problem.push_str(more);
        }
        (Some(_), _) => {}
        (problem, more) => problem.clone_from(more),
    }
    for (counts, more) in [(&mut file.unknown, &section.unknown), (&mut file.redactions, &section.redactions)] {
        *counts = sum_of_counts([counts.as_deref(), more.as_deref()]);
    }
    for (sum, rows) in file.rows.iter_mut().zip(section.rows) {
        *sum += rows;
    }
    file.extracted_at = file.extracted_at.max(section.extracted_at);
}

/// Sums lists of `name: count`.
fn sum_of_counts(lists: [Option<&str>; 2]) -> Option<String> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for count in lists.into_iter().flatten().flat_map(|list| list.split(", ")) {
        if let Some((name, count)) = count.rsplit_once(": ") {
            *sums.entry(name).or_default() += count.parse().unwrap_or(0);
        }
    }
    let texts: Vec<String> = sums.into_iter().map(|(name, count)| format!("{name}: {count}")).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// The stored record of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// Start of the run. Microseconds since 1970.
    pub started_at: i64,
    /// End of the run. Microseconds since 1970.
    pub ended_at: i64,
    /// Sources found.
    pub sources_seen: i64,
    /// Sources that were new.
    pub sources_new: i64,
    /// Sources that had changed.
    pub sources_changed: i64,
    /// Sources with bad lines, or that could not be read.
    pub sources_bad: i64,
    /// Bytes read.
    pub bytes_read: i64,
    /// Bytes written.
    pub bytes_written: i64,
    /// Rows written: sessions, messages, tool calls, usage.
    pub rows: PerTable<i64>,
    /// Problems found.
    pub problems: i64,
    /// Exit code.
    pub exit_code: i64,
    /// Error message, if it failed.
    pub error: Option<String>,
    /// Version of llrem.
    pub llrem_version: String,
    /// Size of the lake's data files after the run, unless it failed and left the lake as it was. Bytes.
    pub lake_bytes: Option<i64>,
}

/// Start of the checksum, which ends a line.
const CHECK: &str = ",\"check\":\"";

/// Appends a run to the record. It is one line, so that a crash can cut off at most the last one.
pub(crate) fn append_run(layout: &Layout, run: &RunRecord) -> Result<()> {
    fs::append_line(&layout.runs(), line_of(run).as_bytes())
}

/// Returns when the last recorded run ended. Microseconds since 1970.
pub(crate) fn last_run(layout: &Layout) -> Option<i64> {
    let runs = runs(layout).ok()?;
    let columns = RunColumns::of(&runs);
    (0..runs.num_rows()).map(|row| columns.ended_at(row)).max()
}

fn line_of(run: &RunRecord) -> String {
    let json = serde_json::to_string(run).unwrap_or_default();
    let fields = json.strip_suffix('}').unwrap_or(&json);
    format!("{fields}{}\n", check_of(fields.as_bytes()))
}

fn check_of(fields: &[u8]) -> String {
    format!("{CHECK}{:016x}\"}}", xxh3_64(fields))
}

/// Lists the damaged lines of the record.
pub(super) fn damaged_runs(layout: &Layout) -> Vec<String> {
    match fs::read(&layout.runs()) {
        Ok(bytes) => {
            let lines = damaged_lines(bytes.as_deref().unwrap_or_default());
            lines.map(|number| format!("`{STATE}/runs.ndjson`: line {number} is damaged")).collect()
        }
        Err(error) => vec![error.to_string()],
    }
}

/// Returns the numbers of damaged lines, from 1.
fn damaged_lines(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.is_empty());
    lines.filter(|(_, line)| !is_sound(line) && !is_torn(line)).map(|(number, _)| number)
}

/// True if a line is undamaged. Before 0.2, lines had no checksum: these must be records with known fields only.
fn is_sound(line: &[u8]) -> bool {
    if let Some(at) = memmem::rfind(line, CHECK.as_bytes()) {
        let (fields, check) = line.split_at(at);
        return check == check_of(fields).as_bytes();
    }
    let known = serde_json::to_value(RunRecord::default()).unwrap_or_default();
    let fields = serde_json::from_slice::<BTreeMap<String, serde_json::Value>>(line);
    serde_json::from_slice::<RunRecord>(line).is_ok()
        && fields.is_ok_and(|fields| fields.keys().all(|name| known.get(name).is_some()))
}

/// True if a line may be the beginning of one that a crash cut off, which is no damage.
fn is_torn(line: &[u8]) -> bool {
    let error = serde_json::from_slice::<serde::de::IgnoredAny>(line).err();
    error.is_some_and(|error| error.is_eof()) && !has_an_end(line)
}

/// True if a line ends with a checksum, whatever the byte between it and the brace has become.
fn has_an_end(line: &[u8]) -> bool {
    let end = line.last_chunk::<18>();
    end.is_some_and(|end| end.ends_with(b"}") && end.iter().take(16).all(u8::is_ascii_hexdigit))
}

pub(super) fn runs(layout: &Layout) -> Result<RecordBatch> {
    rows_of(&fs::read(&layout.runs())?.unwrap_or_default())
}

/// End of the record that holds the last runs, some dozens. Bytes.
const RECENT: u64 = 32 << 10;

/// Returns the last runs. The whole record of a lake that is fed after each session takes longer to read.
pub(super) fn recent_runs(layout: &Layout) -> Result<RecordBatch> {
    rows_of(&fs::read_end(&layout.runs(), RECENT)?.unwrap_or_default())
}

/// Reads the lines of a record, as far as they are whole.
fn rows_of(bytes: &[u8]) -> Result<RecordBatch> {
    let mut rows = Runs::default();
    for run in bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<RunRecord>(line).ok()) {
        let [sessions, messages, tool_calls, usage] = run.rows;
        rows.push(RunRow {
            started_at: run.started_at,
            ended_at: run.ended_at,
            sources_seen: run.sources_seen,
            sources_new: run.sources_new,
            sources_changed: run.sources_changed,
            sources_bad: run.sources_bad,
            bytes_read: run.bytes_read,
            bytes_written: run.bytes_written,
            sessions,
            messages,
            tool_calls,
            usage,
            problems: run.problems,
            exit_code: run.exit_code,
            error: run.error.as_deref(),
            llrem_version: &run.llrem_version,
            lake_bytes: run.lake_bytes,
        });
    }
    Ok(rows.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Subject {
        _folder: tempfile::TempDir,
        layout: Layout,
    }

    impl Subject {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let layout = Layout::new(folder.path());
            fs::make_folder(&layout.state()).unwrap();
            Self { _folder: folder, layout }
        }

        fn append(&self, exit_code: i64) {
            let error = (exit_code != 0).then(|| "a \"check\":\"}".to_owned());
            append_run(&self.layout, &RunRecord { exit_code, error, ..RunRecord::default() }).unwrap();
        }

        fn text(&self) -> Vec<u8> {
            fs::read(&self.layout.runs()).unwrap().unwrap()
        }

        fn count(&self) -> usize {
            runs(&self.layout).unwrap().num_rows()
        }
    }

    #[test]
    fn a_torn_line_costs_only_itself() {
        let subject = Subject::new();
        subject.append(0);
        subject.append(1);
        let whole = subject.text();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in first + 1..whole.len() - 1 {
            assert_eq!(damaged_lines(&whole[..cut]).count(), 0, "{cut}");
        }
        for cut in [first + 1, whole.len() - 40, whole.len() - 2] {
            fs::write(&subject.layout.runs(), &whole[..cut]).unwrap();
            subject.append(0);
            assert_eq!(subject.count(), 2, "{cut}");
            assert_eq!(damaged_runs(&subject.layout), [""; 0], "{cut}");
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let subject = Subject::new();
        subject.append(0);
        subject.append(1);
        let whole = subject.text();
        assert_eq!(damaged_lines(&whole).count(), 0);
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[place] ^= 1 << bit;
                assert_ne!(damaged_lines(&flipped).count(), 0, "byte {place}, bit {bit}");
            }
        }
    }

    #[test]
    fn lines_without_a_checksum_stay_valid() {
        let subject = Subject::new();
        let old = serde_json::to_string(&RunRecord::default()).unwrap() + "\n";
        fs::write(&subject.layout.runs(), old.as_bytes()).unwrap();
        subject.append(0);
        assert_eq!(damaged_runs(&subject.layout), [""; 0]);
        assert_eq!(subject.count(), 2);
    }
}
