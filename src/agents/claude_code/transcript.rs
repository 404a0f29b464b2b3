//! One transcript, main or subagent: lines into messages, tool calls and responses.

mod calls;
mod facts;
mod notices;
mod progress;
mod replies;

use std::borrow::Cow;

use super::content::Block;
use super::pending::{PendingCalls, Replies};
use super::record::{Description, Line};
use super::responses::Responses;
use super::tree::Tree;
use super::user::UserText;
use crate::agents::ids::Prints;
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Kind, NoteField, Reject, Sink, key, session_key};
use crate::source::{self, Source, repair};
use crate::tables::{MessageKind, MessageRow, Role};
use progress::Progress;

/// Facts of a transcript from its place on disk, and from a program that ran the session.
#[derive(Default)]
pub(in crate::agents) struct Identity {
    /// Main session: the file's name. Subagent: the session that started it, if the path names it.
    pub(in crate::agents) main: Option<String>,
    /// The subagent's id; `None` for a main session.
    pub(in crate::agents) agent: Option<String>,
    /// Facts from a program that ran the session.
    pub(in crate::agents) host: Option<Host>,
    /// True if the program writes 0 for cached input that it does not know.
    pub(in crate::agents) hides_cache: bool,
}

/// Facts of a session from a program that ran the agent for a person.
#[derive(Default)]
pub(in crate::agents) struct Host {
    pub(in crate::agents) title: Option<String>,
    /// Folder that the person chose.
    pub(in crate::agents) folder: Option<String>,
    /// Beginning of folders that existed only while the session ran.
    pub(in crate::agents) inner_folders: &'static str,
}

/// Reads a transcript into the sink.
pub(super) fn extract(source: &mut Source<'_>, identity: Identity, out: &mut Sink<'_>) -> Result<(), Reject> {
    let description = identity.agent.as_ref().and_then(|_| source.sidecar(&source.path.with_extension("meta.json")));
    let mut transcript = Transcript::new(identity, out);
    transcript.read_all(&mut source.lines()?)?;
    transcript.finish(description.as_deref())
}

/// Reads lines as those of a transcript.
pub(super) fn extract_lines<'l>(
    identity: Identity,
    lines: impl Iterator<Item = &'l str>,
    out: &mut Sink<'_>,
) -> Result<(), Reject> {
    let mut transcript = Transcript::new(identity, out);
    for (number, line) in (1..).zip(lines) {
        transcript.read_line(&source::Line::of_text(line, number))?;
    }
    transcript.finish(None)
}

struct Transcript<'o, 'a> {
    out: &'o mut Sink<'a>,
    identity: Identity,
    session_id: String,
    facts: Facts,
    titles: Titles,
    seq: i64,
    turn: Option<i64>,
    tree: Tree,
    replies: Replies,
    calls: PendingCalls,
    responses: Responses,
    progress: Progress,
    /// Names lines and calls that have no id.
    prints: Prints,
    /// True if the person or the model said something. Otherwise there is no session, or it belongs to another agent.
    has_conversation: bool,
    /// True if a line of its own marked a compaction, so that its summary is not counted again.
    has_boundary: bool,
    /// True if a summary came before the line of its compaction.
    has_summary: bool,
}

#[derive(Default)]
struct Titles {
    custom: Option<String>,
    generated: Option<String>,
}

impl<'a> RecordReader<'a> for Transcript<'_, 'a> {
    type Record = Line<'static>;
    const STARTS: &'static [&'static str] = &["{\"parentUuid\"", "{\"type\"", "{\"uuid\""];

    fn sink(&mut self) -> &mut Sink<'a> {
        self.out
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let kind = line.kind.get().unwrap_or_default();
        if super::IGNORED_RECORDS.contains(&kind) {
            return Ok(());
        }
        self.out.unknown_fields("field ", &line.unknown);
        match kind {
            "user" | "assistant" | "system" | "attachment" => self.take_chained(line, number)?,
            "progress" => self.take_progress(line, number),
            "summary" => {
                if let (Some(summary), Some(leaf)) = (line.summary.get(), line.leaf.get()) {
                    let rank = i64::try_from(number).unwrap_or(i64::MAX);
                    self.out.note(NoteField::Summary, key(self.out.agent(), Kind::Message, leaf), rank, summary);
                }
            }
            "custom-title" => {
                self.titles.custom = line.custom_title.owned().or(self.titles.custom.take());
            }
            "ai-title" => {
                self.titles.generated = line.ai_title.owned().or(self.titles.generated.take());
            }
            "pr-link" => self.facts.git_repo = line.repository.owned().or(self.facts.git_repo.take()),
            "relocated" => {
                self.facts.project_path = line.relocated.owned().or(self.facts.project_path.take());
            }
            kind => self.out.unknown(&format!("record {kind}")),
        }
        Ok(())
    }
}

