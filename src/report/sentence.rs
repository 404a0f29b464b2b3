//! The answer in words: what it cost, what was avoidable, what stands out, and what the cost leaves out.

use maud::{Markup, html};

use super::facts::{Facts, Unit, project_name};
use super::words::{self, count, is_one, money, money_in_words, plural, share, share_of};
use crate::query::canned::Canned;
use crate::shown::value::listed;

/// Part of the tokens without a price above which no share of the cost is shown.
const MOST_UNPRICED: f64 = 0.5;

/// Renders the sentences below the title.
pub(super) fn sentences(facts: &Facts<'_>) -> Markup {
    let caveats = caveats(facts);
    html! {
        p.lead { (cost(facts)) " " (wasted(facts)) }
        @if let Some(notable) = notable(facts) { p.lead2 { (notable) } }
        @if !caveats.is_empty() {
            p.caveat {
                (match facts.unit {
                    Unit::Usd if facts.total("cost_usd").is_none() => "The cost is unknown: ",
                    Unit::Usd => "The cost is a floor: ",
                    Unit::Tokens => "The counts are not complete: ",
                })
                (listed(&caveats)) ". " a href="#left-out" { "What is left out" }
            }
        }
    }
}

/// Returns what the span cost, and whether that is more than before.
fn cost(facts: &Facts<'_>) -> String {
    let (sum, span) = (facts.sum(), &facts.page.span);
    let within = span.within(facts.before().unwrap_or(span));
    let amount = if facts.total(facts.unit.column()).is_some() {
        facts.unit.in_words(sum)
    } else {
        return format!("{} {within}; no tokens and no cost are recorded.", plural(facts.count("sessions"), "session"));
    };
    let compared = facts.before().zip(facts.total_before(facts.unit.column())).filter(|(_, before)| *before > 0.0);
    let compared = compared.map_or_else(String::new, |(before, amount)| {
        let (name, amount) = (before.within(span), amount);
        let shown = match facts.unit {
            Unit::Usd => money_in_words(amount),
            Unit::Tokens => words::tokens(amount),
        };
        match sum / amount {
            0.95..1.05 => format!(", about as much as {name} ({shown})"),
            1.05.. => format!(", up from {shown} {name}"),
            _ => format!(", down from {shown} {name}"),
        }
    });
    let unknown = if facts.unit == Unit::Tokens { "; their cost is unknown" } else { "" };
    format!("{amount} {within}{compared}{unknown}.")
}

/// Renders what was avoidable, and through which habit.
fn wasted(facts: &Facts<'_>) -> Markup {
    let (wasted, spent) = (facts.wasted(), facts.sum());
    if facts.found.is_empty() {
        return html! { "The detectors found nothing avoidable." };
    }
    if wasted <= 0.0 || facts.unit == Unit::Tokens {
        return html! {
            a href="#waste" { (plural(facts.found.len() as f64, "finding")) } " of avoidable work "
            (if facts.found.len() == 1 { "has" } else { "have" }) " no price."
        };
    }
    let part = share_of(wasted, spent).filter(|_| shows_share(facts));
    if part.is_some_and(|part| part < 0.03) {
        return html! { "Little of it was " a href="#waste" { "avoidable" } " (" (money(wasted)) ")." };
    }
    let shown = part.map_or_else(String::new, |part| format!(" ({})", share(part)));
    html! {
        "About " (money_in_words(wasted)) " of it" (shown) " was avoidable"
        @if let Some((canned, most)) = habit(facts) {
            ", " (most) " through one habit: " a href="#waste" { (canned.habit) }
        }
        "."
    }
}

/// True if a share of the cost says something: most tokens have a price.
pub(super) fn shows_share(facts: &Facts<'_>) -> bool {
    facts.unpriced_part() <= MOST_UNPRICED
}

/// Returns the detector that found a third of the waste or more, and how much that is in words.
fn habit<'f>(facts: &Facts<'f>) -> Option<(&'f Canned, &'static str)> {
    let sum = |name: &str| {
        let own = facts.found.iter().filter(|finding| finding.detector == name);
        own.filter_map(|finding| finding.wasted_cost_usd).sum::<f64>()
    };
    let sums = facts.page.detectors.iter().map(|canned| (*canned, sum(&canned.name)));
    let (canned, most) = sums.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let part = most / facts.wasted();
    let words = match part {
        0.9.. => "nearly all",
        0.6.. => "most",
        0.4.. => "half",
        0.33.. => "more than a third",
        _ => return None,
    };
    (!canned.habit.is_empty()).then_some((canned, words))
}

