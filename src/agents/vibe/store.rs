//! A session of 3.0: a store with a snapshot after each turn, and journals of what happened since. The program keeps the
//! journals of the last two turns only; the history and the sums over the session are complete.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use walkdir::WalkDir;

use super::meta::Meta;
use super::stored_key;
use super::tools::call;
use crate::agents::ids::qualified;
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::agents::kit::values::At;
use crate::agents::total_id;
use crate::extract::jsonl::each_record;
use crate::extract::{Facts, Kind, Reject, Sink};
use crate::source::records::{List, Moment, Number, Object, Raw, Text, TokenNumber, record};
use crate::source::{Source, repair};
use crate::tables::{MessageKind, MessageRow, Role, Status, UsageGrain, UsageRow};

/// Most bytes of a history that are held.
const MOST_HELD: usize = 64 << 20;

/// Returns the files of a store apart from `CURRENT`: description, snapshots, chunks and journals.
pub(super) fn files(current: &Path) -> Vec<PathBuf> {
    let folder = current.parent().unwrap_or(Path::new(""));
    let entries = WalkDir::new(folder).max_depth(3).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_file() && entry.path() != current);
    files.map(walkdir::DirEntry::into_path).collect()
}

/// Returns the journals of a store.
fn journal(current: &Path) -> Vec<PathBuf> {
    let folder = current.with_file_name("journal");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let segments = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut segments: Vec<PathBuf> = segments.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
    segments.sort_unstable();
    segments
}

/// Reads a session.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(bytes) = source.document()?.filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
    out.line();
    let Ok(current) = serde_json::from_str::<Value>(&repair(&bytes)) else {
        out.problem(1, "no JSON object");
        return Ok(());
    };
    let folder = source.path.parent().unwrap_or(Path::new(""));
    let mut store = Store::default();
    match current.text_at("/generation").filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(generation) => store.read_snapshot(source, folder, generation, out),
        None => out.problem(1, "the snapshot is not named"),
    }
    store.snapshot = current.whole_at("/snapshot_sequence").unwrap_or(0);
    for segment in journal(source.path) {
        let Some(mut lines) = source.beside(&segment) else { continue };
        each_record::<Line<'static>>(&mut lines, out, |line, _, _| store.take(line))?;
    }
    let named = folder.file_name().and_then(|name| name.to_str());
    let id = current.text_at("/session_id").or(named).unwrap_or_default();
    let meta = Meta::beside(source, folder);
    store.push(id, &meta, out)
}

record! {
    /// A line of a journal.
    Line<'a> {
        sequence: Number = "sequence",
        kind: Text<'a> = "type",
        payload: Object<Payload<'a>> = "payload",
    }

    /// The content of an event.
    Payload<'a> {
        action: Text<'a> = "action_id",
        kind: Text<'a> = "kind",
        request: Object<Request<'a>> = "request",
        result: Object<Outer<'a>> = "result",
        input: Object<Input<'a>> = "input",
        delta: List<Object<Change<'a>>> = "delta",
    }

    /// A request.
    Request<'a> { turn: Text<'a> = "turn_id", purpose: Text<'a> = "purpose" }

    /// An action that ended.
    Outer<'a> { result: Object<Answer<'a>> = "result" }

    /// An answer of the model.
    Answer<'a> { stop: Text<'a> = "finish_reason", usage: Object<Tokens<'a>> = "usage" }

    /// Tokens of an answer. The input includes what a cache held.
    Tokens<'a> {
        input: TokenNumber = "input_tokens",
        cached: TokenNumber = "cached_input_tokens",
        output: TokenNumber = "output_tokens",
    }

    /// An input of the core.
    Input<'a> { command: Object<Command<'a>> = "command", clock: Object<Clock<'a>> = "determinism" }

    /// A command to the core.
    Command<'a> { action: Text<'a> = "action_id" }

    /// The time of a command.
    Clock<'a> { moment: Moment = "time_unix_ms" }

    /// A change of the history.
    Change<'a> {
        op: Text<'a> = "op",
        id: Text<'a> = "id",
        entry: Raw<'a> = "entry",
        entries: Raw<'a> = "entries",
        state: Raw<'a> = "state",
    }
}