impl<'o, 'a> Transcript<'o, 'a> {
    fn new(identity: Identity, out: &'o mut Sink<'a>) -> Self {
        let mut transcript = Self {
            out,
            session_id: String::new(),
            identity,
            facts: Facts::default(),
            titles: Titles::default(),
            seq: 0,
            turn: None,
            tree: Tree::default(),
            replies: Replies::default(),
            calls: PendingCalls::default(),
            responses: Responses::default(),
            progress: Progress::default(),
            prints: Prints::default(),
            has_conversation: false,
            has_boundary: false,
            has_summary: false,
        };
        transcript.name_session();
        transcript
    }

    /// Sets the session's id. Only the lines of a subagent in the old layout name its parent.
    fn name_session(&mut self) {
        self.session_id = match (&self.identity.main, &self.identity.agent) {
            (Some(main), None) => main.clone(),
            (Some(main), Some(agent)) => format!("{main}/agent-{agent}"),
            (None, Some(agent)) => format!("agent-{agent}"),
            (None, None) => "unknown".to_owned(),
        };
    }

    fn take_chained(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let uuid = match line.uuid.get() {
            Some(uuid) => Cow::Borrowed(uuid),
            None => Cow::Owned(self.made_up_id(line)),
        };
        let uuid = &*uuid;
        let agent = self.out.agent();
        let key = message_key(agent, uuid);
        if self.tree.contains(key) {
            self.bill_again(line, number, uuid, key);
            return Ok(());
        }
        let parent = line.parent.get().or(line.logical_parent.get()).map(|parent| message_key(agent, parent));
        self.note_facts(line);
        if self.names_origin(line) {
            // A fork begins with copies of its origin's lines, of which only the model's lines name the origin.
            self.out.weaken();
        }
        let placed = PlacedLine { line, number, uuid, key };
        match line.kind.get() {
            Some("user") => self.take_user(&placed, parent),
            Some("assistant") => self.take_assistant(&placed, parent),
            Some("system") => self.take_system(&placed, parent),
            _ => self.take_attachment(&placed, parent),
        }
    }

    /// Returns an id for a line that has none.
    fn made_up_id(&mut self, line: &Line<'_>) -> String {
        let message = line.message.0.as_ref();
        let blocks = message.iter().flat_map(|message| &message.content.blocks).flat_map(|block| {
            let texts = [block.text.get(), block.thinking.get(), block.id.get(), block.name.get(), block.call.get()];
            texts.into_iter().chain([block.input.json(), block.content.json()])
        });
        let of_line = [message.and_then(|message| message.id.get()), line.subtype.get(), line.content.json()];
        let texts = of_line.into_iter().chain(blocks).flatten();
        let name = self.prints.name(line.kind.get().unwrap_or_default(), line.timestamp.0, texts);
        format!("{}#{name}", self.session_id)
    }

    fn take_user(&mut self, placed: &PlacedLine<'_, '_>, parent: Option<u64>) -> Result<(), Reject> {
        let content = placed.line.message.0.as_ref().map(|message| &message.content);
        self.has_conversation |= content.is_some_and(|content| content.is_there);
        let blocks = content.map(|content| content.blocks.as_slice()).unwrap_or_default();
        let is_task = placed.line.is_sidechain.0 && self.identity.agent.is_none();
        let user = UserText::of(blocks, placed.line, self.has_boundary, is_task);
        self.take_user_blocks(placed, parent, &user, blocks)
    }

