//! A session as a Markdown document.

use chrono_tz::Tz;

use super::read::{Facts, Spent, Subagent};
use super::{Folded, Writer, words};
use crate::shown::{joined, value};
use crate::tables::{FindingRow, MessageRow, Status, ToolCallRow};

/// Writes Markdown.
pub(super) struct Markdown {
    zone: Tz,
    folded: Folded,
    out: String,
    project_path: Option<String>,
    is_subagent: bool,
}

impl Markdown {
    pub(super) fn new(facts: &Facts, zone: Tz, folded: Folded) -> Self {
        let row = facts.row();
        let project_path = row.project_path.map(str::to_owned);
        Self { zone, folded, out: String::new(), project_path, is_subagent: row.is_subagent }
    }

    fn block(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push_str("\n\n");
    }

    /// Writes text as it is, between fences that it does not contain.
    fn fenced(&mut self, text: &str) {
        let fence = "`".repeat(longest_run(text).max(2) + 1);
        self.block(&format!("{fence}text\n{}\n{fence}", text.trim_end()));
    }
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0)
}

/// Returns a text on one line, as code.
fn code(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let pad = if text.contains('`') { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", joined(text))
}

/// Escapes what Markdown would read as more than text.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for letter in joined(text).chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!') {
            plain.push('\\');
        }
        plain.push(letter);
    }
    plain
}

impl Writer for Markdown {
    fn head(&mut self, facts: &Facts) {
        self.block(&format!("# {}", plain(&words::title(facts))));
        for parts in [words::identity(facts), words::extent(facts, self.zone), words::total(facts)] {
            self.block(&plain(&parts.join(" · ")));
        }
    }

    fn left_out(&mut self) {
        self.block(&format!("*{}*", words::LEFT_OUT));
    }

    fn turn(&mut self, turn: i64, spent: Spent) {
        let total = words::turn_total(&spent);
        let total = if total.is_empty() { total } else { format!(" ({total})") };
        self.block(&format!("## {}{total}", words::turn(turn)));
    }

    fn message(&mut self, message: &MessageRow<'_>, spent: Option<&Spent>) {
        let time = message.timestamp.and_then(|moment| value::time_of_day(moment, self.zone));
        let tokens =
            spent.and_then(|spent| spent.tokens).map(|tokens| format!("{} tokens", value::tokens_in_short(tokens)));
        let told: Vec<String> = [tokens, spent.map(words::cost), time].into_iter().flatten().collect();
        let who = plain(&words::speaker(message, self.is_subagent));
        self.block(&format!("**{} · {who}** {}", message.seq, told.join(" · ")));
        if let Some(thinking) = message.thinking.filter(|thinking| !thinking.trim().is_empty()) {
            self.block(&format!("*thinking, {}*", words::words(thinking)));
            if self.folded.thinking {
                self.fenced(thinking);
            }
        }
        let text = words::text(message);
        if !text.trim().is_empty() {
            self.fenced(&text);
        }
    }

    fn call(&mut self, facts: &Facts, call: &ToolCallRow<'_>, subagent: Option<&Subagent>) {
        let mark = match call.status {
            Status::Ok => "✓",
            Status::Pending => "–",
            _ => "✗",
        };
        let request = words::request(call, self.project_path.as_deref());
        let request = if request.is_empty() { request } else { format!(" {}", code(&request)) };
        let outcome = words::outcome(call).join(", ");
        let outcome = if outcome.is_empty() { outcome } else { format!(" · {outcome}") };
        self.block(&format!("- {} {mark} {}{request}{outcome}", call.seq, plain(call.name)));
        if let Some(subagent) = subagent {
            let short = facts.ids.short(&subagent.session_id);
            self.block(&format!("  {}: {}", plain(&words::subagent(subagent)), code(&format!("llrem show {short}"))));
        }
        if let Some(output) = call.output.filter(|_| self.folded.output) {
            self.fenced(output);
        }
    }

    fn finding(&mut self, finding: &FindingRow<'_>) {
        self.block(&format!("> **!** {}", plain(&words::finding(finding))));
    }

    fn end(&mut self, facts: &Facts, loose: &[&Subagent], next: Option<i64>) {
        for subagent in loose {
            let command = code(&format!("llrem show {}", facts.ids.short(&subagent.session_id)));
            self.block(&format!("- {}: {command}", plain(&words::subagent(subagent))));
        }
        if let Some(next) = next {
            self.block(&format!("*{}*", plain(&words::next(facts, next))));
        }
    }

    fn clear(&mut self) {
        self.out.clear();
    }

    fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }
}
