//! Records without ids: agents that take a conversation back, or cut its head, put others in their places.

use std::path::Path;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::home::write;
use crate::common::{Built, Home};
use crate::laws::assert_consistent;

/// 2026-01-01. Milliseconds since 1970.
const BEGAN: i64 = 1_767_225_600_000;

/// An agent's way to keep a conversation.
struct Form {
    name: &'static str,
    put: fn(&Home, &[String]),
}

/// True if the person wrote the text: the person asks.
fn is_persons(text: &str) -> bool {
    text.starts_with("ask")
}

/// When it was said: it does not change with its place.
fn moment(text: &str) -> i64 {
    let number = |text: &str| text.split(' ').next_back().and_then(|number| number.parse::<i64>().ok());
    BEGAN + number(text).unwrap() * 10_000 + if text.contains("other") { 5_000 } else { 0 }
}

fn said(text: &str) -> Value {
    json!({"role": if is_persons(text) { "user" } else { "assistant" }, "content": text})
}

fn save(home: &Home, path: &str, value: &Value) {
    write(&home.path().join(path), value.to_string().as_bytes());
}

fn save_lines(home: &Home, path: &str, lines: impl Iterator<Item = Value>) {
    let text = lines.map(|line| line.to_string() + "\n").collect::<Vec<_>>().concat();
    write(&home.path().join(path), text.as_bytes());
}

fn database(home: &Home, path: &str, table: &str) -> Connection {
    let path = home.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = Connection::open(&path).unwrap();
    database.execute_batch(&format!("CREATE TABLE IF NOT EXISTS {table}")).unwrap();
    database
}

/// A task of Cline or one of its forks. Each answer calls a tool and tells what it cost.
fn put_task(home: &Home, extension: &str, texts: &[String], has_moments: bool, has_shown: bool) {
    let folder = format!(".config/Code/User/globalStorage/{extension}/tasks/{BEGAN}");
    let message = |text: &String| {
        let mut message = said(text);
        let tag = if is_persons(text) { "feedback" } else { "" };
        message["content"] = match tag {
            "" => json!(format!("{text}\n<execute_command>\n<command>{text}</command>\n</execute_command>")),
            tag => json!(format!("<{tag}>{text}</{tag}>")),
        };
        if !is_persons(text) && !has_shown {
            message["metrics"] = json!({"tokens": {"prompt": moment(text) - BEGAN, "completion": 7, "cached": 0}});
        }
        if has_moments {
            message["ts"] = json!(moment(text));
        }
        message
    };
    save(home, &format!("{folder}/api_conversation_history.json"), &texts.iter().map(message).collect());
    if has_shown {
        let rows = texts.iter().filter(|text| is_persons(text)).flat_map(|text| {
            let request = json!({"tokensIn": moment(text) - BEGAN, "tokensOut": 7}).to_string();
            [
                json!({"ts": moment(text), "type": "say", "say": "user_feedback", "text": text}),
                json!({"ts": moment(text) + 1, "type": "say", "say": "api_req_started", "text": request}),
            ]
        });
        save(home, &format!("{folder}/ui_messages.json"), &rows.collect());
    }
}

fn put_windsurf(home: &Home, texts: &[String]) {
    let path = ".config/Windsurf/User/workspaceStorage/1c2d/state.vscdb";
    let database = database(home, path, "ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)");
    let bubbles = texts.iter().map(|text| json!({"type": if is_persons(text) { 1 } else { 2 }, "text": text}));
    let tabs = json!({"tabs": [{"tabId": "tab", "bubbles": bubbles.collect::<Value>()}]});
    database.execute("INSERT INTO ItemTable VALUES ('chat.data', ?1)", [tabs.to_string()]).unwrap();
}

const KIRO: &str = ".config/Kiro/User/globalStorage/kiro.kiroagent";

fn put_kiro_chat(home: &Home, texts: &[String]) {
    let message = |text: &String| json!({"role": if is_persons(text) { "human" } else { "bot" }, "content": text});
    let chat: Value = texts.iter().map(message).collect();
    let metadata = json!({"workflowId": "wf", "modelId": "m"});
    save(home, &format!("{KIRO}/4de6/a.chat"), &json!({"executionId": "ex", "chat": chat, "metadata": metadata}));
}

