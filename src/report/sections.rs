//! The sections of the page: a canned query each, as a table and sometimes a plot.

use arrow::array::RecordBatch;
use maud::{Markup, html};

use super::Page;
use super::figures::{Figures, Kind};
use super::plot::{self, Plot, Series};
use crate::Result;
use crate::tables::{ColumnDef, FINDINGS};

/// The query of the headline.
pub(super) const TOTALS: &str = "totals";
/// Its columns, with labels.
pub(super) const HEADLINE: [(&str, &str); 9] = [
    ("cost_usd", "Cost"),
    ("sessions", "Sessions"),
    ("prompts", "Prompts"),
    ("responses", "Responses"),
    ("total_tokens", "Tokens"),
    ("input_tokens", "Input tokens, uncached"),
    ("cache_read_tokens", "Tokens read from a cache"),
    ("cache_write_tokens", "Tokens written to a cache"),
    ("output_tokens", "Output tokens"),
];
/// Columns of the findings that are shown.
const FOUND: [&str; 8] =
    ["severity", "wasted_cost_usd", "detector", "explanation", "evidence", "project", "started_at", "session_id"];
pub(super) const FINDINGS_TITLE: &str = "What was wasted";
/// Query of the section that follows the findings.
pub(super) const AFTER_FINDINGS: &str = "cost_by_session";
/// Most findings that are shown.
const MOST_FINDINGS: usize = 30;

/// A section with a canned query.
pub(super) struct Section {
    pub(super) query: &'static str,
    /// Value of the query's parameter `by`.
    pub(super) by: Option<&'static str>,
    /// Its columns that are shown.
    columns: &'static [&'static str],
    /// The column with a bar for each value, relative to the largest.
    bar: Option<&'static str>,
    /// Most rows that are shown.
    most: usize,
    /// The query of the plot, if it is another one.
    pub(super) plotted: Option<&'static str>,
    drawing: Option<Drawing>,
}

