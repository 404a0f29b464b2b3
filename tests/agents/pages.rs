//! Databases of which one page is damaged: what lies on it is lost and counted, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::{Built, Home, Rows};
use crate::laws::assert_consistent;

/// Bytes of a page, as SQLite makes it by default.
const PAGE: usize = 4096;
/// The content of the page that is damaged.
const HERE: &str = "<the damaged page>";
/// 2026-02-25T06:13:20Z. Milliseconds since 1970.
const BEGAN: i64 = 1_772_000_000_000;

fn database(home: &Home, path: &str, script: &str) -> (PathBuf, Connection) {
    let path = home.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = Connection::open(&path).unwrap();
    database.execute_batch(script).unwrap();
    (path, database)
}

/// Wipes the last page that holds the one and not the other; the first may be one that leads to the others.
fn damage(path: &Path, holds: &str, lacks: &str) {
    let mut content = fs::read(path).unwrap();
    let has = |page: &[u8], text: &str| memchr::memmem::find(page, text.as_bytes()).is_some();
    let mut pages = content.chunks_mut(PAGE).skip(1);
    pages.rfind(|page| has(page, holds) && (lacks.is_empty() || !has(page, lacks))).unwrap().fill(0);
    fs::write(path, content).unwrap();
}

fn read(home: &Home) -> Rows {
    let rows = Built::full(home).rows();
    assert_consistent(&rows, "a damaged page");
    let source = &rows.values("sources")[0];
    assert_eq!(source["state"], "partial", "{source}");
    assert!(source["bad_lines"].as_u64() > Some(0) && source["problem"].is_string(), "{source}");
    rows
}

fn column(rows: &Rows, table: &str, column: &str) -> Vec<String> {
    rows.values(table).iter().map(|row| row[column].as_str().unwrap_or_default().to_owned()).collect()
}

/// A text over many pages, of which one is damaged where it is said to be.
fn long(text: &str, is_damaged: bool) -> String {
    let half = "z".repeat(4 * PAGE);
    format!("{text}{half}{}{half}", if is_damaged { HERE } else { "" })
}

fn of_amazon_q(number: i64) -> String {
    let began = BEGAN + number;
    json!({"conversation_id": format!("q-{number}"), "history": [{
        "user": {"content": {"Prompt": {"prompt": long("hello", number == 3)}}, "timestamp": "2026-02-25T07:00:00Z"},
        "assistant": {"Response": {"message_id": format!("m{number}"), "content": "ok"}},
        "request_metadata": {"request_id": format!("r{number}"), "request_start_timestamp_ms": began,
            "stream_end_timestamp_ms": began + 9, "model_id": "m"},
    }]})
    .to_string()
}

#[test]
fn a_conversation_of_amazon_q_on_a_damaged_page_costs_no_other() {
    let others = ["q-0", "q-1", "q-2", "q-4", "q-5"];
    let home = Home::empty();
    let table = "CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT)";
    let (path, table) = database(&home, ".local/share/amazon-q/data.sqlite3", table);
    for number in 0..6 {
        let row = (format!("/w/{number}"), of_amazon_q(number));
        table.execute("INSERT INTO conversations VALUES (?1, ?2)", row).unwrap();
    }
    table.close().unwrap();
    damage(&path, HERE, "");
    assert_eq!(column(&read(&home), "sessions", "session_id"), others);

    let home = Home::empty();
    let table = "CREATE TABLE conversations_v2 (key TEXT, conversation_id TEXT, value TEXT, created_at INTEGER,
        updated_at INTEGER, PRIMARY KEY (key, conversation_id))";
    let (path, table) = database(&home, ".local/share/kiro-cli/data.sqlite3", table);
    for number in 0..6 {
        let row = (format!("/w/{number}"), format!("q-{number}"), of_amazon_q(number), BEGAN + number);
        table.execute("INSERT INTO conversations_v2 VALUES (?1, ?2, ?3, ?4, ?4)", row).unwrap();
    }
    table.close().unwrap();
    damage(&path, HERE, "");
    assert_eq!(column(&read(&home), "sessions", "session_id"), others);
}

const ITEMS: &str = "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
    CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);";

fn put(database: &Connection, table: &str, key: &str, value: &Value) {
    let insert = format!("INSERT INTO {table} VALUES (?1, ?2)");
    database.execute(&insert, (key, value.to_string())).unwrap();
}

fn chat(id: &str, is_damaged: bool) -> Value {
    let text = long("hello", is_damaged);
    json!({"tabs": [{"tabId": id, "bubbles": [{"type": "user", "text": text}, {"type": "ai", "rawText": "ok"}]}]})
}

