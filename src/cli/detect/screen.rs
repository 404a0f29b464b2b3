//! Findings on a terminal: grouped by detector, the most expensive first, with what to do.

use std::fmt::Write as _;

use super::super::output::{Limit, Look, Reader};
use super::super::settings::Settings;
use super::summary::Summary;
use super::{is_unpriced, severity};
use crate::Result;
use crate::query::canned::Canned;
use crate::query::short_id::SessionIds;
use crate::shown::value::{self, at_least, plural, usd_in_words};
use crate::shown::width::{cut, width, wrap};
use crate::shown::{first_sentence, one_line};
use crate::tables::{Basis, FindingRow, Severity, Vocabulary};

/// Findings that are shown if nothing else is asked for.
const MOST: usize = 10;
/// Width of the severity.
const SEVERITY: usize = 6;
/// Width of a day.
const DAY: usize = 10;
/// Fewest columns for a project.
const PROJECT: usize = 8;

/// Content of the screen.
#[derive(Clone, Copy)]
pub(super) struct Screen<'a> {
    pub(super) settings: &'a Settings,
    /// The detectors that ran.
    pub(super) chosen: &'a [&'a Canned],
    pub(super) ids: &'a SessionIds,
    /// The findings, the most expensive first.
    pub(super) found: &'a [FindingRow<'a>],
    pub(super) limit: Option<Limit>,
}

/// The findings of a detector.
struct Group<'a> {
    detector: &'a str,
    canned: Option<&'a Canned>,
    shown: Vec<&'a FindingRow<'a>>,
    rest: Vec<&'a FindingRow<'a>>,
}

impl<'a> Screen<'a> {
    /// Writes the findings, through a pager if all were asked for.
    pub(super) fn print(self, summary: &Summary) -> Result<()> {
        let output = &self.settings.output;
        let mut reader = Reader::open(output, self.limit == Some(Limit::OFF), None)?;
        let text = self.drawn(summary, reader.look(output));
        reader.write(&text)?;
        reader.finish()
    }

    fn drawn(self, summary: &Summary, look: Look) -> String {
        let columns = look.prose_columns();
        if let Some(nothing) = &summary.nothing {
            return wrap(nothing, columns, 0) + "\n";
        }
        if self.found.is_empty() {
            let detectors = plural(u64::try_from(self.chosen.len()).unwrap_or(u64::MAX), "detector");
            return wrap(&format!("{} ({detectors}).", summary.sentence()), columns, 0) + "\n";
        }
        let mut text = look.paint.bold(&wrap(&summary.sentence(), columns, 0)) + "\n";
        text.extend(summary.basis().map(|basis| wrap(&basis, columns, 0) + "\n"));
        let groups = self.groups();
        let (drawn, bare): (Vec<_>, Vec<_>) =
            groups.iter().partition(|group| !group.shown.is_empty() || group.sum() > 0.0);
        let costs = drawn.iter().flat_map(|group| &group.shown).map(|finding| width(&amount(finding, look)));
        let lines = Lines { screen: self, look, columns, cost: costs.max().unwrap_or(0) };
        for group in drawn {
            text.push('\n');
            lines.group(&mut text, group);
        }
        if !bare.is_empty() {
            let named: Vec<String> =
                bare.iter().map(|group| format!("{} {}", group.detector, group.rest.len())).collect();
            let line = format!("Without a price, or counted in other findings: {}", named.join(", "));
            text.extend(["\n", &look.paint.dim_lines(&wrap(&line, columns, 2))]);
        }
        let hidden: Vec<&FindingRow<'_>> = groups.iter().flat_map(|group| &group.rest).copied().collect();
        if !hidden.is_empty() {
            let count = plural(u64::try_from(hidden.len()).unwrap_or(u64::MAX), "finding");
            let at_least = at_least(hidden.iter().copied().any(is_unpriced));
            // Less than a cent as a lower bound says nothing.
            let sum = priced(hidden.iter().copied()).filter(|sum| *sum >= 0.01 || at_least.is_empty());
            let sum = sum.map_or_else(String::new, |sum| format!(", {}{at_least}", usd_in_words(sum)));
            let line = format!("Not shown: {count}{sum}. All of them: llrem detect --limit off");
            text.extend(["\n", &look.paint.dim_lines(&wrap(&line, columns, 2))]);
        }
        text
    }

