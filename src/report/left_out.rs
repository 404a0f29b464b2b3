//! The section on missing data: one sentence for each problem, with its count and the remedy.

use maud::{Markup, html};

use super::bars::Step;
use super::facts::{Facts, agent_title};
use super::figures::Row;
use super::words::{count, is_one, money_about, plural, tokens};
use crate::shown::one_line;
use crate::shown::value::listed;

/// Most names in a sentence.
const MOST: usize = 5;

/// A problem: its count in a sentence, and its meaning.
type Point = (String, Markup);

/// Renders the section.
pub(super) fn section(facts: &Facts<'_>) -> Markup {
    let mut points = Vec::new();
    let rows: Vec<Row<'_>> = facts.of("data_quality").rows().collect();
    let mut problems: Vec<&str> = Vec::new();
    for problem in ORDER.into_iter().chain(rows.iter().filter_map(|row| row.text("problem"))) {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    for problem in problems {
        let own: Vec<Row<'_>> = rows.iter().filter(|row| row.text("problem") == Some(problem)).copied().collect();
        if !own.is_empty() {
            points.push(point(problem, &own));
        }
    }
    points.extend(unbilled(facts));
    points.extend(days_off(facts));
    if let Some(reason) = facts.page.unanswered {
        points.push(("Files that could not be read are not counted here.".to_owned(), html! { (reason) }));
    }
    html! {
        @if points.is_empty() { p { "Nothing that llrem knows of." } }
        ul.dq { @for (what, meaning) in &points { li { b { (what) } " " (meaning) } } }
    }
}

/// Problems of the query `data_quality`, the most important first.
const ORDER: [&str; 9] = [
    "model without a known price",
    "no tokens were recorded",
    "counts are rounded, estimated or those of a running response",
    "input was not recorded",
    "cost recorded as 0",
    "no finer than a turn or session",
    "no time was recorded",
    "source could not be read",
    "line could not be read",
];

fn point(problem: &str, rows: &[Row<'_>]) -> Point {
    let items: f64 = rows.iter().map(|row| row.amount("items")).sum();
    let is_one = is_one(items);
    let by = |column: &str| by(rows, column);
    let agents = listed(&by("agent"));
    let (have, were, they) =
        (if is_one { "has" } else { "have" }, if is_one { "was" } else { "were" }, if is_one { "It" } else { "They" });
    let responses = plural(items, "response");
    match problem {
        "model without a known price" => {
            let all: f64 = rows.iter().map(|row| row.amount("tokens")).sum();
            (
                format!("{responses} {have} no price and {} not in the cost.", if is_one { "is" } else { "are" }),
                html! {
                    "They used " (tokens(all)) " tokens of " (listed(&by("what"))) " (" (agents)
                    "). A newer version of llrem may know the price; " code { "prices" } " in the configuration adds one."
                },
            )
        }
        "no tokens were recorded" => (
            format!("{responses} {have} no token counts."),
            html! { "They cost nothing here: " (agents) ". Most failed or were stopped before the provider counted." },
        ),
        "counts are rounded, estimated or those of a running response" => (
            format!("{responses} cost at least what is shown."),
            html! { (agents) ": rounded, estimated or taken before the response ended." },
        ),
        "input was not recorded" => (
            format!("{responses} {have} no count of {} input.", if is_one { "its" } else { "their" }),
            html! { (agents) ". " (they) " cost more than is shown." },
        ),
        "cost recorded as 0" => {
            let list: f64 = rows.iter().map(|row| row.amount("list_cost_usd")).sum();
            (
                format!("{responses} {were} recorded with a cost of 0."),
                html! { (agents) ". By list price it is " (money_about(list)) ", which is not in the cost: with a subscription, agents record 0." },
            )
        }
        "no finer than a turn or session" => (
            format!("{} counted only once for a turn or a session.", plural(items, "record"))
                .replace("counted", &format!("{were} counted")),
            html! { (agents) ". The cost is on the day of the record." },
        ),
        "no time was recorded" => (
            format!("{responses} {have} no time."),
            html! { (agents) ". The cost is on the day on which the session started; without one, it is in no plot." },
        ),
        "source could not be read" => (
            format!("{} could not be read in full.", plural(items, "file")),
            html! { (agents) ". " code { "llrem sources --bad" } " names " (if is_one { "it" } else { "them" }) ", whatever the time." },
        ),
        "line could not be read" => (
            format!("{} could not be read.", plural(items, "line")),
            html! { (agents) ". " code { "llrem sources --bad" } " names the files, whatever the time." },
        ),
        unknown => (format!("{}: {}.", one_line(unknown), count(items)), html! { (agents) "." }),
    }
}

/// Returns the values of a column with their counts, the largest first: `Claude Code (390)`.
fn by(rows: &[Row<'_>], column: &str) -> Vec<String> {
    let mut sums: Vec<(String, f64)> = Vec::new();
    for row in rows {
        let text = row.text(column).unwrap_or_default();
        let name = if column == "agent" { agent_title(text) } else { one_line(text) };
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += row.amount("items"),
            None => sums.push((name, row.amount("items"))),
        }
    }
    sums.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let left = sums.len().saturating_sub(MOST);
    let mut named: Vec<String> = match sums.as_slice() {
        [(name, _)] => vec![name.clone()],
        sums => sums.iter().take(MOST).map(|(name, sum)| format!("{name} ({})", count(*sum))).collect(),
    };
    if left > 0 {
        named.push(format!("{left} more"));
    }
    named
}

fn unbilled(facts: &Facts<'_>) -> Option<Point> {
    let sessions = facts.count("sessions") - facts.count("billed_sessions");
    let one = is_one(sessions);
    (sessions > 0.0).then(|| {
        let them = plural(sessions, "session");
        let verb = if one { "is" } else { "are" };
        let they = if one { "It has" } else { "They have" };
        let counts = if one { "It counts as a session." } else { "They count as sessions." };
        (format!("{them} {verb} not in the cost."), html! { (they) " no token counts. " (counts) })
    })
}

/// Returns the days on which nothing was used and no session began.
fn days_off(facts: &Facts<'_>) -> Option<Point> {
    if facts.page.span.step() != Step::Day {
        return None;
    }
    let page = facts.page;
    let begun = page.ids.all().iter().filter(|it| {
        page.agent.is_none_or(|agent| it.agent == agent)
            && page.project.is_none_or(|project| it.project.as_deref() == Some(project))
    });
    let begun = begun.map(|it| (it.day.as_ref().and_then(|day| day.parse().ok()), Some(1.0)));
    let uses =
        [facts.bars("cost_by_day", "sessions"), facts.bars("hours_by_project_day", "sessions"), facts.by_bucket(begun)];
    let is_off = |at: &usize| uses.iter().all(|bars| bars.get(*at).copied().flatten().is_none());
    let off: Vec<_> = (0..facts.buckets.len()).filter(is_off).filter_map(|at| facts.buckets.get(at)).collect();
    let weekends = off.iter().filter(|bucket| bucket.is_weekend()).count();
    let note = match weekends {
        0 => String::new(),
        all if all == off.len() => ", all of a weekend".to_owned(),
        some => format!(", {some} of them of a weekend"),
    };
    (!off.is_empty()).then(|| {
        (
            format!("{} without use{note}.", plural(off.len() as f64, "day")),
            html! {
                "No session began then, and no tokens were recorded. llrem cannot tell a day off from files that an agent deleted before "
                code { "llrem etl" } " read them."
            },
        )
    })
}
