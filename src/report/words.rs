//! Formats figures as the page shows them: `$57.31`, `109 k`, `31 %`, `▲ 89 %`.

use chrono::NaiveDate;

pub(super) use crate::shown::value::share_of;
use crate::shown::{one_line, value};

/// A narrow space that does not break.
pub(super) const THIN: char = '\u{202f}';
/// Stands for what is unknown.
pub(super) const NONE: &str = "–";

/// Returns an amount of dollars with cents.
pub(super) fn money(usd: f64) -> String {
    dollars(usd, 2)
}

/// Returns an amount of dollars for a column whose largest amount is given: one of ten thousand has no cents.
pub(super) fn money_among(usd: f64, largest: f64) -> String {
    dollars(usd, if largest >= 10_000.0 { 0 } else { 2 })
}

/// Returns an amount of dollars for a tile: `$57.31`, `$12,345`, `$1.02 M`.
pub(super) fn money_in_tile(usd: f64) -> String {
    match usd.abs() {
        999_950.0.. => format!("{}${}", sign(usd), scaled(usd.abs())),
        10_000.0.. => dollars(usd, 0),
        _ => money(usd),
    }
}

/// Returns an estimated amount of dollars: whole ones from a hundred on.
pub(super) fn money_about(usd: f64) -> String {
    if (99.5..999_950.0).contains(&usd.abs()) { dollars(usd, 0) } else { money_in_tile(usd) }
}

/// Returns an amount of dollars for a sentence: whole ones from ten on.
pub(super) fn money_in_words(usd: f64) -> String {
    if (9.995..999_950.0).contains(&usd.abs()) { dollars(usd, 0) } else { money_in_tile(usd) }
}

fn dollars(usd: f64, decimals: usize) -> String {
    let size = usd.abs();
    if size == 0.0 {
        return "$0".to_owned();
    }
    if size < 0.005 {
        return format!("<{THIN}$0.01");
    }
    let size = match decimals {
        0 if size >= 0.5 => grouped(&format!("{size:.0}")),
        _ => grouped(&format!("{size:.2}")),
    };
    format!("{}${size}", sign(usd))
}

fn sign(number: f64) -> &'static str {
    if number < 0.0 { "−" } else { "" }
}

/// Returns a count with its digits grouped.
pub(super) fn count(number: f64) -> String {
    format!("{}{}", sign(number), grouped(&format!("{:.0}", number.abs())))
}

fn grouped(digits: &str) -> String {
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    whole.parse::<i64>().map_or_else(|_| whole.to_owned(), value::count) + rest
}

/// Returns tokens in three digits: `109 k`, `6.25 M`, `1.02 G`.
pub(super) fn tokens(number: f64) -> String {
    if number.abs() < 1_000.0 { count(number) } else { scaled(number) }
}

