//! Chooses the filters that scans of local files use. With a filter, the reader first checks the statistics of each
//! file. Rows are sorted by session and time, so a filter on these columns skips most of a month, and so does a filter
//! on rows with a flag, which few files have. A filter on a kind or a status skips nothing, and checking it takes
//! longer than reading.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::split_conjunction;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;

const SESSION: &str = "session_id";
/// Columns by which rows are sorted.
const TOGETHER: [&str; 4] = [SESSION, "timestamp", "started_at", "ended_at"];

/// The engine's own rule, limited to filters that pay off.
#[derive(Debug)]
struct WorthwhileFilters(FilterPushdown);

/// Returns a session that pushes down only filters that skip files.
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
        let mut by_row = config.clone();
        by_row.execution.parquet.pushdown_filters = true;
        let filtered = plan.transform_down(|node| {
            let Some(filter) = filter_of_scan(&node).filter(|filter| leaves_out_rows(filter)) else {
                return Ok(Transformed::no(node));
            };
            // Files hold many sessions: with the row filter, pages of the others are skipped.
            let config = if columns_of(filter).contains(SESSION) { &by_row } else { config };
            Ok(Transformed::yes(self.0.optimize(node, config)?))
        })?;
        Ok(filtered.data)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn filter_of_scan(node: &Arc<dyn ExecutionPlan>) -> Option<&FilterExec> {
    node.downcast_ref::<FilterExec>().filter(|filter| filter.input().downcast_ref::<DataSourceExec>().is_some())
}

/// True if this filter uses a column by which rows are sorted, or selects rows with a flag (most rows have none).
fn leaves_out_rows(filter: &FilterExec) -> bool {
    let conditions = split_conjunction(filter.predicate());
    columns_of(filter).iter().any(|column| TOGETHER.contains(&column.as_str()))
        || conditions.iter().any(|condition| condition.downcast_ref::<Column>().is_some())
}

fn columns_of(filter: &FilterExec) -> HashSet<String> {
    collect_columns(filter.predicate()).iter().map(|column| column.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::dataframe::DataFrameWriteOptions;
    use datafusion::physical_plan::displayable;
    use datafusion::prelude::{ParquetReadOptions, SessionContext};

    use super::*;

    #[tokio::test]
    async fn scans_are_told_filters_that_leave_out_files() {
        let texts = ["session_id", "kind"].map(|name| Field::new(name, DataType::Utf8, true));
        let fields = [&texts[..], &[Field::new("is_abandoned", DataType::Boolean, true)]].concat();
        let columns = ["a", "b"].map(|text| Arc::new(StringArray::from(vec![text])) as ArrayRef);
        let columns = [&columns[..], &[Arc::new(BooleanArray::from(vec![true]))]].concat();
        let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("messages.parquet").display().to_string();
        let session = SessionContext::new_with_state(with_worthwhile_filters(SessionContext::new().state()));
        let written = session.read_batch(rows).unwrap();
        written.write_parquet(&path, DataFrameWriteOptions::new(), None).await.unwrap();
        session.register_parquet("messages", &path, ParquetReadOptions::default()).await.unwrap();
        let filtered = async |filter: &str| {
            let rows = session.sql(&format!("select * from messages where {filter}")).await.unwrap();
            let plan = rows.create_physical_plan().await.unwrap();
            let plan = displayable(&*plan).indent(false).to_string();
            [plan.contains("predicate="), !plan.contains("FilterExec")]
        };
        let [nothing, skips_files, skips_rows] = [[false, false], [true, false], [true, true]];
        assert_eq!(filtered("session_id = 'a'").await, skips_rows);
        assert_eq!(filtered("kind = 'b' and session_id > 'a'").await, skips_rows);
        assert_eq!(filtered("is_abandoned and kind = 'b'").await, skips_files);
        assert_eq!(filtered("kind = 'b'").await, nothing);
        assert_eq!(filtered("not is_abandoned").await, nothing);
    }
}
