//! The archive only grows: what agents drop from their files stays in the lake, with the session that had it.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::home::{home_of, touch, write};
use crate::common::{Built, Case, Home};

const ORIGIN: &str = "0000000a-0000-4000-8000-00000000000a";
const FORK: &str = "0000000b-0000-4000-8000-00000000000b";

/// A line of a Claude Code transcript.
fn line(session: &str, kind: &str, uuid: &str, minute: usize, message: &Value) -> Value {
    json!({"type": kind, "uuid": uuid, "sessionId": session, "cwd": "/home/ana/p", "version": "2.1.90",
        "timestamp": format!("2026-01-01T00:{minute:02}:00Z"), "message": message})
}

fn reply(session: &str, uuid: &str, minute: usize, response: &str, content: &Value, output: i64) -> Value {
    let message = json!({"id": response, "type": "message", "role": "assistant", "model": "claude-sonnet-4-6",
        "content": content, "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": output}});
    line(session, "assistant", uuid, minute, &message)
}

/// Prompts and replies of some turns.
fn turns(session: &str, prefix: &str, minutes: std::ops::Range<usize>) -> Vec<Value> {
    let turn = |minute| {
        let prompt = json!({"role": "user", "content": format!("{prefix} prompt {minute}")});
        let answer = json!([{"type": "text", "text": format!("{prefix} answer {minute}")}]);
        [
            line(session, "user", &format!("{prefix}u{minute}"), minute, &prompt),
            reply(session, &format!("{prefix}a{minute}"), minute, &format!("msg_{prefix}{minute:020}"), &answer, 100),
        ]
    };
    minutes.flat_map(turn).collect()
}

fn transcript(home: &Home, folder: &str, session: &str) -> PathBuf {
    home.path().join(format!(".claude/projects/{folder}/{session}.jsonl"))
}

fn put(path: &Path, lines: &[Value]) {
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n";
    write(path, text.as_bytes());
}

/// Session and id of each message, ordered; fails where one stands twice or two have one place.
fn messages(lake: &Built<'_>) -> Vec<(String, String)> {
    let rows = lake.rows().values("messages");
    let text = |row: &Value, column: &str| row[column].as_str().unwrap_or_default().to_owned();
    let places: BTreeSet<(String, i64)> =
        rows.iter().map(|row| (text(row, "session_id"), row["seq"].as_i64().unwrap())).collect();
    assert_eq!(places.len(), rows.len(), "two messages have one place");
    let ids: BTreeSet<(String, String)> =
        rows.iter().map(|row| (text(row, "session_id"), text(row, "message_id"))).collect();
    assert_eq!(ids.len(), rows.len(), "a message stands twice");
    ids.into_iter().collect()
}

/// Removes the other lines of a file.
fn keep_lines(path: &Path, is_kept: impl Fn(usize, &str) -> bool) {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.split_inclusive('\n').enumerate().filter(|(place, line)| is_kept(*place, line));
    write(path, lines.map(|(_, line)| line).collect::<String>().as_bytes());
}

fn tokens(lake: &Built<'_>) -> i64 {
    lake.usage().iter().filter_map(|row| row["total_tokens"].as_i64()).sum()
}

/// Runs, then runs in full, and asserts each time that a value of the lake is as expected.
#[track_caller]
fn assert_after_runs<T: PartialEq<E> + Debug, E: Debug>(lake: &Built<'_>, expected: &E, value: impl Fn() -> T) {
    for full in [false, true] {
        lake.run_with(|options| options.full = full);
        assert_eq!(value(), *expected, "full: {full}");
    }
}

/// The fork's lines have no mark of their origin, as `--fork-session` writes them.
#[test]
fn a_shared_head_stays_with_its_origin_when_both_files_drop_it() {
    for drops_at_once in [false, true] {
        let home = Home::empty();
        let (origin, fork) = (transcript(&home, "p", ORIGIN), transcript(&home, "p", FORK));
        let first = turns(ORIGIN, "o", 0..6);
        let mut second = turns(FORK, "o", 0..4);
        second.extend(turns(FORK, "f", 30..31));
        put(&origin, &first);
        put(&fork, &second);
        let lake = Built::full(&home);
        let (before, usage) = (messages(&lake), lake.usage().len());
        assert_eq!((before.len(), usage), (14, 7));
        put(&origin, &first[8..]);
        if !drops_at_once {
            lake.run();
            assert_eq!(messages(&lake), before);
        }
        put(&fork, &second[8..]);
        lake.run();
        assert_eq!((messages(&lake), lake.usage().len()), (before.clone(), usage));
        lake.run_with(|options| options.full = true);
        assert_eq!((messages(&lake), lake.usage().len()), (before, usage));
    }
}

