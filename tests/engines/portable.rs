//! Canned queries keep to SQL that engines have in common and mean alike. What an engine lacks fails when it runs;
//! what is refused here runs, and gives other rows.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Select, Value, Visit,
    Visitor,
};
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

/// Functions that give a fraction when they get one.
const KEEPING: [&str; 12] =
    ["sum", "min", "max", "avg", "median", "coalesce", "nullif", "greatest", "least", "round", "floor", "abs"];

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
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::Divide if !is_fraction(left) && !is_fraction(right) => {
                    self.0.push(format!("{expr}: of whole numbers, `/` drops the rest or not; write `* 1.0 /`"));
                }
                BinaryOperator::DuckIntegerDivide | BinaryOperator::MyIntegerDivide => {
                    self.0.push(format!("{expr}: no such operator everywhere; write floor(a * 1.0 / b)"));
                }
                _ => {}
            },
            Expr::Cast { expr: inner, data_type, .. } if is_whole(&data_type.to_string()) && !is_rounded(inner) => {
                self.0.push(format!("{expr}: a fraction is cut off or rounded; use floor or round"));
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

fn is_whole(kind: &str) -> bool {
    let kind = kind.to_lowercase();
    kind.contains("int") && !kind.contains("interval")
}

/// Whether there is nothing left to cut off.
fn is_rounded(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => value.value == Value::Null,
        Expr::Floor { .. } | Expr::Ceil { .. } => true,
        Expr::Function(function) => ["floor", "ceil", "round"].contains(&function.name.to_string().as_str()),
        Expr::Nested(inner) => is_rounded(inner),
        _ => false,
    }
}

/// Whether the text alone shows that it is no whole number; amounts of money never are.
fn is_fraction(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(&value.value, Value::Number(digits, _) if digits.contains(['.', 'e', 'E'])),
        Expr::Identifier(name) => name.value.ends_with("_usd"),
        Expr::CompoundIdentifier(path) => path.last().is_some_and(|name| name.value.ends_with("_usd")),
        Expr::Nested(inner)
        | Expr::UnaryOp { expr: inner, .. }
        | Expr::Floor { expr: inner, .. }
        | Expr::Ceil { expr: inner, .. } => is_fraction(inner),
        Expr::Cast { data_type, .. } => {
            let kind = data_type.to_string().to_lowercase();
            ["double", "float", "real"].iter().any(|fraction| kind.starts_with(fraction))
        }
        Expr::BinaryOp { left, right, .. } => is_fraction(left) || is_fraction(right),
        Expr::Function(function) => {
            KEEPING.contains(&function.name.to_string().to_lowercase().as_str()) && arguments(function).any(is_fraction)
        }
        _ => false,
    }
}

fn arguments(function: &Function) -> impl Iterator<Item = &Expr> {
    let list = match &function.args {
        FunctionArguments::List(list) => list.args.as_slice(),
        _ => &[],
    };
    list.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
}

#[test]
fn canned_queries_mean_the_same_everywhere() {
    let library = Library::load(&[]).unwrap();
    let wrong: Vec<_> = library.queries.iter().map(|canned| (&canned.name, problems(&canned.sql))).collect();
    let wrong: Vec<_> = wrong.into_iter().filter(|(_, problems)| !problems.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_differs_is_refused() {
    for sql in [
        "select a / b from t",
        "select a from t where (select count(*) / 2 from u) > 1",
        "select count(x * 1.0) / 2 from t",
        "select a // 2 from t",
        "select cast(a as bigint) from t",
        "select try_cast(a as integer) from t",
        "select a::int8 from t",
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
fn what_is_the_same_passes() {
    for sql in [
        "select a * 1.0 / nullif(b, 0), a / 1e3 / b, sum(round(a * 1e9)) / b, (-a + 0.5) / b from t",
        "select cast(a as double) / b, s.cost_usd / b, coalesce(cost_usd, 0) / b from t",
        "select cast(null as bigint), cast(floor(a / 2.0) as bigint), cast(round(a) as integer) from t",
        "select a + interval '1 day', cast(a as interval), 'a / b', regexp_replace(a, 'x/y', 'z') from t -- \"a\" / b",
        "select a, count(*) filter (where b > $b) from t group by a having count(*) > 1 order by a desc nulls last",
    ] {
        assert_eq!(problems(sql), Vec::<String>::new(), "{sql}");
    }
}
