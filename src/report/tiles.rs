//! The tiles: one figure each, with its comparison and its shape over time.

use chrono::NaiveDate;
use maud::{Markup, html};

use super::bars::Step;
use super::facts::{Facts, Unit};
use super::plots::spark;
use super::recent::{RECENT_MONTHS, RECENT_WEEKS};
use super::sentence::shows_share;
use super::words::{self, NONE, change, count, hours, money_about, money_in_tile, share, share_of};

/// Height of a tile's bars. Pixels.
const SPARK: f64 = 26.0;

struct Tile {
    name: &'static str,
    value: String,
    class: &'static str,
    notes: Vec<String>,
    bars: Vec<Option<f64>>,
}

/// Renders the tiles.
pub(super) fn tiles(facts: &Facts<'_>) -> Markup {
    let mut tiles = vec![cost(facts), avoidable(facts), saved(facts), sessions(facts), active(facts)];
    if !facts.page.span.is_day() {
        tiles.push(recent(facts));
    }
    html! {
        dl.tiles {
            @for tile in &tiles {
                div {
                    dt { (tile.name) }
                    dd {
                        div class=(format!("v {}", tile.class).trim_end()) { (tile.value) }
                        div.c { @for (at, note) in tile.notes.iter().enumerate() { @if at > 0 { br; } (note) } }
                        @if tile.bars.len() > 1 {
                            (spark(if tile.class == "w" { "fw" } else { "fn" }, &tile.bars, SPARK))
                        }
                    }
                }
            }
        }
    }
}

/// Returns a figure of the time before, after its name: `June $30.24`.
fn before(facts: &Facts<'_>, shown: Option<String>) -> Option<String> {
    let name = facts.before().map(|_| facts.name_before())?;
    Some(shown.map_or_else(|| format!("{name}: not recorded"), |shown| format!("{name} {shown}")))
}

fn cost(facts: &Facts<'_>) -> Tile {
    let (column, now) = (facts.unit.column(), facts.total(facts.unit.column()));
    let earlier = facts.total_before(column);
    let shown = |amount: f64| match facts.unit {
        Unit::Usd => money_in_tile(amount),
        Unit::Tokens => words::tokens(amount),
    };
    let mut notes: Vec<String> = Vec::new();
    if facts.unit == Unit::Tokens {
        notes.push("cost unknown".to_owned());
    }
    notes.extend(before(facts, earlier.map(shown)));
    notes.extend(now.zip(earlier).map(|(now, earlier)| change(now, earlier)));
    // Most counts are lower than the truth.
    let is_floor = facts.count("partial_responses") * 2.0 > facts.count("responses");
    let least = if is_floor && facts.count("responses") > 0.0 { "at least " } else { "" };
    if !least.is_empty() {
        notes.insert(0, least.trim_end().to_owned());
    }
    Tile {
        name: facts.unit.noun(),
        value: now.map_or_else(|| NONE.to_owned(), shown),
        class: "",
        notes,
        bars: facts.bars("cost_by_day_and_agent", column),
    }
}

fn avoidable(facts: &Facts<'_>) -> Tile {
    let (wasted, earlier) = (facts.wasted(), facts.wasted_before());
    let has_price = facts.unit == Unit::Usd && (wasted > 0.0 || facts.found.is_empty());
    let part = share_of(wasted, facts.sum()).filter(|_| has_price && wasted > 0.0 && shows_share(facts));
    let mut notes: Vec<String> = part.map(|part| format!("about {} of cost", share(part))).into_iter().collect();
    let spent_before = facts.total_before("cost_usd");
    let shown = spent_before.map(|spent| match share_of(earlier, spent) {
        Some(part) if earlier > 0.0 => format!("{}, {}", money_in_tile(earlier), share(part)),
        _ => money_in_tile(earlier),
    });
    notes.extend(before(facts, shown));
    let bars = facts.found.iter().map(|finding| {
        let day = finding.first_at.map(|moment| facts.page.span.day_of(moment));
        (day, finding.wasted_cost_usd)
    });
    Tile {
        name: "Avoidable",
        value: if has_price { money_in_tile(wasted) } else { NONE.to_owned() },
        class: "w",
        notes,
        bars: facts.by_bucket(bars),
    }
}

fn saved(facts: &Facts<'_>) -> Tile {
    let saved = facts.of("cache_savings").known_sum("saved_usd");
    let without = facts.of("cache_savings").sum("uncached_usd");
    let mut notes: Vec<String> = saved.map(|_| format!("without them {}", money_about(without))).into_iter().collect();
    notes.extend(before(facts, facts.of("cache_savings_before").known_sum("saved_usd").map(money_about)));
    if saved.is_none() {
        notes.insert(0, "not recorded".to_owned());
    }
    Tile {
        name: "Saved by caches",
        value: saved.map_or_else(|| NONE.to_owned(), money_about),
        class: "",
        notes,
        bars: facts.bars("cache_savings", "saved_usd"),
    }
}