/// A record is gone when neither the session that owns it nor a fork holds it.
#[test]
fn what_a_fork_still_holds_is_not_gone() {
    for is_full in [false, true] {
        let home = Home::empty();
        let (origin, fork) = (transcript(&home, "p", ORIGIN), transcript(&home, "p", FORK));
        let first = turns(ORIGIN, "o", 0..6);
        let mut second = turns(FORK, "o", 0..4);
        second.extend(turns(FORK, "f", 30..31));
        put(&origin, &first);
        put(&fork, &second);
        let lake = Built::full(&home);
        let gone = || {
            lake.run_with(|options| options.full = is_full);
            let rows = lake.rows();
            let all = ["messages", "usage"].into_iter().flat_map(|table| rows.values(table));
            all.filter(|row| row.get("gone_at").is_some()).count()
        };
        put(&origin, &first[8..]);
        assert_eq!(gone(), 0, "full: {is_full}");
        put(&fork, &second[8..]);
        assert_eq!(gone(), 12, "full: {is_full}");
        put(&fork, &second);
        assert_eq!(gone(), 0, "full: {is_full}");
        put(&fork, &second[8..]);
        put(&origin, &first);
        assert_eq!(gone(), 0, "full: {is_full}");
        put(&origin, &first[8..]);
        assert_eq!(gone(), 12, "full: {is_full}");
    }
}

