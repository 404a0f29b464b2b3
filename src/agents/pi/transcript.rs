//! One session: lines into messages, tool calls and billed responses.

mod calls;
mod messages;

use super::dialect::Dialect;
use super::known::Known;
use super::record::{Entry, Message, Snapshot};
use crate::agents::kit::facts::{keep_earlier, set};
use crate::agents::kit::thread::{Parents, Position, Thread};
use crate::agents::tree::Parent;
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key};
use crate::source::unescape;
use crate::tables::{MessageKind, MessageRow, SessionKind};

/// Entries that hold nothing for the tables.
const IGNORED: [&str; 9] = [
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
    thread: Thread,
    has_header: bool,
    /// True if the file may have been written before entries had ids, so that they got theirs later.
    was_linear: bool,
    /// The provider of the model that speaks, and the model's name.
    model: [Option<String>; 2],
    thinking_level: Option<String>,
    /// Keys of entries at the root, or below such, with which nothing was said yet.
    setting_roots: KeySet,
}

/// An entry and where it stands.
struct PlacedEntry<'l, 'j> {
    entry: &'l Entry<'j>,
    /// Has the entry's id, made unique over all sessions, and the same wherever the entry is copied to.
    at: Position<'l>,
}

impl<'a> RecordReader<'a> for Transcript<'_, 'a> {
    type Record = Entry<'static>;
    const STARTS: &'static [&'static str] = &["{\"type\""];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.out
    }

    fn take(&mut self, entry: &Entry<'_>, number: u64) -> Result<(), Reject> {
        self.out.unknown_fields("field ", &entry.unknown);
        match entry.kind.get().unwrap_or_default() {
            "session" => self.take_header(entry),
            "title" => self.name(entry.title.get()),
            kind => return self.take_entry(kind, entry, number),
        }
        Ok(())
    }
}

impl<'o, 'a> Transcript<'o, 'a> {
    pub(crate) fn new(dialect: &'static Dialect, known: Known, out: &'o mut Sink<'a>) -> Self {
        let session_id = known.session_id.as_ref().unwrap_or(&known.fallback_id).clone();
        let thread = Thread::new(Facts { session_id, ..Facts::default() }).with(Parents::Tree);
        let setting_roots = KeySet::default();
        Self {
            out,
            dialect,
            known,
            thread,
            has_header: false,
            was_linear: false,
            model: [None, None],
            thinking_level: None,
            setting_roots,
        }
    }

    /// Says which session it is, where only the first of its lines does.
    pub(crate) fn call_session(&mut self, id: &str) {
        if !self.thread.has_rows && self.known.session_id.is_none() {
            id.clone_into(&mut self.thread.facts.session_id);
            self.known.session_id = Some(id.to_owned());
        }
    }

    /// Takes the first header; an old defect wrote more than one.
    fn take_header(&mut self, header: &Entry<'_>) {
        if std::mem::replace(&mut self.has_header, true) {
            return;
        }
        if let (None, Some(id), false) = (&self.known.session_id, header.id.get(), self.thread.has_rows) {
            id.clone_into(&mut self.thread.facts.session_id);
        }
        self.name(header.title.get());
        set(&mut self.thinking_level, header.thinking_level.get());
        self.thread.cwd = header.cwd.owned();
        self.thread.facts.project_path = self.thread.cwd.clone();
        self.was_linear = header.provider.get().is_some();
        keep_earlier(&mut self.thread.facts.first_moment, header.timestamp.0);
        if let Some(origin) = header.parent_session.get() {
            self.known.forked_from = self.known.forked_from.take().or(Some(session_of_path(origin).to_owned()));
            self.known.forked_at = self.known.forked_at.or(header.timestamp.0);
        }
    }

    fn name(&mut self, title: Option<&str>) {
        set(&mut self.thread.facts.title, title);
    }

    fn take_entry(&mut self, kind: &str, entry: &Entry<'_>, number: u64) -> Result<(), Reject> {
        let message = entry.message.0.as_ref();
        let timestamp = entry.timestamp.0.or(message.and_then(|message| message.timestamp.0));
        let Some(id) = self.new_row_id(kind, entry, timestamp) else { return Ok(()) };
        keep_earlier(&mut self.thread.facts.first_moment, timestamp);
        let own_key = entry.id.get().map(entry_key);
        if kind == "leaf" {
            let target = entry.target.json().and_then(unescape).map(|id| entry_key(&id));
            self.thread.tree.turn_to(own_key, target);
            return Ok(());
        }
        let is_of_program = message.is_some_and(|message| {
            message.role.is("assistant")
                && (self.dialect.writer)(message, &self.known) == super::dialect::Writer::Program
        });
        self.add_to_tree(kind, entry, own_key, is_of_program || entry.append_mode.is("side"));
        let is_copy = self.known.forked_at.is_some_and(|forked| timestamp.is_some_and(|moment| moment < forked));
        let placed = PlacedEntry { entry, at: Position { is_copy, ..Position::on_line(&id, timestamp, number) } };
        match (kind, message) {
            ("message", Some(message)) => return self.take_message(&placed, message),
            ("message", None) => self.out.problem(number, "a message without content"),
            ("compaction", _) => return self.take_summary(&placed, MessageKind::Compaction),
            ("branch_summary", _) => return self.take_summary(&placed, MessageKind::Summary),
            ("custom_message", _) => return self.take_injected(&placed, &entry.content),
            ("usage", _) => return self.bill_entry(&placed),
            ("session_info", _) => self.name(entry.name.get()),
            ("title_change", _) => self.name(entry.title.get()),
            ("thinking_level_change", _) => set(&mut self.thinking_level, entry.thinking_level.get()),
            ("model_change", _) => self.set_model(entry.provider.get(), entry.model_id.get()),
            ("custom", _) if entry.custom_type.is("model-snapshot") => {
                let snapshot: Snapshot<'_> =
                    entry.data.json().and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
                self.set_model(snapshot.provider.get(), snapshot.model.get());
            }
            (kind, _) if IGNORED.contains(&kind) => {}
            (kind, _) => self.out.unknown(&format!("record {kind}")),
        }
        Ok(())
    }

