//! The section on avoidable cost: the findings by detector, with what to do and three examples each.

use maud::{Markup, html};

use super::facts::{Facts, Unit, project_name};
use super::plots::{Image, text};
use super::sentence::shows_share;
use super::words::{self, money, plural, share, share_of};
use crate::query::canned::Canned;
use crate::shown::{first_sentence, one_line};
use crate::tables::{Basis, FindingRow};

/// Most detectors that are shown with examples.
const MOST: usize = 8;
/// Most examples of a detector.
const EXAMPLES: usize = 3;

/// The findings of a detector, the most expensive first.
struct Group<'f, 'p> {
    canned: Option<&'p Canned>,
    name: &'p str,
    found: Vec<&'f FindingRow<'p>>,
    sum: f64,
}

/// Renders the section.
pub(super) fn section(facts: &Facts<'_>) -> Markup {
    if facts.found.is_empty() {
        let ran = plural(facts.page.detectors.len() as f64, "detector");
        return html! { p { "Nothing was found. " (ran) " looked for waste." } };
    }
    let groups = groups(facts);
    let (priced, bare): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.sum > 0.0);
    let (shown, small) = priced.split_at(priced.len().min(MOST));
    html! {
        p.about { (about(facts)) }
        (bar(facts, shown.first()))
        div {
            @for (at, group) in shown.iter().enumerate() { (article(facts, group, at == 0)) }
        }
        @if !small.is_empty() {
            p.s.note { b { "Smaller: " } span.soft { (joined(small, |group| format!("{} {}", title(group), money(group.sum)))) "." } }
        }
        p.s.note {
            @if !bare.is_empty() {
                b { "Without a price, or counted in other findings: " }
                span.soft { (joined(&bare, |group| format!("{} {}", title(group), group.found.len()))) ". " }
            }
            span.soft { code { "llrem detect" (facts.page.options()) } " lists " (all(facts.found.len())) "." }
        }
    }
}

fn joined(groups: &[Group<'_, '_>], named: impl Fn(&Group<'_, '_>) -> String) -> String {
    groups.iter().map(named).collect::<Vec<_>>().join(" · ")
}

