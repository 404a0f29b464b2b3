//! The section on results: commits, lines, pull requests and test runs.

use maud::{Markup, html};

use super::facts::{Facts, agent_title, project_name};
use super::figures::Row;
use super::plots::{Image, cell_bar, parts};
use super::table::{NUMBER, NUMBER_M, Table, cell, known};
use super::words::{self, count, money, plural, share_of};
use crate::shown::one_line;

/// Most rows of a table.
const MOST: usize = 6;

/// Returns the section, unless nothing of it was recorded.
pub(super) fn section(facts: &Facts<'_>) -> Option<Markup> {
    let facts_of = figures(facts);
    let tables = [branches(facts), pull_requests(facts), efforts(facts)];
    let projects = projects(facts);
    if facts_of.is_empty() && projects.is_none() && tables.iter().all(Option::is_none) {
        return None;
    }
    Some(html! {
        p.about {
            "What the sessions left in repositories, as far as their commands say. It is for orientation, not for ranking: more "
            "lines are not better, and money spent before a commit was not all spent for it."
        }
        @if !facts_of.is_empty() {
            dl.facts { @for (name, value, note) in &facts_of { div { dt { (name) } dd { (value) span { (note) } } } } }
        }
        (projects.unwrap_or_default())
        div.half { @for table in tables.into_iter().flatten() { div { (table) } } }
    })
}

/// Returns names, values and notes.
fn figures(facts: &Facts<'_>) -> Vec<(&'static str, String, Markup)> {
    let output = facts.of("output_by_project");
    let mut known = Vec::new();
    let before = |column: &str| {
        let sum = facts.of("output_by_project_before").known_sum(column).filter(|_| facts.before().is_some());
        sum.map(|sum| format!("{} {}", facts.name_before(), count(sum)))
    };
    let noted = |notes: Vec<Option<String>>| cell(notes.into_iter().flatten().collect::<Vec<_>>().join("; "));
    let commits = output.sum("commits");
    if commits > 0.0 {
        let cost = |is_commit: bool| {
            let rows = facts.of("cost_by_commit").rows();
            rows.filter(|row| row.text("commit_sha").is_some() == is_commit)
                .map(|row| row.amount("cost_usd"))
                .sum::<f64>()
        };
        let spent = format!("{} was spent up to a commit, {} led to none", money(cost(true)), money(cost(false)));
        known.push(("Commits", count(commits), noted(vec![Some(spent), before("commits")])));
    }
    let requests = output.sum("pull_requests");
    if requests > 0.0 {
        known.push(("Pull requests opened", count(requests), noted(vec![before("pull_requests")])));
    }
    if let Some(added) = output.known_sum("lines_added") {
        let least = if output.sum("edits_without_lines") > 0.0 { "; at least" } else { "" };
        let removed = format!("−{}{least}", count(output.sum("lines_removed")));
        known.push(("Lines", format!("+{}", count(added)), cell(removed)));
    }
    let runs = facts.of("test_runs");
    let ends = ["passed", "failed", "unknown"].map(|column| runs.sum(column));
    if runs.sum("runs") > 0.0 {
        let [passed, failed, unknown] = ends.map(count);
        let about = format!("{passed} passed, {failed} failed, {unknown} ended in an unknown way.");
        let image = Image { id: "tests-plot", title: "How the test runs ended", about: &about, height: 10.0 };
        let shapes = parts(&[("fg", ends[0]), ("fb", ends[1]), ("fs", ends[2])], 10.0);
        let note = html! { (passed) " passed, " (failed) " failed, " (unknown) " unknown" (image.markup(&shapes)) };
        known.push(("Test runs", count(runs.sum("runs")), note));
    }
    let edited = facts.of("edits_without_tests");
    let (sessions, tested) = (edited.sum("sessions"), edited.sum("tested"));
    if sessions > 0.0 {
        let value = format!("{} of {}", count(sessions - tested), count(sessions));
        known.push((
            "Edited and never tested",
            value,
            cell("sessions that edited code; tests in CI or by hand are not seen"),
        ));
    }
    known
}

fn projects(facts: &Facts<'_>) -> Option<Markup> {
    let output = facts.of("output_by_project");
    let has_output = |row: &Row<'_>| {
        ["edits", "lines_added", "commits", "pull_requests", "test_runs"].iter().any(|column| row.amount(column) > 0.0)
    };
    let with_output: Vec<Row<'_>> = output.rows().filter(has_output).collect();
    if with_output.is_empty() {
        return None;
    }
    let largest = output.largest("cost_usd");
    let positive = |row: &Row<'_>, column: &str| known(row.number(column).filter(|number| *number > 0.0).map(count));
    let rows = with_output.iter().take(MOST).map(|row| {
        let lines = row.number("lines_added").map(|added| {
            html! { "+" (count(added)) span.sub { "−" (count(row.amount("lines_removed"))) } }
        });
        let tests = (row.amount("test_runs") > 0.0).then(|| {
            html! {
                (count(row.amount("passed_runs")))
                @if row.amount("failed_runs") > 0.0 { span.sub { (count(row.amount("failed_runs"))) " failed" } }
            }
        });
        vec![
            cell(project_name(row.text("project"))),
            known(row.number("cost_usd").map(|usd| words::money_among(usd, largest))),
            positive(row, "commits"),
            positive(row, "pull_requests"),
            lines.unwrap_or_default(),
            tests.unwrap_or_default(),
        ]
    });
    let heads = [
        ("Project", ""),
        ("Cost", NUMBER),
        ("Commits", NUMBER),
        ("Pull requests", NUMBER_M),
        ("Lines", NUMBER_M),
        ("Passed tests", NUMBER),
    ];
    let rows: Vec<_> = rows.collect();
    let left = with_output.len() - rows.len();
    let table =
        Table { caption: "Output by project", is_captioned: false, class: None, heads: &heads, rows, sum: None };
    Some(html! {
        (table.markup())
        p.xs.soft.note {
            "No number: not recorded. "
            @if left > 0 { (left) " more: " }
            code { (facts.query("output_by_project")) }
        }
    })
}

