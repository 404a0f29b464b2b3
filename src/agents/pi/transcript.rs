//! One session: lines into messages, tool calls and billed responses.

mod billing;
mod calls;
mod messages;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::dialect::Dialect;
use super::record::{Entry, Message, Snapshot};
use crate::agents::ids::Prints;
use crate::agents::kit::facts::keep_earlier;
use crate::agents::tree::{Parent, Tree};
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key, session_key};
use crate::source::jsonl::RecordReader;
use crate::source::unescape;
use crate::tables::{MessageKind, MessageRow, Role, SessionKind};
use calls::Calls;

/// What is known of a session apart from its lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// Its id, whatever the header says.
    pub(crate) session_id: Option<String>,
    /// Its id where no header says one.
    pub(crate) fallback_id: String,
    pub(crate) title: Option<String>,
    pub(crate) is_subagent: bool,
    pub(crate) subagent_type: Option<String>,
    pub(crate) parent_session_id: Option<String>,
    pub(crate) root_session_id: Option<String>,
    pub(crate) forked_from: Option<String>,
    /// When it was forked: entries before it are copies. Microseconds since 1970.
    pub(crate) forked_at: Option<i64>,
    /// What OpenClaw calls a session that another started, where the one that did is not listed with it.
    pub(crate) key: Option<String>,
    /// Ids of sessions by the keys that OpenClaw calls them by.
    pub(crate) by_key: Arc<BTreeMap<String, String>>,
    /// Ids of the sessions that other agents' programs had for it, by the programs.
    pub(crate) programs: BTreeMap<&'static str, String>,
}

/// Entries that hold nothing for the tables.
const IGNORED: [&str; 10] = [
    "thinking_level_change",
    "service_tier_change",
    "custom",
    "label",
    "context_edit",
    "reset_boundary",
    "ttsr_injection",
    "credential_pin",
    "session_init",
    "mode_change",
];

/// Entries that set what holds below them, which may begin a tree of their own.
const SETTINGS: [&str; 2] = ["model_change", "thinking_level_change"];

/// Roles of messages that may.
const BEGINNINGS: [&str; 3] = ["user", "bashExecution", "pythonExecution"];

/// Reads the lines of one session into the sink.
pub(crate) struct Transcript<'o, 'a> {
    out: &'o mut Sink<'a>,
    dialect: &'static Dialect,
    known: Known,
    session_id: String,
    facts: Facts,
    has_header: bool,
    /// True if the file may have been written before entries had ids, so that they were given theirs later.
    was_linear: bool,
    /// Who sells the model that speaks, and its name.
    model: [Option<String>; 2],
    seq: i64,
    turn: Option<i64>,
    tree: Tree,
    /// Keys of entries at the root, or below such, with which nothing was said yet.
    unsaid_roots: KeySet,
    calls: Calls,
    /// Keys of all messages and responses so far.
    seen: KeySet,
    /// Names entries that have no id.
    prints: Prints,
    has_rows: bool,
}

/// An entry and its position.
struct Spot<'l, 'j> {
    entry: &'l Entry<'j>,
    number: u64,
    /// Id of the row: the entry's own, made unique over all sessions, and the same wherever the entry is copied to.
    id: String,
    timestamp: Option<i64>,
    /// True if the entry was copied from the session that this one is a fork of.
    weak: bool,
}

impl<'a> RecordReader<'a> for Transcript<'_, 'a> {
    type Record = Entry<'static>;
    const STARTS: &'static [&'static str] = &["{\"type\""];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.out
    }

    fn take(&mut self, entry: &Entry<'_>, number: u64) -> Result<(), Reject> {
        for field in &entry.unknown {
            self.out.unknown(&format!("field {field}"));
        }
        match entry.kind.get().unwrap_or_default() {
            "session" => {
                self.take_header(entry);
                Ok(())
            }
            "title" => {
                self.name(entry.title.get());
                Ok(())
            }
            kind => self.take_entry(kind, entry, number),
        }
    }
}

