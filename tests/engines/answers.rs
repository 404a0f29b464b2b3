//! llrem's answers.

use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use chrono_tz::Tz;
use llrem::lake::{AnyLake, Lake};
use llrem::query::findings::Detectors;
use llrem::query::{Engine, Receiver, Scope, Statement};
use tokio::runtime::Runtime;

/// The rows of a result.
#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) schema: Option<SchemaRef>,
    pub(crate) batches: Vec<RecordBatch>,
}

impl Receiver for Answer {
    fn schema(&mut self, schema: &SchemaRef) -> llrem::Result<()> {
        self.schema = Some(schema.clone());
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> llrem::Result<()> {
        self.batches.push(batch.clone());
        Ok(())
    }
}

/// Asks llrem one query after the other.
pub(crate) struct Questioner<'l> {
    engine: Engine<'l>,
    runtime: Runtime,
}

impl<'l> Questioner<'l> {
    pub(crate) fn new(lake: &'l AnyLake, zone: Tz) -> Self {
        let engine = Engine::open(scope(lake, zone)).unwrap();
        Self { engine, runtime: Runtime::new().unwrap() }
    }

    pub(crate) fn ask(&mut self, statement: &Statement) -> llrem::Result<Answer> {
        let mut answer = Answer::default();
        self.runtime.block_on(self.engine.run(statement, &mut answer))?;
        Ok(answer)
    }
}

/// Returns the queries and detectors that come with llrem, without the user's own.
pub(crate) fn scope(lake: &AnyLake, zone: Tz) -> Scope<'_> {
    Scope { lake, zone, prices: None, detectors: Detectors::All(&[]), scheduler: None, progress: &llrem::etl::Silent }
}

impl Answer {
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The values of a column, row by row.
    pub(crate) fn column(&self, name: &str) -> Vec<String> {
        let options = FormatOptions::default();
        let texts = |batch: &RecordBatch| -> Vec<String> {
            let column = ArrayFormatter::try_new(batch.column_by_name(name).unwrap(), &options).unwrap();
            (0..batch.num_rows()).map(|row| column.value(row).to_string()).collect()
        };
        self.batches.iter().flat_map(texts).collect()
    }

    pub(crate) fn write(&self, path: &Path) {
        let file = std::fs::File::create(path).unwrap();
        let mut writer = arrow::ipc::writer::FileWriter::try_new(file, self.schema.as_ref().unwrap()).unwrap();
        for batch in &self.batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
    }
}

/// The values of the one row that the query gives.
pub(crate) fn row(lake: &Path, sql: &str) -> Vec<String> {
    let statement = Statement { sql: sql.to_owned(), parameters: Vec::new() };
    let answer = Questioner::new(&AnyLake::Local(Lake::open(lake).unwrap()), Tz::UTC).ask(&statement).unwrap();
    assert_eq!(answer.rows(), 1, "{sql}");
    let batch = answer.batches.iter().find(|batch| batch.num_rows() == 1).unwrap();
    let options = FormatOptions::default();
    let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap());
    columns.map(|column| column.value(0).to_string()).collect()
}
