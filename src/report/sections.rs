//! The sections on projects, models, caches, sessions, hours, tools and limits.

use maud::{Markup, html};

use super::facts::{Facts, Root, Unit, agent_title, project_name};
use super::figures::{Row, whole};
use super::plots::{self, Image, cell_bar, swatch};
use super::table::{NUMBER, NUMBER_L, NUMBER_M, Table, cell, known};
use super::tiles::active_hours;
use super::words::{self, count, money, money_about, money_among, share, share_of, tokens};
use crate::shown::one_line;
use crate::shown::value::listed;

/// Most projects and models.
const MOST: usize = 10;
/// Most sessions and tools.
const FEW: usize = 8;
/// Most characters of a title.
const TITLE: usize = 74;
/// Fewest calls for a share.
const CALLS: f64 = 20.0;
/// Share of a limit that is marked.
const MARK: f64 = 80.0;

/// Renders an amount after a bar.
fn with_bar(amount: Option<f64>, largest: f64, shown: impl Fn(f64) -> String) -> Markup {
    let Some(amount) = amount else { return html! {} };
    let part = share_of(amount, largest).unwrap_or(0.0);
    html! { (cell_bar("fn", part)) span.nv { (shown(amount)) } }
}

/// Returns the class of a waste, and the amount if there is one.
fn wasted(amount: f64) -> Markup {
    if amount >= 0.005 {
        html! { span.w { (money(amount)) } }
    } else {
        html! {}
    }
}

fn tokens_of(row: Row<'_>) -> f64 {
    ["input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens"]
        .map(|column| row.amount(column))
        .iter()
        .sum()
}

/// Renders the cost by project.
pub(super) fn projects(facts: &Facts<'_>) -> Markup {
    let rows = facts.of("cost_by_project");
    let largest = rows.largest("cost_usd");
    let spent = facts.count("cost_usd");
    let before = |project: Option<&str>| {
        let mut rows = facts.of("cost_by_project_before").rows();
        rows.find(|row| row.text("project") == project).and_then(|row| row.number("cost_usd"))
    };
    let name_before = facts.name_before();
    let heads = [
        ("Project", ""),
        ("Cost", NUMBER),
        ("Share", NUMBER_M),
        (name_before.as_str(), NUMBER_M),
        ("Avoidable", NUMBER),
        ("Sessions", NUMBER_M),
        ("Tokens", NUMBER_L),
    ];
    let line = |row: Row<'_>| {
        let project = row.text("project");
        vec![
            cell(project_name(project)),
            with_bar(row.number("cost_usd"), largest, |usd| money_among(usd, largest)),
            known(row.number("cost_usd").and_then(|usd| share_of(usd, spent)).map(share)),
            known(before(project).map(|usd| money_among(usd, largest))),
            wasted(facts.wasted_in(project)),
            cell(count(row.amount("sessions"))),
            cell(tokens(tokens_of(row))),
        ]
    };
    let mut lines: Vec<Vec<Markup>> = rows.rows().take(MOST).map(line).collect();
    let left: Vec<Row<'_>> = rows.rows().skip(MOST).collect();
    if !left.is_empty() {
        lines.push(other_projects(facts, &left, largest));
    }
    let sum = vec![
        cell("Sum"),
        known(facts.total("cost_usd").map(|usd| money_among(usd, largest))),
        html! {},
        known(facts.total_before("cost_usd").map(|usd| money_among(usd, largest))),
        wasted(facts.wasted()),
        cell(count(facts.count("billed_sessions"))),
        cell(tokens(facts.count("total_tokens"))),
    ];
    let table = Table {
        caption: "Cost by project",
        is_captioned: false,
        class: None,
        heads: &heads,
        rows: lines,
        sum: Some(sum),
    };
    let [all, billed] = ["sessions", "billed_sessions"].map(|column| count(facts.count(column)));
    html! {
        (table.markup())
        p.xs.soft.note {
            "A subagent counts for the project that it ran in. A session with two projects counts once in the sum."
            @if all != billed { " Sessions: those with usage, " (billed) " of " (all) "." }
            @if !left.is_empty() { " All rows: " code { (facts.query("cost_by_project")) } }
        }
    }
}