/// Agents drop the head of a file in the middle of a turn, or a prompt from among what follows.
#[test]
fn what_a_fork_held_is_gone_when_its_session_is_gone() {
    let home = home_of("pi", "forks");
    let folder = home.path().join(".pi/agent/sessions/--home-kim-shop--");
    let [origin, fork] = ["2026-03-01T11-00-00-000Z_000dbbbb", "2026-03-01T12-00-00-000Z_000dcccc"]
        .map(|name| folder.join(format!("{name}-0000-4000-8000-00000000000d.jsonl")));
    let lake = Built::full(&home);
    let is_gone = || {
        let messages = lake.rows().values("messages");
        let row = messages.iter().find(|row| row["message_id"].as_str().unwrap().starts_with("0dbb0001@")).unwrap();
        row.get("gone_at").is_some()
    };
    keep_lines(&origin, |_, line| !line.contains(r#""id":"0dbb0001""#));
    lake.run();
    assert!(!is_gone());
    write(&fork, b"{\"type\":\"custom\"}\n");
    for full in [false, true] {
        lake.run_with(|options| options.full = full);
        assert!(is_gone(), "full: {full}");
    }
}

#[test]
fn turns_stay_when_their_prompts_are_dropped() {
    let numbers = |lake: &Built<'_>| -> BTreeSet<(String, i64)> {
        let row = |row: &Value, id: &str| (row[id].to_string(), row["turn"].as_i64().unwrap());
        let messages = lake.rows().values("messages");
        let usage = lake.usage();
        messages.iter().map(|it| row(it, "message_id")).chain(usage.iter().map(|it| row(it, "response_id"))).collect()
    };
    for dropped in [0..5, 0..1, 4..5, 2..5, 6..7] {
        for moves in [false, true] {
            let home = Home::empty();
            let lines = turns(ORIGIN, "o", 0..4);
            put(&transcript(&home, "p", ORIGIN), &lines);
            let lake = Built::full(&home);
            let before = numbers(&lake);
            if moves {
                std::fs::remove_file(transcript(&home, "p", ORIGIN)).unwrap();
            }
            let mut left = lines;
            left.drain(dropped.clone());
            put(&transcript(&home, if moves { "q" } else { "p" }, ORIGIN), &left);
            for full in [false, true] {
                lake.run_with(|options| options.full = full);
                assert_eq!(numbers(&lake), before, "lines {dropped:?}, moves: {moves}, full: {full}");
                assert_eq!(lake.rows().values("sessions")[0]["turns"], 4);
            }
        }
    }
}

#[test]
fn a_moved_session_keeps_what_its_file_drops_later() {
    let home = Home::empty();
    let lines = turns(ORIGIN, "o", 0..4);
    let old = transcript(&home, "a", ORIGIN);
    put(&old, &lines);
    let lake = Built::full(&home);
    std::fs::remove_file(&old).unwrap();
    let mut expected = messages(&lake);
    for (from, until) in [(3, 5), (5, 6), (6, 7)] {
        let mut kept = lines[from..].to_vec();
        kept.extend(turns(ORIGIN, "n", 10..until + 10));
        put(&transcript(&home, "b", ORIGIN), &kept);
        lake.run();
        expected.extend(
            (10..until + 10).flat_map(|minute| ["u", "a"].map(|kind| (ORIGIN.to_owned(), format!("n{kind}{minute}")))),
        );
        expected.sort();
        expected.dedup();
        assert_eq!(messages(&lake), expected, "from line {from} on");
    }
}

#[test]
fn what_is_left_of_a_call_does_not_replace_it() {
    let call = json!([{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "make test"}}]);
    let result = json!({"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "all green"}]});
    let lines = [
        line(ORIGIN, "user", "u0", 0, &json!({"role": "user", "content": "test it"})),
        reply(ORIGIN, "a1", 1, "msg_1", &json!([{"type": "thinking", "thinking": "hm"}]), 3),
        reply(ORIGIN, "a2", 2, "msg_1", &call, 500),
        line(ORIGIN, "user", "r1", 3, &result),
        line(ORIGIN, "user", "u1", 4, &json!({"role": "user", "content": "next"})),
    ];
    for dropped in [vec![0, 1, 2], vec![3], vec![2]] {
        let home = Home::empty();
        let path = transcript(&home, "p", ORIGIN);
        put(&path, &lines);
        let lake = Built::full(&home);
        let left: Vec<Value> =
            lines.iter().enumerate().filter(|(at, _)| !dropped.contains(at)).map(|(_, line)| line.clone()).collect();
        put(&path, &left);
        for is_full in [false, true] {
            lake.run_with(|options| options.full = is_full);
            let calls = lake.rows().values("tool_calls");
            let found: Vec<_> =
                calls.iter().map(|call| [&call["name"], &call["command"], &call["output"], &call["status"]]).collect();
            assert_eq!(
                found,
                [[&json!("Bash"), &json!("make test"), &json!("all green"), &json!("ok")]],
                "{dropped:?}"
            );
            let usage = lake.usage();
            let output: Vec<_> = usage.iter().map(|response| &response["output_tokens"]).collect();
            assert_eq!(output, [&json!(500)], "{dropped:?}");
        }
    }
}

#[test]
fn typed_prompts_that_the_agent_trims_stay() {
    let session = "5973b6c0-94b8-487b-a530-2aeb6098ae0e";
    let codex = |number: i64| json!({"session_id": session, "ts": 1_767_225_600 + number * 60, "text": format!("prompt {number}")});
    let claude = |number: i64| {
        json!({"display": format!("prompt {number}"), "pastedContents": {}, "project": "/p", "sessionId": session,
            "timestamp": (1_767_225_600 + number * 60) * 1000})
    };
    let agents: [(&str, &dyn Fn(i64) -> Value); 2] =
        [(".codex/history.jsonl", &codex), (".claude/history.jsonl", &claude)];
    for (path, line) in agents {
        let home = Home::empty();
        let path = home.path().join(path);
        put(&path, &(1..=5).map(line).collect::<Vec<_>>());
        let lake = Built::full(&home);
        put(&path, &(4..=6).map(line).collect::<Vec<_>>());
        lake.run();
        let rows = lake.rows().values("messages");
        let mut texts: Vec<_> =
            rows.iter().map(|row| (row["text"].as_str().unwrap(), row.get("gone_at").is_some())).collect();
        texts.sort_unstable();
        let expected = [
            ("prompt 1", true),
            ("prompt 2", true),
            ("prompt 3", true),
            ("prompt 4", false),
            ("prompt 5", false),
            ("prompt 6", false),
        ];
        assert_eq!(texts, expected);
        assert_eq!(messages(&lake).len(), 6);
    }
}

/// A session's two files: one that another program shortened, and one that has all of it.
#[test]
fn a_file_that_says_less_than_another_of_its_session_doubles_no_row() {
    let home = Home::empty();
    let (first, second) = (transcript(&home, "p", ORIGIN), transcript(&home, "q", ORIGIN));
    let lines = turns(ORIGIN, "o", 0..3);
    put(&first, &lines);
    let lake = Built::full(&home);
    let before = messages(&lake);
    let mut shortened = lines.clone();
    shortened[1]["message"]["content"][0]["text"] = json!("a");
    put(&first, &shortened[..4]);
    put(&second, &lines);
    for is_full in [false, true] {
        lake.run_with(|options| options.full = is_full);
        assert_eq!(messages(&lake), before);
        let rows = lake.rows().values("messages");
        let reply = rows.iter().find(|row| row["message_id"] == "oa0").unwrap();
        assert_eq!(reply["text"], "o answer 0");
    }
}

#[test]
fn two_files_that_exchange_their_content_are_read_as_they_are() {
    let home = Home::empty();
    let (first, second) = (transcript(&home, "p", ORIGIN), transcript(&home, "q", ORIGIN));
    let lines = turns(ORIGIN, "o", 0..3);
    put(&first, &lines);
    put(&second, &lines[..1]);
    let lake = Built::full(&home);
    let path_of = || lake.rows().values("sessions")[0]["source_path"].as_str().unwrap().to_owned();
    assert!(path_of().contains("/p/"));
    put(&first, &lines[..1]);
    put(&second, &lines);
    lake.run();
    let path = path_of();
    lake.run_with(|options| options.full = true);
    assert_eq!(path_of(), path);
}

#[test]
fn what_a_session_was_called_stays_when_its_file_drops_the_line() {
    let home = Home::empty();
    let file = transcript(&home, "p", ORIGIN);
    let mut lines = turns(ORIGIN, "o", 0..3);
    for line in &mut lines[..2] {
        line["gitBranch"] = json!("main");
    }
    lines.push(json!({"type": "custom-title", "customTitle": "Named", "sessionId": ORIGIN}));
    put(&file, &lines);
    let lake = Built::full(&home);
    let known = || {
        let row = lake.rows().values("sessions").remove(0);
        [row["title"].clone(), row["git_branch"].clone()]
    };
    assert_eq!(known(), [json!("Named"), json!("main")]);
    put(&file, &lines[2..6]);
    assert_after_runs(&lake, &[json!("Named"), json!("main")], known);
}

/// Codex names the origin and the folder in the first line, which another line says differently. OpenCode names an origin by
/// its row.
/// Roo Code's requests are in another file than the calls.
#[test]
fn calls_keep_their_responses_when_requests_are_dropped() {
    let home = home_of("roo-code", "worked-example");
    let lake = Built::full(&home);
    let responses = || -> Vec<Value> {
        lake.rows().values("tool_calls").iter().map(|row| row.get("response_id").cloned().unwrap_or_default()).collect()
    };
    let before = responses();
    assert!(before.iter().any(Value::is_string));
    for source in home.sources() {
        let requests = source.path.with_file_name("ui_messages.json");
        if let Ok(text) = std::fs::read_to_string(&requests) {
            let shown: Vec<Value> = serde_json::from_str(&text).unwrap();
            write(&requests, json!(shown[3..]).to_string().as_bytes());
        }
    }
    assert_after_runs(&lake, &before, responses);
}

/// A summary is in the file of the session that goes on from the summarized one.
#[test]
fn a_summary_stays_when_the_file_that_gave_it_is_emptied() {
    let home = home_of("claude-code", "resume-copy");
    let folder = home.path().join(".claude/projects/-home-kim-shop");
    let [summarized, later] =
        ["00090001", "00090002"].map(|id| folder.join(format!("{id}-5e55-4000-8000-000000000009.jsonl")));
    let lake = Built::full(&home);
    let summaries = || -> Vec<Value> {
        lake.rows().values("sessions").iter().filter_map(|row| row.get("summary").cloned()).collect()
    };
    let before = summaries();
    assert_eq!(before, ["Rename user to account"]);
    std::fs::write(&later, "").unwrap();
    lake.run();
    touch(&later, Duration::from_secs(1_790_000_000));
    keep_lines(&summarized, |place, _| place < 2);
    assert_after_runs(&lake, &before, summaries);
}

#[test]
fn origin_and_user_stay_when_what_named_them_is_dropped() {
    let codex = |name: &str, file: &str, lost: &'static str| {
        let home = home_of("codex", name);
        let path = home.path().join(format!(".codex/sessions/2026/{file}.jsonl"));
        let drop_lines = move || {
            keep_lines(&path, |_, line| !line.contains(lost));
        };
        (home, Box::new(drop_lines) as Box<dyn Fn()>)
    };
    let opencode = home_of("opencode", "forks");
    let path = opencode.path().join(".local/share/opencode/opencode-dev.db");
    let drop_row = move || {
        let database = rusqlite::Connection::open(&path).unwrap();
        database.execute_batch("pragma foreign_keys = off; delete from session where id = 'ses_fk'").unwrap();
    };
    let cases = [
        codex(
            "copies-told-late",
            "06/01/rollout-2026-06-01T17-00-00-019fd240-0000-7000-8000-000000000026",
            "forked_from_id",
        ),
        codex(
            "prompt-without-message",
            "08/07/rollout-2026-08-07T10-00-00-019fbcc4-3002-7000-8000-000000000092",
            "kim/shop",
        ),
        (opencode, Box::new(drop_row)),
    ];
    for (home, drop_it) in cases {
        let lake = Built::full(&home);
        let known = || -> BTreeSet<[String; 3]> {
            let columns = ["session_id", "forked_from_session_id", "user_name"];
            lake.rows().values("sessions").iter().map(|row| columns.map(|column| row[column].to_string())).collect()
        };
        let before = known();
        drop_it();
        assert_after_runs(&lake, &before, known);
    }
}

/// Counts that go on over resumes are known by the replies since the last shutdown, or by having grown, where the log lost
/// the version and its first replies, or all of them.
#[test]
fn a_log_of_copilot_that_lost_its_start_adds_nothing_to_what_its_shutdowns_counted() {
    let cases = Case::of("copilot-cli");
    let home = Home::of(cases.iter().find(|case| case.name == "costs-of-shutdowns").unwrap());
    let log = home.path().join(".copilot/session-state/c0000063-0000-4000-8000-000000000001/events.jsonl");
    let lake = Built::full(&home);
    let before: i64 = lake.usage().iter().filter_map(|row| row["total_tokens"].as_i64()).sum();
    let text = std::fs::read_to_string(&log).unwrap();
    for keeps_replies in [true, false] {
        let left = text.split_inclusive('\n').skip(4);
        let left: String = left.filter(|line| keeps_replies || !line.contains("assistant.message")).collect();
        write(&log, left.as_bytes());
        lake.run();
        assert_eq!(lake.usage().iter().filter_map(|row| row["total_tokens"].as_i64()).sum::<i64>(), before);
    }
}

/// Nothing but the line that began a thread's own turn is dropped, or the first line of a fork: the next one is the first
/// line of its origin.
#[test]
fn a_thread_of_codex_that_lost_a_line_keeps_its_rows() {
    let cases = [
        ("copies-told-late", "turn_context", "06/01/rollout-2026-06-01T12-40-00-019fd211-0000-7000-8000-000000000023"),
        (
            "call-ids-counted",
            "forked_from_id",
            "08/03/rollout-2026-08-03T10-00-00-019fbcc4-2902-7000-8000-000000000091",
        ),
    ];
    for (name, lost, path) in cases {
        let home = home_of("codex", name);
        let path = home.path().join(format!(".codex/sessions/2026/{path}.jsonl"));
        let lake = Built::full(&home);
        let before = messages(&lake);
        keep_lines(&path, |_, line| !line.contains(lost));
        lake.run();
        assert_eq!(messages(&lake), before, "{name}");
    }
}

/// A thread is in two files, and one of them loses the line that names its provider: the other has the fuller row.
#[test]
fn a_file_that_has_less_of_a_response_still_counts_as_a_copy() {
    let home = home_of("codex", "places");
    let archived = ".codex/archived_sessions/rollout-2026-05-07T12-00-00-019fc070-0000-7000-8000-000000000007.jsonl";
    let path = home.path().join(archived);
    let lake = Built::full(&home);
    let copies = |lake: &Built<'_>| -> i64 { lake.usage().iter().filter_map(|row| row["copies"].as_i64()).sum() };
    let before = copies(&lake);
    assert!(before > 0);
    keep_lines(&path, |place, _| place >= 1);
    assert_after_runs(&lake, &before, || copies(&lake));
}

/// A person cuts the head off a history of Aider, within a run: the lake has the whole run, and what was typed before it.
/// A new lake has what is left of the run.
#[test]
fn a_run_of_aider_that_lost_its_head_is_there_once() {
    let home = home_of("aider", "inputs");
    let path = home.path().join("in/chat/.aider.chat.history.md");
    let lake = Built::full(&home);
    let before = (messages(&lake), tokens(&lake));
    keep_lines(&path, |place, _| place >= 3);
    assert_after_runs(&lake, &before, || (messages(&lake), tokens(&lake)));
    let new = Built::new(&home, "new");
    new.run();
    assert_eq!(tokens(&new), before.1);
}

/// The agent dropped a message, and has a part of it again.
#[test]
fn a_message_that_came_back_shorter_is_not_gone() {
    let home = Home::empty();
    let path = transcript(&home, "p", ORIGIN);
    let mut lines = turns(ORIGIN, "o", 0..2);
    put(&path, &lines);
    let lake = Built::full(&home);
    let first = |lake: &Built<'_>| {
        let row = lake.rows().values("messages").remove(0);
        (row["text"].clone(), row.get("gone_at").is_some())
    };
    put(&path, &lines[1..]);
    lake.run();
    assert_eq!(first(&lake), (json!("o prompt 0"), true));
    lines[0]["message"]["content"] = json!("o");
    put(&path, &lines);
    assert_after_runs(&lake, &(json!("o prompt 0"), false), || first(&lake));
}

