//! Computes once what a query uses several times. The engine plans a subquery of a `with` again at each use. Here its
//! rows are kept while the query runs, with the columns that are used.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::error::ArrowError;
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SubqueryAlias};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::TryStreamExt;

use super::resources::cores;
use crate::tables::{blank_column, bytes_of};

/// Most memory for shared rows of one query. If they are larger, each use computes its own. Bytes.
const LIMIT: usize = 256 << 20;

/// Returns the plan of a query, after computing the subqueries that it uses several times.
pub(super) async fn physical(state: &SessionState, plan: LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
    within(LIMIT, state, plan).await
}

async fn within(limit: usize, state: &SessionState, plan: LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
    let parts = repeated(&plan)?;
    if parts.is_empty() {
        return state.create_physical_plan(&plan).await;
    }
    match computed(limit, state, plan.clone(), parts).await {
        Err(DataFusionError::ResourcesExhausted(_)) => state.create_physical_plan(&plan).await,
        planned => planned,
    }
}

/// Returns subqueries that occur several times in a plan; each after those within it, which count as often as it
/// occurs.
fn repeated(plan: &LogicalPlan) -> Result<Vec<Arc<LogicalPlan>>> {
    let recursions = Recursions::of(plan)?;
    // Compares without hashes: hashing a plan visits all of it, and subqueries are nested.
    let mut uses: Vec<(usize, Arc<LogicalPlan>, usize)> = Vec::new();
    plan.apply_with_subqueries(|node| {
        if matches!(node, LogicalPlan::Explain(_) | LogicalPlan::Analyze(_)) {
            return Ok(TreeNodeRecursion::Stop);
        }
        let Some((size, part)) = part(node, &recursions)? else { return Ok(TreeNodeRecursion::Continue) };
        match uses.iter_mut().find(|(nodes, known, _)| *nodes == size && is_same(known, part)) {
            Some((_, _, count)) => {
                *count += 1;
                Ok(TreeNodeRecursion::Jump)
            }
            None => {
                uses.push((size, Arc::clone(part), 1));
                Ok(TreeNodeRecursion::Continue)
            }
        }
    })?;
    uses.sort_by_key(|(nodes, ..)| *nodes);
    Ok(uses.into_iter().filter(|(.., count)| *count > 1).map(|(_, part, _)| part).collect())
}

