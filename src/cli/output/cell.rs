//! A value in a table.

use crate::shown::value;
use crate::shown::width::width;

/// A value in a table, formatted. A table may show tokens exactly or in three digits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cell {
    pub(super) text: String,
    pub(super) tokens: Option<i64>,
    /// The size of a bar.
    pub(super) amount: Option<f64>,
    pub(super) weight: Weight,
    pub(super) is_at_least: bool,
}

/// Weight of a cell's content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Weight {
    /// Something that was measured or named.
    #[default]
    Something,
    /// Zero.
    Zero,
    /// False.
    No,
    /// A value that is not known.
    Unknown,
    /// A place that has no value, as a total of prices.
    Empty,
}

impl Cell {
    /// A text, which must be escaped already if it is untrusted.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A place without a value.
    pub fn empty() -> Self {
        Self { weight: Weight::Empty, ..Self::default() }
    }

    /// A value that is not known. The table writes the sign.
    pub fn unknown() -> Self {
        Self { weight: Weight::Unknown, ..Self::default() }
    }

    /// `yes`, or the sign of nothing.
    pub fn yes_or_no(is_true: bool) -> Self {
        if is_true { Self::text("yes") } else { Self { weight: Weight::No, ..Self::default() } }
    }

    /// An amount of dollars.
    pub fn usd(amount: f64) -> Self {
        Self { amount: Some(amount), ..Self::number(value::usd(amount), amount == 0.0) }
    }

    /// A whole number.
    pub fn count(number: i64) -> Self {
        Self::number(value::count(number), number == 0)
    }

    /// A number of tokens.
    pub fn tokens(tokens: i64) -> Self {
        Self { tokens: Some(tokens), ..Self::count(tokens) }
    }

    /// A part of 1, in per cent.
    pub fn share(part: f64) -> Self {
        Self::number(value::share(part), part == 0.0)
    }

    /// A number of milliseconds, as a duration.
    pub fn millis(millis: i64) -> Self {
        if millis == 0 { Self::count(0) } else { Self::number(value::duration(millis), false) }
    }

    /// A number of bytes, as a size.
    pub fn bytes(bytes: i64) -> Self {
        if bytes == 0 { Self::count(0) } else { Self::number(value::size(bytes), false) }
    }

    /// A number that is formatted already.
    pub fn number(text: String, is_zero: bool) -> Self {
        let weight = if is_zero { Weight::Zero } else { Weight::Something };
        Self { text, weight, ..Self::default() }
    }

    /// Marks the amount as a lower bound, unless it is unknown.
    #[must_use]
    pub fn at_least(mut self) -> Self {
        if matches!(self.weight, Weight::Something | Weight::Zero) {
            self.is_at_least = true;
            self.text.push_str(value::at_least(true));
        }
        self
    }

    /// The value, or the unknown.
    pub fn or_unknown<T>(value: Option<T>, of: impl FnOnce(T) -> Self) -> Self {
        value.map_or_else(Self::unknown, of)
    }

    /// Says of the key of a row that it is not known.
    pub(super) fn name_if_unknown(&mut self, name: &str) {
        if self.weight == Weight::Unknown {
            *self = Self::text(format!("(no {name})"));
        }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.weight != Weight::Something && !self.is_at_least
    }

    /// Returns the text, with tokens in three digits if wanted.
    pub(super) fn shown(&self, is_short: bool, unknown: &'static str) -> String {
        match (self.weight, self.tokens) {
            (Weight::Unknown | Weight::No, _) => unknown.to_owned(),
            (_, Some(tokens)) if is_short => value::tokens_in_short(tokens) + value::at_least(self.is_at_least),
            _ => self.text.clone(),
        }
    }

    /// Adds up cells of tokens. Unknown ones add nothing.
    pub(super) fn sum<'c>(cells: impl Iterator<Item = &'c Self>) -> Self {
        let cells: Vec<&Self> = cells.collect();
        let known = cells.iter().filter_map(|cell| cell.tokens).reduce(i64::saturating_add);
        match known {
            Some(tokens) => Self::tokens(tokens),
            None if cells.iter().all(|cell| cell.weight == Weight::Empty) => Self::empty(),
            None => Self::unknown(),
        }
    }
}

/// Returns the columns after the decimal point. An amount without one ends where two decimals would.
pub(super) fn tail(text: &str) -> usize {
    text.rfind('.').map_or(2, |point| width(text.get(point + 1..).unwrap_or_default()))
}