fn put_kiro_session(home: &Home, texts: &[String]) {
    let history: Value = texts.iter().map(|text| json!({"message": said(text)})).collect();
    let session = json!({"sessionId": "s", "history": history, "workspaceDirectory": "/w"});
    save(home, &format!("{KIRO}/workspace-sessions/L3c_/s.json"), &session);
}

fn put_amazon_q(home: &Home, texts: &[String]) {
    let path = ".local/share/amazon-q/data.sqlite3";
    let database = database(home, path, "conversations (key TEXT PRIMARY KEY, value TEXT)");
    let entries = texts.chunks(2).map(|pair| {
        let user = json!({"content": {"Prompt": {"prompt": pair[0]}}});
        json!([user, pair.get(1).map(|text| json!({"Response": {"content": text}}))])
    });
    let conversation = json!({"conversation_id": "c", "history": entries.collect::<Value>()});
    database.execute("INSERT OR REPLACE INTO conversations VALUES ('/w', ?1)", [conversation.to_string()]).unwrap();
}

const SESSION: &str = "0000000a-0000-4000-8000-00000000000a";

fn put_claude(home: &Home, texts: &[String], has_moments: bool) {
    let line = |text: &String| {
        let mut line = json!({"type": said(text)["role"], "sessionId": SESSION, "message": said(text)});
        if has_moments {
            line["timestamp"] = json!(moment(text));
        }
        line
    };
    save_lines(home, &format!(".claude/projects/p/{SESSION}.jsonl"), texts.iter().map(line));
}

fn put_cursor(home: &Home, texts: &[String]) {
    let line =
        |text: &String| json!({"role": said(text)["role"], "message": {"content": [{"type": "text", "text": text}]}});
    let path = format!(".cursor/projects/home-p/agent-transcripts/{SESSION}/{SESSION}.jsonl");
    save_lines(home, &path, texts.iter().map(line));
}

fn put_copilot(home: &Home, texts: &[String]) {
    let chat = json!({"sessionId": SESSION, "startTime": "2026-01-01T00:00:00Z", "timeline": [],
        "chatMessages": texts.iter().map(|text| said(text)).collect::<Value>()});
    save(home, &format!(".copilot/history-session-state/session_{SESSION}_{BEGAN}.json"), &chat);
}

const FORMS: [Form; 13] = [
    Form { name: "cline", put: |home, texts| put_task(home, "saoudrizwan.claude-dev", texts, true, true) },
    Form { name: "roo code", put: |home, texts| put_task(home, "rooveterinaryinc.roo-cline", texts, true, true) },
    Form { name: "kilo code", put: |home, texts| put_task(home, "kilocode.kilo-code", texts, true, true) },
    Form { name: "cline's history", put: |home, texts| put_task(home, "saoudrizwan.claude-dev", texts, true, false) },
    Form { name: "an old history", put: |home, texts| put_task(home, "saoudrizwan.claude-dev", texts, false, false) },
    Form { name: "windsurf", put: put_windsurf },
    Form { name: "kiro's chats", put: put_kiro_chat },
    Form { name: "kiro's sessions", put: put_kiro_session },
    Form { name: "amazon q", put: put_amazon_q },
    Form { name: "claude code", put: |home, texts| put_claude(home, texts, true) },
    Form { name: "claude code without times", put: |home, texts| put_claude(home, texts, false) },
    Form { name: "cursor", put: put_cursor },
    Form { name: "copilot", put: put_copilot },
];

/// Turns of a prompt and its answer each.
fn turns(what: &str, numbers: std::ops::Range<i64>) -> Vec<String> {
    numbers.flat_map(|number| [format!("ask {what} {number}"), format!("answer {what} {number}")]).collect()
}

/// Texts of the lake's messages with whether they are gone; fails where one stands twice.
fn texts(lake: &Built<'_>, form: &Form) -> Vec<(String, bool)> {
    let rows = lake.rows();
    assert_consistent(&rows, form.name);
    let rows = rows.values("messages");
    let text = |row: &Value| row["text"].as_str().unwrap_or_default().to_owned();
    let mut texts: Vec<(String, bool)> = rows.iter().map(|row| (text(row), row.get("gone_at").is_some())).collect();
    texts.sort();
    texts
}

