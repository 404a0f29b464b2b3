//! The document of a chat: read whole, or replayed from the log of its changes (VS Code 1.109 and later).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::LOG;
use crate::agents::document::{self, Torn};
use crate::agents::kit::values::At;
use crate::extract::jsonl::RecordReader;
use crate::extract::{Reject, Sink};
use crate::source::records::{Number, Raw, record};
use crate::source::{Source, repair};

/// Most bytes of changes that are held.
const MOST_HELD: usize = 64 << 20;
/// Most keys and indices from the document to a value. VS Code writes fewer than ten.
const LONGEST_PATH: usize = 32;
/// The list of requests.
const REQUESTS: &str = "requests";
/// Fields next to the requests that are read.
const FIELDS: [&str; 5] = ["sessionId", "creationDate", "customTitle", "workingDirectory", "repoData"];

/// A chat.
#[derive(Default)]
pub(super) struct Chat {
    /// Its fields, without the requests.
    pub(super) fields: Value,
    /// Its requests in order, each with a flag that is true if the chat no longer has it.
    pub(super) requests: Vec<(Value, bool)>,
}

/// Reads a chat. Returns `None` if there is none.
pub(super) fn read(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<Option<Chat>, Reject> {
    if source.kind == LOG {
        let mut replay = Replay { out, document: Value::Null, removed: BTreeMap::new(), held: 0 };
        replay.read_all(&mut source.lines()?)?;
        return Ok(replay.finish());
    }
    let Some(json) = document::text(source, "a chat", out)? else { return Ok(None) };
    out.line();
    let torn = Torn::read(&json, REQUESTS);
    if let Some(error) = &torn.error {
        out.problem(error.line() as u64, &format!("a torn chat; everything before the tear was read: {error}"));
    }
    let value = |json: &str| serde_json::from_str::<Value>(json).unwrap_or_default();
    let fields = FIELDS.iter().filter_map(|key| Some(((*key).to_owned(), value(torn.raw(key)?.get()))));
    let fields = Value::Object(fields.collect());
    let requests = torn.items.iter().map(|item| (value(item.get()), false)).collect();
    Ok(Some(Chat { fields, requests }))
}

record! {
    /// One change.
    Change<'a> {
        kind: Number = "kind",
        path: Raw<'a> = "k",
        value: Raw<'a> = "v",
        length: Number = "i",
    }
}

struct Replay<'o, 's> {
    out: &'o mut Sink<'s>,
    document: Value,
    /// Requests that were cut off, by id. Editing a prompt cuts off its request and all later ones.
    removed: BTreeMap<String, Value>,
    /// Bytes of the changes to the document.
    held: usize,
}

impl<'s> RecordReader<'s> for Replay<'_, 's> {
    type Record = Change<'static>;
    const STARTS: &'static [&'static str] = &["{\"kind\":"];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, change: &Change<'_>, line: u64) -> Result<(), Reject> {
        let json = change.value.json();
        if change.kind.0 == Some(0) {
            self.held = 0;
            self.removed.clear();
        }
        self.held += json.map_or(0, str::len);
        if self.held > MOST_HELD {
            self.out.problem(line, "a chat of more than 64 MiB; this change is left out");
            return Ok(());
        }
        // A text may hold half of a surrogate pair.
        let repaired = |json: &str| serde_json::from_str::<Value>(&repair(json.as_bytes()));
        let value = json.map(|json| serde_json::from_str(json).or_else(|_| repaired(json))).transpose();
        let path = change.path.json().map_or(Ok(Vec::new()), serde_json::from_str::<Vec<Value>>);
        let (Ok(value), Ok(path)) = (value, path) else {
            self.out.problem(line, "a change that cannot be read");
            return Ok(());
        };
        let is_done = match change.kind.0 {
            Some(0) => {
                self.document = value.unwrap_or_default();
                true
            }
            Some(1) => self.set(&path, value).is_some(),
            Some(2) => self.push(&path, change.length.0, value).is_some(),
            Some(3) => self.set(&path, None).is_some(),
            _ => {
                self.out.unknown("kind of change");
                true
            }
        };
        if !is_done {
            self.out.problem(line, "a change of something that is not there");
        }
        Ok(())
    }
}

