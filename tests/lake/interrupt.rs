//! Runs that are interrupted, whatever they are doing, end soon and leave the lake as it was.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::lake::{Bench, Transcript, data_bytes, stderr};

/// The time that an interrupted run may take on a busy machine.
const GENEROUS: Duration = Duration::from_secs(60);

fn small() -> Transcript {
    let mut transcript = Transcript::new("plain", "2025-08-05T10:00:00Z");
    transcript.prompt("build the shop").reply("Built.");
    transcript
}

/// A lake of a small session, and a home to which something is added that takes long to read.
fn with_lake() -> Bench {
    let bench = Bench::new();
    bench.transcript("plain.jsonl", small().text());
    bench.extract();
    bench
}

fn wait(mut child: Child, when: &str) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > GENEROUS {
            child.kill().unwrap();
            panic!("{when}: it did not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

fn interrupted(command: &mut Command, signal: Signal, when: &str) -> Output {
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    // Into the middle of what takes long.
    std::thread::sleep(Duration::from_millis(700));
    kill_process(Pid::from_child(&child), signal).unwrap();
    let output = wait(child, when);
    assert_eq!(output.status.code(), Some(130), "{when}: {}", stderr(&output));
    output
}

fn assert_leaves_the_lake(bench: &Bench, signal: Signal, when: &str) {
    let before = data_bytes(&bench.lake());
    interrupted(&mut bench.etl(), signal, when);
    assert!(data_bytes(&bench.lake()) == before, "{when}: the lake is not as it was");
    bench.verify();
}

#[test]
fn in_the_middle_of_a_file_without_end() {
    for signal in [Signal::INT, Signal::TERM] {
        let bench = with_lake();
        // One line of zeros, which take no space.
        let path = bench.transcript("endless.jsonl", "");
        File::options().write(true).open(&path).unwrap().set_len(1 << 42).unwrap();
        assert_leaves_the_lake(&bench, signal, "a file without end");
        fs::remove_file(path).unwrap();
        bench.extract();
    }
}

/// Without an index, every session of the database takes a look at every row.
#[test]
fn in_the_middle_of_a_database() {
    let bench = with_lake();
    let database = rusqlite::Connection::open(bench.home().join(".claude/__store.db")).unwrap();
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
        INSERT INTO base_messages SELECT 'm' || i, 's' || i, i FROM n";
    database
        .execute_batch(&format!(
            "CREATE TABLE base_messages (uuid TEXT, session_id TEXT, timestamp INTEGER);
             CREATE TABLE user_messages (uuid TEXT PRIMARY KEY, message TEXT);
             CREATE TABLE assistant_messages (uuid TEXT PRIMARY KEY, message TEXT);
             {rows}"
        ))
        .unwrap();
    database.close().unwrap();
    assert_leaves_the_lake(&bench, Signal::INT, "a database");
}

#[test]
fn in_the_middle_of_a_query() {
    let bench = with_lake();
    let heavy =
        "SELECT sum(sqrt(a.value * b.value)) FROM range(1000000) AS a, range(1000000) AS b WHERE a.value < b.value";
    interrupted(&mut bench.llrem(&["sql", heavy]), Signal::INT, "a query");
}

#[test]
fn a_view_without_end_ends_by_itself() {
    let bench = with_lake();
    let database = rusqlite::Connection::open(bench.home().join(".claude/__store.db")).unwrap();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    database
        .execute_batch(&format!(
            "CREATE VIEW base_messages AS {endless} SELECT i AS uuid, i AS session_id, i AS timestamp FROM n WHERE i < 0;
             CREATE VIEW conversation_summaries AS {endless} SELECT i AS leaf_uuid FROM n"
        ))
        .unwrap();
    database.close().unwrap();
    let child = bench.etl().stderr(Stdio::piped()).spawn().unwrap();
    let output = wait(child, "a view");
    assert!(output.status.success(), "{}", stderr(&output));
    let source = bench.sources()["__store.db"].clone();
    assert!(source["problem"].as_str().unwrap().contains("base_messages"), "{source}");
    assert_eq!(bench.sql("SELECT count(*) FROM messages"), ["2"]);
}
