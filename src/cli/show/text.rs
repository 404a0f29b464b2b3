//! A session as lines of text, on a terminal or in a pipe.

use chrono_tz::Tz;

use super::read::{Facts, Spent, Subagent};
use super::{Folded, Writer, words};
use crate::cli::output::{Look, Paint};
use crate::shown::width::{PROSE, cut, width, wrap, wrap_cell};
use crate::shown::{joined, value, visible};
use crate::tables::{FindingRow, MessageRow, Severity, Status, ToolCallRow};

/// Most columns of a line with something at its right edge.
const WIDEST: usize = 120;
/// Lines of output of a call that failed.
const OUTPUT_LINES: usize = 3;
/// Share of the session's cost from which the cost of a response stands out.
const DEAR: f64 = 0.1;

/// Writes lines.
pub(super) struct Text {
    look: Look,
    zone: Tz,
    folded: Folded,
    out: String,
    /// Columns of positions and costs.
    seq_width: usize,
    cost_width: usize,
    dear: f64,
    project_path: Option<String>,
    is_subagent: bool,
    /// True if the next message needs no blank line before it.
    is_open: bool,
}

impl Text {
    pub(super) fn new(facts: &Facts, look: Look, zone: Tz, folded: Folded) -> Self {
        let row = facts.row();
        let costs = facts.spending.all().map(|spent| width(&words::cost(spent)));
        Self {
            look,
            zone,
            folded,
            out: String::new(),
            seq_width: facts.shown_place(0).len(),
            cost_width: costs.max().unwrap_or(1),
            dear: row.cost_usd.unwrap_or(0.0) * DEAR,
            project_path: row.project_path.map(str::to_owned),
            is_subagent: row.is_subagent,
            is_open: true,
        }
    }

    fn columns(&self) -> usize {
        self.look.width.map_or(PROSE, |columns| columns.min(WIDEST))
    }

    fn paint(&self) -> Paint {
        self.look.paint
    }

    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// Returns untrusted text, escaped on a terminal.
    fn safe(&self, text: &str) -> String {
        let text = text.replace('\t', "    ");
        if self.look.width.is_some() { visible(&text).into_owned() } else { text }
    }

    /// Returns untrusted text on one line; on a terminal, cut to a number of columns.
    fn one_line(&self, text: &str, columns: usize) -> String {
        let text = self.safe(&joined(text));
        if self.look.width.is_some() { cut(&text, columns, self.look.signs) } else { text }
    }

    fn indent(&self) -> usize {
        self.seq_width + 2
    }

    /// Writes a text of several lines, indented, each painted.
    fn prose(&mut self, text: &str, paint: impl Fn(&str) -> String) {
        let (indent, columns) = (" ".repeat(self.indent()), self.columns().min(PROSE) - self.indent());
        for line in text.trim_end().lines().skip_while(|line| line.trim().is_empty()) {
            let line = self.safe(line);
            let text = line.trim_start();
            let lead = " ".repeat((line.len() - text.len()).min(columns / 2));
            let room = columns - lead.len();
            // A script without spaces has no words.
            let is_wide = width(text) > room.max(text.chars().count());
            let wrapped = if is_wide { wrap_cell(text, room) } else { wrap(text, room, 0) };
            for line in wrapped.split('\n') {
                self.line(&format!("{indent}{lead}{}", paint(line)));
            }
        }
    }

    /// Writes a line with a part at the right edge. Both are given plain and painted.
    fn spread(&mut self, left: (&str, &str), right: (&str, &str)) {
        let gap = self.columns().saturating_sub(width(left.0) + width(right.0)).max(2);
        self.line(&format!("{}{}{}", left.1, " ".repeat(gap), right.1));
    }

    fn seq(&self, seq: i64) -> String {
        format!("{seq:>width$}", width = self.seq_width)
    }

    fn thinking(&mut self, thinking: &str) {
        let paint = self.paint();
        let hint = if self.folded.thinking { "" } else { " (--thinking)" };
        let heading = format!("thinking, {}{hint}", words::words(thinking));
        self.prose(&heading, |line| paint.dim(line));
        if self.folded.thinking {
            self.prose(thinking, |line| paint.dim(line));
        }
    }

