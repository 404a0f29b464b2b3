//! The data of the page, read once: results of queries, agents, bars, waste and sessions.

use std::collections::BTreeMap;

use chrono::NaiveDate;

use super::Page;
use super::bars::Bucket;
use super::figures::Figures;
use super::span::Span;
use super::words;
use crate::shown::one_line;
use crate::tables::{FindingColumns, FindingRow};
use crate::{Result, agents};

/// Agents that have a colour of their own.
pub(super) const COLORS: usize = 6;

/// Measure of the bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Usd,
    /// If nothing has a price.
    Tokens,
}

impl Unit {
    /// Returns the column of the queries.
    pub(super) fn column(self) -> &'static str {
        match self {
            Self::Usd => "cost_usd",
            Self::Tokens => "total_tokens",
        }
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Usd => "Cost",
            Self::Tokens => "Tokens",
        }
    }

    /// Returns what a bar without a value has.
    pub(super) fn nothing(self) -> &'static str {
        match self {
            Self::Usd => "nothing with a known cost",
            Self::Tokens => "no recorded tokens",
        }
    }

    pub(super) fn shown(self, amount: f64) -> String {
        match self {
            Self::Usd => words::money(amount),
            Self::Tokens => words::tokens(amount),
        }
    }

    pub(super) fn in_words(self, amount: f64) -> String {
        match self {
            Self::Usd => words::money_in_words(amount),
            Self::Tokens => format!("{} tokens", words::tokens(amount)),
        }
    }
}

/// An agent of the span.
pub(super) struct AgentSum {
    pub(super) title: String,
    /// Its sum; `None` if nothing of it is known.
    pub(super) sum: Option<f64>,
    /// Its sum in each bar; `None` where nothing was recorded.
    pub(super) bars: Vec<Option<f64>>,
}

/// A session with its subagents.
pub(super) struct Root<'f> {
    pub(super) agent: &'f str,
    pub(super) session_id: &'f str,
    pub(super) title: Option<&'f str>,
    pub(super) project: Option<&'f str>,
    pub(super) started_at: Option<i64>,
    pub(super) cost: Option<f64>,
    pub(super) tokens: f64,
    pub(super) responses: f64,
    pub(super) wasted: f64,
}

type RootKey<'f> = (&'f str, &'f str, &'f str);

/// The data of the page.
pub(super) struct Facts<'p> {
    pub(super) page: &'p Page<'p>,
    figures: BTreeMap<&'p str, Figures>,
    none: Figures,
    pub(super) unit: Unit,
    pub(super) buckets: Vec<Bucket>,
    /// The most expensive first.
    pub(super) agents: Vec<AgentSum>,
    pub(super) found: Vec<FindingRow<'p>>,
    pub(super) found_before: Vec<FindingRow<'p>>,
}

impl<'p> Facts<'p> {
    pub(super) fn read(page: &'p Page<'p>) -> Result<Self> {
        let figures = page.results.iter().map(|(key, batch)| Ok((key.as_str(), Figures::of(batch)?)));
        let figures: BTreeMap<&str, Figures> = figures.collect::<Result<_>>()?;
        let findings = |batch| {
            let columns = FindingColumns::of(batch);
            (0..batch.num_rows()).map(move |row| columns.row(row)).collect::<Vec<_>>()
        };
        let mut facts = Self {
            page,
            figures,
            none: Figures::default(),
            unit: Unit::Usd,
            buckets: page.span.buckets(),
            agents: Vec::new(),
            found: findings(&page.findings),
            found_before: page.findings_before.as_ref().map(findings).unwrap_or_default(),
        };
        if facts.total("cost_usd").is_none() && facts.total("total_tokens").is_some() {
            facts.unit = Unit::Tokens;
        }
        facts.agents = facts.agents_by_sum();
        Ok(facts)
    }

    /// Returns the rows of a question.
    pub(super) fn of(&self, key: &str) -> &Figures {
        self.figures.get(key).unwrap_or(&self.none)
    }

    /// Returns a figure of the query `totals`.
    pub(super) fn total(&self, column: &str) -> Option<f64> {
        self.of("totals").only()?.number(column)
    }

    /// Returns a count of the query `totals`.
    pub(super) fn count(&self, column: &str) -> f64 {
        self.total(column).unwrap_or(0.0)
    }

