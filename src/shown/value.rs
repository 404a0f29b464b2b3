//! Formats values for people: money, counts, tokens, durations, sizes, days and times.

use chrono::{DateTime, Datelike, NaiveDate};
use chrono_tz::Tz;

/// Returns an amount of dollars with two decimals, or four below a cent: `$30.33`, `$0.0084`, `<$0.0001`, `0`.
pub fn usd(amount: f64) -> String {
    let (sign, size) = (if amount < 0.0 { "-" } else { "" }, amount.abs());
    if size == 0.0 {
        return "0".to_owned();
    }
    match size {
        0.00995.. => format!("{sign}${}", grouped(&format!("{size:.2}"))),
        0.000_05.. => format!("{sign}${size:.4}"),
        _ => format!("{sign}<$0.0001"),
    }
}

/// Like [`usd`], for sentences and summaries: `<$0.01` below a cent.
pub fn usd_in_words(amount: f64) -> String {
    if amount > 0.0 && amount < 0.00995 { "<$0.01".to_owned() } else { usd(amount) }
}

/// Returns the mark of an amount that something unknown adds to, if there is something.
pub fn at_least(is_partial: bool) -> &'static str {
    if is_partial { "+" } else { "" }
}

/// Returns a whole number with its digits grouped: `1,513`.
pub fn count(number: i64) -> String {
    grouped(&number.to_string())
}

/// Returns a number with two decimals at most, or four digits below a hundredth.
pub fn number(number: f64) -> String {
    if !number.is_finite() {
        return number.to_string();
    }
    let decimals = if number.abs() < 0.01 { 4 } else { 2 };
    let text = format!("{number:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    grouped(if text == "-0" { "0" } else { text })
}

/// Groups the digits before the decimal point.
fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut text = sign.to_owned();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// Returns a number of tokens in three digits: `83.2k`, `47.6M`, `1.06B`; exact below a thousand.
pub fn tokens_in_short(tokens: i64) -> String {
    let units = [(1e3, "k"), (1e6, "M"), (1e9, "B"), (1e12, "T")];
    let size = tokens as f64;
    let fitting = |(each, _): &&(f64, &str)| (size / each).abs() < 999.5;
    match units.iter().find(fitting) {
        Some((each, unit)) if size.abs() >= 1e3 => three_digits(size / each) + unit,
        _ => count(tokens),
    }
}

fn three_digits(size: f64) -> String {
    match size.abs() {
        99.95.. => format!("{size:.0}"),
        9.995.. => format!("{size:.1}"),
        _ => format!("{size:.2}"),
    }
}

/// Returns a duration in two units at most: `64 ms`, `2.1 s`, `16 min`, `1 h 20 min`.
pub fn duration(millis: i64) -> String {
    let two = |large: i64, unit: &str, small: i64, lesser: &str| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {lesser}"),
    };
    let rounded = |each: i64| millis.saturating_add(each / 2) / each;
    let (seconds, minutes, hours) = (rounded(1_000), rounded(60_000), rounded(3_600_000));
    match millis {
        _ if millis < 1_000 => format!("{millis} ms"),
        _ if millis < 9_950 => format!("{:.1} s", millis as f64 / 1e3),
        _ if seconds < 60 => format!("{seconds} s"),
        _ if seconds < 600 => two(seconds / 60, "min", seconds % 60, "s"),
        _ if minutes < 60 => format!("{minutes} min"),
        _ if minutes < 48 * 60 => two(minutes / 60, "h", minutes % 60, "min"),
        _ => two(hours / 24, "d", hours % 24, "h"),
    }
}

/// Returns a number of bytes in three digits at most: `951 KiB`, `6.1 MiB`.
pub fn size(bytes: i64) -> String {
    let bytes = bytes as f64;
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if bytes.abs() < 1_024.0 {
        return format!("{bytes} B");
    }
    let mut amount = bytes / 1_024.0;
    let mut unit = 0;
    while amount.abs() >= 999.5 && unit + 1 < units.len() {
        amount /= 1_024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && amount.abs() < 99.95);
    format!("{amount:.decimals$} {}", units.get(unit).unwrap_or(&""))
}

/// Returns a part of 1 in whole per cent: `9%`, `<1%`, `>99%`.
pub fn share(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        0.0 => "0".to_owned(),
        _ if percent > 0.0 && percent < 0.995 => "<1%".to_owned(),
        _ if percent > 99.0 && percent < 100.0 => ">99%".to_owned(),
        _ => format!("{percent:.0}%"),
    }
}

/// Returns a part as a share of the whole. `None` if the part is larger: a finding counts whole in the period in which it
/// begins, even if the responses that it wastes come later.
pub fn share_of(part: f64, whole: f64) -> Option<f64> {
    // Sums of the same numbers differ by their order.
    (whole > 0.0 && part <= whole + 1e-6).then(|| part / whole)
}

/// Returns a day as the key of a row, or in a title: `Fri 2026-07-17`.
pub fn weekday_and_day(day: NaiveDate) -> String {
    day.format("%a %Y-%m-%d").to_string()
}

/// Returns a day in a sentence: `Fri 17 July`, with the year unless it is that of today.
pub fn day_in_words(day: NaiveDate, today: NaiveDate) -> String {
    day.format(if day.year() == today.year() { "%a %-d %B" } else { "%a %-d %B %Y" }).to_string()
}