/// An answer that was billed.
#[derive(Default)]
struct Billed {
    turn: Option<String>,
    is_compaction: bool,
    asked: Option<i64>,
    answered: Option<i64>,
    stop: Option<String>,
    input: Option<i64>,
    cached: Option<i64>,
    output: Option<i64>,
}

impl Billed {
    fn duration_ms(&self) -> Option<i64> {
        self.answered.zip(self.asked).map(|(end, start)| (end - start) / 1000)
    }
}

/// The entries of a history, and the place of each by its id.
#[derive(Default)]
struct History {
    entries: Vec<Option<Value>>,
    places: BTreeMap<String, usize>,
}

impl History {
    fn extend(&mut self, entries: impl IntoIterator<Item = Value>) {
        for entry in entries {
            if let Some(id) = entry.text_at("/id") {
                self.places.insert(id.to_owned(), self.entries.len());
            }
            self.entries.push(Some(entry));
        }
    }

    fn get(&mut self, id: &str) -> Option<&mut Option<Value>> {
        self.entries.get_mut(*self.places.get(id)?)
    }
}

/// The content of a store.
#[derive(Default)]
struct Store {
    /// Sequence of the last line that the snapshot includes.
    snapshot: i64,
    history: History,
    /// Everything but the history.
    state: Value,
    runtime: Value,
    /// Bytes of the changes since the snapshot.
    held: usize,
    /// The time of the last command to the core.
    now: Option<i64>,
    /// Calls of the model, by their actions' ids: when they began, in which turn, and whether for a compaction.
    asked: BTreeMap<String, (Option<i64>, Option<String>, bool)>,
    /// Answers by their actions' ids.
    billed: BTreeMap<String, Billed>,
}

impl Store {
    fn read_snapshot(&mut self, source: &Source<'_>, folder: &Path, generation: &str, out: &mut Sink<'_>) {
        let generation = folder.join("generations").join(generation);
        let mut read = |path: &Path| {
            let bytes = source.sidecar(path)?;
            let value = serde_json::from_str::<Value>(&repair(&bytes));
            if value.is_err() {
                out.line();
                out.problem(1, "a file of the snapshot that is no JSON");
            }
            value.ok().map(|value| (value, bytes.len()))
        };
        let Some((manifest, _)) = read(&generation.join("manifest.json")) else { return };
        // A path is the name of a file in the folder.
        let file = |key: &str| manifest.text_at(&format!("/{key}/path")).filter(|name| !name.contains(['/', '\\']));
        self.runtime = file("runtime_state").and_then(|name| read(&generation.join(name))).unwrap_or_default().0;
        let projection = file("projection_state").and_then(|name| read(&generation.join(name))).unwrap_or_default().0;
        self.state = projection.at("/snapshot").cloned().unwrap_or_default();
        self.history.extend(self.state.items_at("/history/entries").to_vec());
        let mut held = 0;
        for chunk in manifest.items_at("/projection_state/chunks").iter().filter_map(Value::as_str) {
            let is_hash = chunk.bytes().all(|byte| byte.is_ascii_hexdigit());
            let path = folder.join("chunks").join(format!("{chunk}.json"));
            let Some((Value::Array(entries), bytes)) = Some(path).filter(|_| is_hash).and_then(|path| read(&path))
            else {
                continue;
            };
            held += bytes;
            if held <= MOST_HELD {
                self.history.extend(entries);
            }
        }
        if held > MOST_HELD {
            out.problem(1, "a history of more than 64 MiB is read in part");
        }
    }