fn expected(there: &[String], gone: &[String]) -> Vec<(String, bool)> {
    let there = there.iter().map(|text| (text.clone(), false));
    let mut all: Vec<(String, bool)> = there.chain(gone.iter().map(|text| (text.clone(), true))).collect();
    all.sort();
    all
}

/// The calls and the tokens of answers that make calls and were billed.
fn assert_answers_are_whole(lake: &Built<'_>, form: &Form, answers: usize) {
    let rows = lake.rows();
    if !rows.values("tool_calls").is_empty() {
        assert_eq!([rows.values("tool_calls").len(), rows.values("usage").len()], [answers; 2], "{}", form.name);
    }
}

#[test]
fn what_a_conversation_held_before_it_was_taken_back_stays() {
    for form in &FORMS {
        let home = Home::empty();
        let (first, other) = (turns("this", 0..4), turns("other", 2..5));
        (form.put)(&home, &first);
        let lake = Built::full(&home);
        assert_eq!(texts(&lake, form), expected(&first, &[]), "{}", form.name);
        let now = [&first[..4], &other[..]].concat();
        (form.put)(&home, &now);
        for is_full in [false, true] {
            lake.run_with(|options| options.full = is_full);
            assert_eq!(texts(&lake, form), expected(&now, &first[4..]), "{}", form.name);
            assert_answers_are_whole(&lake, form, 7);
        }
        // Once more, to where nothing is left of the first.
        let last = turns("this", 10..11);
        (form.put)(&home, &last);
        lake.run();
        let gone = [&first[..], &other[..]].concat();
        assert_eq!(texts(&lake, form), expected(&last, &gone), "{}", form.name);
        assert_answers_are_whole(&lake, form, 8);
    }
}

#[test]
fn a_conversation_whose_head_was_cut_loses_and_repeats_nothing() {
    for form in &FORMS {
        let home = Home::empty();
        let all = turns("this", 0..7);
        (form.put)(&home, &all[..10]);
        let lake = Built::full(&home);
        for from in [2, 4, 8] {
            (form.put)(&home, &all[from..]);
            lake.run();
            assert_eq!(texts(&lake, form), expected(&all[from..], &all[..from]), "{} from {from}", form.name);
            assert_answers_are_whole(&lake, form, 7);
        }
    }
}

#[test]
fn equal_texts_are_told_apart_by_their_number() {
    for form in &FORMS {
        let home = Home::empty();
        let all: Vec<String> = (0..3).flat_map(|_| turns("this", 1..2)).collect();
        (form.put)(&home, &all[..4]);
        let lake = Built::full(&home);
        for count in [4, 6, 2] {
            (form.put)(&home, &all[..count]);
            lake.run();
            let most = count.max(if count < 4 { 6 } else { 4 });
            let gone = vec![all[..2].to_vec(); (most - count) / 2].concat();
            // With the same moment, requests are one.
            let rows = lake.rows().values("messages").len();
            assert_eq!((texts(&lake, form), rows), (expected(&all[..count], &gone), most), "{}", form.name);
        }
    }
}

/// Agents that write a conversation again while a reply comes in.
#[test]
fn a_message_that_grows_is_one() {
    let home = Home::empty();
    let put = |text: &str| {
        let folder = home.path().join(format!(".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/{BEGAN}"));
        let messages = json!([{"role": "user", "content": "<task>go</task>", "ts": BEGAN},
            {"role": "assistant", "content": text, "ts": BEGAN + 1}]);
        write(&Path::join(&folder, "api_conversation_history.json"), messages.to_string().as_bytes());
    };
    put("I wr");
    let lake = Built::full(&home);
    put("I write it.");
    lake.run();
    let rows = lake.rows().values("messages");
    let texts: Vec<_> = rows.iter().map(|row| (row["text"].as_str().unwrap(), row.get("gone_at").is_some())).collect();
    assert_eq!(texts, [("go", false), ("I write it.", false)]);
}
