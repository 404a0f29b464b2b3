//! Files that arrive: all of them, only changed ones, and none that is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::lake::{self, Bench, Transcript, assert_same_rows, data_bytes, rows, stderr, succeed};
use crate::server::S3;

/// A session of two prompts that begins on a day of a month that is over.
pub(crate) fn add_session(bench: &Bench, name: &str, day: &str) {
    let mut transcript = Transcript::new(name, &format!("{day}T10:00:00Z"));
    transcript.prompt("build").call("Bash", &serde_json::json!({"command": "make"}), "made").reply("Built.");
    bench.transcript(&format!("{name}.jsonl"), transcript.text());
}

/// A lake of a few sessions in two months.
pub(crate) fn small_lake(names: [&str; 3]) -> Bench {
    let bench = Bench::new();
    for (name, day) in names.into_iter().zip(["2025-08-05", "2025-09-06", "2025-09-20"]) {
        add_session(&bench, name, day);
    }
    bench.extract();
    bench
}

/// Sees to it that the store has the very files of the lake, and nothing that an upload leaves on its way.
pub(crate) fn assert_copied(s3: &S3, lake: &Path) {
    assert!(data_bytes(&s3.objects()) == data_bytes(lake), "other files");
    assert_eq!(others(&s3.objects()), ["_llrem/machines/bench/manifest"]);
}

/// Objects that are no data.
fn others(objects: &Path) -> Vec<String> {
    let data: BTreeSet<PathBuf> = lake::data_files(objects).into_iter().collect();
    let others = lake::files(objects).into_iter().filter(|path| !data.contains(path));
    others.map(|path| path.strip_prefix(objects).unwrap().to_string_lossy().into_owned()).collect()
}

const MANIFEST: &str = "_llrem/machines/bench/manifest";

#[test]
fn two_machines_to_one_bucket() {
    let s3 = S3::start();
    let (ada, kim) = (small_lake(["a", "b", "c"]), Bench::new());
    add_session(&kim, "k", "2025-09-07");
    succeed(kim.etl().env("LLREM_MACHINE", "kim"));
    for lake in [ada.lake(), kim.lake()] {
        succeed(&mut s3.upload(&lake, &["--profile", "full"]));
    }
    let both: BTreeSet<String> = rows(&ada.lake()).union(&rows(&kim.lake())).cloned().collect();
    assert_same_rows(&rows(&s3.objects()), &both, "two machines");
    let files: BTreeMap<_, _> = data_bytes(&ada.lake()).into_iter().chain(data_bytes(&kim.lake())).collect();
    assert!(data_bytes(&s3.objects()) == files, "other files");
}

#[test]
fn what_is_there_already_costs_one_read() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    let first = succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    assert!(stderr(&first).starts_with("put 8 files, "), "{}", stderr(&first));
    assert_copied(&s3, &bench.lake());
    let requests = s3.proxy.take_short();
    let count = |kind: &str| requests.iter().filter(|request| request.starts_with(kind)).count();
    assert_eq!(count("PUT"), 8 + 2, "the files, and the manifest before and after");
    assert_eq!(count("GET"), 1 + 4, "the manifest, and what each table's folder has before the first upload");
    assert_eq!(requests.len(), count("PUT") + count("GET"));
    let second = succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    assert_eq!(s3.proxy.take_short(), [format!("GET {MANIFEST}")]);
    assert_eq!(stderr(&second), format!("`{}` has what the lake has\n", s3.url()));
    assert!(second.stdout.is_empty());
}

#[test]
fn only_what_changed_is_put() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    s3.proxy.take_log();
    let path = bench.project().join("a.jsonl");
    let mut more = Transcript::new("a2", "2025-08-05T11:00:00Z");
    more.prompt("again").reply("Done.");
    let more = more.text().replace("\"sessionId\":\"a2\"", "\"sessionId\":\"a\"");
    fs::write(&path, fs::read_to_string(&path).unwrap() + &more).unwrap();
    let before = data_bytes(&bench.lake());
    bench.extract();
    let after = data_bytes(&bench.lake());
    let changed: BTreeSet<String> = after
        .iter()
        .filter(|(path, bytes)| before.get(*path) != Some(bytes))
        .map(|(path, _)| format!("PUT {}", path.display()))
        .collect();
    assert_eq!(changed.len(), 3, "no tool call was added");
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    let log = s3.proxy.take_short();
    let [read, announced, files @ .., said] = log.as_slice() else { panic!("{log:?}") };
    assert_eq!(
        [read, announced, said],
        [&format!("GET {MANIFEST}"), &format!("PUT {MANIFEST}"), &format!("PUT {MANIFEST}")]
    );
    assert_eq!(files.iter().cloned().collect::<BTreeSet<_>>(), changed);
    assert_copied(&s3, &bench.lake());
}