    /// Writes the output of a call: a few lines if it failed, or else only if all of it is wanted.
    fn output(&mut self, call: &ToolCallRow<'_>) {
        let Some(output) = call.output.filter(|_| self.folded.output || words::is_failed(call)) else { return };
        let (paint, indent) = (self.paint(), " ".repeat(self.indent() + 3));
        let columns = self.columns().saturating_sub(self.indent() + 5);
        let shown = if self.folded.output { usize::MAX } else { OUTPUT_LINES };
        let mut lines = output.trim_end().lines().filter(|line| self.folded.output || !line.trim().is_empty());
        for line in lines.by_ref().take(shown).map(str::to_owned).collect::<Vec<_>>() {
            let line = self.safe(line.trim_end());
            let is_cut = self.look.width.is_some() && !self.folded.output;
            let line = if is_cut { cut(&line, columns, self.look.signs) } else { line };
            self.line(&format!("{indent}{} {line}", paint.dim("│")));
        }
        let more = output.trim_end().lines().filter(|line| !line.trim().is_empty()).count().saturating_sub(shown);
        if more > 0 {
            let note = format!("{} (--outputs)", value::plural(more as u64, "more line"));
            self.line(&format!("{indent}{} {}", paint.dim("│"), paint.dim(&note)));
        }
    }

    fn command(&self, short: &str) -> String {
        self.paint().bold(&format!("llrem show {short}"))
    }

    fn subagent(&mut self, facts: &Facts, subagent: &Subagent) {
        let indent = " ".repeat(self.indent());
        let short = self.safe(&facts.ids.short(&subagent.session_id));
        let command = self.command(&short);
        let left = indent + &self.one_line(&words::subagent(subagent), self.columns());
        self.spread((&left, &left), (&format!("llrem show {short}"), &command));
    }

    fn wrapped(&mut self, parts: &[String]) {
        let text = self.safe(&parts.join(" · "));
        let lines = wrap(&text, self.columns().min(PROSE), 0);
        for line in lines.lines() {
            self.line(line);
        }
    }
}

impl Writer for Text {
    fn head(&mut self, facts: &Facts) {
        let title = self.one_line(&words::title(facts), self.look.width.unwrap_or(usize::MAX));
        self.line(&self.paint().bold(&title));
        self.wrapped(&words::identity(facts));
        self.wrapped(&words::extent(facts, self.zone));
        self.wrapped(&words::total(facts));
        if let Some(parent) = facts.row().parent_session_id {
            let kind = facts.row().subagent_type.map(|kind| format!(" ({kind})")).unwrap_or_default();
            let (kind, short) = (self.one_line(&kind, 40), self.safe(&facts.ids.short(parent)));
            let space = if kind.is_empty() { "" } else { " " };
            let of = if facts.ids.all().iter().any(|known| known.session_id == parent) {
                self.command(&short)
            } else {
                let ellipsis = if parent.ends_with(&short) { "" } else { self.look.signs.ellipsis };
                format!("{short}{ellipsis}, which is not in the lake")
            };
            self.line(&format!("Subagent{space}{kind} of {of}"));
        }
    }

    fn left_out(&mut self) {
        let line = self.paint().dim(words::LEFT_OUT);
        self.line(&format!("\n{line}"));
    }

    fn turn(&mut self, turn: i64, spent: Spent) {
        let rule = self.look.signs.rule;
        let (name, total) = (words::turn(turn), words::turn_total(&spent));
        let edge = rule.repeat(2);
        let gap = if total.is_empty() { String::new() } else { format!(" {total} ") };
        let taken = width(&name) + width(&gap) + 6;
        let middle = rule.repeat(self.columns().saturating_sub(taken).max(2));
        let paint = self.paint();
        let (edge, middle) = (paint.dim(&edge), paint.dim(&middle));
        let line = format!("\n{edge} {} {middle}{gap}{edge}", paint.bold(&name));
        self.line(&line);
        self.is_open = true;
    }