fn sessions(facts: &Facts<'_>) -> Tile {
    let subagents = facts.of("cost_by_session").rows();
    let subagents = subagents.filter(|row| row.text("session_id") != row.text("root_session_id")).count();
    let mut notes = Vec::new();
    if subagents > 0 {
        notes.push(format!("+ {} of subagents with usage", count(subagents as f64)));
    }
    notes.extend(before(facts, facts.total_before("sessions").map(count)));
    Tile {
        name: "Sessions",
        value: count(facts.count("sessions")),
        class: "",
        notes,
        bars: facts.bars("cost_by_day", "sessions"),
    }
}

/// Returns the hours in which a person was present or an agent worked alone, if any are recorded.
pub(super) fn active_hours(facts: &Facts<'_>, key: &str) -> Option<[f64; 2]> {
    let sum = |column: &str| {
        let days = facts.of(key).rows().filter(|row| row.is_true("is_total"));
        days.filter_map(|row| row.number(column)).reduce(|sum, hours| sum + hours)
    };
    Some([sum("person_hours")?, sum("agents_alone_hours").unwrap_or(0.0)])
}

fn active(facts: &Facts<'_>) -> Tile {
    let sum = |key| active_hours(facts, key).map(|[person, alone]| person + alone);
    let now = sum("hours_by_project_day");
    let days = || facts.of("hours_by_project_day").rows().filter(|row| row.is_true("is_total"));
    let mut notes = Vec::new();
    if now.is_some() && !facts.page.span.is_day() {
        notes.push(format!("on {} of {} days", days().count(), count(facts.page.span.days() as f64)));
    }
    notes.extend(before(facts, sum("hours_by_project_day_before").map(hours)));
    let bars = days().map(|row| {
        let both = row.number("person_hours").map(|hours| hours + row.amount("agents_alone_hours"));
        (row.day("day"), both)
    });
    Tile {
        name: "Active hours",
        value: now.map_or_else(|| NONE.to_owned(), hours),
        class: "",
        notes,
        bars: facts.by_bucket(bars),
    }
}

/// Returns the last of eight weeks, or of twelve months.
fn recent(facts: &Facts<'_>) -> Tile {
    let is_month = matches!(facts.page.span.step(), Step::Months(_));
    let (key, column) = if is_month { ("cost_by_month", "month") } else { ("cost_by_week", "week") };
    let (name, most) = if is_month { ("Month by month", RECENT_MONTHS) } else { ("Week by week", RECENT_WEEKS) };
    let mut starts = facts.page.span.recent_starts(most);
    let rows = facts.of(key);
    let cost = |start| {
        let row = rows.rows().find(|row| row.day(column) == Some(start));
        row.and_then(|row| row.number("cost_usd"))
    };
    // Before the first record there is nothing to compare with.
    let first = starts.iter().position(|start| cost(*start).is_some()).unwrap_or(starts.len().saturating_sub(1));
    starts.drain(..first);
    let bars: Vec<Option<f64>> = starts.iter().map(|start| cost(*start)).collect();
    let last = bars.last().copied().flatten();
    let mut notes = vec![facts.page.span.recent_name(is_month)];
    // A week without use costs nothing; what one without a price cost is unknown.
    let is_used = |start: &NaiveDate| rows.rows().any(|row| row.day(column) == Some(*start));
    let earlier = starts.iter().zip(&bars).rev().skip(1);
    let mut earlier: Vec<f64> =
        earlier.filter_map(|(start, bar)| bar.or_else(|| (!is_used(start)).then_some(0.0))).collect();
    earlier.sort_by(f64::total_cmp);
    if !earlier.is_empty() {
        let noun = if is_month { "month" } else { "week" };
        let before = match earlier.len() {
            1 => format!("{noun} before"),
            several => format!("median of {several} {noun}s before"),
        };
        notes.push(format!("{before} {}", money_in_tile(median(&earlier))));
    }
    Tile { name, value: last.map_or_else(|| NONE.to_owned(), money_in_tile), class: "", notes, bars }
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    let at = |place: usize| sorted.get(place).copied().unwrap_or(0.0);
    if sorted.len().is_multiple_of(2) { f64::midpoint(at(middle.saturating_sub(1)), at(middle)) } else { at(middle) }
}