#[test]
fn chat_tabs_on_a_damaged_page_cost_no_others() {
    for (editor, others) in [("Windsurf", "chat.data"), ("Cursor", "workbench.panel.chat.view.chat.chatdata")] {
        let home = Home::empty();
        let path = format!(".config/{editor}/User/workspaceStorage/w1/state.vscdb");
        let (path, items) = database(&home, &path, ITEMS);
        put(&items, "ItemTable", "workbench.panel.aichat.view.aichat.chatdata", &chat("t-lost", true));
        put(&items, "ItemTable", others, &chat("t-sound", false));
        items.close().unwrap();
        damage(&path, HERE, "");
        assert_eq!(column(&read(&home), "sessions", "session_id"), ["t-sound"], "{editor}");
    }
}

#[test]
fn a_damaged_page_of_an_index_of_cursor_costs_what_is_found_by_it() {
    let home = Home::empty();
    let (path, values) = database(&home, ".config/Cursor/User/globalStorage/state.vscdb", ITEMS);
    for composer in 10..50 {
        let headers: Vec<_> =
            (0..20).map(|number| json!({"bubbleId": format!("b{composer}{number}"), "type": 1})).collect();
        let record = json!({"createdAt": BEGAN + composer, "fullConversationHeadersOnly": headers});
        put(&values, "cursorDiskKV", &format!("composerData:c{composer}"), &record);
        for number in 0..20 {
            let bubble = json!({"type": 1, "text": format!("words {}", "z".repeat(300))});
            put(&values, "cursorDiskKV", &format!("bubbleId:c{composer}:b{composer}{number}"), &bubble);
        }
    }
    values.close().unwrap();
    damage(&path, "bubbleId:c20:b201", "words");
    let messages = read(&home).values("messages").len();
    assert!(messages > 400, "{messages}");
}

const OPENCODE: &str = "
    CREATE TABLE session (id text PRIMARY KEY, directory text, title text, version text, time_created integer, time_updated integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
    CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, time_updated integer, data text);
    INSERT INTO session VALUES ('ses_a', '/w', 'A', '1.2.6', 1772000000000, 1772000000000);";
const INDEXES: [&str; 2] = [
    "CREATE INDEX message_session_idx ON message (session_id); CREATE INDEX part_message_idx ON part (message_id);",
    "CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
     CREATE INDEX part_message_id_id_idx ON part (message_id, id);",
];
const ANSWERS: usize = 40;

/// A session of as many answers, of which some records lie on a damaged page.
fn answers(indexes: &str, damaged: &str) -> Home {
    let home = Home::empty();
    let (path, tables) = database(&home, ".local/share/opencode/opencode.db", &format!("{OPENCODE}{indexes}"));
    for number in 0..ANSWERS {
        let (id, at) = (format!("msg_{number:02}"), BEGAN + number as i64);
        let mark = |table: &str| if number == 20 && table == damaged { HERE } else { "" };
        let pad = |table: &str| format!("{}{}", "x".repeat(600), mark(table));
        let times = json!({"created": at, "completed": at + 1});
        let message =
            json!({"role": "assistant", "modelID": "m", "providerID": "p", "time": times, "variant": pad("message")});
        tables.execute("INSERT INTO message VALUES (?1, 'ses_a', ?2, ?2, ?3)", (&id, at, message.to_string())).unwrap();
        let tokens = json!({"input": 100, "output": 10, "reasoning": 0, "cache": {"read": 0, "write": 0}});
        let parts = [
            json!({"type": "text", "text": format!("answer {number} {}", pad("part"))}),
            json!({"type": "step-finish", "reason": "stop", "cost": 0.01, "tokens": tokens}),
        ];
        for (place, part) in parts.iter().enumerate() {
            let row = (format!("prt_{number:02}_{place}"), &id, at, part.to_string());
            tables.execute("INSERT INTO part VALUES (?1, ?2, 'ses_a', ?3, ?3, ?4)", row).unwrap();
        }
    }
    tables.close().unwrap();
    damage(&path, HERE, "");
    home
}

/// The parts of a message lie on other pages than the message.
#[test]
fn records_of_opencode_on_a_damaged_page_cost_no_others() {
    for indexes in INDEXES {
        let rows = read(&answers(indexes, "part"));
        let texts = column(&rows, "messages", "text");
        assert_eq!(texts.len(), ANSWERS);
        let whole = texts.iter().filter(|text| text.starts_with("answer")).count();
        assert!((ANSWERS - 8..ANSWERS).contains(&whole), "{whole}");
        assert!(rows.values("usage").len() >= ANSWERS - 8);
    }
    let rows = read(&answers(INDEXES[1], "message"));
    let texts = column(&rows, "messages", "text");
    assert_eq!(texts.iter().filter(|text| text.starts_with("answer")).count(), ANSWERS);
    assert_eq!(rows.values("usage").len(), ANSWERS);
    assert!(rows.values("messages").iter().all(|row| row["role"] == "assistant"));
    let rows = read(&answers(INDEXES[0], "message"));
    assert!(rows.values("usage").len() >= ANSWERS - 8);
}