/// A person copies a transcript: the copy's lines still name the subagents of the original.
#[test]
fn a_copied_transcript_does_not_rename_the_subagents_of_its_calls() {
    let home = Home::of(&Case::named("told-out-of-order"));
    let path = transcript(&home, "-home-kim-shop", "00970001-5e55-4000-8000-000000000097");
    let lake = Built::full(&home);
    let children = |lake: &Built<'_>| -> Vec<Value> {
        lake.rows().values("tool_calls").into_iter().map(|row| row["child_session_id"].clone()).collect()
    };
    let before = children(&lake);
    std::fs::copy(&path, path.with_file_name("copy.jsonl")).unwrap();
    assert_after_runs(&lake, &before, || children(&lake));
}

/// Progress lines repeat the first lines of subagents' answers. The subagents' own files replace what was known from them,
/// whatever is read first, and their rows stay when the files are gone.
#[test]
fn the_files_of_subagents_replace_what_progress_lines_said_of_them() {
    let home = Home::of(&Case::named("agents-folder-progress"));
    let session = transcript(&home, "-home-kim-shop", "00130001-5e55-4000-8000-000000000013");
    let (folder, aside) = (session.with_extension("").join("subagents"), home.beside("aside"));
    let full = Built::full(&home).usage();
    let lake = Built::new(&home, "lake");
    let outputs = |lake: &Built<'_>| -> Vec<i64> {
        let of_subagents = lake.usage().into_iter().filter(|row| row["is_sidechain"] == true);
        of_subagents.map(|row| row["output_tokens"].as_i64().unwrap()).collect()
    };
    std::fs::rename(&folder, &aside).unwrap();
    lake.run();
    assert_eq!(outputs(&lake), [1, 1], "what progress lines say");
    std::fs::rename(&aside, &folder).unwrap();
    for step in ["the files are there", "the files are gone"] {
        lake.run();
        assert_eq!(lake.usage(), full, "{step}");
        let _ = std::fs::rename(&folder, &aside);
    }
    lake.run_with(|options| options.full = true);
    assert_eq!(lake.usage(), full, "read again");
}