fn other_projects(facts: &Facts<'_>, rows: &[Row<'_>], largest: f64) -> Vec<Markup> {
    let cost: f64 = rows.iter().map(|row| row.amount("cost_usd")).sum();
    vec![
        cell(format!("{} more", rows.len())),
        with_bar(Some(cost), largest, |usd| money_among(usd, largest)),
        known(share_of(cost, facts.count("cost_usd")).map(share)),
        html! {},
        wasted(rows.iter().map(|row| facts.wasted_in(row.text("project"))).sum()),
        html! {},
        cell(tokens(rows.iter().map(|row| tokens_of(*row)).sum())),
    ]
}

/// Renders the cost by model.
pub(super) fn models(facts: &Facts<'_>) -> Markup {
    let rows = facts.of("cost_by_model");
    let largest = rows.largest("cost_usd");
    // A model without a price is shown whatever its rank.
    let (mut shown, mut left): (Vec<Row<'_>>, Vec<Row<'_>>) = (Vec::new(), Vec::new());
    for row in rows.rows() {
        let is_unpriced = row.number("cost_usd").is_none() && tokens_of(row) > 0.0;
        if shown.len() < MOST || is_unpriced && shown.len() < 2 * MOST { &mut shown } else { &mut left }.push(row);
    }
    let line = |row: &Row<'_>| {
        let reads = share_of(row.amount("cache_read_tokens"), tokens_of(*row) - row.amount("output_tokens"));
        let cost = match row.number("cost_usd") {
            Some(usd) => with_bar(Some(usd), largest, |usd| money_among(usd, largest)),
            None => html! { span.soft { "no price" } },
        };
        vec![
            cell(row.text("model").map_or_else(|| "no model".to_owned(), one_line)),
            cost,
            known(row.number("million_tokens_usd").map(money)),
            known(reads.filter(|_| row.number("cache_read_tokens").is_some()).map(share)),
            known(row.number("responses").map(count)),
            cell(tokens(tokens_of(*row))),
        ]
    };
    let mut lines: Vec<Vec<Markup>> = shown.iter().map(line).collect();
    if !left.is_empty() {
        lines.push(other_models(&left, largest));
    }
    let sum = vec![
        cell("Sum"),
        known(facts.total("cost_usd").map(|usd| money_among(usd, largest))),
        html! {},
        html! {},
        known(facts.total("responses").map(count)),
        cell(tokens(facts.count("total_tokens"))),
    ];
    let heads = [
        ("Model", ""),
        ("Cost", NUMBER),
        ("A million tokens", NUMBER),
        ("From the cache", NUMBER_M),
        ("Responses", NUMBER_L),
        ("Tokens", NUMBER_L),
    ];
    let table = Table {
        caption: "Cost by model",
        is_captioned: false,
        class: None,
        heads: &heads,
        rows: lines,
        sum: Some(sum),
    };
    html! {
        (table.markup())
        @if !left.is_empty() { p.xs.soft.note { "All rows: " code { (facts.query("cost_by_model")) } } }
    }
}

