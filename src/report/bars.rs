//! The bars of a span's plot: hours, days, weeks or months, and their labels.

use chrono::{Datelike, Days, Months, NaiveDate, Weekday};

use super::span::{Span, monday, start_of_months};

/// Most bars of a plot.
const MOST_BARS: i64 = 62;
/// Most labels of an axis.
pub(super) const MOST_LABELS: usize = 6;

/// The time that a bar covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Hour,
    Day,
    /// From Monday on.
    Week,
    /// That many months.
    Months(u32),
}

/// The days of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) first: NaiveDate,
    pub(super) last: NaiveDate,
    /// True if the span begins or ends within it.
    pub(super) is_cut: bool,
}

impl Span {
    /// Returns the time that a bar covers. There are never more than 62 bars.
    pub(super) fn step(&self) -> Step {
        let months = i64::from(self.last.year() - self.first.year()) * 12 + i64::from(self.last.month())
            - i64::from(self.first.month());
        match self.days() {
            1 => Step::Hour,
            ..=MOST_BARS => Step::Day,
            days if days + 6 <= MOST_BARS * 7 => Step::Week,
            _ if months < MOST_BARS => Step::Months(1),
            _ if months / 12 < MOST_BARS - 1 => Step::Months(12),
            _ => Step::Months(120),
        }
    }

    /// Returns the bars, without hours.
    pub(super) fn buckets(&self) -> Vec<Bucket> {
        let next = |day: NaiveDate| match self.step() {
            Step::Hour | Step::Day => day.succ_opt(),
            Step::Week => monday(day)?.checked_add_days(Days::new(7)),
            Step::Months(months) => start_of_months(day, months)?.checked_add_months(Months::new(months)),
        };
        let start = |day: NaiveDate| match self.step() {
            Step::Hour | Step::Day => Some(day),
            Step::Week => monday(day),
            Step::Months(months) => start_of_months(day, months),
        };
        let (mut buckets, mut day) = (Vec::new(), self.first);
        while day <= self.last {
            let end = next(day).and_then(|next| next.pred_opt()).unwrap_or(self.last);
            let is_cut = start(day) != Some(day) || end > self.last;
            buckets.push(Bucket { first: day, last: end.min(self.last), is_cut });
            let Some(following) = end.succ_opt() else { break };
            day = following;
        }
        buckets
    }

    /// Returns the bars that have a label, and the labels: the first one with its month or year.
    pub(super) fn labels(&self, buckets: &[Bucket]) -> Vec<(usize, String)> {
        let count = buckets.len();
        let every = match self.step() {
            Step::Hour | Step::Day if count > MOST_LABELS => count.div_ceil(MOST_LABELS).div_ceil(7) * 7,
            Step::Months(1) if count > MOST_LABELS => {
                let needed = count.div_ceil(MOST_LABELS);
                [1, 2, 3, 4, 6, 12].into_iter().find(|every| *every >= needed).unwrap_or(needed)
            }
            _ => count.div_ceil(MOST_LABELS).max(1),
        };
        let mut before: Option<NaiveDate> = None;
        let labelled = buckets.iter().enumerate().step_by(every).map(|(at, bucket)| {
            let day = bucket.first;
            let is_other = |part: fn(&NaiveDate) -> i32| before.is_none_or(|before| part(&before) != part(&day));
            let (year, month) = (is_other(Datelike::year), is_other(|day| day.month().cast_signed()));
            let format = match self.step() {
                Step::Hour | Step::Day if month || year => "%-d %b",
                Step::Hour | Step::Day => "%-d",
                Step::Week if year => "%-d %b %Y",
                Step::Week => "%-d %b",
                Step::Months(1) if year => "%b %Y",
                Step::Months(1) => "%b",
                Step::Months(_) => "%Y",
            };
            before = Some(day);
            (at, day.format(format).to_string())
        });
        labelled.collect()
    }

    /// Returns a bar's name in a table: `Wed 1 Jul`, `6–12 July`, `July 2026`.
    pub(super) fn bucket_name(&self, bucket: &Bucket) -> String {
        let (first, last) = (bucket.first, bucket.last);
        let with_year = self.has_years();
        match self.step() {
            Step::Hour | Step::Day => first.format(if with_year { "%a %-d %b %Y" } else { "%a %-d %b" }).to_string(),
            Step::Week if first == last => first.format("%-d %b %Y").to_string(),
            Step::Week => format!("{} – {}", first.format("%-d %b"), last.format("%-d %b %Y")),
            Step::Months(1) => first.format("%B %Y").to_string(),
            Step::Months(_) if first.year() == last.year() => first.year().to_string(),
            Step::Months(_) => format!("{}–{}", first.year(), last.year()),
        }
    }
}

impl Step {
    /// Returns a bar's name.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Months(1) => "month",
            Self::Months(12) => "year",
            Self::Months(_) => "decade",
        }
    }
}

impl Bucket {
    /// True for Saturdays and Sundays.
    pub(super) fn is_weekend(&self) -> bool {
        self.first == self.last && matches!(self.first.weekday(), Weekday::Sat | Weekday::Sun)
    }
}
