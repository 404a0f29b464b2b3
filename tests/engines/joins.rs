//! Canned queries join by equal keys. A join by a range, or with `or`, compares every row of one side with every row of
//! the other that has the same keys, so its time grows with their product.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, JoinConstraint, JoinOperator, Select, Visit, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use llrem::query::canned::Library;
use llrem::query::findings;

/// Joins by a range: the query, the rows that share the keys, which are few, and the condition.
const BOUNDED: [(&str, &str, &str); 8] = [
    (
        "billing_blocks",
        "the hours in which an agent was used",
        "b.agent = a.agent AND b.hour >= a.hour + $hours AND b.hour < a.hour + 2 * $hours",
    ),
    (
        "cache_misses",
        "the compactions of a session",
        "m.machine = s.machine AND m.agent = s.agent AND m.session_id = s.session_id AND m.timestamp >= s.previous_at \
         AND m.timestamp <= s.timestamp",
    ),
    (
        "context_thrashing",
        "the compaction that begins a piece",
        "t.number = p.number AND t.is_sidechain = p.is_sidechain AND t.piece = p.piece AND t.seq <= p.last_seq",
    ),
    (
        "drift",
        "the weeks in which a model was used",
        "w.agent = s.agent AND w.model = s.model AND w.effort = s.effort AND w.measure = s.measure AND \
         w.week >= s.week - 4 AND w.week < s.week",
    ),
    (
        "findings",
        "the findings of a session",
        "g.machine = l.machine AND g.agent = l.agent AND g.session_id = l.session_id AND g.place < l.place AND \
         g.opens <= l.closes AND l.opens <= g.closes",
    ),
    (
        "model_downgrades",
        "the models that the person chose in a session",
        "p.machine = d.machine AND p.agent = d.agent AND p.session_id = d.session_id AND p.seq > d.old_first_seq AND \
         p.seq < d.first_seq",
    ),
    ("output_floods", "the files that a session edited", "e.number = l.number AND e.seq > l.seq"),
    (
        "prompt_repetition",
        "two blocks of as many prompts as are compared",
        "b.machine = a.machine AND b.agent = a.agent AND b.session_id = a.session_id AND b.block = a.later_block AND \
         b.number > a.number AND b.number <= a.number + $max_apart",
    ),
];

/// Returns the conditions of joins that compare columns of two tables other than by equality.
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
                    && has_range(condition)
                {
                    self.0.push(condition.to_string());
                }
            }
            ControlFlow::Continue(())
        }
    }
    let mut ranges = Ranges::default();
    let _ = Parser::parse_sql(&GenericDialect {}, sql).unwrap().visit(&mut ranges);
    ranges.0
}

fn has_range(condition: &Expr) -> bool {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => has_range(left) || has_range(right),
        Expr::BinaryOp { op: BinaryOperator::Eq, .. } => false,
        other => tables_of(other).len() > 1,
    }
}

/// Returns the tables whose columns an expression names.
fn tables_of(expr: &Expr) -> BTreeSet<String> {
    struct Tables(BTreeSet<String>);
    impl Visitor for Tables {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::CompoundIdentifier(parts) = expr {
                self.0.extend(parts.first().map(ToString::to_string));
            }
            ControlFlow::Continue(())
        }
    }
    let mut tables = Tables(BTreeSet::new());
    let _ = expr.visit(&mut tables);
    tables.0
}

#[test]
fn joins_by_a_range_compare_few_rows() {
    let library = Library::load(&[]).unwrap();
    let queries = library.queries.iter().map(|query| (query.name.as_str(), query.sql.as_str()));
    let mut found: Vec<(&str, String)> = queries
        .chain([("findings", findings::SQL)])
        .flat_map(|(name, sql)| ranges(sql).into_iter().map(move |condition| (name, condition)))
        .collect();
    found.sort();
    let bounded: Vec<(&str, String)> =
        BOUNDED.iter().map(|(name, _, condition)| (*name, (*condition).to_owned())).collect();
    assert_eq!(found, bounded);
}

#[test]
fn ranges_and_alternatives_are_found() {
    let by_range = "select 1 from a left join b on a.x = b.x and b.y > a.y";
    let by_alternative = "with q as (select 1 from a join b on a.x = b.x and (a.y = b.y or a.y = b.z)) select * from q";
    assert_eq!(ranges(by_range), ["a.x = b.x AND b.y > a.y"]);
    assert_eq!(ranges(by_alternative), ["a.x = b.x AND (a.y = b.y OR a.y = b.z)"]);
    assert_eq!(ranges("select 1 from a join b on a.x = b.x and a.y is not null where b.z > a.z"), [""; 0]);
}
