//! SQL over a lake: the `DataFusion` context, canned queries and their headers.

mod builtin;
pub mod canned;
mod context;
pub mod duckdb;
pub mod findings;
pub mod nearest;
mod pinned;
mod refusal;

use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use chrono_tz::Tz;
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use futures::StreamExt;

use crate::lake::Lake;
use crate::{Error, Result};
pub use context::cores;
use context::{Context, prices};

/// A query and the values of its parameters.
#[derive(Debug, Clone, Default)]
pub struct Statement {
    /// The text.
    pub sql: String,
    /// Values by name, without the `$`.
    pub parameters: Vec<(String, ScalarValue)>,
}

/// What queries of one call see.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The lake.
    pub lake: &'a Lake,
    /// Time zone of days, and of moments that are shown.
    pub zone: Tz,
    /// The user's own price file.
    pub prices: Option<&'a Path>,
    /// What fills the table `findings`.
    pub detectors: findings::Detectors<'a>,
}

/// Takes the rows of a result as they come.
pub trait Receiver {
    /// Hears the result's columns, once, before any rows.
    fn schema(&mut self, schema: &SchemaRef) -> Result<()>;
    /// Takes some rows.
    fn batch(&mut self, batch: &RecordBatch) -> Result<()>;
}

/// A query begins anew so often, when files are replaced again and again.
const ATTEMPTS: usize = 3;

/// The tables of a lake, registered once. Each query sees the lake as it is when the query begins.
pub struct Engine<'a> {
    scope: Scope<'a>,
    context: Context<'a>,
}

impl<'a> Engine<'a> {
    /// Registers the tables; opens none of their files.
    pub fn open(scope: Scope<'a>) -> Result<Self> {
        let context = Context::open(scope).map_err(Failure::explain)?;
        Ok(Self { scope, context })
    }

    /// Runs a query. When a run of `llrem etl` replaced a file before the first row came, the query begins anew.
    pub async fn run(&mut self, statement: &Statement, receiver: &mut dyn Receiver) -> Result<()> {
        let mut delivered = false;
        for last in (0..ATTEMPTS).rev().map(|left| left == 0) {
            match self.attempt(statement, receiver, &mut delivered).await {
                Err(Failure::Query(error)) if !last && !delivered && refusal::is_replaced_file(&error) => {
                    self.context = Context::open(self.scope).map_err(Failure::explain)?;
                }
                outcome => return outcome.map_err(Failure::explain),
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

    /// Names of the functions that queries may call, in order.
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
            Self::Query(error) => refusal::explain(&error),
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
