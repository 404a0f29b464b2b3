//! Parses times and durations: `7d`, `2026-01-31`, `yesterday`, `monday`, `5m`.

use std::time::Duration;

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc, Weekday};
use chrono_tz::Tz;

use crate::shown::value;
use crate::time::in_zone;
use crate::{Error, Result};

/// The clock and the time zone for parsing times.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// The current time.
    pub now: DateTime<Utc>,
    /// Time zone of dates and times without an offset.
    pub zone: Tz,
}

/// The end of a day that a date without a time means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The beginning of the day (`--since`).
    Start,
    /// The beginning of the next day (`--until`, which is exclusive).
    End,
}

impl Clock {
    /// Returns the system's clock, in the given time zone.
    pub fn system(zone: Tz) -> Self {
        Self { now: DateTime::from_timestamp_micros(crate::time::now()).unwrap_or_default(), zone }
    }

    /// Returns the current day.
    pub fn today(&self) -> NaiveDate {
        self.now.with_timezone(&self.zone).date_naive()
    }

    /// Parses the time that was typed for an option. Microseconds since 1970.
    pub fn moment(&self, text: &str, bound: Bound, option: &str) -> Result<i64> {
        let typed = text.trim();
        if typed.strip_suffix(['m', 'M']).is_some_and(is_number) {
            let number = typed.trim_end_matches(['m', 'M']);
            return Err(Error::Unknown {
                what: format!("`{typed}` in {option}: minutes or months?"),
                hint: format!("write {number}min or {number}mo"),
            });
        }
        self.ago(typed)
            .or_else(|| self.day(typed).and_then(|day| self.edge(day, bound)))
            .or_else(|| self.named(typed, bound))
            .or_else(|| self.date_time(typed))
            .map(|moment| moment.timestamp_micros())
            .ok_or_else(|| not_a_time(text, option))
    }

    /// Parses the times of `--since` and `--until`, and checks their order.
    pub fn period(&self, since: Option<&str>, until: Option<&str>) -> Result<Period> {
        let parsed =
            |typed: Option<&str>, bound, option| typed.map(|text| self.moment(text, bound, option)).transpose();
        let period = Period {
            since: parsed(since, Bound::Start, "--since")?,
            until: parsed(until, Bound::End, "--until")?,
            clock: *self,
        };
        match (period.since.zip(period.until), since, until) {
            (Some((start, end)), Some(since), Some(until)) if end <= start => {
                Err(Error::Usage(format!("--until {until} is before --since {since}")))
            }
            _ => Ok(period),
        }
    }

    /// `7d`, `2 weeks`: a time before now. Units of days begin at midnight.
    fn ago(&self, typed: &str) -> Option<DateTime<Utc>> {
        let (count, unit) = amount(typed)?;
        let today = self.today();
        let day = match unit {
            Unit::Seconds(each) => return self.now.checked_sub_signed(seconds(count, each)?),
            Unit::Days(each) => today.checked_sub_days(Days::new(count.checked_mul(each)?))?,
            Unit::Months(each) => {
                today.checked_sub_months(Months::new(u32::try_from(count).ok()?.checked_mul(each)?))?
            }
        };
        self.edge(day, Bound::Start)
    }

    /// `2026-01-31`, `today`, `yesterday`, `monday`: the last such day, including today.
    fn day(&self, typed: &str) -> Option<NaiveDate> {
        let today = self.today();
        let word = typed.to_ascii_lowercase();
        match word.as_str() {
            "today" => Some(today),
            "yesterday" => today.pred_opt(),
            _ => match word.parse::<Weekday>() {
                Ok(weekday) => today.checked_sub_days(Days::new(u64::from(today.weekday().days_since(weekday)))),
                Err(_) => NaiveDate::parse_from_str(typed, "%Y-%m-%d").ok(),
            },
        }
    }

