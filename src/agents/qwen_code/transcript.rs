//! One session: lines into messages, tool calls and billed responses.

mod calls;
mod messages;
mod system;

use std::borrow::Cow;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::content::parts;
use super::record::{Line, Meta, Payload};
use super::{AGENT, SUBAGENT};
use crate::agents::ids::Prints;
use crate::agents::kit::facts::{keep_earlier, set};
use crate::agents::tree::{Parent, Tree};
use crate::extract::{Facts, KeySet, Kind, Reject, Sink, key, session_key};
use crate::source::jsonl::RecordReader;
use crate::source::{Source, repair, unescape};
use crate::tables::{MessageKind, MessageRow, Role, SessionKind};
use calls::Calls;
use system::Measured;

/// Reads a session into the sink.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let facts = facts_of(source);
    let mut transcript = Transcript {
        out,
        facts,
        seq: 0,
        turn: None,
        tree: Tree::default(),
        seen: KeySet::default(),
        prints: Prints::default(),
        calls: Calls::default(),
        measured: None,
    };
    transcript.read_all(&mut source.lines()?)?;
    transcript.finish()
}

/// What a source's place and the file beside it say of its session.
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
    facts: Facts,
    seq: i64,
    turn: Option<i64>,
    tree: Tree,
    /// What the lines so far say.
    seen: KeySet,
    /// Names lines that have no id.
    prints: Prints,
    calls: Calls,
    /// The response that the program measured last; its line comes next.
    measured: Option<Measured>,
}

/// A line and its position.
struct Spot<'l, 'j> {
    line: &'l Line<'j>,
    number: u64,
    /// Id of the row: the line's own, which forks copy. A further line with that id adds its fingerprint, as the
    /// program puts the parts of such lines together.
    id: Cow<'l, str>,
    /// Id of the line, which all lines of one response have.
    response: Cow<'l, str>,
    /// True if the line goes on with an earlier one.
    is_piece: bool,
    /// True if the line was copied from the session that this one is a fork of.
    weak: bool,
}

impl<'a> RecordReader<'a> for Transcript<'_, 'a> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"uuid\""];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        for field in &line.unknown {
            self.out.unknown(&format!("field {field}"));
        }
        let response = match line.uuid.get() {
            Some(uuid) => Cow::Borrowed(uuid),
            None => {
                let said = line.message.0.iter().flat_map(parts).flat_map(|part| {
                    let call = part.call.0.as_ref().map(|call| [call.id.get(), call.arguments.json()]);
                    let response =
                        part.response.0.as_ref().map(|response| [response.id.get(), response.response.json()]);
                    [part.text.get()].into_iter().chain(call.or(response).into_iter().flatten())
                });
                let said = said.chain([line.payload.json()]).flatten();
                let name = self.prints.name(line.kind.get().unwrap_or_default(), line.timestamp.0, said);
                Cow::Owned(format!("{}#{name}", self.facts.session_id))
            }
        };
        let line_key = key(AGENT, Kind::Message, &response);
        let print = fingerprint(line, line_key);
        if !self.seen.insert(print) {
            return Ok(());
        }
        let is_piece = self.tree.has(line_key);
        let id = if is_piece { Cow::Owned(format!("{response}#{print:016x}")) } else { response.clone() };
        self.note_facts(line);
        let kind = line.kind.get().unwrap_or_default();
        let repaired;
        let payload: Payload<'_> = match line.payload.json().map(|json| (json, serde_json::from_str(json))) {
            None => Payload::default(),
            Some((_, Ok(payload))) => payload,
            Some((json, Err(_))) => {
                repaired = repair(json.as_bytes());
                serde_json::from_str(&repaired).unwrap_or_default()
            }
        };
        let parent = if is_piece { Parent::Entry(line_key) } else { parent_of(line) };
        // What goes on with a message behind its answers is no branch of its own.
        let is_beside = is_piece && !self.tree.is_last(line_key);
        let place = Some(line_key).filter(|_| !is_beside);
        self.tree.add(place, &parent, is_beside, kind != "system" || line.subtype.is("rewind"));
        let spot = Spot { line, number, id, response, is_piece, weak: line.forked_from.0.is_some() };
        match kind {
            "user" => self.take_user(&spot, &payload),
            "assistant" => self.take_reply(&spot),
            "tool_result" => self.take_results(&spot),
            "system" => self.take_system(&spot, &payload),
            kind => {
                self.out.unknown(&format!("record {kind}"));
                Ok(())
            }
        }
    }
}