    fn take_user_blocks(
        &mut self,
        placed: &PlacedLine<'_, '_>,
        parent: Option<u64>,
        user: &UserText<'_>,
        blocks: &[Block<'_>],
    ) -> Result<(), Reject> {
        let line = placed.line;
        if user.begins_turn() && (!line.is_sidechain.0 || self.identity.agent.is_some()) {
            self.turn = Some(self.turn.unwrap_or(0) + 1);
        }
        match user.kind {
            MessageKind::Summary => self.has_boundary = false,
            MessageKind::Compaction => self.has_summary = true,
            _ if user.begins_turn() => self.has_summary = false,
            _ => {}
        }
        if user.kind != MessageKind::ToolResult {
            self.close_replies(line.is_sidechain.0)?;
        }
        if user.begins_turn() {
            self.claim_prompt(user, line);
        }
        self.tree.add(placed.key, parent, user.begins_turn(), line.is_sidechain.0);
        let row = MessageRow {
            role: user.role,
            kind: user.kind,
            text: user.text.as_deref(),
            attachments: user.attachments,
            is_error: blocks.iter().any(|block| block.is_error.0),
            permission_mode: line.permission_mode.get().filter(|_| user.kind == MessageKind::Prompt),
            ..self.blank_row(placed)
        };
        self.push_message(placed, row)?;
        let results: Vec<&Block<'_>> = blocks.iter().filter(|block| block.kind.is("tool_result")).collect();
        let alone = results.len() == 1;
        for block in results {
            self.take_result(placed, block, alone)?;
        }
        Ok(())
    }

    /// Claims the prompt's text, so that the same prompt in the typed history is known to have a transcript.
    fn claim_prompt(&mut self, user: &UserText<'_>, line: &Line<'_>) {
        if let (Some(project), Some(typed)) = (self.facts.project_path.as_deref().or(line.cwd.get()), user.as_typed()) {
            let claim = super::prompts::prompt_key(self.out.agent(), project, &typed);
            self.out.claim(claim, self.is_copy(line));
        }
    }

    /// Returns a row with the fields that every line has.
    fn blank_row<'r>(&self, placed: &PlacedLine<'r, '_>) -> MessageRow<'r> {
        MessageRow {
            seq: self.seq,
            message_id: placed.uuid,
            turn: self.turn,
            timestamp: placed.line.timestamp.0,
            role: Role::Assistant,
            kind: MessageKind::Reply,
            is_sidechain: placed.line.is_sidechain.0,
            cwd: placed.line.cwd.get(),
            git_branch: placed.line.branch.get(),
            source_line: i64::try_from(placed.number).ok(),
            ..MessageRow::default()
        }
    }

    /// Emits a message of one line.
    fn push_message(&mut self, placed: &PlacedLine<'_, '_>, row: MessageRow<'_>) -> Result<(), Reject> {
        let parent = self.parent_id(placed.line.parent.get().or(placed.line.logical_parent.get()));
        self.tree.begin_row(placed.key, placed.uuid);
        self.seq += 1;
        let weak = self.is_copy(placed.line);
        let row = MessageRow { session_id: &self.session_id, parent_id: parent.as_deref(), ..row };
        let place = self.out.message(row, weak)?;
        self.tree.set_row(placed.key, place);
        Ok(())
    }

    /// Returns the row that a parent line belongs to; the line's own id if it is in another file. Above the first message,
    /// lines of hooks belong to none.
    fn parent_id<'p>(&self, parent: Option<&'p str>) -> Option<Cow<'p, str>> {
        let parent = parent?;
        let key = message_key(self.out.agent(), parent);
        match self.tree.row_id(key) {
            Some(id) => Some(Cow::Owned(id.text())),
            None => Some(Cow::Borrowed(parent)).filter(|_| !self.tree.contains(key)),
        }
    }

    fn finish(mut self, description: Option<&[u8]>) -> Result<(), Reject> {
        self.close_replies(false)?;
        self.close_replies(true)?;
        for early in self.calls.drain_early() {
            self.push_early(early, None)?;
        }
        for call in self.calls.drain() {
            self.push_unanswered(&call)?;
        }
        if self.identity.hides_cache {
            self.responses.drop_unknown_cache();
        }
        for (response, row) in self.responses.rows(&self.session_id) {
            self.out.usage(row, response.seq, response.weak)?;
        }
        if !self.has_conversation {
            self.out.discard_session();
            return self.end_progress();
        }
        self.out.claim(session_key(self.out.agent(), &self.session_id), false);
        let abandoned = self.tree.abandoned_rows();
        self.out.abandon(&abandoned);
        let description = description.map(|bytes| repair(bytes).into_owned()).unwrap_or_default();
        let description: Description<'_> = serde_json::from_str(&description).unwrap_or_default();
        let facts = self.complete_facts(&description);
        if let Some(call) = description.call.get() {
            self.out.note(NoteField::ChildSession, key(self.out.agent(), Kind::ToolCall, call), 0, &facts.session_id);
        }
        self.out.end_session(facts)?;
        self.end_progress()
    }
}

/// A line and its position.
struct PlacedLine<'l, 'j> {
    line: &'l Line<'j>,
    number: u64,
    uuid: &'l str,
    key: u64,
}

fn message_key(agent: &str, uuid: &str) -> u64 {
    key(agent, Kind::Message, uuid)
}
