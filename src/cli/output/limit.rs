//! The limit of rows in a table on a terminal. A line below it says how many more there are.

use std::fmt::{self, Display, Formatter};
use std::io::Write;
use std::num::NonZeroUsize;
use std::str::FromStr;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;

use super::Rows;
use super::target::Target;

/// Most rows of a table on a terminal. Files, pipes and other formats always get all rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(Option<NonZeroUsize>);

impl Limit {
    /// The limit of `off`.
    pub const OFF: Self = Self(None);
}

impl Default for Limit {
    fn default() -> Self {
        Self(NonZeroUsize::new(1000))
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("off") {
            return Ok(Self::OFF);
        }
        let rows = text.replace('_', "").parse();
        rows.map(|rows| Self(Some(rows)))
            .map_err(|_| format!("`{text}` is not a limit; write a number of rows, or off"))
    }
}

impl Display for Limit {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rows) => rows.fmt(formatter),
            None => formatter.write_str("off"),
        }
    }
}

/// Passes on the first rows, and counts the others.
pub(super) struct Limited {
    rows: Box<dyn Rows>,
    target: Target,
    left: usize,
    more: usize,
    remedy: &'static str,
}

impl Limited {
    /// `remedy` says how to get all rows.
    pub(super) fn new(rows: Box<dyn Rows>, target: Target, limit: Limit, remedy: &'static str) -> Self {
        Self { rows, target, left: limit.0.map_or(usize::MAX, NonZeroUsize::get), more: 0, remedy }
    }

    fn say_more(&mut self, least: &str) -> Result<(), ArrowError> {
        let rows = if self.more == 1 { "row" } else { "rows" };
        writeln!(self.target, "{least}{} more {rows} ({})", self.more, self.remedy)?;
        Ok(())
    }
}

impl Rows for Limited {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let shown = batch.num_rows().min(self.left);
        if shown > 0 {
            self.rows.write(&batch.slice(0, shown))?;
            self.left -= shown;
        }
        let hidden = batch.num_rows() - shown;
        if hidden > 0 && self.more == 0 {
            // Flushes, because counting the others may take long.
            self.rows.finish()?;
            self.target.flush()?;
        }
        self.more += hidden;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        if self.more == 0 { self.rows.finish() } else { self.say_more("") }
    }

    fn abandon(&mut self) -> Result<(), ArrowError> {
        if self.more == 0 { Ok(()) } else { self.say_more("at least ") }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};
    use proptest::prelude::*;

    use super::*;
    use crate::cli::output::table::{Overlong, Table};

    fn limit(text: &str) -> Limit {
        text.parse().unwrap()
    }

    fn batch(rows: usize) -> RecordBatch {
        let numbers: ArrayRef = Arc::new((0..i64::try_from(rows).unwrap()).collect::<Int64Array>());
        RecordBatch::try_from_iter([("n", numbers)]).unwrap()
    }

    fn written(limit: Limit, batches: &[usize], end: fn(&mut Limited) -> Result<(), ArrowError>) -> String {
        let target = Target::memory(true);
        let table = Table::with_width(target.clone(), &batch(0).schema(), Overlong::Cut, None);
        let mut limited = Limited::new(Box::new(table), target.clone(), limit, "-o FILE shows all");
        for rows in batches {
            limited.write(&batch(*rows)).unwrap();
        }
        end(&mut limited).unwrap();
        String::from_utf8(target.bytes()).unwrap()
    }

    #[test]
    fn a_limit_is_a_number_of_rows_or_off() {
        assert_eq!(limit("off"), Limit::OFF);
        assert_eq!(limit("1_000"), Limit::default());
        assert_eq!(limit("20").to_string(), "20");
        assert_eq!(Limit::OFF.to_string(), "off");
        for wrong in ["0", "-1", "", "many"] {
            let reason = format!("`{wrong}` is not a limit; write a number of rows, or off");
            assert_eq!(wrong.parse::<Limit>(), Err(reason));
        }
    }

    #[test]
    fn rows_beyond_the_limit_are_counted() {
        insta::assert_snapshot!(written(limit("2"), &[1, 2, 4], Limited::finish), @r"
        ┌───┐
        │ n │
        ├───┤
        │ 0 │
        │ 0 │
        └───┘
        5 more rows (-o FILE shows all)
        ");
        assert!(written(limit("2"), &[3], Limited::finish).ends_with("┘\n1 more row (-o FILE shows all)\n"));
        assert!(
            written(limit("2"), &[3, 7], Limited::abandon).ends_with("┘\nat least 8 more rows (-o FILE shows all)\n")
        );
        assert_eq!(written(limit("2"), &[1], Limited::abandon), "");
    }

    proptest! {
        #[test]
        fn every_row_is_shown_or_counted(most in 1_usize..9, batches in prop::collection::vec(0_usize..5, 0..6)) {
            let text = written(limit(&most.to_string()), &batches, Limited::finish);
            let shown = text.lines().filter(|line| line.starts_with("│")).count() - 1;
            let more = text.lines().find_map(|line| line.split_once(" more row")?.0.parse::<usize>().ok());
            let all: usize = batches.iter().sum();
            prop_assert_eq!(shown, all.min(most));
            prop_assert_eq!(more, (all > most).then(|| all - most));
        }
    }
}
