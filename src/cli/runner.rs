//! Runs queries over one lake: provides their threads, and lets Ctrl-C end them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use tokio::runtime::{Builder, Runtime};

use super::freshness;
use super::output::Printer;
use super::settings::Settings;
use crate::interrupt;
use crate::lake::AnyLake;
use crate::query::findings::Detectors;
use crate::query::{Engine, Receiver, Scope, Statement, cores};
use crate::{Error, Result};

/// Runs queries one after the other.
pub(super) struct Runner<'a> {
    scope: Scope<'a>,
    printer: Printer,
    engine: Engine<'a>,
    threads: Threads,
}

impl<'a> Runner<'a> {
    /// Registers the lake's tables, starts the threads, and checks that there is a lake.
    pub(super) fn start(settings: &'a Settings, lake: &'a AnyLake) -> Result<Self> {
        Self::with(settings, lake, Detectors::All(settings.query_folders()))
    }

    /// Like `new`, with these detectors for the table `findings`.
    pub(super) fn with(settings: &'a Settings, lake: &'a AnyLake, detectors: Detectors<'a>) -> Result<Self> {
        let runner = Self::silent(settings, lake, detectors)?;
        freshness::warn(settings, lake);
        Ok(runner)
    }

    /// Like `start`, without a word about the lake's age.
    pub(super) fn quiet(settings: &'a Settings, lake: &'a AnyLake) -> Result<Self> {
        Self::silent(settings, lake, Detectors::All(settings.query_folders()))
    }

    /// Like `with`, without a word about the lake's age.
    pub(super) fn silent(settings: &'a Settings, lake: &'a AnyLake, detectors: Detectors<'a>) -> Result<Self> {
        let scheduler = settings.scheduler.as_ref();
        let scope = Scope {
            lake,
            zone: settings.clock.zone,
            prices: settings.prices(),
            detectors,
            scheduler,
            progress: &settings.progress,
        };
        let (engine, threads) = (Engine::open(scope)?, Threads::start()?);
        threads.wait(engine.look())?;
        Ok(Self { scope, printer: settings.printer, engine, threads })
    }

    /// Runs a query until it ends or is interrupted. Another one can run afterwards.
    pub(super) fn run(&mut self, statement: &Statement, receiver: &mut dyn Receiver) -> Result<()> {
        for table in self.engine.absent(statement) {
            self.printer.warn(&format!(
                "`{table}` is empty in an uploaded lake, because it names local files; run the query on the machine itself"
            ));
        }
        let outcome = self.threads.wait(self.engine.run(statement, receiver));
        if matches!(outcome, Err(Error::Interrupted)) {
            // A long computation step ends by itself, and keeps its memory until then.
            self.threads = Threads::start()?;
            self.engine = Engine::open(self.scope)?;
        }
        outcome
    }

    /// Returns all rows of a query with a small result.
    pub(super) fn rows(&mut self, statement: &Statement) -> Result<RecordBatch> {
        let mut all = All::default();
        self.run(statement, &mut all)?;
        let schema = all.schema.unwrap_or_else(|| Arc::new(Schema::empty()));
        Ok(concat_batches(&schema, &all.batches)?)
    }

    /// Returns the names of the functions that queries may call, in order.
    pub(super) fn functions(&self) -> Vec<String> {
        self.engine.functions()
    }
}

/// Keeps all rows of a result.
#[derive(Default)]
struct All {
    schema: Option<SchemaRef>,
    batches: Vec<RecordBatch>,
}

impl Receiver for All {
    fn schema(&mut self, schema: &SchemaRef) -> Result<()> {
        self.schema = Some(Arc::clone(schema));
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.batches.push(batch.clone());
        Ok(())
    }
}

/// A runtime that does not block when it is dropped.
struct Threads(Option<Runtime>);

impl Threads {
    fn start() -> Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(cores()).enable_all().build();
        runtime
            .map(|runtime| Self(Some(runtime)))
            .map_err(|error| Error::Query(format!("cannot start threads: {error}")))
    }

    fn wait(&self, work: impl Future<Output = Result<()>>) -> Result<()> {
        let Some(runtime) = &self.0 else { return Err(Error::Interrupted) };
        let run = || {
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    () = interrupt::asked() => Err(Error::Interrupted),
                    outcome = work => outcome,
                }
            })
        };
        // Values of more than 2 GiB, for example, make the engine panic.
        let failed = || Err(Error::Query("the engine failed on it; its values may be too large".to_owned()));
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| failed())
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
