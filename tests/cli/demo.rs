//! `llrem demo`: a lake of its own, always the same for a day, in which there is something to see.

use std::collections::BTreeSet;

use super::{Home, rows};

const NOW: &str = "2026-07-17T14:02:00+02:00";

fn output(home: &Home, now: &str, arguments: &[&str]) -> std::process::Output {
    home.command(arguments).env("LLREM_NOW", now).env("TZ", "Europe/Berlin").output().unwrap()
}

fn shown(home: &Home, arguments: &[&str]) -> String {
    home.show(&output(home, NOW, arguments))
}

const USUAL: &str = ".local/share/llrem/demo";

#[test]
fn a_demo_has_findings_of_most_detectors_and_figures_of_today() {
    let home = Home::new();
    insta::assert_snapshot!(shown(&home, &["demo"]), @r"
    exit 0
    --- stdout
    [HOME]/.local/share/llrem/demo
    --- stderr
    ");
    let lake = home.path().join(USUAL);
    let lake = lake.to_str().unwrap();
    assert_eq!(
        shown(&home, &["--lake", lake, "verify", "--read-data", "-f", "csv"]),
        "exit 0\n--- stdout\nproblem\n--- stderr\n"
    );
    let found = output(&home, NOW, &["--lake", lake, "detect", "-f", "json"]);
    let found: Vec<serde_json::Value> = serde_json::from_slice(&found.stdout).unwrap();
    let text = |column: &'static str| found.iter().filter_map(move |row| row[column].as_str());
    let detectors: BTreeSet<&str> = text("detector").collect();
    assert!(detectors.len() >= 20, "{detectors:?}");
    assert!(text("severity").any(|severity| severity == "high"));
    // A period that has just begun has figures, too.
    let overview = shown(&home, &["-f", "table"]);
    assert!(overview.contains("There is no lake of your own yet."), "{overview}");
    let cost = overview.lines().find(|line| line.starts_with("cost ")).unwrap();
    assert_eq!(cost.matches('$').count(), 6, "{overview}");
    assert!(overview.contains("by agent\n  claude-code") && overview.contains("\n  pi "), "{overview}");
    assert!(overview.contains("llrem --lake ~/.local/share/llrem/demo detect --since 30d"), "{overview}");
    assert_eq!(shown(&home, &["query", "totals"]).lines().next(), Some("exit 10"));
}

#[test]
fn a_demo_is_the_same_all_day() {
    let home = Home::new();
    let tables = ["sessions", "messages", "tool_calls", "usage"];
    let read = |now: &str| {
        assert!(output(&home, now, &["demo"]).status.success());
        tables.map(|table| {
            let sql = format!("select * from {table}");
            let rows = output(&home, now, &["--lake", USUAL, "sql", &sql, "--timezone", "UTC", "-f", "jsonl"]).stdout;
            let mut rows: Vec<String> = String::from_utf8(rows).unwrap().lines().map(str::to_owned).collect();
            rows.sort();
            rows
        })
    };
    let early = read("2026-07-17T00:00:01+02:00");
    std::fs::remove_dir_all(home.path().join(USUAL)).unwrap();
    assert!(early == read("2026-07-17T23:59:59+02:00"), "the demo depends on the time of the day");
    assert!(early != read("2026-07-18T12:00:00+02:00"), "the next day has the same demo");
}

#[test]
fn a_demo_never_mixes_with_anything_else() {
    let home = Home::new();
    home.write("mine/kept", "mine");
    insta::assert_snapshot!(shown(&home, &["demo", "--lake", "mine"]), @r"
    exit 2
    --- stdout
    --- stderr
    error: `[HOME]/mine` holds something else; name another folder with --lake DIR
    ");
    // The lake that is set for all commands is not the demo's.
    let mut command = home.command(&["demo"]);
    let made = command.env("LLREM_LAKE", home.path().join("mine")).env("LLREM_NOW", NOW).output().unwrap();
    assert_eq!(home.show(&made), "exit 0\n--- stdout\n[HOME]/.local/share/llrem/demo\n--- stderr\n");
    assert_eq!(std::fs::read_to_string(home.path().join("mine/kept")).unwrap(), "mine");
    let refused = "it is the demo's, which holds invented sessions";
    for arguments in [["--lake", USUAL, "etl", "--quiet"], ["--lake", USUAL, "schedule", "install"]] {
        let shown = shown(&home, &arguments);
        assert!(shown.starts_with("exit 1\n") && shown.contains(refused), "{arguments:?}: {shown}");
    }
    home.write(
        ".claude/projects/-site/a.jsonl",
        "{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"a\",\"timestamp\":\"2026-07-17T10:00:00Z\",\
         \"message\":{\"role\":\"user\",\"content\":\"Hello\"}}\n",
    );
    assert!(shown(&home, &["etl", "--quiet"]).starts_with("exit 0\n"));
    assert_eq!(rows(&home, &["sql", "select session_id from sessions"]).len(), 1);
    let overview = shown(&home, &["-f", "table"]);
    assert!(!overview.contains("demo"), "{overview}");
}