    /// `this week`, `last month`: its first day, or the day after it.
    fn named(&self, typed: &str, bound: Bound) -> Option<DateTime<Utc>> {
        let word = typed.to_ascii_lowercase();
        let (which, unit) = word.split_once(char::is_whitespace)?;
        let later = u32::from(bound == Bound::End);
        let today = self.today();
        let (first, steps) = match unit.trim_start() {
            "week" => (today.week(Weekday::Mon).checked_first_day()?, None),
            "month" => (today.with_day(1)?, Some(1)),
            "year" => (today.with_ordinal(1)?, Some(12)),
            _ => return None,
        };
        let back = match which {
            "this" => 0,
            "last" => 1,
            _ => return None,
        };
        let day = match steps {
            None => first.checked_sub_days(Days::new(back * 7))?.checked_add_days(Days::new(u64::from(later) * 7))?,
            Some(months) => {
                let first = first.checked_sub_months(Months::new(u32::try_from(back).ok()? * months))?;
                first.checked_add_months(Months::new(later * months))?
            }
        };
        self.edge(day, Bound::Start)
    }

    fn edge(&self, day: NaiveDate, bound: Bound) -> Option<DateTime<Utc>> {
        let day = match bound {
            Bound::Start => day,
            Bound::End => day.succ_opt()?,
        };
        in_zone(day.and_time(NaiveTime::MIN), self.zone)
    }

    /// `2026-01-31T10:00`, optionally with seconds and an offset.
    fn date_time(&self, typed: &str) -> Option<DateTime<Utc>> {
        if let Ok(moment) = DateTime::parse_from_rfc3339(typed) {
            return Some(moment.to_utc());
        }
        let with_offset = ["%Y-%m-%dT%H:%M%#z", "%Y-%m-%d %H:%M%#z", "%Y-%m-%d %H:%M:%S%.f%#z"];
        if let Some(moment) = with_offset.iter().find_map(|format| DateTime::parse_from_str(typed, format).ok()) {
            return Some(moment.to_utc());
        }
        let without = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S%.f"];
        let local = without.iter().find_map(|format| NaiveDateTime::parse_from_str(typed, format).ok())?;
        in_zone(local, self.zone)
    }
}

/// The time that a query is about.
#[derive(Debug, Clone, Copy)]
pub struct Period {
    since: Option<i64>,
    until: Option<i64>,
    clock: Clock,
}

impl Period {
    /// True if it has neither beginning nor end.
    pub fn is_open(&self) -> bool {
        self.since.is_none() && self.until.is_none()
    }

    /// Returns the beginning. Microseconds since 1970.
    pub fn since(&self) -> Option<i64> {
        self.since
    }

    /// Returns the end. Microseconds since 1970.
    pub fn until(&self) -> Option<i64> {
        self.until
    }

    /// Returns the time in words, and its length: `since Fri 2026-07-10 (7 days)`.
    pub fn with_days(&self) -> String {
        self.in_words() + &if self.until.is_none() { self.days_in_words() } else { String::new() }
    }

    /// Returns the time in words: `since Fri 2026-07-10`.
    pub fn in_words(&self) -> String {
        let start = self.since.map(|moment| self.edge_in_words(moment, 0));
        let end = self.until.map(|moment| self.edge_in_words(moment, 1));
        match (start, end) {
            (None, None) => "all time".to_owned(),
            (Some(start), None) => format!("since {start}"),
            (None, Some(end)) => format!("until {end}"),
            (Some(start), Some(end)) if start == end => format!("on {start}"),
            (Some(start), Some(end)) => format!("from {start} to {end}"),
        }
    }

    /// Returns a time, or its day if it is midnight. The end of a period is the day before.
    fn edge_in_words(&self, moment: i64, days_back: u64) -> String {
        let local = self.local(moment);
        if local.time() == NaiveTime::MIN {
            let day = local.date_naive().checked_sub_days(Days::new(days_back));
            return value::weekday_and_day(day.unwrap_or_default());
        }
        local.format("%Y-%m-%d %H:%M").to_string()
    }

