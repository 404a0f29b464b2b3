//! A source that is too large to be held gives the rows that it would give if it were held, in the same order.

use std::path::Path;
use std::process::Command;

use crate::common::{Case, Home};
use crate::lake::{Bench, Transcript, assert_same_rows, etl, in_parallel, rows, succeed};
use serde_json::json;

/// Streams whatever is not empty, row by row.
fn streamed(command: &mut Command) -> &mut Command {
    command.env("LLREM_TEST_STREAMED_FROM", "1")
}

/// Extracts a home twice, held and streamed; the second lake is the bench's own.
fn assert_streams_alike(bench: &Bench, home: &Path, what: &str) {
    let held = bench.path().join("held");
    succeed(etl(home, &held).args(["--redact", "none"]));
    succeed(streamed(etl(home, &bench.lake()).args(["--redact", "none"])));
    assert_same_rows(&rows(&bench.lake()), &rows(&held), what);
    bench.verify();
}

#[test]
fn every_fixture_gives_the_same_rows() {
    in_parallel(Home::of_all_cases().into_iter().enumerate().collect(), |(number, home)| {
        assert_streams_alike(&Bench::new(), home.path(), &format!("home {number}"));
    });
}

#[test]
fn records_that_a_source_repeats_are_there_once() {
    let cases = ["claude-code", "codex", "pi"].into_iter().flat_map(Case::of).collect();
    in_parallel(cases, |case| {
        let home = Home::of(&case);
        home.say_twice();
        assert_streams_alike(&Bench::new(), home.path(), &case.name);
    });
}

/// A session with a call that is answered hundreds of records later, and one that never is.
fn straggling() -> Transcript {
    let mut transcript = Transcript::new("late", "2025-08-05T10:00:00Z");
    transcript.prompt("Build it").call("Bash", &json!({"command": "make"}), "done");
    transcript.call("Bash", &json!({"command": "sleep infinity"}), "never");
    for number in 0..200 {
        transcript.prompt(&format!("and {number}?")).call("Bash", &json!({"command": "true"}), "so it is");
        transcript.reply("Yes.");
    }
    transcript.reply("It was built.");
    transcript.lines.remove(4);
    let answer = transcript.lines.remove(2);
    transcript.lines.insert(transcript.lines.len() - 1, answer);
    transcript
}

#[test]
fn what_comes_late_is_put_in_its_place() {
    let bench = Bench::new();
    bench.transcript("late.jsonl", straggling().text());
    assert_streams_alike(&bench, &bench.home(), "late results");
    assert_eq!(bench.sql("select status, count(*) from tool_calls group by 1 order by 1"), ["ok,201", "pending,1"]);
    let late = "select seq, output from tool_calls where command = 'make'";
    assert_eq!(bench.sql(late), ["2,done"]);
}

const THREAD: &str = "019fbcc4-2900-7000-8000-000000000001";

/// A rollout of the thread: prompts, calls and replies from a second on.
fn rollout(name: &str, second: usize) -> Vec<String> {
    let line = |at: usize, kind: &str, payload: serde_json::Value| {
        let timestamp = format!("2026-06-20T08:{:02}:{:02}.000Z", (second + at) / 60, (second + at) % 60);
        json!({"timestamp": timestamp, "type": kind, "payload": payload}).to_string()
    };
    let text = |kind: &str, text: String| json!([{"type": kind, "text": text}]);
    let turn = |turn: usize| {
        let (at, call) = (turn * 20, format!("call_{name}_{turn}"));
        let prompt = text("input_text", format!("{name} {turn}?"));
        let reply = text("output_text", format!("{name} {turn}."));
        let asked = json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": call});
        let answered = json!({"type": "function_call_output", "call_id": call, "output": "so it is"});
        [
            line(at, "response_item", json!({"type": "message", "role": "user", "content": prompt})),
            line(at + 3, "response_item", asked),
            line(at + 6, "response_item", answered),
            line(at + 9, "response_item", json!({"type": "message", "role": "assistant", "content": reply})),
        ]
    };
    let meta = json!({"id": THREAD, "timestamp": "2026-06-20T08:00:00.000Z", "cwd": "/home/kim/shop"});
    std::iter::once(line(0, "session_meta", meta)).chain((0..40).flat_map(turn)).collect()
}

