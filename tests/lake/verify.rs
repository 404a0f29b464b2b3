//! `llrem verify` finds whatever is wrong with a lake.

use std::fs;
use std::path::{Path, PathBuf};

use crate::lake::{self, Bench, Transcript, copy_folder};
use arrow::array::RecordBatch;
use llrem::lake::Lake;
use parquet::arrow::ArrowWriter;
use serde_json::json;

/// A lake, and copies of it that are damaged.
struct Original {
    bench: Bench,
}

impl Original {
    fn new() -> Self {
        let bench = Bench::new();
        for (session, begin) in [("one", "2025-08-05T10:00:00Z"), ("two", "2025-09-05T10:00:00Z")] {
            let mut transcript = Transcript::new(session, begin);
            transcript.prompt("build").call("Bash", &json!({"command": "make"}), "made").reply("Built.");
            bench.transcript(&format!("{session}.jsonl"), transcript.text());
        }
        bench.extract();
        bench.verify();
        Self { bench }
    }

    /// Returns the problems of a copy that was damaged.
    fn problems(&self, read_data: bool, damage: impl FnOnce(&Path)) -> Vec<String> {
        let copy = lake::folder();
        let path = copy.path().join("lake");
        copy_folder(&self.bench.lake(), &path);
        damage(&path);
        Lake::open(&path).unwrap().verify(read_data).unwrap()
    }
}

fn file(lake: &Path, table: &str) -> PathBuf {
    lake::data_files(&lake.join(table)).remove(0)
}

/// Writes a file anew with other rows, with the same number of bytes where the manifest is not to notice by size.
fn rewrite(path: &Path, change: impl Fn(RecordBatch) -> RecordBatch) {
    let batches: Vec<RecordBatch> = lake::batches(path).into_iter().map(change).collect();
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), batches[0].schema(), None).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

fn assert_found(problems: &[String], parts: &[&str]) {
    let is_named = |problem: &String| parts.iter().all(|part| problem.contains(part));
    assert!(problems.iter().any(is_named), "{parts:?} not in {problems:#?}");
}

#[test]
fn bytes_that_flipped_are_found_by_reading_the_data() {
    let original = Original::new();
    for table in lake::TABLES {
        let length = fs::metadata(file(&original.bench.lake(), table)).unwrap().len();
        for step in 0..40 {
            let problems = original.problems(true, |lake| {
                let path = file(lake, table);
                let mut bytes = fs::read(&path).unwrap();
                bytes[usize::try_from(step * (length - 1) / 39).unwrap()] ^= 0x20;
                fs::write(path, bytes).unwrap();
            });
            assert_found(&problems, &[table]);
        }
    }
}

#[test]
fn truncation_deletion_and_strays_are_found() {
    let original = Original::new();
    for table in lake::TABLES {
        for cut in [1, 8, 100] {
            let problems = original.problems(false, |lake| {
                let file = fs::File::options().write(true).open(file(lake, table)).unwrap();
                file.set_len(file.metadata().unwrap().len() - cut).unwrap();
            });
            assert_found(&problems, &[table, "bytes, the manifest says"]);
        }
        let problems = original.problems(false, |lake| fs::remove_file(file(lake, table)).unwrap());
        assert_found(&problems, &[table, "is missing"]);
        let problems = original.problems(false, |lake| {
            let path = file(lake, table);
            fs::copy(&path, path.with_file_name("copy.parquet")).unwrap();
        });
        assert_found(&problems, &[table, "copy.parquet", "not in the manifest"]);
    }
    let problems = original.problems(false, |lake| fs::write(lake.join("_llrem/x.parquet"), "").unwrap());
    assert_found(&problems, &["_llrem/x.parquet"]);
    let problems = original.problems(false, |lake| {
        let claims = lake::files(&lake.join("_llrem/claims")).remove(0);
        fs::remove_file(claims).unwrap();
    });
    assert_found(&problems, &["claims"]);
}

