//! The section on cost over time: bars, the running sum, and each agent on its own scale.

use chrono::NaiveDate;
use maud::{Markup, html};

use super::bars::Step;
use super::facts::{COLORS, Facts, Unit};
use super::figures::{Row, whole};
use super::plots::{Bars, Image, Lines, spark, swatch};
use super::span::Span;
use super::table::{NUMBER, NUMBER_L, NUMBER_M, Table, cell, known};
use super::words::{self, share, share_of};
use crate::shown::value::listed;

/// Most bars of a table.
const MOST_ROWS: usize = 62;
/// Height of an agent's own bars. Pixels.
const SMALL: f64 = 44.0;

/// A series of bars: its name, class, values and sum.
type Series = (String, String, Vec<Option<f64>>, f64);

/// Renders the section.
pub(super) fn section(facts: &Facts<'_>) -> Markup {
    let series = facts.coloured();
    if facts.page.span.is_day() {
        return html! { (of_day(facts)) (key(facts, &series)) };
    }
    html! {
        div.two { (bars(facts, &series)) (so_far(facts)) }
        @if series.len() > 1 { (multiples(facts, &series)) }
        (figures(facts, &series))
    }
}

fn bars(facts: &Facts<'_>, series: &[Series]) -> Markup {
    let (span, unit) = (&facts.page.span, facts.unit);
    let noun = span.step().noun();
    let parts: Vec<(&str, &[Option<f64>])> =
        series.iter().map(|(_, class, values, _)| (class.as_str(), values.as_slice())).collect();
    let hints: Vec<String> = (0..facts.buckets.len()).map(|at| hint(facts, series, at)).collect();
    let grey: Vec<bool> = match span.step() {
        Step::Day => facts.buckets.iter().map(super::bars::Bucket::is_weekend).collect(),
        _ => Vec::new(),
    };
    let cut: Vec<bool> = facts.buckets.iter().map(|bucket| bucket.is_cut).collect();
    let (peak, about) = peak(facts, series);
    let labels = span.labels(&facts.buckets);
    let plot = Bars {
        series: &parts,
        hints: &hints,
        grey: &grey,
        cut: &cut,
        labels: &labels,
        shown: &|amount| on_axis(unit, amount),
        peak,
    };
    let title = format!("{} by {noun} and agent, {}", unit.noun(), span.title());
    let image = Image { id: "days-plot", title: &title, about: &about, height: Bars::HEIGHT };
    html! {
        figure {
            figcaption {
                b { (unit.noun()) " by " (noun) "," }
                @if series.len() > 1 { " stacked by agent;" }
                @if grey.contains(&true) { " weekends grey;" }
                @if cut.contains(&true) { " pale: a part of a " (noun) ";" }
                " no bar: " (unit.nothing())
            }
            (image.markup(&plot.shapes()))
            (key(facts, series))
        }
    }
}

/// Renders the names of the colours, with sums.
fn key(facts: &Facts<'_>, series: &[Series]) -> Markup {
    html! {
        ul.key {
            @for (name, class, _, sum) in series {
                li.nb { @if series.len() > 1 { (swatch(class)) } (name) " " (facts.unit.shown(*sum)) }
            }
        }
    }
}

fn on_axis(unit: Unit, amount: f64) -> String {
    match unit {
        Unit::Usd if amount >= 1.0 && amount.fract() == 0.0 => words::money(amount).replace(".00", ""),
        _ => unit.shown(amount),
    }
}

fn hint(facts: &Facts<'_>, series: &[Series], at: usize) -> String {
    let amounts = series.iter().filter_map(|(name, _, values, _)| {
        let amount = values.get(at).copied().flatten().filter(|amount| *amount > 0.0)?;
        Some((name, amount))
    });
    let amounts: Vec<_> = amounts.collect();
    let sum: f64 = amounts.iter().map(|(_, amount)| amount).sum();
    let named: Vec<String> =
        amounts.iter().map(|(name, amount)| format!("{name} {}", facts.unit.shown(*amount))).collect();
    let name = facts.buckets.get(at).map_or_else(String::new, |bucket| facts.page.span.bucket_name(bucket));
    format!("{name}: {} ({})", facts.unit.shown(sum), named.join(" · "))
}

