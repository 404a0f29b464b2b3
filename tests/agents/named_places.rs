//! Sources in places that somebody names: an editor's settings, or the user.

use std::path::Path;

use llrem::agents::{AGENTS, claimed};
use serde_json::{Value, json};

use crate::common::home::{root, write};
use crate::common::{Built, Home};
use crate::laws::assert_consistent;

/// Writes a task with one request.
fn add_task(storage: &Path, task: &str, request: &Value) {
    let begun: i64 = task.parse().unwrap();
    let shown = json!([
        {"ts": begun, "type": "say", "say": "text", "text": "hello"},
        {"ts": begun + 400, "type": "say", "say": "api_req_started", "text": request.to_string()},
        {"ts": begun + 4000, "type": "say", "say": "text", "text": "yes", "partial": false},
    ]);
    write(&storage.join("tasks").join(task).join("ui_messages.json"), shown.to_string().as_bytes());
}

fn set(home: &Home, file: &str, settings: &str) {
    write(&home.path().join(file), settings.as_bytes());
}

fn found(home: &Home) -> Vec<(String, String)> {
    let rows = Built::full(home).rows();
    assert_consistent(&rows, "named places");
    let sessions = rows.values("sources").into_iter().map(|row| {
        let text = |column: &str| row[column].as_str().unwrap().to_owned();
        (text("agent"), text("path"))
    });
    sessions.collect()
}

#[test]
fn tasks_are_found_where_the_editors_settings_say() {
    let home = Home::empty();
    let folder = |name: &str| home.path().join(name);
    let request = |more: Value| {
        let mut request = json!({"request": "", "tokensIn": 10, "tokensOut": 2, "cost": 0.01});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request
    };
    add_task(&folder("roo"), "1763000000001", &request(json!({"apiProtocol": "anthropic"})));
    add_task(&folder("of profile"), "1763000000002", &request(json!({"apiProtocol": "openai"})));
    add_task(&folder("kilo"), "1763000000003", &request(json!({"inferenceProvider": "x", "apiProtocol": "openai"})));
    add_task(&folder("nobodys"), "1763000000004", &request(json!({})));
    let setting = |key: &str, value: &Path| format!("// mine\n{{ \"a\": [1,], \"{key}\": {value:?}, }}\n");
    let roo = "roo-cline.customStoragePath";
    set(&home, ".config/Code/User/settings.json", &setting(roo, &folder("roo")));
    set(&home, ".config/Code/User/profiles/1a2b/settings.json", &setting(roo, &folder("of profile")));
    set(&home, ".vscode-server/data/Machine/settings.json", &setting("kilo-code.customStoragePath", &folder("kilo")));
    let task = |agent: &str, place: &str| (agent.to_owned(), format!("~/{place}/ui_messages.json"));
    let expected = [
        task("kilo-code", "kilo/tasks/1763000000003"),
        task("roo-code", "of profile/tasks/1763000000002"),
        task("roo-code", "roo/tasks/1763000000001"),
    ];
    let mut all = found(&home);
    all.sort();
    assert_eq!(all, expected);
    for (agent, path) in expected {
        let path = home.path().join(path.trim_start_matches("~/"));
        assert_eq!(claimed(&path, AGENTS).map(|(agent, _)| agent.about().id), Some(&*agent), "{}", path.display());
    }
}

/// A home that is read as if it were one's own names folders of another machine, or of this one.
#[test]
fn settings_of_a_given_home_lead_nowhere_else() {
    let home = Home::empty();
    let elsewhere = home.beside("elsewhere");
    add_task(&elsewhere, "1763000000001", &json!({"tokensIn": 10, "tokensOut": 2, "apiProtocol": "anthropic"}));
    let up = home.path().join("../elsewhere");
    for (number, folder) in [elsewhere, up, "elsewhere".into()].into_iter().enumerate() {
        let settings = format!("{{\"roo-cline.customStoragePath\": {folder:?}}}");
        set(&home, &format!(".config/Code{number}/User/settings.json"), &settings);
    }
    assert_eq!(found(&home), []);
}

