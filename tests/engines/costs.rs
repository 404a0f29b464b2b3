//! Reports on costs: which responses count where.

use serde_json::{Value, json};

use crate::parity::columns_of;

/// A transcript of Claude Code: its path below the home, and its text. Its records are a minute apart, from 10:00 on.
fn transcript(session: &str, place: &Value, records: &[Value]) -> (String, String) {
    let (root, agent) = session.split_once('/').map_or((session, None), |(root, agent)| (root, Some(agent)));
    let mut text = String::new();
    for (number, record) in records.iter().enumerate() {
        let mut line = json!({"uuid": format!("{session}-{number}"), "timestamp": format!("2026-03-02T10:{number:02}:00Z"),
            "sessionId": root, "version": "2.1.112", "cwd": "/home/ana/app", "gitBranch": "main", "userType": "external",
            "isSidechain": agent.is_some()});
        if number > 0 {
            line["parentUuid"] = json!(format!("{session}-{}", number - 1));
        }
        if let Some(agent) = agent {
            line["agentId"] = json!(agent);
        }
        let line = with(with(line, place), record);
        text.push_str(&line.to_string());
        text.push('\n');
    }
    let file = agent.map_or_else(|| root.to_owned(), |agent| format!("{root}/subagents/agent-{agent}"));
    (format!(".claude/projects/-home-ana/{file}.jsonl"), text)
}

/// Adds fields to a record.
fn with(mut record: Value, fields: &Value) -> Value {
    record.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    record
}

fn prompt(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

/// Part of a response whose thousand tokens of output cost 0.015 USD.
fn part(response: &str, block: &Value, thousands: i64) -> Value {
    json!({"type": "assistant", "requestId": format!("req_{response}"), "message": {"id": format!("msg_{response}"),
        "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [block],
        "stop_reason": "end_turn", "usage": {"input_tokens": 0, "output_tokens": thousands * 1000}}})
}

fn reply(response: &str, thousands: i64) -> Value {
    part(response, &json!({"type": "text", "text": format!("Done: {response}")}), thousands)
}

fn by_model(response: &str, model: &str, thousands: i64) -> Value {
    let mut record = reply(response, thousands);
    record["message"]["model"] = json!(model);
    record
}

/// A response that writes to a cache of five minutes.
fn writing(response: &str, tokens: i64) -> Value {
    let mut record = reply(response, 0);
    record["message"]["usage"] = json!({"input_tokens": 0, "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": tokens, "output_tokens": 1,
        "cache_creation": {"ephemeral_5m_input_tokens": tokens, "ephemeral_1h_input_tokens": 0}});
    record
}

fn call(response: &str, id: &str, command: &str, thousands: i64) -> Value {
    let input = json!({"command": command});
    part(response, &json!({"type": "tool_use", "id": id, "name": "Bash", "input": input}), thousands)
}

fn result(id: &str, output: &str) -> Value {
    json!({"type": "user", "toolUseResult": {"stdout": output}, "message": {"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": id, "content": output}]}})
}

/// Returns git's output of a commit.
fn committed(hash: &str) -> String {
    format!("[feat {hash}] Water the plants\n 1 file changed, 1 insertion(+)")
}

fn opened(repository: &str, number: i64) -> Value {
    json!({"type": "pr-link", "prNumber": number, "prRepository": repository,
        "prUrl": format!("https://github.com/{repository}/pull/{number}")})
}

fn compaction() -> [Value; 2] {
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", "preTokens": 150_000}});
    let text = "This session is being continued from a previous conversation.";
    [boundary, with(prompt(text), &json!({"isCompactSummary": true, "isVisibleInTranscriptOnly": true}))]
}

fn compact_command() -> Value {
    prompt("<command-name>/compact</command-name>\n<command-message>compact</command-message>")
}

fn in_folder(name: &str) -> Value {
    json!({"cwd": format!("/home/ana/{name}")})
}

fn script(files: &[(String, String)]) -> String {
    let files: serde_json::Map<_, _> = files.iter().map(|(path, text)| (path.clone(), json!(text))).collect();
    toml::to_string(&json!({"session": [{"name": "files", "files": files}]})).unwrap()
}