/// Returns the lines at the largest bar if it stands out, and what the plot shows in words.
fn peak(facts: &Facts<'_>, series: &[Series]) -> (Option<[String; 2]>, String) {
    let sum_at =
        |at: usize| -> f64 { series.iter().filter_map(|(_, _, values, _)| values.get(at).copied().flatten()).sum() };
    let mut sums: Vec<(usize, f64)> = (0..facts.buckets.len()).map(|at| (at, sum_at(at))).collect();
    sums.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let noun = facts.page.span.step().noun();
    let empty = sums.iter().filter(|(_, sum)| *sum <= 0.0).count();
    let Some((at, most)) = sums.first().copied().filter(|(_, most)| *most > 0.0) else {
        return (None, format!("A bar for each {noun}. Nothing has a known {}.", facts.unit.noun().to_lowercase()));
    };
    let name = facts.buckets.get(at).map_or_else(String::new, |bucket| facts.page.span.bucket_name(bucket));
    let shown = facts.unit.shown(most);
    let of = series
        .iter()
        .find(|(_, _, values, _)| values.get(at).copied().flatten().is_some_and(|amount| amount >= most * 0.95));
    let second = sums.get(1).map_or(0.0, |(_, sum)| *sum);
    let of = of.filter(|_| series.len() > 1).map_or_else(String::new, |(name, ..)| name.clone());
    let all = if of.is_empty() { String::new() } else { format!(", nearly all of it {of}") };
    let about = format!(
        "Stacked bars, one for each {noun}. The highest is {name} with {shown}{all}. {}",
        if empty > 0 {
            format!("{empty} have no bar. The table below has the figures.")
        } else {
            "The table below has the figures.".to_owned()
        }
    );
    let stands_out = facts.buckets.len() > 3 && most >= 2.0 * second;
    (stands_out.then(|| [format!("{shown}, {}", short_name(facts, at)), of]), about)
}

/// Renders the cost of each hour of a day.
fn of_day(facts: &Facts<'_>) -> Markup {
    let mut values: Vec<Option<f64>> = vec![None; 24];
    let place = |row: Row<'_>| usize::try_from(whole(row.number("hour")?)?).ok();
    for row in facts.of("hours_of_week").rows() {
        let amount = row.number(facts.unit.column());
        if let (Some(value), Some(amount)) = (place(row).and_then(|at| values.get_mut(at)), amount) {
            *value = Some(value.unwrap_or(0.0) + amount);
        }
    }
    let hints: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(hour, amount)| format!("{hour:02}:00: {}", facts.unit.shown(amount.unwrap_or(0.0))))
        .collect();
    let labels: Vec<(usize, String)> = [0, 6, 12, 18].map(|hour| (hour, format!("{hour:02}:00"))).to_vec();
    let plot = Bars {
        series: &[("fn", &values)],
        hints: &hints,
        grey: &[],
        cut: &[],
        labels: &labels,
        shown: &|amount| on_axis(facts.unit, amount),
        peak: None,
    };
    let title = format!("{} by hour, {}", facts.unit.noun(), facts.page.span.title());
    let about = "A bar for each hour of the day.";
    let image = Image { id: "days-plot", title: &title, about, height: Bars::HEIGHT };
    html! {
        figure {
            figcaption { b { (facts.unit.noun()) " by hour," } " no bar: " (facts.unit.nothing()) }
            (image.markup(&plot.shapes()))
        }
    }
}

/// Returns the part of a time that is over at the end of each day, and the sum until then.
fn line(span: &Span, days: i64, rows: impl Iterator<Item = (NaiveDate, f64)>) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut sum = 0.0;
    for (day, amount) in rows {
        sum += amount;
        let at = (day.signed_duration_since(span.first()).num_days() + 1) as f64 / days as f64;
        let at = at.clamp(0.0, 1.0);
        match points.last_mut().filter(|(last, _)| *last >= at) {
            Some(last) => last.1 = sum,
            None => points.push((at, sum)),
        }
    }
    let end = span.days() as f64 / days as f64;
    if let Some((_, sum)) = points.last().copied().filter(|(last, _)| *last < end) {
        points.push((end, sum));
    }
    points
}

fn so_far(facts: &Facts<'_>) -> Markup {
    let (span, unit) = (&facts.page.span, facts.unit);
    let amounts = |key: &str| -> Vec<(NaiveDate, f64)> {
        let rows = facts.of(key).rows();
        rows.filter_map(|row| Some((row.day("day")?, row.number(unit.column())?))).collect()
    };
    let before = facts.before();
    let days = span.days().max(before.map_or(0, Span::days)).max(1);
    let now = line(span, days, amounts("cost_by_day_and_agent").into_iter());
    let earlier = before.map(|before| line(before, days, amounts("cost_by_day_and_agent_before").into_iter()));
    let earlier = earlier.unwrap_or_default();
    let ends = |line: &[(f64, f64)]| line.last().map_or(0.0, |(_, sum)| *sum);
    let shown = [ends(&now), ends(&earlier)].map(|sum| unit.shown(sum));
    let name = before.map_or_else(|| "Now".to_owned(), |before| span.name(before));
    let labels: Vec<(f64, String)> = span
        .labels(&facts.buckets)
        .into_iter()
        .filter_map(|(at, label)| {
            let day = facts.buckets.get(at)?.first;
            Some(((day.signed_duration_since(span.first()).num_days() as f64 + 0.5) / days as f64, label))
        })
        .collect();
    let plot = Lines {
        now: &now,
        before: &earlier,
        labels: &labels,
        shown: &|amount| on_axis(unit, amount),
        ends: [
            if earlier.is_empty() { shown[0].clone() } else { format!("{name} {}", shown[0]) },
            format!("{} {}", facts.name_before(), shown[1]),
        ],
    };
    let against = before.map(|before| before.name(span));
    let title = format!("{} so far, {}", unit.noun(), span.title());
    let about = match &against {
        Some(against) => format!("Two rising lines: {} at the end, and {} in {against}.", shown[0], shown[1]),
        None => format!("A rising line: {} at the end.", shown[0]),
    };
    let image = Image { id: "sum-plot", title: &title, about: &about, height: Bars::HEIGHT };
    html! {
        figure {
            figcaption {
                b { (unit.noun()) " so far" (if against.is_some() { "," } else { "" }) }
                @if let Some(against) = &against { " against " (against) }
            }
            (image.markup(&plot.shapes()))
        }
    }
}

