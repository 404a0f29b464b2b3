//! Plots as SVG without a `viewBox`: widths in percent, heights in pixels, so that labels keep their size at any width.
//! Colours are classes, so that they fit a dark page. No plot holds a name from a transcript.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

/// Height of the bars. Pixels.
const HEIGHT: f64 = 184.0;
/// Space above the bars, for a label. Pixels.
const TOP: f64 = 22.0;
/// Lowest bar of an amount above 0. Pixels.
const LEAST: f64 = 1.5;
/// Gap between the parts of a bar. Pixels.
const GAP: f64 = 0.8;
/// Least width of a plot over half of a page or more, and of a smaller one on paper. Pixels.
const WIDE: f64 = 320.0;
const NARROW: f64 = 200.0;
/// Part of its place that a bar leaves free on each side.
const MARGIN: f64 = 0.125;

/// An image, with a description for people who cannot see it.
pub(super) struct Image<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// A sentence that describes the plot.
    pub(super) about: &'a str,
    pub(super) height: f64,
}

impl Image<'_> {
    pub(super) fn markup(&self, shapes: &str) -> Markup {
        let (title, about) = (format!("{}-t", self.id), format!("{}-d", self.id));
        html! {
            svg.plot height=(number(self.height)) role="img" aria-labelledby=(format!("{title} {about}")) {
                title id=(title) { (self.title) }
                desc id=(about) { (self.about) }
                (PreEscaped(shapes))
            }
        }
    }
}

/// Bars of several series, one upon the other.
pub(super) struct Bars<'a> {
    /// Class and values of each series. `None` is no record.
    pub(super) series: &'a [(&'a str, &'a [Option<f64>])],
    /// Text of each bar under the pointer.
    pub(super) hints: &'a [String],
    /// Bars with a grey ground.
    pub(super) grey: &'a [bool],
    /// Bars that the time cuts.
    pub(super) cut: &'a [bool],
    pub(super) labels: &'a [(usize, String)],
    pub(super) shown: &'a dyn Fn(f64) -> String,
    /// Label of the largest bar, if it stands out: its lines.
    pub(super) peak: Option<[String; 2]>,
}

impl Bars<'_> {
    /// Height of the whole plot. Pixels.
    pub(super) const HEIGHT: f64 = TOP + HEIGHT + 24.0;

    pub(super) fn shapes(&self) -> String {
        let count = self.hints.len().max(1);
        let each = 100.0 / count as f64;
        let sums = sums(self.series, count);
        let scale = Scale::of(sums.iter().copied().fold(0.0, f64::max));
        let mut shapes = String::new();
        for (at, _) in self.grey.iter().enumerate().filter(|(_, is_grey)| **is_grey) {
            rect(&mut shapes, "we", at as f64 * each, TOP, each, HEIGHT);
        }
        scale.draw_lines(&mut shapes);
        for (at, hint) in self.hints.iter().enumerate() {
            let mut parts = String::new();
            let mut base = TOP + HEIGHT;
            for (class, values) in self.series {
                let Some(amount) = values.get(at).copied().flatten().filter(|amount| *amount > 0.0) else { continue };
                let whole = HEIGHT * amount / scale.top;
                let height = if whole < LEAST + GAP { LEAST } else { whole - GAP };
                rect(
                    &mut parts,
                    class,
                    (at as f64 + MARGIN) * each,
                    base - height,
                    each * (1.0 - 2.0 * MARGIN),
                    height,
                );
                base -= whole.max(LEAST);
            }
            if !parts.is_empty() {
                let faded = if self.cut.get(at).copied().unwrap_or(false) { " fill-opacity=\".5\"" } else { "" };
                let _ = write!(shapes, "<g{faded}><title>{}</title>{parts}</g>", escaped(hint));
            }
        }
        scale.draw_labels(&mut shapes, self.shown);
        axis(&mut shapes, self.labels, each);
        if let (Some(lines), Some((at, most))) = (&self.peak, largest(&sums)) {
            let (left, right) = (at as f64 * each, (at as f64 + 1.0) * each);
            let (x, anchor, gap) = match is_roomier_before(left, right, &(self.shown)(scale.top)) {
                true => (left, "end", " dx=\"-3\""),
                false => (right, "start", " dx=\"3\""),
            };
            let y = TOP + HEIGHT - HEIGHT * most / scale.top + 12.0;
            for (line, class) in lines.iter().zip(["b", "y"]).filter(|(line, _)| !line.is_empty()) {
                let y = if class == "b" { y } else { y + 15.0 };
                text(&mut shapes, class, &percent(x), y, &format!(" text-anchor=\"{anchor}\"{gap}"), line);
            }
        }
        shapes
    }
}