#[test]
fn a_session_of_two_sources_and_of_lost_rows_is_the_same_on_disk_and_in_memory() {
    let bench = Bench::new();
    let (first, second) = (rollout("first", 0), rollout("second", 10));
    let folder = bench.home().join(".codex/sessions/2026/06/20");
    std::fs::create_dir_all(&folder).unwrap();
    let put = |name: &str, lines: &[String], lost: std::ops::Range<usize>| {
        let left = lines.iter().enumerate().filter(|(place, _)| !lost.contains(place));
        let text = left.fold(String::new(), |text, (_, line)| text + line + "\n");
        std::fs::write(folder.join(format!("rollout-2026-06-20T08-00-{name}-{THREAD}.jsonl")), text).unwrap();
    };
    let held = bench.path().join("held");
    for (of_first, of_second) in [(0..0, 0..0), (1..37, 50..60), (30..55, 50..80)] {
        put("00", &first, of_first);
        put("10", &second, of_second);
        for etl in [&mut etl(&bench.home(), &held), streamed(&mut etl(&bench.home(), &bench.lake()))] {
            succeed(etl.args(["--redact", "none"]).env("LLREM_NOW", "2026-07-01T00:00:00Z"));
        }
        assert_same_rows(&rows(&bench.lake()), &rows(&held), "two sources");
    }
    assert_eq!(bench.sql("select count(*) from sessions"), ["1"]);
    let gone = bench.sql("select count(*) > 20 from messages where gone_at is not null");
    assert_eq!(gone, ["true"]);
    bench.verify();
}

#[test]
fn a_small_source_whose_rows_are_large_is_streamed() {
    let bench = Bench::new();
    let line = |number: u32| format!("{{\"type\":\"user\",\"uuid\":\"{number}\",\"message\":{{\"content\":\"x\"}}}}\n");
    let text: String = (0..400).map(line).collect();
    bench.transcript("short.jsonl", &text);
    let held = bench.path().join("held");
    succeed(&mut etl(&bench.home(), &held));
    let output = succeed(bench.etl().env("LLREM_TEST_STREAMED_FROM", (text.len() + 1).to_string()));
    assert_same_rows(&rows(&bench.lake()), &rows(&held), "short lines");
    let bytes = i64::try_from(text.len()).unwrap();
    assert_eq!(bench.sql("select bytes_read from runs"), [(3 * bytes).to_string()], "{output:?}");
}

#[test]
fn what_is_said_beside_the_rows_is_kept() {
    let bench = Bench::new();
    let mut transcript = Transcript::new("named", "2025-08-05T10:00:00Z");
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    transcript.prompt(&format!("Push with {secret}")).reply("Pushed.");
    transcript.lines.push(json!({"type": "custom-title", "customTitle": "A name", "sessionId": "named"}).to_string());
    bench.transcript("named.jsonl", transcript.text());
    succeed(streamed(&mut bench.etl()));
    assert_eq!(bench.sql("select title from sessions"), ["A name"]);
    assert_eq!(bench.sources()["named.jsonl"]["redactions"], "github-token: 1");
    assert!(!bench.sql("select text from messages").concat().contains(&secret));
}

#[test]
fn a_rewritten_text_is_seen() {
    let bench = Bench::new();
    let mut transcript = Transcript::new("edited", "2025-08-05T10:00:00Z");
    transcript.prompt("First version").reply("Fine.");
    bench.transcript("edited.jsonl", transcript.text());
    succeed(streamed(&mut bench.etl()));
    bench.transcript("edited.jsonl", transcript.text().replace("First version", "Other version"));
    succeed(streamed(&mut bench.etl()));
    assert_eq!(bench.sql("select text from messages where kind = 'prompt'"), ["Other version"]);
}