fn groups<'f, 'p>(facts: &'f Facts<'p>) -> Vec<Group<'f, 'p>> {
    let mut groups: Vec<Group<'f, 'p>> = Vec::new();
    for finding in &facts.found {
        let at = groups.iter().position(|group| group.name == finding.detector).unwrap_or_else(|| {
            let canned = facts.page.detectors.iter().find(|canned| canned.name == finding.detector).copied();
            groups.push(Group { canned, name: finding.detector, found: Vec::new(), sum: 0.0 });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.sum += finding.wasted_cost_usd.unwrap_or(0.0);
            group.found.push(finding);
        }
    }
    groups.sort_by(|one, other| other.sum.total_cmp(&one.sum));
    groups
}

fn title<'p>(group: &Group<'_, 'p>) -> &'p str {
    group.canned.map_or(group.name, |canned| canned.title.as_str())
}

fn about(facts: &Facts<'_>) -> Markup {
    let sum = |basis: Basis| {
        let own = facts.found.iter().filter(|finding| finding.basis == basis);
        own.filter_map(|finding| finding.wasted_cost_usd).sum::<f64>()
    };
    let (measured, estimated) = (sum(Basis::Measured), sum(Basis::Estimated));
    let (wasted, before) = (facts.wasted(), facts.wasted_before());
    let spent_before = facts.total_before("cost_usd");
    html! {
        @if wasted > 0.0 {
            (money(wasted)) @if facts.unit == Unit::Usd { " of " (money(facts.sum())) }
            @if let Some(spent) = spent_before {
                " (" (facts.name_before()) ": " (money(before))
                @if let Some(part) = share_of(before, spent) { ", " (share(part)) } ")"
            }
            ". "
            @match (measured > 0.0, estimated > 0.0) {
                (true, true) => {
                    (money(estimated)) " is estimated from prices, " (money(measured)) " is measured: whole responses that led to nothing. "
                }
                (true, false) => { "All of it is measured: whole responses that led to nothing. " }
                (false, _) => { "All of it is estimated from prices. " }
            }
            "No dollar counts twice. "
        }
        "A detector can be wrong, so each example names the command that shows it."
    }
}

/// Renders the avoidable part of the cost as a bar.
fn bar(facts: &Facts<'_>, largest: Option<&Group<'_, '_>>) -> Markup {
    let (wasted, spent) = (facts.wasted(), facts.sum());
    let part = share_of(wasted, spent).filter(|part| facts.unit == Unit::Usd && shows_share(facts) && *part > 0.0);
    let (Some(part), Some(largest)) = (part, largest) else { return html! {} };
    let part = part.min(1.0);
    let rest = spent - wasted;
    let width = format!("{:.2}%", (part * 100.0).max(0.5));
    let mut shapes = format!(
        "<rect class=\"fs\" width=\"100%\" height=\"30\"/><rect class=\"fw\" width=\"{width}\" height=\"30\"/>"
    );
    let label = format!("{} avoidable", share(part));
    let (class, x, more) = if part >= 0.34 { ("i", "10", "") } else { ("o", width.as_str(), " dx=\"8\"") };
    text(&mut shapes, class, x, 19.0, more, &label);
    if part < 0.6 && rest > 0.0 {
        let label = format!("the rest: {}", money(rest));
        text(&mut shapes, "o", "100%", 19.0, " dx=\"-10\" text-anchor=\"end\"", &label);
    }
    let about = format!(
        "{} of {}, {}; {} of it: {}.",
        money(wasted),
        money(spent),
        share(part),
        money(largest.sum),
        title(largest)
    );
    let image = Image { id: "waste-plot", title: "Avoidable part of the cost", about: &about, height: 30.0 };
    html! { figure.wbar { (image.markup(&shapes)) } }
}

fn article(facts: &Facts<'_>, group: &Group<'_, '_>, is_open: bool) -> Markup {
    let part = share_of(group.sum, facts.sum()).filter(|_| facts.unit == Unit::Usd && shows_share(facts));
    let sessions = plural(facts.sessions_of(&group.found) as f64, "session");
    let count = group.found.len();
    let shown: Vec<&FindingRow<'_>> =
        group.found.iter().filter(|it| it.wasted_cost_usd.unwrap_or(0.0) > 0.0).take(EXAMPLES).copied().collect();
    let number = ["No", "One", "Two", "Three"].get(shown.len()).copied().unwrap_or("Some");
    html! {
        article.find {
            div.amt.w { (money(group.sum)) @if let Some(part) = part { span.sub { (share(part)) " of the cost" } } }
            div {
                h3 { (title(group)) }
                p.s.soft { (plural(count as f64, "finding")) " in " (sessions) }
                @if let Some(canned) = group.canned {
                    p { (first_sentence(&canned.about)) }
                    @if !canned.todo.is_empty() {
                        ul.do { @for sentence in sentences(&canned.todo) { li { (sentence) } } }
                    }
                }
                details.pr open[is_open] {
                    summary {
                        @if count == 1 { "The example" }
                        @else if shown.len() == count { (number) " examples" }
                        @else { (number) (if shown.len() == 1 { " example of " } else { " examples of " }) (count) }
                    }
                    ul.ex { @for finding in shown { (example(facts, finding)) } }
                }
            }
        }
    }
}

fn example(facts: &Facts<'_>, finding: &FindingRow<'_>) -> Markup {
    let day = finding.first_at.map(|moment| facts.day(moment).replace(' ', "\u{a0}"));
    let place = finding.first_seq.map_or_else(String::new, |seq| format!(" --at {seq}"));
    let said = words::shortened(first_sentence(finding.explanation), 180);
    html! {
        li {
            b { (money(finding.wasted_cost_usd.unwrap_or(0.0))) }
            span {
                (said) " "
                span.soft { (project_name(finding.project)) @if let Some(day) = day { ", " (day) } }
                " · " code.whole { "llrem show " (one_line(&facts.page.ids.short(finding.session_id))) (place) }
            }
        }
    }
}

/// Splits a text into its sentences.
fn sentences(text: &str) -> Vec<&str> {
    let (mut sentences, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let first = first_sentence(rest);
        sentences.push(first);
        rest = rest.strip_prefix(first).unwrap_or("").trim_start();
    }
    sentences
}

/// Returns all of the findings in words: `all 20 findings`, `the finding`.
fn all(findings: usize) -> String {
    if findings == 1 { "the finding".to_owned() } else { format!("all {}", plural(findings as f64, "finding")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_a_list() {
        assert_eq!(
            sentences("Ask for less: a range. Or let `a. b` read it."),
            ["Ask for less: a range.", "Or let `a. b` read it."]
        );
    }
}