impl<'o, 'a> Transcript<'o, 'a> {
    pub(crate) fn new(dialect: &'static Dialect, known: Known, out: &'o mut Sink<'a>) -> Self {
        Self {
            out,
            dialect,
            session_id: known.session_id.clone().unwrap_or_else(|| known.fallback_id.clone()),
            known,
            facts: Facts::default(),
            has_header: false,
            was_linear: false,
            model: [None, None],
            seq: 0,
            turn: None,
            tree: Tree::default(),
            unsaid_roots: KeySet::default(),
            calls: Calls::default(),
            seen: KeySet::default(),
            prints: Prints::default(),
            has_rows: false,
        }
    }

    /// Says which session it is, where only the first of its lines does.
    pub(crate) fn call_session(&mut self, id: &str) {
        if !self.has_rows && self.known.session_id.is_none() {
            id.clone_into(&mut self.session_id);
            self.known.session_id = Some(id.to_owned());
        }
    }

    /// Takes the first header; an old defect wrote more than one.
    fn take_header(&mut self, header: &Entry<'_>) {
        if std::mem::replace(&mut self.has_header, true) {
            return;
        }
        if let (None, Some(id), false) = (&self.known.session_id, header.id.get(), self.has_rows) {
            id.clone_into(&mut self.session_id);
        }
        self.name(header.title.get());
        self.facts.project_path = header.cwd.owned();
        self.was_linear = header.provider.get().is_some();
        self.note_moment(header.timestamp.0);
        if let Some(origin) = header.parent_session.get() {
            self.known.forked_from = self.known.forked_from.take().or(Some(session_of_path(origin).to_owned()));
            self.known.forked_at = self.known.forked_at.or(header.timestamp.0);
        }
    }

    fn name(&mut self, title: Option<&str>) {
        if let Some(title) = title {
            self.facts.title = Some(title.to_owned());
        }
    }

    fn note_moment(&mut self, moment: Option<i64>) {
        keep_earlier(&mut self.facts.first_moment, moment);
    }

    fn take_entry(&mut self, kind: &str, entry: &Entry<'_>, number: u64) -> Result<(), Reject> {
        let message = entry.message.0.as_ref();
        let timestamp = entry.timestamp.0.or(message.and_then(|message| message.timestamp.0));
        let Some(id) = self.new_row_id(kind, entry, timestamp) else { return Ok(()) };
        self.note_moment(timestamp);
        let entry_key = entry.id.get().map(|id| self.entry_key(id));
        if kind == "leaf" {
            let target = entry.target.json().and_then(unescape).map(|id| self.entry_key(&id));
            self.tree.turn_to(entry_key, target);
            return Ok(());
        }
        let is_of_program = message.is_some_and(|message| {
            message.role.is("assistant")
                && (self.dialect.writer)(message, &self.known) == super::dialect::Writer::Program
        });
        self.add_to_tree(kind, entry, entry_key, is_of_program || entry.append_mode.is("side"));
        let weak = self.known.forked_at.is_some_and(|forked| timestamp.is_some_and(|moment| moment < forked));
        let spot = Spot { entry, number, id, timestamp, weak };
        match (kind, message) {
            ("message", Some(message)) => self.take_message(&spot, message),
            ("message", None) => {
                self.out.problem(number, "a message without content");
                Ok(())
            }
            ("compaction", _) => self.take_summary(&spot, MessageKind::Compaction),
            ("branch_summary", _) => self.take_summary(&spot, MessageKind::Summary),
            ("custom_message", _) => self.take_injected(&spot, &entry.content),
            ("usage", _) => self.bill_entry(&spot),
            ("session_info", _) => {
                self.name(entry.name.get());
                Ok(())
            }
            ("title_change", _) => {
                self.name(entry.title.get());
                Ok(())
            }
            ("model_change", _) => {
                self.set_model(entry.provider.get(), entry.model_id.get());
                Ok(())
            }
            ("custom", _) if entry.custom_type.is("model-snapshot") => {
                let snapshot: Snapshot<'_> =
                    entry.data.json().and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
                self.set_model(snapshot.provider.get(), snapshot.model.get());
                Ok(())
            }
            (kind, _) if IGNORED.contains(&kind) => Ok(()),
            (kind, _) => {
                self.out.unknown(&format!("record {kind}"));
                Ok(())
            }
        }
    }