    /// Returns a figure of the time before, if there is one to compare with.
    pub(super) fn total_before(&self, column: &str) -> Option<f64> {
        self.of("totals_before").only()?.number(column)
    }

    /// Returns the time before, if there is one to compare with.
    pub(super) fn before(&self) -> Option<&'p Span> {
        self.page.before.as_ref()
    }

    /// Returns the cost or the tokens of the span.
    pub(super) fn sum(&self) -> f64 {
        self.count(self.unit.column())
    }

    /// Returns the name of the time before, as the head of a column.
    pub(super) fn name_before(&self) -> String {
        self.before().map_or_else(String::new, |before| before.name(&self.page.span))
    }

    /// Returns the place of a day's bar.
    pub(super) fn bucket_of(&self, day: NaiveDate) -> Option<usize> {
        let after = self.buckets.partition_point(|bucket| bucket.first <= day);
        let at = after.checked_sub(1)?;
        self.buckets.get(at).is_some_and(|bucket| day <= bucket.last).then_some(at)
    }

    /// Adds up amounts by bar. A bar without an amount has no record.
    pub(super) fn by_bucket(
        &self,
        amounts: impl Iterator<Item = (Option<NaiveDate>, Option<f64>)>,
    ) -> Vec<Option<f64>> {
        let mut bars = vec![None; self.buckets.len()];
        for (day, amount) in amounts {
            let bar = day.and_then(|day| self.bucket_of(day)).and_then(|at| bars.get_mut(at));
            if let (Some(bar), Some(amount)) = (bar, amount) {
                *bar = Some(bar.unwrap_or(0.0) + amount);
            }
        }
        bars
    }

    /// Adds up a column of a query with a row for each day, by bar.
    pub(super) fn bars(&self, key: &str, column: &str) -> Vec<Option<f64>> {
        self.by_bucket(self.of(key).rows().map(|row| (row.day("day"), row.number(column))))
    }

    fn agents_by_sum(&self) -> Vec<AgentSum> {
        let rows = self.of("cost_by_day_and_agent");
        let mut ids: Vec<&str> = rows.rows().filter_map(|row| row.text("agent")).collect();
        ids.sort_unstable();
        ids.dedup();
        let column = self.unit.column();
        let agent = |id: &str| {
            let own = || rows.rows().filter(|row| row.text("agent") == Some(id));
            AgentSum {
                title: agent_title(id),
                sum: own().filter_map(|row| row.number(column)).reduce(|sum, amount| sum + amount),
                bars: self.by_bucket(own().map(|row| (row.day("day"), row.number(column)))),
            }
        };
        let mut agents: Vec<AgentSum> = ids.into_iter().map(agent).collect();
        agents.sort_by(|one, other| other.sum.unwrap_or(-1.0).total_cmp(&one.sum.unwrap_or(-1.0)));
        agents
    }

    /// Returns the agents with bars, each with the class of its colour. Those after the last colour are one.
    pub(super) fn coloured(&self) -> Vec<(String, String, Vec<Option<f64>>, f64)> {
        let known: Vec<&AgentSum> = self.agents.iter().filter(|agent| agent.sum.is_some()).collect();
        let own = if known.len() > COLORS + 1 { COLORS } else { known.len().min(COLORS) };
        let (own, others) = known.split_at(own);
        let mut coloured: Vec<_> = own
            .iter()
            .enumerate()
            .map(|(at, agent)| {
                (agent.title.clone(), format!("a{}", at + 1), agent.bars.clone(), agent.sum.unwrap_or(0.0))
            })
            .collect();
        if !others.is_empty() {
            let bars = (0..self.buckets.len()).map(|at| {
                let each = others.iter().filter_map(|agent| agent.bars.get(at).copied().flatten());
                each.reduce(|sum, amount| sum + amount)
            });
            let sum = others.iter().filter_map(|agent| agent.sum).sum();
            let name = match others {
                [one] => one.title.clone(),
                _ => format!("{} others", others.len()),
            };
            coloured.push((name, "a0".to_owned(), bars.collect(), sum));
        }
        coloured
    }

    /// Returns what the findings wasted.
    pub(super) fn wasted(&self) -> f64 {
        self.found.iter().filter_map(|finding| finding.wasted_cost_usd).sum()
    }

    /// Returns what the findings of the time before wasted.
    pub(super) fn wasted_before(&self) -> f64 {
        self.found_before.iter().filter_map(|finding| finding.wasted_cost_usd).sum()
    }

    /// Returns the part of the tokens that has no price.
    pub(super) fn unpriced_part(&self) -> f64 {
        let rows = self.of("data_quality").rows();
        let unpriced: f64 = rows
            .filter(|row| row.text("problem") == Some("model without a known price"))
            .map(|row| row.amount("tokens"))
            .sum();
        words::share_of(unpriced, self.count("total_tokens")).unwrap_or(0.0)
    }

    /// Returns the root of each session of the lake.
    fn roots_of_sessions(&self) -> BTreeMap<RootKey<'p>, &'p str> {
        let known = self.page.ids.all().iter();
        let key = |machine: &'p str, agent: &'p str, id: &'p str| (machine, agent, id);
        known.map(|it| (key(&it.machine, &it.agent, &it.session_id), it.root_session_id.as_str())).collect()
    }

    /// Returns the number of main sessions that findings are in.
    pub(super) fn sessions_of(&self, findings: &[&FindingRow<'_>]) -> usize {
        let roots = self.roots_of_sessions();
        let mut sessions: Vec<_> = findings
            .iter()
            .map(|it| {
                let key = (it.machine, it.agent, it.session_id);
                (it.machine, it.agent, roots.get(&key).map_or(it.session_id, |root| root))
            })
            .collect();
        sessions.sort_unstable();
        sessions.dedup();
        sessions.len()
    }

    /// Returns the sessions with their subagents, the most expensive first.
    pub(super) fn roots(&self) -> Vec<Root<'_>> {
        let mut roots: BTreeMap<RootKey<'_>, Root<'_>> = BTreeMap::new();
        for row in self.of("cost_by_session").rows() {
            let text = |name| row.text(name).unwrap_or_default();
            let (session_id, agent) = (text("session_id"), text("agent"));
            let root_id = row.text("root_session_id").unwrap_or(session_id);
            let root = roots.entry((text("machine"), agent, root_id)).or_insert_with(|| Root {
                agent,
                session_id: root_id,
                title: None,
                project: row.text("project"),
                started_at: row.moment("started_at"),
                cost: None,
                tokens: 0.0,
                responses: 0.0,
                wasted: 0.0,
            });
            if session_id == root_id {
                (root.title, root.project) = (row.text("title"), row.text("project").or(root.project));
            }
            root.started_at = [root.started_at, row.moment("started_at")].into_iter().flatten().min();
            root.cost = [root.cost, row.number("cost_usd")].into_iter().flatten().reduce(|sum, usd| sum + usd);
            root.tokens += row.amount("total_tokens");
            root.responses += row.amount("responses");
        }
        let known = self.roots_of_sessions();
        for finding in &self.found {
            let key = (finding.machine, finding.agent, finding.session_id);
            let root = known.get(&key).map_or(finding.session_id, |root| root);
            if let Some(root) = roots.get_mut(&(finding.machine, finding.agent, root)) {
                root.wasted += finding.wasted_cost_usd.unwrap_or(0.0);
            }
        }
        let mut roots: Vec<Root<'_>> = roots.into_values().collect();
        roots.sort_by(|one, other| {
            let cost = |root: &Root<'_>| root.cost.unwrap_or(-1.0);
            cost(other).total_cmp(&cost(one)).then(other.tokens.total_cmp(&one.tokens))
        });
        roots
    }

    /// Returns what findings wasted in a project.
    pub(super) fn wasted_in(&self, project: Option<&str>) -> f64 {
        self.found.iter().filter(|it| it.project == project).filter_map(|it| it.wasted_cost_usd).sum()
    }

    /// Returns the day of a time, with its year if the span has several.
    pub(super) fn day(&self, moment: i64) -> String {
        words::day(self.page.span.day_of(moment), self.page.span.has_years())
    }

    /// Returns a command that gives the rows of a query.
    pub(super) fn query(&self, name: &str) -> String {
        format!("llrem query {name}{}", self.page.options())
    }
}

/// Returns the name of an agent for people.
pub(super) fn agent_title(id: &str) -> String {
    agents::by_id(id).map_or_else(|| one_line(id), |agent| agent.about().title.to_owned())
}

/// Returns the name of a project for people.
pub(super) fn project_name(project: Option<&str>) -> String {
    project.map_or_else(|| "no project".to_owned(), one_line)
}
