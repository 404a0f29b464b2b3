//! The time that a page is about: its names, and the time that it is compared with.

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveTime, Utc, Weekday};
use chrono_tz::Tz;

use crate::time::in_zone;

/// The time that a page is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub(super) zone: Tz,
    now: DateTime<Utc>,
    since: Option<i64>,
    until: Option<i64>,
    pub(super) first: NaiveDate,
    pub(super) last: NaiveDate,
    kind: Kind,
    is_running: bool,
}

/// A part of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Day,
    Month,
    Quarter,
    Year,
    /// Days of any number.
    Days,
    /// Begins or ends within a day.
    Hours,
}

impl Span {
    /// Returns the span from `since` to `until`. A missing end is that of the records, and of the records and the present
    /// if it began. Times are microseconds since 1970.
    pub fn new(
        now: DateTime<Utc>,
        zone: Tz,
        (since, until): (Option<i64>, Option<i64>),
        records: Option<(i64, i64)>,
    ) -> Self {
        let today = now.with_timezone(&zone).date_naive();
        let day = |moment: i64| local(moment, zone).date_naive();
        let is_running = since.is_some() && until.is_none_or(|until| until > now.timestamp_micros());
        let first = since.or(records.map(|(first, _)| first)).map_or(today, day);
        let last = match until.filter(|_| !is_running) {
            Some(until) => day(until.saturating_sub(1)),
            None if is_running => today,
            None => records.map_or(today, |(_, last)| day(last)),
        };
        let last = last.max(first);
        let is_midnight =
            |moment: Option<i64>| moment.is_none_or(|moment| local(moment, zone).time() == NaiveTime::MIN);
        let has_days = is_midnight(since) && (is_running || is_midnight(until));
        let kind = if has_days { kind(first, last, is_running, since.is_some()) } else { Kind::Hours };
        Self { zone, now, since, until, first, last, kind, is_running }
    }

    /// Returns the last whole month.
    pub fn last_month(now: DateTime<Utc>, zone: Tz) -> Option<Self> {
        let today = now.with_timezone(&zone).date_naive();
        let end = today.with_day(1)?;
        let start = end.checked_sub_months(Months::new(1))?;
        Some(Self::new(now, zone, (Some(midnight(start, zone)?), Some(midnight(end, zone)?)), None))
    }

    /// Returns the time to compare with: the month, quarter or year before, the same weekday, or else as much time before
    /// it. A span that still runs is compared with the same days.
    pub fn before(&self) -> Option<Self> {
        let since = self.since?;
        let days = self.days();
        let (start, end) = match self.kind {
            Kind::Day => (self.first.checked_sub_days(Days::new(7))?, self.last.checked_sub_days(Days::new(6))?),
            Kind::Month => self.months_before(1)?,
            Kind::Quarter => self.months_before(3)?,
            Kind::Year => self.months_before(12)?,
            Kind::Days => (self.first.checked_sub_days(Days::new(u64::try_from(days).ok()?))?, self.first),
            Kind::Hours => {
                let end = self.until.filter(|_| !self.is_running).unwrap_or(self.now.timestamp_micros());
                let start = since.checked_sub(end.checked_sub(since)?)?;
                return Some(Self::new(self.now, self.zone, (Some(start), Some(since)), None));
            }
        };
        let bounds = (Some(midnight(start, self.zone)?), Some(midnight(end, self.zone)?));
        Some(Self::new(self.now, self.zone, bounds, None))
    }

    fn months_before(&self, months: u32) -> Option<(NaiveDate, NaiveDate)> {
        let start = self.first.checked_sub_months(Months::new(months))?;
        if !self.is_running {
            return Some((start, self.first));
        }
        let end = start.checked_add_days(Days::new(u64::try_from(self.days()).ok()?))?;
        Some((start, end.min(self.first)))
    }

    /// Returns the beginning that was asked for. Microseconds since 1970.
    pub fn since(&self) -> Option<i64> {
        self.since
    }

    /// Returns the end that was asked for. Microseconds since 1970.
    pub fn until(&self) -> Option<i64> {
        self.until
    }

