//! `agent-transcripts/**.jsonl`: what was said, without ids, times, models, results or tokens. It is all that is left
//! where no database has the conversation.

use std::path::Path;

use super::blocks::{attachments, blocks, texts};
use super::prompt::Prompt;
use super::record::{Block, TranscriptLine};
use super::rows::{Called, Rows, Said};
use super::tools::Asked;
use super::{AGENT, value};
use crate::extract::{Facts, Reject, Sink, session_key};
use crate::source::Source;
use crate::source::jsonl::RecordReader;
use crate::tables::{MessageKind, Role, SessionKind, Status};

/// Rows of a transcript: the session is named by the file, its parent by the folder.
pub(super) fn rows<'o, 's>(source: &Source<'_>, out: &'o mut Sink<'s>) -> Rows<'o, 's> {
    let session = source.stem().to_owned();
    let to = session_key(AGENT, &session);
    Rows::new(out, session, None).giving_way(to)
}

/// What the path tells of the session.
pub(super) fn facts(path: &Path) -> Facts {
    let folder = path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "subagents"));
    let parent = folder.and_then(Path::parent).and_then(Path::file_name).and_then(|name| name.to_str());
    Facts {
        kind: if folder.is_some() { SessionKind::Subagent } else { SessionKind::Session },
        is_subagent: folder.is_some(),
        parent_session_id: parent.map(str::to_owned),
        root_session_id: parent.map(str::to_owned),
        ..Facts::default()
    }
}

/// Reads one transcript.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let mut transcript = Transcript { rows: rows(source, out) };
    transcript.read_all(&mut source.lines()?)?;
    if transcript.rows.count == 0 { Ok(()) } else { transcript.rows.end_transcript(facts(source.path)) }
}

struct Transcript<'o, 's> {
    rows: Rows<'o, 's>,
}

impl<'s> RecordReader<'s> for Transcript<'_, 's> {
    type Record = TranscriptLine<'static>;
    const STARTS: &'static [&'static str] = &["{\"role\"", "{\"type\""];

    fn sink(&mut self) -> &mut Sink<'s> {
        self.rows.out
    }

    fn take(&mut self, record: &TranscriptLine<'_>, line: u64) -> Result<(), Reject> {
        let unknown = record.unknown.iter().chain(record.message.0.iter().flat_map(|message| &message.unknown));
        unknown.for_each(|field| self.rows.out.unknown(&format!("transcript field {field}")));
        let content = record.message.0.as_ref().and_then(|message| message.content.json());
        let said = [content, record.status.get(), record.error.json()].into_iter().flatten();
        let role = record.role.get().or(record.kind.get()).unwrap_or_default();
        let id = format!("{}#{}", self.rows.session, self.rows.prints.name(role, None, said));
        let said = Said { id: &id, line: i64::try_from(line).ok(), ..Said::default() };
        match record.kind.get() {
            None => self.take_message(record, said),
            Some("turn_ended") if record.status.is("success") => Ok(()),
            Some("turn_ended") if record.status.is("aborted") => {
                self.rows.message(&Said { role: Role::System, kind: MessageKind::Abort, ..said }).map(|_| ())
            }
            Some("turn_ended" | "error") => {
                let error = value::within(record.error);
                let said = Said { role: Role::System, kind: MessageKind::ApiError, text: error.as_deref(), ..said };
                self.rows.message(&said).map(|_| ())
            }
            Some(kind) => {
                self.rows.out.unknown(&format!("transcript record {kind}"));
                Ok(())
            }
        }
    }
}

impl Transcript<'_, '_> {
    fn take_message(&mut self, record: &TranscriptLine<'_>, said: Said<'_>) -> Result<(), Reject> {
        let content = record.message.0.as_ref().map(|message| blocks(message.content)).unwrap_or_default();
        let text = texts(&content, "text");
        match record.role.get() {
            Some("user") => {
                let attachments = attachments(&content);
                if text.is_none() && attachments == 0 {
                    return Ok(());
                }
                let prompt = Prompt::of(text.as_deref().unwrap_or_default());
                if prompt.kind == MessageKind::Prompt {
                    self.rows.begin_turn();
                }
                let (kind, timestamp) = (prompt.kind, prompt.moment);
                let text = text.as_ref().map(|_| prompt.text);
                let said = Said { role: Role::User, kind, text, timestamp, attachments, ..said };
                self.rows.message(&said).map(|_| ())
            }
            Some("assistant") => {
                let thinking = texts(&content, "thinking");
                let said = Said {
                    role: Role::Assistant,
                    kind: MessageKind::Reply,
                    text: text.as_deref(),
                    thinking: thinking.as_deref(),
                    ..said
                };
                self.rows.message(&said)?;
                self.take_calls(&content, &said)
            }
            role => {
                self.rows.out.unknown(&format!("role {}", role.unwrap_or("missing")));
                Ok(())
            }
        }
    }

    fn take_calls(&mut self, content: &[Block<'_>], said: &Said<'_>) -> Result<(), Reject> {
        for (place, block) in content.iter().enumerate() {
            match block.kind.get().unwrap_or_default() {
                "tool_use" => {}
                "text" | "thinking" => continue,
                kind => {
                    self.rows.out.unknown(&format!("block {kind}"));
                    continue;
                }
            }
            let name = block.tool.get().unwrap_or("unknown");
            let input = block.args.json();
            let asked = Asked::of(name, None, [input, None]);
            self.rows.call(&Called {
                id: &format!("{}:{place}", said.id),
                message_id: said.id,
                name,
                category: asked.category,
                mcp_server: asked.mcp_server.as_deref(),
                input,
                command: asked.command.as_deref(),
                file_path: asked.file.as_deref(),
                status: Status::Pending,
                line: said.line,
                ..Called::default()
            })?;
        }
        Ok(())
    }
}
