//! `llrem detect`: lists the findings of detectors.

use std::collections::BTreeSet;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;

use super::args::Detect;
use super::output::{Format, Output};
use super::query::{self, explain, typed_parameters};
use super::runner::Runner;
use super::session;
use super::settings::{Settings, check_agent};
use crate::query::Statement;
use crate::query::canned::{Canned, Library, Purpose};
use crate::query::findings::{Detector, Detectors};
use crate::query::short_id::KnownSession;
use crate::shown::money;
use crate::tables::{Basis, FINDINGS, FindingColumns, FindingRow, Severity};
use crate::{Error, Result};

/// Columns on a terminal. Every other format has all columns.
const SHOWN: [&str; 8] =
    ["severity", "wasted_cost_usd", "detector", "project", "session_id", "first_seq", "explanation", "evidence"];

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Detect) -> Result<()> {
    check_agent(typed.agent.as_deref())?;
    let library = Library::load(settings.query_folders())?;
    if let Some(name) = &typed.explain {
        return explain(settings, detector(&library, name)?);
    }
    let chosen: Vec<&Canned> = match typed.names.as_slice() {
        [] => library.default_detectors().collect(),
        names => names.iter().map(|name| detector(&library, name)).collect::<Result<_>>()?,
    };
    let filters =
        [("since", &typed.since), ("until", &typed.until), ("project", &typed.project), ("agent", &typed.agent)];
    let detectors = bind(settings, &typed_parameters(&typed.params, filters)?, &chosen)?;
    let output = Output::new(&settings.output, Format::Csv)?;
    let lake = settings.open_lake()?;
    let mut runner = Runner::with(settings, &lake, Detectors::These(&detectors))?;
    let session = typed.session.as_deref().map(|named| session::find(&mut runner, named)).transpose()?;
    let findings = runner.rows(&all())?;
    query::check_project(&mut runner, typed.project.as_deref())?;
    let findings = wanted(&findings, typed, session.as_ref())?;
    let tally = Tally::of(&findings);
    print(output, &findings, typed.limit)?;
    settings.printer.say(&tally.line());
    match typed.fail_on.map(|level| tally.at_least(level)) {
        Some(count) if count > 0 => Err(Error::Found { count }),
        _ => Ok(()),
    }
}

/// Returns the query for all findings.
pub(super) fn all() -> Statement {
    Statement { sql: format!("select * from {}", FINDINGS.name), parameters: Vec::new() }
}

fn detector<'l>(library: &'l Library, name: &str) -> Result<&'l Canned> {
    let canned = library.find_detector(name)?;
    match canned.purpose {
        Purpose::Detector => Ok(canned),
        Purpose::Report => Err(Error::Usage(format!("`{name}` is a report; run it with `llrem query {name}`"))),
    }
}

/// Returns the detectors with their parameters. A parameter applies to every detector that has it, or to one as
/// `NAME.PARAMETER`.
pub(super) fn bind(settings: &Settings, given: &[(String, String)], chosen: &[&Canned]) -> Result<Vec<Detector>> {
    let takes = |canned: &Canned, name: &str| match name.split_once('.') {
        Some((detector, name)) => detector == canned.name && canned.parameter(name).is_some(),
        None => canned.parameter(name).is_some(),
    };
    if let Some((unknown, _)) = given.iter().find(|(name, _)| !chosen.iter().any(|canned| takes(canned, name))) {
        return Err(Error::Usage(format!("none of these detectors has a parameter `{unknown}`")));
    }
    let bound = chosen.iter().map(|canned| {
        let own = given.iter().filter(|(name, _)| takes(canned, name));
        let own = own.map(|(name, value)| {
            (name.split_once('.').map_or(name.as_str(), |(_, name)| name).to_owned(), value.clone())
        });
        let statement = query::bind(settings, canned, &own.collect::<Vec<_>>())?;
        Ok(Detector { name: canned.name.clone(), statement, needs: canned.needs.clone() })
    });
    bound.collect()
}

fn rows(findings: &RecordBatch) -> impl Iterator<Item = FindingRow<'_>> {
    let columns = FindingColumns::of(findings);
    (0..findings.num_rows()).map(move |row| columns.row(row))
}

fn wanted(findings: &RecordBatch, typed: &Detect, session: Option<&KnownSession>) -> Result<RecordBatch> {
    let mask: BooleanArray = rows(findings)
        .map(|finding| {
            let is_bad_enough = typed.severity.is_none_or(|level| severity(&finding) >= Some(level));
            let is_dear_enough = typed.min_cost.is_none_or(|cost| finding.wasted_cost_usd.unwrap_or(0.0) >= cost);
            let is_here = session.is_none_or(|session| {
                (finding.machine, finding.agent, finding.session_id)
                    == (&*session.machine, &*session.agent, &*session.session_id)
            });
            Some(is_bad_enough && is_dear_enough && is_here)
        })
        .collect();
    Ok(filter_record_batch(findings, &mask)?)
}

fn severity(finding: &FindingRow<'_>) -> Option<Severity> {
    Some(finding.severity).filter(|severity| Severity::ALL.contains(severity))
}

fn print(output: Output, findings: &RecordBatch, limit: Option<usize>) -> Result<()> {
    let first = findings.slice(0, limit.unwrap_or(usize::MAX).min(findings.num_rows()));
    if !output.is_table() {
        return output.print(&first);
    }
    let shown = SHOWN.iter().filter_map(|name| FINDINGS.index_of(name)).collect::<Vec<_>>();
    output.wrapping().print(&first.project(&shown)?)
}

/// Sums of the findings.
#[derive(Default)]
pub(super) struct Tally<'r> {
    severities: Vec<Severity>,
    sessions: BTreeSet<(&'r str, &'r str, &'r str)>,
    measured: f64,
    estimated: f64,
}

impl<'r> Tally<'r> {
    pub(super) fn of(findings: &'r RecordBatch) -> Self {
        let mut tally = Self::default();
        for finding in rows(findings) {
            tally.severities.extend(severity(&finding));
            tally.sessions.insert((finding.machine, finding.agent, finding.session_id));
            let cost = finding.wasted_cost_usd.unwrap_or(0.0);
            *if finding.basis == Basis::Measured { &mut tally.measured } else { &mut tally.estimated } += cost;
        }
        tally
    }

    fn at_least(&self, level: Severity) -> usize {
        self.severities.iter().filter(|severity| **severity >= level).count()
    }

    pub(super) fn line(&self) -> String {
        let count = |level| self.severities.iter().filter(|severity| **severity == level).count();
        format!(
            "{} findings ({} high, {} medium, {} low) in {} sessions; wasted: ${} measured, ${} estimated",
            self.severities.len(),
            count(Severity::High),
            count(Severity::Medium),
            count(Severity::Low),
            self.sessions.len(),
            money(self.measured),
            money(self.estimated)
        )
    }
}