#[test]
fn other_content_is_found() {
    let original = Original::new();
    let problems = original.problems(false, |lake| rewrite(&file(lake, "messages"), |batch| batch.slice(0, 1)));
    assert_found(&problems, &["messages", "manifest says"]);
    let problems = original.problems(false, |lake| {
        let files = lake::data_files(&lake.join("usage"));
        fs::copy(&files[1], &files[0]).unwrap();
    });
    assert!(!problems.is_empty());
}

#[cfg(unix)]
#[test]
fn wide_modes_are_found() {
    use std::os::unix::fs::PermissionsExt;
    let original = Original::new();
    let widened = |path: PathBuf, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let problems = original.problems(false, |lake| widened(file(lake, "usage"), 0o644));
    assert_found(&problems, &["usage", "0644"]);
    let problems = original.problems(false, |lake| widened(lake.join("sessions"), 0o755));
    assert_found(&problems, &["sessions", "0755"]);
}

#[test]
fn the_command_lists_what_is_wrong_and_fails() {
    let original = Original::new();
    fs::remove_file(file(&original.bench.lake(), "usage")).unwrap();
    let output = original.bench.llrem(&["verify"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("is missing"));
    assert!(lake::stderr(&output).contains("does not verify: 1 problem\n"), "{}", lake::stderr(&output));
}

/// Queries need the rows alone, so that they do without the rest of a manifest; but whatever a newer llrem wrote may mean
/// something else.
#[test]
fn manifests_that_cannot_be_read() {
    let original = Original::new();
    let bench = &original.bench;
    let path = bench.lake().join("_llrem/manifest");
    let whole = fs::read(&path).unwrap();
    let outcome = |arguments: &[&str]| {
        let output = bench.llrem(arguments).output().unwrap();
        (output.status.code().unwrap(), lake::stderr(&output))
    };
    let changed = |at: usize, to: u8| {
        let mut bytes = whole.clone();
        bytes[at] = to;
        fs::write(&path, bytes).unwrap();
    };
    let all = [&["query", "totals"][..], &["sql", "select 1"], &["sources"], &["verify"], &["etl"]];
    changed(8, 9);
    for arguments in all {
        let (code, error) = outcome(arguments);
        assert!(code == 1 && error.contains("upgrade llrem"), "{arguments:?}: {code} {error}");
    }
    for (content, reason) in [(&whole[..10], "cut off"), (b"{}", "is not a manifest")] {
        fs::write(&path, content).unwrap();
        for arguments in all {
            let (code, error) = outcome(arguments);
            assert!(code == 1 && error.contains(reason), "{arguments:?}: {code} {error}");
        }
    }
    changed(whole.len() - 1, whole[whole.len() - 1] ^ 1);
    assert_eq!(bench.sql("select count(*) from sessions"), ["2"]);
    assert_eq!(outcome(&["query", "totals"]).0, 0);
    for arguments in [&["sources"][..], &["verify"], &["etl"], &["query", "data_quality"]] {
        let (code, error) = outcome(arguments);
        assert!(code == 1 && error.contains("its hash is wrong"), "{arguments:?}: {code} {error}");
    }
}

#[test]
fn a_full_run_writes_what_is_lost_or_damaged_again() {
    let original = Original::new();
    let bench = &original.bench;
    let whole = lake::rows(&bench.lake());
    let flip = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x20;
        fs::write(path, bytes).unwrap();
    };
    for table in lake::TABLES {
        fs::remove_file(file(&bench.lake(), table)).unwrap();
        flip(&lake::data_files(&bench.lake().join(table))[0]);
        let others = lake::TABLES.into_iter().filter(|other| *other != table);
        others.for_each(|other| flip(&file(&bench.lake(), other)));
        let output = lake::succeed(bench.etl().arg("--full"));
        assert!(lake::stderr(&output).contains("lost or damaged: 5 files"), "{}", lake::stderr(&output));
        bench.verify();
        lake::assert_same_rows(&lake::rows(&bench.lake()), &whole, table);
    }
    lake::succeed(bench.etl().arg("--full"));
    bench.verify();
}

