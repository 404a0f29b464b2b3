//! A home and a lake of a test's own: transcripts are made, the program is run, every row is read back.

#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]
#![allow(clippy::disallowed_methods, reason = "files are the test's own")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "what fails here fails a test, and says why")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

/// Leaves out a part of a test for want of something that it needs. It fails unless `LLREM_ALLOW_SKIPS=1` allows that.
pub fn skip(reason: &str) {
    assert!(
        std::env::var("LLREM_ALLOW_SKIPS").is_ok_and(|value| value == "1"),
        "{reason}; LLREM_ALLOW_SKIPS=1 skips what is not possible here"
    );
    println!("skipped: {reason}");
}

pub const TABLES: [&str; 4] = ["sessions", "messages", "tool_calls", "usage"];

/// A folder with a home and a place for a lake.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let folder = folder();
        fs::create_dir(folder.path().join("home")).unwrap();
        Self { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub fn lake(&self) -> PathBuf {
        self.path().join("lake")
    }

    /// Folder of a project's transcripts.
    pub fn project(&self) -> PathBuf {
        let folder = self.home().join(".claude/projects/-home-kim-shop");
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    pub fn transcript(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes what a subagent of a session did. Its records have ids of their own, though the transcript is made with the
    /// session's name.
    pub fn subagent(&self, session: &str, agent: &str, transcript: &Transcript) -> PathBuf {
        let side = format!("\"isSidechain\":true,\"agentId\":\"{agent}\"");
        let text = transcript.text().replace("\"isSidechain\":false", &side);
        let text = text.replace(&format!("{session}-0"), "side-0").replace(&format!("msg_{session}"), "msg_side");
        let folder = self.project().join(session).join("subagents");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("agent-{agent}.jsonl"));
        fs::write(&path, text).unwrap();
        path
    }

    pub fn etl(&self) -> Command {
        etl(&self.home(), &self.lake())
    }

    /// Extracts, and sees to it that it went well.
    pub fn extract(&self) -> Output {
        succeed(&mut self.etl())
    }

    pub fn llrem(&self, arguments: &[&str]) -> Command {
        let mut command = llrem(&self.lake());
        command.args(arguments);
        command
    }

    pub fn verify(&self) {
        succeed(&mut self.llrem(&["verify", "--read-data"]));
    }

    /// Result of a query, as lines of CSV without the header.
    pub fn sql(&self, query: &str) -> Vec<String> {
        sql(&self.lake(), query)
    }

    /// Rows of `sources`, as JSON, by the file's name.
    pub fn sources(&self) -> BTreeMap<String, serde_json::Value> {
        let output = succeed(&mut self.llrem(&["sources", "-f", "ndjson"]));
        let rows = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let rows = rows.map(|line| serde_json::from_slice::<serde_json::Value>(line).unwrap());
        rows.map(|row| (row["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(), row)).collect()
    }
}

/// A folder in memory where the system has one: what is synced there costs no time.
pub fn folder() -> TempDir {
    TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap()
}

/// The program, with nothing of the user's environment.
pub fn llrem(lake: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llrem"));
    command.env_clear().env("HOME", lake.parent().unwrap_or(lake)).env("TZ", "UTC").env("LLREM_MACHINE", "bench");
    command.arg("--lake").arg(lake);
    command
}

pub fn etl(home: &Path, lake: &Path) -> Command {
    let mut command = llrem(lake);
    command.arg("etl").arg("--home").arg(home);
    command
}

pub fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, stderr(&output));
    output
}

pub fn sql(lake: &Path, query: &str) -> Vec<String> {
    let output = succeed(llrem(lake).args(["-f", "csv", "sql", query]));
    String::from_utf8(output.stdout).unwrap().lines().skip(1).map(str::to_owned).collect()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every regular file below a folder, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}

/// Data files by path within the lake.
pub fn data_files(lake: &Path) -> Vec<PathBuf> {
    files(lake).into_iter().filter(|path| path.extension().is_some_and(|suffix| suffix == "parquet")).collect()
}

/// Content of every data file, by path within the lake.
pub fn data_bytes(lake: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = data_files(lake).into_iter();
    files.map(|path| (path.strip_prefix(lake).unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

pub fn batches(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap());
    let reader = reader.unwrap_or_else(|error| panic!("{}: {error}", path.display())).build().unwrap();
    reader.map(|batch| batch.unwrap_or_else(|error| panic!("{}: {error}", path.display()))).collect()
}

/// Every row of every table, with its partition, in no order that matters.
pub fn rows(lake: &Path) -> BTreeSet<String> {
    let mut rows = Vec::new();
    for path in data_files(lake) {
        let folder = path.parent().unwrap().strip_prefix(lake).unwrap().to_string_lossy().into_owned();
        for batch in batches(&path) {
            let options = FormatOptions::new().with_null("∅");
            let columns: Vec<ArrayFormatter<'_>> =
                batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
            for row in 0..batch.num_rows() {
                let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
                rows.push(format!("{folder}: {}", values.join(" | ")));
            }
        }
    }
    let distinct: BTreeSet<String> = rows.iter().cloned().collect();
    assert_eq!(distinct.len(), rows.len(), "a row occurs twice");
    distinct
}

/// Sees to it that two lakes have the same rows, and names some that differ.
pub fn assert_same_rows(found: &BTreeSet<String>, expected: &BTreeSet<String>, when: &str) {
    let shown = |rows: Vec<&String>| rows.into_iter().take(3).cloned().collect::<Vec<_>>();
    let (extra, missing) = (shown(found.difference(expected).collect()), shown(expected.difference(found).collect()));
    assert!(extra.is_empty() && missing.is_empty(), "{when}: extra {extra:#?}, missing {missing:#?}");
}

pub fn copy_folder(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from).follow_links(false) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target).unwrap();
            fs::set_permissions(&target, entry.metadata().unwrap().permissions()).unwrap();
        } else if entry.file_type().is_file() {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// Does something for each item, on two threads; a panic fails the test.
pub fn in_parallel<T: Send>(items: Vec<T>, work: impl Fn(T) + Sync) {
    let queue = std::sync::Mutex::new(items.into_iter());
    let next = || queue.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(item) = next() {
                    work(item);
                }
            });
        }
    });
}

