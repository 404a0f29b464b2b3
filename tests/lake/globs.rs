//! Readers that glob a table's files find at least one, also if the table has no rows.

use crate::common::python;
use crate::lake::{Bench, TABLES, Transcript, batches, data_files, succeed};

fn session(bench: &Bench, name: &str, began: &str) {
    let mut transcript = Transcript::new(name, began);
    transcript.prompt("Hello");
    bench.transcript(&format!("{name}.jsonl"), transcript.text());
}

/// Rows of the table's files, each file by itself.
fn rows(bench: &Bench, table: &str) -> Vec<usize> {
    let files = data_files(&bench.lake().join(table));
    files.iter().map(|file| batches(file).iter().map(arrow::array::RecordBatch::num_rows).sum()).collect()
}

#[test]
fn a_table_without_rows_has_a_file() {
    let bench = Bench::new();
    session(&bench, "one", "2025-08-05T10:00:00Z");
    bench.extract();
    assert_eq!((rows(&bench, "tool_calls"), rows(&bench, "usage")), (vec![0], vec![0]));
    // The part with the empty files is rewritten, and then folded with another one.
    session(&bench, "two", "2025-08-06T10:00:00Z");
    session(&bench, "one", "2025-08-05T11:00:00Z");
    bench.extract();
    assert_eq!((rows(&bench, "tool_calls"), rows(&bench, "messages")), (vec![0], vec![2]));
    bench.verify();
    // Another part has rows now.
    let mut busy = Transcript::new("busy", "2025-10-01T10:00:00Z");
    busy.prompt("Build").call("Bash", &serde_json::json!({"command": "make"}), "built").reply("Built.");
    bench.transcript("busy.jsonl", busy.text());
    bench.extract();
    assert_eq!(rows(&bench, "tool_calls").iter().sum::<usize>(), 1);
    bench.verify();
}

#[test]
fn a_lake_without_sessions_has_files() {
    let bench = Bench::new();
    bench.extract();
    assert_eq!(TABLES.map(|table| rows(&bench, table)), [(); 4].map(|()| vec![0]));
    bench.verify();
    let state = || (data_files(&bench.lake()), std::fs::read(bench.lake().join("_llrem/manifest")).unwrap());
    let first = state();
    bench.extract();
    assert_eq!(first, state(), "nothing has changed");
    assert_eq!(bench.sql("select count(*) from sessions"), ["0"]);
    // A run that reads everything writes lost files again.
    std::fs::remove_dir_all(bench.lake().join("usage")).unwrap();
    succeed(bench.etl().arg("--full"));
    bench.verify();
    session(&bench, "one", "2025-08-05T10:00:00Z");
    bench.extract();
    assert_eq!(TABLES.map(|table| rows(&bench, table)), [vec![1], vec![1], vec![0], vec![0]]);
    bench.verify();
}

#[test]
fn duckdb_and_pandas_read_a_table_without_rows() {
    let bench = Bench::new();
    bench.extract();
    let output = python::script("globs.py").arg(bench.lake().join("sessions")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 0\n", "{}", String::from_utf8_lossy(&output.stderr));
    session(&bench, "one", "2025-08-05T10:00:00Z");
    bench.extract();
    let output = python::script("globs.py").arg(bench.lake().join("tool_calls")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 0\n", "{}", String::from_utf8_lossy(&output.stderr));
}