fn other_models(rows: &[Row<'_>], largest: f64) -> Vec<Markup> {
    let cost: f64 = rows.iter().map(|row| row.amount("cost_usd")).sum();
    vec![
        cell(format!("{} more", rows.len())),
        with_bar(Some(cost), largest, |usd| money_among(usd, largest)),
        html! {},
        html! {},
        cell(count(rows.iter().map(|row| row.amount("responses")).sum())),
        cell(tokens(rows.iter().map(|row| tokens_of(*row)).sum())),
    ]
}

/// Renders what caches saved, if reads from caches are recorded.
pub(super) fn caches(facts: &Facts<'_>) -> Option<Markup> {
    let (reads, inputs) = (
        facts.of("cache_hit_rate_by_day").sum("cache_read_tokens"),
        facts.of("cache_hit_rate_by_day").sum("all_input_tokens"),
    );
    let part = share_of(reads, inputs)?;
    let about = html! {
        p.about { (share(part)) " of all input (" (tokens(reads)) " of " (tokens(inputs)) " tokens) came from a cache, at about a tenth of the price." }
    };
    let daily = (!facts.page.span.is_day()).then(|| cached_share(facts));
    let unknown: Vec<String> = facts
        .of("cost_by_agent")
        .rows()
        .filter(|row| row.number("cache_read_tokens").is_none() && row.number("cost_usd").is_some())
        .map(|row| agent_title(row.text("agent").unwrap_or_default()))
        .collect();
    Some(html! {
        (about)
        div.half { (saved(facts).unwrap_or_default()) (daily.unwrap_or_default()) }
        p.xs.soft.note {
            "Estimated: what the cached tokens would have cost uncached, less the surcharge for writing them."
            @if !unknown.is_empty() {
                " Left out, because it records no reads from a cache: " (listed(&unknown)) "."
            }
        }
    })
}

fn saved(facts: &Facts<'_>) -> Option<Markup> {
    let savings = facts.of("cache_savings");
    let saved = savings.known_sum("saved_usd")?;
    let (without, paid) = (savings.sum("uncached_usd"), savings.sum("cost_usd"));
    let own = facts.found.iter().filter(|finding| finding.detector == "cache_misses");
    let missed: f64 = own.filter_map(|finding| finding.wasted_cost_usd).sum();
    let mut rows = vec![
        ("fs", "Without caches it would have cost", without, money_about(without)),
        ("fn", "Paid", paid, money(paid)),
    ];
    if missed > 0.0 {
        rows.push(("fw", "of which: cached context paid for again", missed, money(missed)));
    }
    let about = format!("Without caches {}; paid {}; saved {}.", money_about(without), money(paid), money_about(saved));
    let height = 42.0 * rows.len() as f64 - 6.0;
    let image = Image { id: "cache-plot", title: "What the caches saved", about: &about, height };
    Some(html! { figure { figcaption { b { "Without and with caches" } } (image.markup(&plots::amounts(&rows))) } })
}

fn cached_share(facts: &Facts<'_>) -> Markup {
    let span = &facts.page.span;
    let [reads, inputs] =
        ["cache_read_tokens", "all_input_tokens"].map(|column| facts.bars("cache_hit_rate_by_day", column));
    let parts: Vec<Option<f64>> = reads
        .iter()
        .zip(&inputs)
        .map(|(reads, input)| input.and_then(|input| share_of(reads.unwrap_or(0.0), input)))
        .collect();
    let noun = span.step().noun();
    let title = format!("Share of the input that came from a cache, by {noun}");
    let about = format!("A dot for each {noun} with input, larger for more input, from 0 to 100 percent.");
    let image = Image { id: "rate-plot", title: &title, about: &about, height: plots::DOTS };
    let shapes = plots::dots(&parts, &inputs, &span.labels(&facts.buckets));
    html! {
        figure {
            figcaption { b { "Input from a cache, by " (noun) ";" } " larger dots: more input" }
            (image.markup(&shapes))
        }
    }
}

/// Renders the most expensive sessions.
pub(super) fn sessions(facts: &Facts<'_>) -> Markup {
    let roots = facts.roots();
    let largest = roots.iter().filter_map(|root| root.cost).fold(0.0, f64::max);
    let (shown, left) = roots.split_at(roots.len().min(FEW));
    let line = |root: &Root<'_>| {
        let title = root.title.map(|title| words::shortened(title, TITLE)).filter(|title| !title.is_empty());
        let began = root
            .started_at
            .map(|moment| format!("{}, {}", facts.day(moment), facts.page.span.local(moment).format("%H:%M")));
        let id = one_line(&facts.page.ids.short(root.session_id));
        let cost = match facts.unit {
            Unit::Usd => with_bar(root.cost, largest, |usd| money_among(usd, largest)),
            Unit::Tokens => html! {},
        };
        vec![
            html! {
                @if let Some(title) = title { (title) } @else { span.soft { "no title" } }
                span.sub {
                    (project_name(root.project)) " · " (agent_title(root.agent))
                    @if let Some(began) = began { " · " span.nb { (began) } }
                    " · " code.whole { "llrem show " (id) }
                }
            },
            cost,
            wasted(root.wasted),
            known((root.responses > 0.0).then(|| count(root.responses))),
            known((root.tokens > 0.0).then(|| tokens(root.tokens))),
        ]
    };
    let heads =
        [("Session", ""), ("Cost", NUMBER), ("Avoidable", NUMBER), ("Responses", NUMBER_L), ("Tokens", NUMBER_M)];
    let table = Table {
        caption: "The most expensive sessions",
        is_captioned: false,
        class: None,
        heads: &heads,
        rows: shown.iter().map(line).collect(),
        sum: None,
    };
    let cost = |roots: &[Root<'_>]| roots.iter().filter_map(|root| root.cost).sum::<f64>();
    let part = share_of(cost(shown), cost(&roots)).map(share);
    html! {
        p.about { "With the sessions of their subagents." }
        (table.markup())
        @if !left.is_empty() {
            p.s.soft.note {
                @if let Some(part) = part { "These " (shown.len()) " sessions are " (part) " of the cost. " }
                (left.len()) " more: " code { (facts.query("cost_by_session")) }
            }
        }
    }
}

/// Renders the responses by hour of the week.
pub(super) fn hours(facts: &Facts<'_>) -> Option<Markup> {
    let mut responses = [[0.0; 24]; 7];
    for row in facts.of("hours_of_week").rows() {
        let at = |column| usize::try_from(whole(row.number(column)?)?).ok();
        let field = at("weekday").and_then(|day| day.checked_sub(1)).zip(at("hour"));
        let field = field.and_then(|(day, hour)| responses.get_mut(day)?.get_mut(hour));
        if let Some(field) = field {
            *field += row.amount("responses");
        }
    }
    let most = responses.iter().flatten().copied().fold(0.0, f64::max);
    if most <= 0.0 || facts.page.span.is_day() {
        return None;
    }
    let bounds = steps(most);
    let step = |amount: f64| if amount <= 0.0 { 0 } else { 1 + bounds.iter().filter(|bound| amount > **bound).count() };
    let fields = responses.map(|hours| hours.map(step));
    let about =
        "Seven rows from Monday to Sunday, 24 columns for the hours: the stronger the colour, the more responses.";
    let image = Image { id: "week-plot", title: "Responses by hour of the week", about, height: plots::HEAT };
    let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let parts = responses.iter().zip(names).map(|(hours, name)| {
        let mut cells = vec![cell(name)];
        cells.extend(hours.chunks(6).map(|part| cell(count(part.iter().sum()))));
        cells
    });
    let heads = [("Day", ""), ("00–06", NUMBER), ("06–12", NUMBER), ("12–18", NUMBER), ("18–24", NUMBER)];
    let table = Table {
        caption: "Responses by weekday and part of the day",
        is_captioned: false,
        class: Some("mini"),
        heads: &heads,
        rows: parts.collect(),
        sum: None,
    };
    let zone = facts.page.made_at.timezone().name();
    Some(html! {
        p.about {
            "Responses in each hour of the week, " (zone) "."
            @if let Some([person, alone]) = active_hours(facts, "hours_by_project_day") {
                " A person was present for " (words::hours(person)) " hours; agents worked alone for " (words::hours(alone)) "."
            }
        }
        figure.heat {
            ol aria-hidden="true" { @for name in names { li { (name) } } }
            (image.markup(&plots::heat(&fields)))
        }
        p.scale {
            (swatch("h0")) span { "0" }
            @for (at, label) in ranges(most, bounds).iter().enumerate() { (swatch(&format!("h{}", at + 1))) span { (label) } }
        }
        details { summary { "The figures, by part of the day" } (table.markup()) }
    })
}

/// Returns the upper bounds of the steps of a colour, but for the last one: each step is about twice the one before.
fn steps(most: f64) -> [f64; 4] {
    [16.0, 8.0, 4.0, 2.0].map(|part| (most / part).ceil().max(1.0))
}

/// Returns the ranges of the steps that differ.
fn ranges(most: f64, bounds: [f64; 4]) -> Vec<String> {
    let mut from = 1.0;
    let ends = bounds.into_iter().map(Some).chain([None]);
    let ranges = ends.map(|end| {
        let label = match end {
            Some(end) if end < from => NO_RANGE.to_owned(),
            Some(end) if end <= from => count(from),
            Some(end) => format!("{}–{}", count(from), count(end)),
            None if most < from => NO_RANGE.to_owned(),
            None => format!("{}+", count(from)),
        };
        from = end.map_or(from, |end| end.max(from - 1.0) + 1.0);
        label
    });
    ranges.collect()
}

/// A step beyond all counts.
const NO_RANGE: &str = "–";

/// Renders the tools that failed most often.
pub(super) fn tools(facts: &Facts<'_>) -> Option<Markup> {
    let rows = facts.of("tool_use");
    let mut failed: Vec<Row<'_>> = rows.rows().filter(|row| row.amount("errors") > 0.0).collect();
    failed.sort_by(|one, other| other.amount("errors").total_cmp(&one.amount("errors")));
    if rows.len() == 0 {
        return None;
    }
    let ended = |row: Row<'_>| row.number("error_rate").filter(|_| row.amount("calls") >= CALLS);
    let largest = failed.iter().take(FEW).filter_map(|row| ended(*row)).fold(0.0, f64::max);
    let line = |row: &Row<'_>| {
        vec![
            html! {
                (one_line(row.text("name").unwrap_or_default()))
                span.sub { (agent_title(row.text("agent").unwrap_or_default())) }
            },
            cell(count(row.amount("calls"))),
            cell(count(row.amount("errors"))),
            with_bar(ended(*row), largest, share),
        ]
    };
    let heads = [("Tool", ""), ("Calls", NUMBER), ("Failed", NUMBER), ("Share", NUMBER)];
    let (calls, errors) = (rows.sum("calls"), rows.sum("errors"));
    let sum = vec![
        cell(format!("All {} tools", rows.len())),
        cell(count(calls)),
        cell(count(errors)),
        known(share_of(errors, calls).filter(|_| calls >= CALLS).map(share)),
    ];
    let table = Table {
        caption: "Tools that failed most often",
        is_captioned: false,
        class: None,
        heads: &heads,
        rows: failed.iter().take(FEW).map(line).collect(),
        sum: Some(sum),
    };
    if failed.is_empty() {
        return Some(html! { p { "None of " (words::plural(calls, "call")) " failed." } });
    }
    Some(html! {
        p.about { "Each failure costs a response that reads it and tries again." }
        (table.markup())
        p.xs.soft.note { "No share is given for fewer than 20 calls. A tool's share is of the calls that succeeded or failed." }
    })
}

