//! The table `findings`: runs the detectors over the lake, or over one session, and settles the overlaps of their findings.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::datasource::{MemTable, TableProvider};
use datafusion::error::DataFusionError;
use datafusion::functions_aggregate::expr_fn::bool_or;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::{col, lit};
use futures::{StreamExt, TryStreamExt};

use super::{Context, in_zone, planned};
use crate::progress::Stage;
use crate::query::findings::{self, Detector};
use crate::query::kept_findings::{DataFiles, FoundInFiles, KeptFindings, depends_on_files_alone};
use crate::query::resources::cores;
use crate::query::short_id::KnownSession;
use crate::query::{Failure, reason, refusal, shared};
use crate::tables::{FINDINGS, LAKE_TABLES, SESSIONS};
use crate::{Error, Result};

/// Name of the table with the detectors' rows, while `findings` is computed.
const FOUND: &str = "found";

impl Context<'_> {
    /// Runs the detectors, and settles the overlaps of their findings.
    pub(super) async fn fill_findings(&self) -> Result<(), Failure> {
        let schema = in_zone(&FINDINGS.schema(), self.scope.zone);
        let given = findings::found_schema(&schema);
        let (detectors, sessions) = (self.scope.detectors.all()?, self.scope.detectors.sessions());
        let kept = KeptFindings::of(self.scope.lake, self.scope.zone, &detectors, sessions);
        if let Some(rows) = kept.as_ref().and_then(KeptFindings::read) {
            self.session.deregister_table(FINDINGS.name)?;
            return self.register_rows(&FINDINGS, &rows);
        }
        let detectors = self.that_may_find(detectors.iter().collect(), sessions.first()).await?;
        let whole = self.restrict(sessions).await?;
        let progress = self.scope.progress;
        progress.stage(Stage::Detecting);
        progress.start(detectors.len() as u64, 0);
        let found = self.found(&detectors, kept.as_ref(), &given).await;
        progress.finish();
        self.session.deregister_table(FOUND)?;
        self.session.register_table(FOUND, Arc::new(MemTable::try_new(given, vec![found?])?))?;
        let counted = self.session.sql(findings::SQL).await?.collect().await?;
        self.session.deregister_table(FOUND)?;
        for (name, table) in whole {
            self.session.deregister_table(name)?;
            self.session.register_table(name, table)?;
        }
        if let Some(kept) = kept {
            kept.write(&schema, &counted);
        }
        self.session.deregister_table(FINDINGS.name)?;
        self.register_rows(&FINDINGS, &counted)
    }

    /// Returns the rows of the detectors. Those that look at each session alone run only over files that have changed.
    async fn found(
        &self,
        detectors: &[&Detector],
        kept: Option<&KeptFindings<'_>>,
        given: &SchemaRef,
    ) -> Result<Vec<RecordBatch>, Failure> {
        let kept = kept.filter(|_| self.scope.scheduler.is_none());
        let Some((kept, files)) = kept.and_then(|kept| Some((kept, kept.files()?))) else {
            return self.rows_of_all(detectors, given).await;
        };
        let (within, across): (Vec<&Detector>, Vec<&Detector>) =
            detectors.iter().partition(|detector| depends_on_files_alone(detector));
        let since = match kept.found_in_files() {
            Some(earlier) => self.found_since(&earlier, &files, &within, given).await?,
            None => None,
        };
        // The files of a lake that has changed meanwhile may be gone.
        let mut found = match since.filter(|_| kept.is_current()) {
            Some(found) => found,
            None => self.rows_of_all(&within, given).await?,
        };
        kept.write_found(given, &found, &files);
        found.extend(self.rows_of_all(&across, given).await?);
        Ok(found)
    }

    /// Runs the detectors over the changed files, and adds the kept rows of all other sessions. Returns `None` if the kept rows
    /// lack a column.
    async fn found_since(
        &self,
        earlier: &FoundInFiles,
        files: &DataFiles,
        detectors: &[&Detector],
        given: &SchemaRef,
    ) -> Result<Option<Vec<RecordBatch>>, Failure> {
        let changed = Self::over(self.scope, Some(files.changed_since(earlier)))?;
        changed.seen.begin();
        let sessions = changed.session.sql("select machine, agent, session_id from sessions").await?.collect().await?;
        // `findings::SQL` leaves out sessions that the lake no longer has.
        let Some(stays) = earlier.without(&sessions) else { return Ok(None) };
        let detectors = changed.that_may_find(detectors.to_vec(), None).await?;
        let mut found = changed.rows_of_all(&detectors, given).await?;
        found.push(stays);
        Ok(Some(found))
    }

    async fn rows_of_all(&self, detectors: &[&Detector], given: &SchemaRef) -> Result<Vec<RecordBatch>, Failure> {
        let mut found = Vec::new();
        for (detector, batches) in detectors.iter().zip(self.found_by(detectors).await?) {
            for batch in batches {
                found.push(findings::found(&detector.name, &batch, given)?);
            }
        }
        Ok(found)
    }

    /// Returns the detectors that may find something: in one session, or in any. To plan the queries of the others would
    /// take longer than to look.
    async fn that_may_find<'d>(
        &self,
        detectors: Vec<&'d Detector>,
        session: Option<&KnownSession>,
    ) -> Result<Vec<&'d Detector>, Failure> {
        if detectors.is_empty() || (session.is_none() && self.remote.is_some()) {
            return Ok(detectors);
        }
        let mut rows = self.session.table(SESSIONS.name).await?;
        if let Some(session) = session {
            rows = rows.filter(is_session(session))?;
        }
        let conditions = detectors.iter().enumerate().map(|(place, detector)| {
            let condition = rows.parse_sql_expr(&detector.condition())?;
            Ok(bool_or(condition.is_not_false()).alias(format!("c{place}")))
        });
        let conditions = conditions.collect::<Result<Vec<_>, DataFusionError>>()?;
        let holds = rows.aggregate(Vec::new(), conditions)?.collect().await?;
        let may_find = |place: usize| holds.iter().any(|rows| rows.column(place).as_boolean().true_count() > 0);
        Ok(detectors.into_iter().enumerate().filter_map(|(place, it)| may_find(place).then_some(it)).collect())
    }

    /// Leaves only the records of some sessions in the tables, if there are any. Returns the whole tables.
    async fn restrict(&self, only: &[KnownSession]) -> Result<Vec<(&'static str, Arc<dyn TableProvider>)>, Failure> {
        let Some(filter) = only.iter().map(is_session).reduce(Expr::or) else { return Ok(Vec::new()) };
        let mut whole = Vec::new();
        // Detectors compare a session with all others.
        for table in LAKE_TABLES.into_iter().filter(|table| table.name != SESSIONS.name) {
            let rows = self.session.table(table.name).await?.filter(filter.clone())?.into_view();
            whole.extend(self.session.deregister_table(table.name)?.map(|whole| (table.name, whole)));
            self.session.register_table(table.name, rows)?;
        }
        Ok(whole)
    }

    /// Returns the rows of each detector. Most of the time goes into planning, so several are planned at once.
    async fn found_by(&self, detectors: &[&Detector]) -> Result<Vec<Vec<RecordBatch>>, Failure> {
        let blame = |detector: &Detector, failure| match failure {
            Failure::Query(error) if !self.seen.is_stopped() && !refusal::is_replaced_file(&error) => {
                let reason = reason::explain(&error);
                Failure::Other(Error::Query(format!("detector `{}`: {reason}", detector.name)))
            }
            failure => failure,
        };
        if self.scope.scheduler.is_some() {
            let mut found = Vec::new();
            for detector in detectors {
                found.push(self.rows_of(detector).await.map_err(|failure| blame(detector, failure))?);
                self.scope.progress.advance(1, 0);
            }
            return Ok(found);
        }
        self.seen.begin();
        let tasks = detectors.iter().map(|detector| Ok((*detector, self.task(detector)?)));
        let tasks = tasks.collect::<Result<Vec<_>, Failure>>()?;
        let running = futures::stream::iter(tasks).map(|(detector, task)| async move {
            let outcome = SpawnedTask::spawn(task).join_unwind().await;
            let rows = outcome.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error))).flatten();
            self.scope.progress.advance(1, 0);
            rows.map_err(|error| (detector, error))
        });
        let found = running.buffered(cores()).try_collect().await;
        found.map_err(|(detector, error): (&Detector, _)| blame(detector, Failure::Query(error)))
    }

    async fn rows_of(&self, detector: &Detector) -> Result<Vec<RecordBatch>, Failure> {
        let parsed = self.parsed(&detector.statement)?;
        let tables = self.tables_of(&parsed)?;
        Ok(self.started(parsed, &tables, &detector.statement).await?.try_collect().await?)
    }

    /// Returns the work of a detector, which plans and runs its query.
    fn task(
        &self,
        detector: &Detector,
    ) -> Result<impl Future<Output = Result<Vec<RecordBatch>, DataFusionError>> + Send + use<>, Failure> {
        let parsed = self.parsed(&detector.statement)?;
        self.fill_state_tables(&self.tables_of(&parsed)?)?;
        let (state, parameters) = (self.session.state(), detector.statement.parameters.clone());
        Ok(async move {
            let plan = planned(&state, parsed, &parameters).await?;
            let plan = shared::physical(&state, plan).await?;
            execute_stream(plan, state.task_ctx())?.try_collect().await
        })
    }
}

/// Selects the rows of a session.
fn is_session(session: &KnownSession) -> Expr {
    let same = |column: &str, value: &str| col(column).eq(lit(value));
    let place = same("machine", &session.machine).and(same("agent", &session.agent)).and(same("month", &session.month));
    place.and(same("session_id", &session.session_id))
}
