//! Chat tabs that the editor kept in a workspace's database, before its conversations were Cascade's.

use std::borrow::Cow;

use rusqlite::OptionalExtension;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::AGENT;
use crate::agents::document::Torn;
use crate::agents::editors::{WORKSPACE, workspace_folder};
use crate::agents::ids::Prints;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key};
use crate::source::records::{List, Moment, Object, Text, record};
use crate::source::{Database, Source, repair};
use crate::tables::{MessageKind, MessageRow, Role, Vocabulary};

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

    /// A message.
    Bubble<'a> {
        kind: Text<'a> = "type" | "role",
        text: Text<'a> = "text" | "content",
        raw: Text<'a> = "rawText",
        rich: Text<'a> = "initText",
    }
}

/// Reads the database, tab by tab; each tab once, under whichever key it stands first.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let folder = workspace_folder(source, &source.path.with_file_name(WORKSPACE));
    let workspace = source.path.parent().and_then(|folder| folder.file_name()?.to_str()).unwrap_or_default();
    let database = source.database()?;
    let mut seen = KeySet::default();
    let mut prints = Prints::default();
    for name in KEYS {
        let value = match value_of(&database, name) {
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
        if let Some(error) = tabs.error {
            out.line();
            let line = out.report.lines;
            out.problem(line, &format!("torn chat tabs; those before the tear were read: {error}"));
        }
        for json in tabs.items {
            let tab = serde_json::from_str::<Tab<'_>>(json.get());
            let read = tab.as_ref().ok();
            let first = read.and_then(|tab| tab.bubbles.0.iter().find_map(|bubble| bubble.0.as_ref()?.words()));
            let made_up = || format!("windsurf:{workspace}:{}", prints.name("tab", None, first.as_deref()));
            let id = read.and_then(|tab| tab.id.get()).map_or_else(made_up, str::to_owned);
            if seen.insert(key(AGENT, Kind::Presence, &id)) {
                extract_one(tab, id, folder.as_deref(), out)?;
            }
        }
    }
    Ok(())
}

fn extract_one(
    tab: serde_json::Result<Tab<'_>>,
    id: String,
    folder: Option<&str>,
    out: &mut Sink<'_>,
) -> Result<(), Reject> {
    out.line();
    let tab = match tab {
        Ok(tab) => tab,
        Err(error) => {
            out.problem(out.report.lines, &format!("a chat tab that cannot be read: {error}"));
            return Ok(());
        }
    };
    let project_path = folder.map(str::to_owned);
    let facts = Facts { session_id: id, project_path, title: tab.title.owned(), ..Facts::default() };
    let mut thread = Thread::new(facts);
    let bubbles: Vec<&Bubble<'_>> = tab.bubbles.0.iter().filter_map(|bubble| bubble.0.as_ref()).collect();
    let last_prompt = bubbles.iter().rposition(|bubble| is_persons(bubble));
    for (place, bubble) in bubbles.iter().enumerate() {
        let Some(text) = bubble.words() else { continue };
        let is_persons = is_persons(bubble);
        let (role, kind) =
            if is_persons { (Role::User, MessageKind::Prompt) } else { (Role::Assistant, MessageKind::Reply) };
        // Its place is another's once the person takes the tab back and goes on otherwise.
        let id = format!("{}:{}", thread.facts.session_id, thread.prints.name(role.as_str(), None, [&*text]));
        if is_persons {
            thread.begin_turn();
        }
        let timestamp = tab.sent.0.filter(|_| Some(place) == last_prompt);
        let row = MessageRow { text: Some(&text), ..blank(role, kind) };
        thread.message(&Position::new(&id, timestamp), row, out)?;
    }
    thread.finish(out)
}

impl Bubble<'_> {
    /// Returns the text of the message.
    fn words(&self) -> Option<Cow<'_, str>> {
        let own = self.text.get().or(self.raw.get()).map(Cow::Borrowed);
        own.or_else(|| plain(&self.rich).map(Cow::Owned))
    }
}

/// True if the person wrote it: the author is a word, or 1 for the person.
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

/// Longest rich text that is read: parsed, it takes many times as much. Bytes.
const LONGEST_RICH: usize = 4 << 20;

/// The words of a rich text, a line each paragraph.
fn plain(rich: &Text<'_>) -> Option<String> {
    let tree: Value = serde_json::from_str(rich.get().filter(|text| text.len() <= LONGEST_RICH)?).ok()?;
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
