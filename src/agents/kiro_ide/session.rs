//! `workspace-sessions`: the prompts of a session, each with the log that records its replies and actions. The replies here
//! have a word or two. The log supersedes all of it.

use super::content::{text_of, unwrapped};
use super::record::Entry;
use super::{AGENT, answered, asked};
use crate::agents::document::{self, Torn};
use crate::agents::kit::texts::join;
use crate::agents::kit::thread::{Position, Thread, blank};
use crate::extract::{Facts, Kind, NoteField, Reject, Sink, session_key};
use crate::source::Source;
use crate::source::records::Text;
use crate::tables::{MessageKind, MessageRow, Role};

/// Reads a session. Nothing in it has a time: what is left of it comes after the logs. Each message yields to one
/// of a log, so that none of the others ever moves forward.
pub(super) fn extract(source: &mut Source<'_>, out: &mut Sink<'_>) -> Result<(), Reject> {
    let Some(json) = document::text(source, "a session", out)? else { return Ok(()) };
    let document = Torn::read(&json, "history");
    let session = source.stem().to_owned();
    let title: Text<'_> = document.field("title");
    if let Some(title) = title.get() {
        out.note(NoteField::Title, session_key(AGENT, &session), 0, title);
    }
    let folder: Text<'_> = document.field("workspaceDirectory");
    let facts = Facts { session_id: session, project_path: folder.owned(), ..Facts::default() };
    let mut entries = Entries { out, thread: Thread::new(facts), prompts: Vec::new() };
    for item in &document.items {
        entries.out.line();
        match serde_json::from_str(item.get()) {
            Ok(entry) => entries.take(&entry)?,
            Err(error) => {
                let line = entries.out.report.lines;
                entries.out.problem(line, &format!("an entry that cannot be read: {error}"));
            }
        }
    }
    if let Some(error) = &document.error {
        entries.out.line();
        let line = entries.out.report.lines;
        entries.out.problem(line, &format!("a torn session; everything before the tear was read: {error}"));
    }
    entries.thread.finish(entries.out)
}

struct Entries<'o, 's> {
    out: &'o mut Sink<'s>,
    thread: Thread,
    /// Ids of prompts whose answer is not there yet.
    prompts: Vec<String>,
}

impl Entries<'_, '_> {
    fn take(&mut self, entry: &Entry<'_>) -> Result<(), Reject> {
        let Some(message) = &entry.message.0 else { return Ok(()) };
        let (text, attachments) = text_of(message.content);
        let own = message.id.owned();
        let own = own.unwrap_or_else(|| {
            let texts = [text.as_deref(), entry.execution.get()].into_iter().flatten();
            self.thread.prints.name(message.role.get().unwrap_or_default(), None, texts)
        });
        let id = format!("{}#{own}", self.thread.id());
        if self.thread.has(Kind::Message, &id) {
            return Ok(());
        }
        let at = Position::new(&id, None);
        match message.role.get() {
            Some("user") => {
                self.thread.begin_turn();
                let text = text.as_deref().map(unwrapped);
                let row = MessageRow { text, attachments, ..blank(Role::User, MessageKind::Prompt) };
                self.thread.message(&at, row, self.out)?;
                self.prompts.push(id);
            }
            Some("assistant") => {
                let completions =
                    || join(entry.prompts.0.iter().filter_map(|log| log.0.as_ref()?.completion.0.clone()));
                let text = text.or_else(completions);
                let row = MessageRow { text: text.as_deref(), ..blank(Role::Assistant, MessageKind::Reply) };
                self.thread.message(&at, row, self.out)?;
                if let Some(execution) = entry.execution.get() {
                    self.out.yields_to(Kind::Message, &id, answered(execution), None);
                    for prompt in self.prompts.drain(..) {
                        self.out.yields_to(Kind::Message, &prompt, asked(execution), None);
                    }
                }
                self.prompts.clear();
            }
            Some("tool") => {
                self.thread.message(&at, blank(Role::Tool, MessageKind::ToolResult), self.out)?;
            }
            other => self.out.unknown(&format!("role {}", other.unwrap_or_default())),
        }
        Ok(())
    }
}