type Drawing = fn(&Page<'_>) -> Result<Option<(Plot, Markup)>>;

const ALL: usize = usize::MAX;

pub(super) const SECTIONS: &[Section] = &[
    Section {
        query: "cost_by_day",
        by: None,
        columns: &[
            "day",
            "cost_usd",
            "unpriced_responses",
            "sessions",
            "responses",
            "input_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
            "output_tokens",
        ],
        bar: Some("cost_usd"),
        most: ALL,
        plotted: Some("cost_by_day_and_agent"),
        drawing: Some(cost_by_day),
    },
    Section {
        query: "cost_by_agent",
        by: None,
        columns: &["agent", "cost_usd", "unpriced_responses", "sessions", "responses", "output_tokens", "last_used"],
        bar: Some("cost_usd"),
        most: ALL,
        plotted: None,
        drawing: None,
    },
    Section {
        query: "cost_by_project",
        by: None,
        columns: &["project", "cost_usd", "unpriced_responses", "sessions", "responses", "output_tokens", "last_used"],
        bar: Some("cost_usd"),
        most: 25,
        plotted: None,
        drawing: None,
    },
    Section {
        query: "cost_by_model",
        by: None,
        columns: &[
            "model",
            "cost_usd",
            "unpriced_responses",
            "million_tokens_usd",
            "responses",
            "input_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
            "output_tokens",
        ],
        bar: Some("cost_usd"),
        most: 25,
        plotted: None,
        drawing: None,
    },
    Section {
        query: "cache_hit_rate_by_day",
        by: None,
        columns: &["day", "hit_rate", "responses", "all_input_tokens", "cache_read_tokens", "cache_write_tokens"],
        bar: None,
        most: ALL,
        plotted: None,
        drawing: Some(cache_hit_rate),
    },
    Section {
        query: "hours_of_week",
        by: None,
        columns: &["weekday", "hour", "responses", "sessions", "total_tokens", "cost_usd"],
        bar: None,
        most: ALL,
        plotted: None,
        drawing: Some(hours_of_week),
    },
    Section {
        query: "tool_use",
        by: None,
        columns: &["agent", "name", "category", "calls", "errors", "error_rate", "rejections", "interruptions"],
        bar: Some("calls"),
        most: 30,
        plotted: None,
        drawing: None,
    },
    Section {
        query: "cost_by_session",
        by: None,
        columns: &["started_at", "project", "title", "cost_usd", "responses", "total_tokens", "agent", "session_id"],
        bar: Some("cost_usd"),
        most: 20,
        plotted: None,
        drawing: None,
    },
    Section {
        query: "data_quality",
        by: None,
        columns: &["agent", "problem", "what", "items", "tokens", "list_cost_usd"],
        bar: None,
        most: 50,
        plotted: None,
        drawing: None,
    },
];

pub(super) const BROUGHT_TITLE: &str = "What the money brought";
/// Query of the section that follows "What the money brought".
pub(super) const AFTER_BROUGHT: &str = "cache_hit_rate_by_day";

const COMPARED: &[&str] = &[
    "agent",
    "value",
    "sessions",
    "turns",
    "usd_per_turn",
    "usd_low",
    "usd_high",
    "failed_share",
    "failed_low",
    "failed_high",
];

const PART: Section = Section { query: "", by: None, columns: &[], bar: None, most: 15, plotted: None, drawing: None };

/// The parts of the section about what the money brought.
pub(super) const BROUGHT: &[Section] = &[
    Section {
        query: "cost_by_branch",
        columns: &["repository", "branch", "cost_usd", "unpriced_responses", "sessions", "responses", "last_used"],
        bar: Some("cost_usd"),
        ..PART
    },
    Section {
        query: "cost_by_pull_request",
        columns: &["pull_request", "basis", "cost_usd", "unpriced_responses", "sessions", "responses", "last_used"],
        bar: Some("cost_usd"),
        ..PART
    },
    Section {
        query: "output_by_project",
        columns: &[
            "project",
            "cost_usd",
            "edits",
            "lines_added",
            "lines_removed",
            "commits",
            "pull_requests",
            "test_runs",
            "passed_runs",
            "failed_runs",
        ],
        bar: Some("cost_usd"),
        ..PART
    },
    Section { query: "compare", by: Some("model"), columns: COMPARED, ..PART },
    Section { query: "compare", by: Some("effort"), columns: COMPARED, ..PART },
    Section {
        query: "limits",
        columns: &[
            "agent",
            "plan",
            "limit_length",
            "first_percent",
            "highest_percent",
            "first_seen",
            "last_seen",
            "responses",
            "cost_usd",
            "usd_per_percent",
        ],
        ..PART
    },
];

impl Section {
    /// Returns the name of its rows among the results.
    pub(super) fn key(&self) -> String {
        self.by.map_or_else(|| self.query.to_owned(), |by| format!("{}_by_{by}", self.query))
    }

    /// Returns the id of the section in the page.
    pub(super) fn id(&self) -> String {
        self.key().replace('_', "-")
    }

    pub(super) fn title(&self, page: &Page<'_>) -> String {
        let title = page.queries.find(self.query).map(|canned| canned.title.clone()).unwrap_or_default();
        self.by.map(|by| format!("{title}, by {by}")).unwrap_or(title)
    }

    fn has_rows(&self, page: &Page<'_>) -> bool {
        page.results.get(&self.key()).is_some_and(|rows| rows.num_rows() > 0)
    }

    pub(super) fn markup(&self, page: &Page<'_>, heading: Heading) -> Result<Markup> {
        let canned = page.queries.find(self.query)?;
        let content = match (page.unanswered.get(self.query), page.results.get(&self.key())) {
            (Some(reason), _) => html! { p { (reason) } },
            (None, Some(rows)) if rows.num_rows() > 0 => self.content(page, rows)?,
            _ => html! { p { "Nothing." } },
        };
        let names = page.filters.iter().map(|(name, _)| *name);
        let unknown: Vec<&str> = names.filter(|name| canned.parameter(name).is_none()).collect();
        Ok(html! {
            section id=(self.id()) {
                (heading(&self.title(page)))
                p.soft {
                    (canned.about)
                    @if !canned.note.is_empty() { " " (canned.note) }
                    @if !unknown.is_empty() { " Not limited by " (unknown.join(", ")) "." }
                }
                (content)
            }
        })
    }

    fn content(&self, page: &Page<'_>, rows: &RecordBatch) -> Result<Markup> {
        let canned = page.queries.find(self.query)?;
        let doc = |column: &str| {
            let known = canned.columns.iter().find(|(name, _)| name == column);
            known.map(|(_, doc)| doc.clone()).unwrap_or_default()
        };
        let by = self.by.map(|by| format!(" --param by={by}")).unwrap_or_default();
        let command = format!("llrem query {}{by}", self.query);
        let table = table(rows, self.columns, self.bar, self.most, &doc, &command)?;
        let drawn = self.drawing.map(|draw| draw(page)).transpose()?.flatten();
        Ok(match drawn {
            Some((plot, legend)) => html! {
                figure { (plot.markup()) figcaption { (legend) } }
                details { summary { "The figures" } (table) }
            },
            None => table,
        })
    }
}

/// Renders a heading.
pub(super) type Heading = fn(&str) -> Markup;

pub(super) fn heading_of_section(title: &str) -> Markup {
    html! { h2 { (title) } }
}

fn heading_of_part(title: &str) -> Markup {
    html! { h3 { (title) } }
}

/// Renders what the money brought. Parts without rows are left out.
pub(super) fn brought(page: &Page<'_>) -> Result<Markup> {
    let parts = BROUGHT.iter().filter(|part| part.has_rows(page));
    let parts = parts.map(|part| part.markup(page, heading_of_part)).collect::<Result<Vec<_>>>()?;
    Ok(html! {
        section id="brought" {
            h2 { (BROUGHT_TITLE) }
            @for part in &parts { (part) }
        }
    })
}

/// Renders the findings.
pub(super) fn findings(page: &Page<'_>) -> Result<Markup> {
    let doc = |column: &str| {
        let known = FINDINGS.columns.iter().find(|known| known.name == column);
        known.map(ColumnDef::described).unwrap_or_default()
    };
    let found = &page.findings;
    Ok(html! {
        section id="findings" {
            h2 { (FINDINGS_TITLE) }
            p.soft { "What the detectors found, the most expensive first; no dollar of a session counts twice." }
            p { (page.tally) "." }
            @if found.num_rows() > 0 {
                (table(found, &FOUND, Some("wasted_cost_usd"), MOST_FINDINGS, &doc, "llrem detect")?)
            }
        }
    })
}

/// Renders the first rows of a result, and where to get the others.
fn table(
    rows: &RecordBatch,
    columns: &[&str],
    bar: Option<&str>,
    most: usize,
    doc: &dyn Fn(&str) -> String,
    command: &str,
) -> Result<Markup> {
    let first = Figures::first(rows, most);
    let mut cells = Vec::new();
    for name in columns {
        if let Some(kind) = first.kind(name) {
            cells.push((*name, kind, first.texts(name)?));
        }
    }
    let bars = bar.map(|column| shares(&first, column)).transpose()?.unwrap_or_default();
    let left = rows.num_rows() - first.rows();
    Ok(html! {
        div.scroll {
            table {
                thead { tr { @for (name, kind, _) in &cells {
                    th class=[class(name, *kind)] scope="col" title=(doc(name)) { (heading(name)) }
                } } }
                tbody { @for row in 0..first.rows() { tr { @for (name, kind, texts) in &cells {
                    td class=[class(name, *kind)] {
                        (texts.get(row).map_or("", String::as_str))
                        @if bar == Some(*name) { (share(bars.get(row).copied().unwrap_or_default())) }
                    }
                } } } }
            }
        }
        @if left > 0 { p.soft { "And " (left) " more: " code { (command) } "." } }
    })
}

fn heading(column: &str) -> String {
    let name = if column.ends_with("cost_usd") { column.trim_end_matches("_usd") } else { column };
    name.replace('_', " ")
}

fn class(column: &str, kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Money | Kind::Share | Kind::Number => Some("number"),
        // Columns with sentences.
        Kind::Text if matches!(column, "title" | "explanation" | "evidence" | "problem") => Some("text"),
        Kind::Moment => Some("moment"),
        Kind::Text => None,
    }
}

