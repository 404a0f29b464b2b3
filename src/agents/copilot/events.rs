//! One events file: a session, and the subagents that ran in it.

use std::borrow::Cow;
use std::path::Path;

use super::call::Settings;
use super::record::{AssistantMessage, Checkpoint, Compaction, Context, Event, Model, Notice, Permission, Shutdown};
use super::record::{Start, Subagent, ToolComplete, ToolStart, UsageRecord, UserMessage};
use super::thread::Thread;
use super::transcript::{EventHead, Place, Transcript};
use super::{AGENT, EVENTS, number_of_partition, other_partitions, sidecars};
use crate::agents::ids::is_uuid;
use crate::agents::kit::facts::{keep_earlier, set};
use crate::extract::jsonl::{Broken, RecordReader};
use crate::extract::{Facts, Kind, Reject, Sink, key, session_key};
use crate::source::records::Shape;
use crate::source::{Source, repair};
use crate::tables::SessionKind;

/// Events that hold nothing for the tables.
const IGNORED_EVENTS: [&str; 28] = [
    "user.message_rendered",
    "hook.start",
    "hook.end",
    "hook.progress",
    "assistant.turn_start",
    "assistant.turn_end",
    "assistant.reasoning",
    "assistant.idle",
    "session.mode_changed",
    "session.mode_notice_delivered",
    "session.plan_changed",
    "session.todos_changed",
    "session.workspace_file_changed",
    "session.permissions_changed",
    "session.session_limits_changed",
    "session.remote_steerable_changed",
    "session.binary_asset",
    "session.truncation",
    "session.compaction_start",
    "session.task_complete",
    "session.completion_receipt",
    "session.import_legacy",
    "skill.invoked",
    "subagent.selected",
    "subagent.deselected",
    "subagent.configured",
    "tool_search.activated",
    "sandbox.decision",
];

/// Families of events that hold nothing for the tables.
const IGNORED_FAMILIES: [&str; 5] = ["session.schedule_", "session.canvas.", "external_tool.", "factory.", "model."];

/// Reads an events file into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let sidecar_facts = sidecars::read(source);
    let mut transcript = Transcript::new(session_by_place(source.path), out);
    transcript.read_all(&mut source.lines()?)?;
    if number_of_partition(source.path).is_some() {
        for path in other_partitions(source.path) {
            if let Some(mut partition) = source.beside(&path) {
                transcript.read_all(&mut partition.lines()?)?;
            }
        }
    }
    transcript.finish(sidecar_facts)
}

/// Returns the session that a file's place names: its folder's name or its own.
fn session_by_place(path: &Path) -> Place {
    let name = |path: Option<&Path>| path.and_then(Path::file_name).and_then(|name| name.to_str()).map(str::to_owned);
    let has_folder = path.file_name().is_some_and(|name| name == EVENTS) || number_of_partition(path).is_some();
    let named = if has_folder { path.parent() } else { Some(path) };
    let above = name(named.and_then(Path::parent));
    let is_sure = matches!(above.as_deref(), Some("session-state" | "sessions" | "jb"));
    let session =
        if has_folder { name(named) } else { path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned) };
    let is_sure = is_sure || (!has_folder && session.as_deref().is_some_and(is_uuid));
    Place { session: session.unwrap_or_else(|| "unknown".to_owned()), is_sure }
}

impl<'a> RecordReader<'a> for Transcript<'_, 'a> {
    type Record = Event<'static>;
    const STARTS: &'static [&'static str] = &["{\"type\":", "{\"id\":"];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.out
    }

    /// Some versions wrote line ends in texts without escapes.
    fn broken(&mut self) -> Option<&mut Broken> {
        Some(&mut self.broken)
    }

    fn take(&mut self, event: &Event<'_>, number: u64) -> Result<(), Reject> {
        let kind = event.kind.get().unwrap_or_default();
        if IGNORED_EVENTS.contains(&kind) || IGNORED_FAMILIES.iter().any(|family| kind.starts_with(family)) {
            self.ledger.note_moment(event.timestamp.0);
            return Ok(());
        }
        self.out.unknown_fields("field ", &event.unknown);
        let line = i64::try_from(number).unwrap_or(i64::MAX);
        let id = match event.id.get() {
            Some(id) => Cow::Borrowed(id),
            None => {
                let parts = [event.agent.get(), event.data.json()].into_iter().flatten();
                Cow::Owned(format!("{}#{}", self.session, self.prints.name(kind, event.timestamp.0, parts)))
            }
        };
        let id = &*id;
        if !self.seen.insert(key(AGENT, Kind::Message, id)) {
            return Ok(());
        }
        let head = EventHead { id, line, timestamp: event.timestamp.0, agent: event.agent.get(), kind };
        self.note_moment(&head);
        let read = self.take_event(&head, event.data.json().unwrap_or("{}"))?;
        if !read {
            self.out.problem(number, "the event's data cannot be read");
        }
        Ok(())
    }
}

