//! Uploads that are killed anywhere: a reader who globs is right all the same, or told loudly, and the next upload
//! completes it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::faults::Dice;
use crate::lake::{self, Bench, rows, succeed};
use crate::proxy::Fate;
use crate::server::S3;
use crate::sync::{add_session, assert_copied, small_lake};

/// Rows of a glob by the folder that they are in; `None` for a folder that cannot be read.
fn by_folder(objects: &Path) -> BTreeMap<PathBuf, Option<BTreeSet<String>>> {
    let mut folders = BTreeMap::new();
    for path in lake::data_files(objects) {
        let folder = path.parent().unwrap().to_owned();
        let is_barrier = path.ends_with("llrem-upload-in-progress.parquet");
        if is_barrier {
            let text = std::fs::read(&path).unwrap();
            assert!(!text.ends_with(b"PAR1") && text.len() > 12, "a reader could take it for data");
        }
        let entry = folders.entry(folder).or_insert_with(|| Some(BTreeSet::new()));
        if is_barrier {
            *entry = None;
        }
    }
    for (folder, found) in &mut folders {
        if found.is_some() {
            *found = Some(rows_of_folder(folder, objects));
        }
    }
    folders
}

fn rows_of_folder(folder: &Path, objects: &Path) -> BTreeSet<String> {
    let copy = lake::folder();
    let target = copy.path().join(folder.strip_prefix(objects).unwrap());
    lake::copy_folder(folder, &target);
    rows(copy.path())
}

/// Between two states, a reader sees each row that both have once, and none that neither has.
fn assert_between(objects: &Path, before: &BTreeSet<String>, after: &BTreeSet<String>, when: &str) -> bool {
    let folders = by_folder(objects);
    let is_told = folders.values().any(Option::is_none);
    let seen: BTreeSet<String> = folders.values().flatten().flatten().cloned().collect();
    for row in &seen {
        assert!(before.contains(row) || after.contains(row), "{when}: a row of neither: {row}");
    }
    for row in before.intersection(after) {
        let folder = objects.join(row.split_once(": ").unwrap().0);
        let is_closed = matches!(folders.get(&folder), Some(None));
        assert!(is_closed || seen.contains(row), "{when}: a row is missing: {row}");
    }
    is_told
}

/// Requests that an upload makes, and one of the moments at which it is killed: when so many have come, or been done.
fn kill_at(s3: &S3, lake: &Path, number: u64, is_done: bool) -> bool {
    let count = Arc::new(AtomicU64::new(0));
    let (reached, arrived) = channel();
    let reached = Mutex::new(reached);
    s3.proxy.decide(move |_| {
        let seen = count.fetch_add(1, Ordering::SeqCst) + 1;
        if seen == number {
            let _ = reached.lock().unwrap().send(());
        }
        // From then on nothing is done any more.
        if seen > number || seen == number && !is_done { Fate::Stop } else { Fate::Pass }
    });
    let mut child = s3.upload(lake, &["--profile", "full"]).stderr(Stdio::null()).spawn().unwrap();
    let killed = loop {
        if arrived.recv_timeout(Duration::from_millis(50)).is_ok() {
            std::thread::sleep(Duration::from_millis(30));
            break true;
        }
        if child.try_wait().unwrap().is_some() {
            break false;
        }
    };
    child.kill().unwrap();
    child.wait().unwrap();
    s3.proxy.decide(|_| Fate::Pass);
    killed
}

fn kills() -> u64 {
    std::env::var("LLREM_TEST_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(30)
}

/// Days are folded, one session grows, and a new month begins, all in one upload that is killed at any request.
#[test]
fn killed_at_any_request() {
    let s3 = S3::start();
    let bench = small_lake(["a", "b", "c"]);
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    let stored = lake::folder();
    s3.backup(stored.path());
    let before = rows(&s3.objects());
    for (name, day) in [("d", "2025-09-25"), ("e", "2025-08-07"), ("f", "2025-10-01")] {
        add_session(&bench, name, day);
    }
    bench.extract();
    let after = rows(&bench.lake());
    s3.proxy.take_log();
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    let requests = s3.proxy.take_log().len() as u64;
    let (mut told, mut dice) = (0, Dice(0x00C0_FFEE));
    let offset = dice.below(requests);
    for kill in 0..kills() {
        // Spread over the whole upload, whatever their number.
        let number = (offset + kill * requests.div_ceil(kills()).max(1) + kill / requests) % requests + 1;
        s3.restore(stored.path());
        let when = format!("killed at request {number} of {requests}");
        assert!(kill_at(&s3, &bench.lake(), number, kill % 2 == 0), "{when}: it ended before");
        told += u64::from(assert_between(&s3.objects(), &before, &after, &when));
        succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
        assert_copied(&s3, &bench.lake());
    }
    println!("{} kills over {requests} requests; after {told} of them readers met a barrier", kills());
}

/// One kill after the other, while the lake goes on changing: nothing is forgotten that only a killed upload knew.
#[test]
fn killed_again_and_again_while_the_lake_changes() {
    let s3 = S3::start();
    let bench = Bench::new();
    add_session(&bench, "first", "2025-08-01");
    bench.extract();
    let mut dice = Dice(0xBEEF);
    let mut states = BTreeSet::new();
    for round in 0..kills() {
        add_session(&bench, &format!("s{round}"), &format!("2025-{:02}-{:02}", 7 + dice.below(3), 1 + dice.below(28)));
        bench.extract();
        states.extend(rows(&bench.lake()));
        let number = 2 + dice.below(40);
        kill_at(&s3, &bench.lake(), number, round % 2 == 0);
        let when = format!("round {round}, killed at request {number}");
        assert_between(&s3.objects(), &BTreeSet::new(), &states, &when);
    }
    succeed(&mut s3.upload(&bench.lake(), &["--profile", "full"]));
    assert_copied(&s3, &bench.lake());
}
