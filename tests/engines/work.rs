//! Reports on work: sessions, tools, hours, tests and limits.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::parity::columns_of;

/// A script of sessions, or of one session with files of another agent.
fn script(sessions: &Value) -> String {
    toml::to_string(&json!({"session": sessions})).unwrap()
}

fn script_of_files(files: &BTreeMap<String, String>) -> String {
    script(&json!([{"name": "files", "files": files}]))
}

fn lines(records: &[Value]) -> String {
    records.iter().flat_map(|record| [record.to_string(), "\n".to_owned()]).collect()
}

/// A session and a subagent, which use the same tools on the same file.
const WITH_SUBAGENT: &str = r#"
    [[session]]
    name = "main"
    steps = [
        { prompt = "Mend the shop" },
        { call = "Agent", agent = "helper", input = { prompt = "Look" } },
        { call = "Edit", input = { file_path = "/home/ana/shop/a.py", old_string = "a", new_string = "b" } },
        { call = "mcp__docs__find" },
    ]
    [[session]]
    name = "helper"
    parent = "main"
    at = "2026-03-02T10:00:06Z"
    steps = [
        { prompt = "Look" },
        { call = "Edit", input = { file_path = "/home/ana/shop/a.py", old_string = "a", new_string = "b" } },
        { call = "mcp__docs__find" },
    ]
"#;

#[test]
fn a_subagent_counts_as_part_of_its_parent() {
    for report in ["hours_of_week", "mcp_servers", "most_edited_files"] {
        assert_eq!(columns_of(report, &[], &["sessions"], WITH_SUBAGENT), [["1"]], "{report}");
    }
    let tools = columns_of("tool_use", &[], &["name", "calls", "sessions"], WITH_SUBAGENT);
    assert_eq!(tools, [["Edit", "mcp__docs__find", "Agent"], ["2", "2", "1"], ["1", "1", "1"]]);
}

#[test]
fn a_share_of_tokens_has_six_digits() {
    assert_eq!(columns_of("subagent_share", &[], &["share"], WITH_SUBAGENT), [["0.6", "0.4"]]);
    let alone = WITH_SUBAGENT.replace("{ call = \"mcp__docs__find\" },", "");
    assert_eq!(columns_of("subagent_share", &[], &["share"], &alone), [["0.666667", "0.333333"]]);
}

#[test]
fn a_call_that_a_rule_refused_did_not_fail() {
    let denied = |number: usize| {
        let said = "Permission to use this tool has been denied.";
        let record = json!({"type": "user", "toolUseResult": format!("Error: {said}"), "toolDenialKind": "permission-rule",
            "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("call_rules_{number}"),
                "content": said, "is_error": true}]}});
        json!({"record": record.to_string()})
    };
    let (shell, server) = ("Bash", "mcp__docs__find");
    let script = script(&json!([{"name": "rules", "steps": [
        {"prompt": "Mend the shop"},
        {"call": shell, "input": {"command": "sudo ls"}, "pending": true}, denied(1),
        {"call": shell, "input": {"command": "ls a"}, "rejected": true},
        {"call": shell, "input": {"command": "ls b"}, "error": "no such file"},
        {"call": shell, "input": {"command": "ls c"}},
        {"call": server, "pending": true}, denied(5),
        {"call": server, "error": "no such page"},
        {"call": server, "times": 2},
    ]}]));
    let tools = columns_of("tool_use", &[], &["name", "errors", "rejections", "error_rate"], &script);
    assert_eq!(tools, [[shell, server], ["1", "1"], ["2", "1"], ["0.5", "0.333333"]]);
    assert_eq!(columns_of("mcp_servers", &[], &["errors", "error_rate"], &script), [["1"], ["0.333333"]]);
    let [measures, figures]: [_; 2] =
        columns_of("drift", &[("min_sessions", "1")], &["measure", "figure"], &script).try_into().unwrap();
    let failed = measures.iter().position(|measure| measure == "failed_share").unwrap();
    assert_eq!(figures[failed], "0.25");
}