    fn take(&mut self, line: &Line<'_>) {
        let Some(payload) = &line.payload.0 else { return };
        match line.kind.get() {
            Some("core_input") => {
                let Some(input) = &payload.input.0 else { return };
                self.now = input.clock.0.as_ref().and_then(|clock| clock.moment.0).or(self.now);
                let action = input.command.0.as_ref().and_then(|command| command.action.get());
                if let Some(billed) = action.and_then(|action| self.billed.get_mut(action)) {
                    billed.answered = billed.answered.or(self.now);
                }
            }
            Some("action_intent") if payload.kind.is("completion") => {
                let request = payload.request.0.as_ref();
                let turn = request.and_then(|request| request.turn.owned());
                let is_compaction = request.is_some_and(|request| request.purpose.is("compaction"));
                if let Some(action) = payload.action.owned() {
                    self.asked.insert(action, (self.now, turn, is_compaction));
                }
            }
            Some("action_result") => self.take_result(payload),
            Some("projection_delta" | "session_relocated") if line.sequence.0 > Some(self.snapshot) => {
                for change in payload.delta.0.iter().filter_map(|change| change.0.as_ref()) {
                    self.change(change);
                }
            }
            _ => {}
        }
    }

    fn take_result(&mut self, payload: &Payload<'_>) {
        let answer = payload.result.0.as_ref().and_then(|outer| outer.result.0.as_ref());
        let Some((action, answer)) = payload.action.get().zip(answer) else { return };
        let Some(usage) = &answer.usage.0 else { return };
        let (asked, turn, is_compaction) = self.asked.get(action).cloned().unwrap_or_default();
        let billed = Billed {
            turn,
            is_compaction,
            asked,
            answered: None,
            stop: answer.stop.owned(),
            input: usage.input.0,
            cached: usage.cached.0,
            output: usage.output.0,
        };
        self.billed.entry(action.to_owned()).or_insert(billed);
    }

    /// Applies a change of the history since the snapshot.
    fn change(&mut self, change: &Change<'_>) {
        self.held +=
            [change.entry, change.entries, change.state].iter().filter_map(Raw::json).map(str::len).sum::<usize>();
        if self.held > MOST_HELD {
            return;
        }
        let value = |raw: Raw<'_>| raw.json().and_then(|json| serde_json::from_str::<Value>(json).ok());
        match (change.op.get(), change.id.get()) {
            (Some("append_entry"), _) => self.history.extend(value(change.entry)),
            (Some("replace_entry"), Some(id)) => {
                if let Some((place, entry)) = self.history.get(id).zip(value(change.entry)) {
                    *place = Some(entry);
                }
            }
            (Some("remove_entry"), Some(id)) => {
                if let Some(place) = self.history.get(id) {
                    *place = None;
                }
            }
            (Some("set_envelope"), _) => self.state = value(change.state).unwrap_or_default(),
            (Some("set_history_entries"), _) => {
                if let Some(Value::Array(entries)) = value(change.entries) {
                    self.history = History::default();
                    self.history.extend(entries);
                }
            }
            _ => {}
        }
    }

    fn facts(&self, id: &str, meta: &Meta) -> Facts {
        let text = |pointer: &str| self.state.text_at(pointer).map(str::to_owned);
        let noted = |pointer: &str| self.runtime.text_at(pointer).map(str::to_owned);
        let facts = meta.facts(id);
        let parent = text("/session/parentSessionId").or_else(|| noted("/session_metadata/parent_session_id"));
        let facts = Facts {
            project_path: noted("/session_metadata/cwd").or(facts.project_path),
            title: facts.title.or_else(|| text("/session/title")),
            first_moment: self.state.moment_at("/session/createdAt").or(facts.first_moment),
            ..facts
        };
        if self.runtime.text_at("/identity/kind") != Some("subagent") {
            return Facts { forked_from_session_id: parent, ..facts };
        }
        let root = text("/session/rootSessionId").or_else(|| noted("/session_metadata/root_session_id"));
        let kind = noted("/session_metadata/agent_name");
        Facts { root_session_id: root, ..Meta::facts_of_subagent(facts, parent, kind) }
    }