/// Sums that grow over a time, with those of the time before.
pub(super) struct Lines<'a> {
    /// Points of each line, by the part of the time that is over and the sum until then.
    pub(super) now: &'a [(f64, f64)],
    pub(super) before: &'a [(f64, f64)],
    pub(super) labels: &'a [(f64, String)],
    pub(super) shown: &'a dyn Fn(f64) -> String,
    /// Labels at the ends of the lines.
    pub(super) ends: [String; 2],
}

impl Lines<'_> {
    pub(super) fn shapes(&self) -> String {
        let most = self.now.iter().chain(self.before).map(|(_, sum)| *sum).fold(0.0, f64::max);
        let scale = Scale::of(most);
        let mut shapes = String::new();
        scale.draw_lines(&mut shapes);
        let _ = write!(
            shapes,
            "<svg x=\"0\" y=\"{TOP}\" width=\"100%\" height=\"{HEIGHT}\" viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\">"
        );
        for (class, line) in [("l0", self.before), ("l1", self.now)] {
            if line.is_empty() {
                continue;
            }
            let points = line
                .iter()
                .map(|(part, sum)| format!("{} {}", number(part * 100.0), number(100.0 - 100.0 * sum / scale.top)));
            let _ = write!(shapes, "<path class=\"{class}\" d=\"M0 100L{}\"/>", points.collect::<Vec<_>>().join("L"));
        }
        shapes.push_str("</svg>");
        let _ = write!(shapes, "<line class=\"ax\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>", TOP + HEIGHT);
        scale.draw_labels(&mut shapes, self.shown);
        let labels = self.labels.iter().map(|(place, label)| (place * 100.0, label.as_str()));
        axis_labels(&mut shapes, labels, TOP + HEIGHT + 16.0, NARROW);
        let end = |line: &[(f64, f64)]| line.last().map(|(part, sum)| (part * 100.0, scale.y(*sum)));
        let now = end(self.now);
        if let Some((x, y)) = now {
            end_label(&mut shapes, "b", x, y - 6.0, &self.ends[0]);
        }
        if let (Some((x, y)), Some((_, upper))) = (end(self.before), now) {
            // Two labels at one height would hide each other.
            let y = if (y - upper).abs() < 18.0 { upper.max(y) + 16.0 } else { y - 6.0 };
            end_label(&mut shapes, "y", x, y, &self.ends[1]);
        }
        shapes
    }
}

fn end_label(shapes: &mut String, class: &str, x: f64, y: f64, label: &str) {
    let anchor = if x > 40.0 { "end" } else { "start" };
    text(shapes, class, &percent(x), y.max(12.0), &format!(" text-anchor=\"{anchor}\""), label);
}