    fn message(&mut self, message: &MessageRow<'_>, spent: Option<&Spent>) {
        if !std::mem::take(&mut self.is_open) {
            self.out.push('\n');
        }
        let paint = self.paint();
        let (seq, who) = (self.seq(message.seq), words::speaker(message, self.is_subagent));
        let who = self.one_line(&who, self.columns() / 2);
        let time = message.timestamp.and_then(|moment| value::time_of_day(moment, self.zone)).unwrap_or_default();
        let tokens =
            spent.and_then(|spent| spent.tokens).map(|tokens| format!("{} tokens", value::tokens_in_short(tokens)));
        let tokens = tokens.unwrap_or_default();
        let cost = spent.map(words::cost).map(|cost| {
            let pad = " ".repeat(self.cost_width.saturating_sub(width(&cost)));
            let is_dear = spent.and_then(|spent| spent.usd).is_some_and(|usd| usd > 0.0 && usd >= self.dear);
            (format!("{pad}{cost}"), if is_dear { paint.bold(&format!("{pad}{cost}")) } else { format!("{pad}{cost}") })
        });
        let (plain, painted) = cost.unwrap_or_default();
        let join = |parts: [&str; 3]| parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
        let right = join([&tokens, &plain, &time]);
        let painted = join([&paint.dim(&tokens), &painted, &paint.dim(&time)]);
        let left = format!("{seq}  {who}");
        self.spread((&left, &format!("{}  {}", paint.dim(&seq), paint.bold(&who))), (&right, &painted));
        if let Some(thinking) = message.thinking.filter(|thinking| !thinking.trim().is_empty()) {
            self.thinking(thinking);
        }
        self.prose(&words::text(message), str::to_owned);
    }

    fn call(&mut self, facts: &Facts, call: &ToolCallRow<'_>, subagent: Option<&Subagent>) {
        let paint = self.paint();
        let is_failed = words::is_failed(call);
        let signs = self.look.signs;
        let mark = match call.status {
            Status::Pending => signs.unknown,
            _ if is_failed => signs.bad,
            _ => signs.good,
        };
        let painted_mark = if is_failed { paint.red(mark) } else { paint.green(mark) };
        let outcome = words::outcome(call);
        let right = self.safe(&outcome.join("  "));
        let painted: Vec<String> = outcome
            .iter()
            .enumerate()
            .map(|(at, part)| {
                if at == 0 && is_failed && (part.starts_with("exit") || call.status != Status::Error) {
                    paint.red(part)
                } else {
                    paint.dim(part)
                }
            })
            .collect();
        let (seq, name) = (self.seq(call.seq), self.one_line(call.name, 40));
        let left = format!("{seq}  {mark} {name}  ");
        let room = self.columns().saturating_sub(width(&left) + width(&right) + 2);
        let request = self.one_line(&words::request(call, self.project_path.as_deref()), room.max(8));
        let line = format!("{}  {painted_mark} {name}  {request}", paint.dim(&seq));
        self.spread((&format!("{left}{request}"), &line), (&right, &painted.join("  ")));
        self.is_open = false;
        self.output(call);
        if let Some(subagent) = subagent {
            self.subagent(facts, subagent);
        }
    }

    fn finding(&mut self, finding: &FindingRow<'_>) {
        let paint = self.paint();
        let mark = format!("{:>width$} ", "!", width = self.indent() - 1);
        let text = self.safe(&joined(&words::finding(finding)));
        let indent = " ".repeat(self.indent());
        let lines = wrap(&text, self.columns().min(PROSE) - self.indent(), 0);
        for (at, line) in lines.lines().enumerate() {
            let line = format!("{}{line}", if at == 0 { &mark } else { &indent });
            let line = match finding.severity {
                Severity::High => paint.red(&line),
                Severity::Medium => paint.yellow(&line),
                _ => paint.dim(&line),
            };
            self.line(&line);
        }
        self.is_open = false;
    }

    fn end(&mut self, facts: &Facts, loose: &[&Subagent], next: Option<i64>) {
        self.out.push('\n');
        if !loose.is_empty() {
            self.line("Subagents that no call names:");
            for subagent in loose {
                self.subagent(facts, subagent);
            }
            self.out.push('\n');
        }
        let text = next.map_or_else(|| words::end(facts, self.zone), |next| words::next(facts, next));
        let text = self.one_line(&text.replace('\u{a0}', " "), self.columns());
        let line = self.paint().dim(&text);
        self.line(&line);
    }

    fn clear(&mut self) {
        self.out.clear();
    }

    fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }
}
