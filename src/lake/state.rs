//! The lake's state as tables: sources and runs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use serde::{Deserialize, Serialize};

use super::fs;
use super::layout::Layout;
use super::manifest::{Manifest, SourceEntry, SourceState};
use crate::error::Result;
use crate::extract::Report;
use crate::tables::{RunRow, Runs, SourceRow, Sources};

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
            state: source.state.as_str(),
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

/// Each file with what was found in it, whether it was read as a whole or by sections.
fn files(manifest: &Manifest) -> BTreeMap<&str, Cow<'_, SourceEntry>> {
    let is_section = |entry: &SourceEntry| entry.section.is_some();
    let whole = manifest.sources.iter().filter(|(_, entry)| !is_section(entry));
    let mut files: BTreeMap<&str, Cow<'_, SourceEntry>> =
        whole.map(|(name, entry)| (name.as_str(), Cow::Borrowed(entry))).collect();
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

/// Adds up lists of `name: count`.
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

/// One run, as it is kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// When it began. Microseconds since 1970.
    pub started_at: i64,
    /// When it ended. Microseconds since 1970.
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
    pub rows: [i64; 4],
    /// Problems found.
    pub problems: i64,
    /// Exit code.
    pub exit_code: i64,
    /// Why it failed.
    pub error: Option<String>,
    /// Version of llrem.
    pub llrem_version: String,
}

/// Adds a run to the record. It is one line, so that a crash can at most tear the last one.
pub(crate) fn append_run(layout: &Layout, run: &RunRecord) -> Result<()> {
    let mut line = serde_json::to_vec(run).unwrap_or_default();
    line.push(b'\n');
    fs::append(&layout.runs(), &line)
}

pub(super) fn runs(layout: &Layout) -> Result<RecordBatch> {
    let bytes = fs::read(&layout.runs())?.unwrap_or_default();
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
        });
    }
    Ok(rows.finish()?)
}
