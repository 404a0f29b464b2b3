//! Ownership of an upload: one lake a machine, one upload at a time.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::lake::{Bench, copy_folder, data_bytes, stderr, succeed};
use crate::proxy::{Fate, Request};
use crate::server::S3;
use crate::sync::{add_session, assert_copied, small_lake};

/// An error with `DAY` in place of the upload's day, which ends its first line. At midnight, the test has the next day.
fn undated(error: &str) -> String {
    let (line, rest) = error.split_once('\n').unwrap();
    let (line, day) = line.split_at(line.len() - 10);
    let now = llrem::time::now();
    assert!([now - 86_400_000_000, now].iter().any(|near| llrem::time::day_of(Some(*near)) == day), "{error}");
    format!("{line}DAY\n{rest}")
}

#[test]
fn two_lakes_of_one_machine_name_are_told_apart() {
    let s3 = S3::start();
    let (one, other) = (small_lake(["a", "b", "c"]), small_lake(["x", "y", "z"]));
    succeed(&mut s3.upload(&one.lake(), &["--profile", "full"]));
    s3.proxy.take_log();
    let refused = s3.upload(&other.lake(), &["--profile", "full"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    let expected = format!(
        "error: the machine `bench` at `{}` belongs to another lake, last uploaded on DAY\n\
         hint: give each machine its own name (`machine` in the configuration) and extract into a new lake; \
         `--replace` replaces what is there with this lake\n",
        s3.url()
    );
    assert_eq!(undated(&stderr(&refused)), expected);
    assert_eq!(s3.proxy.take_short().len(), 1, "more than the manifest was asked for");
    assert_copied(&s3, &one.lake());
    succeed(&mut s3.upload(&other.lake(), &["--profile", "full", "--replace"]));
    assert_copied(&s3, &other.lake());
}

/// An image of a machine, a synced home: both have the lake's id, and its record of what was uploaded until then.
#[test]
fn a_lake_and_its_copy_are_told_apart() {
    let s3 = S3::start();
    let (bench, copy) = (small_lake(["a", "b", "c"]), Bench::new());
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    copy_folder(&bench.lake(), &copy.lake());
    for (bench, name) in [(&bench, "d"), (&copy, "x")] {
        add_session(bench, name, "2025-10-05");
        bench.extract();
    }
    succeed(&mut s3.upload(&copy.lake(), &["--profile", "full"]));
    let expected = format!(
        "error: the machine `bench` at `{}` was last uploaded by a copy of this lake, on DAY\n\
         hint: continue with one lake per machine: `--replace` replaces what is there with this one; \
         two machines need different names (`machine` in the configuration) and new lakes\n",
        s3.url()
    );
    let assert_refused = |lake: &Path, arguments: &[&str]| {
        s3.proxy.take_log();
        let refused = s3.upload(lake, arguments).args(["--profile", "full"]).output().unwrap();
        assert_eq!((refused.status.code(), undated(&stderr(&refused))), (Some(1), expected.clone()));
        assert_eq!(s3.proxy.take_short().len(), 1, "more than the manifest was asked for");
    };
    for arguments in [[].as_slice(), &["--full"], &["--dry-run"]] {
        assert_refused(&bench.lake(), arguments);
    }
    assert_copied(&s3, &copy.lake());
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full", "--replace"]));
    assert_copied(&s3, &bench.lake());
    assert_refused(&copy.lake(), &[]);
    // The one that goes on is not asked again; one that knows of no upload is a copy from before the first.
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    std::fs::remove_file(bench.lake().join("_llrem/uploads")).unwrap();
    assert_refused(&bench.lake(), &[]);
}

/// Holds the first request that is meant up until the sender speaks or goes away; the receiver hears of it.
fn hold(s3: &S3, is_meant: impl Fn(&Request) -> bool + Send + 'static) -> (Receiver<()>, std::sync::mpsc::Sender<()>) {
    let ((reached, arrived), (release, wait)) = (channel(), channel::<()>());
    let wait = Mutex::new(Some(wait));
    let held: Arc<Mutex<Option<Receiver<()>>>> = Arc::new(wait);
    s3.proxy.decide(move |request| {
        if is_meant(request)
            && let Some(wait) = held.lock().unwrap().take()
        {
            let _ = reached.send(());
            // The others pass meanwhile: the policy is asked by another thread for each.
            return Fate::Hold(Arc::new(Mutex::new(wait)));
        }
        Fate::Pass
    });
    (arrived, release)
}

fn is_data(request: &Request) -> bool {
    request.method == "PUT" && request.target.ends_with(".parquet")
}

#[test]
fn of_two_uploads_of_one_machine_one_loses_and_the_next_is_right() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    let copy = Bench::new();
    copy_folder(&bench.lake(), &copy.lake());
    add_session(&bench, "d", "2025-09-25");
    bench.extract();
    let (arrived, release) = hold(&s3, is_data);
    let slow = s3.upload(&copy.lake(), &["--profile", "full"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    arrived.recv_timeout(Duration::from_mins(1)).unwrap();
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full", "--replace"]));
    assert_copied(&s3, &bench.lake());
    drop(release);
    let output = slow.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let expected = format!(
        "error: another upload of the machine `bench` to `{}` ran at the same time; this one stopped\n\
         hint: run it again; of a lake and its copies, upload one\n",
        s3.url()
    );
    assert_eq!(stderr(&output), expected);
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    assert_copied(&s3, &bench.lake());
}

#[test]
fn one_upload_of_a_lake_at_a_time() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    let (arrived, release) = hold(&s3, is_data);
    let first = s3.upload(&bench.lake(), &["--profile", "full"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    arrived.recv_timeout(Duration::from_mins(1)).unwrap();
    let second = s3.upload(&bench.lake(), &["--profile", "full"]).output().unwrap();
    assert_eq!(second.status.code(), Some(11), "{}", stderr(&second));
    assert!(stderr(&second).starts_with("error: another `llrem upload` holds the lake `"), "{}", stderr(&second));
    drop(release);
    assert!(first.wait_with_output().unwrap().status.success());
    assert_copied(&s3, &bench.lake());
}

#[test]
fn a_lake_that_changes_meanwhile() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    // Held before any file is read: the manifest is announced first.
    let (arrived, release) = hold(&s3, |request| request.method == "PUT" && request.target.ends_with("/manifest"));
    let upload =
        s3.upload(&bench.lake(), &["--profile", "redacted"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    arrived.recv_timeout(Duration::from_mins(1)).unwrap();
    add_session(&bench, "d", "2025-09-25");
    bench.extract();
    drop(release);
    let output = upload.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let files = |folder: &Path| data_bytes(folder).into_keys().collect::<Vec<_>>();
    assert_eq!(files(&s3.objects()), files(&bench.lake()));
    let again = succeed(&mut s3.upload(&bench.lake(), &["--profile", "redacted"]));
    assert!(stderr(&again).contains("has what the lake has"), "{}", stderr(&again));
}

#[test]
fn an_upload_that_is_interrupted() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    let (arrived, release) = hold(&s3, is_data);
    let upload =
        s3.upload(&bench.lake(), &["--profile", "redacted"]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    arrived.recv_timeout(Duration::from_mins(1)).unwrap();
    let pid = rustix::process::Pid::from_child(&upload);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = upload.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(130), "error: interrupted\n"));
    assert!(!bench.lake().join("_llrem/outgoing").exists(), "something is left");
    drop(release);
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    assert_copied(&s3, &bench.lake());
}
