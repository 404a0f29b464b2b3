//! Keeps functional dependencies out of plans, because the engine derives false ones. For a `group by` over a join, it
//! takes a key of one side for a key of the groups (`DataFusion` 55.2). Then a later `group by`, `distinct` or `order by`
//! loses columns, and answers are wrong.

use std::cell::Cell;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, DFSchemaRef, FunctionalDependencies};
use datafusion::error::Result;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::sql::sqlparser::ast::TableFactor;

/// Rules of the optimizer that use dependencies.
const DEPENDENT: [&str; 4] =
    ["eliminate_join", "replace_distinct_aggregate", "eliminate_duplicated_expr", "optimize_projections"];

thread_local! {
    /// True if the engine itself plans the next relation.
    static IS_ENGINES: Cell<bool> = const { Cell::new(false) };
}

/// Returns a session that uses no dependencies, neither for the tables of a `from` nor in the optimizer.
pub(super) fn without_dependencies(state: SessionState) -> SessionState {
    let mut rules: Vec<Arc<dyn OptimizerRule + Send + Sync>> = Vec::new();
    for rule in state.optimizers() {
        if DEPENDENT.contains(&rule.name()) {
            rules.push(Arc::new(Forget));
        }
        rules.push(Arc::clone(rule));
    }
    let builder = SessionStateBuilder::new_from_existing(state).with_optimizer_rules(rules);
    builder.with_relation_planners(vec![Arc::new(Forget)]).build()
}

#[derive(Debug)]
struct Forget;

impl OptimizerRule for Forget {
    fn name(&self) -> &'static str {
        "forget_dependencies"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        forgotten(plan)
    }
}

impl RelationPlanner for Forget {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if IS_ENGINES.replace(false) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        IS_ENGINES.set(true);
        // Only the outermost schema: two uses of one `with` share the others.
        let plan = context.plan(relation)?.transform_down(|mut node| {
            let has_schema = schema_of(&mut node).is_some();
            let node = forgotten(node)?;
            let next = if has_schema { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue };
            Ok(Transformed::new(node.data, node.transformed, next))
        });
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan?.data, None))))
    }
}

/// Returns a node without dependencies; those below it stay.
fn forgotten(mut plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let Some(schema) = schema_of(&mut plan).filter(|schema| !schema.functional_dependencies().is_empty()) else {
        return Ok(Transformed::no(plan));
    };
    let forgetting = DFSchema::clone(schema).with_functional_dependencies(FunctionalDependencies::empty())?;
    *schema = Arc::new(forgetting);
    Ok(Transformed::yes(plan))
}

/// Returns the schema of a node that does not take over its input's.
fn schema_of(plan: &mut LogicalPlan) -> Option<&mut DFSchemaRef> {
    match plan {
        LogicalPlan::Projection(node) => Some(&mut node.schema),
        LogicalPlan::Window(node) => Some(&mut node.schema),
        LogicalPlan::Aggregate(node) => Some(&mut node.schema),
        LogicalPlan::Join(node) => Some(&mut node.schema),
        LogicalPlan::SubqueryAlias(node) => Some(&mut node.schema),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;

    use super::*;

    /// Three rows of `g` and `k`; grouped by both, with `g` from a subquery that groups by it.
    const GROUPED: &str = "with t as (select column1 as g, column2 as k from (values (1, 'a'), (1, 'b'), (2, 'a'))), \
                           a as (select g, count(*) as n from t group by g), \
                           b as (select a.g, t.k, count(*) as c from a join t on t.g = a.g group by a.g, t.k)";

    async fn answer(rest: &str) -> String {
        let session = SessionContext::new_with_state(without_dependencies(SessionContext::new().state()));
        let rows = session.sql(&format!("{GROUPED} {rest}")).await.unwrap().collect().await.unwrap();
        pretty_format_batches(&rows).unwrap().to_string()
    }

    #[tokio::test]
    async fn a_second_grouping_has_all_groups() {
        for rest in [
            "select count(*) as n from (select g, k, sum(c) from b group by g, k)",
            "select count(*) as n from (select g, upper(k), sum(c) from b group by g, upper(k))",
            "select count(*) as n from (select distinct g, k from b)",
            "select count(*) as n from (select distinct x.g, x.k from b x join a on x.g = a.g)",
        ] {
            assert!(answer(rest).await.contains("| 3 |"), "{rest}");
        }
    }

    #[tokio::test]
    async fn a_sort_keeps_its_keys() {
        let rows = answer("select g, k from b order by g, k desc").await;
        let lines: Vec<&str> = rows.lines().skip(3).take(3).collect();
        assert_eq!(lines, ["| 1 | b |", "| 1 | a |", "| 2 | a |"]);
    }

    #[test]
    fn the_rules_that_use_dependencies_are_known() {
        let state = SessionContext::new().state();
        for name in DEPENDENT {
            assert!(state.optimizers().iter().any(|rule| rule.name() == name), "{name}");
        }
    }
}
