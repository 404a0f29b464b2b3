//! An interval has both ends or none.

use llrem::lake::{AnyLake, Lake};
use llrem::query::canned::Purpose;

use crate::answers::Questioner;
use crate::common::{Built, Home};
use crate::lake_of_all_fixtures;
use crate::parity::{Given, ZONE, statements};

#[test]
fn an_interval_has_both_ends_or_none() {
    let home = Home::empty();
    let lake = Built::new(&home, "lake");
    lake_of_all_fixtures(&lake);
    let lake = AnyLake::Local(Lake::open(&lake.path).unwrap());
    let mut questioner = Questioner::new(&lake, ZONE);
    let mut without = 0;
    // Groups of one session are shown.
    let reports = statements(Purpose::Report, &Given::new()).into_iter();
    for (name, statement) in reports.filter(|(name, _)| name.starts_with("compare ") || name.starts_with("drift ")) {
        let answer = questioner.ask(&statement).unwrap();
        let columns = answer.schema.iter().flat_map(|schema| schema.fields()).map(|column| column.name());
        for lower in columns.filter(|name| name.split('_').any(|word| word == "low")) {
            let highs = answer.column(&lower.replace("low", "high"));
            for (row, (low, high)) in answer.column(lower).iter().zip(highs).enumerate() {
                assert_eq!(low.is_empty(), high.is_empty(), "{name}, row {row}: {lower} {low}, upper end {high}");
                without += usize::from(low.is_empty() && name.starts_with("compare (numbers)"));
            }
        }
    }
    assert!(without > 0, "no group without an interval");
}
