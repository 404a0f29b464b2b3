//! The last weeks or months of a span.

use chrono::{Datelike, Days, Months, NaiveDate};

use super::bars::Step;
use super::span::{Span, midnight, monday};

/// Weeks that are compared with each other.
pub(super) const RECENT_WEEKS: u32 = 8;
/// The same of months.
pub(super) const RECENT_MONTHS: u32 = 12;

impl Span {
    /// Returns the beginning of the last eight weeks, or of the last twelve months if the bars are months. Microseconds
    /// since 1970.
    pub fn recent(&self) -> Option<i64> {
        let count = if matches!(self.step(), Step::Months(_)) { RECENT_MONTHS } else { RECENT_WEEKS };
        midnight(*self.recent_starts(count).first()?, self.zone)
    }

    /// Returns the first days of the last weeks, or of the last months if the bars are months. The last one may be cut.
    pub(super) fn recent_starts(&self, count: u32) -> Vec<NaiveDate> {
        let start = |back: u32| match self.step() {
            Step::Months(_) => self.last.with_day(1)?.checked_sub_months(Months::new(back)),
            _ => monday(self.last)?.checked_sub_days(Days::new(u64::from(back) * 7)),
        };
        (0..count).rev().filter_map(start).collect()
    }
}
