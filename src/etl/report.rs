//! The summary of a run and its entries in the record of runs.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::group::NewPart;
use super::plan::Plan;
use super::read::{Planned, Read};
use super::{AgentSummary, Options, Run, Summary};
use crate::agents::AGENTS;
use crate::lake::layout::is_name_of;
use crate::lake::manifest::{Manifest, SourceEntry};
use crate::lake::{RunRecord, last_run};
use crate::redact::Counts;
use crate::source::TORN_END;
use crate::tables::SourceState;

/// Written rows and files, by agent.
#[derive(Default)]
pub(super) struct Written {
    agents: BTreeMap<String, AgentSummary>,
    unpriced: BTreeMap<String, u64>,
    bytes: u64,
    files: u64,
}

impl Written {
    pub(super) fn add_file(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.files += 1;
    }

    /// Counts the rebuilt sessions.
    pub(super) fn add_new_sessions(&mut self, part: &NewPart) {
        let counts = self.agents.entry(part.name.agent.clone()).or_default();
        for session in part.sessions.iter().filter(|session| session.is_new) {
            let [messages, tool_calls, usage] = session.entry.rows;
            counts.messages += messages;
            counts.tool_calls += tool_calls;
            counts.usage += usage;
        }
        counts.sessions += part.sums.sessions;
        counts.tokens = counts.tokens.saturating_add(part.sums.tokens);
        if let Some(usd) = part.sums.cost_usd {
            *counts.cost_usd.get_or_insert(0.0) += usd;
        }
        for (model, responses) in &part.unpriced {
            *self.unpriced.entry(model.clone()).or_default() += responses;
        }
    }

    pub(super) fn add_to(self, summary: &mut Summary) {
        for agent in &mut summary.agents {
            if let Some(counts) = self.agents.get(agent.agent) {
                agent.sessions = counts.sessions;
                agent.messages = counts.messages;
                agent.tool_calls = counts.tool_calls;
                agent.usage = counts.usage;
                agent.tokens = counts.tokens;
                agent.cost_usd = counts.cost_usd;
            }
        }
        summary.unpriced_models = most_first(self.unpriced);
        summary.bytes_written = self.bytes;
        summary.files_written = self.files;
    }
}

/// The sources that were bad before a pass.
pub(super) type KnownBad = HashSet<Arc<str>>;

/// Returns the sources that the run before has reported as bad.
pub(super) fn known_bad(run: Run<'_>, manifest: &Manifest) -> KnownBad {
    let Some(before) = last_run(run.layout) else { return KnownBad::new() };
    let reported = |entry: &SourceEntry| entry.state.is_bad() && !is_being_written(entry, before);
    manifest.sources.iter().filter(|(_, entry)| reported(entry)).map(|(name, _)| name.clone()).collect()
}

/// Sums over the sources that were read.
#[derive(Default)]
pub(super) struct ReadTotals {
    skipped: BTreeSet<PathBuf>,
    redactions: Counts,
    problems: u64,
}

impl ReadTotals {
    pub(super) fn add(&mut self, run: Run<'_>, read: &Read) {
        if run.pass.refuses(&read.planned.name) {
            self.skipped.insert(read.planned.path().to_owned());
        }
        self.redactions.merge(&read.report.redactions);
        self.problems += read.report.bad_lines + u64::from(read.state == SourceState::Unreadable);
    }
}

/// Counts the sources. Rows are added after they are written.
pub(super) fn summary(run: Run<'_>, plan: &Plan, reads: ReadTotals, manifest: &Manifest, known: &KnownBad) -> Summary {
    let mut summary = Summary {
        kept_machine: kept_machine(run.options, manifest),
        skipped: reads.skipped.into_iter().collect(),
        ..Summary::default()
    };
    let now = crate::time::now();
    for agent in AGENTS.iter().map(|agent| agent.about().id) {
        let found = || plan.found.iter().filter(|planned| planned.agent_id() == agent && planned.section.is_none());
        let due = |is_new: bool| {
            found()
                .filter(|planned| {
                    planned.is_new == is_new
                        && (plan.changed.contains(&planned.name) || plan.apart.contains(&planned.name))
                })
                .count() as u64
        };
        let gone = plan
            .vanished
            .iter()
            .filter(|name| manifest.sources.get(name.as_str()).is_some_and(|entry| &*entry.agent == agent))
            .count() as u64;
        let all = found().count() as u64;
        if all + gone > 0 {
            let (new, changed) = (due(true), due(false));
            let entry = |planned: &Planned| manifest.sources.get(&*planned.name);
            let is_bad = |entry: &SourceEntry| entry.state.is_bad() && !is_being_written(entry, now);
            let of_agent = plan.found.iter().filter(|planned| planned.agent_id() == agent);
            let bad: Vec<_> = of_agent.filter(|planned| entry(planned).is_some_and(is_bad)).collect();
            summary.agents.push(AgentSummary {
                agent,
                new,
                changed,
                unchanged: all - new - changed,
                bad: bad.len() as u64,
                newly_bad: bad.iter().filter(|planned| !known.contains(&*planned.name)).count() as u64,
                gone,
                ..AgentSummary::default()
            });
        }
    }
    summary.redactions = most_first(reads.redactions.iter().map(|(kind, count)| (kind.to_owned(), count)).collect());
    summary
}

/// Returns the machine's name in the lake, if it differs from the requested one.
fn kept_machine(options: &Options, manifest: &Manifest) -> Option<String> {
    let wanted = options.machine.as_deref()?;
    (!manifest.machine.is_empty() && !is_name_of(&manifest.machine, wanted)).then(|| manifest.machine.clone())
}

/// Time in which an active agent may still complete the last line of its file. Microseconds.
const AT_WORK: i64 = 10 * 60 * 1_000_000;

/// True if the only problem of a source is an incomplete last line that the agent may still complete. If a later run
/// finds the source unchanged, it is bad.
fn is_being_written(entry: &SourceEntry, now: i64) -> bool {
    let is_recent = now.saturating_sub(entry.print.modified_us()) < AT_WORK;
    let problem = entry.problem.as_deref().unwrap_or_default();
    is_recent && entry.bad_lines == 1 && !problem.contains(';') && problem.ends_with(TORN_END)
}

fn most_first(counts: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    counts
}

/// Copies the summary into the record of runs.
pub(super) fn fill_record(record: &mut RunRecord, summary: &Summary) {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let sum = |field: fn(&AgentSummary) -> u64| number(summary.agents.iter().map(field).sum());
    record.sources_new = sum(|agent| agent.new);
    record.sources_changed = sum(|agent| agent.changed);
    record.sources_bad = sum(|agent| agent.bad);
    record.bytes_read = number(summary.bytes_read);
    record.bytes_written = number(summary.bytes_written);
    record.rows = [
        sum(|agent| agent.sessions),
        sum(|agent| agent.messages),
        sum(|agent| agent.tool_calls),
        sum(|agent| agent.usage),
    ];
}

/// Adds the problems of sources to the record of runs.
pub(super) fn count_problems(record: &mut RunRecord, reads: &ReadTotals) {
    record.problems += i64::try_from(reads.problems).unwrap_or(i64::MAX);
}
