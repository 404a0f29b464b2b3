//! Files are replaced while they are read.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::lake::{folder, stderr};
use crate::proxy::{Fate, Request};
use crate::team::{Team, add_session, answer_on_disk, six_months};

const QUERY: [&str; 4] =
    ["-f", "csv", "sql", "select month, count(*), max(timestamp) from usage group by 1 order by 1"];

fn is_read(request: &Request) -> bool {
    request.method == "GET" && request.headers.contains_key("range")
}

/// Puts other files in the place of those of the server: objects, and what it knows of them.
fn replace(from: &Path, to: &Path) {
    let beside = folder();
    for (number, path) in crate::lake::files(from).into_iter().enumerate() {
        let copy = beside.path().join(number.to_string());
        fs::copy(&path, &copy).unwrap();
        fs::rename(&copy, to.join(path.strip_prefix(from).unwrap())).unwrap();
    }
}

/// The server's own folder.
fn server(team: &Team) -> PathBuf {
    team.s3.objects().ancestors().nth(2).unwrap().to_owned()
}

/// A server with a lake, and its folder as it is when a session of each month has grown.
fn before_and_after() -> (Team, tempfile::TempDir) {
    let team = Team::of(six_months(3, 100));
    let before = folder();
    team.s3.backup(before.path());
    for month in 1..=6 {
        add_session(&team.bench, &format!("{month}c"), &format!("2025-{month:02}-22"), 5, 100);
    }
    team.bench.extract();
    team.upload();
    let after = folder();
    team.s3.backup(after.path());
    replace(before.path(), &server(&team));
    team.s3.proxy.take_log();
    (team, after)
}

#[test]
fn a_query_begins_anew() {
    let (team, after) = before_and_after();
    // In the middle of reading, after the footers.
    let (reads, objects, new) = (AtomicUsize::new(0), server(&team), after.path().to_owned());
    team.s3.proxy.decide(move |request| {
        if is_read(request) && reads.fetch_add(1, Ordering::SeqCst) == 6 {
            replace(&new, &objects);
        }
        Fate::Pass
    });
    assert_eq!(team.answer(&QUERY), answer_on_disk(&team.bench.lake(), &QUERY));
    let requests = team.s3.proxy.take_log();
    assert!(requests.iter().any(|request| is_read(request) && request.headers.contains_key("if-match")));
    let listings = requests.iter().filter(|request| request.target.contains("usage") && !is_read(request)).count();
    assert_eq!(listings, 2, "it was listed anew");
}

#[test]
fn a_query_gives_up_after_three_times() {
    let (team, after) = before_and_after();
    let before = folder();
    team.s3.backup(before.path());
    let (objects, places, turn) = (server(&team), [after.path().to_owned(), before.path().to_owned()], Mutex::new(0));
    let listings = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&listings);
    // Each time that the table was listed, its files are replaced before they are read.
    let fresh = Mutex::new(false);
    team.s3.proxy.decide(move |request| {
        let mut fresh = fresh.lock().unwrap();
        if request.method == "GET" && !is_read(request) && request.target.contains("usage") {
            counted.fetch_add(1, Ordering::SeqCst);
            *fresh = true;
        } else if is_read(request) && std::mem::take(&mut *fresh) {
            let mut turn = turn.lock().unwrap();
            replace(&places[*turn % 2], &objects);
            *turn += 1;
        }
        Fate::Pass
    });
    let output = team.llrem(&QUERY).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stderr(&output).starts_with("error: a file of the lake was replaced, or is damaged"),
        "{}",
        stderr(&output)
    );
    assert!(stderr(&output).lines().count() <= 3, "{}", stderr(&output));
    assert_eq!(listings.load(Ordering::SeqCst), 3);
}

#[test]
fn broken_connections_are_tried_again() {
    let team = Team::of(six_months(2, 100));
    let number = AtomicUsize::new(0);
    team.s3.proxy.decide(move |request| match number.fetch_add(1, Ordering::SeqCst) % 4 {
        1 if is_read(request) => Fate::Reset,
        3 if is_read(request) => Fate::LoseAnswer,
        2 if is_read(request) => Fate::Answer(503, "<Error><Code>SlowDown</Code></Error>"),
        _ => Fate::Pass,
    });
    assert_eq!(team.answer(&QUERY), answer_on_disk(&team.bench.lake(), &QUERY));
}

#[test]
fn what_is_exchanged_is_waited_for() {
    let team = Team::of(six_months(2, 100));
    let barrier = "usage/machine=bench/agent=claude-code/month=2025-03/llrem-upload-in-progress.parquet";
    let barrier = team.s3.objects().join(barrier);
    assert!(barrier.parent().unwrap().is_dir());
    fs::write(&barrier, "llrem is replacing files of this folder").unwrap();
    let output = team.llrem(&QUERY).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(stderr(&output), @r#"
    error: cannot read `s3://team-lake/team/usage/machine=bench/agent=claude-code/month=2025-03`: an upload is exchanging files there; run it again in a moment. If this stays for more than a minute, that upload was cut off, and the machine's next one ends it
    "#);
    let other = ["-f", "csv", "sql", "select count(*) from usage where month = '2025-04'"];
    assert_eq!(team.answer(&other), answer_on_disk(&team.bench.lake(), &other), "other folders are read meanwhile");

    let reads = AtomicUsize::new(0);
    team.s3.proxy.decide(move |request| {
        if request.target.contains("usage") && !is_read(request) && reads.fetch_add(1, Ordering::SeqCst) == 1 {
            fs::remove_file(&barrier).unwrap();
        }
        Fate::Pass
    });
    assert_eq!(team.answer(&QUERY), answer_on_disk(&team.bench.lake(), &QUERY));
}