/// A conversation of `OpenHands`, whose one tool edits a file and reads it twice; no tokens are recorded.
fn openhands() -> String {
    let folder = ".openhands/conversations/0e0a0000000000000000000000000001";
    let event = |number: usize, rest: Value| {
        let id = format!("5e0a000a-0000-4000-8000-{number:012}");
        let mut event = json!({"id": id, "timestamp": format!("2026-06-03T09:00:{number:02}.000000")});
        event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        (format!("{folder}/events/event-{number:05}-{id}.json"), event.to_string())
    };
    let state = json!({"id": "conversations/0e0a0000000000000000000000000001", "execution_status": "finished",
        "workspace": {"working_dir": "/home/ana/garden", "kind": "LocalWorkspace"},
        "agent": {"llm": {"model": "openai/gpt-5"}}, "stats": {"usage_to_metrics": {}}});
    let mut files = BTreeMap::from([
        (format!("{folder}/base_state.json"), state.to_string()),
        event(
            0,
            json!({"source": "user", "kind": "MessageEvent",
            "llm_message": {"role": "user", "content": [{"type": "text", "text": "Water the plants"}]}}),
        ),
    ]);
    for (number, command) in [(1, "view"), (3, "str_replace"), (5, "view")] {
        let path = "/home/ana/garden/a.txt";
        let call = format!("call_{number}");
        let arguments = json!({"command": command, "path": path, "old_str": "a", "new_str": "b"});
        let function = json!({"id": call, "name": "file_editor", "arguments": arguments.to_string()});
        files.extend([
            event(
                number,
                json!({"source": "agent", "kind": "ActionEvent", "tool_name": "file_editor",
                "tool_call_id": call, "tool_call": function, "action": {"command": command, "path": path,
                    "old_str": "a", "new_str": "b", "kind": "FileEditorAction"}}),
            ),
            event(
                number + 1,
                json!({"source": "environment", "kind": "ObservationEvent", "tool_name": "file_editor",
                "tool_call_id": call, "action_id": "a", "observation": {"is_error": false, "command": command,
                    "path": path, "content": [{"type": "text", "text": "done"}], "kind": "FileEditorObservation"}}),
            ),
        ]);
    }
    script_of_files(&files)
}

#[test]
fn a_tool_has_the_category_of_most_of_its_calls() {
    assert_eq!(
        columns_of("tool_use", &[], &["name", "category", "calls"], &openhands()),
        [["file_editor"], ["read"], ["3"]]
    );
}

#[test]
fn a_project_without_usage_has_a_row() {
    let columns = ["project", "cost_usd", "unpriced_responses", "edits"];
    assert_eq!(columns_of("output_by_project", &[], &columns, &openhands()), [["garden"], [""], ["0"], ["1"]]);
}

/// The files of a session of Codex.
fn codex(day: usize, records: &[Value]) -> (String, String) {
    let id = format!("019fc300-0000-7000-8000-0000000000{day:02}");
    let start = format!("2026-06-{day:02}T08:00:00.000Z");
    let mut whole = vec![
        json!({"timestamp": start, "type": "session_meta", "payload": {"id": id, "timestamp": start, "cwd": "/home/ana/web",
            "originator": "codex_cli", "cli_version": "0.146.0", "source": "cli", "model_provider": "openai"}}),
        json!({"timestamp": start, "type": "turn_context", "payload": {"turn_id": "t1", "cwd": "/home/ana/web",
            "model": "gpt-5.1-codex", "effort": "high", "summary": "auto"}}),
        json!({"timestamp": start, "type": "event_msg", "payload": {"type": "user_message", "message": "go", "images": []}}),
    ];
    for (minute, record) in (1..).zip(records) {
        let mut record = record.clone();
        record["timestamp"] = json!(format!("2026-06-{day:02}T08:{minute:02}:00.000Z"));
        whole.push(record);
    }
    (format!(".codex/sessions/2026/06/{day:02}/rollout-2026-06-{day:02}T08-00-00-{id}.jsonl"), lines(&whole))
}

