//! Laws that hold for every lake, whatever it was made of.

use std::collections::BTreeSet;
use std::path::Path;

use llrem::agents::{AGENTS, Found, Places, claimed};
use llrem::etl::Content;
use serde_json::Value;

use crate::common::home::{agents, write};
use crate::common::rows::{Count, TOKENS};
use crate::common::{Built, Case, Home, Rows};

/// Every count and sum of a session equals what the other tables give, and every record is there once.
#[expect(clippy::too_many_lines, reason = "one law after the other")]
pub(crate) fn assert_consistent(rows: &Rows, what: &str) {
    let [messages, calls, usage] = ["messages", "tool_calls", "usage"].map(|table| rows.values(table));
    for session in rows.values("sessions") {
        let id = session["session_id"].as_str().unwrap();
        let of =
            |rows: &[Value]| -> Vec<Value> { rows.iter().filter(|row| row["session_id"] == id).cloned().collect() };
        let (messages, calls, usage) = (of(&messages), of(&calls), of(&usage));
        let with = |rows: &[Value], column: &str, value: &str| rows.iter().filter(|row| row[column] == value).count();
        // Nulls alone do not add up to 0.
        let sum_of = |rows: &[Value], columns: &[&str]| -> Option<i64> {
            let said = rows.iter().flat_map(|row| columns.iter().filter_map(|column| row[*column].as_i64()));
            said.reduce(|a, b| a + b)
        };
        let sum = |columns: &[&str]| sum_of(&usage, columns);
        let turns: BTreeSet<i64> = messages.iter().filter_map(|row| row["turn"].as_i64()).collect();
        let moment = |text: &Value| llrem::time::parse_iso(text.as_str()?);
        let moments = || messages.iter().filter_map(|row| moment(&row["timestamp"]));
        let counts = [
            ("messages", messages.len()),
            ("tool_calls", calls.len()),
            ("responses", with(&usage, "grain", "response")),
            ("turns", turns.len()),
            ("prompts", with(&messages, "kind", "prompt")),
            ("api_errors", with(&messages, "kind", "api_error")),
            ("compactions", with(&messages, "kind", "compaction")),
            ("aborts", with(&messages, "kind", "abort")),
            ("tool_errors", with(&calls, "status", "error")),
            ("tool_rejections", with(&calls, "status", "rejected")),
            ("commits", calls.iter().filter_map(|row| row["commit_sha"].as_str()).collect::<BTreeSet<_>>().len()),
        ];
        for (column, count) in counts {
            assert_eq!(session[column].as_u64(), Some(count as u64), "{what}: {column} of {id}");
        }
        let opens =
            |row: &&Value| row["git_operations"].as_array().is_some_and(|names| names.contains(&"pr_create".into()));
        let mut opened: Vec<&Value> =
            calls.iter().filter(opens).filter(|row| row["pull_request"].is_string()).collect();
        opened.sort_by_key(|row| row["seq"].as_i64());
        let mut urls: Vec<&Value> = Vec::new();
        for url in opened.iter().map(|row| &row["pull_request"]) {
            if !urls.contains(&url) {
                urls.push(url);
            }
        }
        assert_eq!(session["pull_requests"].as_array().unwrap().iter().collect::<Vec<_>>(), urls, "{what}: of {id}");
        let sums = [
            ("lines_added", sum_of(&calls, &["lines_added"])),
            ("lines_removed", sum_of(&calls, &["lines_removed"])),
            ("input_tokens", sum(&["input_tokens"])),
            ("cache_read_tokens", sum(&["cache_read_tokens"])),
            ("cache_write_tokens", sum(&["cache_write_5m_tokens", "cache_write_1h_tokens"])),
            ("output_tokens", sum(&["output_tokens"])),
            ("reasoning_tokens", sum(&["reasoning_tokens"])),
            ("total_tokens", sum(&["total_tokens"])),
            ("total_tokens", sum(&TOKENS)),
        ];
        for (column, sum) in sums {
            assert_eq!(session[column].as_i64(), sum, "{what}: {column} of {id}");
        }
        let cost: f64 = usage.iter().filter_map(|row| row["cost_usd"].as_f64()).sum();
        assert!((session["cost_usd"].as_f64().unwrap_or(0.0) - cost).abs() < 1e-9, "{what}: cost of {id}");
        assert_eq!(moment(&session["started_at"]), moments().min(), "{what}: start of {id}");
        let of_calls = calls.iter().flat_map(|row| [&row["started_at"], &row["ended_at"]]).filter_map(moment);
        let of_records = moments().chain(of_calls).max();
        let responses = || usage.iter().filter(|row| row["grain"] != "session");
        let of_responses = responses().filter_map(|row| moment(&row["timestamp"]));
        let ends = responses().filter_map(|row| Some(moment(&row["timestamp"])? + row["duration_ms"].as_i64()? * 1000));
        let (last, last_end) = (of_responses.max().max(of_records), ends.max());
        // Some agents date a reply by its beginning.
        let end = moment(&session["ended_at"]);
        assert!(end == last || end == last.max(last_end), "{what}: end of {id}");
        let places: Vec<_> = messages.iter().chain(&calls).map(|row| row["seq"].as_i64()).collect();
        let distinct: BTreeSet<_> = places.iter().collect();
        assert_eq!(places.len(), distinct.len(), "{what}: seq is unique in {id}");
    }
    for (table, column) in
        [("sessions", "session_id"), ("messages", "message_id"), ("tool_calls", "call_id"), ("usage", "response_id")]
    {
        let ids: Vec<String> = rows.values(table).iter().map(|row| row[column].to_string()).collect();
        let distinct: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(ids.len(), distinct.len(), "{what}: each {column} once");
    }
    let sessions: BTreeSet<String> = rows.values("sessions").iter().map(|row| row["session_id"].to_string()).collect();
    for table in ["messages", "tool_calls", "usage"] {
        for row in rows.values(table) {
            assert!(sessions.contains(&row["session_id"].to_string()), "{what}: a session for each row of {table}");
        }
    }
}