/// Shares by bar: a dot for each, larger for more of what it is a share of.
pub(super) fn dots(shares: &[Option<f64>], weights: &[Option<f64>], labels: &[(usize, String)]) -> String {
    let (top, height) = (20.0, 122.0);
    // The first and last dots are within the plot.
    let place = |at: usize| 1.0 + 98.0 * (at as f64 + 0.5) / shares.len().max(1) as f64;
    let most = weights.iter().flatten().copied().fold(0.0, f64::max).max(1.0);
    let mut shapes = String::new();
    for (share, label) in [(0.5, "50 %"), (1.0, "100 %")] {
        let y = top + height * (1.0 - share);
        let _ = write!(shapes, "<line class=\"g\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>", number(y));
        text(&mut shapes, "y", "0", y - 6.0, "", label);
    }
    for (at, share) in shares.iter().enumerate() {
        let Some(share) = share else { continue };
        let weight = weights.get(at).copied().flatten().unwrap_or(0.0);
        let radius = 2.2 + 3.8 * (weight / most).sqrt();
        let _ = write!(
            shapes,
            "<circle class=\"fn\" cx=\"{}\" cy=\"{}\" r=\"{radius:.1}\" fill-opacity=\".8\"/>",
            percent(place(at)),
            number(top + height * (1.0 - share.clamp(0.0, 1.0)))
        );
    }
    let _ = write!(shapes, "<line class=\"ax\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>", top + height);
    let labels = labels.iter().map(|(at, label)| (place(*at), label.as_str()));
    axis_labels(&mut shapes, labels, top + height + 16.0, WIDE);
    shapes
}

/// Height of [`dots`]. Pixels.
pub(super) const DOTS: f64 = 166.0;

/// A field for each hour of the week, Monday first, by the step of its colour.
pub(super) fn heat(steps: &[[usize; 24]; 7]) -> String {
    let mut shapes = String::new();
    for (row, hours) in steps.iter().enumerate() {
        for (hour, step) in hours.iter().enumerate() {
            let (x, y) = (hour as f64 * 100.0 / 24.0, row as f64 * 22.0 + 1.0);
            rect(&mut shapes, &format!("h{step}"), x, y, 3.9, 20.0);
        }
    }
    for (hour, anchor) in [(0, "start"), (6, "start"), (12, "start"), (18, "start"), (24, "end")] {
        let x = percent(f64::from(hour) * 100.0 / 24.0);
        text(&mut shapes, "", &x, 170.0, &format!(" text-anchor=\"{anchor}\""), &format!("{hour:02}:00"));
    }
    shapes
}

/// Height of [`heat`]. Pixels.
pub(super) const HEAT: f64 = 176.0;

/// Amounts below each other, each with its label above.
pub(super) fn amounts(rows: &[(&str, &str, f64, String)]) -> String {
    let most = rows.iter().map(|(_, _, amount, _)| *amount).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut shapes = String::new();
    for (at, (class, label, amount, shown)) in rows.iter().enumerate() {
        let y = at as f64 * 42.0;
        // The amount after the longest bar has room.
        let width = (amount / most * 78.0).max(0.3);
        text(&mut shapes, "o", "0", y + 11.0, "", label);
        rect(&mut shapes, class, 0.0, y + 17.0, width, 14.0);
        text(&mut shapes, "b", &percent(width + 1.5), y + 28.0, "", shown);
    }
    shapes
}

/// Parts of a whole in one line.
pub(super) fn parts(parts: &[(&str, f64)], height: f64) -> String {
    let whole: f64 = parts.iter().map(|(_, amount)| amount).sum();
    let (mut shapes, mut x) = (String::new(), 0.0);
    for (class, amount) in parts {
        let width = if whole > 0.0 { amount / whole * 100.0 } else { 0.0 };
        rect(&mut shapes, class, x, 0.0, width, height);
        x += width;
    }
    shapes
}

/// Bars without scale and labels, as wide as their place.
pub(super) fn spark(class: &str, values: &[Option<f64>], height: f64) -> Markup {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let mut path = String::new();
    for (at, value) in values.iter().enumerate() {
        let Some(value) = value.filter(|value| *value > 0.0) else { continue };
        let tall = (value / most * height).max(1.2);
        let _ = write!(path, "M{} {height}v-{tall:.1}h3v{tall:.1}z", at * 4);
    }
    let view = format!("0 0 {} {height}", values.len().max(1) * 4);
    html! {
        svg viewBox=(view) preserveAspectRatio="none" aria-hidden="true" {
            path class=(class) d=(path) {}
        }
    }
}

/// A bar of a table's cell: part of the largest.
pub(super) fn cell_bar(class: &str, part: f64) -> Markup {
    html! {
        svg.br viewBox="0 0 100 9" preserveAspectRatio="none" aria-hidden="true" {
            rect class=(class) width=(number((part * 100.0).clamp(0.0, 100.0))) height="9" {}
        }
    }
}