    /// Returns the name of the last week or month: `27–31 July, 5 days`.
    pub(super) fn recent_name(&self, is_month: bool) -> String {
        if is_month {
            return self.last.format("%B %Y").to_string();
        }
        let first = monday(self.last).unwrap_or(self.last);
        let week = Self { first, kind: Kind::Days, ..*self };
        match week.days() {
            7 => week.range(false),
            1 => format!("{}, 1 day", week.range(false)),
            days => format!("{}, {days} days", week.range(false)),
        }
    }

    /// Returns the first day.
    pub(super) fn first(&self) -> NaiveDate {
        self.first
    }

    /// Returns the number of days.
    pub(super) fn days(&self) -> i64 {
        self.last.signed_duration_since(self.first).num_days() + 1
    }

    /// True if its days need a year.
    pub(super) fn has_years(&self) -> bool {
        self.first.year() != self.last.year()
    }

    /// True for a single day.
    pub(super) fn is_day(&self) -> bool {
        self.first == self.last
    }

    /// Returns a part of the calendar in its usual name: `July 2026`, `1–14 July 2026`.
    pub fn title(&self) -> String {
        let running = if self.is_running && self.is_calendar() { ", so far" } else { "" };
        match self.kind {
            Kind::Month => self.first.format("%B %Y").to_string() + running,
            Kind::Quarter => format!("{} quarter of {}{running}", ordinal(quarter(self.first)), self.first.year()),
            Kind::Year => self.first.year().to_string() + running,
            _ if self.is_day() => self.first.format("%A %-d %B %Y").to_string(),
            _ => self.range(true),
        }
    }

    /// Returns the span as a name within a table or a line: `June`, `1–16 June`, `Thu 9 Jul`. It has the year if that is
    /// not the year of `other`.
    pub(super) fn name(&self, other: &Self) -> String {
        let with_year = self.first.year() != other.first.year() || self.last.year() != other.last.year();
        let whole = !self.is_running && !other.is_running;
        match self.kind {
            Kind::Month if whole => self.first.format(if with_year { "%B %Y" } else { "%B" }).to_string(),
            Kind::Quarter if whole => format!("{} quarter", ordinal(quarter(self.first))).to_lowercase(),
            Kind::Year if whole => self.first.year().to_string(),
            _ if self.is_day() => self.first.format(if with_year { "%a %-d %b %Y" } else { "%a %-d %b" }).to_string(),
            _ if self.first.month() != self.last.month() && !with_year && !self.has_years() => {
                format!("{} – {}", self.first.format("%-d %b"), self.last.format("%-d %b"))
            }
            _ => self.range(with_year),
        }
    }

    /// Returns the span in a sentence: `in July`, `from 1 to 14 July`, `on Thu 16 July`.
    pub(super) fn within(&self, other: &Self) -> String {
        let with_year = self.first.year() != other.first.year();
        let whole = !self.is_running && !other.is_running;
        match self.kind {
            Kind::Month if self.is_running => format!("in {} so far", self.first.format("%B")),
            Kind::Quarter | Kind::Year if self.is_running => format!("in {}", self.title()),
            Kind::Month if whole => format!("in {}", self.name(other)),
            Kind::Quarter if whole => format!("in the {}", self.name(other)),
            Kind::Year if whole => format!("in {}", self.first.year()),
            _ if self.is_day() => {
                self.first.format(if with_year { "on %A %-d %B %Y" } else { "on %A %-d %B" }).to_string()
            }
            _ if self.until.is_some() && self.until == other.since => format!("in the {} days before", self.days()),
            _ => format!("from {}", self.range(with_year).replace('–', " to ").replace("  to  ", " to ")),
        }
    }

    fn is_calendar(&self) -> bool {
        matches!(self.kind, Kind::Month | Kind::Quarter | Kind::Year)
    }

    /// Returns the days: `1–31 July`, `28 June – 4 July`.
    pub(super) fn range(&self, with_year: bool) -> String {
        let (first, last) = (self.first, self.last);
        let year = if with_year { " %Y" } else { "" };
        let end = last.format(&format!("%-d %B{year}")).to_string();
        if first == last {
            return end;
        }
        if first.year() != last.year() {
            return format!("{} – {}", first.format("%-d %B %Y"), last.format("%-d %B %Y"));
        }
        match first.month() == last.month() {
            true => format!("{}–{end}", first.day()),
            false => format!("{} – {end}", first.format("%-d %B")),
        }
    }

