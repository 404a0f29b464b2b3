//! Cost, prompts and waste, day by day.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use chrono::NaiveDate;

use super::super::detect;
use super::super::runner::Runner;
use super::super::session::{integer, text};
use super::super::settings::Settings;
use super::periods::Span;
use crate::Result;
use crate::lake::AnyLake;
use crate::query::Statement;
use crate::query::canned::Library;
use crate::query::findings::Detectors;
use crate::shown::value;
use crate::tables::FindingRow;

/// Sessions and prompts count as in the query `totals`, and cost as in `cost_by_day`. Billionths of a dollar are whole, so
/// that they add up to the same sum in any order.
const SQL: &str = "select
  cast(cast(coalesce(u.timestamp, s.started_at) as date) as text) as day,
  s.machine, s.agent, cast(s.project as text) as project, s.root_session_id,
  cast(sum(round(u.cost_usd * 1e9)) as bigint) as nanos,
  count(*) filter (where u.cost_usd is null) as unpriced,
  cast(0 as bigint) as prompts
from usage u
join sessions s on s.machine = u.machine and s.agent = u.agent and s.session_id = u.session_id
where coalesce(u.timestamp, s.started_at) >= $since
group by 1, 2, 3, 4, 5
union all
select
  cast(cast(coalesce(m.timestamp, s.started_at) as date) as text) as day,
  s.machine, s.agent, cast(s.project as text) as project, s.root_session_id,
  cast(null as bigint) as nanos,
  cast(0 as bigint) as unpriced,
  count(*) filter (where m.kind = 'prompt' and not m.is_sidechain and not s.is_subagent) as prompts
from messages m
join sessions s on s.machine = m.machine and s.agent = m.agent and s.session_id = m.session_id
where coalesce(m.timestamp, s.started_at) >= $since
group by 1, 2, 3, 4, 5";

/// Cost and prompts of a session on one day.
struct Used {
    day: NaiveDate,
    agent: String,
    project: Option<String>,
    /// The session that a person or a job started.
    session: String,
    nanos: Option<i64>,
    unpriced: i64,
    prompts: i64,
}

/// The waste of a finding.
struct Wasted {
    day: NaiveDate,
    agent: String,
    project: Option<String>,
    usd: Option<f64>,
    is_unpriced: bool,
}

/// The agent or project whose figures are added up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Of {
    All,
    Agent(String),
    Project(Option<String>),
}

impl Of {
    fn has(&self, agent: &str, project: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Agent(wanted) => wanted == agent,
            Self::Project(wanted) => wanted.as_deref() == project,
        }
    }
}

/// Sums over a period.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    /// Cost of the priced responses, if any has a price.
    pub(super) usd: Option<f64>,
    /// Responses without a price.
    pub(super) unpriced: i64,
    pub(super) sessions: i64,
    /// Of these, sessions with usage: those that the tables of cost count.
    pub(super) billed_sessions: i64,
    pub(super) prompts: i64,
    /// Waste of the findings, if any has a price.
    pub(super) wasted: Option<f64>,
    /// True if that leaves out waste without a price.
    pub(super) is_waste_at_least: bool,
    pub(super) findings: i64,
}

/// Returns the days on which sessions with a message or usage began.
pub(super) fn days(settings: &Settings, lake: &AnyLake) -> Result<Vec<NaiveDate>> {
    let sql = "select distinct cast(cast(started_at as date) as text) as day from sessions \
               where messages > 0 or responses > 0 or total_tokens is not null";
    let rows = Runner::quiet(settings, lake)?.rows(&Statement { sql: sql.to_owned(), parameters: Vec::new() })?;
    Ok((0..rows.num_rows()).filter_map(|row| text(&rows, "day", row)?.parse().ok()).collect())
}

/// Cost, prompts and waste since a day.
#[derive(Default)]
pub(super) struct Figures {
    used: Vec<Used>,
    wasted: Vec<Wasted>,
}

impl Figures {
    /// Reads the figures since a day.
    pub(super) fn read(settings: &Settings, lake: &AnyLake, since: NaiveDate) -> Result<Self> {
        let library = Library::load(settings.query_folders())?;
        let chosen: Vec<_> = library.default_detectors().collect();
        let given = vec![("since".to_owned(), since.to_string())];
        let bound = detect::bind(settings, &given, &chosen)?;
        let detectors = detect::kept_or(bound, settings, lake, &given, &chosen)?;
        let mut runner = Runner::with(settings, lake, Detectors::These(&detectors))?;
        let period = settings.clock.period(Some(&since.to_string()), None)?;
        let sql = SQL.replace("$since", &period.since_sql().unwrap_or_default());
        let used = used(&runner.rows(&Statement { sql, parameters: Vec::new() })?);
        if used.is_empty() {
            return Ok(Self { used, wasted: Vec::new() });
        }
        let findings = runner.rows(&detect::all())?;
        let wasted = detect::rows(&findings).filter_map(|finding| Wasted::of(&finding, settings)).collect();
        Ok(Self { used, wasted })
    }

    /// Adds up a period.
    pub(super) fn sums(&self, span: &Span, of: &Of) -> Sums {
        let used = || self.used.iter().filter(|it| span.contains(it.day) && of.has(&it.agent, it.project.as_deref()));
        let wasted =
            || self.wasted.iter().filter(|it| span.contains(it.day) && of.has(&it.agent, it.project.as_deref()));
        let is_billed = |it: &&Used| it.nanos.is_some() || it.unpriced > 0;
        let findings = count(wasted().count());
        let known = wasted().filter_map(|it| it.usd).reduce(|sum, usd| sum + usd);
        Sums {
            usd: used().filter_map(|it| it.nanos).reduce(|sum, nanos| sum + nanos).map(|nanos| nanos as f64 / 1e9),
            unpriced: used().map(|it| it.unpriced).sum(),
            sessions: count(used().map(|it| &it.session).collect::<BTreeSet<_>>().len()),
            billed_sessions: count(used().filter(is_billed).map(|it| &it.session).collect::<BTreeSet<_>>().len()),
            prompts: used().map(|it| it.prompts).sum(),
            wasted: known.or((findings == 0).then_some(0.0)),
            is_waste_at_least: wasted().any(|it| it.is_unpriced),
            findings,
        }
    }