/// Renders amounts of money with bars, the first ones by name, and the rest as one.
fn costs(caption: &str, name: &str, rows: Vec<(Markup, Option<f64>)>, note: &str) -> Option<Markup> {
    let largest = rows.iter().filter_map(|(_, cost)| *cost).fold(0.0, f64::max);
    if largest <= 0.0 {
        return None;
    }
    let sum: f64 = rows.iter().filter_map(|(_, cost)| *cost).sum();
    let rows = rows.into_iter().map(|(name, cost)| {
        let shown = cost.map(|cost| {
            html! {
                (cell_bar("fn", cost / largest)) span.nv { (words::money_among(cost, largest)) }
            }
        });
        let part = cost.and_then(|cost| share_of(cost, sum)).map(words::share);
        vec![name, shown.unwrap_or_default(), known(part)]
    });
    let heads = [(name, ""), ("Cost", NUMBER), ("Share", NUMBER)];
    let sum = vec![cell("Sum"), cell(words::money_among(sum, largest)), cell("")];
    let table = Table { caption, is_captioned: true, class: None, heads: &heads, rows: rows.collect(), sum: Some(sum) };
    Some(html! { (table.markup()) p.xs.soft.note { (note) } })
}

/// Renders the most expensive branches, then default branches and usage without a branch.
fn branches(facts: &Facts<'_>) -> Option<Markup> {
    let rows = facts.of("cost_by_branch");
    let (own, common): (Vec<Row<'_>>, Vec<Row<'_>>) =
        rows.rows().partition(|row| row.text("branch").is_some() && !row.is_true("is_default"));
    if own.is_empty() {
        return None;
    }
    let sum = |rows: &[Row<'_>]| rows.iter().filter_map(|row| row.number("cost_usd")).reduce(|sum, usd| sum + usd);
    let mut named: Vec<(Markup, Option<f64>)> = Vec::new();
    let (first, others) = own.split_at(own.len().min(MOST));
    for row in first {
        let name = html! {
            (one_line(row.text("branch").unwrap_or_default())) span.sub { (project_name(row.text("repository"))) }
        };
        named.push((name, row.number("cost_usd")));
    }
    if !others.is_empty() {
        named.push((cell(format!("{} more", others.len())), sum(others)));
    }
    let (default, none): (Vec<Row<'_>>, Vec<Row<'_>>) = common.into_iter().partition(|row| row.is_true("is_default"));
    for (name, rows) in [("default branches", default), ("no branch recorded", none)] {
        if !rows.is_empty() {
            named.push((cell(name), sum(&rows)));
        }
    }
    costs("Branches", "Branch", named, "A branch counts its own responses only.")
}

fn pull_requests(facts: &Facts<'_>) -> Option<Markup> {
    let rows = facts.of("cost_by_pull_request");
    let own: Vec<Row<'_>> = rows.rows().filter(|row| row.text("pull_request").is_some()).collect();
    if own.is_empty() {
        return None;
    }
    let name = |row: &Row<'_>| {
        let url = one_line(row.text("pull_request").unwrap_or_default());
        cell(url.split_once("://").map_or(url.as_str(), |(_, rest)| rest))
    };
    let (first, others) = own.split_at(own.len().min(MOST));
    let mut named: Vec<(Markup, Option<f64>)> = first.iter().map(|row| (name(row), row.number("cost_usd"))).collect();
    if !others.is_empty() {
        let sum = others.iter().filter_map(|row| row.number("cost_usd")).sum();
        named.push((cell(format!("{} more", others.len())), Some(sum)));
    }
    costs("Pull requests", "Pull request", named, "Whether a request was merged is not in the files.")
}

/// Renders what a turn costs with each effort, where it is recorded.
fn efforts(facts: &Facts<'_>) -> Option<Markup> {
    let own: Vec<Row<'_>> = facts.of("compare_by_effort").rows().filter(|row| row.text("value").is_some()).collect();
    if own.is_empty() {
        return None;
    }
    let rows = own.iter().take(MOST).map(|row| {
        let cost = row.number("usd_per_turn").map(|usd| {
            html! {
                (money(usd)) span.sub { (money(row.amount("usd_low"))) " to " (money(row.amount("usd_high"))) }
            }
        });
        vec![
            html! {
                (one_line(row.text("value").unwrap_or_default()))
                span.sub { (agent_title(row.text("agent").unwrap_or_default())) }
            },
            cell(count(row.amount("sessions"))),
            cell(count(row.amount("turns"))),
            cost.unwrap_or_default(),
        ]
    });
    let heads = [("Effort", ""), ("Sessions", NUMBER), ("Turns", NUMBER), ("A turn", NUMBER)];
    let caption = "Reasoning effort asked for";
    let table = Table { caption, is_captioned: true, class: None, heads: &heads, rows: rows.collect(), sum: None };
    let left = own.len().saturating_sub(MOST);
    Some(html! {
        (table.markup())
        p.xs.soft.note {
            "Turns whose responses had several efforts are left out, as are subagents. The cost of a turn needs 20 sessions."
            @if left > 0 { " " (plural(left as f64, "more row")) ": " code { (facts.query("compare")) " --param by=effort" } }
        }
    })
}