/// Without a log, the history of a session of Grok Build is read. Both name the same calls.
#[test]
fn a_log_of_grok_that_comes_late_or_comes_back_has_all_rows() {
    let home = home_of("grok", "worked-example");
    let sessions = home.path().join(".grok/sessions/%2Fhome%2Fana%2Fweb");
    let (log, aside) = (sessions.join("019f-a/updates.jsonl"), home.beside("aside"));
    let expected = Built::full(&home).rows().without_runs();
    for name in ["the log comes", "the log comes back"] {
        let lake = Built::new(&home, name);
        if name == "the log comes back" {
            lake.run();
        }
        std::fs::rename(&log, &aside).unwrap();
        lake.run();
        std::fs::rename(&aside, &log).unwrap();
        lake.run();
        for table in ["messages", "tool_calls", "usage"] {
            assert_eq!(lake.rows().without_runs().table(table), expected.table(table), "{name}: {table}");
        }
    }
}

/// A turn of Grok Build counts the subagents that ran during it: their logs say how much of it is theirs.
#[test]
fn a_turn_of_grok_does_not_count_a_subagent_whose_log_was_deleted() {
    for (case, child) in [("worked-example", "019f-c"), ("subagents", "019f-n"), ("subagents", "019f-l")] {
        let home = home_of("grok", case);
        let log = home.path().join(".grok/sessions/%2Fhome%2Fana%2Fweb").join(child).join("updates.jsonl");
        let aside = home.beside("aside");
        let lake = Built::full(&home);
        let before = tokens(&lake);
        std::fs::rename(&log, &aside).unwrap();
        for is_back in [false, true] {
            if is_back {
                std::fs::rename(&aside, &log).unwrap();
            }
            for full in [false, true] {
                lake.run_with(|options| options.full = full);
                assert_eq!(tokens(&lake), before, "{case}, {child}: the log is back: {is_back}, full: {full}");
            }
        }
    }
}

