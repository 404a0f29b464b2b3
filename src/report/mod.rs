//! The report: one self-contained HTML page about cost and waste, without scripts, fonts or pictures from elsewhere.
//!
//! The first screen answers a manager alone; then comes what was avoidable, then what the money brought. Every figure comes
//! from a canned query or from the table `findings`. Texts from transcripts are escaped.

mod bars;
mod brought;
mod days;
mod facts;
mod figures;
mod left_out;
mod plots;
mod recent;
mod sections;
mod sentence;
mod span;
mod table;
mod tiles;
mod waste;
mod words;

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use chrono::DateTime;
use chrono_tz::Tz;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::Result;
use crate::query::canned::Canned;
use crate::query::short_id::SessionIds;
use crate::shown::one_line;
use crate::shown::value::STALE_DAYS;
use facts::{Facts, agent_title};
pub use span::Span;

/// Generator in the page, by which llrem recognises its own pages.
pub const GENERATOR: &str = "llrem report";

const STYLE: &str = include_str!("style.css");

/// The content of a page.
pub struct Page<'a> {
    /// When it is created, in the time zone of its days and hours.
    pub made_at: DateTime<Tz>,
    /// The period of the page.
    pub span: Span,
    /// The period before, if the lake has enough of it.
    pub before: Option<Span>,
    /// Only this project.
    pub project: Option<&'a str>,
    /// Only this agent.
    pub agent: Option<&'a str>,
    /// First and last record of the lake. Microseconds since 1970.
    pub records: Option<(i64, i64)>,
    /// When the last run of `llrem etl` ended, if that is known. Microseconds since 1970.
    pub extracted_at: Option<i64>,
    /// The detectors that ran.
    pub detectors: Vec<&'a Canned>,
    /// The rows of each of [`questions`], by key.
    pub results: BTreeMap<String, RecordBatch>,
    /// The findings, those with most waste first.
    pub findings: RecordBatch,
    /// The findings of the time before.
    pub findings_before: Option<RecordBatch>,
    /// All sessions of the lake.
    pub ids: &'a SessionIds,
    /// Why some problems are not counted.
    pub unanswered: Option<&'static str>,
}

/// The time of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// That of the page.
    Now,
    /// The time before.
    Before,
    /// The last weeks or months, until the end of the page's time.
    Recent,
}

/// A canned query that a page shows.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// Name of its rows among the results.
    pub key: &'static str,
    /// Name of the query.
    pub query: &'static str,
    /// Value of its parameter `by`, if it is not the default.
    pub by: Option<&'static str>,
    /// Its time.
    pub when: When,
}

/// The queries of each part of the page.
const SOURCES: [(&str, &[&str]); 10] = [
    (
        "Headline, tiles",
        &["totals", "cost_by_day", "cache_savings", "hours_by_project_day", "cost_by_week", "cost_by_month"],
    ),
    ("Cost by day", &["cost_by_day_and_agent", "cost_by_agent"]),
    (
        "What it brought",
        &[
            "output_by_project",
            "cost_by_commit",
            "cost_by_branch",
            "cost_by_pull_request",
            "test_runs",
            "edits_without_tests",
        ],
    ),
    ("Projects, models", &["cost_by_project", "cost_by_model"]),
    ("Caches", &["cache_hit_rate_by_day"]),
    ("Sessions", &["cost_by_session"]),
    ("When", &["hours_of_week"]),
    ("Tools", &["tool_use"]),
    ("Limits", &["limits", "limit_hits"]),
    ("Left out", &["data_quality"]),
];

/// Returns the canned queries that a page shows.
pub fn questions() -> Vec<Question> {
    let now = SOURCES.iter().flat_map(|(_, queries)| *queries).map(|query| {
        let when = if matches!(*query, "cost_by_week" | "cost_by_month") { When::Recent } else { When::Now };
        Question { key: query, query, by: None, when }
    });
    let before = [
        ("totals_before", "totals"),
        ("cost_by_day_and_agent_before", "cost_by_day_and_agent"),
        ("cache_savings_before", "cache_savings"),
        ("hours_by_project_day_before", "hours_by_project_day"),
        ("cost_by_project_before", "cost_by_project"),
        ("output_by_project_before", "output_by_project"),
    ];
    let before = before.map(|(key, query)| Question { key, query, by: None, when: When::Before });
    let effort = Question { key: "compare_by_effort", query: "compare", by: Some("effort"), when: When::Now };
    now.chain(before).chain([effort]).collect()
}

