//! Folders that an editor's settings name for the tasks of an extension.

use std::path::Path;

use llrem::agents::{AGENTS, claimed};
use serde_json::{Value, json};

use crate::common::home::write;
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