/// A transcript of each agent that writes lines, of a fixture.
const TRANSCRIPTS: &[(&str, &str)] = &[
    ("codex", ".codex/sessions/2026/08/01/rollout-2026-08-01T11-00-00-019fbcc4-2900-7000-8000-000000000001.jsonl"),
    ("copilot-cli", ".copilot/session-state/c1000000-0000-4000-8000-000000000001/events.jsonl"),
    ("droid", ".factory/sessions/-w-app/s1.jsonl"),
    ("pi", ".pi/agent/sessions/--w-app--/2026-01-01T10-00-00-000Z_s1.jsonl"),
    ("oh-my-pi", ".omp/agent/sessions/-shop/2026-08-01T10-00-00-000Z_2001aaaa000000000001.jsonl"),
    ("qwen-code", ".qwen/projects/-home-kim-shop/chats/5e510001-0000-4000-8000-000000000001.jsonl"),
    ("gemini-cli", ".gemini/tmp/web-app/chats/session-2026-06-01T10-00-aaaaaaaa.jsonl"),
    ("grok", ".grok/sessions/%2Fhome%2Fana%2Fweb/019f-a/updates.jsonl"),
    (
        "antigravity",
        ".gemini/antigravity-cli/brain/a1000000-0000-4000-8000-000000000001/.system_generated/logs/transcript.jsonl",
    ),
    ("traex", ".trae/cli/sessions/2026/08/01/rollout-2026-08-01T10-00-00-019fbcc4-2900-7000-8000-0000000000e1.jsonl"),
    ("junie", ".junie/sessions/session-260825-101000-ab12/events.jsonl"),
    ("kimi-cli", ".kimi/sessions/3fe05f686bb8e9c72fb7cde88e0ca5cb/5e5c0001-0000-4000-8000-000000000000/wire.jsonl"),
    ("kimi-code", ".kimi-code/sessions/wd_web_0123456789ab/session_s1/agents/main/wire.jsonl"),
    ("claude-code", ".claude/projects/-home-ana-api-v2/22222222-2222-4222-8222-222222222222.jsonl"),
    ("copilot-chat", ".config/Code/User/workspaceStorage/ab12/chatSessions/00005b0c-0000-4000-8000-000000005b0c.jsonl"),
];

#[test]
fn transcripts_in_nobodys_folder_are_known_by_their_first_lines() {
    let home = Home::empty();
    for &(agent, file) in TRANSCRIPTS {
        let file = root().join("fixtures").join(agent).join("worked-example/home").join(file);
        for name in ["kept.jsonl", "2026-01-01T10-00-00-000Z_0.jsonl"] {
            let copy = home.beside("kept").join(agent).join(name);
            write(&copy, &std::fs::read(&file).unwrap());
            let (found, kind) = claimed(&copy, AGENTS).unwrap();
            assert_eq!((found.about().id, kind == "subagent"), (agent, false), "{}", copy.display());
        }
    }
    let copy = home.beside("kept").join("kept.jsonl");
    let lines =
        "{\"type\":\"session\",\"id\":\"a\"}\n{\"type\":\"custom\",\"customType\":\"model-snapshot\",\"data\":{}}\n";
    write(&copy, lines.as_bytes());
    assert_eq!(claimed(&copy, AGENTS).map(|(agent, _)| agent.about().id), Some("openclaw"));
    let input =
        "{\"type\":\"assistant\",\"sessionId\":\"a\",\"message\":{\"content\":[{\"input\":{\"type\":\"title\"}}]}}\n";
    write(&copy, input.as_bytes());
    assert_eq!(claimed(&copy, AGENTS).map(|(agent, _)| agent.about().id), Some("claude-code"));
}

/// Each session of Claude Cowork has a `.claude` of its own.
#[test]
fn what_lies_in_a_folder_of_cowork_is_never_claude_codes() {
    let home = Home::empty();
    let session = home.beside("kept").join("local-agent-mode-sessions/a/b/local_c");
    for (file, kind) in [
        (".claude/projects/w/22222222-2222-4222-8222-222222222222.jsonl", "transcript"),
        (".claude/projects/w/2222/subagents/agent-a1.jsonl", "subagent"),
        ("audit.jsonl", "audit"),
    ] {
        let path = session.join(file);
        let found = claimed(&path, AGENTS).map(|(agent, kind)| (agent.about().id, kind));
        assert_eq!(found, Some(("claude-cowork", kind)), "{file}");
    }
}

#[test]
fn a_file_is_read_as_the_agents_that_the_user_names() {
    let home = Home::empty();
    for (agent, file) in TRANSCRIPTS.iter().copied().chain([("openclaw", TRANSCRIPTS[3].1)]) {
        let fixture = if agent == "openclaw" { "pi" } else { agent };
        let file = root().join("fixtures").join(fixture).join("worked-example/home").join(file);
        let copy = home.beside("kept").join(agent).join("kept.jsonl");
        write(&copy, &std::fs::read(&file).unwrap());
        let lake = Built::new(&home, &format!("lake of {agent}"));
        lake.run_with(|options| options.sources = vec![(Some(agent.to_owned()), copy.clone())]);
        let sources = lake.rows().values("sources");
        let read: Vec<_> = sources.iter().map(|row| (row["agent"].as_str(), row["messages"] != 0)).collect();
        assert_eq!(read, [(Some(agent), true)]);
    }
}
