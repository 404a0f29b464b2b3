//! Queries on a Ballista cluster. The scheduler lists the files and plans, and the executors read them, each with the
//! credentials of its own environment. This machine sends only the plan, with all values bound.

use std::collections::HashSet;
use std::slice::Iter;
use std::time::Duration;

use ballista::extension::{SessionConfigExt, SessionStateExt};
use datafusion::common::tree_node::TreeNode;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{Failure, Scheduler};
use crate::tables::{LAKE_TABLES, STATE_TABLES, TableDef};
use crate::{Error, Result};

/// Timeout of the scheduler's first answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster with the lake's own tables.
pub(super) struct Cluster {
    state: SessionState,
    scheduler: Scheduler,
}

impl Cluster {
    /// Creates a session with the tables and settings of the local one. Does not connect.
    pub(super) fn open(local: &SessionContext, scheduler: &Scheduler) -> Result<Self, Failure> {
        let state = local.state();
        // Adaptive plans are on by default, but cannot yet handle lost executors.
        let config = state.config().clone().upgrade_for_ballista();
        let config = config.with_ballista_adaptive_query_planner(false).with_target_partitions(scheduler.partitions());
        let state = SessionStateBuilder::new_from_existing(state).with_config(config).build();
        Ok(Self { state: state.upgrade_for_ballista(scheduler.address())?, scheduler: scheduler.clone() })
    }

    /// Checks that the scheduler answers.
    pub(super) async fn look(&self) -> Result<()> {
        let connected = timeout(PATIENCE, TcpStream::connect(self.scheduler.socket())).await;
        let reason = match connected {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} seconds", PATIENCE.as_secs()),
        };
        Err(Error::Query(format!(
            "cannot reach the scheduler `{}`: {reason}; see that it runs and that its port is open to this machine",
            self.scheduler
        )))
    }

    /// Returns the session in which a query over these tables runs on the cluster, or `None` if it cannot run there: it
    /// uses tables of this machine (`prices`, `findings`), is recursive, which Ballista does not support, or reads no
    /// table.
    pub(super) fn session_for(
        &self,
        plan: &LogicalPlan,
        tables: &HashSet<String>,
    ) -> Result<Option<SessionState>, Failure> {
        let names_any = |mut known: Iter<'_, &TableDef>| known.any(|table| tables.contains(table.name));
        if !names_any(LAKE_TABLES.iter()) || names_any(STATE_TABLES.iter()) {
            return Ok(None);
        }
        let is_recursive = plan.exists(|node| Ok(matches!(node, LogicalPlan::RecursiveQuery(_))))?;
        if is_recursive || matches!(self.state.optimize(plan)?, LogicalPlan::EmptyRelation(_)) {
            return Ok(None);
        }
        Ok(Some(self.state.clone()))
    }
}
