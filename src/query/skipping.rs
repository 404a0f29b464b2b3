//! Which filters a scan of this machine's files is told. With a filter, each file that is opened is first asked by its
//! least and greatest values whether it holds anything of what is wanted. Rows lie by session and time: for a filter on
//! these that leaves out most of a month; for one on a kind or a status nothing, and asking takes longer than reading.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;

/// Columns by which rows lie together.
const TOGETHER: [&str; 4] = ["session_id", "timestamp", "started_at", "ended_at"];

/// The engine's own rule, for the plans that it is worth while for.
#[derive(Debug)]
struct WorthwhileFilters(FilterPushdown);

/// A session that tells scans no filter that leaves out no file.
pub(super) fn with_worthwhile_filters(state: SessionState) -> SessionState {
    let own = FilterPushdown::new();
    let rules = state.physical_optimizers().iter().map(|rule| -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
        if rule.name() == own.name() { Arc::new(WorthwhileFilters(FilterPushdown::new())) } else { Arc::clone(rule) }
    });
    let rules = rules.collect();
    SessionStateBuilder::new_from_existing(state).with_physical_optimizer_rules(rules).build()
}

impl PhysicalOptimizerRule for WorthwhileFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if leaves_out_rows(&plan)? { self.0.optimize(plan, config) } else { Ok(plan) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Whether a scan's filter looks at a column by which rows lie together.
fn leaves_out_rows(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        if let Some(filter) = node.downcast_ref::<FilterExec>()
            && filter.input().downcast_ref::<DataSourceExec>().is_some()
        {
            let columns = collect_columns(filter.predicate());
            found |= columns.iter().any(|column| TOGETHER.contains(&column.name()));
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use arrow::array::{RecordBatch, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::dataframe::DataFrameWriteOptions;
    use datafusion::physical_plan::displayable;
    use datafusion::prelude::{ParquetReadOptions, SessionContext};

    use super::*;

    #[tokio::test]
    async fn scans_are_told_filters_that_leave_out_files() {
        let fields = ["session_id", "kind"].map(|name| Field::new(name, DataType::Utf8, true));
        let columns = ["a", "b"].map(|text| Arc::new(StringArray::from(vec![text])) as _);
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), columns.to_vec()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("messages.parquet").display().to_string();
        let session = SessionContext::new_with_state(with_worthwhile_filters(SessionContext::new().state()));
        let written = session.read_batch(rows).unwrap();
        written.write_parquet(&path, DataFrameWriteOptions::new(), None).await.unwrap();
        session.register_parquet("messages", &path, ParquetReadOptions::default()).await.unwrap();
        let told = async |filter: &str| {
            let rows = session.sql(&format!("select * from messages where {filter}")).await.unwrap();
            let plan = rows.create_physical_plan().await.unwrap();
            displayable(&*plan).indent(false).to_string().contains("predicate=")
        };
        assert!(told("session_id = 'a'").await);
        assert!(told("kind = 'b' and session_id > 'a'").await);
        assert!(!told("kind = 'b'").await);
    }
}