fn scaled(number: f64) -> String {
    let units = [(1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T")];
    let (each, unit) = units.into_iter().find(|(each, _)| number / each < 999.5).unwrap_or((1e12, "T"));
    let size = number / each;
    let decimals = match size {
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    };
    format!("{size:.decimals$}{THIN}{unit}")
}

/// Returns a part of 1 in per cent: whole ones, and one decimal below 10 %.
pub(super) fn share(part: f64) -> String {
    let percent = part * 100.0;
    match percent {
        0.0 => format!("0{THIN}%"),
        _ if percent.abs() < 0.05 => format!("<{THIN}0.1{THIN}%"),
        _ if percent.abs() < 9.95 => format!("{percent:.1}{THIN}%"),
        _ => format!("{percent:.0}{THIN}%"),
    }
}

/// Returns how much a figure changed: `▲ 89 %`, `× 4.2`, `new`.
pub(super) fn change(now: f64, before: f64) -> String {
    if before <= 0.0 {
        return if now > 0.0 { "new".to_owned() } else { "the same".to_owned() };
    }
    let times = now / before;
    match times {
        3.0.. if times >= 9.95 => format!("×{THIN}{}", count(times)),
        3.0.. => format!("×{THIN}{times:.1}"),
        1.005.. => format!("▲{THIN}{}", share(times - 1.0)),
        ..0.995 => format!("▼{THIN}{}", share(1.0 - times)),
        _ => "the same".to_owned(),
    }
}

/// Returns hours with one decimal.
pub(super) fn hours(hours: f64) -> String {
    if hours > 0.0 && hours < 0.05 { format!("<{THIN}0.1") } else { grouped(&format!("{hours:.1}")) }
}

/// Returns a day: `Thu 16 Jul`, with its year unless that is known.
pub(super) fn day(day: NaiveDate, with_year: bool) -> String {
    day.format(if with_year { "%a %-d %b %Y" } else { "%a %-d %b" }).to_string()
}

/// True for a count of one.
pub(super) fn is_one(number: f64) -> bool {
    (number - 1.0).abs() < 0.5
}

/// Returns a count with its noun: `1 finding`, `20 findings`.
pub(super) fn plural(number: f64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if is_one(number) { "" } else { "s" })
}

/// Returns a text from a transcript on one line, cut at a word after some characters. Addresses and paths are replaced.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let is_place = |word: &str| word.contains("://") || word.matches(['/', '\\']).count() > 1;
    let words = one_line(text);
    let mut short = String::new();
    for word in words.split(' ').map(|word| if is_place(word) { "…" } else { word }) {
        let room = most.saturating_sub(short.chars().count() + 1);
        if word.chars().count() > room {
            // A word that fills the line is cut; others are left out.
            if short.is_empty() {
                short.extend(word.chars().take(most));
            }
            short.truncate(short.trim_end_matches(['.', ',', ':', ';', '…', ' ']).len());
            short.push('…');
            break;
        }
        if !(word == "…" && short.ends_with('…')) {
            if !short.is_empty() {
                short.push(' ');
            }
            short.push_str(word);
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain<const N: usize>(texts: [String; N]) -> [String; N] {
        texts.map(|text| text.replace(THIN, " "))
    }

    #[test]
    fn money_has_as_many_digits_as_its_place_needs() {
        assert_eq!(
            plain([57.313, 0.0, 0.004, 1234.5, -2.5].map(money)),
            ["$57.31", "$0", "< $0.01", "$1,234.50", "−$2.50"]
        );
        assert_eq!(plain([57.31, 12_345.6, 1_020_000.0].map(money_in_tile)), ["$57.31", "$12,346", "$1.02 M"]);
        assert_eq!(plain([57.31, 9.99, 0.3, 1_020_000.0].map(money_in_words)), ["$57", "$9.99", "$0.30", "$1.02 M"]);
        assert_eq!(plain([218.4, 17.49].map(money_about)), ["$218", "$17.49"]);
        assert_eq!(plain([9.0, 0.2].map(|usd| money_among(usd, 10_000.0))), ["$9", "$0.20"]);
    }

    #[test]
    fn counts_shares_and_changes() {
        assert_eq!(
            plain([999.0, 109_200.0, 6_250_000.0, 91_600_000.0, 999_600.0, 1.02e9].map(tokens)),
            ["999", "109 k", "6.25 M", "91.6 M", "1.00 M", "1.02 G"]
        );
        assert_eq!(
            plain([0.0, 0.0004, 0.008, 0.0949, 0.31, 1.0].map(share)),
            ["0 %", "< 0.1 %", "0.8 %", "9.5 %", "31 %", "100 %"]
        );
        let changes = [(57.31, 30.24), (1.0, 2.0), (4.2, 1.0), (42.0, 1.0), (1.0, 0.0), (1.0, 1.0)];
        let changes = changes.map(|(now, before)| change(now, before));
        assert_eq!(plain(changes), ["▲ 90 %", "▼ 50 %", "× 4.2", "× 42", "new", "the same"]);
    }

    #[test]
    fn titles_are_cut_at_a_word() {
        assert_eq!(shortened("Fix the parser of /home/kim/shop/src/main.rs now", 74), "Fix the parser of … now");
        assert_eq!(shortened("see https://example.com/a and\nmore words", 12), "see … and…");
        assert_eq!(shortened("one two three", 9), "one two…");
        assert_eq!(shortened("aaaaaaaaaaaa", 5), "aaaaa…");
    }
}
