//! Chat tabs that the editor kept in a workspace's database, before its conversations were Cascade's.

use rusqlite::OptionalExtension;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::{AGENT, folder};
use crate::agents::amazon_q::{Thread, blank};
use crate::agents::torn::Torn;
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key};
use crate::source::records::{List, Moment, Object, Text, record};
use crate::source::{Database, Source, repair};
use crate::tables::MessageRow;

/// Keys that tabs are kept under.
const KEYS: [&str; 5] = [
    "workbench.panel.aichat.view.aichat.chatdata",
    "aiChat.chatdata",
    "chat.data",
    "cascade.chatdata",
    "cascade.sessionData",
];

record! {
    /// A tab.
    Tab<'a> {
        id: Text<'a> = "tabId" | "sessionId",
        title: Text<'a> = "chatTitle" | "title",
        sent: Moment = "lastSendTime",
        bubbles: List<Object<Bubble<'a>>> = "bubbles" | "messages",
    }
    ignores the rest
}

record! {
    /// What was said.
    Bubble<'a> {
        kind: Text<'a> = "type" | "role",
        text: Text<'a> = "text" | "content",
        raw: Text<'a> = "rawText",
        rich: Text<'a> = "initText",
    }
    ignores the rest
}

/// A tab, before it is read.
pub(super) struct Listed {
    /// The session's id.
    pub(super) id: String,
    /// The key of the value that it stands in.
    key: &'static str,
    /// Its place there.
    place: usize,
}

/// Reads the database, tab by tab.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let folder = folder::beside(source);
    let workspace = source.path.parent().and_then(|folder| folder.file_name()?.to_str()).unwrap_or_default();
    let database = source.database()?;
    for listed in list(&database, workspace, out)? {
        extract_one(&database, &listed, folder.as_deref(), out)?;
    }
    Ok(())
}

/// The tabs of the database; each once, under whichever key it stands first.
pub(super) fn list(database: &Database, workspace: &str, out: &mut Sink<'_>) -> Result<Vec<Listed>, Reject> {
    let mut listed = Vec::new();
    let mut seen = KeySet::default();
    for name in KEYS {
        let value = match value_of(database, name) {
            Err(Reject::Database(error)) => {
                out.line();
                out.problem(out.report.lines, &format!("what stands under {name} is damaged: {error}"));
                continue;
            }
            value => value?,
        };
        let Some(value) = value else { continue };
        let json = repair(&value);
        let tabs = tabs(&json);
        for (place, tab) in tabs.items.iter().enumerate() {
            let read: Tab<'_> = serde_json::from_str(tab.get()).unwrap_or_default();
            let number = listed.len();
            let id = read.id.get().map_or_else(|| format!("windsurf:{workspace}:{number}"), str::to_owned);
            if seen.insert(key(AGENT, Kind::Presence, &id)) {
                listed.push(Listed { id, key: name, place });
            }
        }
        if let Some(error) = tabs.error {
            out.line();
            let line = out.report.lines;
            out.problem(line, &format!("torn chat tabs; those before the tear were read: {error}"));
        }
    }
    Ok(listed)
}

/// Reads one tab. The tabs of a workspace are one value.
pub(super) fn extract_one(
    database: &Database,
    listed: &Listed,
    folder: Option<&str>,
    out: &mut Sink<'_>,
) -> Result<(), Reject> {
    let value = value_of(database, listed.key)?.unwrap_or_default();
    let json = repair(&value);
    let Some(tab) = tabs(&json).items.get(listed.place).copied() else { return Ok(()) };
    out.line();
    let tab: Tab<'_> = match serde_json::from_str(tab.get()) {
        Ok(tab) => tab,
        Err(error) => {
            let line = out.report.lines;
            out.problem(line, &format!("no chat tab: {error}"));
            return Ok(());
        }
    };
    let mut thread = Thread::new(AGENT, listed.id.clone(), out);
    thread.cwd = folder.map(str::to_owned);
    let bubbles: Vec<&Bubble<'_>> = tab.bubbles.0.iter().filter_map(|bubble| bubble.0.as_ref()).collect();
    let last_prompt = bubbles.iter().rposition(|bubble| is_persons(bubble));
    for (place, bubble) in bubbles.iter().enumerate() {
        let rich = plain(&bubble.rich);
        let Some(text) = bubble.text.get().or(bubble.raw.get()).or(rich.as_deref()) else { continue };
        let id = format!("{}:{place}", thread.id);
        let row = if is_persons(bubble) {
            thread.next_turn();
            blank("user", "prompt", &id)
        } else {
            blank("assistant", "reply", &id)
        };
        let timestamp = tab.sent.0.filter(|_| Some(place) == last_prompt);
        thread.push(MessageRow { text: Some(text), timestamp, ..row })?;
    }
    thread.finish(Facts {
        kind: "session",
        project_path: folder.map(str::to_owned),
        title: tab.title.get().map(str::to_owned),
        ..Facts::default()
    })
}

/// Who speaks is a word, or 1 for the person.
fn is_persons(bubble: &Bubble<'_>) -> bool {
    bubble.kind.is("user") || bubble.kind.is("1")
}

fn tabs(json: &str) -> Torn<'_> {
    let tabs = Torn::read(json, "tabs");
    if tabs.items.is_empty() && tabs.raw("sessions").is_some() { Torn::read(json, "sessions") } else { tabs }
}

/// The value of a key: by the table's index.
fn value_of(database: &Database, key: &str) -> Result<Option<Vec<u8>>, Reject> {
    if database.columns("ItemTable")?.is_empty() {
        return Ok(None);
    }
    let mut statement = database.prepare("SELECT value FROM ItemTable WHERE key = ?1")?;
    let value = statement
        .query_row([key], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
                _ => None,
            })
        })
        .optional()?;
    Ok(value.flatten())
}

/// The words of a rich text, a line each paragraph.
fn plain(rich: &Text<'_>) -> Option<String> {
    let tree: Value = serde_json::from_str(rich.get()?).ok()?;
    let mut text = String::new();
    collect(&tree, &mut text);
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// No deeper than the parser goes.
fn collect(node: &Value, into: &mut String) {
    if let Some(text) = node.get("text").and_then(Value::as_str) {
        into.push_str(text);
    }
    for child in node.get("children").and_then(Value::as_array).into_iter().flatten() {
        collect(child, into);
    }
    if let Some(root) = node.get("root") {
        collect(root, into);
    }
    if node.get("type").and_then(Value::as_str) == Some("paragraph") {
        into.push('\n');
    }
}
