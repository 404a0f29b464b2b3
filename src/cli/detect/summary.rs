//! Sums up the waste in one sentence.

use std::collections::{BTreeMap, BTreeSet};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Float64Type;
use datafusion::scalar::ScalarValue;

use super::super::query::{Asked, bind, why_empty};
use super::super::runner::Runner;
use super::super::session::integer;
use super::super::settings::Settings;
use super::super::when::Period;
use super::is_unpriced;
use crate::Result;
use crate::query::Statement;
use crate::query::canned::Library;
use crate::query::short_id::{KnownSession, SessionIds};
use crate::shown::value::{at_least, plural, share, share_of, usd_in_words};
use crate::tables::{Basis, FindingRow, Severity, Vocabulary};

/// The query for the cost of a period.
const TOTALS: &str = "totals";

/// The cost of one session.
const OF_SESSION: &str = "select sum(round(cost_usd * 1e9)) / 1e9 as cost_usd, \
                          count(*) filter (where cost_usd is null) as unpriced_responses, 1 as sessions \
                          from usage where machine = $machine and agent = $agent and session_id = $session";

/// Cost of the sessions that the detectors looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) struct Spent {
    /// Cost of the priced responses, if any has a price.
    pub(in crate::cli) usd: Option<f64>,
    /// True if the cost leaves out responses without a price.
    pub(in crate::cli) is_at_least: bool,
    /// Sessions, with their subagents.
    pub(in crate::cli) sessions: u64,
}

impl Spent {
    /// Reads the cost that the same filters give.
    pub(in crate::cli) fn read(
        settings: &Settings,
        runner: &mut Runner<'_>,
        given: &[(String, String)],
        session: Option<&KnownSession>,
    ) -> Result<Self> {
        let statement = match session {
            Some(session) => of_session(session),
            None => {
                let library = Library::load(&[])?;
                let totals = library.find(TOTALS)?;
                let known = given.iter().filter(|(name, _)| totals.parameter(name).is_some());
                bind(settings, totals, &known.cloned().collect::<Vec<_>>())?
            }
        };
        let rows = runner.rows(&statement)?;
        Ok(Self {
            usd: float(&rows, "cost_usd", 0),
            is_at_least: integer(&rows, "unpriced_responses", 0).is_some_and(|count| count > 0),
            sessions: integer(&rows, "sessions", 0).and_then(|count| u64::try_from(count).ok()).unwrap_or(0),
        })
    }

    /// Says why the filters leave no sessions.
    pub(super) fn why_nothing(
        settings: &Settings,
        runner: &mut Runner<'_>,
        given: &[(String, String)],
    ) -> Result<String> {
        let library = Library::load(&[])?;
        why_empty(settings, runner, Asked { canned: library.find(TOTALS)?, given })
    }

    /// Returns the amount, with a `+` if something is left out.
    pub(in crate::cli) fn shown(&self) -> Option<String> {
        Some(usd_in_words(self.usd?) + at_least(self.is_at_least))
    }
}

fn of_session(session: &KnownSession) -> Statement {
    let parameters = [("machine", &session.machine), ("agent", &session.agent), ("session", &session.session_id)];
    let parameters = parameters.map(|(name, value)| (name.to_owned(), ScalarValue::Utf8(Some(value.clone()))));
    Statement { sql: OF_SESSION.to_owned(), parameters: parameters.to_vec() }
}

/// Returns an amount of a query's result, if the column has one there.
pub(in crate::cli) fn float(rows: &RecordBatch, column: &str, row: usize) -> Option<f64> {
    let numbers = rows.column_by_name(column)?.as_primitive_opt::<Float64Type>()?;
    numbers.is_valid(row).then(|| numbers.value(row))
}

/// Limits on the findings that were asked for, apart from filters of sessions.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::cli) struct Only {
    /// Of this severity or a higher one.
    pub(super) severity: Option<Severity>,
    /// That wasted this much or more. US dollars.
    pub(super) min_cost: Option<f64>,
    /// That were not reported before.
    pub(super) is_new: bool,
}

