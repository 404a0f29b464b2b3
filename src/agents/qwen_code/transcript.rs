//! One session: lines into messages, tool calls and billed responses.

mod messages;

use std::borrow::Cow;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::content::parts;
use super::record::{Line, Meta, Part, Payload};
use super::{AGENT, SUBAGENT};
use crate::agents::kit::facts::{fill, keep_earlier, set};
use crate::agents::kit::thread::{Parents, Position, Thread};
use crate::agents::tree::Parent;
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key};
use crate::source::{Source, repair, unescape};
use crate::tables::SessionKind;
use messages::Measured;

/// Reads a session into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let thread = Thread::new(facts_of(source)).with(Parents::Tree);
    let mut transcript = Transcript { out, thread, seen: KeySet::default(), measured: None };
    transcript.read_all(&mut source.lines()?)?;
    transcript.thread.finish(transcript.out)
}

/// Returns the facts about a session that its path and its companion file record.
fn facts_of(source: &Source<'_>) -> Facts {
    if source.kind != SUBAGENT {
        return Facts { session_id: source.stem().to_owned(), ..Facts::default() };
    }
    let folder = source.path.parent().and_then(|folder| folder.file_name()?.to_str()).unwrap_or_default();
    let bytes = source.sidecar(&source.path.with_extension("meta.json")).unwrap_or_default();
    let meta: Meta<'_> = serde_json::from_slice(&bytes).unwrap_or_default();
    let parent = meta.parent_agent.get().map_or_else(|| folder.to_owned(), |agent| format!("{folder}/agent-{agent}"));
    Facts {
        session_id: format!("{folder}/{}", source.stem()),
        kind: SessionKind::Subagent,
        title: meta.description.owned(),
        parent_session_id: Some(parent),
        root_session_id: Some(folder.to_owned()),
        is_subagent: true,
        subagent_type: meta.agent_type.owned(),
        ..Facts::default()
    }
}

struct Transcript<'o, 'a> {
    out: &'o mut Sink<'a>,
    thread: Thread,
    /// Fingerprints of the lines so far.
    seen: KeySet,
    /// The response that the program measured last; its line comes next.
    measured: Option<Measured>,
}

/// A line and where it stands.
struct PlacedLine<'l, 'j> {
    line: &'l Line<'j>,
    /// Has the line's id, which forks copy. A further line with that id adds its fingerprint, as the program puts the parts
    /// of such lines together.
    at: Position<'l>,
    /// Id of the line, which all lines of one response have.
    response: &'l str,
    /// True if the line continues an earlier one.
    is_piece: bool,
}

impl<'a> RecordReader<'a> for Transcript<'_, 'a> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"uuid\""];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        self.out.unknown_fields("field ", &line.unknown);
        let kind = line.kind.get().unwrap_or_default();
        let response = line.uuid.get().map_or_else(
            || {
                let parts = line.message.0.iter().flat_map(parts);
                let texts =
                    parts.flat_map(|part| [part.text.get()].into_iter().chain(asked(part).into_iter().flatten()));
                let texts = texts.chain([line.payload.json()]).flatten();
                Cow::Owned(self.thread.print(kind, line.timestamp.0, texts))
            },
            Cow::Borrowed,
        );
        let line_key = key(AGENT, Kind::Message, &response);
        let print = fingerprint(line, line_key);
        if !self.seen.insert(print) {
            return Ok(());
        }
        let is_piece = self.thread.tree.has(line_key);
        let id = if is_piece { Cow::Owned(format!("{response}#{print:016x}")) } else { Cow::Borrowed(&*response) };
        self.note_facts(line);
        let json = line.payload.json().unwrap_or("{}");
        let repaired;
        let payload: Payload<'_> = if let Ok(payload) = serde_json::from_str(json) {
            payload
        } else {
            repaired = repair(json.as_bytes());
            serde_json::from_str(&repaired).unwrap_or_default()
        };
        let parent = if is_piece { Parent::Entry(line_key) } else { parent_of(line) };
        // A line that continues a message after its results is not a branch of its own.
        let is_beside = is_piece && !self.thread.tree.is_last(line_key);
        let place = Some(line_key).filter(|_| !is_beside);
        self.thread.tree.add(place, &parent, is_beside, kind != "system" || line.subtype.is("rewind"));
        let at = Position::on_line(&id, line.timestamp.0, number);
        let at = Position { is_copy: line.forked_from.0.is_some(), ..at };
        let placed = PlacedLine { line, at, response: &response, is_piece };
        match kind {
            "user" => self.take_user(&placed, &payload),
            "assistant" => self.take_reply(&placed),
            "tool_result" => self.take_results(&placed),
            "system" => self.take_system(&placed, &payload),
            kind => {
                self.out.unknown(&format!("record {kind}"));
                Ok(())
            }
        }
    }
}

/// The key of a line and of what it says: one that was written twice is there once, one that goes on with a message has the
/// same `uuid` and says something else.
fn fingerprint(line: &Line<'_>, line_key: u64) -> u64 {
    let moment = line.timestamp.0.map_or(0, i64::cast_unsigned);
    let usage = line.usage.0.iter().flat_map(|usage| [usage.prompt.0, usage.candidates.0]);
    let counts = usage.map(|count| count.map_or(0, i64::cast_unsigned));
    let parts = line.message.0.iter().flat_map(parts).map(|part| {
        let [id, content] = asked(part).unwrap_or([None, part.text.get()]);
        xxh3_64_with_seed(content.unwrap_or_default().as_bytes(), xxh3_64(id.unwrap_or_default().as_bytes()))
    });
    let payload = line.payload.json().map(|payload| xxh3_64(payload.as_bytes()));
    let all = [moment].into_iter().chain(counts).chain(parts).chain(payload);
    all.fold(line_key, |print, part| (print.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Id and content of the call or the result that a part holds.
fn asked<'l>(part: &'l Part<'_>) -> Option<[Option<&'l str>; 2]> {
    let call = part.call.0.as_ref().map(|call| [call.id.get(), call.arguments.json()]);
    call.or_else(|| part.response.0.as_ref().map(|response| [response.id.get(), response.response.json()]))
}

/// Only a prompt or a rewind to the beginning makes a new root; other lines without a parent follow the one before.
fn parent_of(line: &Line<'_>) -> Parent {
    if let Some(parent) = line.parent.json().and_then(unescape) {
        return Parent::Entry(key(AGENT, Kind::Message, &parent));
    }
    let is_null = line.parent.0.is_some_and(|json| json.get() == "null");
    let begins = line.kind.is("user") || line.subtype.is("rewind");
    if is_null && begins { Parent::Root } else { Parent::Before }
}

impl Transcript<'_, '_> {
    fn note_facts(&mut self, line: &Line<'_>) {
        let facts = &mut self.thread.facts;
        keep_earlier(&mut facts.first_moment, line.timestamp.0);
        set(&mut facts.agent_version, line.version.get());
        set(&mut facts.git_branch, line.git_branch.get());
        fill(&mut facts.project_path, line.cwd.get());
        if facts.is_subagent {
            fill(&mut facts.subagent_type, line.agent_name.get());
        }
        let origin = line.forked_from.0.as_ref().and_then(|origin| origin.session.get());
        fill(&mut facts.forked_from_session_id, origin.filter(|origin| *origin != facts.session_id));
    }
}
