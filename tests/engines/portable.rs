//! Canned queries keep to names and clauses that engines have in common.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, GroupByExpr, Select, Visit, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use llrem::query::canned::Library;

/// Functions that one of the engines lacks, or names otherwise.
const MISSING: [&str; 10] = [
    "regexp_like",
    "regexp_count",
    "max_by",
    "min_by",
    "arg_max",
    "arg_min",
    "date_bin",
    "to_char",
    "strftime",
    "time_bucket",
];

/// What is wrong with a query; nothing, when it means the same everywhere.
fn problems(sql: &str) -> Vec<String> {
    let dialect = GenericDialect {};
    let tokens = Tokenizer::new(&dialect, sql).tokenize().unwrap();
    let mut lint = Lint::default();
    for token in tokens {
        if let Token::Word(word) = token
            && word.quote_style.is_some()
        {
            lint.0.push(format!("{word}: a quoted name is a text elsewhere"));
        }
    }
    let statements = Parser::parse_sql(&dialect, sql).unwrap();
    assert_eq!(statements.len(), 1, "one statement is wanted: {sql}");
    let _ = statements.visit(&mut lint);
    lint.0
}

#[derive(Default)]
struct Lint(Vec<String>);

impl Visitor for Lint {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if matches!(select.group_by, GroupByExpr::All(_)) {
            self.0.push("GROUP BY ALL: name the expressions".to_owned());
        }
        if select.qualify.is_some() {
            self.0.push("QUALIFY: filter in a query around this one".to_owned());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { op: BinaryOperator::DuckIntegerDivide | BinaryOperator::MyIntegerDivide, .. } => {
                self.0.push(format!("{expr}: no such operator everywhere; write floor(a * 1.0 / b)"));
            }
            Expr::Function(function) => {
                let name = function.name.to_string().to_lowercase();
                if MISSING.contains(&name.as_str()) || name.starts_with("approx_") {
                    self.0.push(format!("{name}: not on every engine"));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn canned_queries_name_what_every_engine_has() {
    let library = Library::load(&[]).unwrap();
    let wrong = library.queries.iter().map(|canned| (&canned.name, problems(&canned.sql)));
    let wrong: Vec<_> = wrong.filter(|(_, problems)| !problems.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_an_engine_lacks_is_refused() {
    for sql in [
        "select a // 2 from t",
        "select \"a\" from t",
        "select regexp_like(a, 'x') from t",
        "select Max_By(a, b) from t",
        "with q as (select date_bin(interval '1 hour', a) from t) select * from q",
        "select to_char(a, 'YYYY') from t",
        "select approx_distinct(a) from t",
        "select a, count(*) from t group by all",
        "select a from t qualify row_number() over (order by a) = 1",
    ] {
        assert_eq!(problems(sql).len(), 1, "{sql}: {:?}", problems(sql));
    }
}

#[test]
fn what_every_engine_has_passes() {
    for sql in [
        "select a + interval '1 day', cast(a as interval), 'a / b', regexp_replace(a, 'x/y', 'z') from t -- \"a\" / b",
        "select a, count(*) filter (where b > $b) from t group by a having count(*) > 1 order by a desc nulls last",
    ] {
        assert_eq!(problems(sql), Vec::<String>::new(), "{sql}");
    }
}