/// Renders how much of an account's limits was used, if that is recorded.
pub(super) fn limits(facts: &Facts<'_>) -> Option<Markup> {
    let mut highest: Vec<(String, f64, Option<i64>)> = Vec::new();
    for row in facts.of("limits").rows() {
        let Some(percent) = row.number("highest_percent") else { continue };
        let length = if row.text("limit_length") == Some("short") { "short limit" } else { "long limit" };
        let name = format!("{}, {length}", agent_title(row.text("agent").unwrap_or_default()));
        match highest.iter_mut().find(|(known, ..)| *known == name) {
            Some(known) if known.1 >= percent => {}
            Some(known) => (known.1, known.2) = (percent, row.moment("last_seen")),
            None => highest.push((name, percent, row.moment("last_seen"))),
        }
    }
    let hits = facts.of("limit_hits").len();
    if highest.is_empty() && hits == 0 {
        return None;
    }
    let refused = match hits {
        0 => "No request was refused because of a limit.".to_owned(),
        1 => "1 request was refused because a limit was used up.".to_owned(),
        hits => format!("{hits} requests were refused because a limit was used up."),
    };
    Some(html! {
        div.half {
            @for (name, percent, seen) in &highest {
                div {
                    p.s {
                        b { (name) ": " (share(percent / 100.0)) " at most" }
                        @if let Some(seen) = seen { " " span.soft { (facts.day(*seen)) } }
                    }
                    svg.plot height="12" aria-hidden="true" {
                        rect class="fs" width="100%" height="12" {}
                        rect class="fn" width=(format!("{:.2}%", percent.clamp(0.0, 100.0))) height="12" {}
                        rect class="fw" x=(format!("{MARK}%")) width="2" height="12" {}
                    }
                }
            }
        }
        p.xs.soft.note {
            @if !highest.is_empty() { "The mark is at 80 %. Percentages are of the account: other machines and the web count in them. " }
            (refused)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_colour_have_ranges() {
        let labels = |most| ranges(most, steps(most)).join(" ");
        assert_eq!(labels(160.0), "1–10 11–20 21–40 41–80 81+");
        assert_eq!(labels(6.0), "1 – 2 3 4+");
        assert_eq!(labels(1.0), "1 – – – –");
    }
}
