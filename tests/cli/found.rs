//! Commands that list the sources on a machine.

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

/// Sources as the lake knows them, with their states and sessions.
#[cfg(unix)]
fn sources(home: &Home) -> Vec<String> {
    let all = rows(home, &["sql", "select path, state, sessions from sources order by path"]);
    let place = |path: &str| path.split_once("/.claude/projects/").unwrap().1.to_owned();
    all.iter()
        .map(|row| {
            format!("{} {} {}", place(row["path"].as_str().unwrap()), row["state"].as_str().unwrap(), row["sessions"])
        })
        .collect()
}

#[cfg(unix)]
#[test]
fn links_to_folders_are_followed_and_each_file_is_read_once() {
    use std::os::unix::fs::symlink;
    let home = Home::new();
    let path = |name: &str| home.path().join(name);
    home.write(".claude/projects/-api/here.jsonl", &transcript("here"));
    home.write("elsewhere/-web/there.jsonl", &transcript("there"));
    symlink(path("elsewhere/-web"), path(".claude/projects/-web")).unwrap();
    symlink(path("elsewhere/-web"), path(".claude/projects/-web-again")).unwrap();
    symlink(path(".claude/projects/-api"), path(".claude/projects/-Api")).unwrap();
    symlink(path("nowhere"), path(".claude/projects/-gone")).unwrap();
    symlink(path("nowhere"), path("elsewhere/-web/gone.jsonl")).unwrap();
    // Two loops, one through another folder.
    let subagents = path(".claude/projects/-api/here/subagents");
    std::fs::create_dir_all(&subagents).unwrap();
    symlink(path(".claude/projects"), subagents.join("up")).unwrap();
    symlink(path("elsewhere"), subagents.join("aside")).unwrap();
    symlink(&subagents, path("elsewhere/back")).unwrap();
    let etl = home.run(&["etl", "-v", "--home", "."]);
    assert!(etl.contains("\nclaude-code: 3 new, 0 changed, 0 unchanged, 1 bad; wrote 2 sessions"), "{etl}");
    assert_eq!(sources(&home), ["-api/here.jsonl ok 1", "-web/gone.jsonl unreadable 0", "-web/there.jsonl ok 1"]);
    let again = home.run(&["etl", "-v", "--home", "."]);
    assert!(again.contains("\nclaude-code: 0 new, 0 changed, 3 unchanged, 1 bad\n"), "{again}");
    std::fs::remove_dir_all(path(".local/share/llrem/lake")).unwrap();
    home.run(&["etl", "--source", ".claude/projects"]);
    let read = sources(&home).into_iter().filter(|source| !source.contains("gone")).collect::<Vec<_>>();
    assert_eq!(read, ["-Api/here/subagents/aside/-web/there.jsonl ok 1", "-api/here.jsonl ok 1"]);
}

#[cfg(target_os = "linux")]
#[test]
fn files_whose_names_are_no_unicode_are_read_and_named() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let home = Home::new();
    let project = home.path().join(".claude/projects").join(OsStr::from_bytes(b"-caf\xe9"));
    std::fs::create_dir_all(&project).unwrap();
    for name in [b"a\xe9.jsonl", b"a\xe8.jsonl"] {
        let session = format!("s{}", name[1]);
        std::fs::write(project.join(OsStr::from_bytes(name)), transcript(&session)).unwrap();
    }
    for arguments in [["--home", "."], ["--source", ".claude/projects"]] {
        let etl = home.run(&[["etl", "-v"].as_slice(), &arguments].concat());
        assert!(etl.contains("\nclaude-code: 2 new, 0 changed, 0 unchanged; wrote 2 sessions"), "{etl}");
        assert_eq!(sources(&home), ["-caf\\xE9/a\\xE8.jsonl ok 1", "-caf\\xE9/a\\xE9.jsonl ok 1"]);
        let again = home.run(&["etl", "-v", "--home", "."]);
        assert!(again.contains("\nclaude-code: 0 new, 0 changed, 2 unchanged\n"), "{again}");
        assert!(home.run(&["verify"]).starts_with("exit 0\n"));
        std::fs::remove_dir_all(home.path().join(".local/share/llrem/lake")).unwrap();
    }
    let other = home.path().join(".pi/agent/sessions/--api--");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join(OsStr::from_bytes(b"2026-01-01_\xe9.jsonl")), "").unwrap();
    let dry = home.run(&["etl", "--home", ".", "--dry-run"]);
    assert!(dry.contains("\nnew,[HOME]/.pi/agent/sessions/--api--/2026-01-01_\\xE9.jsonl\n"), "{dry}");
    std::fs::remove_dir_all(home.path().join(".pi")).unwrap();
    home.run(&["etl", "--home", "."]);
    std::fs::remove_file(project.join(OsStr::from_bytes(b"a\xe9.jsonl"))).unwrap();
    let gone = home.run(&["etl", "-v", "--home", "."]);
    assert!(gone.contains("\nclaude-code: 0 new, 0 changed, 1 unchanged, 1 gone\n"), "{gone}");
    assert_eq!(sources(&home), ["-caf\\xE9/a\\xE8.jsonl ok 1", "-caf\\xE9/a\\xE9.jsonl gone 1"]);
}

#[test]
fn a_file_that_is_found_twice_by_one_path_is_read() {
    let home = Home::new();
    home.write("one/projects/-api/a.jsonl", &transcript("a"));
    home.write("two/projects/-api/b.jsonl", &transcript("b"));
    let folders = ["one", "two", "one"].map(|name| home.path().join(name).display().to_string()).join(",");
    let output = home.command(&["etl", "-v"]).env("CLAUDE_CONFIG_DIR", folders).output().unwrap();
    let etl = home.show(&output);
    assert!(etl.contains("\nclaude-code: 2 new, 0 changed, 0 unchanged; wrote 2 sessions"), "{etl}");
}
