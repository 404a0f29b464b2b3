//! Canned queries keep to names and clauses that engines have in common.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArgumentClause, FunctionArguments, GroupByExpr, NamedWindowExpr,
    OrderByExpr, OrderByKind, Query, Select, Visit, Visitor, WindowSpec, WindowType,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use llrem::query::canned::Library;
use llrem::query::findings;

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

/// Returns the problems of a query; none if it means the same everywhere.
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

impl Lint {
    /// Without a direction, nulls come last on both engines; with one, DataFusion puts them where DuckDB does not.
    fn take_order<'k>(&mut self, keys: impl IntoIterator<Item = &'k OrderByExpr>) {
        let unplaced = keys.into_iter().filter(|key| key.options.asc.is_some() && key.options.nulls_first.is_none());
        self.0.extend(unplaced.map(|key| format!("{key}: say where nulls go, with nulls first or nulls last")));
    }

    fn take_window(&mut self, window: &WindowSpec) {
        self.take_order(&window.order_by);
    }

    fn take_function(&mut self, function: &Function) {
        self.take_order(&function.within_group);
        if let Some(WindowType::WindowSpec(window)) = &function.over {
            self.take_window(window);
        }
        if let FunctionArguments::List(list) = &function.args {
            for clause in &list.clauses {
                if let FunctionArgumentClause::OrderBy(keys) = clause {
                    self.take_order(keys);
                }
            }
        }
    }
}

impl Visitor for Lint {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let Some(OrderByKind::Expressions(keys)) = query.order_by.as_ref().map(|order| &order.kind) {
            self.take_order(keys);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if matches!(select.group_by, GroupByExpr::All(_)) {
            self.0.push("GROUP BY ALL: name the expressions".to_owned());
        }
        if select.qualify.is_some() {
            self.0.push("QUALIFY: filter in a query around this one".to_owned());
        }
        for window in &select.named_window {
            if let NamedWindowExpr::WindowSpec(window) = &window.1 {
                self.take_window(window);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { op: BinaryOperator::DuckIntegerDivide | BinaryOperator::MyIntegerDivide, .. } => {
                self.0.push(format!("{expr}: no such operator everywhere; write floor(a * 1.0 / b)"));
            }
            Expr::Function(function) => {
                self.take_function(function);
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
    let texts = library.queries.iter().map(|canned| (canned.name.as_str(), canned.sql.as_str()));
    let wrong = texts.chain([("findings", findings::SQL)]).map(|(name, sql)| (name, problems(sql)));
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
        "select a from t order by a desc",
        "select a from t order by a asc",
        "select row_number() over (order by a desc) from t",
        "select row_number() over w from t window w as (order by a desc)",
        "select string_agg(a, ',' order by a desc) from t",
        "with q as (select a from t order by a, b desc limit 1) select * from q",
    ] {
        assert_eq!(problems(sql).len(), 1, "{sql}: {:?}", problems(sql));
    }
}

#[test]
fn what_every_engine_has_passes() {
    for sql in [
        "select a + interval '1 day', cast(a as interval), 'a / b', regexp_replace(a, 'x/y', 'z') from t -- \"a\" / b",
        "select a, count(*) filter (where b > $b) from t group by a having count(*) > 1 order by a desc nulls last",
        "select row_number() over (partition by b order by a) from t order by a, b desc nulls first",
    ] {
        assert_eq!(problems(sql), Vec::<String>::new(), "{sql}");
    }
}
