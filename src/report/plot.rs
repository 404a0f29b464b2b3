//! Plots as SVG, drawn by `plotters`: shapes and texts, without names from transcripts.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::NaiveDate;
use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::figures::{Kind, shown};
use crate::{Error, Result};

/// Colours that people with colour blindness can distinguish, on dark and on light.
const COLORS: [RGBColor; 6] = [
    RGBColor(0x44, 0x77, 0xaa),
    RGBColor(0xee, 0x66, 0x77),
    RGBColor(0x22, 0x88, 0x33),
    RGBColor(0xcc, 0xbb, 0x44),
    RGBColor(0x66, 0xcc, 0xee),
    RGBColor(0xaa, 0x33, 0x77),
];
const OTHERS: RGBColor = RGBColor(0x99, 0x99, 0x99);
const LINES: RGBColor = RGBColor(0x80, 0x80, 0x80);
const WIDTH: u32 = 960;
const HEIGHT: u32 = 280;
/// Space for the labels of an axis. Pixels.
const LEFT: u32 = 72;
const BELOW: u32 = 32;
/// Space for half of the last label. Pixels.
const RIGHT: u32 = 40;
/// Fewest days on an axis.
const DAYS: i32 = 14;

/// Range of values that are drawn. Others are mistakes of their author, and would leave no space for the rest.
const DRAWN: Range<f64> = 0.0..1e9;
/// The years 1970 to 2199, in days since 1970.
const DRAWN_DAYS: Range<i32> = 0..84_006;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A drawing, with a description for people who cannot see it.
pub(super) struct Plot {
    pub(super) id: &'static str,
    pub(super) title: String,
    pub(super) about: String,
    drawn: String,
    size: (u32, u32),
}

