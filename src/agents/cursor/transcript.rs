//! `agent-transcripts/**.jsonl`: messages without ids, times, models, results or tokens. If no database has the
//! conversation, nothing else is left of it.

use std::path::Path;

use super::blocks::{attachments, blocks, texts};
use super::record::{Block, TranscriptLine};
use super::rows::Rows;
use super::tools;
use super::{AGENT, value};
use crate::agents::kit::calls::{Call, Outcome};
use crate::agents::kit::thread::{Position, blank};
use crate::extract::jsonl::RecordReader;
use crate::extract::{Facts, Reject, Sink, session_key};
use crate::source::Source;
use crate::tables::{MessageKind, MessageRow, Role, SessionKind};

/// Returns the rows of a transcript. The file names the session, the folder its parent.
pub(super) fn rows<'o, 's>(source: &Source<'_>, out: &'o mut Sink<'s>) -> Rows<'o, 's> {
    let session = source.stem().to_owned();
    let to = session_key(AGENT, &session);
    Rows::new(out, session, None, false).yielding(to)
}

/// Returns the facts of the session that the path shows.
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
    transcript.rows.end_transcript(facts(source.path))
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
        let texts = [content, record.status.get(), record.error.json()].into_iter().flatten();
        let role = record.role.get().or(record.kind.get()).unwrap_or_default();
        let id = self.rows.thread.print(role, None, texts);
        let at = Position::on_line(&id, None, line);
        match record.kind.get() {
            None => self.take_message(record, &at),
            Some("turn_ended") if record.status.is("success") => Ok(()),
            Some("turn_ended") if record.status.is("aborted") => {
                self.rows.message(&at, blank(Role::System, MessageKind::Abort)).map(drop)
            }
            Some("turn_ended" | "error") => {
                let error = value::within(record.error);
                let row = MessageRow { text: error.as_deref(), ..blank(Role::System, MessageKind::ApiError) };
                self.rows.message(&at, row).map(drop)
            }
            Some(kind) => {
                self.rows.out.unknown(&format!("transcript record {kind}"));
                Ok(())
            }
        }
    }
}

impl Transcript<'_, '_> {
    fn take_message(&mut self, record: &TranscriptLine<'_>, at: &Position<'_>) -> Result<(), Reject> {
        let content = record.message.0.as_ref().map(|message| blocks(message.content)).unwrap_or_default();
        let text = texts(&content, "text");
        match record.role.get() {
            Some("user") => self.rows.prompt(at, text.as_deref(), attachments(&content)),
            Some("assistant") => {
                let thinking = texts(&content, "thinking");
                let row = MessageRow {
                    text: text.as_deref(),
                    thinking: thinking.as_deref(),
                    ..blank(Role::Assistant, MessageKind::Reply)
                };
                self.rows.message(at, row)?;
                self.take_calls(&content, at)
            }
            role => {
                self.rows.out.unknown(&format!("role {}", role.unwrap_or("missing")));
                Ok(())
            }
        }
    }

    fn take_calls(&mut self, content: &[Block<'_>], at: &Position<'_>) -> Result<(), Reject> {
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
            let call = Call {
                id: format!("{}:{place}", at.id),
                message_id: Some(at.id.to_owned()),
                input: input.map(str::to_owned),
                ..tools::call(name, None, [input, None])
            };
            self.rows.call(at, call, &Outcome::default())?;
        }
        Ok(())
    }
}