/// A square in a colour.
pub(super) fn swatch(class: &str) -> Markup {
    html! { svg aria-hidden="true" { rect class=(class) width="100%" height="100%" {} } }
}

/// A scale from 0 to a round number.
struct Scale {
    top: f64,
    lines: u32,
}

impl Scale {
    /// Takes the next of 1, 2, 3, 4, 6 and 8 times a power of ten.
    fn of(most: f64) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        let power = 10_f64.powf(most.log10().floor());
        let digit = most / power;
        let steps = [(1.0, 2), (2.0, 2), (3.0, 3), (4.0, 2), (6.0, 3), (8.0, 2), (10.0, 2)];
        let (top, lines) = steps.into_iter().find(|(step, _)| digit <= step + 1e-9).unwrap_or((10.0, 2));
        Self { top: top * power, lines }
    }

    fn y(&self, amount: f64) -> f64 {
        TOP + HEIGHT * (1.0 - amount / self.top)
    }

    /// Returns the amounts of the lines.
    fn amounts(&self) -> impl Iterator<Item = f64> {
        (1..=self.lines).map(|line| self.top * f64::from(line) / f64::from(self.lines))
    }

    fn draw_lines(&self, shapes: &mut String) {
        for amount in self.amounts() {
            let y = number(self.y(amount));
            let _ = write!(shapes, "<line class=\"g\" x1=\"0\" x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/>");
        }
    }

    /// Writes the amounts above their lines, and above what was drawn before.
    fn draw_labels(&self, shapes: &mut String, shown: &dyn Fn(f64) -> String) {
        for amount in self.amounts() {
            text(shapes, "y", "0", self.y(amount) - 5.0, "", &shown(amount));
        }
    }
}

/// Returns true if a label has more room before a bar than after it: the amounts of the axis stand at the left edge. The
/// bar's edges are in percent.
fn is_roomier_before(left: f64, right: f64, amount: &str) -> bool {
    left - 2.0 * half(amount, WIDE) > 100.0 - right
}

fn sums(series: &[(&str, &[Option<f64>])], count: usize) -> Vec<f64> {
    let at = |at| series.iter().filter_map(|(_, values)| values.get(at).copied().flatten()).sum();
    (0..count).map(at).collect()
}

fn largest(sums: &[f64]) -> Option<(usize, f64)> {
    sums.iter().copied().enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other))
}

/// Draws the line below bars, and the labels of some.
fn axis(shapes: &mut String, labels: &[(usize, String)], each: f64) {
    let _ = write!(shapes, "<line class=\"ax\" x1=\"0\" x2=\"100%\" y1=\"{0}\" y2=\"{0}\"/>", TOP + HEIGHT);
    let labels = labels.iter().map(|(at, label)| ((*at as f64 + 0.5) * each, label.as_str()));
    axis_labels(shapes, labels, TOP + HEIGHT + 16.0, WIDE);
}

/// Writes labels below their places, but for those without room in a plot that is so many pixels wide.
fn axis_labels<'l>(shapes: &mut String, labels: impl Iterator<Item = (f64, &'l str)>, y: f64, pixels: f64) {
    let mut free = -1.0;
    for (x, label) in labels {
        let half = half(label, pixels);
        // A label at the edge is moved into the plot.
        let middle = x.max(half).min(100.0 - half);
        if middle - half > free {
            axis_label(shapes, x, label, y, pixels);
            free = middle + half + 1.0;
        }
    }
}

/// Returns half of the width of a label in a plot that is so many pixels wide or wider. Percent.
fn half(label: &str, pixels: f64) -> f64 {
    label.chars().count() as f64 * 3.3 / pixels * 100.0
}

/// Writes a label below its place, within a plot that is so many pixels wide or wider.
fn axis_label(shapes: &mut String, x: f64, label: &str, y: f64, pixels: f64) {
    let half = half(label, pixels);
    let (x, anchor) = match x {
        _ if x < half => (0.0, "start"),
        _ if x > 100.0 - half => (100.0, "end"),
        _ => (x, "middle"),
    };
    text(shapes, "", &percent(x), y, &format!(" text-anchor=\"{anchor}\""), label);
}

