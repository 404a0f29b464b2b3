//! `llrem` alone on a terminal.

use super::super::agents;
use super::super::holdings::moment_in_words;
use super::super::output::{self, Cell, Column, Grid, Look, Paint, Role};
use super::Overview;
use super::figures::{Of, Sums};
use super::periods::Span;
use crate::Result;
use crate::lake::AnyLake;
use crate::shown::value::{self, at_least, plural, share, share_of, usd_in_words};
use crate::shown::width::width;
use crate::shown::{in_home, one_line};

/// Agents and projects that are named.
const MOST: usize = 5;
/// Share of the cost from which waste is marked.
const MUCH: f64 = 0.1;

/// Note below a table that counts sessions which the tables of cost leave out.
const WITHOUT_USAGE: &str = "sessions: also those without usage, as in llrem\u{a0}query\u{a0}totals";

/// Questions that the figures raise.
const NEXT: [(&str, &str); 2] = [("llrem detect --since 30d", "what was wasted"), ("llrem query", "more questions")];

impl Overview<'_> {
    /// Writes the screen.
    pub(super) fn print(&self) -> Result<()> {
        let look = output::look_of_stdout(self.settings.printer);
        let table = self.table();
        let uncoloured = table.draw(Look { paint: Paint(false), ..look }).text;
        let mut parts = vec![self.head(uncoloured.lines().map(width).max().unwrap_or(0))];
        parts.extend(self.newest.map(|day| {
            let day = value::day_in_words(day, self.settings.clock.today());
            look.prose(&format!("No usage in the {}. The newest is of {day}.", self.lately.name))
        }));
        parts.push(table.draw(look).text);
        if !self.fed.is_fresh {
            parts.push(self.marks(look));
        }
        if self.spans.iter().map(|span| self.figures.sums(span, &Of::All)).any(|it| it.sessions > it.billed_sessions) {
            parts.push(look.paint.dim_lines(&look.prose(WITHOUT_USAGE)));
        }
        let asking: String = [self.wasted(look), self.deleted_soon(look)?].into_iter().flatten().collect();
        parts.push(asking);
        parts.push(look.paint.dim_lines(&look.prose(&self.all_time())));
        let wasted = self.figures.sums(&self.lately, &Of::All).findings > 0;
        parts.push(self.next(if wasted { &NEXT } else { &NEXT[1..] }, look));
        parts.retain(|part| !part.is_empty());
        output::drawn(&self.settings.output, &parts.join("\n"))
    }

    /// Returns what to ask next. Commands do not look into the demo's lake by themselves.
    fn next(&self, commands: &[(&str, &str)], look: Look) -> String {
        let lake = self.demo.as_ref().map(|folder| one_line(&in_home(&folder.to_string_lossy())));
        let typed = |command: &str| match &lake {
            Some(lake) => command.replacen("llrem", &format!("llrem --lake {lake}"), 1),
            None => command.to_owned(),
        };
        let typed: Vec<(String, &str)> = commands.iter().map(|(command, what)| (typed(command), *what)).collect();
        look.commands(&typed.iter().map(|(command, what)| (command.as_str(), *what)).collect::<Vec<_>>())
    }

    /// Returns the moment, and when the lake was fed. A lake that is not fresh has been named above.
    fn head(&self, columns: usize) -> String {
        let clock = &self.settings.clock;
        let now = clock.now.with_timezone(&clock.zone).format("%A %-d %B %Y, %H:%M").to_string();
        let fed = self.fed.last.filter(|_| self.fed.is_fresh);
        let fed = fed.map_or_else(String::new, |moment| format!("last etl {}", moment_in_words(moment, clock)));
        let gap = columns.saturating_sub(width(&now) + width(&fed)).max(2);
        format!("{now}{:gap$}{fed}", "").trim_end().to_owned() + "\n"
    }

    fn table(&self) -> Grid {
        let columns = self.spans.iter().map(|span| Column::new(span.name.as_str(), Role::Number));
        let mut grid = Grid::new([Column::new("", Role::Text)].into_iter().chain(columns).collect());
        let all = self.spans.iter().map(|span| self.figures.sums(span, &Of::All)).collect::<Vec<_>>();
        grid.push(self.row("cost", &all, cost));
        grid.push(self.row("  wasted", &all, wasted));
        grid.push(self.row("sessions", &all, |sums| Cell::count(sums.sessions)));
        grid.push(self.row("prompts", &all, |sums| Cell::count(sums.prompts)));
        let agents = self.figures.names(|agent, _| Of::Agent(agent.to_owned()));
        let projects = self.figures.names(|_, project| Of::Project(project.map(str::to_owned)));
        let mut is_first = true;
        for (label, names) in [("by agent", agents), ("by project", projects)] {
            let ranked = self.ranked(names);
            if ranked.len() < 2 {
                continue;
            }
            if std::mem::take(&mut is_first) {
                grid.push(self.label(""));
            }
            grid.push(self.label(label));
            self.block(&mut grid, &ranked);
        }
        grid
    }

    /// Adds the most expensive, and the sum of the others.
    fn block(&self, grid: &mut Grid, ranked: &[Of]) {
        let (shown, others) = ranked.split_at(ranked.len().min(MOST));
        for of in shown {
            let sums: Vec<Sums> = self.spans.iter().map(|span| self.figures.sums(span, of)).collect();
            let name = of.name().map_or_else(|| "(no project)".to_owned(), one_line);
            grid.push(self.row(&format!("  {name}"), &sums, cost));
        }
        if !others.is_empty() {
            let sum = |span| others.iter().map(|of| self.figures.sums(span, of)).fold(Sums::default(), Sums::plus);
            let sums: Vec<Sums> = self.spans.iter().map(sum).collect();
            grid.push(self.row(&format!("  {} more", others.len()), &sums, cost));
        }
    }

    /// Returns those with a cost, the most expensive first.
    fn ranked(&self, names: impl IntoIterator<Item = Of>) -> Vec<Of> {
        let first = self.spans.iter().map(|span| span.first).min().unwrap_or_default();
        let last = self.spans.iter().map(|span| span.last).max().unwrap_or_default();
        let whole = Span { name: String::new(), first, last };
        let sums = names.into_iter().map(|of| (self.figures.sums(&whole, &of), of));
        let mut sums: Vec<(Sums, Of)> = sums.filter(|(sums, _)| sums.usd.is_some() || sums.unpriced > 0).collect();
        sums.sort_by(|(one, _), (other, _)| other.usd.unwrap_or(0.0).total_cmp(&one.usd.unwrap_or(0.0)));
        sums.into_iter().map(|(_, of)| of).collect()
    }

    fn row(&self, name: &str, sums: &[Sums], cell: impl Fn(&Sums) -> Cell) -> Vec<Cell> {
        let known = self.spans.iter().zip(sums).map(|(span, sums)| self.as_known(span, cell(sums)));
        [Cell::text(name)].into_iter().chain(known).collect()
    }

    fn label(&self, text: &str) -> Vec<Cell> {
        let mut row = vec![Cell::text(text)];
        row.resize_with(self.spans.len() + 1, Cell::empty);
        row
    }

    /// Marks the figures of a period of which the lake lacks the end, or everything.
    fn as_known(&self, span: &Span, cell: Cell) -> Cell {
        match self.ends() {
            Some(end) if span.first > end => Cell::unknown(),
            Some(end) if span.last >= end => cell.at_least(),
            _ => cell,
        }
    }

    /// Returns the day on which a lake ends that is not fresh.
    fn ends(&self) -> Option<chrono::NaiveDate> {
        let last = self.fed.last.filter(|_| !self.fed.is_fresh)?;
        value::day_of(last, self.settings.clock.zone)
    }

    fn marks(&self, look: Look) -> String {
        let Some(end) = self.ends() else { return String::new() };
        let line = format!(
            "{} not known yet   + at least: the lake ends on {}",
            look.signs.unknown,
            value::day_in_words(end, self.settings.clock.today())
        );
        look.paint.dim_lines(&look.prose(&line))
    }

    fn wasted(&self, look: Look) -> Option<String> {
        if self.newest.is_some() {
            return None;
        }
        let sums = self.figures.sums(&self.lately, &Of::All);
        let when = &self.lately.name;
        if sums.findings == 0 {
            return Some(look.prose(&format!("Wasted, {when}: nothing found")));
        }
        let findings = plural(sums.findings.unsigned_abs(), "finding");
        let Some(wasted) = sums.wasted else {
            return Some(look.prose(&format!("Wasted, {when}: {findings}, none with a price")));
        };
        let part = sums.usd.and_then(|usd| Some((usd, share_of(wasted, usd)?)));
        let amount = |usd, is_at_least| usd_in_words(usd) + at_least(is_at_least);
        let of = part.map_or_else(String::new, |(usd, part)| {
            format!(" of {} ({})", amount(usd, sums.unpriced > 0), share(part))
        });
        let wasted = amount(wasted, sums.is_waste_at_least);
        let line = look.prose(&format!("Wasted, {when}: {wasted}{of}, {findings}"));
        let is_much = part.is_some_and(|(_, part)| part >= MUCH);
        Some(if is_much { look.paint.yellow(line.trim_end()) + "\n" } else { line })
    }

    fn deleted_soon(&self, look: Look) -> Result<Option<String>> {
        if !matches!(self.lake, AnyLake::Local(_)) {
            return Ok(None);
        }
        let soon = agents::deleted_soon(self.settings)?;
        Ok(soon.map(|text| look.prose(&format!("Deleted soon: {text}"))))
    }

    fn all_time(&self) -> String {
        let held = &self.held;
        let sessions = plural(held.sessions.unsigned_abs(), "session");
        let since = held.oldest.and_then(|moment| value::day_of(moment, self.settings.clock.zone));
        let since = since.map_or_else(String::new, |day| format!(" since {}", day.format("%-d %B %Y")));
        let responses = plural(held.unpriced.unsigned_abs(), "response");
        let have = if held.unpriced == 1 { "has" } else { "have" };
        match held.usd {
            None => format!("All time: {sessions}{since}"),
            Some(usd) if held.unpriced == 0 => format!("All time: {} in {sessions}{since}", usd_in_words(usd)),
            Some(usd) => format!(
                "All time: {}+ in {sessions}{since} (+ means at least: {responses} {have} no price)",
                usd_in_words(usd)
            ),
        }
    }
}

/// Returns a cost, marked if something without a price adds to it.
fn cost(sums: &Sums) -> Cell {
    match sums.usd {
        Some(usd) if sums.unpriced > 0 => money(usd).at_least(),
        Some(usd) => money(usd),
        None if sums.sessions > 0 => Cell::unknown(),
        None => money(0.0),
    }
}

/// Returns the waste, marked if something without a price adds to it.
fn wasted(sums: &Sums) -> Cell {
    match sums.wasted {
        Some(usd) if sums.is_waste_at_least => money(usd).at_least(),
        Some(usd) => money(usd),
        None => Cell::unknown(),
    }
}

fn money(usd: f64) -> Cell {
    Cell::number(usd_in_words(usd), usd == 0.0)
}