    /// Returns the detectors with findings, the most expensive first.
    fn groups(self) -> Vec<Group<'a>> {
        let is_priced = |finding: &FindingRow<'_>| finding.wasted_cost_usd.is_some_and(|cost| cost > 0.0);
        let shows_all = self.limit.is_some() || !self.found.iter().any(is_priced);
        let most = self.limit.map_or(MOST, Limit::rows);
        let mut groups: Vec<Group<'a>> = Vec::new();
        for (place, finding) in self.found.iter().enumerate() {
            let at = groups.iter().position(|group| group.detector == finding.detector).unwrap_or_else(|| {
                let canned = self.chosen.iter().find(|canned| canned.name == finding.detector).copied();
                groups.push(Group { detector: finding.detector, canned, shown: Vec::new(), rest: Vec::new() });
                groups.len() - 1
            });
            let Some(group) = groups.get_mut(at) else { continue };
            let is_shown = place < most && (shows_all || is_priced(finding));
            if is_shown { &mut group.shown } else { &mut group.rest }.push(finding);
        }
        groups.sort_by(|one, other| other.sum().total_cmp(&one.sum()));
        groups
    }
}

impl<'a> Group<'a> {
    fn all(&self) -> impl Iterator<Item = &'a FindingRow<'a>> {
        self.shown.iter().chain(&self.rest).copied()
    }

    fn sum(&self) -> f64 {
        priced(self.all()).unwrap_or(0.0)
    }

    /// Returns what the findings wasted together, and how many there are.
    fn figures(&self) -> (String, String) {
        let is_estimated =
            |it: &FindingRow<'_>| it.basis == Basis::Estimated && it.wasted_cost_usd.is_some_and(|usd| usd > 0.0);
        let basis = if self.all().any(is_estimated) { " est." } else { "" };
        let at_least = at_least(self.all().any(is_unpriced));
        let sum = Some(self.sum()).filter(|sum| *sum > 0.0);
        let sum = sum.map_or_else(String::new, |sum| usd_in_words(sum) + at_least + basis);
        (sum, plural(u64::try_from(self.all().count()).unwrap_or(u64::MAX), "finding"))
    }

    /// Returns what is left of the findings: `14 more, $1.70`.
    fn left(&self) -> Option<String> {
        let count = |is: &dyn Fn(&FindingRow<'_>) -> bool| self.rest.iter().filter(|finding| is(finding)).count();
        let unpriced = count(&|finding| finding.wasted_cost_usd.is_none());
        let elsewhere = count(&|finding| finding.wasted_cost_usd == Some(0.0));
        let notes = [(unpriced, "without a price"), (elsewhere, "counted in other findings")];
        let notes: Vec<(usize, &str)> = notes.into_iter().filter(|(count, _)| *count > 0).collect();
        let sum = priced(self.rest.iter().copied()).map_or_else(String::new, |sum| format!(", {}", usd_in_words(sum)));
        let notes = match notes.as_slice() {
            [] => String::new(),
            [(all, what)] if *all == self.rest.len() => format!(", {what}"),
            notes => {
                let counted: Vec<String> = notes.iter().map(|(count, what)| format!("{count} {what}")).collect();
                format!(" ({})", counted.join(", "))
            }
        };
        (!self.rest.is_empty()).then(|| format!("{} more{sum}{notes}", self.rest.len()))
    }
}

/// Writes lines of a width.
struct Lines<'a> {
    screen: Screen<'a>,
    look: Look,
    columns: usize,
    /// Width of the amounts.
    cost: usize,
}

