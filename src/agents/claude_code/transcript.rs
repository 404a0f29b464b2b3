//! One transcript, main or subagent: lines into messages, tool calls and responses.

use std::borrow::Cow;

use super::content::{join, output_text, plain_text, with_blocks};
use super::pending::{PendingCall, PendingCalls, Replies, Reply};
use super::record::{Block, Description, Input, Line, ToolResult};
use super::responses::Responses;
use super::tools::{self, Evidence};
use super::tree::Tree;
use super::user::UserText;
use crate::extract::{Facts, Kind, NoteField, Reject, Sink, key};
use crate::source::records::{Number, Text};
use crate::source::{Source, repair, split_glued};
use crate::tables::{MessageRow, ToolCallRow};

use super::AGENT;

/// What a transcript's place on disk says of it.
pub(super) struct Identity {
    /// Main session: the file's name. Subagent: the session that started it, where the path says so.
    pub(super) main: Option<String>,
    /// The subagent's id; none for a main session.
    pub(super) agent: Option<String>,
}

/// Starts of the objects that may stand on a line behind a torn one.
const OBJECT_STARTS: [&str; 3] = ["{\"parentUuid\"", "{\"type\"", "{\"uuid\""];

/// Reads a transcript into the sink.
pub(super) fn extract(source: &mut Source<'_>, identity: Identity, out: &mut Sink<'_>) -> Result<(), Reject> {
    let description = identity.agent.as_ref().and_then(|_| source.sidecar(&source.path.with_extension("meta.json")));
    let mut transcript = Transcript::new(identity, out);
    let mut lines = source.lines()?;
    while let Some(line) = lines.next_line() {
        if line.length > line.bytes.len() as u64 + 1 {
            transcript.out.line();
            transcript
                .out
                .problem(line.number, &format!("the line has {} bytes; longer than 64 MiB is not read", line.length));
        } else if !line.bytes.trim_ascii().is_empty() {
            transcript.out.line();
            transcript.read(line.bytes, line.number, line.ended)?;
        }
    }
    if lines.failed() {
        transcript.out.remark("the file could not be read to its end");
    }
    transcript.finish(description.as_deref())
}

