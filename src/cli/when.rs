//! Parses times and durations: `7d`, `2026-01-31`, `yesterday`, `monday`, `5m`.

use std::time::Duration;

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc, Weekday};
use chrono_tz::Tz;

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

    /// Parses a time. Microseconds since 1970.
    pub fn moment(&self, text: &str, bound: Bound) -> Result<i64> {
        let typed = text.trim();
        self.ago(typed)
            .or_else(|| self.day(typed).and_then(|day| self.edge(day, bound)))
            .or_else(|| self.date_time(typed))
            .map(|moment| moment.timestamp_micros())
            .ok_or_else(|| not_a_moment(text))
    }

    /// `7d`: this long before now. Days and weeks keep the time of day, also when the clocks change.
    fn ago(&self, typed: &str) -> Option<DateTime<Utc>> {
        let (count, unit) = amount(typed)?;
        let days = match unit {
            Unit::Days => count,
            Unit::Weeks => count.checked_mul(7)?,
            Unit::Seconds(each) => return self.now.checked_sub_signed(seconds(count, each)?),
        };
        let local = self.now.with_timezone(&self.zone).naive_local();
        in_zone(local.checked_sub_days(Days::new(days))?, self.zone)
    }

    /// `2026-01-31`, `today`, `yesterday`, `monday`: the last such day, including today.
    fn day(&self, typed: &str) -> Option<NaiveDate> {
        let today = self.now.with_timezone(&self.zone).date_naive();
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

/// Returns a duration: `30s`, `5m`, `1h 30m`, `2d`.
pub fn duration(text: &str) -> Result<Duration> {
    humantime::parse_duration(text)
        .map_err(|_| Error::Usage(format!("`{text}` is no duration; write it as 30s, 5m, 1h or 2d")))
}

enum Unit {
    Seconds(u64),
    Days,
    Weeks,
}

fn amount(typed: &str) -> Option<(u64, Unit)> {
    let unit = match typed.chars().last()? {
        's' => Unit::Seconds(1),
        'm' => Unit::Seconds(60),
        'h' => Unit::Seconds(3_600),
        'd' => Unit::Days,
        'w' => Unit::Weeks,
        _ => return None,
    };
    let digits = typed.get(..typed.len() - 1)?;
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten().map(|count| (count, unit))
}

fn seconds(count: u64, each: u64) -> Option<TimeDelta> {
    TimeDelta::try_seconds(i64::try_from(count.checked_mul(each)?).ok()?)
}

fn not_a_moment(text: &str) -> Error {
    Error::Usage(format!(
        "`{text}` is no moment; write 7d, 12h, 2026-01-31, 2026-01-31T10:00, today, yesterday or a weekday"
    ))
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
        show(clock.moment(text, Bound::Start).unwrap())
    }

    fn until(clock: &Clock, text: &str) -> String {
        show(clock.moment(text, Bound::End).unwrap())
    }

    fn show(micros: i64) -> String {
        Utc.timestamp_micros(micros).unwrap().to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true)
    }

    #[test]
    fn relative_moments_count_back_from_now() {
        let clock = clock("2026-06-10T12:30:00Z", BERLIN);
        assert_eq!(since(&clock, "30m"), "2026-06-10T12:00:00Z");
        assert_eq!(since(&clock, "12h"), "2026-06-10T00:30:00Z");
        assert_eq!(since(&clock, "7d"), "2026-06-03T12:30:00Z");
        assert_eq!(since(&clock, "2w"), "2026-05-27T12:30:00Z");
        assert_eq!(until(&clock, "7d"), "2026-06-03T12:30:00Z");
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
    fn a_day_before_the_clocks_change_keeps_the_time_of_day() {
        // Clocks went from 02:00 to 03:00 on 29 March 2026.
        let spring = clock("2026-03-29T10:00:00Z", BERLIN);
        assert_eq!(since(&spring, "1d"), "2026-03-28T11:00:00Z");
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
        for text in
            ["", "d", "7", "7y", "-7d", "+7d", "7 d", "2026-02-30", "2026-13-01", "noon", "99999999999999999d", "é"]
        {
            assert!(clock.moment(text, Bound::Start).is_err(), "{text}");
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