#[test]
fn sessions_of_a_folder_are_of_one_repository() {
    let on_branch = json!({"gitBranch": "feat/ABC-1"});
    let elsewhere = json!({"gitBranch": "feat/ABC-1", "cwd": "/home/ana/trees/app"});
    let commit = call("early", "commit", "git commit -m x", 100);
    let create = call("open", "create", "gh pr create", 10);
    let url = "https://github.com/acme/app/pull/7";
    let script = script(&[
        transcript("early", &on_branch, &[prompt("Build it"), commit, result("commit", &committed("abc1234"))]),
        transcript("opener", &on_branch, &[prompt("Open"), create, result("create", url), opened("acme/app", 7)]),
        transcript("opener/helper", &elsewhere, &[prompt("Help"), reply("help", 200)]),
        transcript("one", &in_folder("both"), &[prompt("Go on"), reply("one", 30), opened("acme/one", 1)]),
        transcript("two", &in_folder("both"), &[prompt("Go on"), reply("two", 20), opened("acme/two", 2)]),
        transcript("either", &in_folder("both"), &[prompt("Go on"), reply("either", 10)]),
    ]);
    let columns = columns_of("cost_by_branch", &[], &["repository", "branch", "cost_usd", "sessions"], &script);
    assert_eq!(columns[0], ["acme/app", "acme/one", "acme/two", "both"]);
    assert_eq!(columns[1], ["feat/ABC-1", "main", "main", "main"]);
    assert_eq!(columns[2], ["4.65", "0.45", "0.3", "0.15"]);
    assert_eq!(columns[3], ["2", "1", "1", "1"]);
    let columns = columns_of("cost_by_pull_request", &[], &["pull_request", "cost_usd", "sessions"], &script);
    assert_eq!(columns, [[url, ""], ["4.65", "0.9"], ["2", "3"]]);
    let columns = columns_of("cost_by_ticket", &[], &["ticket", "branches", "cost_usd"], &script);
    assert_eq!(columns, [["ABC-1", ""], ["1", "3"], ["4.65", "0.9"]]);
    let columns = columns_of("cost_by_commit", &[], &["commit_sha", "repository", "cost_usd"], &script);
    assert_eq!(columns, [["abc1234", ""], ["acme/app", ""], ["1.5", "4.05"]]);
}

#[test]
fn a_ticket_is_the_first_allowed_word_of_a_branch() {
    let branches = [
        "ABC-123-part-2",
        "feature/ABC-123-upgrade-node-18",
        "fix/abc-124_step-3",
        "ABC-55/XYZ-9",
        "UTF-8-cleanup",
        "WEB-1234567",
    ];
    let on_branch = |branch: &&str| {
        let name = branch.replace('/', "-");
        transcript(&name, &json!({"gitBranch": branch}), &[prompt("Build it"), reply(&name, 100)])
    };
    let script = script(&branches.iter().map(on_branch).collect::<Vec<_>>());
    let tickets = |given: &[(&str, &str)]| columns_of("cost_by_ticket", given, &["ticket", "cost_usd"], &script);
    let expected = [["ABC-123", "ABC-124", "ABC-55", "WEB-1234567", ""], ["3.0", "1.5", "1.5", "1.5", "1.5"]];
    assert_eq!(tickets(&[]), expected);
    assert_eq!(tickets(&[("prefixes", "|web|xyz|")])[0], ["WEB-1234567", "XYZ-9", ""]);
    let others = ["NODE-18", "PART-2", "STEP-3", "UTF-8", "WEB-1234567", "XYZ-9"];
    assert_eq!(tickets(&[("not_tickets", "|abc|")])[0], others);
}

#[test]
fn the_first_request_of_a_turn_has_its_cost() {
    let comment = |number: i64| {
        let (id, command) = (format!("call_{number}"), format!("gh pr comment {number} --body ok"));
        let output = format!("https://github.com/acme/app/pull/{number}#issuecomment-1");
        [call(&id, &id, &command, 10), result(&id, &output)]
    };
    let records = [vec![prompt("Review 9 and 10")], comment(9).to_vec(), comment(10).to_vec()].concat();
    let script = script(&[transcript("review", &json!({}), &records)]);
    let columns = columns_of("cost_by_pull_request", &[], &["pull_request", "cost_usd"], &script);
    assert_eq!(columns, [["https://github.com/acme/app/pull/9"], ["0.3"]]);
}

#[test]
fn every_commit_but_an_amended_one_has_a_row() {
    let amend = "git commit --amend --no-edit";
    let both = format!("git commit -m b && {amend}");
    let script = script(&[
        transcript(
            "two",
            &in_folder("two"),
            &[
                prompt("Commit both"),
                call("x", "one", "git commit -m a", 10),
                call("x", "two", "git commit -m b", 10),
                result("one", &committed("aaaaaa1")),
                result("two", &committed("aaaaaa2")),
            ],
        ),
        transcript(
            "amend",
            &in_folder("amend"),
            &[
                prompt("Commit"),
                call("a", "three", "git commit -m a", 20),
                result("three", &committed("bbbbbb1")),
                call("b", "four", &both, 30),
                result("four", &format!("{}\n{}", committed("bbbbbb2"), committed("bbbbbb3"))),
                call("c", "five", amend, 40),
                result("five", &committed("bbbbbb4")),
            ],
        ),
    ]);
    let columns = columns_of("cost_by_commit", &[], &["commit_sha", "cost_usd", "responses"], &script);
    assert_eq!(columns[0], ["bbbbbb4", "aaaaaa2", "aaaaaa1", "bbbbbb1"]);
    assert_eq!(columns[1], ["1.05", "", "0.15", "0.3"]);
    assert_eq!(columns[2], ["2", "", "1", "1"]);
    let of_two = columns_of("cost_by_commit", &[("project", "two")], &["commit_sha"], &script);
    assert_eq!(of_two, [["aaaaaa2", "aaaaaa1"]]);
    let later = columns_of("cost_by_commit", &[("since", "2026-03-02T10:03:00Z")], &["commit_sha"], &script);
    assert_eq!(later, [["bbbbbb4"]]);
}