/// Reads lines that stand for a transcript's.
pub(super) fn extract_lines<'l>(
    identity: Identity,
    lines: impl Iterator<Item = &'l str>,
    out: &mut Sink<'_>,
) -> Result<(), Reject> {
    let mut transcript = Transcript::new(identity, out);
    for (number, line) in (1..).zip(lines) {
        transcript.out.line();
        transcript.read(line.as_bytes(), number, true)?;
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
    /// Whether a line of the person or the model was there; without one there is no session.
    has_conversation: bool,
    /// Whether a compaction was marked by a line of its own, so that its summary is not counted again.
    has_boundary: bool,
}

#[derive(Default)]
struct Titles {
    custom: Option<String>,
    generated: Option<String>,
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
            has_conversation: false,
            has_boundary: false,
        };
        transcript.name_session();
        transcript
    }

    /// The session's id; a subagent of the old layout learns its parent only from its lines.
    fn name_session(&mut self) {
        self.session_id = match (&self.identity.main, &self.identity.agent) {
            (Some(main), None) => main.clone(),
            (Some(main), Some(agent)) => format!("{main}/agent-{agent}"),
            (None, Some(agent)) => format!("agent-{agent}"),
            (None, None) => "unknown".to_owned(),
        };
    }

    fn read(&mut self, bytes: &[u8], number: u64, ended: bool) -> Result<(), Reject> {
        if let Ok(text) = simdutf8::basic::from_utf8(bytes)
            && let Ok(line) = serde_json::from_str::<Line<'_>>(text)
        {
            return self.take(&line, number);
        }
        let repaired = repair(bytes);
        if repaired.trim().is_empty() {
            return Ok(());
        }
        let mut whole = 0;
        let mut error = None;
        for line in serde_json::Deserializer::from_str(&repaired).into_iter::<Line<'_>>() {
            match line {
                Ok(line) => {
                    whole += 1;
                    self.take(&line, number)?;
                }
                Err(wrong) => error = Some(wrong),
            }
        }
        let Some(error) = error else { return Ok(()) };
        if let Some(line) =
            split_glued(&repaired, &OBJECT_STARTS).find_map(|text| serde_json::from_str::<Line<'_>>(text).ok())
        {
            self.out.problem(number, "a torn record; the one behind it on the line was read");
            return if whole == 0 { self.take(&line, number) } else { Ok(()) };
        }
        let reason = if ended { format!("no JSON object: {error}") } else { "the last line is torn".to_owned() };
        self.out.problem(number, &reason);
        Ok(())
    }

    fn take(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        for field in &line.unknown {
            self.out.unknown(&format!("field {field}"));
        }
        match line.kind.get().unwrap_or_default() {
            "user" | "assistant" | "system" | "attachment" => self.take_chained(line, number)?,
            "progress" => self.take_progress(line),
            "summary" => {
                if let (Some(summary), Some(leaf)) = (line.summary.get(), line.leaf.get()) {
                    let rank = i64::try_from(number).unwrap_or(i64::MAX);
                    self.out.note(NoteField::Summary, key(AGENT, Kind::Message, leaf), rank, summary);
                }
            }
            "custom-title" => {
                self.titles.custom = line.custom_title.get().map(str::to_owned).or(self.titles.custom.take())
            }
            "ai-title" => {
                self.titles.generated = line.ai_title.get().map(str::to_owned).or(self.titles.generated.take())
            }
            "pr-link" => self.facts.git_repo = line.repository.get().map(str::to_owned).or(self.facts.git_repo.take()),
            "relocated" => {
                self.facts.project_path = line.relocated.get().map(str::to_owned).or(self.facts.project_path.take());
            }
            kind if super::IGNORED_RECORDS.contains(&kind) => {}
            kind => self.out.unknown(&format!("record {kind}")),
        }
        Ok(())
    }

    fn take_progress(&mut self, line: &Line<'_>) {
        let data = line.data.0.as_ref().filter(|data| data.kind.is("agent_progress"));
        if let (Some(agent), Some(call)) = (data.and_then(|data| data.agent.get()), line.parent_tool.get()) {
            let child = self.child_session(agent);
            self.calls.link(key(AGENT, Kind::ToolCall, call), child);
        }
        if let Some(uuid) = line.uuid.get() {
            let parent = line.parent.get().map(message_key);
            self.tree.add(message_key(uuid), parent, false, line.is_sidechain.0);
        }
    }

    fn take_chained(&mut self, line: &Line<'_>, number: u64) -> Result<(), Reject> {
        let made_up = line.uuid.get().is_none().then(|| format!("{}#line-{number}", self.session_id));
        let uuid = line.uuid.get().or(made_up.as_deref()).unwrap_or_default();
        let key = message_key(uuid);
        if self.tree.contains(key) {
            self.responses.count_copy(line);
            return Ok(());
        }
        let parent = line.parent.get().or(line.logical_parent.get()).map(message_key);
        self.note_facts(line);
        if self.names_origin(line) {
            // A fork repeats its origin's lines first, and only the model's name the origin.
            self.out.weaken();
        }
        let spot = Spot { line, number, uuid, key };
        match line.kind.get() {
            Some("user") => self.take_user(&spot, parent),
            Some("assistant") => self.take_assistant(&spot, parent),
            Some("system") => self.take_system(&spot, parent),
            _ => self.take_attachment(&spot, parent),
        }
    }

    fn note_facts(&mut self, line: &Line<'_>) {
        if self.identity.main.is_none()
            && let Some(session) = line.session.get()
        {
            self.identity.main = Some(session.to_owned());
            self.name_session();
        }
        let facts = &mut self.facts;
        facts.first_moment = match (facts.first_moment, line.timestamp.0) {
            (Some(first), Some(moment)) => Some(first.min(moment)),
            (first, moment) => first.or(moment),
        };
        if facts.project_path.is_none() {
            facts.project_path = line.cwd.get().map(str::to_owned);
        }
        if let Some(origin) =
            line.forked_from.0.as_ref().and_then(|from| from.session.get()).or(line.request_session.get())
            && facts.forked_from_session_id.is_none()
            && self.identity.agent.is_none()
            && self.identity.main.as_deref() != Some(origin)
        {
            facts.forked_from_session_id = Some(origin.to_owned());
        }
        if !self.is_copy(line) || line.session_kind.is("bg") {
            replace(&mut self.facts.agent_version, line.version.get());
            replace(&mut self.facts.git_branch, line.branch.get().filter(|branch| *branch != "HEAD"));
        }
    }

    /// Whether a reply says that another session asked for it.
    fn names_origin(&self, line: &Line<'_>) -> bool {
        let main = self.identity.main.as_deref();
        self.identity.agent.is_none() && line.request_session.get().is_some_and(|origin| Some(origin) != main)
    }

    /// Whether the line says itself that it was copied from another session.
    fn is_copy(&self, line: &Line<'_>) -> bool {
        let other = |name: &Text<'_>, own: &str| name.get().is_some_and(|name| name != own);
        if let Some(agent) = &self.identity.agent {
            return other(&line.agent, agent);
        }
        let main = self.identity.main.as_deref().unwrap_or_default();
        line.forked_from.0.is_some()
            || line.session_kind.is("bg")
            || self.names_origin(line)
            || (looks_like_uuid(main) && other(&line.session, main))
    }

    fn take_user(&mut self, spot: &Spot<'_, '_>, parent: Option<u64>) -> Result<(), Reject> {
        self.has_conversation = true;
        let content = spot.line.message.0.as_ref().and_then(|message| message.content.json());
        let read = with_blocks(content, |blocks| {
            let is_task = spot.line.is_sidechain.0 && self.identity.agent.is_none();
            let user = UserText::of(&blocks, spot.line, self.has_boundary, is_task);
            self.take_user_blocks(spot, parent, &user, &blocks)
        });
        match read {
            Some(result) => result,
            None => {
                self.out.problem(spot.number, "the message's content cannot be read");
                Ok(())
            }
        }
    }

    fn take_user_blocks(
        &mut self,
        spot: &Spot<'_, '_>,
        parent: Option<u64>,
        user: &UserText<'_>,
        blocks: &[Block<'_>],
    ) -> Result<(), Reject> {
        let line = spot.line;
        if user.begins_turn() && (!line.is_sidechain.0 || self.identity.agent.is_some()) {
            self.turn = Some(self.turn.unwrap_or(0) + 1);
        }
        if user.kind == "summary" {
            self.has_boundary = false;
        }
        if user.kind != "tool_result" {
            self.close_replies(line.is_sidechain.0)?;
        }
        if user.begins_turn() {
            self.claim_prompt(user, line);
        }
        self.tree.add(spot.key, parent, user.begins_turn(), line.is_sidechain.0);
        let row = MessageRow {
            role: user.role,
            kind: user.kind,
            text: user.text.as_deref(),
            attachments: user.attachments,
            is_error: blocks.iter().any(|block| block.is_error.0),
            ..self.blank_row(spot)
        };
        self.push_message(spot, row)?;
        let results: Vec<&Block<'_>> = blocks.iter().filter(|block| block.kind.is("tool_result")).collect();
        let alone = results.len() == 1;
        for block in results {
            self.take_result(spot, block, alone)?;
        }
        Ok(())
    }

    /// Claims the prompt's text, so that the same prompt in the typed history is known to have a transcript.
    fn claim_prompt(&mut self, user: &UserText<'_>, line: &Line<'_>) {
        if let (Some(project), Some(typed)) = (self.facts.project_path.as_deref().or(line.cwd.get()), user.as_typed()) {
            let claim = super::prompts::prompt_key(project, &typed);
            self.out.claim(claim, self.is_copy(line));
        }
    }

    fn take_assistant(&mut self, spot: &Spot<'_, '_>, parent: Option<u64>) -> Result<(), Reject> {
        self.has_conversation = true;
        let line = spot.line;
        let Some(message) = line.message.0.as_ref() else {
            self.out.problem(spot.number, "an assistant record without a message");
            return Ok(());
        };
        for field in &message.unknown {
            self.out.unknown(&format!("message field {field}"));
        }
        self.tree.add(spot.key, parent, false, line.is_sidechain.0);
        let is_synthetic = message.model.is("<synthetic>") || line.is_api_error.0;
        let response = message.id.get().unwrap_or(spot.uuid);
        if !is_synthetic {
            let (seq, turn) = (self.seq, self.turn);
            let weak = self.is_copy(line);
            let message_id = self.replies.message_id(response, line.is_sidechain.0).unwrap_or(spot.uuid).to_owned();
            self.responses.add(response, &message_id, line, message, spot.number, seq, turn, weak);
            if let Some(usage) = &message.usage.0 {
                for field in &usage.unknown {
                    self.out.unknown(&format!("usage field {field}"));
                }
            }
        }
        if !self.replies.is_open(response, line.is_sidechain.0) {
            self.close_replies(line.is_sidechain.0)?;
            let row = self.blank_row(spot);
            let parent = line.parent.get().or(line.logical_parent.get());
            let reply = Reply::begin(&row, parent, spot.key, message, is_synthetic, self.is_copy(line));
            self.seq += 1;
            self.tree.begin_row(spot.key, spot.uuid);
            self.replies.open(response, reply);
        } else if let Some(first) = self.replies.first_key(response, line.is_sidechain.0) {
            self.tree.continue_row(spot.key, first);
            // A fork may begin with this line, and a summary may name it.
            self.out.claim(spot.key, self.is_copy(line));
        }
        let taken = with_blocks(message.content.json(), |blocks| {
            for block in &blocks {
                self.take_block(spot, response, block, is_synthetic);
            }
        });
        if taken.is_none() {
            self.out.problem(spot.number, "the message's content cannot be read");
        }
        self.replies.continue_with(response, line.is_sidechain.0, spot.key, message);
        Ok(())
    }

    fn take_block(&mut self, spot: &Spot<'_, '_>, response: &str, block: &Block<'_>, is_synthetic: bool) {
        let sidechain = spot.line.is_sidechain.0;
        match block.kind.get().unwrap_or_default() {
            "text" => self.replies.add_text(response, sidechain, block.text.0.as_deref().unwrap_or_default()),
            "thinking" => {
                self.replies.add_thinking(response, sidechain, block.thinking.0.as_deref().unwrap_or_default())
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let message_id = self.replies.message_id(response, sidechain).unwrap_or(spot.uuid).to_owned();
                let call = self.new_call(spot, block, &message_id, (!is_synthetic).then_some(response));
                self.calls.open(key(AGENT, Kind::ToolCall, &call.call_id), call);
            }
            "web_search_tool_result" | "web_fetch_tool_result" | "mcp_tool_result" => {
                if let Some(call) = block.call.get().and_then(|id| self.calls.get_mut(key(AGENT, Kind::ToolCall, id))) {
                    call.server_result(block, spot.line.timestamp.0);
                }
            }
            "redacted_thinking" | "fallback" | "image" | "document" | "connector_text" => {}
            kind => self.out.unknown(&format!("block {kind}")),
        }
    }

    fn new_call(
        &mut self,
        spot: &Spot<'_, '_>,
        block: &Block<'_>,
        message_id: &str,
        response: Option<&str>,
    ) -> PendingCall {
        let name = block.name.get().unwrap_or("unknown");
        let call_id = block.id.get().map_or_else(|| format!("{}#{}", spot.uuid, self.seq), str::to_owned);
        let json = block.input.json().map(|json| repair(json.as_bytes()));
        let input: Input<'_> = json.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let server = block.server.get().or(tools::mcp_server(name));
        let category = if server.is_some() && !name.starts_with("mcp__") { "mcp" } else { tools::category(name) };
        let call = PendingCall {
            call_id,
            seq: self.seq,
            message_id: message_id.to_owned(),
            response_id: response.map(str::to_owned),
            turn: self.turn,
            name: name.to_owned(),
            category,
            mcp_server: server.map(str::to_owned),
            input_key: json.as_deref().map(|json| tools::input_key(name, json)),
            command: input.command.get().filter(|_| tools::is_shell(name)).map(str::to_owned),
            file_path: tools::file_of(category, &input).map(str::to_owned),
            description: input.description.get().filter(|_| category == "task").map(str::to_owned),
            subagent_type: input.subagent.get().map(str::to_owned),
            started_at: spot.line.timestamp.0,
            is_sidechain: spot.line.is_sidechain.0,
            source_line: i64::try_from(spot.number).ok(),
            weak: self.is_copy(spot.line),
            input: json.map(Cow::into_owned),
            ..PendingCall::default()
        };
        self.seq += 1;
        call
    }

    fn take_result(&mut self, spot: &Spot<'_, '_>, block: &Block<'_>, alone: bool) -> Result<(), Reject> {
        let line = spot.line;
        let id = block.call.get().unwrap_or_default();
        let call_key = key(AGENT, Kind::ToolCall, id);
        if self.calls.is_answered(call_key) && !id.is_empty() {
            return Ok(());
        }
        let mut call = self.calls.close(call_key).unwrap_or_else(|| {
            let seq = self.seq;
            self.seq += 1;
            let id = if id.is_empty() { format!("{}#{seq}", spot.uuid) } else { id.to_owned() };
            PendingCall::of_unknown_tool(id, seq, self.turn, i64::try_from(spot.number).ok())
        });
        let output = output_text(block.content.json());
        let structured = line.result.json().filter(|_| alone);
        let repaired = structured.map(|json| repair(json.as_bytes()));
        let result: Option<ToolResult<'_>> =
            repaired.as_deref().filter(|json| json.starts_with('{')).and_then(|json| serde_json::from_str(json).ok());
        let result_text = repaired
            .as_deref()
            .filter(|json| json.starts_with('"'))
            .and_then(|json| serde_json::from_str::<String>(json).ok());
        let evidence = Evidence {
            name: &call.name,
            output: output.as_deref().unwrap_or_default(),
            is_error: block.is_error.0,
            denial: line.denial.get(),
            result: result.as_ref(),
            result_text: result_text.as_deref(),
        };
        let outcome = evidence.outcome();
        if let Some(agent) = result.as_ref().and_then(|result| result.agent.get()) {
            call.child = Some(self.child_session(agent));
        }
        self.note_child(&call);
        let row = ToolCallRow {
            status: outcome.status,
            exit_code: outcome.exit_code,
            duration_ms: outcome.duration_ms,
            output: output.as_deref(),
            output_bytes: output.as_deref().and_then(|output| i64::try_from(output.len()).ok()),
            ended_at: line.timestamp.0,
            ..call.row(&self.session_id)
        };
        self.out.tool_call(row, call.weak)
    }

    /// Tells the subagent's session what only the call that started it says.
    fn note_child(&mut self, call: &PendingCall) {
        if let Some(child) = &call.child {
            let key = session_key(child);
            for (field, text) in [(NoteField::Title, &call.description), (NoteField::SubagentType, &call.subagent_type)]
            {
                if let Some(text) = text {
                    self.out.note(field, key, 0, text);
                }
            }
        }
    }

    fn take_system(&mut self, spot: &Spot<'_, '_>, parent: Option<u64>) -> Result<(), Reject> {
        let line = spot.line;
        self.tree.add(spot.key, parent, false, line.is_sidechain.0);
        let content = plain_text(line.content.json());
        let (kind, text) = match line.subtype.get().unwrap_or_default() {
            "compact_boundary" => {
                self.has_boundary = true;
                ("compaction", content)
            }
            "api_error" => ("api_error", content.or_else(|| plain_text(line.error.json()))),
            "local_command" if content.as_deref().is_some_and(|text| text.starts_with("<command-name>")) => {
                ("command", content)
            }
            "local_command" => ("meta", content),
            "permission_retry" => ("permission", content),
            "stop_hook_summary" | "turn_duration" | "file_snapshot" => ("meta", content),
            subtype if super::KNOWN_NOTICES.contains(&subtype) => ("notice", content),
            subtype => {
                self.out.unknown(&format!("system {subtype}"));
                ("notice", content)
            }
        };
        let row = MessageRow {
            role: "system",
            kind,
            text: text.as_deref(),
            is_error: kind == "api_error" || line.level.is("error"),
            ..self.blank_row(spot)
        };
        self.push_message(spot, row)
    }

    fn take_attachment(&mut self, spot: &Spot<'_, '_>, parent: Option<u64>) -> Result<(), Reject> {
        let line = spot.line;
        let Some(attachment) = line.attachment.0.as_ref() else { return Ok(()) };
        let kind = attachment.kind.get().unwrap_or_default();
        let (row_kind, role, text) = match kind {
            "queued_command" if attachment.mode.is("task-notification") => {
                ("notice", "system", plain_text(attachment.prompt.json()))
            }
            "queued_command" => ("prompt", "user", plain_text(attachment.prompt.json())),
            "hook_blocking_error" => ("notice", "system", plain_text(attachment.error.json())),
            "hook_non_blocking_error" | "hook_error_during_execution" => (
                "notice",
                "system",
                attachment.stderr.get().map(str::to_owned).or(plain_text(attachment.content.json())),
            ),
            "hook_permission_decision" => {
                let (hook, decision) =
                    (attachment.hook.get().unwrap_or("hook"), attachment.decision.get().unwrap_or(""));
                ("permission", "system", Some(format!("{hook}: {decision}")))
            }
            "max_turns_reached" => ("notice", "system", Some("max turns reached".to_owned())),
            _ => {
                self.tree.add(spot.key, parent, false, line.is_sidechain.0);
                return Ok(());
            }
        };
        let is_prompt = row_kind == "prompt";
        if is_prompt {
            self.turn = Some(self.turn.unwrap_or(0) + 1);
            self.close_replies(line.is_sidechain.0)?;
        }
        self.tree.add(spot.key, parent, is_prompt, line.is_sidechain.0);
        let row = MessageRow {
            role,
            kind: row_kind,
            text: text.as_deref(),
            is_error: text.is_some() && kind.contains("error"),
            ..self.blank_row(spot)
        };
        self.push_message(spot, row)
    }

    /// A row with what every line carries.
    fn blank_row<'r>(&self, spot: &Spot<'r, '_>) -> MessageRow<'r> {
        MessageRow {
            session_id: "",
            seq: self.seq,
            message_id: spot.uuid,
            parent_id: None,
            turn: self.turn,
            timestamp: spot.line.timestamp.0,
            role: "assistant",
            kind: "reply",
            text: None,
            thinking: None,
            model: None,
            response_id: None,
            stop_reason: None,
            is_sidechain: spot.line.is_sidechain.0,
            is_abandoned: false,
            is_error: false,
            cwd: spot.line.cwd.get(),
            git_branch: spot.line.branch.get(),
            attachments: 0,
            source_line: i64::try_from(spot.number).ok(),
            gone_at: None,
        }
    }

    /// Hands on a message of one line.
    fn push_message(&mut self, spot: &Spot<'_, '_>, row: MessageRow<'_>) -> Result<(), Reject> {
        let parent = self.parent_id(spot.line.parent.get().or(spot.line.logical_parent.get()));
        self.tree.begin_row(spot.key, spot.uuid);
        self.seq += 1;
        let weak = self.is_copy(spot.line);
        let row = MessageRow { session_id: &self.session_id, parent_id: parent.as_deref(), ..row };
        let place = self.out.message(row, weak)?;
        self.tree.set_row(spot.key, place);
        Ok(())
    }

    /// The row that a parent line belongs to; the line's own id when it lies in another file.
    fn parent_id<'p>(&self, parent: Option<&'p str>) -> Option<Cow<'p, str>> {
        let parent = parent?;
        let row = self.tree.row_id(message_key(parent));
        Some(row.map_or(Cow::Borrowed(parent), |id| Cow::Owned(id.to_string())))
    }

    /// Hands on the replies of a thread that nothing will be added to.
    fn close_replies(&mut self, sidechain: bool) -> Result<(), Reject> {
        for reply in self.replies.close(sidechain) {
            self.push_reply(&reply)?;
        }
        Ok(())
    }

    fn push_reply(&mut self, reply: &Reply) -> Result<(), Reject> {
        let parent = self.parent_id(reply.parent.as_deref());
        let row = MessageRow { session_id: &self.session_id, parent_id: parent.as_deref(), ..reply.row() };
        let place = self.out.message(row, reply.weak)?;
        for line in &reply.lines {
            self.tree.set_row(*line, place);
        }
        Ok(())
    }

    fn child_session(&self, agent: &str) -> String {
        format!("{}/agent-{agent}", self.identity.main.as_deref().unwrap_or(&self.session_id))
    }

    fn finish(mut self, description: Option<&[u8]>) -> Result<(), Reject> {
        self.close_replies(false)?;
        self.close_replies(true)?;
        for call in self.calls.drain() {
            self.note_child(&call);
            self.out.tool_call(ToolCallRow { ..call.row(&self.session_id) }, call.weak)?;
        }
        for (response, row) in self.responses.rows(&self.session_id) {
            self.out.usage(row, response.seq, response.weak)?;
        }
        if !self.has_conversation {
            self.out.discard_session();
            return Ok(());
        }
        self.out.claim(session_key(&self.session_id), false);
        let abandoned = self.tree.abandoned_rows();
        self.out.abandon(&abandoned);
        let description = description.map(|bytes| repair(bytes).into_owned()).unwrap_or_default();
        let description: Description<'_> = serde_json::from_str(&description).unwrap_or_default();
        let facts = self.complete_facts(&description);
        if let Some(call) = description.call.get() {
            self.out.note(NoteField::ChildSession, key(AGENT, Kind::ToolCall, call), 0, &facts.session_id);
        }
        self.out.end_session(facts)
    }

    fn complete_facts(&mut self, description: &Description<'_>) -> Facts {
        let facts = std::mem::take(&mut self.facts);
        let title = self.titles.custom.take().or(self.titles.generated.take());
        let Some(agent) = &self.identity.agent else {
            return Facts { session_id: self.session_id.clone(), kind: "session", title, ..facts };
        };
        let main = self.identity.main.clone();
        let parent = match (&main, description.parent.get()) {
            (Some(main), Some(parent)) => Some(format!("{main}/agent-{parent}")),
            _ => main.clone(),
        };
        Facts {
            session_id: self.session_id.clone(),
            kind: if is_side_agent(agent) { "side_agent" } else { "subagent" },
            title: description.description.get().map(str::to_owned).or(title),
            parent_session_id: parent,
            root_session_id: main,
            is_subagent: true,
            subagent_type: description.agent_type.get().map(str::to_owned),
            ..facts
        }
    }
}