/// Returns each value's share of the largest. Percent.
fn shares(figures: &Figures<'_>, column: &str) -> Result<Vec<f64>> {
    let values: Vec<f64> = figures.numbers(column)?.into_iter().map(Option::unwrap_or_default).collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    Ok(values.into_iter().map(|value| if most > 0.0 { value / most * 100.0 } else { 0.0 }).collect())
}

fn share(percent: f64) -> Markup {
    html! {
        @if percent > 0.0 { svg.bar viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
            rect width=(format!("{percent:.1}")) height="4" fill=(plot::code(plot::color(0))) {}
        } }
    }
}

/// Returns the agents, most expensive first, with the cost of each by day.
fn cost_by_day(page: &Page<'_>) -> Result<Option<(Plot, Markup)>> {
    let figures = page.figures("cost_by_day_and_agent");
    let (days, agents) = (figures.numbers("day")?, figures.texts("agent")?);
    let costs = figures.numbers("cost_usd")?;
    let mut series: Vec<Series> = Vec::new();
    for name in page.figures("cost_by_agent").texts("agent")? {
        let rows = days.iter().zip(&agents).zip(&costs).filter(|((_, agent), _)| **agent == name);
        let values = rows.filter_map(|((day, _), cost)| Some((whole((*day)?)?, (*cost)?)));
        let of_agent = Series::new(name.clone(), values);
        if !of_agent.is_empty() {
            series.push(of_agent);
        }
    }
    let Some(plot) = plot::stacked("cost-by-day-plot", "Cost by day and agent", &series)? else { return Ok(None) };
    let others = series.len() > series.iter().enumerate().filter(|(place, _)| plot::has_color(*place)).count();
    let legend = html! {
        @for (place, series) in series.iter().enumerate().filter(|(place, _)| plot::has_color(*place)) {
            span { (key(place)) (series.name) }
        }
        @if others { span { (key(series.len())) "others" } }
    };
    Ok(Some((plot, legend)))
}