    /// Adds the history, with the compactions at their times, and how the last turn ended.
    fn read_history(&self, reader: &mut Reader<'_, '_, '_>) -> Result<(), Reject> {
        let compactions = self.billed.iter().filter(|(_, billed)| billed.is_compaction && billed.answered.is_some());
        let mut compactions: Vec<(&String, &Billed)> = compactions.collect();
        compactions.sort_by_key(|(_, billed)| std::cmp::Reverse(billed.answered));
        for entry in self.history.entries.iter().flatten() {
            let moment = entry.moment_at("/createdAt");
            while let Some((action, billed)) = compactions.pop_if(|(_, billed)| billed.answered < moment) {
                reader.push_compaction(action, billed)?;
            }
            reader.take(entry, &self.billed)?;
        }
        reader.push_reasoning(&self.billed)?;
        for (action, billed) in compactions.into_iter().rev() {
            reader.push_compaction(action, billed)?;
        }
        reader.take_end(&self.state)
    }

    fn push(self, id: &str, meta: &Meta, out: &mut Sink<'_>) -> Result<(), Reject> {
        let thread = Thread::new(self.facts(id, meta));
        let (model, provider) = meta.model();
        let effort = self.runtime.text_at("/session_metadata/reasoning_effort");
        let mut reader = Reader { out, thread, model, reasoning: BTreeMap::new(), turns: BTreeMap::new() };
        self.read_history(&mut reader)?;
        for (action, billed) in &self.billed {
            let message = format!("assistant-{action}");
            let message = qualified(id, &message);
            let response = qualified(id, action);
            let cached = billed.cached.map(|cached| cached.min(billed.input.unwrap_or(0)));
            let turn = billed.turn.as_ref().and_then(|turn| reader.turns.get(turn).copied());
            let row = UsageRow {
                response_id: &response,
                message_id: Some(&*message).filter(|message| reader.thread.has(Kind::Message, message)),
                turn: turn.or(reader.thread.turn),
                timestamp: billed.asked.or(billed.answered),
                duration_ms: billed.duration_ms(),
                model,
                provider,
                reasoning_effort: effort,
                stop_reason: billed.stop.as_deref(),
                input_tokens: billed.input.map(|input| input - cached.unwrap_or(0)),
                cache_read_tokens: cached,
                output_tokens: billed.output,
                ..UsageRow::default()
            };
            reader.thread.bill(&Position::default(), row, reader.thread.last_seq(), reader.out)?;
        }
        let total = |key: &str| self.state.count_at(&format!("/session/tokenUsage/{key}"));
        let [input, output] = ["inputTokens", "outputTokens"].map(|key| total(key).unwrap_or(0));
        let sum = |tokens: fn(&Billed) -> Option<i64>| -> i64 {
            self.billed.values().filter_map(tokens).fold(0, i64::saturating_add)
        };
        let is_more = input > sum(|billed| billed.input) || output > sum(|billed| billed.output);
        if is_more && reader.thread.has_rows {
            let cached = total("cachedInputTokens").map(|cached| cached.min(input));
            let id = total_id(id);
            let row = UsageRow {
                response_id: &id,
                grain: UsageGrain::Session,
                timestamp: self.state.moment_at("/session/updatedAt"),
                model,
                provider,
                input_tokens: Some(input - cached.unwrap_or(0)),
                cache_read_tokens: cached,
                output_tokens: Some(output),
                ..UsageRow::default()
            };
            reader.thread.bill(&Position::default(), row, reader.thread.last_seq(), reader.out)?;
        }
        if reader.thread.has_rows {
            reader.out.claim(stored_key(id), false);
        }
        reader.thread.finish(reader.out)
    }
}

struct Reader<'o, 's, 'm> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    model: Option<&'m str>,
    /// Thoughts whose answer has not come, by their actions' ids.
    reasoning: BTreeMap<String, String>,
    /// The number of each turn, by its id.
    turns: BTreeMap<String, i64>,
}

