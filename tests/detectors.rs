//! Every detector on sessions in which it must find something, must not, and stands on its thresholds.
//!
//! Scripts are in `tests/detectors/NAME.toml`, each session with the number of its findings; the findings, whole, in
//! `NAME.ndjson` beside it. `LLREM_UPDATE=1` writes what comes out, to be reviewed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "what fails here fails a test; files are the test's own"
)]

#[path = "common/script.rs"]
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use llrem::etl::{self, Options, Silent};
use llrem::lake::Lake;
use llrem::query::canned::Library;
use llrem::query::{self, Receiver, Scope, Statement};
use serde_json::Value;

use script::Scripts;

/// Columns of every detector, in their order.
const COLUMNS: [&str; 15] = [
    "detector",
    "agent",
    "session_id",
    "project",
    "started_at",
    "severity",
    "occurrences",
    "wasted_tokens",
    "wasted_cost_usd",
    "first_seq",
    "last_seq",
    "evidence",
    "explanation",
    "basis",
    "machine",
];

fn folder(name: &str) -> PathBuf {
    let project = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&project).join(name)
}

fn files(folder: &Path, extension: &str) -> BTreeMap<String, PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    paths.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

#[derive(Default)]
struct Rows {
    columns: Vec<String>,
    lines: Vec<u8>,
}

impl Receiver for Rows {
    fn schema(&mut self, schema: &SchemaRef) -> llrem::Result<()> {
        self.columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        Ok(())
    }

    fn batch(&mut self, batch: &RecordBatch) -> llrem::Result<()> {
        let mut writer = arrow::json::LineDelimitedWriter::new(&mut self.lines);
        writer.write(batch)?;
        Ok(writer.finish()?)
    }
}

impl Rows {
    fn of(lake: &Path, statement: &Statement) -> Self {
        let lake = Lake::open(lake).unwrap();
        let scope = Scope { lake: &lake, zone: chrono_tz::UTC, prices: None };
        let mut rows = Self::default();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(query::run(scope, statement, &mut rows)).unwrap();
        rows
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.lines).unwrap()
    }

    fn values(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn lake_of(scripts: &Scripts, folder: &Path) -> PathBuf {
    for session in &scripts.session {
        session.write_below(&folder.join("home"));
    }
    let lake = folder.join("lake");
    let options = Options {
        home: Some(folder.join("home")),
        jobs: Some(1),
        machine: Some("test".to_owned()),
        ..Options::new(lake.clone())
    };
    etl::run(&options, &Silent).unwrap();
    lake
}

/// What is wrong with a detector's findings.
fn check(name: &str, path: &Path, problems: &mut String) {
    let scripts: Scripts =
        toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let folder_of_test = tempfile::tempdir().unwrap();
    let lake = lake_of(&scripts, folder_of_test.path());
    let library = Library::load(&[folder("sql/detectors")]).unwrap();
    let given: Vec<(String, String)> = scripts.parameters.clone().into_iter().collect();
    let statement = library.find(name).unwrap().bind(&given, chrono_tz::UTC, &|_, _| panic!("a moment")).unwrap();
    let rows = Rows::of(&lake, &statement);
    let mut told = |text: String| writeln!(problems, "{name}: {text}").unwrap();

    if rows.columns != COLUMNS {
        told(format!("columns are {:?}", rows.columns));
    }
    let found = rows.values();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &found {
        *counts.entry(row["session_id"].as_str().unwrap()).or_default() += 1;
        told_of_row(row, &mut told);
    }
    let id = |session: &script::Session| session.id();
    for session in &scripts.session {
        let count = counts.remove(id(session).as_str()).unwrap_or_default();
        if count != session.found {
            told(format!("{} findings in `{}`, expected {}", count, session.name, session.found));
        }
    }
    for (session, count) in counts {
        told(format!("{count} findings in `{session}`, which no script names"));
    }
    if !scripts.session.iter().any(|session| session.found > 0) || !scripts.session.iter().any(|it| it.found == 0) {
        told("needs a session with a finding, and one without".to_owned());
    }
    told_of_spending(&lake, &found, &mut told);

    let expected = path.with_extension("ndjson");
    if std::env::var_os("LLREM_UPDATE").is_some_and(|value| value == "1") {
        std::fs::write(&expected, rows.text()).unwrap();
    }
    let expected = std::fs::read_to_string(expected).unwrap_or_default();
    if expected != rows.text() {
        told(format!("gives\n{}instead of\n{expected}", rows.text()));
    }
}

fn told_of_row(row: &Value, told: &mut impl FnMut(String)) {
    let severities = ["low", "medium", "high"];
    if !severities.contains(&row["severity"].as_str().unwrap_or_default()) {
        told(format!("severity is none of {severities:?}: {row}"));
    }
    if !["measured", "estimated"].contains(&row["basis"].as_str().unwrap_or_default()) {
        told(format!("basis is neither measured nor estimated: {row}"));
    }
    if row["occurrences"].as_i64().is_none_or(|count| count < 1) {
        told(format!("no occurrences: {row}"));
    }
    let places = [&row["first_seq"], &row["last_seq"]].map(Value::as_i64);
    if let [Some(first), Some(last)] = places
        && first > last
    {
        told(format!("begins behind its end: {row}"));
    }
    for text in ["evidence", "explanation"] {
        if row[text].as_str().is_none_or(str::is_empty) {
            told(format!("no {text}: {row}"));
        }
    }
}

/// What is wasted in a session is a part of what it cost.
fn told_of_spending(lake: &Path, found: &[Value], told: &mut impl FnMut(String)) {
    let sql = "select session_id, cost_usd, total_tokens from sessions".to_owned();
    for session in Rows::of(lake, &Statement { sql, parameters: Vec::new() }).values() {
        let findings = found.iter().filter(|row| row["session_id"] == session["session_id"]);
        let (cost, tokens) = findings.fold((0.0, 0), |(cost, tokens), row| {
            (
                cost + row["wasted_cost_usd"].as_f64().unwrap_or_default(),
                tokens + row["wasted_tokens"].as_i64().unwrap_or_default(),
            )
        });
        let spent = session["cost_usd"].as_f64().unwrap_or_default();
        let used = session["total_tokens"].as_i64().unwrap_or_default();
        if cost > spent + 1e-9 || tokens > used {
            told(format!("wastes ${cost} and {tokens} tokens of ${spent} and {used}: {session}"));
        }
    }
}

#[test]
fn detectors_find_what_they_say_and_nothing_else() {
    let mut problems = String::new();
    let only = std::env::var("LLREM_TEST_DETECTOR").ok();
    let scripts = files(&folder("tests/detectors"), "toml");
    std::thread::scope(|scope| {
        let checks: Vec<_> = scripts
            .iter()
            .filter(|(name, _)| only.as_ref().is_none_or(|only| only == *name))
            .map(|(name, path)| {
                scope.spawn(move || {
                    let mut problems = String::new();
                    check(name, path, &mut problems);
                    problems
                })
            })
            .collect();
        for check in checks {
            problems.push_str(&check.join().unwrap_or_else(|_| "a check panicked\n".to_owned()));
        }
    });
    assert!(problems.is_empty(), "LLREM_UPDATE=1 accepts findings\n{problems}");
}

#[test]
fn every_detector_has_scripts() {
    let detectors: BTreeSet<String> = files(&folder("sql/detectors"), "sql").into_keys().collect();
    let scripts: BTreeSet<String> = files(&folder("tests/detectors"), "toml").into_keys().collect();
    assert_eq!(detectors, scripts);
}
