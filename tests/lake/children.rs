//! A call whose subagent only the subagent's own file ties to it, in another part of the lake that is read later.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::lake::{Bench, Transcript, assert_same_rows, etl, files, rows, succeed};

/// A session that starts a subagent on the last day of a month, and says nothing of who that is.
fn parent() -> Transcript {
    let mut parent = Transcript::new("parent", "2025-07-31T23:58:00Z");
    parent.prompt("Look around").call("Task", &json!({"prompt": "look"}), "Nothing there.").reply("Nothing.");
    parent.prompt("And now?").call("Bash", &json!({"command": "make"}), "made").reply("Built.");
    parent
}

/// The subagent, which begins in the next month.
fn write_child(bench: &Bench) {
    let mut child = Transcript::new("parent", "2025-08-01T00:01:00Z");
    child.prompt("look").reply("Nothing there.");
    let child = bench.subagent("parent", "0000beef", &child);
    let description = json!({"agentType": "Explore", "toolUseId": "toolu_parent_1"}).to_string();
    fs::write(child.with_extension("meta.json"), description).unwrap();
}

fn home_with_a_late_child() -> Bench {
    let bench = Bench::new();
    bench.transcript("parent.jsonl", parent().text());
    write_child(&bench);
    bench
}

fn transcripts(home: &Path) -> u64 {
    let files = files(home).into_iter().filter(|path| path.extension().is_some_and(|suffix| suffix == "jsonl"));
    files.map(|path| fs::metadata(path).unwrap().len()).sum()
}

#[test]
fn its_name_is_put_down_without_reading_anything_twice() {
    let bench = home_with_a_late_child();
    succeed(bench.etl().args(["-j", "1"]));
    let children = "select name, child_session_id from tool_calls order by seq";
    assert_eq!(bench.sql(children), ["Task,parent/agent-0000beef", "Bash,"]);
    let months = "select month, count(*) from sessions group by 1 order by 1";
    assert_eq!(bench.sql(months), ["2025-07,1", "2025-08,1"]);
    assert_eq!(bench.sql("select bytes_read from runs"), [transcripts(&bench.home()).to_string()]);
    bench.verify();
}

#[test]
fn its_rows_are_those_of_any_other_order() {
    let bench = home_with_a_late_child();
    let streamed = |command: &mut Command| {
        succeed(command.env("LLREM_TEST_STREAMED_FROM", "1"));
    };
    streamed(bench.etl().args(["-j", "1"]));
    let (held, child_first) = (bench.path().join("held"), bench.path().join("child-first"));
    succeed(&mut etl(&bench.home(), &held));
    let child = bench.project().join("parent/subagents/agent-0000beef.jsonl");
    succeed(etl(&bench.home(), &child_first).arg("--source").arg(child));
    succeed(&mut etl(&bench.home(), &child_first));
    assert_same_rows(&rows(&bench.lake()), &rows(&held), "streamed");
    assert_same_rows(&rows(&child_first), &rows(&held), "the subagent first");
}
