//! One log: its own messages, and those of old subagents that have no log of their own.

use std::collections::BTreeMap;
use std::path::Path;

use md5::{Digest, Md5};

use super::record::{Folders, Line, Message, Meta, Payload, State};
use super::talk::{Moment, Talk};
use super::{AGENT, Place};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Kind, Reject, Sink, key};
use crate::source::{Source, name_of, repair};
use crate::tables::SessionKind;

/// The first words of a fork's title.
const FORKS: [&str; 2] = ["Fork: ", "Undo: "];

/// Types of messages that hold nothing for the tables.
const IGNORED: [&str; 15] = [
    "HookTriggered",
    "HookResolved",
    "MCPLoadingBegin",
    "MCPLoadingEnd",
    "PlanDisplay",
    "BtwBegin",
    "BtwEnd",
    "ApprovalRequest",
    "ApprovalResponse",
    "ApprovalRequestResolved",
    "QuestionRequest",
    "QuestionResponse",
    "ToolCallRequest",
    "HookRequest",
    "HookResponse",
];

/// Types of messages that [`Talk`] takes.
const TAKEN: [&str; 14] = [
    "ContentPart",
    "ToolCall",
    "ToolCallPart",
    "ToolResult",
    "StatusUpdate",
    "TurnBegin",
    "SteerInput",
    "TurnEnd",
    "StepBegin",
    "CompactionBegin",
    "CompactionEnd",
    "StepInterrupted",
    "StepRetry",
    "Notification",
];

/// Reads a log into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let name = name_of(source.path);
    let named = Place::of(Path::new(&*name)).and_then(|place| Some((name_in(place.session)?, place.agent)));
    let (session, agent) = named.unwrap_or((source.stem(), None));
    let place = Place::of(source.path);
    let beside = |path: Option<std::path::PathBuf>| path.and_then(|path| source.sidecar(&path)).unwrap_or_default();
    let folders = beside(place.as_ref().and_then(Place::folders));
    let state = beside(place.as_ref().and_then(Place::state));
    let meta = beside(agent.map(|_| source.path.with_file_name("meta.json")));
    let [folders, state, meta] = [&folders, &state, &meta].map(|bytes| repair(bytes));
    let state: State<'_> = serde_json::from_str(&state).unwrap_or_default();
    let meta: Meta<'_> = serde_json::from_str(&meta).unwrap_or_default();
    let project = place.and_then(|place| name_in(place.session.parent()?)).and_then(|hash| path_of(hash, &folders));
    let is_fork = state.title.get().is_some_and(|title| FORKS.iter().any(|fork| title.starts_with(fork)));
    let facts =
        Facts { session_id: session.to_owned(), project_path: project, title: state.title.owned(), ..Facts::default() };
    let facts = match agent {
        None => facts,
        Some(agent) => Facts { title: meta.description.owned(), ..subagent(&facts, agent, meta.kind.get()) },
    };
    let model = meta.launch.0.and_then(|launch| launch.model.owned());
    let talk = Talk::new(facts.clone(), agent.map(str::to_owned), model, is_fork);
    let mut wire = Wire { out, facts, talk, subagents: BTreeMap::new() };
    wire.read_all(&mut source.lines()?)?;
    for (id, talk) in wire.subagents {
        wire.out.turn_to(&id);
        talk.finish(wire.out)?;
    }
    wire.out.turn_to("");
    if let Some(agent) = agent {
        wire.out.claim(log_key(agent), false);
    }
    wire.talk.finish(wire.out)
}

/// Returns the key of the fact that a subagent has a log. A fork may lack the log, and repeats it all the same.
fn log_key(agent: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("log:{agent}"))
}

fn name_in(folder: &Path) -> Option<&str> {
    folder.file_name()?.to_str()
}

/// Returns the path of the project whose folder has a name: the MD5 of the path, after the name of a remote machine if it
/// is on one.
fn path_of(name: &str, folders: &str) -> Option<String> {
    let hash = name.rsplit('_').next()?;
    let folders: Folders<'_> = serde_json::from_str(folders).unwrap_or_default();
    let mut paths = folders.folders.0.iter().filter_map(|folder| folder.0.as_ref()?.path.get());
    let is_hash = |path: &&str| {
        let digest = Md5::digest(path.as_bytes());
        hash.len() == 32
            && digest
                .iter()
                .zip(0..)
                .all(|(byte, place)| hash.get(2 * place..2 * place + 2) == Some(&*format!("{byte:02x}")))
    };
    paths.find(is_hash).map(str::to_owned)
}

/// The session of a subagent.
fn subagent(parent: &Facts, agent: &str, kind: Option<&str>) -> Facts {
    Facts {
        session_id: format!("{}/{agent}", parent.session_id),
        kind: SessionKind::Subagent,
        project_path: parent.project_path.clone(),
        parent_session_id: Some(parent.session_id.clone()),
        root_session_id: Some(parent.session_id.clone()),
        is_subagent: true,
        subagent_type: kind.map(str::to_owned),
        ..Facts::default()
    }
}

struct Wire<'o, 's> {
    out: &'o mut Sink<'s>,
    facts: Facts,
    talk: Talk,
    /// Subagents that the log repeats, by their sessions.
    subagents: BTreeMap<String, Talk>,
}

impl<'s> RecordReader<'s> for Wire<'_, 's> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"timestamp\"", "{\"type\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let Some(message) = &line.message.0 else { return Ok(()) };
        let at = Moment { time: line.time.0, line: i64::try_from(number).ok() };
        let default = Payload::default();
        let payload = message.payload.0.as_ref().unwrap_or(&default);
        match message.kind.get().unwrap_or_default() {
            "SubagentEvent" => self.take_subagent(payload, at),
            kind if TAKEN.contains(&kind) => self.talk.take(kind, payload, at, self.out),
            kind if IGNORED.contains(&kind) => Ok(()),
            kind => {
                self.out.unknown(&format!("message {kind}"));
                Ok(())
            }
        }
    }
}

impl Wire<'_, '_> {
    /// Takes what a subagent did. One that has a name has a log of its own, which supersedes this. Others are named by
    /// the call that started them.
    fn take_subagent(&mut self, payload: &Payload<'_>, at: Moment) -> Result<(), Reject> {
        let Some(call) = payload.parent_call.get() else { return Ok(()) };
        let agent = payload.agent.get();
        let name = agent.unwrap_or(call);
        let facts = subagent(&self.facts, name, payload.agent_kind.get());
        self.talk.link(call, &facts.session_id);
        let json = payload.event.json().unwrap_or("{}");
        let message: Message<'_> = serde_json::from_str(json).unwrap_or_default();
        let (Some(kind), Some(payload)) = (message.kind.get(), &message.payload.0) else { return Ok(()) };
        if !TAKEN.contains(&kind) {
            return Ok(());
        }
        let id = facts.session_id.clone();
        let new = || Talk::new(facts, Some(name.to_owned()), None, false).yielding_to(agent.map(log_key));
        let talk = self.subagents.entry(id.clone()).or_insert_with(new);
        self.out.turn_to(&id);
        talk.take(kind, payload, at, self.out)?;
        self.out.turn_to("");
        Ok(())
    }
}