impl Only {
    fn in_words(self) -> String {
        let severity = self.severity.map(|least| match least {
            Severity::High => " of high severity".to_owned(),
            least => format!(" of {} severity or higher", least.as_str()),
        });
        let cost = self.min_cost.map(|cost| format!(" that wasted {} or more", usd_in_words(cost)));
        severity.into_iter().chain(cost).collect()
    }
}

/// Sums of findings.
#[derive(Debug, Clone)]
pub(in crate::cli) struct Summary {
    findings: usize,
    sessions: usize,
    measured: f64,
    estimated: f64,
    /// True if the amounts leave out waste without a price.
    is_at_least: bool,
    spent: Spent,
    when: String,
    /// The findings that were asked for.
    only: Only,
    /// Why there are no sessions to look at.
    pub(super) nothing: Option<String>,
}

impl Summary {
    /// Adds up findings. The findings of subagents are of the session that started them.
    pub(in crate::cli) fn of(
        found: &[FindingRow<'_>],
        ids: &SessionIds,
        period: &Period,
        spent: Spent,
        only: Only,
    ) -> Self {
        let key =
            |session: &'_ KnownSession| (session.machine.clone(), session.agent.clone(), session.session_id.clone());
        let roots: BTreeMap<_, &str> = ids.all().iter().map(|it| (key(it), it.root_session_id.as_str())).collect();
        let session = |finding: &FindingRow<'_>| {
            let (machine, agent) = (finding.machine.to_owned(), finding.agent.to_owned());
            let id = (machine.clone(), agent.clone(), finding.session_id.to_owned());
            let root = roots.get(&id).map_or(finding.session_id, |root| root).to_owned();
            (machine, agent, root)
        };
        let sum = |basis: Basis| found.iter().filter(|it| it.basis == basis).filter_map(|it| it.wasted_cost_usd).sum();
        Self {
            findings: found.len(),
            sessions: found.iter().map(session).collect::<BTreeSet<_>>().len(),
            measured: sum(Basis::Measured),
            estimated: sum(Basis::Estimated),
            is_at_least: found.iter().any(is_unpriced),
            spent,
            when: if period.is_open() { String::new() } else { format!(" {}", period.in_words()) },
            only,
            nothing: None,
        }
    }

    /// Returns how much was wasted, without a full stop.
    pub(in crate::cli) fn sentence(&self) -> String {
        let when = &self.when;
        let sessions = |count: usize| plural(u64::try_from(count).unwrap_or(u64::MAX), "session");
        if let Some(nothing) = &self.nothing {
            return nothing.clone();
        }
        let (new, only) = (if self.only.is_new { "new " } else { "" }, self.only.in_words());
        if self.findings == 0 {
            let what = if only.is_empty() { "waste found".to_owned() } else { format!("findings{only}") };
            return format!("No {new}{what} in {}{when}", plural(self.spent.sessions, "session"));
        }
        let findings = plural(u64::try_from(self.findings).unwrap_or(u64::MAX), &format!("{new}finding"));
        let findings = format!("{findings}{only} in {}{when}", sessions(self.sessions));
        let wasted = self.measured + self.estimated;
        if wasted <= 0.0 {
            return format!("{findings}, none with a price");
        }
        let part = self.spent.usd.and_then(|spent| share_of(wasted, spent));
        let (of, part) = match self.spent.shown().zip(part) {
            Some((shown, part)) => (format!(" of {shown}"), format!(" ({})", share(part))),
            None => Default::default(),
        };
        format!("{findings}: {}{}{of} was wasted{part}", usd_in_words(wasted), at_least(self.is_at_least))
    }

    /// Returns how much of it is estimated, if anything was wasted.
    pub(super) fn basis(&self) -> Option<String> {
        match (self.measured > 0.0, self.estimated > 0.0) {
            (false, false) => None,
            (true, false) => Some("All of it is measured".to_owned()),
            (false, true) => Some("All of it is estimated (est.)".to_owned()),
            (true, true) => Some(format!(
                "{} is measured, {} estimated (est.)",
                usd_in_words(self.measured),
                usd_in_words(self.estimated)
            )),
        }
    }
}