    /// Adds an entry below its parent. Only what is said below a setting at the root leaves the branch before it.
    fn add_to_tree(&mut self, kind: &str, entry: &Entry<'_>, entry_key: Option<u64>, is_beside: bool) {
        let parent = self.parent_of(kind, entry);
        let is_unsaid = entry.message.0.is_none() && !matches!(kind, "compaction" | "branch_summary");
        let is_at_root = match &parent {
            Parent::Root => true,
            Parent::Entry(above) => self.unsaid_roots.contains(above),
            Parent::Before => false,
        };
        let begins = is_unsaid && is_at_root;
        if let Some(entry_key) = entry_key.filter(|_| begins) {
            self.unsaid_roots.insert(entry_key);
        }
        self.tree.add(entry_key, &parent, is_beside || begins, !matches!(kind, "label" | "custom"));
    }

    /// The entry's id with its moment, because eight digits are not unique, and forks copy both. Without an id (before
    /// version 2) the moments of entry and message take its place. None for an entry that is there already.
    fn new_row_id(&mut self, kind: &str, entry: &Entry<'_>, timestamp: Option<i64>) -> Option<String> {
        let id = match (entry.id.get(), timestamp) {
            (Some(id), Some(moment)) => at_moment(id, moment),
            (Some(id), None) => format!("{}#{id}", self.session_id),
            (None, Some(moment)) => {
                let id = nameless(kind, entry.message.0.as_ref(), moment);
                return match self.is_new(&id) {
                    true => Some(id),
                    false => (2..u64::MAX).map(|count| format!("{id}#{count}")).find(|id| self.is_new(id)),
                };
            }
            (None, None) => {
                let message = entry.message.0.as_ref();
                let contents = message.iter().map(|message| &message.content).chain([&entry.content]);
                let blocks = contents.flat_map(|content| &content.0).flat_map(|block| {
                    [block.text.get(), block.thinking.get(), block.id.get(), block.name.get(), block.arguments.json()]
                });
                let of_message =
                    message.map(|message| [message.call.get(), message.command.get(), message.output.get()]);
                let said = blocks.chain(of_message.into_iter().flatten()).chain([entry.summary.get()]).flatten();
                let role = message.and_then(|message| message.role.get()).unwrap_or(kind);
                format!("{}#{}", self.session_id, self.prints.name(role, None, said))
            }
        };
        self.is_new(&id).then_some(id)
    }

    fn is_new(&mut self, row_id: &str) -> bool {
        self.seen.insert(key(self.dialect.agent, Kind::Message, row_id))
    }

    fn entry_key(&self, id: &str) -> u64 {
        key(self.dialect.agent, Kind::Presence, id)
    }

    /// Notes the model that speaks from here on.
    fn set_model(&mut self, provider: Option<&str>, model: Option<&str>) {
        if model.is_some() && [provider, model] != [self.model[0].as_deref(), self.model[1].as_deref()] {
            self.model = [provider, model].map(|name| name.map(str::to_owned));
        }
    }

    /// Only what begins a conversation may be a root of its own; others without a parent were written beside the tree.
    fn parent_of(&self, kind: &str, entry: &Entry<'_>) -> Parent {
        match entry.parent.0.map(serde_json::value::RawValue::get) {
            Some("null") => {
                let message = entry.message.0.as_ref();
                let is_persons = message.is_some_and(|message| BEGINNINGS.iter().any(|role| message.role.is(role)));
                let is_root = is_persons || kind == "branch_summary" || SETTINGS.contains(&kind);
                if is_root { Parent::Root } else { Parent::Before }
            }
            Some(json) => unescape(json).map_or(Parent::Before, |id| Parent::Entry(self.entry_key(&id))),
            None => Parent::Before,
        }
    }