/// Returns a time without offset and seconds: `2026-07-17 13:21`. Microseconds since 1970.
pub fn time(micros: i64, zone: Tz) -> Option<String> {
    Some(local(micros, zone)?.format("%Y-%m-%d %H:%M").to_string())
}

/// Returns the time of day: `13:21:02`. Microseconds since 1970.
pub fn time_of_day(micros: i64, zone: Tz) -> Option<String> {
    Some(local(micros, zone)?.format("%H:%M:%S").to_string())
}

/// Returns the day of a time. Microseconds since 1970.
pub fn day_of(micros: i64, zone: Tz) -> Option<NaiveDate> {
    Some(local(micros, zone)?.date_naive())
}

fn local(micros: i64, zone: Tz) -> Option<DateTime<Tz>> {
    DateTime::from_timestamp_micros(micros).map(|moment| moment.with_timezone(&zone))
}

/// Days without a run after which a lake is stale.
pub const STALE_DAYS: i64 = 2;

/// Returns how long ago a day was: `today`, `yesterday`, `9 days ago`, and from 60 days on the day itself.
pub fn days_ago(day: NaiveDate, today: NaiveDate) -> String {
    match today.signed_duration_since(day).num_days() {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        days @ 2..60 => format!("{days} days ago"),
        _ => day.format("%Y-%m-%d").to_string(),
    }
}

/// Returns a count with its noun: `1 file`, `1,513 files`.
pub fn plural(number: u64, noun: &str) -> String {
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Returns names as a list: `a, b and c`.
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let mut list = String::new();
    for (place, name) in names.iter().enumerate() {
        list.push_str(match place {
            0 => "",
            _ if place + 1 == names.len() => " and ",
            _ => ", ",
        });
        list.push_str(name.as_ref());
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money() {
        let amounts = [0.0, 30.331, 1234.5, 1e6, 0.01, 0.009_96, 0.0084, 0.00009, 0.000_01, -2.5];
        let shown = ["0", "$30.33", "$1,234.50", "$1,000,000.00", "$0.01", "$0.01", "$0.0084", "$0.0001", "<$0.0001"];
        assert_eq!(amounts.map(usd)[..9], shown);
        assert_eq!(usd(-2.5), "-$2.50");
        assert_eq!([0.0, 0.0084, 0.00996, 3.0].map(usd_in_words), ["0", "<$0.01", "$0.01", "$3.00"]);
    }

    #[test]
    fn counts_and_tokens() {
        assert_eq!([0, 12, 1_513, -1_234_567].map(count), ["0", "12", "1,513", "-1,234,567"]);
        let short = [999, 1_000, 83_249, 421_412, 999_500, 47_609_906, 1_060_000_000].map(tokens_in_short);
        assert_eq!(short, ["999", "1.00k", "83.2k", "421k", "1.00M", "47.6M", "1.06B"]);
        assert_eq!([0.0, 2.0, 1234.567, 0.001_234, -0.001].map(number), ["0", "2", "1,234.57", "0.0012", "-0.001"]);
        assert_eq!([0.0, 0.004, 0.09, 0.0949, 0.998, 1.0].map(share), ["0", "<1%", "9%", "9%", ">99%", "100%"]);
    }

    #[test]
    fn a_part_that_is_larger_than_the_whole_has_no_share() {
        let parts = [(1.0, 4.0), (0.1 + 0.2, 0.3), (1.04, 0.2), (1.0, 0.0)];
        let shares = parts.map(|(part, whole)| share_of(part, whole).map(share));
        assert_eq!(shares, [Some("25%".to_owned()), Some("100%".to_owned()), None, None]);
    }

    #[test]
    fn durations_and_sizes() {
        let durations = [64, 2_100, 9_990, 42_400, 59_999, 130_000, 960_000, 3_599_999, 4_800_000, 273_600_000];
        let shown = ["64 ms", "2.1 s", "10 s", "42 s", "1 min", "2 min 10 s", "16 min", "1 h", "1 h 20 min", "3 d 4 h"];
        assert_eq!(durations.map(duration), shown);
        let sizes = [512, 973_824, 6_396_314, 13_736_346, 1_023_999].map(size);
        assert_eq!(sizes, ["512 B", "951 KiB", "6.1 MiB", "13.1 MiB", "1.0 MiB"]);
    }

    #[test]
    fn days_and_times() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let (today, friday) = (day("2026-07-20"), day("2026-07-17"));
        assert_eq!(weekday_and_day(friday), "Fri 2026-07-17");
        assert_eq!(day_in_words(friday, today), "Fri 17 July");
        assert_eq!(day_in_words(day("2024-05-21"), today), "Tue 21 May 2024");
        let ago = ["2026-07-20", "2026-07-19", "2026-07-11", "2026-05-22", "2026-05-21"].map(day);
        let shown = ["today", "yesterday", "9 days ago", "59 days ago", "2026-05-21"];
        assert_eq!(ago.map(|day| days_ago(day, today)), shown);
        let moment = 1_784_287_262_000_000;
        assert_eq!(time(moment, chrono_tz::Europe::Berlin).unwrap(), "2026-07-17 13:21");
        assert_eq!(time_of_day(moment, chrono_tz::Europe::Berlin).unwrap(), "13:21:02");
        assert_eq!(time(i64::MAX, Tz::UTC), None);
    }
}