fn key(place: usize) -> Markup {
    html! {
        svg.key viewBox="0 0 10 10" aria-hidden="true" {
            rect width="10" height="10" fill=(plot::code(plot::color(place))) {}
        }
    }
}

fn cache_hit_rate(page: &Page<'_>) -> Result<Option<(Plot, Markup)>> {
    let figures = page.figures("cache_hit_rate_by_day");
    let rates = figures.numbers("day")?.into_iter().zip(figures.numbers("hit_rate")?);
    let values = rates.filter_map(|(day, rate)| Some((whole(day?)?, rate?)));
    let series = Series::new(String::new(), values);
    let plot = plot::line("cache-hit-rate-plot", "Cache hit rate by day", &series)?;
    Ok(plot.map(|plot| (plot, html! {})))
}

fn hours_of_week(page: &Page<'_>) -> Result<Option<(Plot, Markup)>> {
    let figures = page.figures("hours_of_week");
    let places = figures.numbers("weekday")?.into_iter().zip(figures.numbers("hour")?);
    let fields = places.zip(figures.numbers("responses")?);
    let hours = fields.filter_map(|((weekday, hour), count)| Some(((whole(weekday?)?, whole(hour?)?), count?)));
    let plot = plot::week("hours-of-week-plot", "Responses by hour of the week", &hours.collect())?;
    Ok(plot.map(|plot| (plot, html! { "The stronger the colour, the more responses." })))
}

/// Converts an integer to a number. Returns `None` if it is too large.
fn whole(number: f64) -> Option<i32> {
    let is_whole = number.fract() == 0.0 && number.abs() < f64::from(i32::MAX);
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
    is_whole.then_some(number as i32)
}
