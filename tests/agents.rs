//! Every agent's fixtures come out as expected.
#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::trivially_copy_pass_by_ref,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "what fails here fails a test; files are the test's own"
)]

#[path = "agents/archive.rs"]
mod archive;
mod common;
#[path = "agents/damage.rs"]
mod damage;
#[path = "agents/histories.rs"]
mod histories;
#[path = "agents/laws.rs"]
mod laws;
#[path = "agents/named_places.rs"]
mod named_places;
#[path = "agents/order.rs"]
mod order;
#[path = "agents/pages.rs"]
mod pages;
#[path = "agents/positions.rs"]
mod positions;
#[path = "agents/sections.rs"]
mod sections;

use std::fmt::Write as _;

use common::{Built, Case, Home, Rows};
use serde_json::Value;

/// Writes what comes out as what is expected, to be reviewed as a change of the fixtures.
fn updates() -> bool {
    std::env::var_os("LLREM_UPDATE").is_some_and(|value| value == "1")
}

fn compare(case: &Case, rows: &Rows, differences: &mut String) {
    for (table, lines) in &rows.0 {
        let path = case.expected(&format!("{table}.ndjson"));
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        if updates() {
            std::fs::write(&path, &text).unwrap();
            continue;
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if expected != text {
            let _ = writeln!(differences, "--- {}/{table}", case.name);
            let missing = expected.lines().filter(|line| !text.contains(line)).map(|line| format!("- {line}\n"));
            let new = text.lines().filter(|line| !expected.contains(line)).map(|line| format!("+ {line}\n"));
            differences.extend(missing.chain(new));
        }
    }
}

#[test]
fn fixtures_give_the_expected_rows() {
    let mut differences = String::new();
    for case in Case::all() {
        let home = Home::of(&case);
        compare(&case, &Built::full(&home).rows(), &mut differences);
    }
    assert!(differences.is_empty(), "LLREM_UPDATE=1 accepts what comes out\n{differences}");
}

#[test]
fn agents_say_that_they_record_what_is_read_of_them() {
    for case in Case::all() {
        let records = &llrem::agents::by_id(case.agent).unwrap().about().records;
        for (table, grain) in [("messages", records.messages), ("tool_calls", records.tool_calls)] {
            let rows = std::fs::read_to_string(case.expected(&format!("{table}.ndjson"))).unwrap_or_default();
            assert!(rows.is_empty() || grain != llrem::agents::Grain::Absent, "{}: {table}", case.name);
        }
    }
}

/// Until 0.30, Codex wrote local time as if it were UTC, into the first line and into the name.
#[test]
fn what_codex_wrote_as_utc_is_local_where_the_name_says_the_same() {
    let home = Home::empty();
    let meta =
        |time: &str| format!("{{\"id\":\"{SESSION}\",\"timestamp\":\"2025-06-10T{time}Z\",\"instructions\":null}}\n");
    let item = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#;
    let path = home.path().join(format!(".codex/sessions/rollout-2025-06-10T11-00-05-{SESSION}.jsonl"));
    for (number, written) in ["11:00:05.123", "09:00:05.123"].into_iter().enumerate() {
        common::home::write(&path, (meta(written) + item).as_bytes());
        let lake = Built::new(&home, &number.to_string());
        lake.run_with(|options| options.zone = chrono_tz::Europe::Berlin);
        let sessions = lake.rows().values("sessions");
        assert_eq!(sessions[0]["started_at"], "2025-06-10T09:00:05.123Z", "{written}");
    }
}

/// A task whose requests were lost, or not yet written, is billed by what stands beside its replies, and by them alone.
#[test]
fn a_task_of_cline_is_billed_by_its_requests_or_by_its_replies() {
    let home = Home::empty();
    let folder = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1770000000000";
    let add = |name: &str, text: &str| common::home::write(&home.path().join(folder).join(name), text.as_bytes());
    add(
        "api_conversation_history.json",
        r#"[{"role":"user","content":"fix it","ts":1770000000000},{"role":"assistant","content":"done","ts":1770000005000,
        "modelInfo":{"modelId":"m","providerId":"anthropic"},
        "metrics":{"tokens":{"prompt":3012,"completion":80,"cached":3000},"cost":0.0125}}]"#,
    );
    let lake = Built::new(&home, "lake");
    let billed = |shown: &str| {
        add("ui_messages.json", shown);
        lake.run();
        let rows = lake.rows().values("usage");
        let name = |row: &Value| row["response_id"].as_str().unwrap().rsplit_once(':').unwrap().0.to_owned();
        rows.iter().map(|row| format!("{} {}", name(row), row["total_tokens"])).collect::<Vec<_>>()
    };
    let torn = r#"[{"ts":1770000000000,"type":"say","say":"task","text":"fix it"},{"ts":1770000000400,"type":"say""#;
    let placeholder = format!(r#"{torn},"say":"api_req_started","text":"{{\"request\":\"fix it\"}}"}}]"#);
    for shown in ["[]", "", &placeholder, torn] {
        assert_eq!(billed(shown), ["1770000000000:api 3092"], "{shown}");
    }
    let request = r#","say":"api_req_started","text":"{\"tokensIn\":12,\"tokensOut\":80,\"cacheReads\":3000}"}]"#;
    assert_eq!(billed(&format!("{torn}{request}")), ["1770000000000 3092"]);
}

const SESSION: &str = "5973b6c0-94b8-487b-a530-2aeb6098ae0e";