impl Replay<'_, '_> {
    /// Sets a value, or deletes it. Returns `None` if its place does not exist.
    fn set(&mut self, path: &[Value], value: Option<Value>) -> Option<()> {
        let (last, above) = path.split_last()?;
        let place = place(&mut self.document, above)?;
        let before = match (place, last) {
            (Value::Object(fields), Value::String(key)) => match value {
                Some(value) => fields.insert(key.clone(), value),
                None => fields.remove(key),
            },
            (Value::Array(items), index) => {
                let index = usize::try_from(index.as_u64()?).ok()?;
                if index == items.len() {
                    items.push(Value::Null);
                }
                Some(std::mem::replace(items.get_mut(index)?, value.unwrap_or_default()))
            }
            _ => return None,
        };
        match (path, before) {
            ([Value::String(key)], Some(Value::Array(before))) if key == REQUESTS => self.keep(before),
            ([Value::String(key), _], Some(before)) if key == REQUESTS => self.keep(vec![before]),
            _ => {}
        }
        Some(())
    }

    /// Cuts a list to a length, and adds items to it. Returns `None` if its place does not exist.
    fn push(&mut self, path: &[Value], length: Option<i64>, value: Option<Value>) -> Option<()> {
        let (last, above) = path.split_last()?;
        let place = match (place(&mut self.document, above)?, last) {
            (Value::Object(fields), Value::String(key)) => fields.entry(key.clone()).or_insert(Value::Null),
            (Value::Array(items), index) => items.get_mut(usize::try_from(index.as_u64()?).ok()?)?,
            _ => return None,
        };
        if place.is_null() {
            *place = Value::Array(Vec::new());
        }
        let items = place.as_array_mut()?;
        let length = length.and_then(|length| usize::try_from(length).ok()).filter(|length| *length < items.len());
        let cut = length.map(|length| items.split_off(length)).unwrap_or_default();
        match value {
            Some(Value::Array(more)) => items.extend(more),
            Some(_) => return None,
            None => {}
        }
        if matches!(path, [Value::String(key)] if key == REQUESTS) {
            self.keep(cut);
        }
        Some(())
    }

    fn keep(&mut self, requests: Vec<Value>) {
        let named = requests.into_iter().filter_map(|it| Some((it.text_at("/requestId")?.to_owned(), it)));
        self.removed.extend(named);
    }

    fn finish(self) -> Option<Chat> {
        let Value::Object(mut fields) = self.document else { return None };
        let Some(Value::Array(present)) = fields.remove(REQUESTS) else { return None };
        let mut removed = self.removed;
        for id in present.iter().filter_map(|request| request.text_at("/requestId")) {
            removed.remove(id);
        }
        let removed = removed.into_values().map(|request| (request, true));
        let mut requests: Vec<_> = removed.chain(present.into_iter().map(|request| (request, false))).collect();
        requests.sort_by_cached_key(|(request, _)| request.moment_at("/timestamp"));
        let fields = fields.into_iter().filter(|(key, _)| FIELDS.contains(&&**key)).collect::<Map<_, _>>();
        Some(Chat { fields: Value::Object(fields), requests })
    }
}

/// Returns the value at a path.
fn place<'d>(document: &'d mut Value, path: &[Value]) -> Option<&'d mut Value> {
    if path.len() > LONGEST_PATH {
        return None;
    }
    path.iter().try_fold(document, |value, key| match (value, key) {
        (Value::Object(fields), Value::String(key)) => fields.get_mut(key),
        (Value::Array(items), index) => items.get_mut(usize::try_from(index.as_u64()?).ok()?),
        _ => None,
    })
}