/// A transcript that grows record by record, a minute apart.
#[derive(Clone)]
pub struct Transcript {
    pub session: String,
    pub lines: Vec<String>,
    cwd: String,
    clock: i64,
    last: Option<String>,
}

impl Transcript {
    /// Begins at a moment like `2025-08-05T10:00:00Z`.
    pub fn new(session: &str, begin: &str) -> Self {
        let clock = llrem::time::parse_iso(begin).unwrap() / 1_000_000;
        Self { session: session.to_owned(), lines: Vec::new(), cwd: "/home/kim/shop".to_owned(), clock, last: None }
    }

    pub fn in_folder(mut self, cwd: &str) -> Self {
        cwd.clone_into(&mut self.cwd);
        self
    }

    pub fn record(&mut self, kind: &str, message: &serde_json::Value) {
        let number = self.lines.len();
        let uuid = format!("{}-{number:04}", self.session);
        let moment = chrono::DateTime::from_timestamp(self.clock, 0).unwrap().to_rfc3339();
        let line = serde_json::json!({
            "parentUuid": self.last, "isSidechain": false, "userType": "external", "cwd": self.cwd,
            "sessionId": self.session, "version": "1.0.70", "gitBranch": "main", "type": kind,
            "message": message, "requestId": (kind == "assistant").then(|| format!("req_{uuid}")),
            "uuid": uuid, "timestamp": moment,
        });
        self.lines.push(line.to_string());
        self.last = Some(uuid);
        self.clock += 60;
    }

    pub fn prompt(&mut self, text: &str) -> &mut Self {
        self.record("user", &serde_json::json!({"role": "user", "content": text}));
        self
    }

    pub fn reply(&mut self, text: &str) -> &mut Self {
        self.respond(&serde_json::json!([{"type": "text", "text": text}]));
        self
    }

    pub fn call(&mut self, name: &str, input: &serde_json::Value, output: &str) -> &mut Self {
        let id = format!("toolu_{}_{}", self.session, self.lines.len());
        self.respond(&serde_json::json!([{"type": "tool_use", "id": id, "name": name, "input": input}]));
        let result = serde_json::json!([{"type": "tool_result", "tool_use_id": id, "content": output}]);
        self.record("user", &serde_json::json!({"role": "user", "content": result}));
        self
    }

    fn respond(&mut self, content: &serde_json::Value) {
        let message = serde_json::json!({
            "model": "claude-sonnet-4-20250514", "id": format!("msg_{}_{}", self.session, self.lines.len()),
            "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn",
            "usage": {"input_tokens": 10, "cache_creation_input_tokens": 500, "cache_read_input_tokens": 1000,
                      "output_tokens": 20},
        });
        self.record("assistant", &message);
    }

    /// The lines, each ended.
    pub fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
    }
}