#[test]
fn folded_files_are_exchanged_behind_a_barrier() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    let before = data_bytes(&bench.lake());
    add_session(&bench, "d", "2025-09-25");
    bench.extract();
    let after = data_bytes(&bench.lake());
    let gone = before.keys().filter(|path| !after.contains_key(*path)).count();
    assert_eq!(gone, 4, "nothing was folded");
    s3.proxy.take_log();
    let output = succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    assert!(stderr(&output).contains("and removed 4 files"), "{}", stderr(&output));
    assert_copied(&s3, &bench.lake());
    let log = s3.proxy.take_short();
    let at = |wanted: &dyn Fn(&str) -> bool| log.iter().position(|request| wanted(request)).unwrap();
    let last =
        |wanted: &dyn Fn(&str) -> bool| log.len() - log.iter().rev().position(|request| wanted(request)).unwrap();
    let is_barrier = |request: &str| request.ends_with("llrem-upload-in-progress.parquet");
    let is_staged = |request: &str| request.starts_with("PUT _llrem/machines/bench/staged/");
    let is_copy = |request: &str| request.starts_with("PUT copy ");
    assert!(last(&is_staged) <= at(&is_barrier), "{log:#?}");
    assert!(last(&is_barrier) <= at(&is_copy), "{log:#?}");
    let is_removal = |request: &str| request.starts_with("POST delete");
    assert!(last(&is_barrier) <= at(&is_removal), "{log:#?}");
    assert!(last(&is_copy) < last(&is_removal), "{log:#?}");
    assert_eq!(log.iter().filter(|request| is_barrier(request)).count(), 4, "one in each table's folder");
}

#[test]
fn a_dry_run_lists_what_leaves_and_changes_nothing() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    for (round, profile) in ["redacted", "metrics", "full"].into_iter().enumerate() {
        let before = lake::files(&bench.lake()).into_iter().map(|path| (fs::read(&path).unwrap(), path));
        let before: Vec<_> = before.collect();
        let objects = lake::files(&s3.objects()).len();
        s3.proxy.take_log();
        let listed = succeed(&mut s3.upload(&bench.lake(), &["--profile", profile, "--dry-run"]));
        assert!(s3.proxy.take_log().iter().all(|request| request.method == "GET"));
        let after: Vec<_> =
            lake::files(&bench.lake()).into_iter().map(|path| (fs::read(&path).unwrap(), path)).collect();
        assert!(before == after, "the lake was changed");
        assert_eq!(lake::files(&s3.objects()).len(), objects);
        succeed(&mut s3.upload(&bench.lake(), &["--profile", profile]));
        let there = data_bytes(&s3.objects());
        let there: Vec<String> =
            there.iter().map(|(path, bytes)| format!("put,{},{}", bytes.len(), path.display())).collect();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert_eq!(listed.lines().skip(1).collect::<Vec<_>>(), there, "round {round}");
    }
    add_session(&bench, "d", "2025-09-25");
    bench.extract();
    let listed = succeed(&mut s3.upload(&bench.lake(), &["--profile", "full", "--dry-run"]));
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.lines().filter(|line| line.starts_with("delete,")).count(), 4, "{listed}");
    assert_eq!(listed.lines().filter(|line| line.starts_with("put,")).count(), 4, "{listed}");
}