/// Returns the head of a page, which allows nothing but its own style.
pub(crate) fn head(title: &str, generator: &str, style: &str) -> Markup {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        BASE64_STANDARD.encode(Sha256::digest(style.as_bytes()))
    );
    html! {
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            meta name="generator" content=(generator);
            title { (title) }
            style { (PreEscaped(style)) }
        }
    }
}

/// A part of the page: its id, its name in the list of parts, its title and its content.
type Part = (&'static str, &'static str, &'static str, Markup);

impl Page<'_> {
    /// Renders the page.
    ///
    /// # Errors
    /// Fails with [`crate::Error::Arrow`] if a column has an unexpected type.
    pub fn html(&self) -> Result<String> {
        let facts = Facts::read(self)?;
        let is_empty = facts.count("sessions") == 0.0;
        let title = if is_empty {
            format!("What coding agents cost, {}", self.span.title())
        } else {
            format!("What coding agents cost, {}: {}", self.span.title(), sentence::headline(&facts))
        };
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head(&title, GENERATOR, STYLE))
                body {
                    header {
                        p.kicker { "What coding agents cost" }
                        h1 { (if !is_empty || self.has_time() { self.span.title() } else { "No sessions yet".to_owned() }) }
                        p.scope { (self.scope()) }
                        @if !is_empty { (sentence::sentences(&facts)) }
                    }
                    main { @if is_empty { (self.nothing()) } @else { (content(&facts)) } }
                    (self.footer())
                }
            }
        };
        Ok(page.into_string())
    }

    /// True if the page is about a time that somebody named, or that the lake has.
    fn has_time(&self) -> bool {
        self.records.is_some() || self.span.since().is_some() || self.span.until().is_some()
    }

    fn scope(&self) -> String {
        let zone = self.made_at.timezone().name();
        let all = |what: &str| format!("all {what}");
        let whose = format!(
            "{}, {}",
            self.project.map_or_else(|| all("projects"), |project| format!("project {}", one_line(project))),
            self.agent.map_or_else(|| all("agents"), agent_title)
        );
        let mut parts = Vec::new();
        if self.has_time() {
            let days = self.span.range(false);
            parts.push(if self.span.title() == days { zone.to_owned() } else { format!("{days}, {zone}") });
        }
        parts.extend([whose, "list prices: what the same use would cost without a subscription".to_owned()]);
        parts.extend(self.before.map(|before| {
            let name = if before.title().starts_with(char::is_numeric) { before.range(true) } else { before.title() };
            format!("compared with {name}")
        }));
        parts.join(" · ")
    }

    /// Returns the options of a command that asks for the same.
    fn options(&self) -> String {
        let named = |option: &str, value: Option<&str>| {
            value.map_or_else(String::new, |value| format!(" --{option} {}", quoted(&one_line(value))))
        };
        self.span.options() + &named("project", self.project) + &named("agent", self.agent)
    }

    /// Returns a caveat if the lake is older than what the page is about.
    fn staleness(&self) -> Option<String> {
        let extracted = DateTime::from_timestamp_micros(self.extracted_at?)?;
        let hours = self.made_at.to_utc().signed_duration_since(extracted).num_hours();
        let is_behind = self.span.until().is_none_or(|until| until > extracted.timestamp_micros());
        let day = self.span.day_of(extracted.timestamp_micros());
        (hours > 24 * STALE_DAYS && is_behind).then(|| format!("nothing after {} was read", day.format("%-d %B %Y")))
    }

    fn nothing(&self) -> Markup {
        let days = |(first, last): (i64, i64)| {
            Span::new(self.made_at.to_utc(), self.made_at.timezone(), (None, None), Some((first, last)))
        };
        html! {
            @match self.records {
                None => p.lead { "The lake has no sessions yet; " code { "llrem etl" } " extracts what agents left on a machine." },
                Some(records) => {
                    p.lead { "The lake has no sessions that fit." }
                    p { "It has " (days(records).title()) ". For all of it: " code { "llrem report --all" } }
                }
            }
        }
    }

    fn footer(&self) -> Markup {
        let all = if self.span.since().is_none() && self.span.until().is_none() { " --all" } else { "" };
        let read = self.extracted_at.and_then(DateTime::from_timestamp_micros);
        let read = read.map(|read| read.with_timezone(&self.made_at.timezone()).format("%-d %B %Y, %H:%M").to_string());
        html! {
            footer {
                p {
                    "Made by " code { "llrem report" (all) (self.options()) } " (" (env!("CARGO_PKG_VERSION")) ") on "
                    time datetime=(self.made_at.to_rfc3339()) { (self.made_at.format("%-d %B %Y, %H:%M")) } " "
                    (self.made_at.timezone().name())
                    @if let Some(read) = read { "; sources read on " (read) }
                    ". Prices: the agent’s own where recorded, else the list price of the day; a subscription is not considered. "
                    "The page holds no script and loads nothing."
                }
                details.pr {
                    summary { "Where each figure comes from" }
                    ul.src {
                        @for (what, queries) in SOURCES {
                            li { b { (what) } @for query in queries { " " code { (query) } } }
                        }
                        li { b { "Avoidable" } " " code { "llrem detect" } ", table " code { "findings" } }
                        li { b { "Reasoning effort" } " " code { "compare --param by=effort" } }
                    }
                }
            }
        }
    }
}