/// The price of a response of Kimi Code depends on the model that the request before it names.
#[test]
fn responses_of_kimi_code_keep_the_model_of_their_requests() {
    let home = home_of("kimi-code", "torn-lines");
    let lake = Built::full(&home);
    let models = |lake: &Built<'_>| {
        let of = |table| lake.rows().values(table).into_iter().map(|row| row["model"].clone()).collect::<Vec<_>>();
        (of("usage"), of("messages"))
    };
    let before = models(&lake);
    assert!(before.0.contains(&json!("kimi-k3")));
    for session in ["session_t1", "session_t2", "session_t3"] {
        let path =
            home.path().join(".kimi-code/sessions/wd_web_0123456789ab").join(session).join("agents/main/wire.jsonl");
        keep_lines(&path, |_, line| !line.contains("llm.request"));
    }
    assert_after_runs(&lake, &before, || models(&lake));
}

/// A reply of Kimi Code keeps its text and its response after its log lost the lines of both.
#[test]
fn a_reply_of_kimi_code_that_lost_its_response_stays() {
    let home = home_of("kimi-code", "outcomes");
    let lake = Built::full(&home);
    let reply = || {
        let rows = lake.rows().values("messages").into_iter();
        rows.filter(|row| row["text"] == "I run it.").map(|row| row["response_id"].clone()).collect::<Vec<_>>()
    };
    let before = reply();
    assert_eq!(before, [json!("main:1780020026310:710+0+0+41")]);
    let path = home.path().join(".kimi-code/sessions/wd_web_0123456789ab/session_o1/agents/main/wire.jsonl");
    keep_lines(&path, |_, line| !line.contains("1780020026310") && !line.contains("I run it."));
    assert_after_runs(&lake, &before, reply);
}

/// Half a document of Gemini CLI is read as far as it goes. A count that it lost is unknown, not zero.
#[test]
fn a_response_of_gemini_keeps_a_count_that_its_document_lost() {
    let home = home_of("gemini-cli", "documents");
    let folder = ".gemini/tmp/549df1e2e63b588ddd2563983ddfa9ff29a133ae610f24e9f73048e8cd15c502/chats";
    let path = home.path().join(folder).join("session-2025-10-29T10-00-00010001.json");
    let lake = Built::full(&home);
    let input = || {
        let rows = lake.usage().into_iter();
        rows.filter(|row| row["response_id"] == "00010005-3e55-4000-8000-000000000001")
            .map(|row| row["input_tokens"].as_i64())
            .collect::<Vec<_>>()
    };
    assert_eq!(input(), [Some(1400)]);
    keep_lines(&path, |_, line| !line.contains("\"input\": 1400,"));
    assert_after_runs(&lake, &[Some(1400)], input);
    std::fs::copy(&path, path.with_file_name("session-2025-10-29T10-00-00010002.json")).unwrap();
    assert_after_runs(&lake, &[Some(1400)], input);
}

