//! A database of many sessions is read session by session, each when it has changed.

use rusqlite::Connection;

use crate::common::home::home_of;
use crate::common::{Built, Case, Home};
use crate::laws::assert_consistent;

const CHANGED: &str = "1002aaaa-0000-4000-8000-000000000002";
const OTHER: &str = "1002bbbb-0000-4000-8000-000000000002";

fn change(home: &Home, script: &str) {
    let path = home.path().join(".openclaw/agents/db9/agent/openclaw-agent.sqlite");
    let database = Connection::open(path).unwrap();
    database.execute_batch(script).unwrap();
    database.close().unwrap();
}

fn add_prompt(home: &Home) {
    change(
        home,
        &format!(
            r#"INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('{CHANGED}', 90,
            '{{"type":"message","id":"201a0090","parentId":null,"timestamp":"2026-09-10T11:00:00.000Z",
            "message":{{"role":"user","content":"one more thing","timestamp":1789038000000}}}}', 1789038000000)"#
        ),
    );
}

fn texts(lake: &Built<'_>, session: &str) -> Vec<String> {
    let messages = lake.rows().values("messages");
    let own = messages.iter().filter(|row| row["session_id"] == session);
    own.map(|row| row["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn only_the_session_that_changed_is_read() {
    let home = Home::of(&Case::named("database-of-2026-9"));
    let lake = Built::full(&home);
    let before = texts(&lake, OTHER);
    add_prompt(&home);
    // Whoever read this session again would find nothing to read: as many bytes, and no record.
    change(
        &home,
        &format!(
            "UPDATE transcript_events SET event_json = substr(hex(zeroblob(octet_length(event_json))), 1,
            octet_length(event_json)), event_zstd = zeroblob(octet_length(event_zstd)) WHERE session_id = '{OTHER}'"
        ),
    );
    lake.run();
    assert_eq!(texts(&lake, CHANGED).last().unwrap(), "one more thing");
    assert_eq!(texts(&lake, OTHER), before);
    assert_eq!(lake.rows().values("sources")[0]["bad_lines"], 0);
    assert_consistent(&lake.rows(), "sections");
}

/// The row of the last event is deleted, and the one that comes instead gets its id.
#[test]
fn an_event_that_was_replaced_is_read() {
    let home = Home::of(&Case::named("database-of-2026-9"));
    add_prompt(&home);
    let lake = Built::full(&home);
    let event = "FROM transcript_events WHERE seq = 90";
    change(
        &home,
        &format!(
            "CREATE TABLE kept AS SELECT session_id, seq, event_json, created_at {event};
            DELETE {event};
            INSERT INTO transcript_events (session_id, seq, event_json, created_at)
            SELECT session_id, seq, replace(event_json, 'one more thing', 'another thing, instead'), created_at FROM kept;
            DROP TABLE kept"
        ),
    );
    lake.run();
    assert_eq!(texts(&lake, CHANGED).last().unwrap(), "another thing, instead");
}

#[test]
fn a_grown_database_gives_what_it_gives_at_once() {
    let home = Home::of(&Case::named("database-of-2026-9"));
    let lake = Built::new(&home, "grown");
    lake.run();
    add_prompt(&home);
    lake.run();
    assert_eq!(lake.rows().without_runs().0, Built::full(&home).rows().without_runs().0);
}

#[test]
fn a_session_that_left_the_database_stays() {
    let home = Home::of(&Case::named("database-of-2026-9"));
    let lake = Built::full(&home);
    let before = lake.rows().without_runs();
    change(&home, &format!("DELETE FROM transcript_events WHERE session_id = '{CHANGED}'"));
    change(&home, &format!("DELETE FROM session_transcript_archives WHERE session_id = '{CHANGED}'"));
    for full in [false, true] {
        lake.run_with(|options| options.full = full);
        let after = lake.rows();
        for table in ["sessions", "messages", "tool_calls", "usage"] {
            let mut rows = after.values(table);
            for row in &mut rows {
                let gone_at = row.as_object_mut().unwrap().remove("gone_at");
                assert_eq!(gone_at.is_some(), table != "sessions" && row["session_id"] == CHANGED, "{row}");
            }
            assert_eq!(rows, before.values(table), "{table}");
        }
    }
}

/// All sessions of a database are deleted, which an ordinary run finds, or the file lost its content or is damaged, which says
/// nothing of them. Then they come back.
#[test]
fn what_an_emptied_database_held_is_gone() {
    for (agent, name) in [("cursor", "workspace-of-2024"), ("goose", "worked-example"), ("hermes", "worked-example")] {
        for loss in ["rows", "content", "pages"] {
            let home = home_of(agent, name);
            let lake = Built::full(&home);
            let gone = || -> Vec<bool> {
                let rows = lake.rows();
                let all = ["messages", "tool_calls", "usage"].into_iter().flat_map(|table| rows.values(table));
                all.map(|row| row.get("gone_at").is_some()).collect()
            };
            let before = gone();
            assert!(!before.is_empty() && !before.contains(&true));
            let databases = home.sources().into_iter().filter(|source| source.kind != "transcript");
            let databases: Vec<_> = databases.map(|it| (std::fs::read(&it.path).unwrap(), it)).collect();
            for (_, source) in &databases {
                match loss {
                    "rows" => delete_all(&source.path),
                    "content" => std::fs::write(&source.path, "").unwrap(),
                    _ => std::fs::write(&source.path, [b"SQLite format 3\0".as_slice(), &[7; 5000]].concat()).unwrap(),
                }
            }
            for full in [false, true, false] {
                lake.run_with(|options| options.full = full);
                assert_eq!(gone(), vec![loss == "rows"; before.len()], "{agent}: {loss}, full: {full}");
            }
            for (content, source) in databases {
                std::fs::write(&source.path, content).unwrap();
            }
            lake.run();
            assert_eq!(gone(), before, "{agent}: {loss}, and the rows are back");
        }
    }
}

#[test]
fn what_a_database_lacks_when_it_comes_back_is_gone() {
    let home = home_of("zed", "worked-example");
    let lake = Built::full(&home);
    let messages_gone =
        || -> Vec<bool> { lake.rows().values("messages").iter().map(|row| row.get("gone_at").is_some()).collect() };
    let path = home.path().join(".local/share/zed/threads/threads.db");
    let content = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    lake.run();
    assert!(!messages_gone().is_empty() && !messages_gone().contains(&true));
    std::fs::write(&path, content).unwrap();
    delete_all(&path);
    for full in [false, true] {
        lake.run_with(|options| options.full = full);
        assert!(!messages_gone().contains(&false), "full: {full}");
    }
}

/// OpenCode left the files of a session where they were when it moved it to the database.
#[test]
fn what_files_still_hold_is_not_gone_from_an_emptied_database() {
    let home = home_of("opencode", "worked-example");
    let lake = Built::full(&home);
    delete_all(&home.path().join(".local/share/opencode/opencode.db"));
    for full in [false, true] {
        lake.run_with(|options| options.full = full);
        let messages = lake.rows().values("messages");
        let gone = |id: &str| messages.iter().any(|row| row["message_id"] == id && row.get("gone_at").is_some());
        assert!(!gone("msg_1") && !gone("msg_2"), "full: {full}");
    }
}

fn delete_all(path: &std::path::Path) {
    let database = Connection::open(path).unwrap();
    database.execute_batch("PRAGMA foreign_keys = off").unwrap();
    let query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut tables = database.prepare(query).unwrap();
    let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for table in tables {
        database.execute_batch(&format!("DELETE FROM \"{table}\"")).unwrap();
    }
}

/// Messages that a conversation gained after Kiro CLI took it over from Amazon Q are Kiro CLI's alone.
#[test]
fn a_conversation_that_went_on_in_the_next_program_is_there_once() {
    let home = Home::of(&Case::named("taken-over"));
    let lake = Built::full(&home);
    let before = lake.rows();
    let entry = r#"{"user": {"content": {"Prompt": {"prompt": "and its prices?"}}, "timestamp": "2025-12-02T10:00:00Z"},
        "assistant": {"Response": {"message_id": "qk-m9", "content": "In a.py."}}, "request_metadata": {"request_id": "qk-r9",
        "request_start_timestamp_ms": 1764669600000, "stream_end_timestamp_ms": 1764669602000, "model_id": "claude-sonnet-4"}}"#;
    let database = Connection::open(home.path().join(".local/share/kiro-cli/data.sqlite3")).unwrap();
    let update =
        "UPDATE conversations_v2 SET value = json_insert(value, '$.history[#]', json(?1)), updated_at = 1764669602000
        WHERE conversation_id = 'qk-0002'";
    assert_eq!(database.execute(update, [entry]).unwrap(), 1);
    database.close().unwrap();
    lake.run();
    let after = lake.rows();
    for (table, more) in [("sessions", 1), ("messages", 2), ("tool_calls", 0), ("usage", 1)] {
        assert!(before.table(table).iter().all(|row| after.table(table).contains(row)), "{table}");
        assert_eq!(after.table(table).len(), before.table(table).len() + more, "{table}");
    }
    let sessions = after.values("sessions");
    let of_kiro = |row: &&serde_json::Value| row["source_path"].as_str().unwrap().contains("kiro-cli");
    let taken_over = sessions.iter().filter(of_kiro).find(|row| row["session_id"] == "qk-0002").unwrap();
    assert_eq!((&taken_over["messages"], &taken_over["title"]), (&2.into(), &"and its prices?".into()));
    let _ = std::fs::remove_dir_all(home.beside("full"));
    assert_eq!(Built::full(&home).rows().without_runs().0, after.without_runs().0);
}