impl Plot {
    fn draw(
        id: &'static str,
        size: (u32, u32),
        title: String,
        about: String,
        draw: impl FnOnce(&Area<'_>) -> Result<(), String>,
    ) -> Result<Self> {
        let mut drawn = String::new();
        {
            let area = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
            let outcome = draw(&area).and_then(|()| area.present().map_err(drawing_error));
            outcome.map_err(|reason| Error::Query(format!("cannot draw `{title}`: {reason}")))?;
        }
        Ok(Self { id, title, about, drawn, size })
    }

    pub(super) fn markup(&self) -> Markup {
        let (title, about) = (format!("{}-title", self.id), format!("{}-about", self.id));
        let view = format!("0 0 {} {}", self.size.0, self.size.1);
        // The drawing is inserted between the tags of our own image element.
        let shapes = self.drawn.split_once('>').map_or("", |(_, rest)| rest);
        let shapes = shapes.rsplit_once("</svg>").map_or(shapes, |(shapes, _)| shapes);
        html! {
            svg.plot role="img" viewBox=(view) aria-labelledby=(format!("{title} {about}")) {
                title id=(title) { (self.title) }
                desc id=(about) { (self.about) }
                (PreEscaped(shapes))
            }
        }
    }
}

fn drawing_error(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The values of one name by day.
pub(super) struct Series {
    pub(super) name: String,
    /// By days since 1970.
    values: BTreeMap<i32, f64>,
}

impl Series {
    /// Keeps values that can be drawn.
    pub(super) fn new(name: String, values: impl Iterator<Item = (i32, f64)>) -> Self {
        let is_drawn = |(day, value): &(i32, f64)| DRAWN_DAYS.contains(day) && DRAWN.contains(value);
        Self { name, values: values.filter(is_drawn).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Returns the colour of a series by index. Those after the last colour share one.
pub(super) fn color(place: usize) -> RGBColor {
    COLORS.get(place).copied().unwrap_or(OTHERS)
}

/// Returns the colour for style sheets.
pub(super) fn code(color: RGBColor) -> String {
    format!("#{:02x}{:02x}{:02x}", color.0, color.1, color.2)
}

/// True if a series has a colour of its own.
pub(super) fn has_color(place: usize) -> bool {
    place < COLORS.len()
}

/// Draws stacked amounts of dollars by day. Returns `None` if there is no day.
pub(super) fn stacked(id: &'static str, title: &str, series: &[Series]) -> Result<Option<Plot>> {
    let Some(days) = days(series.iter().flat_map(|series| series.values.keys())) else { return Ok(None) };
    let mut sums: BTreeMap<i32, f64> = BTreeMap::new();
    for (day, usd) in series.iter().flat_map(|series| &series.values) {
        *sums.entry(*day).or_default() += usd;
    }
    let most = sums.values().copied().fold(0.0, f64::max).max(0.0001);
    let width = bar_width(&days);
    let about =
        format!("A bar for each day from {} to {}, one part for each agent.", date(days.start), date(days.end - 1));
    Plot::draw(id, (WIDTH, HEIGHT), title.to_owned(), about, |area| {
        let mut chart = chart(area, days.clone(), most * 1.05, &|usd| shown(Kind::Money, Some(*usd)))?;
        let mut below: BTreeMap<i32, f64> = BTreeMap::new();
        for (place, series) in series.iter().enumerate() {
            let bars = series.values.iter().map(|(day, usd)| {
                let from = below.entry(*day).or_default();
                let base = *from;
                *from += usd;
                Rectangle::new([(*day, base), (day + width, base + usd)], color(place).filled())
            });
            chart.draw_series(bars.collect::<Vec<_>>()).map_err(drawing_error)?;
        }
        Ok(())
    })
    .map(Some)
}

/// Draws a share of 0 to 1 by day. Returns `None` if there is no day.
pub(super) fn line(id: &'static str, title: &str, series: &Series) -> Result<Option<Plot>> {
    let Some(days) = days(series.values.keys()) else { return Ok(None) };
    let about = format!("A line over the days from {} to {}, from 0 to 100 %.", date(days.start), date(days.end - 1));
    Plot::draw(id, (WIDTH, HEIGHT), title.to_owned(), about, |area| {
        let mut chart = chart(area, days.clone(), 1.0, &|share| format!("{:.0} %", share * 100.0))?;
        let points = || series.values.iter().map(|(day, share)| (*day, *share));
        chart.draw_series(LineSeries::new(points(), color(0).stroke_width(2))).map_err(drawing_error)?;
        let dots = points().map(|point| Circle::new(point, 3, color(0).filled()));
        chart.draw_series(dots.collect::<Vec<_>>()).map_err(drawing_error)?;
        Ok(())
    })
    .map(Some)
}

/// Draws the amount in each hour of the week as the strength of a colour. Keys are weekday, from 1 Monday, and hour.
pub(super) fn week(id: &'static str, title: &str, hours: &BTreeMap<(i32, i32), f64>) -> Result<Option<Plot>> {
    const NAMES: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    let (left, wide, high) = (56, 37, 26);
    let most = hours.values().copied().filter(|amount| amount.is_finite()).fold(0.0, f64::max);
    if most <= 0.0 {
        return Ok(None);
    }
    let about =
        "A field for each hour of the week, Monday in the first row: the stronger its colour, the more responses."
            .to_owned();
    Plot::draw(id, (WIDTH, 220), title.to_owned(), about, |area| {
        let style = |anchor| label_style(14).pos(anchor);
        for (row, name) in (0..).zip(NAMES) {
            let right_aligned = style(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(name, (left - 8, row * high + high / 2), right_aligned)).map_err(drawing_error)?;
        }
        for hour in (0..24).step_by(3) {
            let below = style(Pos::new(HPos::Left, VPos::Top));
            area.draw(&Text::new(format!("{hour:02}:00"), (left + hour * wide, 7 * high + 6), below))
                .map_err(drawing_error)?;
        }
        for (row, hour) in (0..7).flat_map(|row| (0..24).map(move |hour| (row, hour))) {
            let share = hours.get(&(row + 1, hour)).map_or(0.0, |amount| (amount / most).clamp(0.0, 1.0));
            let corner = (left + hour * wide, row * high);
            let field = [corner, (corner.0 + wide - 2, corner.1 + high - 2)];
            let fill = if share > 0.0 { color(0).mix(0.15 + 0.85 * share) } else { LINES.mix(0.12) };
            area.draw(&Rectangle::new(field, fill.filled())).map_err(drawing_error)?;
        }
        Ok(())
    })
    .map(Some)
}

type Chart<'a, 'b> = ChartContext<
    'a,
    SVGBackend<'b>,
    Cartesian2d<plotters::coord::types::RangedCoordi32, plotters::coord::types::RangedCoordf64>,
>;

/// Draws the axes: days, and amounts from 0 on.
fn chart<'a, 'b>(
    area: &'a Area<'b>,
    days: Range<i32>,
    most: f64,
    amounts: &dyn Fn(&f64) -> String,
) -> Result<Chart<'a, 'b>, String> {
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(RIGHT)
        .x_label_area_size(BELOW)
        .y_label_area_size(LEFT)
        .build_cartesian_2d(days, 0.0..most)
        .map_err(drawing_error)?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh().light_line_style(TRANSPARENT).bold_line_style(LINES.mix(0.3)).axis_style(LINES);
    mesh.x_labels(8).y_labels(5).label_style(label_style(15));
    mesh.x_label_formatter(&|day| date(*day)).y_label_formatter(amounts).draw().map_err(drawing_error)?;
    Ok(chart)
}

fn label_style(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&BLACK)
}

/// Returns the range from the first day to the one after the last, with a minimum length.
fn days<'d>(days: impl Iterator<Item = &'d i32>) -> Option<Range<i32>> {
    let (first, last) = days.fold(None, |span: Option<(i32, i32)>, day| {
        Some(span.map_or((*day, *day), |(first, last)| (first.min(*day), last.max(*day))))
    })?;
    Some(first.min(last + 1 - DAYS)..last + 1)
}

/// Returns the width of a bar: one day, and at least a pixel.
fn bar_width(days: &Range<i32>) -> i32 {
    let pixels = i32::try_from(WIDTH - LEFT - RIGHT).unwrap_or(i32::MAX);
    (days.end - days.start).div_euclid(pixels) + 1
}

fn date(day: i32) -> String {
    NaiveDate::from_epoch_days(day).map_or_else(String::new, |date| date.format("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn odd() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<f64>(),
            0.0..100.0,
            prop::sample::select(vec![0.0, 1e-300, 1e8, f64::MAX, f64::INFINITY, f64::NAN])
        ]
    }

    fn day() -> impl Strategy<Value = i32> {
        prop_oneof![any::<i32>(), 20_000..20_400, prop::sample::select(vec![i32::MIN, 0, 84_005, i32::MAX])]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn whatever_was_recorded_is_drawn_or_left_out(
            values in prop::collection::vec(prop::collection::vec((day(), odd()), 0..20), 0..9),
            hours in prop::collection::btree_map((0..9, -1..25), odd(), 0..20),
        ) {
            let series: Vec<Series> =
                values.into_iter().map(|values| Series::new(String::new(), values.into_iter())).collect();
            let bars: usize = series.iter().map(|series| series.values.len()).sum();
            let plot = stacked("id", "title", &series).unwrap();
            prop_assert_eq!(plot.map_or(0, |plot| plot.drawn.matches("<rect").count()), bars);
            for one in &series {
                prop_assert_eq!(line("id", "title", one).unwrap().is_some(), !one.is_empty());
            }
            if let Some(plot) = week("id", "title", &hours).unwrap() {
                prop_assert_eq!(plot.drawn.matches("<rect").count(), 7 * 24);
            }
        }
    }
}
