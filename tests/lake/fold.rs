//! The parts of a month that is over: many when they are first written, few from the next run on, and always right.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use crate::lake::{Bench, Transcript, assert_same_rows, data_files, etl, rows, succeed};

/// Text of so many bytes that hardly any compression makes smaller, another one for each seed.
fn noise(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-";
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(letters[usize::try_from(state % 64).unwrap()])
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

/// A session of August 2025 with a large message and a large output.
fn session(bench: &Bench, name: &str, day: u64, bytes: usize) -> Transcript {
    let mut transcript = Transcript::new(name, &format!("2025-08-{day:02}T10:00:00Z"));
    transcript.prompt(&noise(day, bytes)).call("Bash", &json!({"command": "make"}), &noise(day + 100, bytes));
    transcript.reply("Built.");
    bench.transcript(&format!("{name}.jsonl"), transcript.text());
    transcript
}

fn files_of(lake: &Path, table: &str) -> BTreeSet<String> {
    data_files(&lake.join(table)).into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// The rows of a lake that is made of the home as it is now.
fn fresh(bench: &Bench, name: &str) -> BTreeSet<String> {
    let lake = bench.path().join(name);
    succeed(&mut etl(&bench.home(), &lake));
    rows(&lake)
}

#[test]
fn sessions_come_and_grow_in_a_part_whose_other_rows_stay() {
    let bench = Bench::new();
    session(&bench, "second", 12, 300_000);
    bench.extract();
    session(&bench, "third", 20, 300_000);
    bench.extract();
    assert_eq!(files_of(&bench.lake(), "tool_calls").len(), 1, "nothing was folded");
    session(&bench, "first", 3, 300_000);
    let mut small = session(&bench, "small", 15, 10);
    bench.extract();
    bench.verify();
    assert_same_rows(&rows(&bench.lake()), &fresh(&bench, "four"), "four sessions");

    small.prompt("Go on").reply(&noise(7, 300_000));
    bench.transcript("small.jsonl", small.text());
    bench.extract();
    bench.verify();
    assert_eq!(files_of(&bench.lake(), "tool_calls").len(), 1);
    assert_same_rows(&rows(&bench.lake()), &fresh(&bench, "grown"), "one has grown");
    assert_eq!(
        bench.sql("select session_id, messages, tool_calls from sessions order by started_at"),
        ["first,4,1", "second,4,1", "small,6,1", "third,4,1"]
    );
}

#[test]
fn what_a_first_run_writes_is_folded_by_the_next() {
    let bench = Bench::new();
    for day in 1..29 {
        let mut transcript = Transcript::new(&format!("s{day}"), &format!("2025-08-{day:02}T10:00:00Z"));
        transcript.prompt(&"All work and no play. ".repeat(65_000)).reply("Done.");
        bench.transcript(&format!("s{day}.jsonl"), transcript.text());
    }
    bench.extract();
    let first = (files_of(&bench.lake(), "messages"), rows(&bench.lake()));
    assert_eq!(first.0.len(), 3, "sessions of 38 MiB");
    bench.extract();
    bench.verify();
    let folded = (files_of(&bench.lake(), "messages"), rows(&bench.lake()));
    assert_eq!(folded.0.len(), 1);
    assert!(first.0.is_disjoint(&folded.0), "a reader that has listed the old files would read rows twice");
    assert_same_rows(&folded.1, &first.1, "folded");
    bench.extract();
    assert_eq!(files_of(&bench.lake(), "messages"), folded.0, "there is nothing left to fold");
    succeed(bench.etl().arg("--full"));
    bench.verify();
    assert_eq!(files_of(&bench.lake(), "messages"), folded.0, "all of it is read anew");
    assert_same_rows(&rows(&bench.lake()), &first.1, "read anew");
}