#[test]
fn lines_of_a_command_are_those_of_an_edit() {
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.ts\n@@\n-q\n+r\n+s\n*** End Patch\nEOF";
    let call = |id: &str, command: &str| {
        let arguments = json!({"command": ["bash", "-lc", command]}).to_string();
        let call = json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": id});
        let output = json!({"type": "function_call_output", "call_id": id, "output": "Exit code: 0\nOutput:\ndone\n"});
        [call, output].map(|payload| json!({"type": "response_item", "payload": payload}))
    };
    let script = script_of_files(&[codex(20, &[call("call_1", patch), call("call_2", "ls")].concat())].into());
    let columns = ["edits", "lines_added", "lines_removed", "edits_without_lines"];
    assert_eq!(columns_of("output_by_project", &[], &columns, &script), [["1"], ["2"], ["1"], ["0"]]);
}

/// Responses of $0.125 each, with what was used of a limit and the end of its window, where recorded.
fn limits(day: usize, counts: &[Option<(f64, i64)>]) -> (String, String) {
    let noon = 1_780_228_800 + 86_400 * i64::try_from(day).unwrap() + 43_200;
    let mut records = Vec::new();
    for (number, count) in (1..).zip(counts) {
        let tokens = |count: i64| {
            json!({"input_tokens": count, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0,
                "total_tokens": count})
        };
        let limits = count.map(|(percent, seconds)| {
            json!({"limit_id": "codex", "plan_type": "pro",
                "primary": {"used_percent": percent, "window_minutes": 300, "resets_at": noon + seconds}})
        });
        records.extend([
            json!({"type": "response_item", "payload": {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": format!("answer {number}")}]}}),
            json!({"type": "event_msg", "payload": {"type": "token_count", "rate_limits": limits, "info": {
                "total_token_usage": tokens(100_000 * number), "last_token_usage": tokens(100_000),
                "model_context_window": 272_000}}}),
        ]);
    }
    codex(day, &records)
}

#[test]
fn a_limit_has_one_row_from_its_first_to_its_last_count() {
    let moves =
        [148, 149, 151, 152].into_iter().zip([10.0, 12.0, 14.0, 16.0]).map(|(seconds, used)| Some((used, seconds)));
    let dips = [10.0, 9.0, 11.0, 13.0, 15.0].map(|used| Some((used, 0)));
    let counts = [Some(10.0), None, None, None, Some(12.0), Some(14.0), Some(16.0), None];
    let counts = counts.map(|used| used.map(|used| (used, 0)));
    let days = [limits(20, &moves.collect::<Vec<_>>()), limits(21, &dips), limits(22, &counts)];
    let columns = ["first_percent", "highest_percent", "responses", "cost_usd", "usd_per_percent"];
    let found = columns_of("limits", &[], &columns, &script_of_files(&days.into()));
    assert_eq!(
        found,
        [
            ["10.0", "10.0", "10.0"],
            ["16.0", "15.0", "16.0"],
            ["7", "5", "4"],
            ["0.875", "0.625", "0.5"],
            ["0.1458", "0.125", "0.0833"],
        ]
    );
}

#[test]
fn turns_without_a_price_have_no_part_in_the_cost_of_a_turn() {
    let record = json!({"type": "assistant", "requestId": "req_priced", "costUSD": 0.1, "message": {"id": "msg_priced",
        "type": "message", "role": "assistant", "model": "my-own-model", "content": [{"type": "text", "text": "one"}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 1000, "output_tokens": 100}}});
    let script = script(&json!([{"name": "half", "model": "my-own-model", "steps": [
        {"prompt": "One"}, {"record": record.to_string()}, {"prompt": "Two"}, {"reply": "two"},
    ]}]));
    let found = columns_of("drift", &[("min_sessions", "1")], &["measure", "figure"], &script);
    let measures = ["usd_per_turn", "tokens_per_turn", "calls_per_turn", "aborted_share"];
    assert_eq!(found, [measures, ["0.1", "10905.0", "0.0", "0.0"]]);
}

#[test]
fn a_share_ends_at_one() {
    let script =
        script(&json!([{"name": "stopped", "steps": [{"prompt": "One"}, {"reply": "one"}, {"interrupt": true}]}]));
    let found = columns_of("drift", &[("min_sessions", "1")], &["measure", "figure", "high"], &script);
    let shares: Vec<_> = found.iter().map(|column| column.last().unwrap().as_str()).collect();
    assert_eq!(shares, ["aborted_share", "1.0", "1.0"]);
}

#[test]
fn a_session_is_in_a_time_with_all_its_subagents() {
    let script = r#"
        [[session]]
        name = "late"
        at = "2026-03-10T23:50:00Z"
        steps = [
            { prompt = "Mend the shop" },
            { call = "Edit", input = { file_path = "/home/ana/shop/a.py", old_string = "a", new_string = "b" } },
            { call = "Agent", agent = "tester", took = 1200, input = { prompt = "Test" } },
        ]
        [[session]]
        name = "tester"
        parent = "late"
        at = "2026-03-11T00:02:00Z"
        steps = [
            { prompt = "Test" },
            { call = "Edit", input = { file_path = "/home/ana/shop/b.py", old_string = "a", new_string = "b" } },
            { call = "Bash", input = { command = "pytest -q" }, ok = "3 passed in 0.1s" },
        ]
    "#;
    let found = |bound| {
        let columns = ["sessions", "tested", "tested_after", "ended_passed"];
        columns_of("edits_without_tests", &[(bound, "2026-03-11T00:00:00Z")], &columns, script)
    };
    assert_eq!(found("until"), [["1"]; 4]);
    assert_eq!(found("since"), [[""; 0]; 4]);
}

#[test]
fn a_runner_is_the_last_program_that_runs_tests() {
    let cases = [
        ("cd /srv/node/app\nmake test", "make"),
        ("cd /home/kim/jest-app && cargo test", "cargo"),
        ("cargo build\ngo test ./...", "go"),
        ("cargo nextest run", "nextest"),
        ("npm run lint && npx jest --ci", "jest"),
        ("pytest -q; npm test", "npm"),
        ("CI=1 uv run python -m pytest -q | tee test.log", "pytest"),
        ("poetry run pytest", "pytest"),
        (".venv/bin/pytest -q > test.log", "pytest"),
        ("bash -lc 'cd web && yarn vitest run'", "vitest"),
        ("timeout 300 ./gradlew :app:testDebug 2>&1 | tail", "gradlew"),
        ("npm test && git commit -m 'make test'", "npm"),
        ("python manage.py test", "other"),
    ];
    let session = |(number, (command, _)): (usize, &(&str, &str))| {
        json!({"name": format!("run-{number}"), "project": format!("p{number:02}"), "steps": [
            {"prompt": "Test it"}, {"call": "Bash", "input": {"command": command}}]})
    };
    let sessions: Vec<_> = cases.iter().enumerate().map(session).collect();
    let found = columns_of("test_runs", &[], &["runner"], &script(&json!(sessions)));
    assert_eq!(found, [cases.map(|(_, runner)| runner)]);
}

#[test]
fn a_job_has_no_person() {
    let steps = json!([
        {"prompt": "One"}, {"after": 100.0, "reply": "one"}, {"after": 100.0, "prompt": "Two"}, {"after": 15.0, "reply": "two"},
    ]);
    let script = script(&json!([
        {"name": "person", "at": "2026-03-02T10:00:00Z", "entrypoint": "cli", "steps": steps},
        {"name": "job", "at": "2026-03-03T10:00:00Z", "entrypoint": "sdk-cli", "steps": steps},
    ]));
    let columns = ["is_total", "person_hours", "agent_hours", "agents_alone_hours"];
    assert_eq!(
        columns_of("hours_by_project_day", &[], &columns, &script),
        [
            ["true", "false", "true", "false"],
            ["0.0", "0.0", "0.055556", "0.055556"],
            ["0.031944"; 4],
            ["0.031944", "0.031944", "0.004167", "0.004167"],
        ]
    );
}

#[test]
fn short_times_and_small_costs_are_not_zero() {
    let script = script(&json!([{"name": "short", "steps": [
        {"prompt": "One"}, {"after": 7.5, "reply": "one", "tokens": {"input": 10_000, "read": 0, "write": 0, "output": 200}},
    ]}]));
    let columns = ["active_hours", "median_active_minutes", "longest_active_minutes"];
    assert_eq!(columns_of("session_lengths", &[], &columns, &script), [["0.002083"], ["0.125"], ["0.125"]]);
    let columns = ["list_price_usd", "times_plan"];
    assert_eq!(columns_of("plan_worth", &[("price", "20")], &columns, &script), [["0.033"], ["0.00165"]]);
}