    /// Returns all agents, or all projects.
    pub(super) fn names(&self, of: impl Fn(&str, Option<&str>) -> Of) -> BTreeSet<Of> {
        self.used.iter().map(|it| of(&it.agent, it.project.as_deref())).collect()
    }

    /// Returns the sums of each period as rows: of everything, then by agent and by project.
    pub(super) fn rows(&self, spans: &[Span]) -> Result<RecordBatch> {
        let agents = self.names(|agent, _| Of::Agent(agent.to_owned()));
        let projects = self.names(|_, project| Of::Project(project.map(str::to_owned)));
        let all: Vec<Of> = [Of::All].into_iter().chain(agents).chain(projects).collect();
        let rows: Vec<(&Span, &Of, Sums)> =
            spans.iter().flat_map(|span| all.iter().map(move |of| (span, of, self.sums(span, of)))).collect();
        let texts = |text: &dyn Fn(&Span, &Of) -> Option<String>| -> ArrayRef {
            Arc::new(rows.iter().map(|(span, of, _)| text(span, of)).collect::<StringArray>())
        };
        let counts = |number: fn(&Sums) -> i64| -> ArrayRef {
            Arc::new(rows.iter().map(|(_, _, sums)| number(sums)).collect::<Int64Array>())
        };
        let amounts = |amount: fn(&Sums) -> Option<f64>| -> ArrayRef {
            Arc::new(rows.iter().map(|(_, _, sums)| amount(sums)).collect::<Float64Array>())
        };
        Ok(RecordBatch::try_from_iter([
            ("period", texts(&|span, _| Some(span.name.clone()))),
            ("first_day", texts(&|span, _| Some(span.first.to_string()))),
            ("last_day", texts(&|span, _| Some(span.last.to_string()))),
            ("by", texts(&|_, of| Some(of.kind().to_owned()))),
            ("name", texts(&|_, of| of.name().map(str::to_owned))),
            ("cost_usd", amounts(|sums| sums.usd)),
            ("unpriced_responses", counts(|sums| sums.unpriced)),
            ("wasted_cost_usd", amounts(|sums| sums.wasted)),
            ("findings", counts(|sums| sums.findings)),
            ("sessions", counts(|sums| sums.sessions)),
            ("prompts", counts(|sums| sums.prompts)),
        ])?)
    }
}

impl Sums {
    /// Adds the cost of others in the same period. Two may share sessions: the largest number of them stays.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            usd: self.usd.into_iter().chain(other.usd).reduce(|sum, usd| sum + usd),
            unpriced: self.unpriced + other.unpriced,
            sessions: self.sessions.max(other.sessions),
            ..self
        }
    }
}

impl Of {
    fn kind(&self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Agent(_) => "agent",
            Self::Project(_) => "project",
        }
    }

    /// Returns the agent or project, if it has a name.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Agent(name) => Some(name),
            Self::Project(name) => name.as_deref(),
        }
    }
}

impl Wasted {
    /// A finding without a time belongs to no period.
    fn of(finding: &FindingRow<'_>, settings: &Settings) -> Option<Self> {
        Some(Self {
            day: value::day_of(finding.first_at?, settings.clock.zone)?,
            agent: finding.agent.to_owned(),
            project: finding.project.map(str::to_owned),
            usd: finding.wasted_cost_usd,
            is_unpriced: detect::is_unpriced(finding),
        })
    }
}

fn used(rows: &RecordBatch) -> Vec<Used> {
    let owned = |column, row| text(rows, column, row).map(str::to_owned);
    let number = |column, row| integer(rows, column, row);
    let row = |row| {
        let (machine, agent) = (owned("machine", row)?, owned("agent", row)?);
        Some(Used {
            day: text(rows, "day", row)?.parse().ok()?,
            project: owned("project", row),
            session: format!("{machine}/{agent}/{}", text(rows, "root_session_id", row)?),
            nanos: number("nanos", row),
            unpriced: number("unpriced", row).unwrap_or(0),
            prompts: number("prompts", row).unwrap_or(0),
            agent,
        })
    };
    (0..rows.num_rows()).filter_map(row).collect()
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waste_without_a_price_is_unknown_and_no_findings_waste_nothing() {
        let day: NaiveDate = "2026-08-14".parse().unwrap();
        let span = Span { name: "today".to_owned(), first: day, last: day };
        let wasted = |amounts: &[Option<f64>]| {
            let finding = |usd: &Option<f64>| Wasted {
                day,
                agent: "codex".to_owned(),
                project: None,
                usd: *usd,
                is_unpriced: usd.is_none(),
            };
            let figures = Figures { used: Vec::new(), wasted: amounts.iter().map(finding).collect() };
            let sums = figures.sums(&span, &Of::All);
            (sums.findings, sums.wasted, sums.is_waste_at_least)
        };
        assert_eq!(wasted(&[None]), (1, None, true));
        assert_eq!(wasted(&[None, Some(1.5)]), (2, Some(1.5), true));
        assert_eq!(wasted(&[Some(1.5)]), (1, Some(1.5), false));
        assert_eq!(wasted(&[]), (0, Some(0.0), false));
    }
}