/// Returns a part of the cost in words.
fn part_in_words(part: f64) -> &'static str {
    match part {
        0.9.. => "nearly all",
        0.5.. => "more than half",
        0.33.. => "more than a third",
        _ => "more than a quarter",
    }
}

/// Renders what stands out: a session, a day, a project or a model that made much of the cost.
fn notable(facts: &Facts<'_>) -> Option<Markup> {
    let spent = facts.sum();
    if facts.unit != Unit::Usd || spent <= 0.0 {
        return None;
    }
    let is_large = |cost: f64, part: f64| cost / spent >= part;
    let roots = facts.roots();
    if let Some(root) = roots.first().filter(|root| roots.len() > 1 && is_large(root.cost.unwrap_or(0.0), 0.25)) {
        let cost = root.cost.unwrap_or(0.0);
        let day = root.started_at.map(|moment| facts.day(moment));
        let named: Vec<String> =
            [Some(project_name(root.project)), day, Some(money(cost))].into_iter().flatten().collect();
        return Some(html! {
            "One session made " (part_in_words(cost / spent)) " of the bill: "
            a href="#sessions" { (named.join(", ")) }
            @if root.wasted >= 0.01 { ", of which " (money(root.wasted)) " was avoidable" }
            "."
        });
    }
    if !facts.page.span.is_day() {
        let days = facts.of("cost_by_day").rows();
        let days = days.filter_map(|row| Some((row.day("day")?, row.number("cost_usd")?)));
        if let Some((day, cost)) = days.max_by(|(_, one), (_, other)| one.total_cmp(other))
            && is_large(cost, 0.4)
            && facts.of("cost_by_day").len() > 1
        {
            let part = if cost / spent >= 0.5 { part_in_words(cost / spent) } else { "much" };
            return Some(html! {
                "One day made " (part) " of the bill: " a href="#days" { (words::day(day, facts.page.span.has_years())) ", " (money(cost)) } "."
            });
        }
    }
    let first = |key: &str, name: &str, least: usize, part: f64| {
        let rows = facts.of(key);
        let row = rows.only().filter(|_| rows.len() >= least)?;
        let cost = row.number("cost_usd").filter(|cost| is_large(*cost, part))?;
        Some((row.text(name).map(str::to_owned), cost))
    };
    if let Some((project, cost)) = first("cost_by_project", "project", 3, 0.6) {
        return Some(html! {
            "One project made " (part_in_words(cost / spent)) " of the bill: "
            a href="#projects" { (project_name(project.as_deref())) ", " (money(cost)) } "."
        });
    }
    let (model, cost) = first("cost_by_model", "model", 2, 0.8)?;
    let model = model.map_or_else(|| "no model".to_owned(), |model| crate::shown::one_line(&model));
    Some(html! {
        "One model made " (part_in_words(cost / spent)) " of the bill: "
        a href="#models" { (model) ", " (money(cost)) } "."
    })
}

/// Returns what the cost leaves out, as parts of a sentence.
fn caveats(facts: &Facts<'_>) -> Vec<String> {
    let (unpriced, partial) = (facts.count("unpriced_responses"), facts.count("partial_responses"));
    let unbilled = facts.count("sessions") - facts.count("billed_sessions");
    let mut parts = Vec::new();
    if unpriced > 0.0 {
        let verb = if is_one(unpriced) { "has" } else { "have" };
        parts.push(format!("{} {verb} no known price", plural(unpriced, "response")));
    }
    if partial > 0.0 {
        let verb = if is_one(partial) { "was" } else { "were" };
        let noun = if parts.is_empty() { plural(partial, "response") } else { count(partial) };
        parts.push(format!("{noun} {verb} recorded only in part"));
    }
    if unbilled > 0.0 {
        let verb = if is_one(unbilled) { "has" } else { "have" };
        parts.push(format!("{} {verb} no token counts", plural(unbilled, "session")));
    }
    parts.extend(facts.page.staleness());
    parts
}

/// Returns the cost for the title of the document.
pub(super) fn headline(facts: &Facts<'_>) -> String {
    facts.total(facts.unit.column()).map_or_else(
        || words::NONE.to_owned(),
        |sum| match facts.unit {
            Unit::Usd => money(sum),
            Unit::Tokens => facts.unit.in_words(sum),
        },
    )
}