/// Returns a subquery whose rows pay to keep, with the number of its nodes: it computes something, depends on nothing
/// outside, and has unique column names.
fn part<'p>(node: &'p LogicalPlan, recursions: &Recursions) -> Result<Option<(usize, &'p Arc<LogicalPlan>)>> {
    let LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) = node else { return Ok(None) };
    let mut computes = false;
    let mut depends = false;
    let mut nodes = 0;
    input.apply_with_subqueries(|node| {
        use LogicalPlan as P;
        nodes += 1;
        computes |= !matches!(node, P::TableScan(_) | P::Projection(_) | P::SubqueryAlias(_));
        depends |= node.contains_outer_reference();
        Ok(if depends { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    let names: BTreeSet<&str> = input.schema().fields().iter().map(|field| field.name().as_str()).collect();
    let is_named = names.len() == input.schema().fields().len();
    let is_part = computes && !depends && is_named && recursions.are_whole_in(input);
    Ok(is_part.then_some((nodes, input)))
}

/// True if two subqueries have the same rows. If the rows differ with each computation, as with `random()`, this holds
/// only for uses of one `with`.
fn is_same(one: &LogicalPlan, other: &LogicalPlan) -> bool {
    one == other && (is_copy(one, other) || !is_volatile(one))
}

/// True if two equal plans come from one `with`: the planner copies it, and the copies share their schema. Two that
/// were written separately have separate schemas.
fn is_copy(one: &LogicalPlan, other: &LogicalPlan) -> bool {
    Arc::ptr_eq(one.schema(), other.schema())
}

fn is_volatile(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply_with_subqueries(|node| {
        found |= node.expressions().iter().any(Expr::is_volatile);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found || walked.is_err()
}

/// Returns the names of the recursions in a plan. The rows of the last round are a table that only the next round sees.
#[derive(Default)]
struct Recursions {
    made: BTreeSet<String>,
    read: BTreeSet<String>,
}

impl Recursions {
    fn of(plan: &LogicalPlan) -> Result<Self> {
        let mut recursions = Self::default();
        plan.apply_with_subqueries(|node| {
            match node {
                LogicalPlan::RecursiveQuery(query) => recursions.made.insert(query.name.clone()),
                LogicalPlan::TableScan(scan) => recursions.read.insert(scan.table_name.table().to_owned()),
                _ => false,
            };
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(recursions)
    }

    fn are_whole_in(&self, part: &LogicalPlan) -> bool {
        self.made.is_empty()
            || Self::of(part)
                .is_ok_and(|own| own.read.iter().all(|name| !self.made.contains(name) || own.made.contains(name)))
    }
}

/// Replaces a subquery. It has no rows before the subquery is computed.
struct Table {
    name: String,
    part: Arc<LogicalPlan>,
    rows: Arc<MemTable>,
}

impl Table {
    fn new(number: usize, part: Arc<LogicalPlan>) -> Result<Self> {
        let rows = MemTable::try_new(Arc::clone(part.schema().inner()), vec![Vec::new(); cores()])?;
        Ok(Self { name: format!("shared_{number}"), part, rows: Arc::new(rows) })
    }

    /// Computes the rows. Unused columns stay blank. `left` is the memory that is left of the limit.
    async fn fill(&self, columns: &[usize], plan: &LogicalPlan, state: &SessionState, left: &mut usize) -> Result<()> {
        let plan = state.query_planner().create_physical_plan(plan, state).await?;
        let mut rows = execute_stream(plan, state.task_ctx())?;
        let schema = self.part.schema().inner();
        let mut number = 0;
        while let Some(batch) = rows.try_next().await? {
            let size = bytes_of(&batch)?;
            *left = left.checked_sub(size).ok_or_else(|| DataFusionError::ResourcesExhausted(self.name.clone()))?;
            let place = self.rows.batches.get(number % self.rows.batches.len());
            number += 1;
            if let Some(place) = place {
                place.write().await.push(spread(&batch, columns, schema)?);
            }
        }
        Ok(())
    }
}

/// Computes every shared part, and plans the rest of a query.
async fn computed(
    limit: usize,
    state: &SessionState,
    plan: LogicalPlan,
    parts: Vec<Arc<LogicalPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let tables = parts.into_iter().enumerate().map(|(number, part)| Table::new(number, part));
    let tables: Vec<Table> = tables.collect::<Result<_>>()?;
    let plan = state.optimize(&replaced(plan, &tables)?)?;
    let mut read = ColumnsRead::default();
    read.note(&plan)?;
    let mut steps = Vec::new();
    for table in tables.iter().rev() {
        let columns = read.of(table);
        let part = only(replaced(LogicalPlan::clone(&table.part), &tables)?, &columns)?;
        let part = state.optimize(&part)?;
        read.note(&part)?;
        steps.push((table, columns, part));
    }
    let mut left = limit;
    for (table, columns, part) in steps.iter().rev() {
        table.fill(columns, part, state, &mut left).await?;
    }
    state.query_planner().create_physical_plan(&plan, state).await
}

/// Returns a plan that reads tables instead of its shared parts.
fn replaced(plan: LogicalPlan, tables: &[Table]) -> Result<LogicalPlan> {
    let replaced = plan.transform_down_with_subqueries(|node| {
        let LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) = &node else {
            return Ok(Transformed::no(node));
        };
        let Some(table) = tables.iter().find(|table| is_same(&table.part, input)) else {
            return Ok(Transformed::no(node));
        };
        let source = provider_as_source(Arc::clone(&table.rows) as _);
        let scan = LogicalPlanBuilder::scan(table.name.as_str(), source, None)?;
        let scan = scan.alias(alias.clone())?.build()?;
        Ok(Transformed::new(scan, true, TreeNodeRecursion::Jump))
    })?;
    Ok(replaced.data)
}

/// Returns a plan with only some of its columns, by index.
fn only(plan: LogicalPlan, columns: &[usize]) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let named = columns.iter().map(|column| Expr::Column(Column::from(schema.qualified_field(*column))));
    LogicalPlanBuilder::from(plan).project(named)?.build()
}

/// Returns the used columns of the tables.
#[derive(Default)]
struct ColumnsRead(HashMap<String, BTreeSet<usize>>);

impl ColumnsRead {
    fn note(&mut self, plan: &LogicalPlan) -> Result<()> {
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                let all = || (0..scan.source.schema().fields().len()).collect();
                let columns = scan.projection.clone().unwrap_or_else(all);
                self.0.entry(scan.table_name.table().to_owned()).or_default().extend(columns);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(())
    }

    /// Returns at least one column, because a batch without columns has no rows.
    fn of(&self, table: &Table) -> Vec<usize> {
        let columns = self.0.get(&table.name).filter(|columns| !columns.is_empty());
        columns.map_or_else(|| vec![0], |columns| columns.iter().copied().collect())
    }
}

/// Puts columns at their indexes among blank ones.
fn spread(batch: &RecordBatch, columns: &[usize], schema: &SchemaRef) -> Result<RecordBatch> {
    let mut found = columns.iter().zip(batch.columns()).peekable();
    let column = |(place, field): (usize, &FieldRef)| match found.next_if(|(at, _)| **at == place) {
        Some((_, column)) => cast(column, field.data_type()),
        None => blank_column(field, batch.num_rows()),
    };
    let columns = schema.fields().iter().enumerate().map(column).collect::<Result<Vec<_>, ArrowError>>()?;
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::physical_plan::collect;
    use datafusion::prelude::SessionContext;

    use super::*;

    async fn answer(sql: &str, limit: usize) -> String {
        let session = SessionContext::new();
        session.sql("create table t as values (1, 'a'), (2, 'b'), (3, 'c')").await.unwrap().collect().await.unwrap();
        let plan = session.state().create_logical_plan(sql).await.unwrap();
        let plan = within(limit, &session.state(), plan).await.unwrap();
        let rows = collect(plan, session.task_ctx()).await.unwrap();
        pretty_format_batches(&rows).unwrap().to_string()
    }

    /// A random number that is computed once is the same at each use.
    const RANDOM: &str = "with r as (select column1, column2, random() as x from t where column1 > 1)";

    #[tokio::test]
    async fn a_subquery_with_a_name_is_computed_once() {
        let same = format!("{RANDOM} select count(*) as n from r a join r b on a.column1 = b.column1 where a.x = b.x");
        insta::assert_snapshot!(answer(&same, LIMIT).await, @r"
        +---+
        | n |
        +---+
        | 2 |
        +---+
        ");
        insta::assert_snapshot!(answer(&same, 0).await, @r"
        +---+
        | n |
        +---+
        | 0 |
        +---+
        ");
    }

    #[tokio::test]
    async fn equal_subqueries_with_random_numbers_are_not_the_same() {
        let random = "(select random() as x, column1 from t where column1 > 1)";
        let sql =
            format!("select count(*) as n from {random} a join {random} b on a.column1 = b.column1 where a.x = b.x");
        insta::assert_snapshot!(answer(&sql, LIMIT).await, @r"
        +---+
        | n |
        +---+
        | 0 |
        +---+
        ");
    }

    #[tokio::test]
    async fn one_within_another_is_too() {
        let sql = format!(
            "{RANDOM}, s as (select column2, x + 1 as y from r where column1 = 2) \
             select a.column2, a.y = b.y as same, a.y = r.x + 1 as of_one \
             from s a cross join s b join r on r.column2 = a.column2 \
             where exists (select 1 from s where s.y = r.x + 1)"
        );
        insta::assert_snapshot!(answer(&sql, LIMIT).await, @r"
        +---------+------+--------+
        | column2 | same | of_one |
        +---------+------+--------+
        | b       | true | true   |
        +---------+------+--------+
        ");
    }

    #[tokio::test]
    async fn rows_of_which_no_column_is_read_are_counted() {
        let sql = format!("{RANDOM} select (select count(*) from r) as a, (select count(*) from r) as b");
        insta::assert_snapshot!(answer(&sql, LIMIT).await, @r"
        +---+---+
        | a | b |
        +---+---+
        | 2 | 2 |
        +---+---+
        ");
    }

    /// A subquery that reads another one returns slices of its arrays.
    #[tokio::test]
    async fn memory_that_batches_share_counts_once() {
        let sql = "with r as (select value, random() as x, count(*) over () as n from generate_series(1, 100000)), \
                   s as (select value, x from r where n > 1) \
                   select (select count(*) from s a join s b on a.value = b.value where a.x = b.x) as n from r limit 1";
        let answer = answer(sql, 8 << 20).await;
        assert!(answer.contains("100000"), "{answer}");
    }

    #[tokio::test]
    async fn a_plan_that_is_shown_is_shown_whole() {
        let shown = answer(&format!("explain {RANDOM} select * from r union all select * from r"), LIMIT).await;
        assert!(shown.matches("random()").count() > 1, "{shown}");
        assert!(!shown.contains("shared_"), "{shown}");
    }

    #[tokio::test]
    async fn the_last_round_of_a_recursion_is_no_table() {
        let sql = format!(
            "{}, n as (select column1 as i, x from r where column1 = 2 union all \
             select m.i + 1, r.x from (select i from n where i < 3) as m join r on r.column1 = m.i + 1) \
             select a.i, a.x = r.x as same from n a join n b on a.i = b.i and a.x = b.x join r on r.column1 = a.i order by 1",
            RANDOM.replace("with", "with recursive")
        );
        insta::assert_snapshot!(answer(&sql, LIMIT).await, @r"
        +---+------+
        | i | same |
        +---+------+
        | 2 | true |
        | 3 | true |
        +---+------+
        ");
    }
}
