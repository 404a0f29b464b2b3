//! Timestamps as agents write them. llrem uses microseconds since 1970, UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

use crate::environment;

/// Earliest and latest valid timestamp: 2000-01-01 and 2100-01-01. Others are damage.
const PLAUSIBLE: std::ops::Range<i64> = 946_684_800_000_000..4_102_444_800_000_000;

/// Returns the timestamp if it is valid: no agent wrote before 2000, and queries cannot show the year 287396. Every
/// timestamp of every agent passes here. Microseconds since 1970.
pub fn plausible(moment: Option<i64>) -> Option<i64> {
    moment.filter(|moment| PLAUSIBLE.contains(moment))
}

/// Longest credible duration of a response: a day. Milliseconds.
const LONGEST: i64 = 24 * 60 * 60 * 1000;

/// Returns when a response ended that began at a moment; `None` if its duration is not credible. Microseconds since 1970.
pub(crate) fn end_of_response(began: Option<i64>, duration_ms: Option<i64>) -> Option<i64> {
    let duration_ms = duration_ms.filter(|ms| (1..LONGEST).contains(ms))?;
    plausible(Some(began?.saturating_add(duration_ms * 1000)))
}

/// Parses ISO 8601 text. Without an offset, it is UTC.
pub fn parse_iso(text: &str) -> Option<i64> {
    let text = text.trim();
    plausible(parse_utc_digits(text.as_bytes()).or_else(|| parse_any_iso(text)))
}

/// Converts a count since 1970 of seconds, milliseconds, microseconds or nanoseconds, distinguished by its size.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a cast of a float saturates, and what is not plausible is dropped"
)]
pub fn from_epoch(count: f64) -> Option<i64> {
    let micros = match count.abs() {
        size if size < 1e11 => count * 1e6,
        size if size < 1e14 => count * 1e3,
        size if size < 1e17 => count,
        _ => count / 1e3,
    };
    plausible(Some(micros.round() as i64))
}

/// Parses `2026-03-01T10:00:00.000Z`, the form of nearly every line, without a general parser.
fn parse_utc_digits(text: &[u8]) -> Option<i64> {
    let (&[b'Z'], text) = text.split_last().map(|(last, rest)| (std::array::from_ref(last), rest))? else {
        return None;
    };
    let shape_is_right = text.len() >= 19
        && [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')]
            .iter()
            .all(|(at, mark)| text.get(*at) == Some(mark));
    if !shape_is_right {
        return None;
    }
    let number = |from: usize, to: usize| digits(text.get(from..to)?);
    let date = NaiveDate::from_ymd_opt(i32::try_from(number(0, 4)?).ok()?, number(5, 7)?, number(8, 10)?)?;
    let second = date.and_hms_opt(number(11, 13)?, number(14, 16)?, number(17, 19)?)?.and_utc().timestamp();
    let micros = match text.get(19..)? {
        [] => 0,
        [b'.', fraction @ ..] if !fraction.is_empty() && fraction.len() <= 6 => {
            digits(fraction)? * 10_u32.pow(6 - u32::try_from(fraction.len()).ok()?)
        }
        _ => return None,
    };
    Some(second * 1_000_000 + i64::from(micros))
}

fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u32::from(digit - b'0')))
}

fn parse_any_iso(text: &str) -> Option<i64> {
    if let Ok(moment) = DateTime::parse_from_rfc3339(text) {
        return Some(moment.timestamp_micros());
    }
    ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"]
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
        .map(|moment| moment.and_utc().timestamp_micros())
}

/// Returns the moment at which the clocks of a zone show a local time. If they show it twice, it is the first; if they skip
/// it, the local time counts from before the gap, as if the clocks had not been put forward.
pub fn in_zone(local: NaiveDateTime, zone: Tz) -> Option<DateTime<Utc>> {
    let moment = |local: &NaiveDateTime| zone.from_local_datetime(local).earliest();
    let skipped = || moment(&local.checked_sub_signed(LONGEST_GAP)?)?.checked_add_signed(LONGEST_GAP);
    Some(moment(&local).or_else(skipped)?.to_utc())
}