    fn days_in_words(&self) -> String {
        let since = self.since.map(|moment| self.local(moment));
        let since = since.filter(|local| local.time() == NaiveTime::MIN).map(|local| local.date_naive());
        match since.map(|day| self.clock.today().signed_duration_since(day).num_days()) {
            Some(1) => " (1 day)".to_owned(),
            Some(days @ 2..=366) => format!(" ({days} days)"),
            _ => String::new(),
        }
    }

    /// True if a part of the day is in the period.
    pub fn touches(&self, day: NaiveDate) -> bool {
        let edge = |bound| self.clock.edge(day, bound).map(|moment| moment.timestamp_micros());
        let starts_before_end = self.until.is_none_or(|until| edge(Bound::Start).is_some_and(|start| start < until));
        starts_before_end && self.since.is_none_or(|since| edge(Bound::End).is_some_and(|end| end > since))
    }

    /// True if a time is in the period. An unknown time is in the period without beginning and end.
    pub fn contains(&self, moment: Option<i64>) -> bool {
        let is_since = self.since.is_none_or(|since| moment.is_some_and(|moment| moment >= since));
        is_since && self.until.is_none_or(|until| moment.is_some_and(|moment| moment < until))
    }

    /// Returns the beginning as a literal of SQL.
    pub fn since_sql(&self) -> Option<String> {
        self.since.map(literal)
    }

    /// Returns the end as a literal of SQL.
    pub fn until_sql(&self) -> Option<String> {
        self.until.map(literal)
    }

    fn local(&self, moment: i64) -> DateTime<Tz> {
        DateTime::from_timestamp_micros(moment).unwrap_or_default().with_timezone(&self.clock.zone)
    }
}

/// With its offset: `timestamp` would ignore it, and take the time for one of the session's zone.
fn literal(moment: i64) -> String {
    crate::time::format_utc(Some(moment), "timestamptz '%Y-%m-%dT%H:%M:%S%.6fZ'")
}

/// Returns a duration: `30s`, `5m`, `1h 30m`, `2d`.
pub fn duration(text: &str) -> Result<Duration> {
    humantime::parse_duration(text)
        .map_err(|_| Error::Usage(format!("`{text}` is not a duration; write it as 30s, 5m, 1h or 2d")))
}

enum Unit {
    Seconds(u64),
    Days(u64),
    Months(u32),
}

fn amount(typed: &str) -> Option<(u64, Unit)> {
    let end = typed.find(|letter: char| !letter.is_ascii_digit())?;
    let (digits, unit) = typed.split_at(end);
    let count = digits.parse().ok()?;
    let unit = match unit.trim_start().to_ascii_lowercase().as_str() {
        "s" | "sec" | "second" | "seconds" => Unit::Seconds(1),
        "min" | "minute" | "minutes" => Unit::Seconds(60),
        "h" | "hour" | "hours" => Unit::Seconds(3_600),
        "d" | "day" | "days" => Unit::Days(1),
        "w" | "week" | "weeks" => Unit::Days(7),
        "mo" | "month" | "months" => Unit::Months(1),
        "y" | "year" | "years" => Unit::Months(12),
        _ => return None,
    };
    Some((count, unit))
}

