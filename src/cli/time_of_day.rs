//! A time of the day: when it was the last time, and when it is the next time.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use chrono::{Days, NaiveDate, NaiveTime};
use chrono_tz::Tz;

use super::when::Clock;
use crate::time::in_zone;

/// A time of the day, in the system's zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOfDay(NaiveTime);

/// Days from today on which the last or the next time is. Clocks that are set may move it by a day.
const NEAR: [u64; 3] = [0, 1, 2];

impl FromStr for TimeOfDay {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = NaiveTime::parse_from_str(text, "%H:%M");
        time.map(Self).map_err(|_| "write a time of the day, such as 03:00 or 22:30".to_owned())
    }
}

impl Display for TimeOfDay {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        self.0.format("%H:%M").fmt(formatter)
    }
}

impl Default for TimeOfDay {
    fn default() -> Self {
        Self(NaiveTime::from_hms_opt(3, 0, 0).unwrap_or_default())
    }
}

impl TimeOfDay {
    pub(super) fn hour(self) -> String {
        self.0.format("%-H").to_string()
    }

    pub(super) fn minute(self) -> String {
        self.0.format("%-M").to_string()
    }

    /// Returns when it is the next time. Microseconds since 1970.
    pub(super) fn next(self, clock: &Clock) -> Option<i64> {
        let days = NEAR.into_iter().filter_map(|days| clock.today().checked_add_days(Days::new(days)));
        days.filter_map(|day| self.on(day, clock.zone)).find(|moment| *moment > clock.now.timestamp_micros())
    }

    /// Returns when it was the last time. Microseconds since 1970.
    pub(super) fn last(self, clock: &Clock) -> Option<i64> {
        let days = NEAR.into_iter().filter_map(|days| clock.today().checked_sub_days(Days::new(days)));
        days.filter_map(|day| self.on(day, clock.zone)).find(|moment| *moment <= clock.now.timestamp_micros())
    }

    fn on(self, day: NaiveDate, zone: Tz) -> Option<i64> {
        Some(in_zone(day.and_time(self.0), zone)?.timestamp_micros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(now: &str) -> Clock {
        Clock { now: now.parse().unwrap(), zone: chrono_tz::Europe::Berlin }
    }

    fn moments(at: &str, now: &str) -> [String; 2] {
        let (at, clock): (TimeOfDay, _) = (at.parse().unwrap(), clock(now));
        [at.last(&clock).unwrap(), at.next(&clock).unwrap()]
            .map(|moment| crate::time::format_utc(Some(moment), "%Y-%m-%dT%H:%MZ"))
    }

    #[test]
    fn a_time_of_the_day_was_and_will_be() {
        assert_eq!(moments("03:00", "2026-07-17T12:02:00Z"), ["2026-07-17T01:00Z", "2026-07-18T01:00Z"]);
        assert_eq!(moments("23:30", "2026-07-17T12:02:00Z"), ["2026-07-16T21:30Z", "2026-07-17T21:30Z"]);
        assert_eq!(moments("03:00", "2026-07-17T01:00:00Z"), ["2026-07-17T01:00Z", "2026-07-18T01:00Z"]);
        assert_eq!(moments("02:30", "2026-03-29T06:00:00Z"), ["2026-03-29T01:30Z", "2026-03-30T00:30Z"], "skipped");
    }

    #[test]
    fn other_texts_are_no_time_of_the_day() {
        for text in ["", "3", "24:00", "03:60", "3 am", "03:00:00"] {
            assert!(text.parse::<TimeOfDay>().is_err(), "{text}");
        }
        assert_eq!("7:05".parse::<TimeOfDay>().unwrap().to_string(), "07:05");
    }
}
