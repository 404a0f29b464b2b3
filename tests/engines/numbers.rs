//! Canned queries never let an engine decide what becomes of a rest, nor how long a day is. Where whole numbers are
//! divided, `DataFusion` drops the rest and `DuckDB` keeps it; a cast to a whole number cuts it off on the one, and rounds
//! on the other. Between two moments, `DuckDB` counts the days of the session's zone, one of which has 23 hours in spring.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use chrono_tz::Tz;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, ParamValues};
use datafusion::datasource::empty::EmptyTable;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, TryCast};
use datafusion::prelude::SessionContext;
use llrem::query::Statement;
use llrem::query::canned::Library;
use llrem::tables::{LAKE_TABLES, PARTITION_COLUMNS, STATE_TABLES};

/// The lake's tables, by name and columns.
fn session() -> SessionContext {
    let session = SessionContext::new();
    let partitions = PARTITION_COLUMNS.map(|(name, _)| Arc::new(Field::new(name, DataType::Utf8, false)));
    let stored =
        LAKE_TABLES.map(|table| (table.name, table.schema().fields().iter().chain(&partitions).cloned().collect()));
    let made = STATE_TABLES.map(|table| (table.name, table.schema().fields().iter().cloned().collect::<Vec<_>>()));
    for (name, fields) in stored.into_iter().chain(made) {
        let fields: Vec<Arc<Field>> = fields;
        session.register_table(name, Arc::new(EmptyTable::new(Arc::new(Schema::new(fields))))).unwrap();
    }
    session
}

/// The query with the types that the engine gives it.
fn plan(session: &SessionContext, statement: &Statement) -> LogicalPlan {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let plan = runtime.block_on(session.state().create_logical_plan(&statement.sql)).unwrap();
    let values = statement.parameters.iter().map(|(name, value)| (name.clone(), value.clone().into()));
    let plan = plan.with_param_values(ParamValues::Map(values.collect())).unwrap();
    let state = session.state();
    state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {}).unwrap()
}

/// Returns the problems of a query.
fn problems(session: &SessionContext, statement: &Statement) -> Vec<String> {
    let mut problems = Vec::new();
    plan(session, statement)
        .apply_with_subqueries(|node| {
            let mut schema = DFSchema::empty();
            node.inputs().iter().for_each(|input| schema.merge(input.schema()));
            node.apply_expressions(|expr| {
                expr.apply(|expr| {
                    problems.extend(problem(expr, &schema));
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })
        .unwrap();
    problems
}

fn problem(expr: &Expr, schema: &DFSchema) -> Option<String> {
    let is_whole = |expr: &Expr| expr.get_type(schema).is_ok_and(|kind| kind.is_integer());
    let is_moment = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::Timestamp(..)));
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Divide, right }) if is_whole(left) && is_whole(right) => {
            Some(format!("{expr}: the rest is dropped or not; write `* 1.0 /`"))
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Minus, right }) if is_moment(left) && is_moment(right) => {
            Some(format!("{expr}: a day is 24 hours or one of the zone's; subtract extract(epoch from …)"))
        }
        Expr::Cast(Cast { expr: from, field }) | Expr::TryCast(TryCast { expr: from, field })
            if field.data_type().is_integer() && !is_whole(from) && !is_rounded(from, schema) =>
        {
            Some(format!("{expr}: a fraction is cut off or rounded; use floor or round"))
        }
        _ => None,
    }
}

/// True if there is nothing left to cut off.
fn is_rounded(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::ScalarFunction(function) => ["floor", "ceil", "round"].contains(&function.func.name()),
        expr => matches!(expr.get_type(schema), Ok(DataType::Null | DataType::Boolean)),
    }
}

#[test]
fn canned_queries_leave_no_number_to_the_engine() {
    let session = session();
    let library = Library::load(&[]).unwrap();
    let statements =
        library.queries.iter().map(|canned| (&canned.name, canned.bind(&[], Tz::UTC, &|_, _| Ok(0)).unwrap()));
    let wrong = statements.map(|(name, statement)| (name, problems(&session, &statement)));
    let wrong: Vec<_> = wrong.filter(|(_, problems)| !problems.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn found(sql: &str) -> usize {
    let problems = problems(&session(), &Statement { sql: sql.to_owned(), parameters: Vec::new() });
    assert!(problems.len() < 2, "{sql}: {problems:?}");
    problems.len()
}

#[test]
fn what_leaves_it_to_the_engine_is_refused() {
    for sql in [
        "select turns / 2 from sessions",
        "select sum(turns) / count(*) from sessions",
        "select session_id from usage where (select count(*) / 2 from sessions) > 1",
        "with q as (select prompts / turns as share from sessions) select share * 1.0 from q",
        "select cast(cost_usd as bigint) from usage",
        "select try_cast(output as integer) from tool_calls",
        "select (cost_usd * 100)::int from usage",
        "select extract(epoch from (ended_at - started_at)) from sessions",
    ] {
        assert_eq!(found(sql), 1, "{sql}");
    }
}

#[test]
fn what_says_it_passes() {
    for sql in [
        "select turns * 1.0 / nullif(prompts, 0), turns / 1e3 / prompts, cost_usd / turns from sessions",
        "select sum(round(cost_usd * 1e9)) / count(*), median(turns) / 2 from sessions",
        "select cast(null as bigint), cast(floor(cost_usd) as bigint), cast(round(cost_usd) as integer) from usage",
        "select extract(epoch from ended_at) - extract(epoch from started_at) from sessions",
        "select cast(sum(turns) as bigint), cast(turns > 1 as integer) from sessions group by turns",
    ] {
        assert_eq!(found(sql), 0, "{sql}");
    }
}