impl Reader<'_, '_, '_> {
    fn take(&mut self, entry: &Value, billed: &BTreeMap<String, Billed>) -> Result<(), Reject> {
        let id = entry.text_at("/id").unwrap_or_default();
        let moment = entry.moment_at("/createdAt");
        match (entry.text_at("/type"), entry.text_at("/role")) {
            (Some("message"), Some("user")) => {
                self.push_reasoning(billed)?;
                self.take_prompt(entry, id, moment)
            }
            (Some("message"), Some("assistant")) => {
                let action = id.strip_prefix("assistant-").unwrap_or(id);
                let thinking = self.reasoning.remove(action);
                self.push_reasoning(billed)?;
                self.push_reply(action, moment, text_of(entry, "/content").as_deref(), thinking.as_deref(), billed)
            }
            (Some("reasoning"), _) => {
                let action = id.strip_prefix("reasoning-").and_then(|id| id.rsplit_once('-')).map_or(id, |(it, _)| it);
                let text = entry.text_at("/text").map(Cow::Borrowed).or_else(|| text_of(entry, "/summary"));
                if let Some(text) = text {
                    crate::agents::kit::texts::add_line(self.reasoning.entry(action.to_owned()).or_default(), &text);
                }
                Ok(())
            }
            (Some("effect"), _) => {
                self.push_reasoning(billed)?;
                self.take_effect(entry, id, moment)
            }
            (kind, _) => {
                self.out.unknown(&format!("entry {}", kind.unwrap_or_default()));
                Ok(())
            }
        }
    }

    fn take_prompt(&mut self, entry: &Value, id: &str, moment: Option<i64>) -> Result<(), Reject> {
        let id = qualified(self.thread.id(), id).into_owned();
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        let is_typed = entry.text_at("/source") != Some("harness");
        if is_typed {
            self.thread.begin_turn();
        }
        if let Some((id, turn)) = entry.text_at("/turnId").filter(|_| is_typed).zip(self.thread.turn) {
            self.turns.insert(id.to_owned(), turn);
        }
        let others = entry.items_at("/content").iter().filter(|block| block.text_at("/type") != Some("text")).count();
        let kind = if is_typed { MessageKind::Prompt } else { MessageKind::Meta };
        let text = text_of(entry, "/content");
        let attachments = i64::try_from(others).unwrap_or(0);
        let row = MessageRow { text: text.as_deref(), attachments, ..blank(Role::User, kind) };
        self.thread.message(&Position::new(&id, moment), row, self.out).map(drop)
    }

    /// Adds the thoughts of answers that only called tools: these have no entry of their own.
    fn push_reasoning(&mut self, billed: &BTreeMap<String, Billed>) -> Result<(), Reject> {
        for (action, thinking) in std::mem::take(&mut self.reasoning) {
            self.push_reply(&action, None, None, Some(&thinking), billed)?;
        }
        Ok(())
    }

    fn push_reply(
        &mut self,
        action: &str,
        moment: Option<i64>,
        text: Option<&str>,
        thinking: Option<&str>,
        billed: &BTreeMap<String, Billed>,
    ) -> Result<(), Reject> {
        let id = qualified(self.thread.id(), &format!("assistant-{action}")).into_owned();
        let response = qualified(self.thread.id(), action).into_owned();
        let answer = billed.get(action);
        let row = MessageRow {
            text,
            thinking,
            model: self.model,
            response_id: answer.map(|_| response.as_str()),
            stop_reason: answer.and_then(|answer| answer.stop.as_deref()),
            ..blank(Role::Assistant, MessageKind::Reply)
        };
        let moment = moment.or_else(|| answer?.answered);
        self.thread.message(&Position::new(&id, moment), row, self.out).map(drop)
    }

    /// Adds a compaction: the history has no entry of it.
    fn push_compaction(&mut self, action: &str, billed: &Billed) -> Result<(), Reject> {
        let id = qualified(self.thread.id(), &format!("assistant-{action}")).into_owned();
        let response = qualified(self.thread.id(), action).into_owned();
        let row = MessageRow {
            model: self.model,
            response_id: Some(&response),
            stop_reason: billed.stop.as_deref(),
            duration_ms: billed.duration_ms(),
            ..blank(Role::System, MessageKind::Compaction)
        };
        self.thread.message(&Position::new(&id, billed.answered), row, self.out).map(drop)
    }

    /// Adds a tool call, named by its entry: the model's name of it is only in the journal.
    fn take_effect(&mut self, entry: &Value, id: &str, moment: Option<i64>) -> Result<(), Reject> {
        let id = qualified(self.thread.id(), id).into_owned();
        if !self.thread.is_new(Kind::ToolCall, &id) {
            return Ok(());
        }
        let name = entry.text_at("/detail/toolName").or_else(|| entry.text_at("/title")).unwrap_or("unknown");
        let name = name.rsplit_once('.').map_or(name, |(_, name)| name);
        let input = entry.at("/detail/input").map(Value::to_string);
        let call = Call {
            id,
            message_id: self.thread.last_reply().map(str::to_owned),
            started_at: moment,
            ..call(name, input.as_deref())
        };
        let call = self.thread.number_call(&Position::default(), call);
        let end = outcome(entry, entry.moment_at("/updatedAt"));
        self.thread.close_call(&call, &end, self.out)
    }

    /// Adds how the last turn ended, if not well.
    fn take_end(&mut self, state: &Value) -> Result<(), Reject> {
        let kind = match state.text_at("/latestTurn/status") {
            Some("interrupted") => MessageKind::Abort,
            Some("failed") => MessageKind::ApiError,
            _ => return Ok(()),
        };
        let Some(turn) = state.text_at("/latestTurn/id") else { return Ok(()) };
        let id = format!("{}:end", qualified(self.thread.id(), turn));
        let text = state.text_at("/latestTurn/error/message").or_else(|| state.text_at("/latestTurn/stopReason"));
        let is_error = kind == MessageKind::ApiError;
        let row = MessageRow { text, is_error, ..blank(Role::System, kind) };
        let at = Position::new(&id, state.moment_at("/latestTurn/completedAt"));
        self.thread.message(&at, row, self.out).map(drop)
    }
}

