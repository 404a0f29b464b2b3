//! Canned queries join by equal keys. A join by a range compares every row of one side with every row of the other that
//! has the same keys, so its time grows with their product.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, JoinConstraint, JoinOperator, Select, Visit, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use llrem::query::canned::Library;
use llrem::query::findings;

/// Queries with a join by a range, and why its keys leave few rows to compare.
const BOUNDED: [(&str, &str); 9] = [
    ("billing_blocks", "the hours in which an agent was used"),
    ("cache_misses", "the compactions of a session"),
    ("context_thrashing", "the compaction that begins each piece"),
    ("drift", "the weeks in which a model was used"),
    ("error_cascades", "the first five failures of each run"),
    ("findings", "the findings of a session"),
    ("model_downgrades", "the models that the person chose in a session"),
    ("output_floods", "the files that a session edited"),
    ("prompt_repetition", "blocks of as many prompts as are compared"),
];

/// Returns the conditions of joins that compare other than by equality.
fn ranges(sql: &str) -> Vec<String> {
    #[derive(Default)]
    struct Ranges(Vec<String>);
    impl Visitor for Ranges {
        type Break = ();

        fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
            let joins = select.from.iter().flat_map(|table| &table.joins);
            for join in joins {
                if let JoinOperator::Join(JoinConstraint::On(condition))
                | JoinOperator::Inner(JoinConstraint::On(condition))
                | JoinOperator::Left(JoinConstraint::On(condition))
                | JoinOperator::LeftOuter(JoinConstraint::On(condition)) = &join.join_operator
                {
                    add(condition, &mut self.0);
                }
            }
            ControlFlow::Continue(())
        }
    }
    fn add(condition: &Expr, ranges: &mut Vec<String>) {
        match condition {
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                add(left, ranges);
                add(right, ranges);
            }
            Expr::BinaryOp { op: BinaryOperator::Eq, .. } => {}
            other => ranges.push(other.to_string()),
        }
    }
    let mut ranges = Ranges::default();
    let _ = Parser::parse_sql(&GenericDialect {}, sql).unwrap().visit(&mut ranges);
    ranges.0
}

#[test]
fn joins_by_a_range_compare_few_rows() {
    let library = Library::load(&[]).unwrap();
    let queries = library.queries.iter().map(|query| (query.name.as_str(), query.sql.as_str()));
    let found: BTreeMap<&str, Vec<String>> = queries
        .chain([("findings", findings::SQL)])
        .map(|(name, sql)| (name, ranges(sql)))
        .filter(|(_, ranges)| !ranges.is_empty())
        .collect();
    let bounded: Vec<&str> = BOUNDED.iter().map(|(name, _)| *name).collect();
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), bounded, "{found:#?}");
}

#[test]
fn ranges_and_alternatives_are_found() {
    let by_range = "select 1 from a left join b on a.x = b.x and b.y > a.y";
    let by_alternative = "with q as (select 1 from a join b on a.x = b.x and (a.y = b.y or a.y = b.z)) select * from q";
    assert_eq!(ranges(by_range), ["b.y > a.y"]);
    assert_eq!(ranges(by_alternative), ["(a.y = b.y OR a.y = b.z)"]);
    assert_eq!(ranges("select 1 from a join b on a.x = b.x and a.y = b.y where b.z > a.z"), [""; 0]);
}