impl Lines<'_> {
    fn group(&self, text: &mut String, group: &Group<'_>) {
        let paint = self.look.paint;
        let (sum, count) = group.figures();
        let figures = [sum.as_str(), &count].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
        let title = group.canned.map_or("", |canned| canned.title.as_str());
        let named = width(group.detector) + 2 + width(title);
        let fits = named + 2 + width(&figures) <= self.columns;
        let head = if fits && !title.is_empty() { format!("  {title}") } else { String::new() };
        let used = width(group.detector) + width(&head) + width(&figures);
        let gap = self.columns.saturating_sub(used).max(2);
        let figures = if sum.is_empty() { figures } else { format!("{}  {count}", paint.bold(&sum)) };
        let _ = writeln!(text, "{}{head}{:gap$}{figures}", paint.bold(&one_line(group.detector)), "");
        if !fits && !title.is_empty() {
            let _ = writeln!(text, "{}", wrap(title, self.columns, 0));
        }
        if group.shown.is_empty() {
            return;
        }
        if let Some(todo) = group.canned.map(|canned| canned.todo.as_str()).filter(|todo| !todo.is_empty()) {
            let arrow = self.look.signs.arrow;
            let _ = writeln!(text, "{}", wrap(&format!("{arrow} {todo}"), self.columns, width(arrow) + 1));
        }
        for finding in &group.shown {
            self.finding(text, finding);
        }
        if let Some(left) = group.left() {
            let _ = writeln!(text, "{:indent$}{}", "", paint.dim(&left), indent = self.indent());
        }
    }

    /// Columns before the sentence of a finding.
    fn indent(&self) -> usize {
        if self.cost > 0 { self.cost + 4 } else { 2 }
    }

    fn finding(&self, text: &mut String, finding: &FindingRow<'_>) {
        let (paint, signs) = (self.look.paint, self.look.signs);
        let amount = amount(finding, self.look);
        let amount = format!("{:pad$}{}", "", paint.bold(&amount), pad = self.cost - width(&amount).min(self.cost));
        let amount = if self.cost > 0 { format!("{amount}  ") } else { amount };
        let level = severity(finding).map_or("", Severity::as_str);
        let level = format!("{}{:pad$}", coloured(finding, self.look), "", pad = SEVERITY.saturating_sub(width(level)));
        let zone = self.screen.settings.clock.zone;
        let day = finding.first_at.and_then(|moment| value::day_of(moment, zone)).map(|day| day.to_string());
        let day = day.unwrap_or_else(|| format!("{:DAY$}", signs.unknown));
        let command = self.command(finding);
        let before = self.indent() + SEVERITY + 2 + DAY + 2;
        let project = finding.project.map_or_else(|| signs.unknown.to_owned(), one_line);
        let room = self.columns.saturating_sub(before + 2 + width(&command));
        let has_room = room >= width(&project).min(PROJECT);
        let project =
            cut(&project, if has_room { room } else { self.columns.saturating_sub(before).max(PROJECT) }, signs);
        let head = format!("  {amount}{level}  {day}  {project}");
        if has_room {
            let gap = self.columns.saturating_sub(before + width(&project) + width(&command));
            let _ = writeln!(text, "{head}{:gap$}{}", "", paint.dim(&command));
        } else {
            let _ = writeln!(text, "{head}\n{:indent$}{}", "", paint.dim(&command), indent = self.indent());
        }
        self.sentence(text, finding);
    }

    /// Writes what happened, and on a line of its own which file, command or task it was.
    fn sentence(&self, text: &mut String, finding: &FindingRow<'_>) {
        let (indent, room) = (self.indent(), self.columns.saturating_sub(self.indent()).max(PROJECT));
        let said = wrap(&one_line(first_sentence(finding.explanation)), room, 0);
        for line in said.lines() {
            let _ = writeln!(text, "{:indent$}{line}", "");
        }
        let evidence = one_line(finding.evidence);
        if said.lines().count() == 1 && !evidence.is_empty() {
            let evidence = cut(&evidence, room, self.look.signs);
            let _ = writeln!(text, "{:indent$}{}", "", self.look.paint.dim(&evidence));
        }
    }

    fn command(&self, finding: &FindingRow<'_>) -> String {
        let id = one_line(&self.screen.ids.short(finding.session_id));
        let place = finding.first_seq.map_or_else(String::new, |seq| format!(" --at {seq}"));
        format!("llrem show {id}{place}")
    }
}

fn amount(finding: &FindingRow<'_>, look: Look) -> String {
    match finding.wasted_cost_usd {
        Some(cost) => usd_in_words(cost),
        None => look.signs.unknown.to_owned(),
    }
}

fn coloured(finding: &FindingRow<'_>, look: Look) -> String {
    match severity(finding) {
        Some(level @ Severity::High) => look.paint.red(level.as_str()),
        Some(level @ Severity::Medium) => look.paint.yellow(level.as_str()),
        Some(level @ Severity::Low) => look.paint.dim(level.as_str()),
        _ => String::new(),
    }
}

/// Adds up known amounts; `None` if there are none.
fn priced<'f>(findings: impl Iterator<Item = &'f FindingRow<'f>>) -> Option<f64> {
    findings.filter_map(|finding| finding.wasted_cost_usd).filter(|cost| *cost > 0.0).reduce(|sum, cost| sum + cost)
}
