//! SQL over a lake: the `DataFusion` context, canned queries and their headers.

mod bounded;
mod builtin;
mod cache_folder;
pub mod canned;
#[cfg(feature = "ballista")]
mod cluster;
mod context;
mod dependencies;
pub mod duckdb;
pub mod findings;
mod footer_folder;
mod footers;
mod kept_findings;
mod lake_format;
mod local_files;
pub mod nearest;
mod parameters;
mod pinned;
mod reason;
mod refusal;
mod resources;
mod scheduler;
mod seen;
mod shared;
pub mod short_id;
mod skipping;
pub mod spark;

use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use chrono_tz::Tz;
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use futures::StreamExt;

use crate::lake::AnyLake;
use crate::progress::Progress;
use crate::{Error, Result};
use context::{Context, Verdict, prices};
pub use kept_findings::are_findings_kept;
pub use resources::cores;
pub use scheduler::Scheduler;

/// A query and the values of its parameters.
#[derive(Debug, Clone, Default)]
pub struct Statement {
    /// The text.
    pub sql: String,
    /// Values by name, without the `$`.
    pub parameters: Vec<(String, ScalarValue)>,
}

/// The environment of the queries of one call.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The lake.
    pub lake: &'a AnyLake,
    /// Time zone of days and of shown times.
    pub zone: Tz,
    /// The user's own price file.
    pub prices: Option<&'a Path>,
    /// Source of the table `findings`.
    pub detectors: findings::Detectors<'a>,
    /// The cluster for queries over the lake's own tables; `None` for this machine.
    pub scheduler: Option<&'a Scheduler>,
    /// Receives how many detectors have run, if a query needs findings.
    pub progress: &'a dyn Progress,
}

/// Receives the rows of a result as they arrive.
pub trait Receiver {
    /// Receives the result's columns, once, before any rows.
    fn schema(&mut self, schema: &SchemaRef) -> Result<()>;
    /// Receives some rows.
    fn batch(&mut self, batch: &RecordBatch) -> Result<()>;
}

/// Most attempts of a query if files are replaced again and again.
const ATTEMPTS: usize = 3;

/// The tables of a lake, registered once. Each query sees the lake as it is when the query starts.
pub struct Engine<'a> {
    scope: Scope<'a>,
    context: Context<'a>,
}

impl<'a> Engine<'a> {
    /// Registers the tables. Opens none of their files.
    pub fn open(scope: Scope<'a>) -> Result<Self> {
        let context = Context::open(scope).map_err(Failure::explain)?;
        Ok(Self { scope, context })
    }

    /// Checks that there is a lake. A local one was checked when it was opened; a remote one is checked only here.
    ///
    /// # Errors
    /// Fails with [`Error::NoLake`] if there is none, and with [`Error::Remote`] if the check fails.
    pub async fn look(&self) -> Result<()> {
        self.context.look().await
    }

    /// Returns tables of a query that are not uploaded: over a lake in object storage they are empty.
    pub fn absent(&self, statement: &Statement) -> Vec<&'static str> {
        self.context.absent_from(statement)
    }

    /// Runs a query. If a file is replaced before the first row arrives, the query starts again.
    pub async fn run(&mut self, statement: &Statement, receiver: &mut dyn Receiver) -> Result<()> {
        let mut delivered = false;
        for last in (0..ATTEMPTS).rev().map(|left| left == 0) {
            let Err(failure) = self.attempt(statement, receiver, &mut delivered).await else { return Ok(()) };
            match self.context.judge(failure) {
                Verdict::Again(pause, _) if !last && !delivered => {
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                    self.context = Context::open(self.scope).map_err(Failure::explain)?;
                }
                Verdict::Again(_, error) | Verdict::Failed(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn attempt(
        &self,
        statement: &Statement,
        receiver: &mut dyn Receiver,
        delivered: &mut bool,
    ) -> Result<(), Failure> {
        let mut rows = self.context.rows(statement).await?;
        let first = rows.next().await.transpose()?;
        *delivered = true;
        receiver.schema(&rows.schema())?;
        if let Some(batch) = first {
            receiver.batch(&batch)?;
        }
        while let Some(batch) = rows.next().await {
            receiver.batch(&batch?)?;
        }
        Ok(())
    }

    /// Returns the names of the functions that queries may call, in order.
    pub fn functions(&self) -> Vec<String> {
        self.context.functions()
    }
}

enum Failure {
    Query(DataFusionError),
    Other(Error),
}

impl Failure {
    fn explain(self) -> Error {
        match self {
            Self::Query(error) => reason::explain(&error),
            Self::Other(error) => error,
        }
    }
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        Self::Query(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}
