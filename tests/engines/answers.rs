//! What llrem answers.

use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use chrono_tz::Tz;
use llrem::lake::Lake;
use llrem::query::{self, Receiver, Scope, Statement, findings};

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

impl Answer {
    pub(crate) fn of(lake: &Path, zone: Tz, statement: &Statement) -> llrem::Result<Self> {
        let lake = Lake::open(lake)?;
        let mut answer = Self::default();
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        runtime.block_on(query::run(
            Scope { lake: &lake, zone, prices: None, detectors: &findings::builtin },
            statement,
            &mut answer,
        ))?;
        Ok(answer)
    }

    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
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
    let answer = Answer::of(lake, Tz::UTC, &statement).unwrap();
    assert_eq!(answer.rows(), 1, "{sql}");
    let batch = answer.batches.iter().find(|batch| batch.num_rows() == 1).unwrap();
    let options = FormatOptions::default();
    let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap());
    columns.map(|column| column.value(0).to_string()).collect()
}
