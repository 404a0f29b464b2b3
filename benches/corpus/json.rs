//! Writing JSON text into a byte buffer, without any intermediate values.

use super::rng::Rng;

/// Chained appending of already escaped text, numbers, identifiers and times.
pub trait Put {
    fn put(&mut self, text: &str) -> &mut Self;
    fn raw(&mut self, text: &[u8]) -> &mut Self;
    fn num(&mut self, number: impl Into<i128>) -> &mut Self;
    /// `"key":number`, with a comma before it.
    fn field(&mut self, key: &str, number: impl Into<i128>) -> &mut Self;
    /// The identifier in quotation marks.
    fn uuid(&mut self, id: u128) -> &mut Self;
    /// Lower-case hexadecimal digits, no quotation marks.
    fn hex(&mut self, number: u64, digits: u32) -> &mut Self;
    /// The UTC time in quotation marks.
    fn time(&mut self, millis: i64) -> &mut Self;
    fn base64(&mut self, rng: &mut Rng, chars: usize) -> &mut Self;
}

const HEX: &[u8; 16] = b"0123456789abcdef";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Put for Vec<u8> {
    fn put(&mut self, text: &str) -> &mut Self {
        self.extend_from_slice(text.as_bytes());
        self
    }

    fn raw(&mut self, text: &[u8]) -> &mut Self {
        self.extend_from_slice(text);
        self
    }

    fn num(&mut self, number: impl Into<i128>) -> &mut Self {
        let number: i128 = number.into();
        if number < 0 {
            self.push(b'-');
        }
        let mut rest = number.unsigned_abs() as u64;
        let mut digits = [0; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.raw(&digits[first..])
    }

    fn field(&mut self, key: &str, number: impl Into<i128>) -> &mut Self {
        self.put(",\"").put(key).put("\":").num(number)
    }

    fn uuid(&mut self, id: u128) -> &mut Self {
        let mut text = *b"\"00000000-0000-0000-0000-000000000000\"";
        let places = (1..37).filter(|place| !matches!(place, 9 | 14 | 19 | 24));
        for (digit, place) in places.enumerate() {
            text[place] = HEX[(id >> (124 - 4 * digit) & 15) as usize];
        }
        self.raw(&text)
    }

    fn hex(&mut self, number: u64, digits: u32) -> &mut Self {
        for digit in (0..digits).rev() {
            self.push(HEX[(number >> (4 * digit) & 15) as usize]);
        }
        self
    }

    fn time(&mut self, millis: i64) -> &mut Self {
        let (year, month, day) = date_of(millis.div_euclid(86_400_000));
        let rest = millis.rem_euclid(86_400_000);
        let mut text = *b"\"0000-00-00T00:00:00.000Z\"";
        for (place, width, value) in [
            (1, 4, i64::from(year)),
            (6, 2, i64::from(month)),
            (9, 2, i64::from(day)),
            (12, 2, rest / 3_600_000),
            (15, 2, rest / 60_000 % 60),
            (18, 2, rest / 1000 % 60),
            (21, 3, rest % 1000),
        ] {
            let mut left = value;
            for digit in (place..place + width).rev() {
                text[digit] = b'0' + (left % 10) as u8;
                left /= 10;
            }
        }
        self.raw(&text)
    }

    fn base64(&mut self, rng: &mut Rng, chars: usize) -> &mut Self {
        self.reserve(chars + 10);
        let end = self.len() + chars;
        while self.len() < end {
            let bits = rng.next();
            let ten: [u8; 10] = std::array::from_fn(|place| BASE64[(bits >> (6 * place) & 63) as usize]);
            self.extend_from_slice(&ten);
        }
        self.truncate(end);
        self
    }
}

/// The text as it stands inside a JSON string.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
    out
}

/// Days since 1970-01-01.
pub fn days_of((year, month, day): (i32, u32, u32)) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn date_of(days: i64) -> (i32, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    ((year + era * 400 + i64::from(month <= 2)) as i32, month as u32, day as u32)
}

/// Milliseconds since 1970 of a time written as `2026-02-08T05:29:11.181Z`.
pub fn parse_time(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let date = (number(0, 4)? as i32, number(5, 7)? as u32, number(8, 10)? as u32);
    let seconds = number(11, 13)? * 3600 + number(14, 16)? * 60 + number(17, 19)?;
    Some(days_of(date) * 86_400_000 + seconds * 1000 + number(20, 23).unwrap_or(0))
}