/// A line and where it stands.
struct Spot<'l, 'j> {
    line: &'l Line<'j>,
    number: u64,
    uuid: &'l str,
    key: u64,
}

fn message_key(uuid: &str) -> u64 {
    key(AGENT, Kind::Message, uuid)
}

/// Key of the fact that a session has a transcript.
pub(super) fn session_key(session: &str) -> u64 {
    key(AGENT, Kind::Presence, &format!("session:{session}"))
}

fn replace(value: &mut Option<String>, new: Option<&str>) {
    if let Some(new) = new
        && value.as_deref() != Some(new)
    {
        *value = Some(new.to_owned());
    }
}

/// Helper agents of the program itself are called `a<label>-<hex>`.
fn is_side_agent(agent: &str) -> bool {
    agent.split_once('-').is_some_and(|(label, _)| {
        matches!(label, "acompact" | "aprompt_suggestion" | "aside_question" | "asession_memory" | "aspeculation")
    })
}

fn looks_like_uuid(name: &str) -> bool {
    name.len() == 36
        && name.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Tokens as billed never are negative; what is, is damage.
pub(super) fn tokens(number: Number) -> Option<i64> {
    number.0.map(|tokens| tokens.max(0))
}

/// Texts with a line end between them.
pub(super) fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> Option<Cow<'t, str>> {
    join(texts.map(Cow::Borrowed))
}