/// Codex records the tokens of a response after its calls.
#[test]
fn the_response_that_makes_a_commit_counts_for_it() {
    let count = |total: i64, last: i64| {
        let tokens = |tokens: i64| json!({"input_tokens": 0, "output_tokens": tokens, "total_tokens": tokens});
        json!({"type": "token_count", "info": {"total_token_usage": tokens(total), "last_token_usage": tokens(last)}})
    };
    let message = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done"}]});
    let output = format!("Exit code: 0\nWall time: 0.2 seconds\nOutput:\n{}\n", committed("abc1234"));
    let call = json!({"type": "function_call", "name": "shell_command", "call_id": "call_1",
        "arguments": "{\"command\":\"git commit -m x\"}"});
    let meta = json!({"id": "019fbcc4-2900-7000-8000-000000000001", "timestamp": "2026-03-02T10:00:00Z",
        "cwd": "/home/ana/app", "originator": "codex_cli_rs", "cli_version": "0.146.0", "source": "cli"});
    let lines = [
        ("session_meta", meta),
        ("turn_context", json!({"cwd": "/home/ana/app", "model": "gpt-5.3-codex"})),
        ("event_msg", json!({"type": "user_message", "message": "Commit"})),
        ("response_item", call),
        ("event_msg", count(1000, 1000)),
        ("response_item", json!({"type": "function_call_output", "call_id": "call_1", "output": output})),
        ("response_item", message),
        ("event_msg", count(1300, 300)),
    ];
    let line = |(number, (kind, payload)): (usize, &(&str, Value))| {
        let line = json!({"timestamp": format!("2026-03-02T10:00:{number:02}Z"), "type": kind, "payload": payload});
        format!("{line}\n")
    };
    let text = lines.iter().enumerate().map(line).collect();
    let path = ".codex/sessions/2026/03/02/rollout-2026-03-02T10-00-00-019fbcc4-2900-7000-8000-000000000001.jsonl";
    let script = script(&[(path.to_owned(), text)]);
    let columns = columns_of("cost_by_commit", &[], &["commit_sha", "total_tokens", "responses"], &script);
    assert_eq!(columns, [["abc1234", ""], ["1000", "300"], ["1", "1"]]);
}

#[test]
fn a_compaction_that_the_person_asked_for_is_manual() {
    let [boundary, summary] = compaction();
    let asked_at = json!({"timestamp": "2026-03-02T10:01:30Z"});
    let begin = |name: &str| [prompt("Fix it"), reply(&format!("{name}-1"), 10)].to_vec();
    let end = |name: &str| [prompt("Go on"), reply(&format!("{name}-2"), 10)].to_vec();
    let compacted = || vec![boundary.clone(), summary.clone()];
    let before = [begin("before"), vec![compact_command()], compacted(), end("before")].concat();
    let after = [begin("after"), compacted(), vec![with(compact_command(), &asked_at)], end("after")].concat();
    let once = [reply("once", 10), compact_command()].to_vec();
    let once = [begin("once"), compacted(), once, compacted(), end("once")].concat();
    let script = script(&[
        transcript("before", &in_folder("before"), &before),
        transcript("after", &in_folder("after"), &after),
        transcript("once", &in_folder("once"), &once),
    ]);
    let columns = columns_of("compaction_cost", &[], &["project", "cause"], &script);
    assert_eq!(columns[0], ["after", "before", "once", "once"]);
    assert_eq!(columns[1], ["manual", "manual", "automatic", "manual"]);
}