#[test]
fn tokens_equal_the_independent_count() {
    for case in Case::all() {
        let home = Home::of(&case);
        let text = std::fs::read_to_string(case.expected("tokens.json")).unwrap();
        let expected: Count = serde_json::from_str(&text).unwrap();
        assert_eq!(Built::full(&home).rows().count_as(&expected), expected, "{}", case.name);
    }
}

#[test]
fn sessions_sum_up_their_rows_and_records_are_there_once() {
    for case in Case::all() {
        let home = Home::of(&case);
        assert_consistent(&Built::full(&home).rows(), &case.name);
    }
    for agent in agents() {
        let home = Home::merged(agent);
        assert_consistent(&Built::full(&home).rows(), agent);
    }
}

/// Claude Code names the commits of some calls itself.
#[test]
fn commits_that_the_agent_names_are_found() {
    let case = Case::of("claude-code").into_iter().find(|case| case.name.ends_with("git-operations")).unwrap();
    let home = Home::of(&case);
    let text = std::fs::read_to_string(&home.sources()[0].path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let named: Vec<_> = lines
        .filter(|line| line["toolUseResult"]["gitOperation"]["commit"].is_object())
        .map(|line| {
            [&line["message"]["content"][0]["tool_use_id"], &line["toolUseResult"]["gitOperation"]["commit"]["sha"]]
                .map(Value::to_string)
        })
        .collect();
    let calls = Built::full(&home).rows().values("tool_calls");
    let found = calls.iter().filter(|call| call["commit_sha"].is_string());
    let found: Vec<_> = found.map(|call| [&call["call_id"], &call["commit_sha"]].map(Value::to_string)).collect();
    assert_eq!(found, named);
}

#[test]
fn extracting_twice_gives_the_same_bytes_and_writes_nothing() {
    for case in Case::all() {
        let home = Home::of(&case);
        let lake = Built::full(&home);
        let before = lake.files();
        let summary = lake.run();
        assert_eq!((summary.files_written, summary.bytes_written), (0, 0), "{}", case.name);
        assert_eq!(lake.files(), before, "{}", case.name);
        lake.run_with(|options| options.full = true);
        assert_eq!(lake.files(), before, "{}: extracted again", case.name);
    }
}

/// Damages some files as crashes and programs of other versions do: one in three is cut off, one in three has texts where
/// counts should be.
fn damage(home: &Home) {
    for (place, source) in home.sources().iter().enumerate() {
        let Ok(text) = std::fs::read_to_string(&source.path) else { continue };
        let damaged = match place % 3 {
            0 => text.chars().take(text.chars().count() * 2 / 3).collect(),
            1 => {
                text.replace("\"read\":", "\"read\": \"x\", \"was\":").replace("okens\":", "okens\": \"7x\", \"was\":")
            }
            _ => continue,
        };
        write(&source.path, damaged.as_bytes());
    }
}

#[test]
fn a_full_run_changes_no_row() {
    for home in Home::of_all_cases() {
        for is_damaged in [false, true] {
            if is_damaged {
                damage(&home);
            }
            let lake = Built::new(&home, if is_damaged { "damaged" } else { "whole" });
            lake.run();
            let before = lake.rows();
            lake.run_with(|options| options.full = true);
            let after = lake.rows();
            for table in ["sessions", "messages", "tool_calls", "usage"] {
                assert_eq!(after.table(table), before.table(table), "{table}, damaged: {is_damaged}");
            }
        }
    }
}

/// Of two copies that say the same of a response's output, the one that knows more kinds of tokens counts, whatever is read
/// first.
#[test]
fn a_copy_that_lacks_a_count_takes_it_from_no_row() {
    let cases = Case::of("opencode");
    let home = Home::of(cases.iter().find(|case| case.name == "worked-example").unwrap());
    let storage = home.path().join(".local/share/opencode/storage");
    let change = |file: &str, change: &dyn Fn(String) -> String| {
        let path = storage.join(file);
        write(&path, change(std::fs::read_to_string(&path).unwrap()).as_bytes());
    };
    change("session/p/ses_a.json", &|text| text.chars().take(text.len() / 2).collect());
    change("part/msg_2/prt_5.json", &|text| text.replace("\"read\":", "\"read\":\"x\",\"was\":"));
    let lake = Built::full(&home);
    let expected = lake.usage();
    assert_eq!(expected.iter().filter_map(|row| row["cache_read_tokens"].as_i64()).sum::<i64>(), 1000);
    lake.run_with(|options| options.full = true);
    assert_eq!(lake.usage(), expected);
    let fresh = Built::new(&home, "fresh");
    fresh.run();
    assert_eq!(fresh.usage(), expected);
}

/// Whatever a file says twice.
#[test]
fn records_that_a_source_repeats_are_there_once() {
    for case in Case::all() {
        let home = Home::of(&case);
        home.say_twice();
        let lake = Built::full(&home);
        assert_consistent(&lake.rows(), &case.name);
        assert_eq!(lake.problems(), Vec::<String>::new(), "{}", case.name);
    }
}

/// Of what one file says several times of a response, the fullest counts.
#[test]
fn a_response_that_a_source_repeats_has_the_numbers_of_its_fullest_copy() {
    let home = Home::empty();
    let reply = |output: i64| {
        serde_json::json!({"id": "m2", "role": "assistant", "content": [{"type": "text", "text": "ok"}], "ts": 1_760_000_000_010_i64,
            "modelInfo": {"id": "m", "provider": "p"}, "metrics": {"inputTokens": 12, "outputTokens": output, "cost": 0.01}})
    };
    let prompt = serde_json::json!({"id": "m1", "role": "user", "content": "go", "ts": 1_760_000_000_000_i64});
    let session = home.path().join(".cline/data/sessions/s1");
    write(&session.join("s1.json"), br#"{"version":1,"session_id":"s1","cwd":"/w"}"#);
    let say = |messages: Value| {
        let document = serde_json::json!({"version": 1, "agent": "lead", "sessionId": "s1", "messages": messages});
        write(&session.join("s1.messages.json"), document.to_string().as_bytes());
    };
    let lake = Built::full(&home);
    for (second, expected) in [(80, 80), (900, 900)] {
        say(serde_json::json!([prompt, reply(1), reply(second), reply(5)]));
        lake.run();
        let usage = lake.usage();
        assert_eq!((usage.len(), &usage[0]["output_tokens"], &usage[0]["copies"]), (1, &expected.into(), &2.into()));
        assert_eq!(lake.rows().values("messages").len(), 2);
    }
}

/// Also by its name alone, so that `--source` reads it as the agent's own folder would be read.
#[test]
fn each_source_is_one_agents() {
    for case in Case::all() {
        let home = Home::of(&case);
        let mut seen = BTreeSet::new();
        for agent in AGENTS {
            let mut found = Found::default();
            agent.discover(&Places::below(home.path().to_owned()), &mut found);
            for source in found.sources {
                let what = format!("{}: {}", case.name, source.path.display());
                let claim = claimed(&source.path, AGENTS).map(|(agent, kind)| (agent.about().id, kind));
                assert_eq!(claim, Some((agent.about().id, source.kind)), "{what}");
                assert!(seen.insert(source.path), "{what} is found twice");
            }
        }
    }
}

/// No other agent takes the files that lie in an agent's folder next to its sources.
#[test]
fn no_agent_takes_what_lies_in_the_folder_of_another() {
    let mut taken = Vec::new();
    for case in Case::all() {
        let home = Home::of(&case);
        let found: BTreeSet<_> = home.sources().into_iter().map(|source| source.path).collect();
        let files = walkdir::WalkDir::new(home.path()).into_iter().map(Result::unwrap);
        let files = files.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
        for path in files.filter(|path| !found.contains(path)) {
            let claim = claimed(&path, AGENTS).map(|(agent, kind)| (agent.about().id, kind));
            if claim.is_some_and(|(agent, _)| agent != case.agent) {
                let path = path.strip_prefix(home.path()).unwrap();
                taken.push(format!("{}/{}: {} is {claim:?}", case.agent, case.name, path.display()));
            }
        }
    }
    assert!(taken.is_empty(), "{}", taken.join("\n"));
    let chat = Path::new("/home/kim/.config/cursor/chats/0f/eeeeeeee-0000-4000-8000-000000000006/meta.json");
    assert!(claimed(chat, AGENTS).is_none());
}

/// Columns that hold what was said, and the keys made of it: a secret in it is another text than what stands for it.
const SAID: [&str; 12] = [
    "text",
    "text_sketch",
    "thinking",
    "input",
    "input_key",
    "input_shape",
    "command",
    "output",
    "output_key",
    "error_key",
    "title",
    "summary",
];

#[test]
fn without_contents_only_what_was_said_is_missing() {
    for case in Case::all() {
        let home = Home::of(&case);
        let bare = Built::new(&home, "bare");
        bare.run_with(|options| options.content = Content::None);
        let full = Built::full(&home).rows().without_runs();
        let bare = bare.rows().without_runs();
        let texts = SAID.iter().filter(|column| !column.ends_with("_key") && !column.ends_with("_shape"));
        for column in texts.filter(|column| **column != "text_sketch") {
            for table in ["sessions", "messages", "tool_calls"] {
                assert!(bare.values(table).iter().all(|row| row[column].is_null()), "{}: {column}", case.name);
            }
        }
        for table in ["sessions", "messages", "tool_calls", "usage"] {
            assert_eq!(unsaid(&bare, table), unsaid(&full, table), "{}: {table}", case.name);
        }
    }
}

fn unsaid(rows: &Rows, table: &str) -> Vec<Value> {
    let mut rows = rows.values(table);
    for row in &mut rows {
        row.as_object_mut().unwrap().retain(|column, _| !SAID.contains(&column.as_str()));
    }
    rows
}