fn is_number(text: &str) -> bool {
    let text = text.trim_end();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn seconds(count: u64, each: u64) -> Option<TimeDelta> {
    TimeDelta::try_seconds(i64::try_from(count.checked_mul(each)?).ok()?)
}

fn not_a_time(text: &str, option: &str) -> Error {
    Error::Unknown {
        what: format!("`{text}` in {option} is not a time"),
        hint: "write 7d, 2w, 3mo, 1y, 2026-07-01, today, monday, `last week` or `this month`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    const BERLIN: Tz = chrono_tz::Europe::Berlin;

    fn clock(now: &str, zone: Tz) -> Clock {
        Clock { now: now.parse().unwrap(), zone }
    }

    fn since(clock: &Clock, text: &str) -> String {
        show(clock.moment(text, Bound::Start, "--since").unwrap())
    }

    fn until(clock: &Clock, text: &str) -> String {
        show(clock.moment(text, Bound::End, "--until").unwrap())
    }

    fn show(micros: i64) -> String {
        Utc.timestamp_micros(micros).unwrap().to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
    }

    #[test]
    fn relative_times_count_back_from_now_and_days_from_midnight() {
        let clock = clock("2026-06-10T12:30:00Z", BERLIN);
        assert_eq!(since(&clock, "30min"), "2026-06-10T12:00:00Z");
        assert_eq!(since(&clock, "12h"), "2026-06-10T00:30:00Z");
        for week in ["7d", "7 days", "1w", "1 week", "7D"] {
            assert_eq!(since(&clock, week), "2026-06-02T22:00:00Z", "{week}");
        }
        assert_eq!(until(&clock, "7d"), "2026-06-02T22:00:00Z");
        assert_eq!(since(&clock, "2 weeks"), "2026-05-26T22:00:00Z");
        assert_eq!(since(&clock, "3mo"), "2026-03-09T23:00:00Z");
        assert_eq!(since(&clock, "3 months"), "2026-03-09T23:00:00Z");
        assert_eq!(since(&clock, "1y"), "2025-06-09T22:00:00Z");
    }

    #[test]
    fn named_weeks_months_and_years() {
        let clock = clock("2026-06-10T12:30:00Z", Tz::UTC);
        let both = |text| [since(&clock, text), until(&clock, text)].map(|moment| moment.replace("T00:00:00Z", ""));
        assert_eq!(both("this week"), ["2026-06-08", "2026-06-15"]);
        assert_eq!(both("last week"), ["2026-06-01", "2026-06-08"]);
        assert_eq!(both("This  Month"), ["2026-06-01", "2026-07-01"]);
        assert_eq!(both("last month"), ["2026-05-01", "2026-06-01"]);
        assert_eq!(both("last year"), ["2025-01-01", "2026-01-01"]);
    }

    #[test]
    fn minutes_and_months_are_spelt_out() {
        let clock = clock("2026-06-10T12:30:00Z", BERLIN);
        let error = clock.moment("1m", Bound::Start, "--since").unwrap_err();
        assert_eq!(error.to_string(), "`1m` in --since: minutes or months?");
        assert_eq!(error.hint().unwrap(), "write 1min or 1mo");
    }

    #[test]
    fn a_period_is_in_order_and_in_words() {
        let clock = clock("2026-07-17T12:02:00Z", BERLIN);
        let words = |since, until| clock.period(since, until).unwrap().with_days();
        assert_eq!(words(None, None), "all time");
        assert_eq!(words(Some("7d"), None), "since Fri 2026-07-10 (7 days)");
        assert_eq!(words(Some("2024-01-01"), None), "since Mon 2024-01-01");
        assert_eq!(words(Some("12h"), None), "since 2026-07-17 02:02");
        assert_eq!(words(None, Some("yesterday")), "until Thu 2026-07-16");
        assert_eq!(words(Some("last week"), Some("last week")), "from Mon 2026-07-06 to Sun 2026-07-12");
        assert_eq!(words(Some("monday"), Some("monday")), "on Mon 2026-07-13");
        let error = clock.period(Some("2026-01-01"), Some("2025-01-01")).unwrap_err();
        assert_eq!(error.to_string(), "--until 2025-01-01 is before --since 2026-01-01");
        let july = clock.period(Some("this month"), Some("this month")).unwrap();
        let touched =
            ["2026-06-30", "2026-07-01", "2026-07-31", "2026-08-01"].map(|day| july.touches(day.parse().unwrap()));
        assert_eq!(touched, [false, true, true, false]);
    }

    #[test]
    fn days_are_local_days() {
        // Half past midnight of Thursday in Berlin.
        let clock = clock("2026-06-10T22:30:00Z", BERLIN);
        assert_eq!(since(&clock, "today"), "2026-06-10T22:00:00Z");
        assert_eq!(until(&clock, "today"), "2026-06-11T22:00:00Z");
        assert_eq!(since(&clock, "yesterday"), "2026-06-09T22:00:00Z");
        assert_eq!(until(&clock, "yesterday"), "2026-06-10T22:00:00Z");
        assert_eq!(since(&clock, "thursday"), "2026-06-10T22:00:00Z");
        assert_eq!(since(&clock, "Friday"), "2026-06-04T22:00:00Z");
        assert_eq!(since(&clock, "mon"), "2026-06-07T22:00:00Z");
    }

    #[test]
    fn dates_and_times() {
        let clock = clock("2026-06-10T12:00:00Z", BERLIN);
        assert_eq!(since(&clock, "2026-01-31"), "2026-01-30T23:00:00Z");
        assert_eq!(until(&clock, "2026-01-31"), "2026-01-31T23:00:00Z");
        assert_eq!(since(&clock, "2026-01-31T10:00"), "2026-01-31T09:00:00Z");
        assert_eq!(until(&clock, "2026-01-31 10:00:30"), "2026-01-31T09:00:30Z");
        assert_eq!(since(&clock, "2026-01-31T10:00Z"), "2026-01-31T10:00:00Z");
        assert_eq!(since(&clock, "2026-01-31T10:00:00.25+05:30"), "2026-01-31T04:30:00.250Z");
    }

    #[test]
    fn days_begin_at_midnight_when_the_clocks_change() {
        // Clocks went from 02:00 to 03:00 on 29 March 2026.
        let spring = clock("2026-03-29T10:00:00Z", BERLIN);
        assert_eq!(since(&spring, "1d"), "2026-03-27T23:00:00Z");
        assert_eq!(since(&spring, "24h"), "2026-03-28T10:00:00Z");
        assert_eq!(since(&spring, "today"), "2026-03-28T23:00:00Z");
        assert_eq!(until(&spring, "today"), "2026-03-29T22:00:00Z");
        // And from 03:00 to 02:00 on 25 October 2026.
        let autumn = clock("2026-10-25T12:00:00Z", BERLIN);
        assert_eq!(since(&autumn, "today"), "2026-10-24T22:00:00Z");
        assert_eq!(until(&autumn, "today"), "2026-10-25T23:00:00Z");
    }

    #[test]
    fn times_that_do_not_exist_and_times_that_exist_twice() {
        let clock = clock("2026-11-01T12:00:00Z", BERLIN);
        assert_eq!(since(&clock, "2026-03-29T02:30"), "2026-03-29T01:30:00Z");
        assert_eq!(since(&clock, "2026-10-25T02:30"), "2026-10-25T00:30:00Z");
        // Midnight itself was left out in Beirut on 29 March 2026.
        let beirut = Clock { zone: chrono_tz::Asia::Beirut, ..clock };
        assert_eq!(since(&beirut, "2026-03-29"), "2026-03-28T22:00:00Z");
        // Samoa had no 30 December 2011.
        let apia = Clock { zone: chrono_tz::Pacific::Apia, ..clock };
        assert_eq!(since(&apia, "2011-12-30"), since(&apia, "2011-12-31"));
    }

    #[test]
    fn nonsense_is_refused() {
        let clock = clock("2026-06-10T12:00:00Z", BERLIN);
        for text in [
            "",
            "d",
            "7",
            "7q",
            "-7d",
            "+7d",
            "3 fortnights",
            "2026-02-30",
            "noon",
            "99999999999999999d",
            "99999999999y",
            "next week",
            "last hour",
            "é",
        ] {
            assert!(clock.moment(text, Bound::Start, "--since").is_err(), "{text}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration("5m").unwrap(), Duration::from_mins(5));
        assert_eq!(duration("90s").unwrap(), Duration::from_secs(90));
        assert_eq!(duration("1d").unwrap(), Duration::from_hours(24));
        assert_eq!(duration("0s").unwrap(), Duration::ZERO);
        assert_eq!(duration("1h 30m").unwrap(), Duration::from_mins(90));
        for text in ["5", "", "-5m", "soon", "99999999999999999999d", "18446744073709551615w"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
