//! Measures the time of every canned query, and the time that `DuckDB` takes for it on the same files.
//!
//! The lake is `LLREM_BENCH_LAKE`, else one of a generated corpus of `LLREM_BENCH_BYTES` (64 MB). `DuckDB` runs in the
//! Python of `LLREM_TEST_VENV` (as `tests/run` makes it); without one, llrem runs alone.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "what fails here ends the bench; files are its own")]
#![allow(clippy::print_stderr, clippy::expect_used, reason = "it talks to whoever runs it")]

mod corpus;
mod lake;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use criterion::{Criterion, criterion_group, criterion_main};
use datafusion::scalar::ScalarValue;
use llrem::lake::{AnyLake, Lake};
use llrem::query::canned::Library;
use llrem::query::findings::Detectors;
use llrem::query::{Engine, Receiver, Scope, Statement};
use serde_json::{Value, json};

struct Forgotten;

impl Receiver for Forgotten {
    fn schema(&mut self, _: &SchemaRef) -> llrem::Result<()> {
        Ok(())
    }

    fn batch(&mut self, _: &RecordBatch) -> llrem::Result<()> {
        Ok(())
    }
}

/// `DuckDB` with the lake's tables, which runs a query for each line and answers with the seconds that it took.
struct DuckDb {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl DuckDb {
    fn start(lake: &Path) -> Option<Self> {
        let python = Path::new(&std::env::var_os("LLREM_TEST_VENV")?).join("bin/python");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/duckdb_queries.py");
        let mut command = Command::new(python);
        let mut child = command.arg(script).arg(lake).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (input, output) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        Some(Self { child, input, output })
    }

    fn run(&mut self, statement: &Statement) -> Duration {
        let values = statement.parameters.iter().map(|(name, value)| (name.clone(), json_of(value)));
        let question = json!({"sql": statement.sql, "parameters": values.collect::<serde_json::Map<_, _>>()});
        writeln!(self.input, "{question}").unwrap();
        self.input.flush().unwrap();
        let mut seconds = String::new();
        self.output.read_line(&mut seconds).unwrap();
        Duration::from_secs_f64(seconds.trim().parse().expect("DuckDB answers in seconds"))
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        drop(self.child.kill());
    }
}

fn json_of(value: &ScalarValue) -> Value {
    match value {
        ScalarValue::Int64(number) => json!(number),
        ScalarValue::Float64(number) => json!(number),
        ScalarValue::Boolean(truth) => json!(truth),
        ScalarValue::Utf8(text) => json!(text),
        _ => Value::Null,
    }
}

fn queries(criterion: &mut Criterion) {
    let (path, _folder) = lake::lake();
    let lake = AnyLake::Local(Lake::open(&path).unwrap());
    let scope = Scope {
        lake: &lake,
        zone: chrono_tz::UTC,
        prices: None,
        detectors: Detectors::All(&[]),
        scheduler: None,
        progress: &llrem::etl::Silent,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let mut engine = Engine::open(scope).unwrap();
    let mut duckdb = DuckDb::start(&path);
    if duckdb.is_none() {
        eprintln!("LLREM_TEST_VENV names no Python: DuckDB does not run beside");
    }
    let mut statements: Vec<(String, Statement)> = Library::load(&[])
        .unwrap()
        .queries
        .iter()
        .map(|canned| {
            (canned.name.clone(), canned.bind(&[], chrono_tz::UTC, &|_, _| unreachable!("defaults")).unwrap())
        })
        .collect();
    statements.push(("select_1".to_owned(), Statement { sql: "select 1".to_owned(), parameters: Vec::new() }));
    for (name, statement) in &statements {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
        group.bench_function("llrem", |bencher| {
            bencher.iter(|| runtime.block_on(engine.run(statement, &mut Forgotten)).unwrap());
        });
        // Only llrem has prices, sources and runs.
        let is_portable = !statement.sql.contains("from sources") && !statement.sql.contains("from prices");
        if let Some(duckdb) = duckdb.as_mut().filter(|_| is_portable) {
            group.bench_function("duckdb", |bencher| {
                bencher.iter_custom(|rounds| (0..rounds).map(|_| duckdb.run(statement)).sum());
            });
        }
        group.finish();
    }
}

criterion_group!(benches, queries);
criterion_main!(benches);