/// Two files hold a session of Codex. One loses the line with the model, and then the line between two replies, which become one
/// reply with a longer text.
#[test]
fn a_reply_keeps_its_model_when_a_copy_of_its_file_joins_it_to_the_next() {
    let home = home_of("codex", "odd-fields");
    let name = "rollout-2026-05-27T12-00-00-019fc2a0-0000-7000-8000-00000000003c";
    let path = home.path().join(".codex/sessions/2026/05/27").join(format!("{name}.jsonl"));
    std::fs::copy(&path, path.with_file_name(format!("{name}-2.jsonl"))).unwrap();
    let lake = Built::full(&home);
    let model = || {
        let rows = lake.rows().values("messages").into_iter();
        rows.filter(|row| row["timestamp"] == "2026-05-27T10:00:07Z")
            .map(|row| row["model"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(model(), [json!("gpt-5.3-codex")]);
    keep_lines(&path, |_, line| !line.contains("turn_context"));
    assert_after_runs(&lake, &[json!("gpt-5.3-codex")], model);
    keep_lines(&path, |_, line| !line.contains("10:00:08.000Z") && !line.contains("10:00:09.000Z"));
    assert_after_runs(&lake, &[json!("gpt-5.3-codex")], model);
}

/// Two files hold a fork of Codex. One loses lines, and yields records to the origin that the other still owns. Each row
/// keeps its place, and the copies of the origin's responses are counted.
#[test]
fn a_record_that_one_file_yields_keeps_its_place() {
    let home = home_of("codex", "call-ids-counted");
    let name = "rollout-2026-08-03T10-00-00-019fbcc4-2902-7000-8000-000000000091";
    let path = home.path().join(".codex/sessions/2026/08/03").join(format!("{name}.jsonl"));
    let lake = Built::full(&home);
    keep_lines(&path, |at, _| !(19..22).contains(&at));
    lake.run();
    std::fs::copy(&path, path.with_file_name(format!("{name}-2.jsonl"))).unwrap();
    keep_lines(&path, |at, _| !(11..15).contains(&at));
    lake.run();
    let known = messages(&lake);
    keep_lines(&path, |at, _| !(2..4).contains(&at));
    lake.run();
    let usage = lake.rows().values("usage");
    assert_after_runs(&lake, &known, || messages(&lake));
    assert_eq!(lake.rows().values("usage"), usage);
}

/// Two captures of Droid hold a turn. One loses the line with the model, then the other the reply: the row keeps both.
#[test]
fn a_copy_that_lost_its_model_does_not_give_the_row() {
    let home = home_of("droid", "captures");
    let folder = home.path().join(".factory/projects/shop");
    let lake = Built::full(&home);
    let models = || {
        let rows = lake.usage().into_iter().filter(|row| row["input_tokens"] == 1002);
        rows.map(|row| (row["model"].clone(), row["message_id"].is_null())).collect::<Vec<_>>()
    };
    let known = models();
    assert_eq!(known, [(json!("claude-sonnet-4-5-20250929"), false)]);
    keep_lines(&folder.join("turn-c.jsonl"), |at, _| at >= 2);
    assert_after_runs(&lake, &known, models);
    keep_lines(&folder.join("turn-c-copy.jsonl"), |at, _| at != 2);
    assert_after_runs(&lake, &known, models);
}

/// The list of sessions of OpenClaw names the parent of a subagent. The parent's file lost the line with its id, and is
/// renamed: the subagent's parent and root are the session of the new name.
#[test]
fn a_parent_that_was_renamed_is_still_the_parent() {
    let home = home_of("openclaw", "list-of-sessions");
    let folder = home.path().join(".openclaw/agents/list/sessions");
    let path = folder.join("1006bbbb-0000-4000-8000-000000000006.jsonl");
    let lake = Built::full(&home);
    keep_lines(&path, |at, _| at >= 3);
    lake.run();
    std::fs::rename(&path, folder.join("1006bbbb-0000-4000-8000-000000000006-2.jsonl")).unwrap();
    let above = || {
        let rows = lake.rows().values("sessions").into_iter();
        let subagent = rows.filter(|row| row["session_id"] == "1006ffff-0000-4000-8000-000000000006");
        subagent.map(|row| (row["parent_session_id"].clone(), row["root_session_id"].clone())).collect::<Vec<_>>()
    };
    lake.run();
    let known = above();
    assert_after_runs(&lake, &known, above);
}

/// A copy of half a session of Qwen Code comes first. While the session is away, the copy loses a line and gains one that is
/// later in the session. The session owns the shared lines as soon as it is back.
#[test]
fn a_session_that_was_away_owns_its_lines_again() {
    let home = home_of("qwen-code", "commits-and-tests");
    let path = home.path().join(".qwen/projects/-home-kim-shop/chats/5e5b0001-0000-4000-8000-00000000000b.jsonl");
    let (copy, whole) = (path.with_file_name("copy.jsonl"), std::fs::read_to_string(&path).unwrap());
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    write(&copy, lines[..5].concat().as_bytes());
    let lake = Built::full(&home);
    let owners = || {
        let rows = lake.rows().values("messages").into_iter();
        rows.map(|row| row["session_id"].to_string()).collect::<BTreeSet<_>>().len()
    };
    assert_eq!(owners(), 2);
    std::fs::remove_file(&path).unwrap();
    write(&copy, [&lines[..4], &lines[8..]].concat().concat().as_bytes());
    assert_after_runs(&lake, &2, owners);
    write(&path, whole.as_bytes());
    assert_after_runs(&lake, &1, owners);
}

/// Mistral Vibe keeps the answers of two turns, and the sum over the session: what answers do not count has a row. They are
/// counted once, also after the program dropped them.
#[test]
fn a_total_has_only_what_no_response_counts() {
    let home = home_of("vibe", "store");
    let session = "d0000001-0000-4000-8000-000000000002";
    let journal = home.path().join(".vibe/logs/session/unified").join(session).join("journal");
    let lake = Built::full(&home);
    let counted = || -> Vec<i64> {
        let own = lake.usage().into_iter().filter(|row| row["session_id"] == session);
        own.map(|row| row["total_tokens"].as_i64().unwrap()).collect()
    };
    assert_eq!(counted(), [3070, 4300, 509, 6321]);
    std::fs::remove_file(journal.join("0000000000000011.jsonl")).unwrap();
    assert_after_runs(&lake, &[3070, 4300, 509, 6321], counted);
    let last = journal.join("0000000000000021.jsonl");
    let text = std::fs::read_to_string(&last).unwrap();
    write(&last, text.replace("\"inputTokens\":13500", "\"inputTokens\":113500").as_bytes());
    assert_after_runs(&lake, &114_200, || counted().iter().sum::<i64>());
    assert_eq!(lake.problems(), Vec::<String>::new());
}

/// A fork of OpenCode has the counts of a response in the message and in the part of its step.
#[test]
fn a_copied_message_that_lost_its_step_counts_once() {
    let home = home_of("opencode", "damage");
    let lake = Built::full(&home);
    let before = tokens(&lake);
    std::fs::remove_file(home.path().join(".local/share/opencode/storage/part/msg_dc2/prt_dc2b.json")).unwrap();
    assert_after_runs(&lake, &before, || tokens(&lake));
}

/// The total of a Vibe session is in its snapshot, the newest responses are in its journals.
#[test]
fn a_session_of_vibe_that_lost_its_snapshot_keeps_its_total() {
    let home = home_of("vibe", "worked-example");
    let store = home.path().join(".vibe/logs/session/unified/cccc3333-0000-4000-8000-000000000001");
    let lake = Built::full(&home);
    let before = tokens(&lake);
    std::fs::remove_file(store.join("generations/0000000000000002/projection-state.json")).unwrap();
    let journal = store.join("journal/0000000000000012.jsonl");
    for full in [false, false, true] {
        lake.run_with(|options| options.full = full);
        assert_eq!(tokens(&lake), before, "full: {full}");
        touch(&journal, Duration::from_secs(1_790_000_000));
    }
}

/// A session of Mistral Vibe goes on from another's totals, as the summary that it begins with shows.
#[test]
fn a_continued_session_counts_its_own_tokens_when_its_summary_is_dropped() {
    let home = home_of("vibe", "worked-example");
    let path = home.path().join(".vibe/logs/session/session_20260601_103000_bbbb2222/messages.jsonl");
    let lake = Built::full(&home);
    let before = tokens(&lake);
    let text = std::fs::read_to_string(&path).unwrap();
    let left: String = text.split_inclusive('\n').skip(1).collect();
    for content in [&left, &text] {
        write(&path, content.as_bytes());
        assert_after_runs(&lake, &before, || tokens(&lake));
    }
}

/// Goose's sums of a session, or the ledger of what they add up, may be deleted while its messages stay.
#[test]
fn sums_stay_when_the_row_that_holds_them_is_deleted() {
    let deletions = [
        ("before-the-ledger", "delete from sessions"),
        ("copies", "update sessions set accumulated_input_tokens = null, accumulated_output_tokens = null"),
        ("torn", "delete from usage_ledger"),
        ("lines", "delete from sessions"),
    ];
    for (name, deletion) in deletions {
        let home = home_of("goose", name);
        let lake = Built::full(&home);
        let ids = || -> BTreeSet<String> {
            lake.rows().values("usage").iter().map(|row| row["response_id"].to_string()).collect()
        };
        let (before, tokens_before) = (ids(), tokens(&lake));
        let sources = home.sources().into_iter().map(|source| source.path);
        let path = sources.into_iter().find(|path| path.ends_with("sessions.db")).unwrap();
        let database = rusqlite::Connection::open(path).unwrap();
        database.execute_batch("pragma foreign_keys = off").unwrap();
        database.execute_batch(deletion).unwrap();
        drop(database);
        lake.run();
        let lost: Vec<String> = before.difference(&ids()).cloned().collect();
        assert!(before.iter().any(|id| id.contains(":rest")) && lost.is_empty(), "{name}: {lost:?}");
        assert_eq!(tokens(&lake), tokens_before, "{name}");
    }
}