/// The key of a line and of what it says: one that was written twice is there once, one that goes on with a message has
/// the same `uuid` and says something else.
fn fingerprint(line: &Line<'_>, line_key: u64) -> u64 {
    let moment = line.timestamp.0.map_or(0, i64::cast_unsigned);
    let usage = line.usage.0.iter().flat_map(|usage| [usage.prompt.0, usage.candidates.0]);
    let counts = usage.map(|count| count.map_or(0, i64::cast_unsigned));
    let parts = line.message.0.iter().flat_map(parts).map(|part| {
        let call = part.call.0.as_ref().map(|call| (call.id.get(), call.arguments.json()));
        let response = part.response.0.as_ref().map(|response| (response.id.get(), response.response.json()));
        let (id, content) = call.or(response).unwrap_or((None, part.text.get()));
        xxh3_64_with_seed(content.unwrap_or_default().as_bytes(), xxh3_64(id.unwrap_or_default().as_bytes()))
    });
    let payload = line.payload.json().map(|payload| xxh3_64(payload.as_bytes()));
    let all = [moment].into_iter().chain(counts).chain(parts).chain(payload);
    all.fold(line_key, |print, part| (print.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15))
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
        let facts = &mut self.facts;
        keep_earlier(&mut facts.first_moment, line.timestamp.0);
        set(&mut facts.agent_version, line.version.get());
        set(&mut facts.git_branch, line.git_branch.get());
        if facts.project_path.is_none() {
            set(&mut facts.project_path, line.cwd.get());
        }
        if facts.is_subagent && facts.subagent_type.is_none() {
            set(&mut facts.subagent_type, line.agent_name.get());
        }
        let origin = line.forked_from.0.as_ref().and_then(|origin| origin.session.get());
        if facts.forked_from_session_id.is_none() {
            set(&mut facts.forked_from_session_id, origin.filter(|origin| *origin != facts.session_id));
        }
    }

    fn begin_turn(&mut self) {
        self.turn = Some(self.turn.unwrap_or(0) + 1);
    }

    /// Emits a message; its row has what differs from one message to the other.
    fn push(&mut self, spot: &Spot<'_, '_>, row: MessageRow<'_>) -> Result<(), Reject> {
        let parent_id = self.tree.row_above().map(str::to_owned);
        let row = MessageRow {
            session_id: &self.facts.session_id,
            seq: self.seq,
            message_id: &spot.id,
            parent_id: parent_id.as_deref(),
            turn: self.turn,
            timestamp: spot.line.timestamp.0,
            cwd: spot.line.cwd.get(),
            git_branch: spot.line.git_branch.get(),
            source_line: i64::try_from(spot.number).ok(),
            ..row
        };
        self.seq += 1;
        let place = self.out.message(row, spot.weak)?;
        self.tree.set_row(place, &spot.id);
        Ok(())
    }

    /// Completes the session; a file that gave no row is none.
    fn finish(mut self) -> Result<(), Reject> {
        self.push_open_calls()?;
        if self.seq == 0 {
            self.out.discard_session();
            return Ok(());
        }
        self.out.claim(session_key(AGENT, &self.facts.session_id), false);
        let abandoned = self.tree.abandoned_rows();
        self.out.abandon(&abandoned);
        self.out.end_session(self.facts)
    }
}

/// A message of which nothing is known yet.
fn blank_row(role: Role, kind: MessageKind) -> MessageRow<'static> {
    MessageRow { role, kind, ..MessageRow::default() }
}