/// Renders what comes after the sentences.
fn content(facts: &Facts<'_>) -> Markup {
    let (first, second, rest) = parts(facts);
    let nav = first.iter().chain(&second).chain(&rest);
    html! {
        (tiles::tiles(facts))
        nav aria-label="Sections" {
            ul { @for (id, name, ..) in nav { li { a href=(format!("#{id}")) { (name) } } } }
        }
        @for part in &first { (section(part)) }
        @match second.as_slice() {
            [] => {}
            [one] => { (section(one)) }
            several => { div.half { @for part in several { (section(part)) } } }
        }
        @for part in &rest { (section(part)) }
    }
}

/// Returns the parts of the page: those before two that stand next to each other, these two, and the others.
fn parts(facts: &Facts<'_>) -> (Vec<Part>, Vec<Part>, Vec<Part>) {
    let by = match facts.page.span.step().noun() {
        "hour" => "By hour",
        "day" => "By day",
        "week" => "By week",
        _ => "By month",
    };
    let optional = |id, name, title, content: Option<Markup>| content.map(|content| (id, name, title, content));
    let of_rows = |query: &str, content: fn(&Facts<'_>) -> Markup| (facts.of(query).len() > 0).then(|| content(facts));
    let has_amounts = facts.total(facts.unit.column()).is_some();
    let first = [
        optional("days", by, "Where the money went", has_amounts.then(|| days::section(facts))),
        Some(("waste", "Avoidable", "What was avoidable", waste::section(facts))),
        optional("output", "What it brought", "What the money brought", brought::section(facts)),
        optional("projects", "Projects", "Projects", of_rows("cost_by_project", sections::projects)),
        optional("models", "Models", "Models", of_rows("cost_by_model", sections::models)),
        optional("cache", "Caches", "What caches saved", sections::caches(facts)),
        optional("sessions", "Sessions", "Most expensive sessions", of_rows("cost_by_session", sections::sessions)),
    ];
    let second = [
        optional("when", "When", "When the work was done", sections::hours(facts)),
        optional("tools", "Tools", "Tools that failed", sections::tools(facts)),
    ];
    let rest = [
        optional("limits", "Limits", "How near the limits", sections::limits(facts)),
        Some(("left-out", "What is left out", "What is left out or uncertain", left_out::section(facts))),
    ];
    let known = |parts: Vec<Option<Part>>| parts.into_iter().flatten().collect();
    (known(first.into()), known(second.into()), known(rest.into()))
}

fn section((id, _, title, content): &Part) -> Markup {
    let heading = format!("{id}-h");
    html! {
        section id=(id) aria-labelledby=(heading) {
            h2 id=(heading) { (title) }
            (content)
        }
    }
}

/// Returns a value as an argument of a shell.
fn quoted(value: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./@:+".contains(letter);
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', "'\\''"))
}