/// Longer than any gap: Samoa left out a whole day in 2011.
const LONGEST_GAP: TimeDelta = TimeDelta::hours(25);

/// Now, negative where the clock stands before 1970. Microseconds since 1970. Tests set the time with `LLREM_NOW`.
pub fn now() -> i64 {
    if let Some(set) = environment::value(environment::NOW).and_then(|text| DateTime::parse_from_rfc3339(&text).ok()) {
        return set.timestamp_micros();
    }
    let micros = |duration: Duration| i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => micros(since),
        Err(before) => -micros(before.duration()),
    }
}

/// Returns the month of a timestamp, UTC, as `YYYY-MM`; `unknown` for none.
pub fn month_of(moment: Option<i64>) -> String {
    format_utc(moment, "%Y-%m")
}

/// Returns the day of a timestamp, UTC, as `YYYY-MM-DD`; `unknown` for none.
pub fn day_of(moment: Option<i64>) -> String {
    format_utc(moment, "%Y-%m-%d")
}

/// Formats a timestamp in UTC with a format of `chrono`; `unknown` for none.
pub fn format_utc(moment: Option<i64>, format: &str) -> String {
    let moment = moment.and_then(DateTime::from_timestamp_micros);
    moment.map_or_else(|| "unknown".to_owned(), |moment| moment.format(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn forms_that_agents_write() {
        let moment = 1_772_359_200_000_000;
        for text in [
            "2026-03-01T10:00:00Z",
            "2026-03-01T10:00:00.000Z",
            "2026-03-01T11:00:00+01:00",
            "2026-03-01 10:00:00",
            " 2026-03-01T10:00:00.000000Z ",
        ] {
            assert_eq!(parse_iso(text), Some(moment), "{text}");
        }
        assert_eq!(from_epoch(1_772_359_200.0), Some(moment));
        assert_eq!(from_epoch(1_772_359_200_000.0), Some(moment));
        assert_eq!(from_epoch(1_772_359_200_000_000.0), Some(moment));
    }

    #[test]
    fn clocks_of_a_zone() {
        let moment = |text: &str, zone| {
            let local = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap();
            in_zone(local, zone).unwrap().to_rfc3339()
        };
        let berlin = Tz::Europe__Berlin;
        assert_eq!(moment("2026-01-02 09:00:00", Tz::UTC), "2026-01-02T09:00:00+00:00");
        assert_eq!(moment("2026-01-02 09:00:00", berlin), "2026-01-02T08:00:00+00:00");
        assert_eq!(moment("2026-10-25 02:30:00", berlin), "2026-10-25T00:30:00+00:00", "shown twice");
        assert_eq!(moment("2026-03-29 02:30:00", berlin), "2026-03-29T01:30:00+00:00", "never shown");
        assert_eq!(moment("2011-12-30 15:00:00", Tz::Pacific__Apia), "2011-12-31T01:00:00+00:00", "a day never shown");
    }

    #[test]
    fn moments_are_of_plausible_years() {
        assert_eq!(plausible(Some(9_007_199_254_740_000_000)), None);
        assert_eq!(plausible(Some(-1)), None);
        assert_eq!(plausible(Some(1_772_359_200_000_000)), Some(1_772_359_200_000_000));
    }

    #[test]
    fn damage_is_no_moment() {
        for text in
            ["", "Z", "2026-02-30T10:00:00Z", "2025-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00Z"]
        {
            assert_eq!(parse_iso(text), None, "{text}");
        }
        assert_eq!(from_epoch(0.0), None);
        assert_eq!(from_epoch(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn the_quick_parser_agrees_with_the_general_one(text in "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?Z") {
            prop_assert_eq!(parse_utc_digits(text.as_bytes()), parse_any_iso(&text));
        }

        #[test]
        fn any_text_is_harmless(text in ".*") {
            let _ = parse_iso(&text);
        }
    }
}