#[test]
fn a_folder() {
    let bench = small_lake(["a", "b", "c"]);
    let target = bench.path().join("shared folder");
    let url = format!("file://{}", target.display());
    let upload = || succeed(&mut bench.llrem(&["upload", &url, "--profile", "full"]));
    upload();
    assert!(data_bytes(&target) == data_bytes(&bench.lake()));
    add_session(&bench, "d", "2025-09-25");
    bench.extract();
    upload();
    assert!(data_bytes(&target) == data_bytes(&bench.lake()));
    assert_eq!(others(&target), [MANIFEST, "_llrem/machines/bench/manifest-lock"]);
    assert!(stderr(&upload()).contains("has what the lake has"));
    let within = format!("file://{}/copy", bench.lake().display());
    let refused = bench.llrem(&["upload", &within]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

/// A file is written beside its name before it is renamed; who is killed in between leaves it.
#[test]
fn what_a_killed_upload_left_in_a_folder_is_removed() {
    let bench = small_lake(["a", "b", "c"]);
    let target = bench.path().join("shared");
    let url = format!("file://{}", target.display());
    let upload = |arguments: &[&str]| succeed(bench.llrem(&["upload", &url, "--profile", "full"]).args(arguments));
    let verify = || {
        let output = bench.llrem(&["-f", "csv", "verify", "--lake", &url]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    upload(&[]);
    assert_eq!(verify(), "problem\n");
    let file = lake::data_files(&target).remove(0);
    let beside = |path: &Path, end: &str| path.with_file_name(format!("2025-08-05-0000beef.parquet{end}"));
    let (own, other) = (beside(&file, "#1"), file.to_string_lossy().replace("machine=bench", "machine=kim"));
    let (other, no_number) = (beside(Path::new(&other), "#12"), beside(&file, "#x"));
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    for path in [&own, &other, &no_number] {
        fs::write(path, b"PAR1").unwrap();
    }
    let line = |path: &Path| {
        let key = path.strip_prefix(&target).unwrap().display();
        format!("`{key}` was left by an upload that was cut off: the next one of its machine removes it\n")
    };
    assert_eq!(verify(), format!("problem\n{}{}", line(&own), line(&other)));
    upload(&["--dry-run"]);
    assert!(own.exists(), "a dry run changed something");
    upload(&[]);
    assert_eq!([&own, &other, &no_number].map(|path| path.exists()), [false, true, true]);
    assert_eq!(verify(), format!("problem\n{}", line(&other)));
}

#[test]
fn another_profile_puts_every_file_again_with_the_same_rows() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    let count = |folder: &Path| {
        lake::data_files(folder)
            .iter()
            .flat_map(|path| lake::batches(path))
            .map(|batch| batch.num_rows())
            .sum::<usize>()
    };
    for profile in ["full", "metrics", "redacted", "full"] {
        let output = succeed(&mut s3.upload(&bench.lake(), &["--profile", profile]));
        assert!(stderr(&output).contains("put 8 files, "), "{}", stderr(&output));
        assert_eq!(count(&s3.objects()), count(&bench.lake()), "{profile}");
    }
    assert_copied(&s3, &bench.lake());
}

#[test]
fn what_was_changed_there_is_made_right() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    let files = lake::data_files(&s3.objects());
    fs::remove_file(&files[0]).unwrap();
    fs::write(&files[1], b"not what was put").unwrap();
    let stray = files[2].with_file_name("2025-08-01-00000000.parquet");
    fs::copy(&files[2], &stray).unwrap();
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full", "--full"]));
    assert_copied(&s3, &bench.lake());
    // A manifest that was lost: what is there is found by listing.
    fs::copy(&files[2], &stray).unwrap();
    fs::remove_file(s3.objects().join(MANIFEST)).unwrap();
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    assert_copied(&s3, &bench.lake());
}

/// A lake with a file that is put in parts.
pub(crate) fn large_lake() -> Bench {
    let bench = Bench::new();
    let mut state = 7_u64;
    let mut noise = |length: usize| -> String {
        let letters = (0..length).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+"[(state >> 58) as usize])
        });
        letters.collect()
    };
    let mut transcript = Transcript::new("large", "2025-08-05T10:00:00Z");
    for _ in 0..24 {
        transcript.prompt(&noise(1 << 20)).reply("Read.");
    }
    bench.transcript("large.jsonl", transcript.text());
    bench.extract();
    bench
}

#[test]
fn a_large_file_is_put_in_parts() {
    let (s3, bench) = (S3::start(), large_lake());
    let largest = data_bytes(&bench.lake()).values().map(Vec::len).max().unwrap();
    assert!(largest > 16 << 20, "{largest}");
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    let log = s3.proxy.take_log();
    let parts = log.iter().filter(|request| request.target.contains("partNumber=")).count();
    assert_eq!(parts, largest.div_ceil(8 << 20));
    assert!(
        log.iter()
            .filter(|request| request.target.contains("partNumber="))
            .all(|request| request.headers.contains_key("x-amz-content-sha256"))
    );
    assert_copied(&s3, &bench.lake());
    // A reader of the manifest alone knows the content.
    assert!(stderr(&succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]))).contains("has what the lake has"));
}