#[test]
fn what_only_the_lake_had_is_kept_as_far_as_it_is_whole() {
    let original = Original::new();
    let bench = &original.bench;
    fs::remove_file(bench.project().join("one.jsonl")).unwrap();
    bench.extract();
    let lost = file(&bench.lake(), "messages");
    assert!(lost.to_string_lossy().contains("2025-08"), "{}", lost.display());
    fs::write(&lost, "no Parquet").unwrap();
    // On the day of the first, so that it goes into the same part.
    let mut transcript = Transcript::new("three", "2025-08-05T12:00:00Z");
    transcript.prompt("go on").reply("Done.");
    bench.transcript("three.jsonl", transcript.text());
    let stopped = bench.etl().output().unwrap();
    assert_eq!(stopped.status.code(), Some(1));
    assert!(lake::stderr(&stopped).contains("is lost or damaged"), "{}", lake::stderr(&stopped));
    assert!(lake::stderr(&stopped).contains("llrem etl --full"), "{}", lake::stderr(&stopped));
    lake::succeed(bench.etl().arg("--full"));
    bench.verify();
    let rows =
        |sql: &str| String::from_utf8(lake::succeed(&mut bench.llrem(&["sql", "-f", "csv", sql])).stdout).unwrap();
    let sums = "select session_id, messages, tool_calls, responses from sessions order by 1";
    assert_eq!(rows(sums), "session_id,messages,tool_calls,responses\none,0,1,2\nthree,2,0,1\ntwo,4,1,2\n");
}

/// The claims files of a lake.
fn claims(lake: &Path) -> Vec<PathBuf> {
    lake::files(&lake.join("_llrem/claims"))
}

#[test]
fn lost_claims_are_made_again() {
    let original = Original::new();
    let bench = &original.bench;
    let whole = lake::rows(&bench.lake());
    let files = claims(&bench.lake());
    fs::remove_file(&files[0]).unwrap();
    fs::write(&files[1], "no claims").unwrap();
    let mut transcript = Transcript::new("three", "2025-08-05T12:00:00Z");
    transcript.prompt("go on").reply("Done.");
    let new = bench.transcript("three.jsonl", transcript.text());
    let stopped = bench.etl().output().unwrap();
    assert_eq!(stopped.status.code(), Some(1));
    assert!(lake::stderr(&stopped).contains("llrem etl --full"), "{}", lake::stderr(&stopped));
    fs::remove_file(new).unwrap();
    let output = lake::succeed(bench.etl().arg("--full"));
    assert!(lake::stderr(&output).contains("lost or damaged: 2 files"), "{}", lake::stderr(&output));
    bench.verify();
    lake::assert_same_rows(&lake::rows(&bench.lake()), &whole, "claims");
}

#[test]
fn sessions_that_only_the_lake_has_outlive_their_claims() {
    let original = Original::new();
    let bench = &original.bench;
    let first = bench.project().join("one.jsonl");
    let text = fs::read_to_string(&first).unwrap();
    fs::remove_file(&first).unwrap();
    bench.extract();
    let archived = lake::rows(&bench.lake());
    for file in claims(&bench.lake()) {
        fs::remove_file(file).unwrap();
    }
    lake::succeed(bench.etl().arg("--full"));
    bench.verify();
    lake::assert_same_rows(&lake::rows(&bench.lake()), &archived, "archived");
    // A copy under another name has nothing of its own: the lake's session is the original.
    let copied = text.replace("\"sessionId\":\"one\"", "\"sessionId\":\"four\"");
    let mut own = Transcript::new("four", "2025-08-06T10:00:00Z");
    own.prompt("another way").reply("Another way it is.");
    bench.transcript("four.jsonl", copied + &own.text());
    bench.extract();
    bench.verify();
    let sums = "select session_id, messages, tool_calls, responses from sessions order by 1";
    assert_eq!(bench.sql(sums), ["four,2,0,1", "one,4,1,2", "two,4,1,2"]);
}