#[test]
fn compactions_of_subagents_count_and_two_in_a_row_are_one() {
    let helped = [vec![prompt("Help"), reply("help-1", 10)], compaction().to_vec(), vec![reply("help-2", 10)]].concat();
    let twice = [
        vec![prompt("Fix it"), reply("twice-1", 10)],
        compaction().to_vec(),
        compaction().to_vec(),
        vec![reply("twice-2", 10)],
    ];
    let script = script(&[
        transcript("root", &in_folder("helped"), &[prompt("Fix it"), reply("root", 10)]),
        transcript("root/helper", &in_folder("helped"), &helped),
        transcript("twice", &in_folder("twice"), &twice.concat()),
    ]);
    let columns = columns_of("compaction_cost", &[], &["project", "compactions", "cost_after_usd"], &script);
    assert_eq!(columns, [["helped", "twice"], ["1", "1"], ["0.15", "0.15"]]);
}

#[test]
fn comparisons_leave_out_side_conversations_and_turns_without_a_price() {
    let side = json!({"isSidechain": true});
    let mut failure = result("side", "No such file");
    failure["message"]["content"][0]["is_error"] = json!(true);
    let first = [
        prompt("One"),
        call("a1", "main", "date", 100),
        result("main", "Monday"),
        with(call("a2", "side", "cat x", 1), &side),
        with(failure, &side),
        with(prompt("[Request interrupted by user]"), &side),
        prompt("Two"),
        by_model("a3", "my-own-model", 100),
        prompt("Three"),
        reply("a4", 10),
        by_model("a5", "my-own-model", 10),
    ];
    let second = [
        prompt("One"),
        by_model("b1", "claude-haiku-4-5", 10),
        by_model("b2", "claude-opus-4-5", 10),
        by_model("b3", "claude-sonnet-4-5", 10),
    ];
    let script = script(&[transcript("first", &json!({}), &first), transcript("second", &json!({}), &second)]);
    let figures = ["turns", "usd_per_turn", "calls_per_turn", "failed_share", "aborted_share"];
    let by_agent = columns_of("compare", &[("by", "agent"), ("min_sessions", "1")], &figures, &script).concat();
    // The turns with a price cost 1.5, and 0.05 + 0.25 + 0.15. One call in three turns, none in one.
    assert_eq!(by_agent, ["4", "0.975", "0.17", "0.0", "0.0"]);
    let columns = columns_of("compare", &[("min_sessions", "1")], &["value", "turns", "mixed_turns"], &script);
    assert_eq!(columns[0], ["claude-sonnet-4-5", "my-own-model", "claude-haiku-4-5", "claude-opus-4-5"]);
    assert_eq!(columns[1], ["1", "1", "0", "0"]);
    assert_eq!(columns[2], ["2", "1", "1", "1"]);
}

#[test]
fn subagents_count_as_part_of_the_session_that_started_them() {
    let script = script(&[
        transcript("root", &json!({"entrypoint": "cli"}), &[prompt("Fix it"), reply("root", 10)]),
        transcript("root/helper", &in_folder("other"), &[prompt("Help"), reply("help", 20)]),
    ]);
    assert_eq!(columns_of("billing_blocks", &[], &["sessions", "cost_usd"], &script), [["1"], ["0.45"]]);
    let columns = columns_of("cost_by_entrypoint", &[], &["project", "sessions", "cost_usd"], &script);
    assert_eq!(columns, [["app"], ["1"], ["0.45"]]);
}

#[test]
fn side_conversations_have_caches_of_their_own() {
    let at = |minute: i64| json!({"timestamp": format!("2026-03-02T10:{minute:02}:00Z")});
    let side = with(writing("side", 500), &json!({"isSidechain": true}));
    let records = [
        prompt("Fix it"),
        with(writing("first", 1000), &at(1)),
        with(side, &at(9)),
        with(writing("second", 1000), &at(10)),
    ];
    let script = script(&[transcript("caches", &json!({}), &records)]);
    let columns = columns_of("cache_ttl", &[], &["responses", "short_tokens", "rewritten_tokens"], &script);
    assert_eq!(columns, [["3"], ["2500"], ["1000"]]);
    let columns = columns_of("context_floor", &[], &["sessions", "median_tokens", "later_responses"], &script);
    assert_eq!(columns, [["1"], ["1000"], ["1"]]);
}

#[test]
fn cache_writes_are_null_where_none_are_recorded() {
    let text = "# aider chat started at 2026-03-02 10:00:00\n\n#### Water the plants\n\nDone.\n\n\
                > Tokens: 2.5k sent, 120 received. Cost: $0.01 message, $0.01 session.\n";
    let script = script(&[("app/.aider.chat.history.md".to_owned(), text.to_owned())]);
    let reports = ["agent", "day", "week", "month", "model", "project"].map(|by| format!("cost_by_{by}"));
    for report in reports.iter().map(String::as_str).chain(["billing_blocks"]) {
        let columns = columns_of(report, &[], &["cost_usd", "cache_write_tokens"], &script);
        assert_eq!(columns, [["0.01"], [""]], "{report}");
    }
}
