//! Queries that divide costs by something add up to the same cost.

use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::Float64Type;
use llrem::lake::{AnyLake, Lake};
use llrem::query::Statement;
use llrem::query::canned::Purpose;

use crate::answers::Questioner;
use crate::common::{Built, Home};
use crate::lake_of_all_fixtures;
use crate::parity::{ZONE, filters, statements};

/// Returns the sum of a query's costs. Nano-dollars.
fn cost(questioner: &mut Questioner<'_>, statement: &Statement) -> i128 {
    let answer = questioner.ask(statement).unwrap();
    let mut sum = 0;
    for batch in &answer.batches {
        let costs = batch.column_by_name("cost_usd").unwrap().as_primitive::<Float64Type>();
        #[allow(clippy::cast_possible_truncation, reason = "whole nano-dollars")]
        let nanos = costs.iter().flatten().map(|cost| (cost * 1e9).round() as i128);
        sum += nanos.sum::<i128>();
    }
    sum
}

fn sums(lake: &Path) -> Vec<(String, i128)> {
    let of_lake = AnyLake::Local(Lake::open(lake).unwrap());
    let mut questioner = Questioner::new(&of_lake, ZONE);
    let reports = statements(Purpose::Report, &filters(lake)).into_iter();
    let divides = |name: &str| name.starts_with("cost_by_") || name.starts_with("output_by_project ");
    let costs = reports.filter(|(name, _)| divides(name) && !name.contains("(numbers)"));
    costs.map(|(name, statement)| (name, cost(&mut questioner, &statement))).collect()
}

#[test]
fn every_query_that_divides_costs_adds_up_to_the_same() {
    let home = Home::empty();
    let lake = Built::new(&home, "lake");
    lake_of_all_fixtures(&lake);
    let sums = sums(&lake.path);
    for set in ["(defaults)", "(filters)"] {
        let of_set: Vec<_> = sums.iter().filter(|(name, _)| name.ends_with(set)).collect();
        assert!(of_set.len() > 7, "{of_set:?}");
        let (_, expected) = of_set.iter().find(|(name, _)| name.starts_with("cost_by_project ")).unwrap();
        assert!(*expected > 0);
        for (name, sum) in &of_set {
            assert_eq!(sum, expected, "{name}");
        }
    }
}
