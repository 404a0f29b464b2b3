//! What is found on a machine.

use std::fs::File;
use std::time::{Duration, SystemTime};

use crate::{Home, rows};

const DAY: u64 = 86_400;

fn transcript(session: &str) -> String {
    let line = serde_json::json!({
        "type": "user", "uuid": session, "sessionId": session, "timestamp": "2026-02-01T10:00:00Z",
        "message": {"role": "user", "content": "hello"},
    });
    format!("{line}\n")
}

/// Sources, days that they are kept for, and how many of them are soon deleted, as `llrem agents` tells of Claude Code.
fn kept(home: &Home) -> [Option<i64>; 3] {
    let all = rows(home, &["agents", "--home", "."]);
    let row = all.iter().find(|row| row["agent"] == "claude-code").unwrap();
    ["sources", "retention_days", "expiring"].map(|column| row[column].as_i64())
}

#[test]
fn what_is_soon_deleted_goes_by_the_agents_own_settings() {
    let home = Home::new();
    for days in [1, 5, 20, 40] {
        let name = format!(".claude/projects/-api/{days}.jsonl");
        home.write(&name, &transcript(&days.to_string()));
        let modified = SystemTime::now() - Duration::from_secs(days * DAY);
        File::options().write(true).open(home.path().join(name)).unwrap().set_modified(modified).unwrap();
    }
    assert_eq!(kept(&home), [Some(4), Some(30), Some(1)]);
    home.write(".claude/settings.json", r#"{"model": "opus", "cleanupPeriodDays": 10}"#);
    assert_eq!(kept(&home), [Some(4), Some(10), Some(3)]);
    home.write(".claude/settings.json", r#"{"cleanupPeriodDays": 99999}"#);
    assert_eq!(kept(&home), [Some(4), Some(99_999), Some(0)]);
    for unknown in [r#"{"cleanupPeriodDays": "10"}"#, r#"{"cleanupPeriodDays": -1}"#, "{", ""] {
        home.write(".claude/settings.json", unknown);
        assert_eq!(kept(&home), [Some(4), Some(30), Some(1)], "{unknown}");
    }
}