/// Returns the outcome of a call, by the state of its entry. A command that failed is a success for the program.
fn outcome(entry: &Value, ended_at: Option<i64>) -> Outcome<'_> {
    let state = |key: &str| entry.text_at(&format!("/state/{key}"));
    let exit_code = entry.at("/state/output/structured_content/returncode").and_then(Value::as_i64);
    let is_failure = state("output/type") == Some("failure") || exit_code.is_some_and(|code| code != 0);
    let status = match state("status") {
        Some("running" | "in_progress") | None => return Outcome::default(),
        Some("skipped") => Status::Rejected,
        Some("cancelled") => Status::Interrupted,
        Some("failed") => Status::Error,
        _ if state("decision").is_some_and(|decision| decision != "execute") => Status::Rejected,
        _ if is_failure => Status::Error,
        _ => Status::Ok,
    };
    let shown = state("outputText").map(Cow::Borrowed).or_else(|| text_of(entry, "/state/output/content"));
    let text = shown.or_else(|| state("error/message").or(state("reason")).map(Cow::Borrowed));
    Outcome { status, exit_code, output: text, ended_at, ..Outcome::default() }
}

/// The texts of a list of blocks.
fn text_of<'v>(entry: &'v Value, pointer: &str) -> Option<Cow<'v, str>> {
    let texts = entry.items_at(pointer).iter().filter_map(|block| block.as_str().or_else(|| block.text_at("/text")));
    join(texts.map(Cow::Borrowed))
}
