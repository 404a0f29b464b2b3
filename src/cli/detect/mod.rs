//! `llrem detect`: lists the findings of detectors.

mod fresh;
mod screen;
mod summary;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;

use super::args::Detect;
use super::output::{Format, Limit, Output};
use super::query::{self, explain, typed_parameters, value_of};
use super::runner::Runner;
use super::session;
use super::settings::{Settings, check_agent};
use super::when::Period;
use crate::lake::AnyLake;
use crate::query::canned::{Canned, Library, Purpose};
use crate::query::findings::{Detector, Detectors};
use crate::query::short_id::KnownSession;
use crate::query::{Statement, are_findings_kept};
use crate::tables::{FINDINGS, FindingColumns, FindingRow, Severity};
use crate::{Error, Result};
use fresh::Fresh;
use screen::Screen;
pub(super) use summary::{Only, Spent, Summary, float};

/// Parameters of every detector that only select sessions.
const FILTERS: [&str; 4] = ["since", "until", "project", "agent"];

/// Runs the command.
pub(super) fn run(settings: &Settings, typed: &Detect) -> Result<()> {
    let library = Library::load(settings.query_folders())?;
    match &typed.explain {
        Some(Some(name)) => return explain(settings, detector(&library, name)?),
        Some(None) => return query::detectors(&settings.output, settings.printer, &library),
        None => {}
    }
    let chosen: Vec<&Canned> = match typed.names.as_slice() {
        [] => library.default_detectors().collect(),
        names => names.iter().map(|name| detector(&library, name)).collect::<Result<_>>()?,
    };
    let filters =
        [("since", &typed.since), ("until", &typed.until), ("project", &typed.project), ("agent", &typed.agent)];
    let given = typed_parameters(&typed.params, filters)?;
    check_agent(value_of(&given, "agent"))?;
    let bound = bind(settings, &given, &chosen)?;
    let output = Output::new(&settings.output, Format::Csv)?;
    let lake = settings.open_lake()?;
    let detectors = kept_or(bound, settings, &lake, &given, &chosen)?;
    let mut runner = Runner::with(settings, &lake, Detectors::These(&detectors))?;
    let ids = session::ids(&mut runner)?;
    let session = typed.session.as_deref().map(|named| ids.find(named)).transpose()?;
    query::check_project(&mut runner, value_of(&given, "project"))?;
    let period = period(settings, &given)?;
    let findings = selected(settings, &given, &runner.rows(&all())?)?;
    let findings = wanted(&findings, typed, session)?;
    let mut fresh = if typed.new { Some(Fresh::of(settings, &lake)?) } else { None };
    let findings = match &mut fresh {
        Some(fresh) => fresh.only_new(&findings)?,
        None => findings,
    };
    let found: Vec<FindingRow<'_>> = rows(&findings).collect();
    let printed = typed.limit.unwrap_or(Limit::OFF).rows().min(found.len());
    let spent = Spent::read(settings, &mut runner, &given, session)?;
    let only = Only { severity: typed.severity, min_cost: typed.min_cost, is_new: typed.new };
    let mut summary = Summary::of(&found, &ids, &period, spent, only);
    if spent.sessions == 0 && session.is_none() {
        summary.nothing = Some(Spent::why_nothing(settings, &mut runner, &given)?);
    }
    if output.is_table() {
        // New ones are shown once, so all of them are.
        let limit = typed.limit.or_else(|| (typed.new || !output.is_on_terminal()).then_some(Limit::OFF));
        Screen { settings, chosen: &chosen, ids: &ids, found: &found, limit }.print(&summary)?;
    } else {
        output.print(&findings.slice(0, printed))?;
        settings.printer.say(&summary.sentence());
    }
    if let Some(fresh) = &mut fresh {
        fresh.note(printed)?;
    }
    match typed.fail_on.map(|level| found.iter().filter(|finding| severity(finding) >= Some(level)).count()) {
        Some(count) if count > 0 => Err(Error::Found { count }),
        _ => Ok(()),
    }
}

/// Returns the time that `--since` and `--until` name.
pub(super) fn period(settings: &Settings, given: &[(String, String)]) -> Result<Period> {
    settings.clock.period(value_of(given, "since"), value_of(given, "until"))
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
        Ok(Detector::of(canned, statement))
    });
    bound.collect()
}

/// Returns the detectors without their filters if their findings in the whole lake are kept: nothing has to run then, and
/// [`selected`] applies the filters. Otherwise returns those that are bound.
pub(super) fn kept_or(
    bound: Vec<Detector>,
    settings: &Settings,
    lake: &AnyLake,
    given: &[(String, String)],
    chosen: &[&Canned],
) -> Result<Vec<Detector>> {
    let unfiltered: Vec<_> = given.iter().filter(|(name, _)| !FILTERS.contains(&name.as_str())).cloned().collect();
    let whole = bind(settings, &unfiltered, chosen)?;
    Ok(if are_findings_kept(lake, settings.clock.zone, &whole) { whole } else { bound })
}

/// Returns the findings of a project and an agent whose first evidence is of a time, by the filters. Detectors give all findings
/// of the sessions that were active in it.
pub(super) fn selected(settings: &Settings, given: &[(String, String)], findings: &RecordBatch) -> Result<RecordBatch> {
    let period = period(settings, given)?;
    let (project, agent) = (value_of(given, "project"), value_of(given, "agent"));
    let is_wanted = |finding: FindingRow<'_>| {
        period.contains(finding.first_at)
            && project.is_none_or(|project| finding.project == Some(project))
            && agent.is_none_or(|agent| finding.agent == agent)
    };
    let mask: BooleanArray = rows(findings).map(|finding| Some(is_wanted(finding))).collect();
    Ok(filter_record_batch(findings, &mask)?)
}

pub(super) fn rows(findings: &RecordBatch) -> impl Iterator<Item = FindingRow<'_>> {
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

/// True if a finding wasted tokens, and no price of them is known.
pub(super) fn is_unpriced(finding: &FindingRow<'_>) -> bool {
    finding.wasted_cost_usd.is_none() && finding.wasted_tokens.is_some_and(|tokens| tokens > 0)
}

pub(super) fn severity(finding: &FindingRow<'_>) -> Option<Severity> {
    Some(finding.severity).filter(|severity| Severity::ALL.contains(severity))
}