    /// Returns the options that ask for the span again.
    pub(super) fn options(&self) -> String {
        let option = |name: &str, moment: Option<i64>, days_back: u64| {
            let Some(moment) = moment else { return String::new() };
            let local = local(moment, self.zone);
            if local.time() != NaiveTime::MIN {
                return format!(" --{name} {}", local.format("%Y-%m-%dT%H:%M:%S"));
            }
            let day = local.date_naive().checked_sub_days(Days::new(days_back)).unwrap_or_default();
            format!(" --{name} {day}")
        };
        option("since", self.since, 0) + &option("until", self.until, 1)
    }

    /// Returns the day of a time.
    pub(super) fn day_of(&self, moment: i64) -> NaiveDate {
        local(moment, self.zone).date_naive()
    }

    /// Returns a time in the zone of the span.
    pub(super) fn local(&self, moment: i64) -> DateTime<Tz> {
        local(moment, self.zone)
    }
}

/// Returns the kind of a span of whole days. A span without a beginning is of no kind.
fn kind(first: NaiveDate, last: NaiveDate, is_running: bool, has_beginning: bool) -> Kind {
    if !has_beginning {
        return Kind::Days;
    }
    let after = last.succ_opt().unwrap_or(last);
    let fits = |months: u32| {
        let start = start_of_months(first, months) == Some(first);
        let end = first.checked_add_months(Months::new(months)).unwrap_or(first);
        // The first day of a month that runs is a day.
        start && (after == end || is_running && after < end && first != last)
    };
    match () {
        () if first == last => Kind::Day,
        () if fits(1) => Kind::Month,
        () if fits(3) => Kind::Quarter,
        () if fits(12) => Kind::Year,
        () => Kind::Days,
    }
}

fn local(moment: i64, zone: Tz) -> DateTime<Tz> {
    DateTime::from_timestamp_micros(moment).unwrap_or_default().with_timezone(&zone)
}

/// Returns the beginning of a day. Microseconds since 1970.
pub(super) fn midnight(day: NaiveDate, zone: Tz) -> Option<i64> {
    in_zone(day.and_time(NaiveTime::MIN), zone).map(|moment| moment.timestamp_micros())
}

pub(super) fn monday(day: NaiveDate) -> Option<NaiveDate> {
    day.week(Weekday::Mon).checked_first_day()
}

/// Returns the first day of the group of months that holds a day.
pub(super) fn start_of_months(day: NaiveDate, months: u32) -> Option<NaiveDate> {
    let count = i64::from(day.year()) * 12 + i64::from(day.month0());
    let start = count.div_euclid(i64::from(months)) * i64::from(months);
    NaiveDate::from_ymd_opt(i32::try_from(start.div_euclid(12)).ok()?, u32::try_from(start.rem_euclid(12)).ok()? + 1, 1)
}

fn quarter(day: NaiveDate) -> u32 {
    day.month0() / 3
}