fn rect(shapes: &mut String, class: &str, x: f64, y: f64, width: f64, height: f64) {
    let (x, width) = (percent(x), percent(width));
    let (y, height) = (number(y), number(height));
    let _ = write!(shapes, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>");
}

pub(super) fn text(shapes: &mut String, class: &str, x: &str, y: f64, more: &str, content: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = write!(shapes, "<text{class} x=\"{x}\" y=\"{}\"{more}>{}</text>", number(y), escaped(content));
}

fn percent(number: f64) -> String {
    format!("{number:.2}%")
}

/// Returns a number with two decimals at most.
fn number(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    html! { (text) }.into_string()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_scale_ends_at_a_round_number() {
        let tops = [29.47, 57.31, 0.9, 1.0, 4.1, 7.0, 9.5, 12_345.0, 0.0].map(|most| Scale::of(most).top);
        let expected = [30.0, 60.0, 1.0, 1.0, 6.0, 8.0, 10.0, 20_000.0, 1.0];
        assert!(tops.iter().zip(expected).all(|(top, expected)| (top - expected).abs() < 1e-9 * expected), "{tops:?}");
    }

    #[test]
    fn a_label_beside_a_bar_hides_no_amount() {
        let (label, amount) = (2.0 * half("$236.41, week of 2 Mar", 360.0), 2.0 * half("$200", 360.0));
        // Weeks are shown from 63 days on.
        for (count, at) in (9..=62).flat_map(|count| (0..count).map(move |at| (count, at))) {
            let (left, right) =
                (100.0 * f64::from(at) / f64::from(count), 100.0 * f64::from(at + 1) / f64::from(count));
            let room = if is_roomier_before(left, right, "$200") { left - amount } else { 100.0 - right };
            assert!(room >= label, "{at} of {count}: {room} < {label}");
        }
    }

    #[test]
    fn what_was_not_recorded_has_no_bar() {
        let values = [Some(4.0), None, Some(0.0), Some(0.01)];
        let hints = ["a", "b", "c", "<d>"].map(str::to_owned);
        let bars = Bars {
            series: &[("a1", &values)],
            hints: &hints,
            grey: &[false; 4],
            cut: &[false, false, false, true],
            labels: &[(0, "1 Jul".to_owned())],
            shown: &|usd| format!("${usd:.0}"),
            peak: None,
        };
        let shapes = bars.shapes();
        assert_eq!(shapes.matches("<rect").count(), 2);
        assert!(shapes.contains("<g fill-opacity=\".5\"><title>&lt;d&gt;</title>"), "{shapes}");
        assert!(shapes.contains("height=\"1.5\""), "{shapes}");
        let sparks = spark("fn", &values, 26.0).into_string();
        assert_eq!(sparks.matches('M').count(), 2, "{sparks}");
    }

    fn odd() -> impl Strategy<Value = Option<f64>> {
        prop_oneof![
            Just(None),
            (0.0..100.0).prop_map(Some),
            prop::sample::select(vec![0.0, 1e-300, 1e8, 1e15, -5.0]).prop_map(Some)
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn whatever_was_recorded_is_drawn_or_left_out(values in prop::collection::vec(odd(), 1..63)) {
            let hints = vec![String::new(); values.len()];
            let bars = Bars {
                series: &[("a1", &values)], hints: &hints, grey: &[], cut: &[], labels: &[],
                shown: &|usd| usd.to_string(), peak: Some([String::new(), String::new()]),
            };
            let shapes = bars.shapes();
            let drawn = values.iter().flatten().filter(|value| **value > 0.0).count();
            prop_assert_eq!(shapes.matches("<rect").count(), drawn);
            prop_assert!(!shapes.contains("NaN") && !shapes.contains("inf"), "{}", shapes);
            prop_assert!(!spark("fn", &values, 26.0).into_string().contains("NaN"));
        }
    }
}
