//! The periods that are compared.

use chrono::{Datelike, Days, Months, NaiveDate, Weekday};

/// Days in a row, with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    /// Name in the header of a table.
    pub(super) name: String,
    pub(super) first: NaiveDate,
    pub(super) last: NaiveDate,
}

impl Span {
    fn new(name: impl Into<String>, first: NaiveDate, last: NaiveDate) -> Self {
        Self { name: name.into(), first, last }
    }

    /// A month, with its year if it is not this one.
    fn of_past_month(first: NaiveDate, today: NaiveDate) -> Self {
        let name = first.format(if first.year() == today.year() { "%B" } else { "%B %Y" });
        Self::new(name.to_string(), first, first + Months::new(1) - Days::new(1))
    }

    /// The days of a month up to the given one, or up to its end.
    fn of_month(first: NaiveDate, last: Option<NaiveDate>) -> Self {
        let end = first + Months::new(1) - Days::new(1);
        let last = last.map_or(end, |last| last.min(end));
        let name = match last == end {
            true => first.format("%B").to_string(),
            false => format!("{} 1\u{2013}{}", first.format("%B"), last.day()),
        };
        Self::new(name, first, last)
    }

    pub(super) fn contains(&self, day: NaiveDate) -> bool {
        (self.first..=self.last).contains(&day)
    }
}

/// Today, this week and the last, this month, the same days of the last month, and the whole of it.
pub(super) fn usual(today: NaiveDate) -> Vec<Span> {
    let week = today.week(Weekday::Mon).first_day();
    let month = first_of_month(today);
    let before = month - Months::new(1);
    let same_days = before + (today - month);
    let mut spans = vec![
        Span::new("today", today, today),
        Span::new("this week", week, today),
        Span::new("last week", week - Days::new(7), week - Days::new(1)),
        Span::new(month.format("%B").to_string(), month, today),
        Span::of_month(before, Some(same_days)),
        Span::of_month(before, None),
    ];
    spans.dedup();
    spans
}

/// The last two months with usage. `newest` is its newest day, and `days` are the days on which sessions began.
pub(super) fn last_used(newest: NaiveDate, days: &[NaiveDate], today: NaiveDate) -> Vec<Span> {
    let month = first_of_month(newest);
    let before = days.iter().map(|day| first_of_month(*day)).filter(|first| *first < month).max();
    [month].into_iter().chain(before).map(|first| Span::of_past_month(first, today)).collect()
}

fn first_of_month(day: NaiveDate) -> NaiveDate {
    day.with_day(1).unwrap_or(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(spans: &[Span]) -> Vec<String> {
        spans.iter().map(|span| format!("{}: {} {}", span.name, span.first, span.last)).collect()
    }

    #[test]
    fn a_month_is_compared_with_the_same_days_of_the_last() {
        assert_eq!(
            shown(&usual("2026-07-17".parse().unwrap())),
            [
                "today: 2026-07-17 2026-07-17",
                "this week: 2026-07-13 2026-07-17",
                "last week: 2026-07-06 2026-07-12",
                "July: 2026-07-01 2026-07-17",
                "June 1\u{2013}17: 2026-06-01 2026-06-17",
                "June: 2026-06-01 2026-06-30",
            ]
        );
    }

    #[test]
    fn a_longer_month_is_compared_with_the_whole_of_a_shorter_one() {
        let spans = usual("2026-03-31".parse().unwrap());
        assert_eq!(shown(&spans)[3..], ["March: 2026-03-01 2026-03-31", "February: 2026-02-01 2026-02-28"]);
    }

    #[test]
    fn the_last_months_with_usage() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let days = ["2025-06-30", "2025-09-03", "2026-01-02", "2026-01-15"].map(day);
        assert_eq!(
            shown(&last_used(day("2026-01-15"), &days, day("2026-03-01"))),
            ["January: 2026-01-01 2026-01-31", "September 2025: 2025-09-01 2025-09-30"]
        );
        assert_eq!(
            shown(&last_used(day("2025-06-30"), &days[..1], day("2026-03-01"))),
            ["June 2025: 2025-06-01 2025-06-30"]
        );
    }
}
