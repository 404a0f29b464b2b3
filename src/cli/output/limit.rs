//! The limit of rows.

use std::fmt::{self, Display, Formatter};
use std::num::NonZeroUsize;
use std::str::FromStr;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;

use super::Rows;

/// Most rows of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit(Option<NonZeroUsize>);

impl Limit {
    /// The limit of `off`.
    pub const OFF: Self = Self(None);

    /// Returns the number of rows.
    pub fn rows(self) -> usize {
        self.0.map_or(usize::MAX, NonZeroUsize::get)
    }
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

/// Passes on the first rows.
pub(super) struct Limited {
    rows: Box<dyn Rows>,
    left: usize,
}

impl Limited {
    pub(super) fn new(rows: Box<dyn Rows>, limit: Limit) -> Self {
        Self { rows, left: limit.rows() }
    }
}

impl Rows for Limited {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let shown = batch.num_rows().min(self.left);
        if shown > 0 {
            self.rows.write(&batch.slice(0, shown))?;
            self.left -= shown;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        self.rows.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array};
    use proptest::prelude::*;

    use super::*;
    use crate::cli::output::table::{Table, TableOptions};
    use crate::cli::output::target::Target;
    use crate::cli::output::{Look, Paint};
    use crate::shown::Signs;

    fn limit(text: &str) -> Limit {
        text.parse().unwrap()
    }

    fn batch(rows: usize) -> RecordBatch {
        let numbers: ArrayRef = Arc::new((0..i64::try_from(rows).unwrap()).collect::<Int64Array>());
        RecordBatch::try_from_iter([("n", numbers)]).unwrap()
    }

    fn written(limit: Limit, batches: &[usize], end: fn(&mut Table) -> Result<(), ArrowError>) -> String {
        let target = Target::memory(true);
        let options = TableOptions { limit: Some((limit, "-o FILE shows all")), ..TableOptions::default() };
        let look = Look { width: None, paint: Paint(false), signs: Signs::UNICODE };
        let mut table = Table::new(target.clone(), &batch(0).schema(), options, look);
        for rows in batches {
            table.write(&batch(*rows)).unwrap();
        }
        end(&mut table).unwrap();
        String::from_utf8(target.bytes()).unwrap() + &table.notes().join("\n")
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
        insta::assert_snapshot!(written(limit("2"), &[1, 2, 4], Table::finish), @r"
        n
        0
        0
        5 more rows (-o FILE shows all)
        ");
        assert!(written(limit("2"), &[3], Table::finish).ends_with("\n1 more row (-o FILE shows all)"));
        assert!(written(limit("2"), &[3, 7], Table::abandon).ends_with("\nat least 8 more rows (-o FILE shows all)"));
        assert_eq!(written(limit("2"), &[1], Table::abandon), "");
    }

    proptest! {
        #[test]
        fn every_row_is_shown_or_counted(most in 1_usize..9, batches in prop::collection::vec(0_usize..5, 0..6)) {
            let text = written(limit(&most.to_string()), &batches, Table::finish);
            let shown = text.lines().filter(|line| line.parse::<u64>().is_ok()).count();
            let more = text.lines().find_map(|line| line.split_once(" more row")?.0.parse::<usize>().ok());
            let all: usize = batches.iter().sum();
            prop_assert_eq!(shown, all.min(most));
            prop_assert_eq!(more, (all > most).then(|| all - most));
        }
    }
}