impl Transcript<'_, '_> {
    /// Takes an event by its type. Returns false if its data cannot be read.
    fn take_event(&mut self, head: &EventHead<'_>, data: &str) -> Result<bool, Reject> {
        let read = match head.kind {
            "session.start" | "session.resume" => with::<Start<'static>>(data, |start| self.take_start(head, start)),
            "session.context_changed" => with::<Context<'static>>(data, |context| {
                self.note_context(context);
                Ok(())
            }),
            "session.model_change" | "session.auto_mode_resolved" => with::<Model<'static>>(data, |model| {
                self.note_model(head, model);
                Ok(())
            }),
            "user.message" => with::<UserMessage<'static>>(data, |message| self.take_user(head, message)),
            "assistant.message" => {
                with::<AssistantMessage<'static>>(data, |message| self.take_assistant(head, message))
            }
            "tool.execution_start" | "tool.user_requested" => {
                with::<ToolStart<'static>>(data, |start| self.take_tool_start(head, start))
            }
            "tool.execution_complete" => {
                with::<ToolComplete<'static>>(data, |complete| self.take_tool_complete(head, complete))
            }
            "subagent.started" | "subagent.completed" | "subagent.failed" => {
                with::<Subagent<'static>>(data, |subagent| {
                    self.take_subagent(head, subagent);
                    Ok(())
                })
            }
            "permission.requested" | "permission.completed" => {
                with::<Permission<'static>>(data, |permission| self.take_permission(head, permission))
            }
            "session.compaction_complete" => {
                with::<Compaction<'static>>(data, |compaction| self.take_compaction(head, compaction))
            }
            "session.usage_record" => with::<UsageRecord<'static>>(data, |record| {
                self.take_usage_record(head, record);
                Ok(())
            }),
            "session.usage_checkpoint" => with::<Checkpoint<'static>>(data, |checkpoint| {
                self.ledger.note_checkpoint(checkpoint.nano.0);
                Ok(())
            }),
            "session.shutdown" => with::<Shutdown<'static>>(data, |shutdown| self.take_shutdown(head, shutdown)),
            "session.error"
            | "session.info"
            | "session.warning"
            | "session.handoff"
            | "session.context_cleared"
            | "system.message"
            | "system.notification"
            | "abort" => with::<Notice<'static>>(data, |notice| self.take_notice(head, notice)),
            kind => {
                self.out.unknown(&format!("event {kind}"));
                return Ok(true);
            }
        };
        read.map_or(Ok(false), |taken| taken.map(|()| true))
    }

    fn take_start(&mut self, head: &EventHead<'_>, start: &Start<'_>) -> Result<(), Reject> {
        self.count_unknown(head, &start.unknown);
        if let Some(session) = start.session.get() {
            if !self.is_sure_of_session && !self.has_conversation {
                session.clone_into(&mut self.session);
                self.threads = vec![Thread::main(session)];
            } else if session != self.session {
                // The first record of a fork is that of its origin.
                self.facts.forked_from_session_id.get_or_insert_with(|| session.to_owned());
            }
        }
        self.is_sure_of_session = true;
        self.close_leg()?;
        self.ledger.begin(head.timestamp, start.version.get());
        set(&mut self.facts.agent_version, start.version.get());
        set(&mut self.facts.parent_session_id, start.spawned_by.get());
        if let Some(context) = &start.context.0 {
            self.note_context(context);
        }
        if let Some(model) = start.model.get() {
            self.select_model(0, model, start.effort.get());
        }
        Ok(())
    }

    fn note_context(&mut self, context: &Context<'_>) {
        let facts = &mut self.facts;
        for (known, recorded) in [(&mut facts.project_path, &context.cwd), (&mut facts.git_commit, &context.commit)] {
            if known.is_none() {
                *known = recorded.owned();
            }
        }
        set(&mut facts.git_branch, context.branch.get());
        set(&mut facts.git_repo, context.repository.get());
        if let Some(main) = self.threads.first_mut() {
            set(&mut main.cwd, context.cwd.get());
            set(&mut main.branch, context.branch.get());
        }
    }

    fn note_model(&mut self, head: &EventHead<'_>, model: &Model<'_>) {
        let thread = self.thread_of(head.agent, None);
        if let Some(selected) = model.selected.get() {
            self.select_model(thread, selected, model.effort.get());
        }
        if let Some(chosen) = model.chosen.get() {
            self.set_model(thread, chosen);
        }
    }

    /// Takes the person's selection of a model, or the router `auto`, and an effort.
    fn select_model(&mut self, thread: usize, model: &str, effort: Option<&str>) {
        self.set_model(thread, model);
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.settings = Settings { model: Some(model.into()), effort: effort.map(Into::into) };
        }
    }

    fn set_model(&mut self, thread: usize, model: &str) {
        if let Some(thread) = self.threads.get_mut(thread) {
            // Each message names the model that `auto` chose.
            thread.model = Some(model.to_owned()).filter(|model| model != "auto");
        }
    }

    fn note_moment(&mut self, head: &EventHead<'_>) {
        self.ledger.note_moment(head.timestamp);
        keep_earlier(&mut self.facts.first_moment, head.timestamp);
    }

    fn finish(mut self, sidecar_facts: sidecars::SidecarFacts) -> Result<(), Reject> {
        self.close_leg()?;
        for thread in 0..self.threads.len() {
            self.close_reply(thread)?;
        }
        self.push_open_calls()?;
        self.turn_to(0);
        if !self.has_conversation && !self.ledger.has_rows() {
            self.out.discard_session();
            return Ok(());
        }
        self.end_subagents()?;
        self.turn_to(0);
        self.out.claim(session_key(AGENT, &self.session), false);
        if self.ledger.recorded_since.is_some() {
            self.out.claim_since(super::recorded_key(&self.session), self.ledger.recorded_since);
        }
        let facts = Facts { session_id: self.session.clone(), kind: SessionKind::Session, ..self.facts };
        self.out.end_session(sidecar_facts.complete(facts))
    }
}

/// Reads an event's data. Returns `None` if it cannot be read even after repair.
fn with<S: Shape>(
    json: &str,
    read: impl for<'l> FnOnce(&S::Of<'l>) -> Result<(), Reject>,
) -> Option<Result<(), Reject>> {
    if let Ok(data) = serde_json::from_str::<S::Of<'_>>(json) {
        return Some(read(&data));
    }
    let repaired = repair(json.as_bytes());
    let data = serde_json::from_str::<S::Of<'_>>(&repaired).ok()?;
    Some(read(&data))
}
