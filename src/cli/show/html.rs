//! A session as one self-contained HTML page, without scripts, and without anything from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::read::{Facts, Spent, Subagent};
use super::{Folded, Writer, words};
use crate::cli::when::Clock;
use crate::report;
use crate::shown::{one_line, value, visible};
use crate::tables::{FindingRow, MessageRow, Severity, Status, ToolCallRow, Vocabulary};

const STYLE: &str = include_str!("style.css");

/// Generator in the page.
const GENERATOR: &str = "llrem show";

/// Writes a page.
pub(super) struct Html {
    clock: Clock,
    folded: Folded,
    out: String,
    project_path: Option<String>,
    is_subagent: bool,
}

impl Html {
    pub(super) fn new(facts: &Facts, clock: Clock, folded: Folded) -> Self {
        let row = facts.row();
        let project_path = row.project_path.map(str::to_owned);
        Self { clock, folded, out: String::new(), project_path, is_subagent: row.is_subagent }
    }

    fn push(&mut self, markup: &Markup) {
        self.out.push_str(&markup.0);
        self.out.push('\n');
    }
}

/// Returns a text with its lines, without characters that hide or reorder text.
fn block(text: &str) -> String {
    let lines = text.trim_end().lines().skip_while(|line| line.trim().is_empty());
    lines.map(|line| visible(&line.replace('\t', "    ")).into_owned()).collect::<Vec<_>>().join("\n")
}

fn joined(parts: &[String]) -> String {
    one_line(&parts.join(" · "))
}

fn subagent_line(facts: &Facts, subagent: &Subagent) -> Markup {
    html! {
        p.soft { (one_line(&words::subagent(subagent))) ": "
            code { "llrem show " (one_line(&facts.ids.short(&subagent.session_id))) } }
    }
}

impl Writer for Html {
    fn head(&mut self, facts: &Facts) {
        let title = one_line(&words::title(facts));
        self.push(&html! { (DOCTYPE) (PreEscaped("<html lang=\"en\">")) (report::head(&title, GENERATOR, STYLE)) });
        self.out.push_str("<body>\n");
        self.push(&html! {
            header {
                h1 { (title) }
                p { (joined(&words::identity(facts))) }
                p { (joined(&words::extent(facts, self.clock.zone))) }
                p { (joined(&words::total(facts))) }
            }
        });
        self.out.push_str("<main>\n");
    }

    fn left_out(&mut self) {
        self.push(&html! { p.soft { (words::LEFT_OUT) } });
    }

    fn turn(&mut self, turn: i64, spent: Spent) {
        self.push(&html! { h2 { (words::turn(turn)) span.soft { (words::turn_total(&spent)) } } });
    }

    fn message(&mut self, message: &MessageRow<'_>, spent: Option<&Spent>) {
        let time = message.timestamp.and_then(|moment| value::time_of_day(moment, self.clock.zone));
        let tokens =
            spent.and_then(|spent| spent.tokens).map(|tokens| format!("{} tokens", value::tokens_in_short(tokens)));
        let told: Vec<String> = [tokens, spent.map(words::cost), time].into_iter().flatten().collect();
        let text = block(&words::text(message));
        let thinking = message.thinking.filter(|thinking| !thinking.trim().is_empty());
        self.push(&html! {
            section id=(format!("s{}", message.seq)) class=(message.role.as_str()) {
                p.line { span.seq { (message.seq) } b { (one_line(&words::speaker(message, self.is_subagent))) }
                    span.soft { (told.join("  ")) } }
                @if let Some(thinking) = thinking {
                    details open[self.folded.thinking] {
                        summary { "thinking, " (words::words(thinking)) }
                        pre { (block(thinking)) }
                    }
                }
                @if !text.is_empty() { pre.said { (text) } }
            }
        });
    }

    fn call(&mut self, facts: &Facts, call: &ToolCallRow<'_>, subagent: Option<&Subagent>) {
        let (class, mark) = match call.status {
            Status::Ok => ("ok", "✓"),
            Status::Pending => ("pending", "–"),
            _ => ("failed", "✗"),
        };
        let request = words::request(call, self.project_path.as_deref());
        let output = call.output.filter(|output| !output.trim().is_empty());
        self.push(&html! {
            div.call id=(format!("s{}", call.seq)) {
                p.line { span.seq { (call.seq) } span class=(class) { (mark) } " " (one_line(call.name)) " "
                    code { (one_line(&request)) } span.soft { (one_line(&words::outcome(call).join("  "))) } }
                @if let Some(output) = output {
                    details open[self.folded.output] { summary { "output" } pre { (block(output)) } }
                }
                @if let Some(subagent) = subagent { (subagent_line(facts, subagent)) }
            }
        });
    }

    fn finding(&mut self, finding: &FindingRow<'_>) {
        let class = match finding.severity {
            Severity::High => "finding high",
            _ => "finding",
        };
        self.push(&html! { p class=(class) { "! " (one_line(&words::finding(finding))) } });
    }

    fn end(&mut self, facts: &Facts, loose: &[&Subagent], next: Option<i64>) {
        self.push(&html! {
            @for subagent in loose { (subagent_line(facts, subagent)) }
            @if let Some(next) = next { p.soft { (one_line(&words::next(facts, next))) } }
            (PreEscaped("</main>"))
            footer.soft {
                p { "Made by " code { "llrem show" } " (" (env!("CARGO_PKG_VERSION")) ") on "
                    (value::time(self.clock.now.timestamp_micros(), self.clock.zone).unwrap_or_default())
                    ". Times are those of " (self.clock.zone.name()) "." }
            }
            (PreEscaped("</body></html>"))
        });
    }

    fn clear(&mut self) {
        self.out.clear();
    }

    fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }
}