    /// Adds an entry below its parent. Only what is said below a setting at the root leaves the branch before it.
    fn add_to_tree(&mut self, kind: &str, entry: &Entry<'_>, entry_key: Option<u64>, is_beside: bool) {
        let parent = Self::parent_of(kind, entry);
        let is_setting = entry.message.0.is_none() && !matches!(kind, "compaction" | "branch_summary");
        let is_at_root = match &parent {
            Parent::Root => true,
            Parent::Entry(above) => self.setting_roots.contains(above),
            Parent::Before => false,
        };
        let begins = is_setting && is_at_root;
        if let Some(entry_key) = entry_key.filter(|_| begins) {
            self.setting_roots.insert(entry_key);
        }
        self.thread.tree.add(entry_key, &parent, is_beside || begins, !matches!(kind, "label" | "custom"));
    }

    /// The entry's id with its moment, because eight digits are not unique, and forks copy both. Without an id (before
    /// version 2) the moments of entry and message take its place. None for an entry that is there already.
    fn new_row_id(&mut self, kind: &str, entry: &Entry<'_>, timestamp: Option<i64>) -> Option<String> {
        let id = match (entry.id.get(), timestamp) {
            (Some(id), Some(moment)) => at_moment(id, moment),
            (Some(id), None) => format!("{}#{id}", self.thread.id()),
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
                let texts = blocks.chain(of_message.into_iter().flatten()).chain([entry.summary.get()]).flatten();
                let role = message.and_then(|message| message.role.get()).unwrap_or(kind);
                self.thread.print(role, None, texts)
            }
        };
        self.is_new(&id).then_some(id)
    }

    fn is_new(&mut self, row_id: &str) -> bool {
        self.thread.is_new(Kind::Message, row_id)
    }

    /// Notes the model that speaks from here on.
    fn set_model(&mut self, provider: Option<&str>, model: Option<&str>) {
        if model.is_some() && [provider, model] != [self.model[0].as_deref(), self.model[1].as_deref()] {
            self.model = [provider, model].map(|name| name.map(str::to_owned));
        }
    }

    /// Only what begins a conversation may be a root of its own; others without a parent were written outside the tree.
    fn parent_of(kind: &str, entry: &Entry<'_>) -> Parent {
        match entry.parent.0.map(serde_json::value::RawValue::get) {
            Some("null") => {
                let message = entry.message.0.as_ref();
                let is_persons = message.is_some_and(|message| BEGINNINGS.iter().any(|role| message.role.is(role)));
                let is_root = is_persons || kind == "branch_summary" || SETTINGS.contains(&kind);
                if is_root { Parent::Root } else { Parent::Before }
            }
            Some(json) => unescape(json).map_or(Parent::Before, |id| Parent::Entry(entry_key(&id))),
            None => Parent::Before,
        }
    }

    fn push(&mut self, placed: &PlacedEntry<'_, '_>, row: MessageRow<'_>) -> Result<(), Reject> {
        self.thread.push(&placed.at, row, self.out)?;
        if let (true, Some(_), Some(moment)) = (self.was_linear, placed.entry.id.get(), placed.at.moment) {
            let message = placed.entry.message.0.as_ref();
            let id = nameless("message", message, moment);
            let agent = self.out.agent();
            // Rows that were read before the file got its ids are the same record.
            self.out.claim(key(agent, Kind::Message, &id), placed.at.is_copy);
            if message.is_some_and(|message| message.usage.0.is_some()) {
                self.out.claim(key(agent, Kind::Response, &id), placed.at.is_copy);
            }
        }
        Ok(())
    }

    /// Completes the session.
    pub(crate) fn finish(mut self) -> Result<(), Reject> {
        let Known { title, is_subagent, subagent_type, parent_session_id, root_session_id, forked_from, key, .. } =
            self.known;
        if let Some(key) = key.filter(|_| self.thread.has_rows) {
            self.out.claim(named_key(self.out.agent(), &key), false);
        }
        let facts = self.thread.facts;
        self.thread.facts = Facts {
            kind: if is_subagent { SessionKind::Subagent } else { SessionKind::Session },
            title: facts.title.or(title),
            is_subagent,
            subagent_type,
            parent_session_id,
            root_session_id,
            forked_from_session_id: forked_from.filter(|origin| *origin != facts.session_id),
            ..facts
        };
        self.thread.finish(self.out)
    }
}

/// The key of an entry in its session.
fn entry_key(id: &str) -> u64 {
    key("", Kind::Presence, id)
}

/// The key of the fact that there is a session that OpenClaw calls so.
fn named_key(agent: &str, name: &str) -> u64 {
    key(agent, Kind::Presence, &format!("named:{name}"))
}

/// An id with a moment in milliseconds.
fn at_moment(id: &str, moment: i64) -> String {
    format!("{id}@{}", moment / 1000)
}

/// Returns a name for an entry without an id.
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

/// True if a text has the form `2026-01-01T10-00-00-000Z`.
pub(crate) fn looks_like_moment(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 19
        && bytes.get(10) == Some(&b'T')
        && bytes.get(4) == Some(&b'-')
        && bytes.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'T' | b'Z' | b'.'))
}