    /// A row with what every entry carries.
    fn blank_row<'r>(&self, spot: &'r Spot<'_, '_>) -> MessageRow<'r> {
        MessageRow {
            seq: self.seq,
            message_id: &spot.id,
            turn: self.turn,
            timestamp: spot.timestamp,
            role: Role::System,
            kind: MessageKind::Meta,
            source_line: i64::try_from(spot.number).ok(),
            ..MessageRow::default()
        }
    }

    fn push(&mut self, spot: &Spot<'_, '_>, row: MessageRow<'_>) -> Result<(), Reject> {
        self.seq += 1;
        self.has_rows = true;
        let parent_id = self.tree.row_above().map(Cow::Borrowed);
        let cwd = self.facts.project_path.as_deref();
        let row = MessageRow { session_id: &self.session_id, parent_id: parent_id.as_deref(), cwd, ..row };
        let place = self.out.message(row, spot.weak)?;
        self.tree.set_row(place, &spot.id);
        if let (true, Some(_), Some(moment)) = (self.was_linear, spot.entry.id.get(), spot.timestamp) {
            let message = spot.entry.message.0.as_ref();
            let id = nameless("message", message, moment);
            // What was read before the file was given ids stands for the same record.
            self.out.claim(key(self.dialect.agent, Kind::Message, &id), spot.weak);
            if message.is_some_and(|message| message.usage.0.is_some()) {
                self.out.claim(key(self.dialect.agent, Kind::Response, &id), spot.weak);
            }
        }
        Ok(())
    }

    fn begin_turn(&mut self) {
        self.turn = Some(self.turn.unwrap_or(0) + 1);
    }

    /// Completes the session.
    pub(crate) fn finish(mut self) -> Result<(), Reject> {
        self.push_open_calls()?;
        if !self.has_rows {
            self.out.discard_session();
            return Ok(());
        }
        self.out.claim(session_key(self.dialect.agent, &self.session_id), false);
        if let Some(key) = &self.known.key {
            self.out.claim(named_key(self.dialect.agent, key), false);
        }
        let abandoned = self.tree.abandoned_rows();
        self.out.abandon(&abandoned);
        let Known { title, is_subagent, subagent_type, parent_session_id, root_session_id, forked_from, .. } =
            self.known;
        self.out.end_session(Facts {
            kind: if is_subagent { SessionKind::Subagent } else { SessionKind::Session },
            title: self.facts.title.take().or(title),
            is_subagent,
            subagent_type,
            parent_session_id,
            root_session_id,
            forked_from_session_id: forked_from.filter(|origin| *origin != self.session_id),
            session_id: self.session_id,
            ..self.facts
        })
    }
}

/// The key of the fact that there is a session that OpenClaw calls so.
fn named_key(agent: &str, name: &str) -> u64 {
    key(agent, Kind::Presence, &format!("named:{name}"))
}

/// An id with a moment in milliseconds.
fn at_moment(id: &str, moment: i64) -> String {
    format!("{id}@{}", moment / 1000)
}

/// What stands for an entry without an id.
fn nameless(kind: &str, message: Option<&Message<'_>>, moment: i64) -> String {
    let role = message.and_then(|message| message.role.get()).unwrap_or(kind);
    match message.and_then(|message| message.timestamp.0) {
        Some(of_message) => format!("{role}@{}/{}", moment / 1000, of_message / 1000),
        None => at_moment(role, moment),
    }
}

/// The session that a transcript's path names: what follows the moment in `<moment>_<id>.jsonl`, or the whole stem.
pub(crate) fn session_of_path(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    session_of_stem(name.strip_suffix(".jsonl").unwrap_or(name))
}

/// As [`session_of_path`], of a file's or folder's name.
pub(crate) fn session_of_stem(stem: &str) -> &str {
    let named = stem.split_once('_').filter(|(moment, id)| looks_like_moment(moment) && !id.is_empty());
    named.map_or(stem, |(_, id)| id)
}

/// Returns true if a text has the form `2026-01-01T10-00-00-000Z`.
pub(crate) fn looks_like_moment(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 19
        && bytes.get(10) == Some(&b'T')
        && bytes.get(4) == Some(&b'-')
        && bytes.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'T' | b'Z' | b'.'))
}
