//! The report: one self-contained HTML page about cost and waste, without scripts, fonts or pictures from elsewhere.
//!
//! Every figure comes from a canned query or from the table `findings`. Texts from transcripts are escaped.

mod figures;
mod plot;
mod sections;

use std::collections::BTreeMap;

use arrow::array::RecordBatch;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use chrono::DateTime;
use chrono_tz::Tz;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::Result;
use crate::query::canned::Library;
use figures::{Figures, Kind, shown};
use sections::{BROUGHT, SECTIONS};

/// Generator in the page, by which llrem recognises its own pages.
pub const GENERATOR: &str = "llrem report";

const STYLE: &str = include_str!("style.css");

/// The content of a page.
pub struct Page<'a> {
    /// When it is created, in the time zone of its days and hours.
    pub made_at: DateTime<Tz>,
    /// Its filters: names and values.
    pub filters: Vec<(&'static str, String)>,
    /// The canned queries, for their titles and the meanings of their columns.
    pub queries: &'a Library,
    /// The rows of each of [`questions`], by key.
    pub results: BTreeMap<String, RecordBatch>,
    /// The findings, those with most waste first.
    pub findings: RecordBatch,
    /// Summary of the findings, in a sentence.
    pub tally: String,
    /// Queries that cannot run on this lake, and the reasons.
    pub unanswered: BTreeMap<&'static str, &'static str>,
}

/// A canned query that a page shows.
pub struct Question {
    /// Name of its rows among the results.
    pub key: String,
    /// Name of the query.
    pub query: &'static str,
    /// Value of its parameter `by`, if it is not the default.
    pub by: Option<&'static str>,
}

/// Returns the canned queries that a page shows.
pub fn questions() -> Vec<Question> {
    let alone = |query: &'static str| Question { key: query.to_owned(), query, by: None };
    let sections = SECTIONS.iter().chain(BROUGHT).flat_map(|section| {
        let own = Question { key: section.key(), query: section.query, by: section.by };
        [Some(own), section.plotted.map(alone)].into_iter().flatten()
    });
    [alone(sections::TOTALS)].into_iter().chain(sections).collect()
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

impl Page<'_> {
    /// Renders the page.
    ///
    /// # Errors
    /// Fails with [`crate::Error::Query`] if a plot cannot be drawn, and with [`crate::Error::Arrow`] if a column has
    /// an unexpected type.
    pub fn html(&self) -> Result<String> {
        let body = if self.is_empty()? { self.nothing() } else { self.sections()? };
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                (head("What coding agents cost", GENERATOR, STYLE))
                body {
                    header {
                        h1 { "What coding agents cost" }
                        p.soft { (self.scope()) }
                    }
                    main { (body) }
                    footer.soft {
                        p {
                            "Made by " code { "llrem report" } " (" (env!("CARGO_PKG_VERSION")) ") on "
                            time datetime=(self.made_at.to_rfc3339()) { (self.made_at.format("%Y-%m-%d %H:%M")) }
                            ". Days and hours are those of " (self.made_at.timezone().name()) "."
                        }
                    }
                }
            }
        };
        Ok(page.into_string())
    }

    fn scope(&self) -> Markup {
        html! {
            @if self.filters.is_empty() { "The whole lake." }
            @for (place, (name, value)) in self.filters.iter().enumerate() {
                @if place > 0 { " · " }
                (name) " " b { (crate::shown::visible(value)) }
            }
        }
    }

    fn is_empty(&self) -> Result<bool> {
        Ok(self.figures(sections::TOTALS).sum("sessions")? == 0.0)
    }

    fn nothing(&self) -> Markup {
        html! {
            p {
                @if self.filters.is_empty() {
                    "The lake has no sessions yet; " code { "llrem etl" } " extracts what agents left on a machine."
                } @else {
                    "The lake has no sessions that fit."
                }
            }
        }
    }

    fn sections(&self) -> Result<Markup> {
        let (mut links, mut parts) = (Vec::new(), Vec::new());
        for section in SECTIONS {
            if section.query == sections::AFTER_BROUGHT {
                links.push(("brought".to_owned(), sections::BROUGHT_TITLE.to_owned()));
                parts.push(sections::brought(self)?);
            }
            if section.query == sections::AFTER_FINDINGS {
                links.push(("findings".to_owned(), sections::FINDINGS_TITLE.to_owned()));
                parts.push(sections::findings(self)?);
            }
            links.push((section.id(), section.title(self)));
            parts.push(section.markup(self, sections::heading_of_section)?);
        }
        Ok(html! {
            (self.totals()?)
            nav aria-label="Sections" {
                ul { @for (id, title) in &links { li { a href=(format!("#{id}")) { (title) } } } }
            }
            @for part in &parts { (part) }
        })
    }

    /// Renders the most important figures, and what they leave out.
    fn totals(&self) -> Result<Markup> {
        let totals = self.figures(sections::TOTALS);
        let mut headline = Vec::new();
        for (column, name) in sections::HEADLINE {
            headline.push((name, totals.texts(column)?.into_iter().next().unwrap_or_default()));
        }
        let (unpriced, partial) = (totals.sum("unpriced_responses")?, totals.sum("partial_responses")?);
        Ok(html! {
            dl { @for (name, value) in &headline { div { dt { (name) } dd { @if value.is_empty() { "–" } @else { (value) } } } } }
            @if unpriced > 0.0 {
                p.warn {
                    (shown(Kind::Number, Some(unpriced))) " responses have no known price, and the cost leaves them out: "
                    (self.unpriced()?)
                }
            }
            @if partial > 0.0 {
                p.warn {
                    "The counts of " (shown(Kind::Number, Some(partial)))
                    " responses are not exact: rounded, estimated, or taken before the response ended. Most cost more than shown here."
                }
            }
        })
    }

    fn unpriced(&self) -> Result<String> {
        let models = self.figures("cost_by_model");
        let counts = models.numbers("unpriced_responses")?;
        let named = models.texts("model")?.into_iter().zip(counts).filter_map(|(model, count)| {
            let count = count.filter(|count| *count > 0.0)?;
            let model = if model.is_empty() { "(no model)" } else { &model };
            Some(format!("{model} ({})", shown(Kind::Number, Some(count))))
        });
        Ok(named.collect::<Vec<_>>().join(", "))
    }

    fn figures(&self, query: &str) -> Figures<'_> {
        self.results.get(query).map_or_else(Figures::none, Figures::of)
    }
}