fn multiples(facts: &Facts<'_>, series: &[Series]) -> Markup {
    let unpriced: Vec<String> =
        facts.agents.iter().filter(|agent| agent.sum.is_none()).map(|agent| agent.title.clone()).collect();
    html! {
        figure.capm {
            figcaption {
                b { "Each agent on its own scale," } " so that small ones can be seen."
                @if !unpriced.is_empty() && facts.unit == Unit::Usd {
                    " No bar, because nothing of it has a price: " (listed(&unpriced)) "."
                }
            }
            div.mult {
                @for (name, class, values, sum) in series.iter().filter(|(_, class, ..)| class != "a0").take(COLORS) {
                    div {
                        h3 { span { (name) } span { (facts.unit.shown(*sum)) } }
                        (spark(class, values, SMALL))
                        p.xs.soft { (most(facts, values, *sum)) }
                    }
                }
            }
        }
    }
}

fn most(facts: &Facts<'_>, values: &[Option<f64>], sum: f64) -> String {
    let part = share_of(sum, facts.sum()).map_or_else(String::new, share);
    let known = values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
    let Some((at, most)) = known.max_by(|(_, one), (_, other)| one.total_cmp(other)) else { return part };
    format!("{part} · most {}, {}", facts.unit.shown(most), short_name(facts, at))
}

/// Returns the name of a bar where there is little room: `16 Jul`, `week of 2 Mar`, `Mar 2026`.
fn short_name(facts: &Facts<'_>, at: usize) -> String {
    let format = match facts.page.span.step() {
        Step::Hour | Step::Day => "%-d %b",
        Step::Week => "week of %-d %b",
        Step::Months(1) => "%b %Y",
        Step::Months(_) => "%Y",
    };
    facts.buckets.get(at).map_or_else(String::new, |bucket| bucket.first.format(format).to_string())
}

/// Renders the figures of the plots as a table.
fn figures(facts: &Facts<'_>, series: &[Series]) -> Markup {
    let (span, unit) = (&facts.page.span, facts.unit);
    let noun = span.step().noun();
    let (reads, inputs) = (
        facts.bars("cache_hit_rate_by_day", "cache_read_tokens"),
        facts.bars("cache_hit_rate_by_day", "all_input_tokens"),
    );
    let head = format!("{}{}", noun.get(..1).unwrap_or_default().to_uppercase(), noun.get(1..).unwrap_or_default());
    let is_many = series.len() > 1;
    let mut heads = vec![(head.as_str(), "nb"), (unit.noun(), NUMBER), ("So far", NUMBER_M)];
    for (at, (name, ..)) in series.iter().enumerate().filter(|_| is_many) {
        heads.push((name.as_str(), if at < 3 { NUMBER_M } else { NUMBER_L }));
    }
    heads.push(("From the cache", NUMBER));
    let (mut rows, mut so_far) = (Vec::new(), 0.0);
    for (at, bucket) in facts.buckets.iter().enumerate() {
        let values = series.iter().map(|(_, _, values, _)| values.get(at).copied().flatten());
        let values: Vec<Option<f64>> = values.collect();
        let sum = values.iter().flatten().copied().reduce(|sum, amount| sum + amount);
        let input = inputs.get(at).copied().flatten();
        let part = input.and_then(|input| share_of(reads.get(at).copied().flatten().unwrap_or(0.0), input));
        if sum.is_none() && part.is_none() {
            continue;
        }
        so_far += sum.unwrap_or(0.0);
        let mut row =
            vec![cell(span.bucket_name(bucket)), known(sum.map(|sum| unit.shown(sum))), cell(unit.shown(so_far))];
        row.extend(values.iter().filter(|_| is_many).map(|value| known(value.map(|value| unit.shown(value)))));
        row.push(known(part.map(share)));
        rows.push(row);
    }
    let mut sum = vec![cell("Sum"), cell(unit.shown(series.iter().map(|(.., sum)| sum).sum())), cell("")];
    sum.extend(series.iter().filter(|_| is_many).map(|(.., sum)| cell(unit.shown(*sum))));
    let total = |values: &[Option<f64>]| -> f64 { values.iter().flatten().sum() };
    sum.push(known(share_of(total(&reads), total(&inputs)).map(share)));
    rows.truncate(MOST_ROWS);
    let caption = format!("{} by {noun} and agent, and input from the cache", unit.noun());
    let table =
        Table { caption: &caption, is_captioned: false, class: Some("mini"), heads: &heads, rows, sum: Some(sum) };
    html! {
        details {
            summary { "The figures, " (noun) " by " (noun) }
            (table.markup())
            p.xs.soft.note { "A " (noun) " that is not listed has " (unit.nothing()) "." }
        }
    }
}