fn ordinal(place: u32) -> &'static str {
    match place {
        0 => "First",
        1 => "Second",
        2 => "Third",
        _ => "Fourth",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::bars::{MOST_LABELS, Step};

    fn at(text: &str) -> i64 {
        text.parse::<DateTime<Utc>>().unwrap().timestamp_micros()
    }

    fn span(since: &str, until: &str) -> Span {
        let now = DateTime::from_timestamp_micros(at("2026-08-01T08:12:00Z")).unwrap();
        let moment = |text: &str| (!text.is_empty()).then(|| at(&format!("{text}T00:00:00Z")));
        Span::new(
            now,
            Tz::UTC,
            (moment(since), moment(until)),
            Some((at("2024-05-21T10:00:00Z"), at("2026-07-17T09:00:00Z"))),
        )
    }

    fn named(since: &str, until: &str) -> [String; 3] {
        let span = span(since, until);
        let before = span.before();
        let other = before.as_ref().unwrap_or(&span);
        [span.title(), span.within(other), before.map_or_else(String::new, |before| before.within(&span))]
    }

    #[test]
    fn periods_have_the_names_of_the_calendar() {
        assert_eq!(named("2026-07-01", "2026-08-01"), ["July 2026", "in July", "in June"]);
        assert_eq!(named("2026-01-01", "2026-02-01"), ["January 2026", "in January 2026", "in December 2025"]);
        assert_eq!(
            named("2026-04-01", "2026-07-01"),
            ["Second quarter of 2026", "in the second quarter", "in the first quarter"]
        );
        assert_eq!(named("2025-01-01", "2026-01-01"), ["2025", "in 2025", "in 2024"]);
        assert_eq!(
            named("2026-07-16", "2026-07-17"),
            ["Thursday 16 July 2026", "on Thursday 16 July", "on Thursday 9 July"]
        );
        assert_eq!(named("2026-07-01", "2026-07-15"), ["1–14 July 2026", "from 1 to 14 July", "in the 14 days before"]);
        assert_eq!(named("", "")[..2], ["21 May 2024 – 17 July 2026", "from 21 May 2024 to 17 July 2026"]);
    }

    #[test]
    fn a_period_that_runs_is_compared_with_the_same_days() {
        let now = DateTime::from_timestamp_micros(at("2026-07-16T08:12:00Z")).unwrap();
        let span = Span::new(now, Tz::UTC, (Some(at("2026-07-01T00:00:00Z")), None), None);
        let before = span.before().unwrap();
        assert_eq!([span.title(), span.within(&before)], ["July 2026, so far", "in July so far"]);
        assert_eq!([before.name(&span), before.within(&span)], ["1–16 June", "from 1 to 16 June"]);
        assert_eq!(span.options(), " --since 2026-07-01");
        assert_eq!(before.options(), " --since 2026-06-01 --until 2026-06-16");
        let last = Span::last_month(now, Tz::UTC).unwrap();
        assert_eq!(last.title(), "June 2026");
    }

    #[test]
    fn there_are_never_more_than_62_bars() {
        for (since, until, step, bars, labels) in [
            ("2026-07-16", "2026-07-17", Step::Hour, 1, "16 Jul"),
            ("2026-07-01", "2026-08-01", Step::Day, 31, "1 Jul, 8, 15, 22, 29"),
            ("2026-06-01", "2026-08-01", Step::Day, 61, "1 Jun, 15, 29, 13 Jul, 27"),
            ("2026-05-31", "2026-08-01", Step::Day, 62, "31 May, 14 Jun, 28, 12 Jul, 26"),
            ("2026-05-30", "2026-08-01", Step::Week, 10, "30 May 2026, 8 Jun, 22 Jun, 6 Jul, 20 Jul"),
            ("2025-06-01", "2026-08-01", Step::Week, 62, "1 Jun 2025, 11 Aug, 27 Oct, 12 Jan 2026, 30 Mar, 15 Jun"),
            ("2024-08-01", "2026-08-01", Step::Months(1), 24, "Aug 2024, Dec, Apr 2025, Aug, Dec, Apr 2026"),
            ("1970-01-01", "2026-08-01", Step::Months(12), 57, "1970, 1980, 1990, 2000, 2010, 2020"),
            ("1900-01-01", "2026-08-01", Step::Months(120), 13, "1900, 1930, 1960, 1990, 2020"),
        ] {
            let span = span(since, until);
            let buckets = span.buckets();
            assert_eq!((span.step(), buckets.len()), (step, bars), "{since} {until}");
            let found: Vec<String> = span.labels(&buckets).into_iter().map(|(_, label)| label).collect();
            assert_eq!(found.join(", "), labels, "{since} {until}");
            assert!(found.len() <= MOST_LABELS);
            assert_eq!((buckets[0].first, buckets[bars - 1].last), (span.first, span.last));
        }
        let weeks = span("2026-05-30", "2026-08-01").buckets();
        let cut: Vec<bool> = weeks.iter().map(|bucket| bucket.is_cut).collect();
        assert_eq!((cut[0], cut[1], cut[9]), (true, false, true));
    }

    #[test]
    fn hours_are_compared_with_as_many_before() {
        let now = DateTime::from_timestamp_micros(at("2026-07-16T08:00:00Z")).unwrap();
        let span = Span::new(now, Tz::UTC, (Some(at("2026-07-15T20:00:00Z")), None), None);
        let before = span.before().unwrap();
        assert_eq!((before.since(), before.until()), (Some(at("2026-07-15T08:00:00Z")), span.since()));
        assert_eq!(before.options(), " --since 2026-07-15T08:00:00 --until 2026-07-15T20:00:00");
    }
}
