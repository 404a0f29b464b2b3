//! `llrem status`, `llrem doctor` and `llrem detect --new`: what a nightly job and a status line ask.

use super::{Home, rows};

const NOW: &str = "2026-07-17T14:02:00Z";

/// A transcript of a response that costs a cent or two.
fn response(id: &str, model: &str, at: &str) -> String {
    let line = serde_json::json!({
        "type": "assistant", "uuid": id, "sessionId": id, "timestamp": at, "requestId": id, "version": "2.1.100",
        "message": {
            "id": id, "role": "assistant", "model": model, "content": [{"type": "text", "text": "hi"}],
            "usage": {"input_tokens": 1000, "output_tokens": 1000},
        },
    });
    format!("{line}\n")
}

fn home(transcripts: &[(&str, &str, &str)]) -> Home {
    let home = Home::new();
    for (id, model, at) in transcripts {
        home.write(&format!(".claude/projects/-site/{id}.jsonl"), &response(id, model, at));
    }
    home
}

fn at(home: &Home, now: &str, arguments: &[&str]) -> String {
    home.show(&home.command(arguments).env("LLREM_NOW", now).env("PATH", "/nowhere").output().unwrap())
}

#[test]
fn a_status_line_says_what_today_cost_and_how_current_that_is() {
    let home =
        home(&[("a", "claude-sonnet-4-5", "2026-07-17T09:00:00Z"), ("b", "claude-sonnet-4-5", "2026-07-16T09:00:00Z")]);
    assert!(at(&home, NOW, &["status", "--line"]).starts_with("exit 10\n"));
    at(&home, NOW, &["etl", "--quiet"]);
    let line = |now: &str| at(&home, now, &["status", "--line"]);
    assert_eq!(line(NOW), "exit 0\n--- stdout\n$0.02 today, as of 14:02\n--- stderr\n");
    // An unknown cost is not shown as 0.
    assert_eq!(line("2026-07-18T08:00:00Z"), "exit 0\n--- stdout\n– today, as of Fri 17 July, 14:02\n--- stderr\n");
    home.write(".claude/projects/-site/c.jsonl", &response("c", "house-model", "2026-07-17T10:00:00Z"));
    at(&home, NOW, &["etl", "--quiet"]);
    assert_eq!(line(NOW), "exit 0\n--- stdout\n$0.02+ today, as of 14:02\n--- stderr\n");
    insta::assert_snapshot!(at(&home, NOW, &["status"]), @r"
    exit 0
    --- stdout
    Today     $0.02+
    Last etl  today, 14:02
    --- stderr
    ");
    insta::assert_snapshot!(at(&home, NOW, &["status", "-f", "json"]), @r#"
    exit 0
    --- stdout
    [
    {"day":"2026-07-17","cost_usd":0.018,"unpriced_responses":1,"last_etl_at":"2026-07-17T14:02:00Z"}
    ]
    --- stderr
    "#);
}

#[test]
fn a_day_without_responses_cost_nothing() {
    let home = home(&[("b", "claude-sonnet-4-5", "2026-07-16T09:00:00Z")]);
    at(&home, NOW, &["etl", "--quiet"]);
    assert_eq!(at(&home, NOW, &["status", "--line"]), "exit 0\n--- stdout\n$0 today, as of 14:02\n--- stderr\n");
}

#[test]
fn doctor_names_what_is_wrong_and_what_to_do() {
    let home = home(&[("a", "house-model", "2026-07-17T09:00:00Z")]);
    let file = std::fs::File::options().write(true).open(home.path().join(".claude/projects/-site/a.jsonl")).unwrap();
    let written = NOW.parse::<chrono::DateTime<chrono::Utc>>().unwrap() - chrono::TimeDelta::days(26);
    file.set_modified(written.into()).unwrap();
    let before = at(&home, NOW, &["doctor"]);
    assert!(before.starts_with("exit 1\n"), "{before}");
    assert!(before.contains("✗ last etl     there is no lake yet: llrem etl makes one\n"), "{before}");
    at(&home, NOW, &["etl", "--quiet"]);
    let after = at(&home, NOW, &["doctor"]);
    assert!(after.starts_with("exit 0\n"), "{after}");
    for line in [
        "✓ last etl     today, 14:02, ",
        "! schedule     nothing runs etl by itself: llrem schedule install\n",
        "✓ agents       1 found; claude-code deletes after 30 days (the next in 4 days)\n",
        "✓ deletion     claude-code deletes 1 transcript within 7 days; the lake has them\n",
        "✓ transcripts  every prompt that was typed has its transcript\n",
        "✓ bad files    none of 1\n",
        "! prices       1 model without a price (1 response): llrem query data_quality\n",
        "✓ versions     no agent is newer than what llrem was tested with\n",
        "✓ consistency  the lake is complete",
        "\n2 warnings\n",
    ] {
        assert!(after.replace('\u{a0}', " ").contains(line), "{line}\n{after}");
    }
    home.write(".claude/history.jsonl", "{\"display\":\"hello\",\"timestamp\":1784100000000,\"sessionId\":\"s\"}\n");
    home.write(
        ".claude/projects/-site/d.jsonl",
        &(response("d", "claude-sonnet-4-5", "2026-07-17T10:00:00Z").replace("2.1.100", "99.0.1") + "{\n{}\n"),
    );
    at(&home, NOW, &["etl", "--quiet"]);
    let shown = at(&home, NOW, &["doctor"]).replace('\u{a0}', " ");
    for line in [
        "! transcripts  gone before llrem read them: 1 of 1 prompts of claude-code (100%); the newest is of",
        "! bad files    1 of 3: llrem sources --bad\n",
        "! versions     claude-code 99.0.1 is newer than what llrem was tested with (",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let checks = at(&home, "2027-07-17T14:02:00Z", &["doctor", "-f", "json"]);
    assert!(checks.contains(r#"{"check":"last etl","level":"warning","text":"Last etl 2026-07-17"#), "{checks}");
    assert!(checks.contains("\"check\":\"price table\",\"level\":\"warning\""), "{checks}");
    let age = |name: &str| {
        let path = home.path().join(".claude/projects/-site").join(name);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(written.into()).unwrap();
    };
    // A subagent is read with what describes it.
    home.write(
        ".claude/projects/-site/a/subagents/agent-1.jsonl",
        &response("s", "house-model", "2026-07-17T09:00:00Z"),
    );
    home.write(".claude/projects/-site/a/subagents/agent-1.meta.json", "{\"agentType\":\"Explore\"}");
    age("a/subagents/agent-1.jsonl");
    at(&home, NOW, &["etl", "--quiet"]);
    let shown = at(&home, NOW, &["doctor"]).replace('\u{a0}', " ");
    assert!(shown.contains("✓ deletion     claude-code deletes"), "{shown}");
    // The transcript is older than its agent keeps it, and has changed since it was read.
    home.write(".claude/projects/-site/a.jsonl", &response("a2", "house-model", "2026-07-17T09:00:00Z").repeat(2));
    age("a.jsonl");
    let lacking = at(&home, NOW, &["doctor"]).replace('\u{a0}', " ");
    assert!(lacking.starts_with("exit 1\n") && lacking.contains("✗ deletion     "), "{lacking}");
    assert!(lacking.contains("the lake lacks 1 of them: llrem etl\n"), "{lacking}");
}

#[test]
fn doctor_reports_a_run_that_failed() {
    let home = home(&[("a", "claude-sonnet-4-5", "2026-07-17T09:00:00Z")]);
    at(&home, NOW, &["etl", "--quiet"]);
    let runs = home.path().join(".local/share/llrem/lake/_llrem/runs.ndjson");
    let run = serde_json::json!({"ended_at": 1_784_300_000_000_000_i64, "exit_code": 1, "error": "no space left"});
    let text = std::fs::read_to_string(&runs).unwrap() + &run.to_string() + "\n";
    std::fs::write(&runs, text).unwrap();
    let shown = at(&home, "2026-07-17T16:02:00Z", &["doctor"]);
    assert!(shown.starts_with("exit 1\n") && shown.contains("✗ last etl     The last etl failed today at"), "{shown}");
}

#[test]
fn a_finding_is_reported_once() {
    let home = Home::new();
    let demo = |arguments: &[&str]| {
        let output = home
            .command(arguments)
            .env("LLREM_NOW", NOW)
            .env("LLREM_LAKE", ".local/share/llrem/demo")
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap().lines().count())
    };
    demo(&["demo"]);
    let loops = ["detect", "tool_retry_loops", "--new", "--fail-on", "high"];
    let (code, lines) = demo(&loops);
    assert_eq!(code, 4);
    assert!(lines > 2, "{lines}");
    assert_eq!(demo(&loops), (0, 1));
    // Without the option, nothing is left out. Other detectors were not reported.
    assert_eq!(demo(&["detect", "tool_retry_loops", "--fail-on", "high"]), (4, lines));
    let (_, all) = demo(&["detect", "cache_misses"]);
    assert!(all > 2, "{all}");
    // Findings that `-n` cut off were not reported.
    assert_eq!(demo(&["detect", "cache_misses", "--new", "-n", "1"]), (0, 2));
    assert_eq!(demo(&["detect", "cache_misses", "--new"]), (0, all - 1));
    assert_eq!(demo(&["detect", "cache_misses", "--new"]), (0, 1));
    // A list that is damaged reports too much, not too little.
    let list = home.path().join(".local/share/llrem/demo/_llrem/reported");
    std::fs::write(&list, "nonsense").unwrap();
    assert_eq!(demo(&loops), (4, lines));
    assert_eq!(demo(&loops), (0, 1));
    let shown = home.run(&["--lake", "s3://bucket/lake", "detect", "--new"]);
    assert!(shown.starts_with("exit "), "{shown}");
    assert_eq!(rows(&home, &["--lake", ".local/share/llrem/demo", "verify"]).len(), 0);
}

/// Wherever a crash comes, each finding is printed at least once, and the list is never damaged.
#[test]
fn a_crash_loses_no_finding() {
    let home = Home::new();
    let run = |arguments: &[&str], variable: &str, number: usize| {
        let mut command = home.command(arguments);
        let command = command.env("LLREM_NOW", NOW).env("LLREM_LAKE", ".local/share/llrem/demo");
        let output = command.env(variable, number.to_string()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("damaged"), "{stderr}");
        (output.status.success(), String::from_utf8(output.stdout).unwrap().lines().count())
    };
    run(&["demo"], "NO", 0);
    let (_, all) = run(&["detect", "polling"], "NO", 0);
    assert!(all > 1, "{all}");
    let state = home.path().join(".local/share/llrem/demo/_llrem");
    let new = ["detect", "polling", "--new"];
    for variable in ["LLREM_TEST_DIE_BEFORE", "LLREM_TEST_DIE_AFTER"] {
        let mut crashes = 0;
        for number in 1..=8 {
            let (is_done, first) = run(&new, variable, number);
            let (_, second) = run(&new, "NO", 0);
            assert!(first == all || second == all, "{variable}={number}: {first}, then {second} of {all}");
            assert_eq!(run(&new, "NO", 0), (true, 1), "{variable}={number}");
            crashes += usize::from(!is_done);
            for name in ["reported", "reported.next"] {
                let _ = std::fs::remove_file(state.join(name));
            }
        }
        assert!((3..8).contains(&crashes), "{crashes}");
    }
}

/// The output can be attached to a report: it names no project and holds no text of a transcript.
#[test]
fn unknown_names_are_listed_without_content() {
    let home = Home::new();
    let secret = "SECRET";
    let strange = serde_json::json!({
        "type": "assistant", "uuid": "u", "sessionId": "s", "timestamp": "2026-07-17T09:00:00Z", "requestId": "r",
        "version": "99.0.1", "cwd": format!("/home/alice/{secret}"), "sparkle": secret, "a field with SECRET=1": {"x": secret},
        "message": {
            "id": "m", "role": "assistant", "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": secret}],
            "usage": {"input_tokens": 10, "output_tokens": 10},
        },
    });
    let later = serde_json::json!({"type": "hologram", "sessionId": "s", "version": "99.0.1", "text": secret});
    let known = response("k", "claude-sonnet-4-5", "2026-07-17T09:00:00Z");
    home.write(".claude/projects/-home-alice-SECRET/k.jsonl", &known);
    let clean = at(&home, NOW, &["etl"]);
    assert!(clean.contains("exit 0") && !clean.contains("--unknown"), "{clean}");
    assert!(at(&home, NOW, &["sources", "--unknown"]).contains("llrem knows every record type and field"));
    home.write(".claude/projects/-home-alice-SECRET/5f0c.jsonl", &format!("{strange}\n{later}\n{later}\n"));
    let summary = at(&home, NOW, &["etl"]).replace('\u{a0}', " ").replace("\n  ", " ");
    let line = "claude-code 99.0.1 is newer than what llrem was tested with (";
    assert!(
        summary.contains(line) && summary.contains("): 4 unknown names, listed by llrem sources --unknown"),
        "{summary}"
    );
    // A run that reads nothing new of the agent does not repeat it.
    let again = at(&home, NOW, &["etl"]);
    assert!(!again.contains("--unknown"), "{again}");
    let unknown = rows(&home, &["sources", "--unknown"]);
    assert!(!format!("{unknown:?}").contains(secret), "{unknown:?}");
    let row = |name: &str, count: i64| {
        serde_json::json!({
            "agent": "claude-code", "agent_version": "99.0.1", "name": name, "count": count, "sources": 1,
            "place": "5f0c.jsonl",
        })
    };
    assert_eq!(
        unknown,
        [
            row("field text", 2),
            row("record hologram", 2),
            row("(a name of other characters)", 1),
            row("field sparkle", 1)
        ],
        "{unknown:?}"
    );
}
